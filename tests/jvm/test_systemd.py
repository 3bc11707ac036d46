# SPDX-License-Identifier: Apache-2.0
"""flamed as a service: its units on a running systemd, access to its sockets, the rights of each process, kills, an upgrade of the
package's files and their removal. (The kernel is this machine's. tests/lint/units.sh tests the parts without a running systemd.)"""
import json
import os
import secrets
import shutil
import subprocess
import time
import unittest

from harness import jvm, paths, proc
from harness.systemd import Machine

CAPABILITIES = {"SETUID": 7, "SETGID": 6, "KILL": 5, "DAC_READ_SEARCH": 2, "SYS_CHROOT": 18, "SYS_PTRACE": 19, "SYS_ADMIN": 21,
                "SYSLOG": 34, "PERFMON": 38, "BPF": 39}
BROKER = ("SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH", "PERFMON", "BPF", "SYSLOG")
LAUNCHER = ("SYS_ADMIN", "SYS_PTRACE", "SYS_CHROOT", "SETUID", "SETGID", "KILL")
ALLOWED = {"flamed.service": (), "flamed-broker.service": BROKER, "flamed-launcher.service": LAUNCHER}
SOCKET = "/run/flamed/flamed.sock"
ALICE = "1001" # a user of the machine; in group flamed if her groups say so
# Runs its arguments below a read-only root, /tmp included.
READ_ONLY_ROOT = """
set -e
mount -t tmpfs -o mode=755 tmpfs /srv
cd /srv
mkdir usr etc proc run dev tmp
ln -s usr/bin usr/lib usr/lib64 .
for folder in usr etc run dev; do mount --rbind /$folder $folder; done
mount -t proc proc proc
mount -o remount,bind,ro /srv
exec chroot /srv "$@"
"""
POSTINST, PRERM, POSTRM = (os.path.join(paths.TREE, "cmake/deb", name) for name in ("postinst", "prerm", "postrm"))
RPM_POST, RPM_PREUN = (os.path.join(paths.TREE, "cmake/tarball", name) for name in ("rpm_post.sh", "rpm_preun.sh"))
MARK = "/usr/lib/flamed/installed-by-install.sh"


def mask(names) -> int:
    return sum(1 << CAPABILITIES[name] for name in names)


class WithMachine(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.stop)
        self.run_ = self.machine.run

    def package(self, script: str, *arguments: str) -> str:
        """Runs a script of the package, like dpkg."""
        with open(script, encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(self.machine.shared, "script"), "w", encoding="utf-8") as f:
            f.write(text)
        return self.run_("sh /run/tests/script " + " ".join(arguments))

    def start(self) -> None:
        self.package(POSTINST, "configure")
        self.wait_ready()

    def get(self, path: str, **how) -> str:
        """Returns the answer's body, then its status."""
        return self.run_(f"curl -s -m 30 -w '\\n%{{http_code}}' --unix-socket {SOCKET} 'http://localhost{path}'", check=False, **how)

    def wait_ready(self) -> None:
        last = ""

        def ready() -> bool:
            nonlocal last
            last = self.get("/readyz")
            return last.endswith("200")

        try:
            proc.wait_until(ready, 20, "flamed is ready", interval=0.1)
        except BaseException as e:
            raise RuntimeError(last + self.run_("systemctl status --no-pager -n 30 'flamed*'", check=False)) from e

    def main_pid(self, unit: str) -> int:
        return int(self.run_(f"systemctl show -P MainPID {unit}"))

    def start_jvm(self, unit: str = "spin", wrap: str = "") -> int:
        """Starts a JVM in the machine, in its own unit, with WRAP before its command line. Returns its pid there."""
        spin = jvm.make_spin()
        subprocess.run(["cp", "-r", spin.folder + "/.", self.machine.shared], check=True)
        self.run_("chmod -R a+rX /run/tests")
        self.run_(f"systemd-run -q --unit={unit} {wrap} setpriv --reuid {ALICE} --regid {ALICE} --clear-groups {paths.jdk(17)}/bin/java -Xmx64m -cp /run/tests {spin.main}")
        found = []

        def seen() -> bool:
            text, _, _ = self.get("/api/v1/jvms").rpartition("\n")
            found[:] = [one["pid"] for one in json.loads(text or "{}").get("jvms", []) if one["main"] == spin.main]
            return bool(found)

        proc.wait_until(seen, 20, "the JVM is found", interval=0.2)
        time.sleep(1) # flamed does not attach in its first moments
        return found[0]

    def symbols(self, pid: int, wanted: str) -> str:
        """Returns X-Flamed-Symbols of a profile with symbols=WANTED."""
        text = self.run_(f"curl -s -m 30 -D - -o /dev/null --unix-socket {SOCKET} "
                         f"'http://localhost/profile?pid={pid}&seconds=1&format=collapsed&symbols={wanted}'")
        return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("X-Flamed-Symbols")), text)


