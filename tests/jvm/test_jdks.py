# SPDX-License-Identifier: Apache-2.0
"""JDK 8, 11, 21 and 26, each in a container with a root file system of its own, whose C library is not the host's."""
import unittest

import test_containers
from harness import bundle, jdkroot, jvm
from harness.daemon import Daemon


class Jdks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.spin = jvm.make_spin()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        arguments = [*jvm.spin_options(self.spin), "-Xmx64m", "-cp", "/classes", self.spin.main]
        with bundle.Container("", self.spin.folder, *arguments, root=jdkroot.root(version),
                              executable=jdkroot.java(version)) as c:
            told = self.daemon.get(f"/api/v1/jvms/{c.pid}").json()
            self.assertRegex(told["java_version"], rf"^(1\.)?{version}\b")
            test_containers.check_names(self, test_containers.capture(self.daemon, c.pid, pid=c.pid), self.spin, c.pid)

    def test_8(self):
        self.check(8)

    def test_11(self):
        self.check(11)

    def test_21(self):
        self.check(21)

    def test_26(self):
        self.check(26)
