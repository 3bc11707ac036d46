#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest: installs the package, has it serve, reload, stop and start again, and purges it. Fails at the first thing that is
# not as it should be. Usage: package.sh PACKAGE MAIN-CLASS
set -euo pipefail
package=$1 main=$2
url=http://127.0.0.1:7979
units=(flamed-launcher.socket flamed-broker.socket flamed-broker.service flamed.service)

fail() {
    systemctl --no-pager --full status "${units[@]}" || true
    journalctl --no-pager --lines 50 -u 'flamed*'
    echo "FAIL: $*"
    exit 1
}

# Waits until a condition holds.
await() {
    local end=$((SECONDS + 120))
    while ! "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "not within 120 s: $*; $(cat /tmp/answer /tmp/java)"
        sleep 1
    done
}

status_of() {
    curl -s -o /tmp/answer -w '%{http_code}' "$@"
}

ready() {
    [ "$(status_of $url/readyz)" = 200 ]
}

# Everything on this machine that a package may leave behind.
listing() {
    find / /run -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /out -o -path /tmp -o -path '/run/systemd/*' -o -path /run/log \
        -o -path '/var/lib/dpkg/*' -o -path '/var/log/*' -o -path '/var/cache/*' -o -path '/var/lib/systemd/*' \) -prune -o -print | sort
    cat /etc/passwd /etc/group
}

# Nothing is in a failed state, and neither unit has anything to complain of.
clean() {
    [ -z "$(systemctl list-units --failed --no-legend)" ] || fail "a unit failed: $(systemctl list-units --failed)"
    systemctl status --no-pager "${units[@]}" >/tmp/status || fail "systemctl status: $?"
    ! grep -i warning /tmp/status || fail "systemctl status warns"
    local bad
    bad=$(journalctl --no-pager -q -p warning -u 'flamed*')
    [ -z "$bad" ] || fail "in the journal: $bad"
}

systemctl is-system-running --wait || true
listing >/tmp/before
dpkg -i "$package"
await ready
echo "installed, and ready"
for unit in "${units[@]}"; do
    systemctl is-active --quiet "$unit" || fail "$unit is not active"
done
systemctl is-enabled --quiet flamed.service flamed-broker.socket flamed-launcher.socket || fail "not enabled"
clean

su nobody -s /bin/sh -c "exec java -XX:TieredStopAtLevel=1 -Xmx64m -cp /out/classes $main" >/tmp/java 2>&1 </dev/null &
await grep -q started /tmp/java
pid=$(pgrep -x java)
sampled() {
    [ "$(status_of "$url/profile?pid=$pid&seconds=1&symbols=memory")" = 200 ]
}
await sampled # at first all of the JVM and its libraries is read
[ "$(status_of "$url/profile?pid=$pid&seconds=4&format=collapsed")" = 200 ] || fail "/profile by the port: $(cat /tmp/answer)"
grep -q "java.lang.Thread.run.*$main" /tmp/answer || fail "no Java names: $(head -5 /tmp/answer)"
[ "$(status_of --unix-socket /run/flamed/flamed.sock "http://localhost/profile?pid=$pid&seconds=4&format=flat")" = 200 ] ||
    fail "/profile by the socket: $(cat /tmp/answer)"
grep -q "$main" /tmp/answer || fail "no Java names by the socket: $(head -5 /tmp/answer)"
curl -s "$url/readyz" | grep -Eq '"problems": ?\[\]' || fail "not all works: $(curl -s $url/readyz)"
echo "serves by its port and its socket"

# Kernel symbols: the units hide /proc/kallsyms from a service, which the broker gets all the same.
busy() {
    [ "$(status_of "$url/profile?pid=$1&seconds=2&hz=199&format=collapsed")" = 200 ] && grep -Eq 'vfs_read|ksys_read|do_syscall_64' /tmp/answer
}
dd if=/dev/zero of=/dev/null bs=1 status=none &
await busy $!
kill $!
echo "names kernel functions"

# An agent: the helper enters the JVM from the launcher's unit.
attached() {
    [ "$(status_of -D /tmp/headers "$url/profile?pid=$pid&seconds=4&symbols=agent")" = 200 ] &&
        grep -iq '^X-Flamed-Symbols: agent' /tmp/headers
}
await attached
[ "$(status_of "$url/api/v1/jvms/$pid/perf-map?symbols=agent")" = 200 ] || fail "/perf-map: $(cat /tmp/answer)"
grep -q "$main" /tmp/answer || fail "the agent names nothing: $(head -5 /tmp/answer)"
echo "attaches"

worker=$(systemctl show -p MainPID --value flamed.service)
systemctl reload flamed.service
await journalctl -q --no-pager -u flamed.service --grep "reload|read again"
await ready
[ "$(systemctl show -p MainPID --value flamed.service)" = "$worker" ] || fail "reload is a new process"
clean
echo "reloads"

systemctl restart flamed.service
await ready
systemctl stop flamed.service
! pgrep -x flamed || fail "flamed is still there"
systemctl stop 'flamed*'
! pgrep flamed || fail "processes are still there"
systemctl start flamed-launcher.socket flamed-broker.socket flamed.service
await ready
clean
echo "stops and starts"

kill "$pid"
dpkg --purge flamed
! pgrep flamed || fail "processes are still there"
systemctl daemon-reload
listing >/tmp/after
diff /tmp/before /tmp/after || fail "purging left, or took, something"
[ -z "$(systemctl list-units --failed --no-legend)" ] || fail "a unit failed: $(systemctl list-units --failed)"
[ -z "$(systemctl list-units --all --no-legend 'flamed*')" ] || fail "systemd still knows: $(systemctl list-units --all 'flamed*')"
echo "purges"