class Services(WithMachine):
    def test_it_runs(self):
        self.start()
        with self.subTest("no more rights than needed"):
            self.check_rights()
        with self.subTest("the engine comes before others, and nothing else of flamed does"):
            self.check_priorities()
        pid = self.start_jvm()
        with self.subTest("attach"):
            self.assertTrue(self.symbols(pid, "agent").startswith("agent"), self.symbols(pid, "agent"))
        with self.subTest("attach to a container"):
            other = self.start_jvm("contained", "unshare --mount --pid --fork --kill-child --mount-proc --ipc --net --uts --cgroup "
                                                "setpriv --bounding-set=-sys_admin,-sys_ptrace")
            self.assertTrue(self.symbols(other, "agent").startswith("agent"), self.symbols(other, "agent"))
        with self.subTest("reload"):
            self.run_("systemctl reload flamed && systemctl is-active flamed")
        for unit in ALLOWED:
            with self.subTest(killed=unit):
                old = self.main_pid(unit)
                self.run_(f"kill -9 {old}")
                proc.wait_until(lambda: self.main_pid(unit) not in (0, old), 10, f"{unit} is started again", interval=0.1)
                self.wait_ready()
                time.sleep(1.1) # one attach per second
                self.assertTrue(self.symbols(pid, "agent").startswith("agent"), unit)
        with self.subTest("the broker stops and starts"):
            self.run_("systemctl stop flamed-broker.service flamed-broker.socket")
            self.assertEqual(self.run_("systemctl is-active flamed-launcher.service", check=False).strip(), "inactive")
            self.run_("systemctl start flamed.service")
            self.wait_ready()
            self.assertTrue(self.symbols(pid, "agent").startswith("agent"))
        with self.subTest("stop"):
            self.run_("systemctl stop flamed flamed-broker.socket flamed-broker flamed-launcher.socket flamed-launcher")
            self.assertEqual(self.run_("pgrep -c flamed", check=False).strip(), "0")
            self.assertNotIn("failed", self.run_("systemctl is-failed flamed flamed-broker flamed-launcher", check=False))

    def check_rights(self) -> None:
        for unit, names in ALLOWED.items():
            pids = self.run_(f"cat $(find /sys/fs/cgroup -path '*system.slice/{unit}/cgroup.procs')").split()
            self.assertTrue(pids, unit)
            for pid in sorted(set(pids)):
                status = dict(line.split(":", 1) for line in self.run_(f"cat /proc/{pid}/status").splitlines() if ":" in line)
                for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(int(status[kind], 16) & ~mask(names), 0, f"{unit} {status['Name']} {kind} {status[kind]}")
                self.assertEqual(status["NoNewPrivs"].strip(), "1", unit)
                self.assertEqual(status["Seccomp"].strip(), "2", unit)
                self.assertEqual(status["Uid"].split()[0] == "0", unit != "flamed.service")

    def check_priorities(self) -> None:
        pid = self.main_pid("flamed")
        text = self.run_(f"for t in /proc/{pid}/task/*; do echo ${{t##*/}} $(cut -d' ' -f19 $t/stat); done")
        nices = {int(tid): int(nice) for tid, nice in (line.split() for line in text.splitlines())}
        self.assertEqual(nices.pop(pid), -10, text)
        self.assertEqual(set(nices.values()), {0}, text)
        self.assertEqual(self.run_("systemctl show -P CPUWeight flamed flamed-broker").split(), ["300", "300"])

    def test_who_may(self):
        """Group flamed may connect to flamed's socket, and to nothing else: not the broker, not the launcher, no file in flamed's folder,
        at no time."""
        self.start()
        group = self.run_("getent group flamed").split(":")[2]
        connect = "import socket,sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])"
        self.assertTrue(self.get("/healthz", user=ALICE, groups=group).endswith("200"), "a member may ask")
        self.assertTrue(self.get("/healthz", user=ALICE).endswith("000"), "another user may not")
        for running in (True, False):
            for name in ("broker", "launcher"):
                text = self.run_(f"python3 -c '{connect}' /run/flamed-broker/{name}.sock", check=False, user=ALICE, groups=group)
                self.assertIn("PermissionError", text, f"{name} running={running}")
            for try_ in (f"rm -f {SOCKET}; test -e {SOCKET}", f"mv {SOCKET} /run/flamed/x", "touch /run/flamed/x",
                         "mkdir /run/flamed/x", "rm -f /run/flamed/quarantine; test -e /run/flamed/quarantine",
                         "touch /run/flamed-broker/x", "ls /run/flamed-broker", "cat /var/lib/flamed/*", "ls /var/lib/flamed"):
                text = self.run_(try_, check=False, user=ALICE, groups=group)
                self.assertIn("Permission denied", text, f"{try_} running={running}")
            if running:
                self.run_("systemctl stop flamed")
        self.run_("systemctl start flamed")
        self.wait_ready()
        # flamed, which may write there, cannot touch the others' sockets.
        flamed = self.run_("id -u flamed").strip()
        groups = self.run_("id -g flamed").strip() + "," + self.run_("getent group flamed-broker").split(":")[2]
        for try_ in ("rm -f /run/flamed-broker/broker.sock; test -e /run/flamed-broker/broker.sock", "touch /run/flamed-broker/x",
                     f"python3 -c '{connect}' /run/flamed-broker/launcher.sock"):
            self.assertRegex(self.run_(try_, check=False, user=flamed, groups=groups), "Permission ?(denied|Error)", try_)

    def test_without_attach(self):
        """With the launcher's socket masked, flamed profiles, and reports why it does not attach."""
        self.run_("systemctl mask flamed-launcher.socket")
        self.run_("systemd-sysusers flamed.conf; systemd-tmpfiles --create flamed.conf; systemctl start flamed-broker.socket flamed")
        self.wait_ready()
        pid = self.start_jvm()
        self.assertTrue(self.symbols(pid, "auto").startswith("memory"))
        self.assertIn("no launcher", self.get(f"/api/v1/jvms/{pid}/preflight"))

    def test_files_of_targets(self):
        """The broker opens files below the target's root: a perf map here."""
        paths.need("node")
        shutil.copy(os.path.join(paths.NATIVE_SOURCES, "spin.js"), self.machine.shared)
        self.start()
        name = "spin" + secrets.token_hex(4)
        self.run_("systemd-run -q --unit=node -p WorkingDirectory=/tmp "
                  f"{shutil.which('node')} --perf-basic-prof /run/tests/spin.js {name}")
        text = ""
        for _ in range(5): # its code is compiled after a while
            text = self.get(f"/profile?pid={self.main_pid('node')}&seconds=2&format=collapsed")
            if name in text:
                return
        self.fail(text[-2000:])

    def test_attach_mount(self):
        """The units allow it: a JVM with a read-only /tmp can be attached to in no other way."""
        for unit, more in (("flamed-broker", ""), ("flamed-launcher", "SystemCallFilter=move_mount umount2\\nRestrictSUIDSGID=no")):
            with open(os.path.join(self.machine.destdir, f"usr/lib/systemd/system/{unit}.service"), encoding="utf-8") as f:
                start = next(line.strip() for line in f if line.startswith("ExecStart="))
            self.run_(f"mkdir -p /etc/systemd/system/{unit}.service.d && printf '[Service]\\nExecStart=\\n{start} --attach-mount\\n"
                      f"{more}\\n' >/etc/systemd/system/{unit}.service.d/attach-mount.conf")
        with open(os.path.join(self.machine.shared, "contain"), "w", encoding="ascii") as f:
            f.write(READ_ONLY_ROOT)
        read_only = "unshare --mount --pid --fork --kill-child sh /run/tests/contain"
        self.run_("mkdir -p /etc/flamed && printf 'attach_mount: no\\n' >/etc/flamed/flamed.yaml")
        self.start()
        pid = self.start_jvm(wrap=read_only)
        self.assertFalse(self.symbols(pid, "agent").startswith("agent"), "without the option there is no way")
        self.run_("printf 'attach_mount: yes\\n' >/etc/flamed/flamed.yaml && systemctl restart flamed")
        self.wait_ready()
        time.sleep(1.1)
        found = self.symbols(pid, "agent")
        self.assertTrue(found.startswith("agent"), found)

    def test_socket_only(self):
        """With the drop-in: no network at all."""
        self.run_("install -D -m 644 /usr/share/doc/flamed/socket-only.conf /etc/systemd/system/flamed.service.d/socket-only.conf")
        self.start()
        pid = self.main_pid("flamed")
        self.assertNotEqual(self.run_(f"readlink /proc/{pid}/ns/net"), self.run_("readlink /proc/1/ns/net"))
        self.assertEqual(self.run_(f"nsenter -t {pid} -n ss -Hltn").strip(), "")
        self.assertTrue(self.symbols(self.start_jvm(), "memory").startswith("memory"))

    def slices(self) -> set[str]:
        """Returns the slices of the threads of flamed.service, in ns."""
        return set(self.run_("cat $(cat $(find /sys/fs/cgroup -path '*system.slice/flamed.service/cgroup.procs') | sed 's:.*:/proc/&/task/*/sched:') | "
                             "sed -n 's/^se.slice *: *//p'").split())

    def test_short_turns(self):
        """With the drop-in: threads that name frames have short turns, which only it allows."""
        if "se.slice" not in proc.read("/proc/self/sched"):
            self.skipTest("this kernel tells no lengths of turns")
        self.start()
        self.symbols(self.start_jvm(), "memory")
        self.assertNotIn("100000", self.slices())
        self.run_("install -D -m 644 /usr/share/doc/flamed/short-turns.conf /etc/systemd/system/flamed.service.d/short-turns.conf && "
                  "systemctl daemon-reload && systemctl restart flamed")
        self.wait_ready()
        self.symbols(self.start_jvm("again"), "memory")
        self.assertIn("100000", self.slices())


