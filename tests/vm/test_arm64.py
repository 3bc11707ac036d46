# SPDX-License-Identifier: Apache-2.0
"""In the guest of arm64.py: stacks of JDK 8 to 25 with all compilers under the load of fourteen kinds of threads. 99.5 % of the stacks of
Java threads reach the start of their thread, callers in compiled code stand at calls, no sample is lost. JDK 25 is of a release
that signs return addresses, which has an effect on a processor with pointer authentication only.

The other classes have events by probes and by the agent, and waits of virtual threads."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))

import common # pylint: disable=wrong-import-position
import test_events # pylint: disable=wrong-import-position
import test_virtual_yields # pylint: disable=wrong-import-position
from harness import jdkroot, jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import Profile, count # pylint: disable=wrong-import-position


SLOW = 60 # limit of a step in seconds, multiplied by the patience of the harness
SECONDS = 8 # of a capture
HZ = 199
ENOUGH = 500 # samples of Java threads
WHOLE = 0.995
UNKNOWN = 0.02 # share of samples with code that flamed does not know, such as code that was compiled a moment ago
MAIN = "Mixed"


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(wait=False)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.wait_ready(SLOW)
        os.nice(10) # for JVMs: flamed would wait for the spinning one

    def check_oracle(self, pid: int) -> None:
        """By the program stacks, which judges callers by HotSpot's debug information."""
        whole = exact = (0, 0)
        reasons = []
        while whole[1] < ENOUGH:
            got, why = common.stacks(pid, SECONDS, HZ)
            whole, exact = ((a[0] + b[0], a[1] + b[1]) for a, b in ((whole, got["whole"]), (exact, got["exact"])))
            reasons += [why] if why else []
        print(f"whole: {whole[0]} of {whole[1]}; callers at exact places: {exact[0]} of {exact[1]}; {reasons}", flush=True)
        if whole[0] < WHOLE * whole[1]:
            print(subprocess.run([paths.program("tests/bench/stacks"), str(pid), str(SECONDS), str(HZ), "-v"], stdout=subprocess.PIPE, text=True).stdout)
        self.assertGreaterEqual(whole[0], WHOLE * whole[1], reasons)
        self.assertGreater(exact[1], 0)
        self.assertGreaterEqual(exact[0], 0.99 * exact[1])

    def check_profile(self, pid: int) -> None:
        """By HTTP. The first captures may come before the rules of native code are read. libc has no symbols of its own functions there,
        so its frames show addresses."""
        def whole():
            answer = self.daemon.get("/profile", pid=pid, seconds=SECONDS, hz=HZ, symbols="memory", format="json", lines=1, threads=1,
                                     timeout=SLOW)
            if "did not finish in time" in answer.text:
                return None
            self.assertEqual(answer.status, 200, answer)
            profile = Profile(answer)
            self.assertEqual(profile.quality["lost"], 0)
            cut, unnamed = profile.quality["truncated"], count([s for s in profile.stacks if "[unknown]" in s.names])
            print(f"samples {profile.samples}, cut {cut}, not all named {unnamed}", flush=True)
            return profile if cut <= (1 - WHOLE) * profile.samples and unnamed <= UNKNOWN * profile.samples else None

        profile = proc.wait_until(whole, SLOW, "stacks are whole")
        stacks = [s for s in profile.stacks if any(f.name.startswith(MAIN + ".") for f in s.frames)]
        self.assertGreater(count(stacks), 100, profile.describe())
        started = profile.share(stacks, lambda s: any(name.startswith("java.lang.") and name.endswith(("Thread.run", "Thread.runWith"))
                                                      or name == MAIN + ".main" for name in s.names))
        self.assertGreaterEqual(started, WHOLE, profile.describe(stacks))
        kinds = {f.kind for s in stacks for f in s.frames}
        self.assertLessEqual({"interpreted", "c1", "native"}, kinds)

    def test_17(self):
        classes = common.compile_bench("Mixed")
        with jvm.Jvm(paths.jdk(17), "-Xmx256m", "-cp", classes.folder, MAIN, "3600", "none") as target:
            self.check_oracle(target.pid)
            self.check_profile(target.pid)

    def check_root(self, version: int) -> None:
        """The same with a JDK of arm64.JDKS."""
        classes = common.compile_bench("Mixed")
        _, inside, wrap = jdkroot.alone(version, classes.folder)
        with jvm.Jvm("", "-Xmx256m", "-cp", inside, MAIN, "3600", "none", executable=jdkroot.java(version), wrap=wrap) as target:
            self.check_oracle(target.pid)
            self.check_profile(target.pid)

    def test_8(self):
        self.check_root(8)

    def test_11(self):
        self.check_root(11)

    def test_21(self):
        self.check_root(21)

    def test_25(self):
        self.check_root(25)


class Probes(test_events.Probes):
    """Bytes and calls by probes, and by the agent."""
    limit = 1500


class Virtual(test_virtual_yields.VirtualYields):
    """Waits of virtual threads by probes, with two collectors. The program measures a longer time than the capture."""
    test_exact_25 = test_told_apart = test_too_often = test_bare_continuation = test_unlisted = None

    def in_time(self, *options: str) -> bool:
        """With a JVM of its own. Returns false if the capture did not finish in time."""
        try:
            self.check_exact(21, *options, percent=10)
        except AssertionError as error:
            if "did not finish in time" not in str(error):
                raise
            return False
        return True

    def test_21(self):
        for options in (["-XX:+UseG1GC"], ["-XX:+UseZGC", "-XX:+ZGenerational"]):
            with self.subTest(options=options):
                proc.wait_until(lambda: self.in_time(*options), SLOW, "a capture ends in time")


if __name__ == "__main__":
    unittest.main(verbosity=2)
