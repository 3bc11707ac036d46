# SPDX-License-Identifier: Apache-2.0
"""Waits of virtual threads by probes against the program's own clocks, on other JDKs and with other collectors."""
import os
import threading
import time
from unittest import mock

import test_virtual_yields
from test_virtual_yields import SLEEPERS
from harness.daemon import Daemon

CROWD_SECONDS = 20 # of captures beside 40,000 threads that wait
SECONDS = 45 # of a capture beside 72,000 short threads
OTHERS = ("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseShenandoahGC")


class VirtualYieldsJdks(test_virtual_yields.VirtualYields):
    test_exact_25 = test_told_apart = test_too_often = None

    def check_all(self, version: int, *options: str) -> None:
        for option in options:
            with self.subTest(jdk=version, option=option):
                self.check_exact(version, *option.split())

    def test_21(self):
        self.check_all(21, "-XX:+UseG1GC", "-XX:+UseZGC -XX:+ZGenerational", *OTHERS)

    def test_25(self):
        self.check_all(25, "-XX:+UseG1GC", "-XX:+UseZGC", *OTHERS, "-XX:+UseCompactObjectHeaders")

    def test_26(self):
        self.check_all(26, "-XX:+UseG1GC", "-XX:+UseZGC", *OTHERS)

    def test_27(self):
        self.check_all(27, "-XX:+UseG1GC", "-XX:+UseZGC", *OTHERS)

    def test_short_lived(self):
        """Threads that have ended leave no waits behind: 72,000 of them do not fill the room for 32,768, which kernels before 6.1 have."""
        with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "preallocate"}), Daemon("--recorder-hz=0") as daemon:
            jvm = self.start_yields(25, "--add-exports=java.base/jdk.internal.vm=ALL-UNNAMED")
            query = {"pid": jvm.pid, "event": "offcpu", "source": "probe"}
            daemon.profile(seconds=0.5, **query) # loads the programs
            profiles = []
            capture = threading.Thread(target=lambda: profiles.append(daemon.profile(seconds=SECONDS, **query)))
            capture.start()
            time.sleep(2) # the probes are in
            began = time.monotonic()
            self.begin(jvm, "short")
            self.assertLess(time.monotonic() - began, SECONDS - 3)
            capture.join()
            self.assertGreater(profiles[0].end - profiles[0].start, SECONDS - 1)
            self.assert_by_probes(profiles[0])

    def test_crowd(self):
        """A JVM whose waits fill more than its share loses its probes, and takes no room from another one (32,768 waits in all)."""
        with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "preallocate"}), Daemon("--recorder-hz=0") as daemon:
            hostile, other = (self.start_yields(25) for _ in range(2))
            self.begin(other, "slowly")
            query = {"event": "offcpu", "source": "probe"}
            daemon.profile(pid=other.pid, seconds=0.5, **query) # loads the programs
            profiles = {}
            captures = [threading.Thread(target=lambda pid=jvm.pid: profiles.update({pid: daemon.profile(pid=pid, seconds=CROWD_SECONDS, **query)}))
                        for jvm in (hostile, other)]
            for capture in captures:
                capture.start()
            time.sleep(2) # the probes are in
            self.begin(hostile, "crowd")
            for capture in captures:
                capture.join()
            warnings = profiles[hostile.pid].warnings
            print(warnings, profiles[other.pid].warnings, flush=True)
            self.assertTrue(any("flamed had no room for" in w for w in warnings), warnings)
            self.assert_by_probes(profiles[other.pid])
            self.assertAlmostEqual(self.threads_at(profiles[other.pid], "VirtualYields.sleeper"), SLEEPERS, delta=SLEEPERS * 0.02)
