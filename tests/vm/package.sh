#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest: installs the package or the tarball, has it serve, reload, stop and start again, and purges it. Fails at the first thing
# that is not as it should be. Usage: package.sh PACKAGE|TARBALL MAIN-CLASS ADDRESS
set -euo pipefail
package=$1 main=$2 address=$3
url=http://127.0.0.1:7979
unpacked=/tmp/unpacked
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

# Nothing is in a failed state, and neither unit has anything to complain of. Usage: clean [PATTERN of an expected warning]
clean() {
    [ -z "$(systemctl list-units --failed --no-legend)" ] || fail "a unit failed: $(systemctl list-units --failed)"
    systemctl status --no-pager "${units[@]}" >/tmp/status || fail "systemctl status: $?"
    ! grep -i warning /tmp/status || fail "systemctl status warns"
    local bad
    bad=$(journalctl --no-pager -q -p warning -u 'flamed*' | grep -v -- "${1:-^$}" || true)
    [ -z "$bad" ] || fail "in the journal: $bad"
}

put_in() {
    if [[ $package = *.deb ]]; then
        dpkg -i "$package"
    else
        mkdir -p "$unpacked"
        tar -xf "$package" -C "$unpacked" --strip-components=1
        "$unpacked/install.sh"
    fi
}

remove() {
    if [[ $package = *.deb ]]; then
        dpkg --remove flamed
    else
        "$unpacked/install.sh" --remove
    fi
}

# What install.sh leaves is removed as docs/kernels.md says.
take_out() {
    if [[ $package = *.deb ]]; then
        dpkg --purge flamed
    else
        remove
        rm -rf /var/lib/flamed /run/flamed /run/flamed-broker
        userdel flamed
        groupdel flamed-broker
    fi
}

systemctl is-system-running --wait || true
listing >/tmp/before
put_in
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

# Who did what, in the fields of a journal that runs: docs/access.md. What journald adds says that it was flamed's service.
records() {
    journalctl --no-pager -q -o json _SYSTEMD_UNIT=flamed.service "$@"
}
audited() {
    records FLAMED_ACTION=attach "FLAMED_TARGET_PID=$pid" | jq -es --arg main "$main" --arg uid "$(id -u flamed)" '
        map(select(.FLAMED_ROUTE == "/profile" and .FLAMED_STATUS == "200"))[0]
        | (.MESSAGE | ltrimstr("audit ") | fromjson) as $line
        | .FLAMED_SUBJECT == "user 0" and .FLAMED_KNOWN_BY == $line.known_by and .FLAMED_VIA == "TCP"
          and .FLAMED_CAPTURE == $line.capture and .FLAMED_TARGET_UID == "65534" and .FLAMED_TARGET_MAIN == $main
          and $line.subject == "user 0" and $line.target.main == $main and $line.status == 200
          and .PRIORITY == "6" and .SYSLOG_IDENTIFIER == "flamed" and ._UID == $uid and ._COMM == "flamed"' >/tmp/answer
}
await audited
[ "$(su nobody -s /bin/sh -c "curl -s -o /dev/null -w '%{http_code}' $url/api/v1/audit")" = 403 ] || fail "anybody reads the audit"
refused() {
    records FLAMED_ACTION=refusal FLAMED_STATUS=403 FLAMED_ROUTE=/api/v1/audit | jq -es 'length == 1' >/tmp/answer
}
await refused
[ -n "$(journalctl -q --no-pager -u flamed FLAMED_ACTION=attach -o json)" ] || fail "nothing by the command of docs/access.md"
echo "tells the journal"

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

# An address that is not loopback, by TLS and a token. The key is root's alone; flamed-broker reads it, in its fences.
secure=https://$address:7980
ip address add "$address/24" dev lo
mkdir -p /etc/systemd/system/flamed.service.d
put() { # both at once, as Kubernetes and certbot do it
    install -D -m 600 "/out/tls/$1.key" "/etc/flamed/tls/$1/tls.key"
    install -D -m 644 "/out/tls/$1.pem" "/etc/flamed/tls/$1/tls.crt"
    ln -s "$1" /etc/flamed/tls/next
    mv -T /etc/flamed/tls/next /etc/flamed/tls/now
}
put first
flamed --new-token scraper >/tmp/token
token=$(grep -x 'flamed_[A-Za-z0-9_-]*' /tmp/token)
cat >/etc/flamed/flamed.yaml <<END
listen: ["unix:/run/flamed/flamed.sock", "127.0.0.1:7979", "$address:7980"]
tls_server_config:
  cert_file: /etc/flamed/tls/now/tls.crt
  key_file: tls/now/tls.key
