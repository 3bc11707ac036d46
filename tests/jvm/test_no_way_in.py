# SPDX-License-Identifier: Apache-2.0
"""JVMs that forbid every way in are still profiled, and print nothing about it."""

from harness import jvm, paths, proc
from harness.spinning import WithSpinAndDaemon


class NoWayIn(WithSpinAndDaemon):
    def check(self, *options: str) -> None:
        def one(version: int) -> None:
            target = jvm.Jvm(paths.jdk(version), *options, "-Xmx64m", "-cp", self.spin.folder, self.spin.main)
            try:
                tid = proc.thread_of(target.pid, "spinner")
                profile, _, clock = proc.captured(self.daemon, target.pid, tid, 499, 100)
                self.assert_named(profile, 499 * clock.between(profile), 100)
            finally:
                out, err = target.stop()
            self.assertEqual((out, err), ("", ""))
        jvm.side_by_side(self, one, jvm.some(25, 17))

    def test_attach_is_disabled(self):
        self.check("-XX:+DisableAttachMechanism")

    def test_signals_are_reduced(self):
        self.check("-Xrs")

    def test_no_hsperfdata(self):
        self.check("-XX:-UsePerfData")
