# SPDX-License-Identifier: Apache-2.0
"""Threads that are renamed while they are sampled: each sample has the name of its time, and the profile says so."""
import time

from harness import paths
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses, side_by_side, some

SHORT = {"first": "req /a", "second": "req /b"}
LONG = {"first": "request /orders/1", "second": "request /orders/2"}


class RenamedThreads(WithClasses):
    sources = ("Renames.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        with Jvm(paths.jdk(version), "-Xmx64m", "-XX:+UseSerialGC", "-Xint", "-cp", self.classes.folder, "Renames") as jvm:
            time.sleep(1)
            profile = self.daemon.profile(pid=jvm.pid, seconds=10, hz=99)
        for names, right in (SHORT, 0.9), (LONG, 0.6): # of 3 s, up to one has the name before
            work = [s for s in profile.stacks if s.thread in names.values()]
            self.assertEqual({s.thread for s in work}, set(names.values()), profile.describe())
            share = profile.share([s for s in work if any("Renames." + m in s.names for m in names)],
                                  lambda s, names=names: any("Renames." + m in s.names and s.thread == n for m, n in names.items()))
            self.assertGreaterEqual(share, right, profile.describe(work))
        self.assertTrue([w for w in profile.warnings if w.startswith("2 threads were renamed during the capture")], profile.warnings)

    def test_each_sample_has_its_name(self):
        side_by_side(self, self.check, some(25, 17))
