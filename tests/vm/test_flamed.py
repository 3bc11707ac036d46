# SPDX-License-Identifier: Apache-2.0
"""In the guest: flamed on this kernel profiles a JVM of the machine and one in a container. Emulation is slow. So there are no limits of
time, JVMs run without C2, each of them is stopped while the other one is profiled, and one flamed serves all tests, which run in the order
of their names."""
import faulthandler
import os
import re
import signal
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import bundle, jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import count # pylint: disable=wrong-import-position

SLOW = 30 # limit of a step in seconds, multiplied by the patience of the harness
ENOUGH = 100 # samples
UNKNOWN = 0.02 # share of the samples, once all is read
CAPTURES = (2, 4, 8, 16) # seconds, the last one again: a busy machine takes ticks of an emulated one away, and so samples
TOLD = ("X-Flamed-Samples", "X-Flamed-Unknown", "X-Flamed-Truncated", "X-Flamed-Warning")
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]


class Flamed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        faulthandler.dump_traceback_later(500, exit=True)
        spin = cls.spin = jvm.make_spin()
        cls.daemon = cls.start()
        cls.addClassCleanup(cls.daemon.stop)
        os.nice(10) # for JVMs: flamed would wait for the spinning one
        with ThreadPoolExecutor() as pool:
            ready = pool.submit(cls.daemon.wait_ready, SLOW)
            container = pool.submit(bundle.Container, paths.jdk(17), spin.folder, *JAVA, "-cp", "/classes", spin.main)
            cls.jvm = jvm.Jvm(paths.jdk(17), *JAVA, "-cp", spin.folder, spin.main)
            cls.addClassCleanup(cls.jvm.stop)
            cls.container = container.result()
            cls.addClassCleanup(cls.container.stop)
            proc.stop(cls.container.pid)
            ready.result()

    @classmethod
    def start(cls) -> Daemon:
        return Daemon(wait=False)

    def capture(self, pid: int, names: str, seconds: int):
        """Returns None if it was too slow: it did not finish in time, files or names were not read in time, the agent was not loaded, or
        there are too few samples."""
        try:
            profile = self.daemon.profile(pid=pid, seconds=seconds, hz=199, symbols=names, timeout=SLOW)
        except AssertionError as e:
            if "did not finish in time" not in str(e):
                raise
            return None
        told = profile.answer.headers["X-Flamed-Symbols"]
        print(f"{seconds} s: samples {profile.samples}, {profile.quality}, {told}, {profile.warnings}")
        slow = not told.startswith(names) or profile.quality["unknown"] >= UNKNOWN * profile.samples
        return None if slow or count(profile.of_thread("spinner")) <= ENOUGH else profile

    def profile(self, pid: int, names: str):
        """Returns a profile of process PID with enough samples, none of them lost, and Java names from NAMES."""
        lengths = iter(CAPTURES)
        profile = proc.wait_until(lambda: self.capture(pid, names, next(lengths, CAPTURES[-1])), SLOW, "a capture that was not too slow")
        self.assertEqual(profile.answer.headers["X-Flamed-Lost"], "0")
        stacks = profile.of_thread("spinner")
        named = profile.share(stacks, lambda s: self.spin.method in s.names and "java.lang.Thread.run" in s.names)
        self.assertGreaterEqual(named, 0.95, profile.describe(stacks))
        return profile

    def check_whole(self, pid: int) -> None:
        """With names from memory: stacks of the agent itself that are sampled before its rules are read are not whole."""
        profile = self.profile(pid, "memory")
        self.assertLess(int(profile.answer.headers["X-Flamed-Truncated"]), 0.02 * profile.samples, profile.describe())

    def wait_for_rules(self, pid: int) -> None:
        """There are many rules for unwinding native code, and reading them is slow here. So are names, for which each owner of processes
        has a share of the time. At first stacks are not whole or not named, or the capture does not end in time."""
        def whole() -> bool:
            answer = self.daemon.get("/profile", pid=pid, seconds=1, symbols="memory", timeout=SLOW)
            if answer.status != 200:
                return False
            print(*(f"{name} {value}" for name, value in answer.headers.items() if name in TOLD))
            if answer.headers["X-Flamed-Truncated"] != "0":
                return False
            return int(answer.headers["X-Flamed-Unknown"]) < UNKNOWN * int(answer.headers["X-Flamed-Samples"])

        proc.wait_until(whole, SLOW, "stacks are whole")

    def test_a_jvm(self):
        self.wait_for_rules(self.jvm.pid)
        self.check_whole(self.jvm.pid)

    def test_b_agent(self):
        self.profile(self.jvm.pid, "agent")

    def test_c_container(self):
        proc.stop(self.jvm.pid)
        self.addCleanup(os.kill, self.jvm.pid, signal.SIGCONT)
        os.kill(self.container.pid, signal.SIGCONT)
        self.addCleanup(proc.stop, self.container.pid)
        self.wait_for_rules(self.container.pid)
        self.check_whole(self.container.pid)
        told = self.daemon.get(f"/api/v1/jvms/{self.container.pid}").json()
        self.assertEqual(told["nspid"], proc.ns_pids(self.container.pid))

    def test_d_who_asks(self):
        """The processes that hold a socket are found by the fast walk, which is another one before Linux 6.2."""
        def fast() -> bool:
            counted = dict(re.findall(r"^flamed_http_caller_(\w+)_total (\d+)$", self.daemon.get("/metrics").text, re.M))
            print(counted)
            return int(counted["looks_fast"]) > 0

        proc.wait_until(fast, SLOW, "a fast look")

    def test_d_bad_input(self):
        for query in ("pid=-1", "pid=1&seconds=0", "nonsense=1", "pid=1&format=nonsense"):
            with self.subTest(query):
                self.assertEqual(self.daemon.get("/profile?" + query).status, 400)

    def test_e_killed(self):
        victim = next(pid for pid in proc.children(self.daemon.top()) if proc.exe(pid) == "flamed")
        os.kill(victim, signal.SIGKILL)
        self.daemon.wait_ready(SLOW)
        self.assertFalse(proc.alive(victim))
        self.assertTrue(proc.alive(self.jvm.pid))
        self.wait_for_rules(self.jvm.pid)
        self.check_whole(self.jvm.pid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