class Package(WithMachine):
    OLD_SOCKET = ("[Unit]\\nDescription=old\\n[Socket]\\nListenSequentialPacket=/run/flamed/broker.sock\\nSocketUser=root\\n"
                  "SocketGroup=flamed\\nSocketMode=0660\\nDirectoryMode=0755\\n[Install]\\nWantedBy=sockets.target\\n")

    def test_upgrade(self):
        """From one folder for both sockets, writable by group flamed, with foreign files inside."""
        new = "/usr/lib/systemd/system/flamed-broker.socket"
        self.run_("gpasswd -d flamed flamed-broker && rmdir /run/flamed-broker && groupdel flamed-broker")
        self.run_(f"cp {new} /run/new.socket; printf '{self.OLD_SOCKET}' >{new}; systemctl daemon-reload")
        self.run_("install -d -m 1775 -o root -g flamed /run/flamed && systemctl enable --now flamed-broker.socket && "
                  "systemctl enable flamed.service")
        group = self.run_("getent group flamed").split(":")[2]
        self.run_(f"touch /run/flamed/mine && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"{SOCKET}\")'",
                  user=ALICE, groups=group)
        self.run_(f"mkdir -p /var/lib/flamed && touch /var/lib/flamed/old && chown -R flamed:flamed /var/lib/flamed && "
                  f"chmod 750 /var/lib/flamed && mv /run/new.socket {new}")
        self.package(POSTINST, "configure", "0.0.9")
        self.wait_ready()
        self.assertEqual(self.run_("stat -c '%A %U %G' /run/flamed /run/flamed-broker /run/flamed-broker/broker.sock /var/lib/flamed "
                                   + SOCKET).split("\n")[:-1],
                         ["drwxr-xr-x flamed flamed", "drwxr-x--- root flamed-broker", "srw-rw---- root flamed-broker",
                          "drwx------ flamed flamed", "srw-rw---- flamed flamed"])
        self.assertEqual(self.run_("ls /run/flamed/broker.sock", check=False).count("No such file"), 1)
        self.assertIn("Permission denied", self.run_("rm -f /run/flamed/mine && touch /run/flamed/x", check=False, user=ALICE, groups=group))
        # Again, with the new state.
        self.package(POSTINST, "configure", "0.1.0")
        self.wait_ready()

    def expect(self, *states: str) -> None:
        """STATES: whether flamed.service, flamed-broker.socket and flamed-launcher.socket are enabled, and whether they run."""
        text = self.run_("for unit in flamed.service flamed-broker.socket flamed-launcher.socket; do "
                         "echo $(systemctl is-enabled $unit) $(systemctl is-active $unit); done")
        self.assertEqual(text.split("\n")[:-1], list(states))

    def test_an_administrators_choice(self):
        """An upgrade starts again what ran or was enabled. It enables nothing, and what is masked stays so."""
        on, off, masked = "enabled active", "disabled inactive", "masked inactive"
        self.run_("systemctl mask flamed-launcher.socket")
        self.start()
        self.expect(on, on, masked)
        for change, *states in (("start flamed-broker.service", on, on, masked),
                                ("unmask flamed-launcher.socket && systemctl enable flamed-launcher.socket", on, on, on),
                                # That it does not start fails no package.
                                ("reset-failed; mkdir -p /etc/flamed; echo wrong: 1 >/etc/flamed/flamed.yaml", "enabled failed", on, on),
                                ("reset-failed; rm /etc/flamed/flamed.yaml", on, on, on),
                                ("mask --now flamed.service", masked, on, on),
                                ("unmask flamed.service", on, on, on),
                                ("stop flamed.service", on, on, on),
                                ("disable flamed.service", "disabled active", on, on),
                                ("stop flamed.service", off, on, on),
                                ("disable --now flamed-broker.service flamed-broker.socket flamed-launcher.socket", off, off, off),
                                ("start flamed.service", "disabled active", "disabled active", "disabled active"),
                                ("enable flamed.service flamed-broker.socket flamed-launcher.socket", on, on, on)):
            with self.subTest(change):
                self.run_("systemctl " + change)
                self.package(POSTINST, "configure", "0.1.0")
                self.expect(*states)

    def test_it_comes_back(self):
        """dpkg calls it an upgrade, where a removed package is installed again."""
        self.start()
        for change, flamed in ("mask --now flamed-launcher.socket", "enabled"), ("disable flamed.service", "disabled"):
            self.run_("systemctl " + change)
            self.package(PRERM, "remove")
            self.expect(flamed + " inactive", "enabled inactive", "masked inactive")
            self.package(POSTINST, "configure", "0.1.0")
            self.expect("enabled active" if flamed == "enabled" else "disabled inactive", "enabled active", "masked inactive")

    def test_in_place_of_the_tarball(self):
        """The first version of a package, over what install.sh installed, which runs."""
        for script in POSTINST, PRERM:
            shutil.copy(script, self.machine.shared)
        self.start()
        self.run_("systemctl disable flamed.service")
        for script, arguments in (POSTINST, ["configure"]), (RPM_POST, ["1"]):
            with self.subTest(script):
                self.run_(f"cd /usr/lib/flamed && mkdir -p lib licenses && cp /run/tests/p* . && touch flamed LICENSE {MARK}")
                old = self.main_pid("flamed")
                self.package(script, *arguments)
                self.assertNotIn(self.main_pid("flamed"), (0, old))
                self.expect("disabled active", "enabled active", "enabled active")
                self.assertNotIn(os.path.basename(MARK), self.run_("ls /usr/lib/flamed").split())
                if script == POSTINST:
                    self.assertEqual(self.run_("ls /usr/lib/flamed").split(), ["flamed-broker", "flamed-push"])
        self.package(RPM_PREUN, "1")
        self.expect("disabled active", "enabled active", "enabled active")
        self.package(RPM_PREUN, "0")
        self.expect(*["disabled inactive"] * 3)

    def test_removal(self):
        # Slow to stop: were the broker to end before it, flamed would fail.
        self.run_("mkdir -p /etc/systemd/system/flamed.service.d && "
                  "printf '[Service]\\nExecStop=/bin/sleep 1\\n' >/etc/systemd/system/flamed.service.d/slow.conf")
        self.start()
        self.package(PRERM, "remove")
        self.assertEqual(self.run_("pgrep -c flamed", check=False).strip(), "0")
        self.package(POSTRM, "purge")
        self.assertEqual(self.run_("ls -d /run/flamed* /var/lib/flamed /etc/systemd/system/*.wants/flamed* 2>/dev/null", check=False), "")
        self.assertEqual(self.run_("getent passwd flamed; getent group flamed flamed-broker", check=False), "")
        self.assertNotIn("loaded failed", self.run_("systemctl list-units --all --no-pager 'flamed*'"),
                         self.run_("journalctl -o short-precise --no-pager | tail -60"))
