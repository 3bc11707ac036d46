# SPDX-License-Identifier: Apache-2.0
"""JVMs that forbid every way in are profiled all the same, and print nothing about it."""
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import count, ordered


class NoWayIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, *options: str) -> None:
        for version in (17, 25):
            with self.subTest(jdk=version):
                target = jvm.Jvm(paths.jdk(version), *options, "-Xmx64m", "-cp", self.spin.folder, self.spin.main)
                try:
                    # Compiled code first: at its start the thread is in the class loader.
                    proc.wait_until(lambda: proc.cpu_seconds(target.pid) > 2, 60, "warm")
                    tid = proc.thread_of(target.pid, "spinner")
                    seconds = proc.seconds_to_use(target.pid, tid, 0.4, 1, 30)
                    with proc.CpuClock(target.pid, tid) as clock:
                        profile = self.daemon.profile(pid=target.pid, seconds=seconds, hz=499, timeout=60)
                    stacks, due = profile.of_thread("spinner"), 499 * clock.between(profile)
                    self.assertGreater(due, 100, "the machine is too busy for this test")
                    self.assertAlmostEqual(count(stacks) / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())
                    self.assertGreaterEqual(
                        profile.share(stacks, lambda s: ordered(s.names, "java.lang.Thread.run", self.spin.run, self.spin.method)),
                        0.95, profile.describe(stacks))
                finally:
                    out, err = target.stop()
                self.assertEqual((out, err), ("", ""))

    def test_attach_is_disabled(self):
        self.check("-XX:+DisableAttachMechanism")

    def test_signals_are_reduced(self):
        self.check("-Xrs")

    def test_no_hsperfdata(self):
        self.check("-XX:-UsePerfData")
