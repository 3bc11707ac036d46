# SPDX-License-Identifier: Apache-2.0
"""The begin of tests with one busy thread: the workload Spin, a JVM that runs it, and a flamed that samples it."""
import unittest

from harness import jvm, paths
from harness.daemon import Daemon
from harness.profile import count, ordered


class WithSpin(unittest.TestCase):
    """Tests that need root and Spin, in cls.spin."""
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()


class WithSpinningJvm(WithSpin):
    """Also a JVM 17 that runs it, in cls.jvm and cls.pid, as the user cls.jvm_uid. It rests for cls.rest ms after every 5 ms or so."""
    jvm_uid = 0
    rest = 15

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        user = ["setpriv", f"--reuid={cls.jvm_uid}", f"--regid={cls.jvm_uid}", "--clear-groups"] if cls.jvm_uid else None
        cls.jvm = jvm.Jvm(paths.jdk(17), "-Xmx64m", f"-Drest={cls.rest}", "-cp", cls.spin.folder, cls.spin.main, wrap=user)
        cls.addClassCleanup(cls.jvm.stop)
        cls.pid = cls.jvm.pid


class WithSpinAndDaemon(WithSpin):
    """Also a flamed with cls.options, in cls.daemon. It has no flight recorder, which would read every JVM that other tests start."""
    options: tuple[str, ...] = ("--recorder-hz=0",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon(*cls.options)
        cls.addClassCleanup(cls.daemon.stop)

    def assert_named(self, profile, due: float, least: int = 50) -> None:
        """Checks that the thread has the samples for its CPU time, and that 95 % of them are named up to Thread.run. DUE: expected samples;
        at least LEAST of them are needed to judge."""
        stacks = profile.of_thread("spinner")
        text = profile.describe(stacks)
        self.assertGreater(due, least, "the machine is too busy for this test")
        self.assertAlmostEqual(count(stacks) / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())
        self.assertGreaterEqual(
            profile.share(stacks, lambda s: ordered(s.names, "java.lang.Thread.run", self.spin.run, self.spin.method)),
            0.95, text)
