# SPDX-License-Identifier: Apache-2.0
"""What tests about one busy thread begin with: the workload Spin, a JVM that runs it, a flamed that watches."""
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
    """And a JVM 17 that runs it, in cls.jvm and cls.pid, as the user cls.jvm_uid; it rests for cls.rest ms after every 5 or so."""
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
    """And a flamed with cls.options, in cls.daemon: without its flight recorder, which reads every JVM that other tests start."""
    options: tuple[str, ...] = ("--recorder-hz=0",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon(*cls.options)
        cls.addClassCleanup(cls.daemon.stop)

    def assert_named(self, profile, due: float, least: int = 50) -> None:
        """The thread has the samples that its CPU time is worth, and 95 % of them are named up to Thread.run. DUE: samples;
        LEAST of them are needed to tell."""
        stacks = profile.of_thread("spinner")
        text = profile.describe(stacks)
        self.assertGreater(due, least, "the machine is too busy for this test")
        self.assertAlmostEqual(count(stacks) / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())
        self.assertGreaterEqual(
            profile.share(stacks, lambda s: ordered(s.names, "java.lang.Thread.run", self.spin.run, self.spin.method)),
            0.95, text)
