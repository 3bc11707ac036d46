# SPDX-License-Identifier: Apache-2.0
"""Clients that leave, processes of flamed that are killed, starts that must be refused, targets in odd states."""
import os
import signal
import socket
import subprocess
import threading
import time

from harness import paths, proc
from harness.daemon import Daemon, free_port
from harness.profile import count
from harness.spinning import WithSpinAndDaemon, WithSpinningJvm

# Numbers of capabilities, as bits (linux/capability.h).
KILL, SETGID, SETUID, SETPCAP, DAC_READ_SEARCH = 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 2
SYS_CHROOT, SYS_PTRACE, SYS_ADMIN, SYS_NICE = 1 << 18, 1 << 19, 1 << 21, 1 << 23
SYSLOG, PERFMON, BPF = 1 << 34, 1 << 38, 1 << 39


class Lifecycle(WithSpinningJvm, WithSpinAndDaemon):
    """Those that end no process share cls.daemon."""
    options = ()

    def leave(self, daemon: Daemon, how) -> None:
        """A client requests 60 s and leaves after one: a second later, sampling has stopped."""
        quiet = daemon.perf_events()
        s = socket.create_connection(("127.0.0.1", daemon.port))
        s.sendall(f"GET /profile?pid={self.pid}&seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        proc.wait_until(lambda: daemon.perf_events() > quiet, 10, "sampling began")
        with proc.Standstill() as machine:
            how(s)
            start = time.monotonic()
            proc.wait_until(lambda: daemon.perf_events() == quiet, 10, "sampling ended")
            took = time.monotonic() - start
        self.assertLess(took - machine.seconds, 1.2, f"within a second of the client's leaving: {took}, {machine.seconds}")

    def test_client_leaves(self):
        self.daemon.profile(pid=self.pid, seconds=0.5)
        self.leave(self.daemon, lambda s: s.close())

        def reset(s):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()

        self.leave(self.daemon, reset)
        self.assertEqual(self.daemon.wait_ready().json().get("captures", 0), 0)

    def test_client_leaves_beside_another(self):
        """One of two clients leaves: the other one's profile is complete."""
        got = []
        thread = threading.Thread(target=lambda: got.append(self.daemon.profile(pid=self.pid, seconds=4, hz=99)))
        s = socket.create_connection(("127.0.0.1", self.daemon.port))
        s.sendall(f"GET /profile?pid={self.pid}&seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.5)
        with proc.CpuClock(self.pid) as clock:
            thread.start()
            time.sleep(1)
            s.close()
            thread.join()
        due = 99 * clock.between(got[0])
        self.assertAlmostEqual(got[0].samples / due, 1, delta=0.1 + 4 / due ** 0.5)

    def test_each_process_killed(self):
        """kill -9 of each process: its supervisor restarts it, and flamed serves. A running capture fails with a reason, or its connection
        ends. No client hangs."""
        with Daemon() as daemon:
            top = daemon.top()
            names = sorted(proc.exe(pid) for pid in proc.children(top))
            self.assertEqual(names, ["flamed", "flamed-broker"], "the worker and the broker are two processes")
            for name in names:
                victim = next(pid for pid in proc.children(top) if proc.exe(pid) == name)
                with self.subTest(process=name):
                    result = []

                    def capture():
                        try:
                            result.append(daemon.get("/profile", pid=self.pid, seconds=30, timeout=20).status)
                        except OSError as e:
                            result.append(repr(e))
                        except Exception as e: # http.client: the connection ended in the middle
                            result.append(repr(e))

                    thread = threading.Thread(target=capture)
                    thread.start()
                    time.sleep(1)
                    os.kill(victim, signal.SIGKILL)
                    thread.join(15)
                    self.assertTrue(result, "the capture under way ended")
                    self.assertNotEqual(result[0], 200)
                    if isinstance(result[0], int):
                        self.assertIn(result[0], (500, 502, 503))
                    daemon.wait_ready(15)
                    self.assertEqual(daemon.top(), top)
                    self.assertFalse(proc.alive(victim))
                    self.assert_sampled(daemon)

    def test_launcher_killed(self):
        """Sampling does not need the process that starts attach helpers: its end has no effect."""
        with Daemon("--recorder-hz=0") as daemon:
            broker = next(pid for pid in proc.children(daemon.top()) if proc.exe(pid) == "flamed-broker")
            before = daemon.processes()
            keepers = [pid for pid in proc.children(broker) if proc.read(f"/proc/{pid}/comm").strip() == "flamed-launcher"]
            self.assertEqual(len(keepers), 1, "the broker's child that starts the launcher again")
            gone = keepers + proc.children(keepers[0])
            os.kill(keepers[0], signal.SIGKILL)
            proc.wait_until(lambda: not any(proc.alive(pid) for pid in gone), 8, "the launcher ended, too")
            self.assert_sampled(daemon)
            self.assertEqual(daemon.processes()["flamed"], before["flamed"], "the worker is the same process")

    def assert_sampled(self, daemon: Daemon) -> None:
        """A capture has the samples for the CPU time that the kernel counts for the thread, whatever else runs."""
        profile, clock, of_thread = proc.captured(daemon, self.pid, proc.thread_of(self.pid, "spinner"), 199, 100)
        for samples, used in ((profile.samples, clock), (count(profile.of_thread("spinner")), of_thread)):
            due = 199 * used.between(profile)
            self.assertAlmostEqual(samples / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())

    def test_supervisor_killed(self):
        """When the topmost process is gone, all others end, too."""
        daemon = Daemon("--recorder-hz=0")
        pids = daemon.pids()
        os.kill(daemon.top(), signal.SIGKILL)
        proc.wait_until(lambda: not any(proc.alive(pid) for pid in pids), 8, "no process is left")
        daemon.stop(check=False)

    def test_terminated_in_the_middle(self):
        """SIGTERM during captures: all processes end within seconds, and every client gets an answer or an end."""
        with Daemon() as daemon:
            results = []

            def capture():
                try:
                    results.append(daemon.get("/profile", pid=self.pid, seconds=60, timeout=20).status)
                except Exception as e: # an ended connection has many exceptions
                    results.append(repr(e))

            threads = [threading.Thread(target=capture) for _ in range(3)]
            for t in threads:
                t.start()
            time.sleep(1)
            with proc.Standstill() as machine:
                os.kill(daemon.top(), signal.SIGTERM)
                self.assertEqual(daemon.process.wait(15), 0)
                took = machine.given()
            self.assertLess(took, 6)
            for t in threads:
                t.join(5)
            self.assertEqual(len(results), 3)

    def refused(self, *arguments: str) -> str:
        """Starts flamed with options that it must refuse. Returns its output."""
        result = subprocess.run([paths.program("flamed"), *arguments], capture_output=True, text=True, timeout=10,
                                stdin=subprocess.DEVNULL)
        self.assertNotEqual(result.returncode, 0, result)
        self.assertGreater(len(result.stderr), 20)
        return result.stderr

    def test_refused_starts(self):
        store = ("--store", "/tmp/flamed-refused-store")
        self.addCleanup(lambda: os.path.isdir(store[1]) and os.rmdir(store[1]))
        for address in ("0.0.0.0:7999", "[::]:7999", "192.0.2.1:7999", "example.invalid:7999", "127.0.0.1", "127.0.0.1:0x1",
                        "127.0.0.1:99999", "", "unix:", "unix:relative"):
            with self.subTest(listen=address):
                self.refused("--listen", address, *store)
        port = free_port()
        with socket.socket() as s:
            s.bind(("127.0.0.1", port))
            s.listen()
            self.assertIn(str(port), self.refused("--listen", f"127.0.0.1:{port}", *store))
        self.assertIn("--nonsense", self.refused("--nonsense"))
        self.assertIn("/no/such", self.refused("--listen", f"127.0.0.1:{port}", "--store", "/no/such/folder"))
        self.assertIn("/no/such", self.refused("--config", "/no/such/file"))

    def test_version_and_help(self):
        for option, word in (("--version", "flamed"), ("--help", "--listen")):
            result = subprocess.run([paths.program("flamed"), option], capture_output=True, text=True, timeout=10)
            self.assertEqual(result.returncode, 0)
            self.assertIn(word, result.stdout)
            self.assertEqual(result.stderr, "")

    def test_both_doors(self):
        """The Unix socket serves the same routes."""
        for path in ("/healthz", "/readyz", "/api/v1/jvms", "/api/v1/events", "/openapi.json", "/"):
            with self.subTest(path=path):
                answers = [self.daemon.request("GET", path, unix=unix) for unix in (False, True)]
                self.assertEqual([a.status for a in answers], [200, 200], str(answers[0]))
                self.assertEqual(*[a.headers["Content-Type"] for a in answers])

    def test_idle(self):
        """Without a capture, flamed and its broker use almost no CPU time: none of their loops spins."""
        pids = [pid for name in ("flamed", "flamed-broker") for pid in self.daemon.processes()[name]]
        shares = []
        for _ in range(3): # in the first two seconds it may still read existing processes
            before, start = sum(proc.cpu_seconds(pid) for pid in pids), time.monotonic()
            time.sleep(2)
            shares.append((sum(proc.cpu_seconds(pid) for pid in pids) - before) / (time.monotonic() - start))
        self.assertLess(min(shares), 0.1, f"{shares} of a CPU without anything to do")

    def test_stopped_jvm(self):
        """A stopped JVM has no samples. flamed sends it no request, so the answer comes in time."""
        proc.stop(self.pid)
        try:
            # A request to it would time out after seconds.
            took = []
            for _ in range(3):
                start = time.monotonic()
                profile = self.daemon.profile(pid=self.pid, seconds=1)
                took.append(time.monotonic() - start)
                self.assertEqual(profile.samples, 0)
            self.assertLess(min(took), 2, f"{took}: one second of sampling, and next to nothing for the answer")
            self.assertEqual(proc.stat(self.pid)[0], "T")
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def test_priorities(self):
        """Only the thread that names frames and its readers have a raised priority, and so does their session."""
        status = dict(line.split(":", 1) for line in proc.read("/proc/self/status").splitlines() if ":" in line)
        if not int(status["CapEff"], 16) & SYS_NICE:
            self.skipTest("takes the right to raise priorities")
        self.daemon.profile(pid=self.pid, seconds=0.5, lines=1) # also starts the threads that read symbols and lines
        pid = self.daemon.processes()["flamed"][0]
        nices: dict[str, set[int]] = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            nices.setdefault(proc.read(f"/proc/{pid}/task/{tid}/comm").strip(), set()).add(os.getpriority(os.PRIO_PROCESS, int(tid)))
        self.assertLessEqual({"flamed-engine", "flamed-reader", "flamed-store"}, set(nices), nices)
        for name, found in nices.items():
            self.assertEqual(found, {-10 if name in ("flamed-engine", "flamed-reader") else 0}, nices)
        broker = next(pid for pid in proc.children(self.daemon.top()) if proc.exe(pid) == "flamed-broker")
        nices = {proc.read(f"/proc/{broker}/task/{tid}/comm").strip(): {os.getpriority(os.PRIO_PROCESS, int(tid))}
                 for tid in os.listdir(f"/proc/{broker}/task")}
        self.assertEqual(nices, {"flamed-broker": {-10}, "flamed-hooker": {-10}, "flamed-loader": {0}})
        if self.has_autogroups():
            led = [pid for pid in self.daemon.pids() if os.getsid(pid) == pid and pid != self.daemon.process.pid]
            said = [proc.read(f"/proc/{pid}/autogroup").split()[-2:] for pid in led]
            self.assertEqual(said, [["nice", "-5"]] * 2, "the worker's and the broker's")

    @staticmethod
    def has_autogroups() -> bool:
        """Returns true if the kernel shares processors between sessions first."""
        switch = "/proc/sys/kernel/sched_autogroup_enabled"
        return os.path.exists(switch) and proc.read(switch).strip() == "1" and "nice" in proc.read("/proc/self/autogroup")

    def test_privileges(self):
        """No process holds or can gain a capability without use, and each has a seccomp filter."""
        launcher = SYS_ADMIN | SYS_PTRACE | SYS_CHROOT | SETUID | SETGID | KILL
        opener = SYS_ADMIN | SYS_PTRACE | DAC_READ_SEARCH
        broker = launcher | opener | PERFMON | BPF | SYSLOG
        allowed = {"supervisor": broker | SETPCAP | SYS_NICE, "flamed-broker": broker, "flamed": 0, "flamed-namer": 0,
                   "flamed-launcher": launcher, "flamed-nursery": opener, "flamed-opener": opener}
        self.assertEqual(len(self.daemon.processes()["flamed"]), 1)
        seen = set()
        for pid in self.daemon.pids():
            name = "supervisor" if pid == self.daemon.top() else proc.read(f"/proc/{pid}/comm").strip()
            status = dict(line.split(":", 1) for line in proc.read(f"/proc/{pid}/status").splitlines() if ":" in line)
            seen.add(name)
            with self.subTest(process=name):
                for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(int(status[kind], 16) & ~allowed[name], 0, f"{kind} {status[kind]}")
                self.assertEqual(status["Seccomp"].strip(), "2")
                self.assertEqual(status["NoNewPrivs"].strip(), "1")
                uids = set(status["Uid"].split())
                self.assertEqual(len(uids), 1)
                self.assertEqual(uids == {"0"}, name not in ("flamed", "flamed-namer"))
        self.assertEqual(seen, set(allowed))