$(sed -n '/^access:/,$p' /tmp/token)
END
as_nobody() {
    su nobody -s /bin/sh -c "curl -s -m 20 -o /dev/null -w '%{http_code}' --cacert /out/tls/ca.pem $*" || true
}
systemctl restart flamed.service
await ready
[ "$(as_nobody "$secure/healthz")" = 000 ] || fail "the unit lets others than this machine in"
printf '[Service]\nIPAddressAllow=%s/24\n' "$address" >/etc/systemd/system/flamed.service.d/network.conf
systemctl daemon-reload
systemctl restart flamed.service
await ready
[ "$(as_nobody "$secure/healthz")" = 200 ] || fail "not by TLS"
[ "$(as_nobody "-H 'Authorization: Bearer $token' $secure/metrics")" = 200 ] || fail "not by its token"
[ "$(as_nobody "-H 'Authorization: Bearer $token' $secure/api/v1/audit")" = 403 ] || fail "a token is more than its rule says"
[ "$(as_nobody "-H 'Authorization: Bearer ${token}x' $secure/metrics")" = 401 ] || fail "a wrong token"
[ "$(as_nobody "http://$address:7980/healthz")" = 000 ] || fail "answers without TLS"
! su flamed -s /bin/sh -c 'cat /etc/flamed/tls/now/tls.key' >/tmp/key 2>&1 || fail "flamed's user can read the key"
serves() {
    openssl s_client -connect "$address:7980" -CAfile /out/tls/ca.pem -verify_return_error </dev/null 2>/dev/null |
        openssl x509 -noout -fingerprint >/tmp/served
    openssl x509 -noout -fingerprint -in "/out/tls/$1.pem" | cmp -s - /tmp/served
}
serves first || fail "not its certificate"
worker=$(systemctl show -p MainPID --value flamed.service)
put second
systemctl reload flamed.service
await serves second
[ "$(as_nobody "-H 'Authorization: Bearer $token' $secure/metrics")" = 200 ] || fail "not after the reload"
[ "$(systemctl show -p MainPID --value flamed.service)" = "$worker" ] || fail "a new certificate took a new process"
clean 'tokens and passwords may come over plain HTTP' # its port of loopback still speaks it
rm -r /etc/flamed /etc/systemd/system/flamed.service.d
systemctl daemon-reload
echo "serves TLS beyond this machine"

# An upgrade: it starts again what ran. What is disabled or masked stays so.
systemctl mask --now flamed-launcher.socket
systemctl disable flamed.service
worker=$(systemctl show -p MainPID --value flamed.service)
put_in
await ready
[ "$(systemctl show -p MainPID --value flamed.service)" != "$worker" ] || fail "after an upgrade the old one runs"
[ "$(systemctl is-enabled flamed.service flamed-launcher.socket)" = $'disabled\nmasked' ] || fail "an upgrade enables"
systemctl unmask flamed-launcher.socket
systemctl enable flamed.service
remove
! pgrep flamed || fail "processes are still there"
put_in
await ready
systemctl is-enabled --quiet flamed.service flamed-broker.socket flamed-launcher.socket || fail "not enabled again"
[ -z "$(systemctl list-units --failed --no-legend)" ] || fail "a unit failed: $(systemctl list-units --failed)"
echo "is upgraded, and comes back"

kill "$pid"
take_out
! pgrep flamed || fail "processes are still there"
systemctl daemon-reload
listing >/tmp/after
diff /tmp/before /tmp/after || fail "purging left, or took, something"
[ -z "$(systemctl list-units --failed --no-legend)" ] || fail "a unit failed: $(systemctl list-units --failed)"
[ -z "$(systemctl list-units --all --no-legend 'flamed*')" ] || fail "systemd still knows: $(systemctl list-units --all 'flamed*')"
echo "purges"
