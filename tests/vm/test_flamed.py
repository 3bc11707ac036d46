# SPDX-License-Identifier: Apache-2.0
"""In the guest: flamed on this kernel profiles a JVM of the machine and one in a container. Emulation is slow, so that nothing
here asks how long something took, JVMs do without C2, and one flamed serves all tests, which run in the order of their names."""
import faulthandler
import os
import signal
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import bundle, jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import count # pylint: disable=wrong-import-position

SLOW = 120 # seconds that anything may take
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]


class Flamed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        faulthandler.dump_traceback_later(4 * SLOW, exit=True)
        spin = cls.spin = jvm.make_spin()
        cls.daemon = cls.start()
        cls.addClassCleanup(cls.daemon.stop)
        os.nice(10) # JVMs, that is: flamed would wait for what spins
        with ThreadPoolExecutor() as pool:
            ready = pool.submit(cls.daemon.wait_ready, SLOW)
            container = pool.submit(bundle.Container, paths.jdk(17), spin.folder, *JAVA, "-cp", "/classes", spin.main)
            cls.jvm = jvm.Jvm(paths.jdk(17), *JAVA, "-cp", spin.folder, spin.main)
            cls.addClassCleanup(cls.jvm.stop)
            cls.container = container.result()
            cls.addClassCleanup(cls.container.stop)
            ready.result()

    @classmethod
    def start(cls) -> Daemon:
        return Daemon(wait=False)

    def profile(self, pid: int, **parameters):
        """Of process PID, with enough samples, none of them lost, and Java names."""
        def taken():
            try:
                return self.daemon.profile(pid=pid, seconds=2, hz=199, timeout=SLOW, **parameters)
            except AssertionError as e:
                if "did not come to its end in time" not in str(e): # which is all that slowness may do
                    raise
                return None

        profile = proc.wait_until(taken, SLOW, "a capture that ends in time")
        print(f"samples {profile.samples}, {profile.quality}, {profile.warnings}")
        self.assertEqual(profile.answer.headers["X-Flamed-Lost"], "0")
        stacks = profile.of_thread("spinner")
        self.assertGreater(count(stacks), 100, profile.describe())
        named = profile.share(stacks, lambda s: self.spin.method in s.names and "java.lang.Thread.run" in s.names)
        self.assertGreaterEqual(named, 0.95, profile.describe(stacks))
        return profile

    def check_whole(self, pid: int) -> None:
        """With names from memory: those of the agent's own stacks that are sampled before its rules are read are not whole."""
        profile = self.profile(pid, symbols="memory")
        self.assertLess(int(profile.answer.headers["X-Flamed-Truncated"]), 0.02 * profile.samples, profile.describe())

    def wait_for_rules(self) -> None:
        """The rules of how to unwind native code are many, and are read slowly here, as are names, for which each owner of
        processes has a share of the time: at first stacks are not whole or not named, or the capture does not end in time."""
        def whole() -> bool:
            answer = self.daemon.get("/profile", pid=self.jvm.pid, seconds=1, symbols="memory", timeout=SLOW)
            if answer.status != 200 or answer.headers["X-Flamed-Truncated"] != "0":
                return False
            return int(answer.headers["X-Flamed-Unknown"]) < 0.02 * int(answer.headers["X-Flamed-Samples"])

        proc.wait_until(whole, SLOW, "stacks are whole")

    def test_a_jvm(self):
        self.wait_for_rules()
        self.check_whole(self.jvm.pid)

    def test_b_agent(self):
        profile = self.profile(self.jvm.pid, symbols="agent")
        self.assertIn("agent", profile.answer.headers["X-Flamed-Symbols"])

    def test_c_container(self):
        self.check_whole(self.container.pid)
        told = self.daemon.get(f"/api/v1/jvms/{self.container.pid}").json()
        self.assertEqual(told["nspid"], proc.ns_pids(self.container.pid))

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
        self.wait_for_rules()
        self.check_whole(self.jvm.pid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
