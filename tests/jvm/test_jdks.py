# SPDX-License-Identifier: Apache-2.0
"""JDK 8, 11, 21 and 26 to 28, each in a container with its own root file system and another C library than the host's."""
import unittest

import test_containers
from harness import bundle, jdkroot, jvm
from harness.daemon import Daemon


class Jdks(jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        spin = jvm.make_spin(version)
        arguments = [*jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main]
        with bundle.Container("", spin.folder, *arguments, root=jdkroot.root(version),
                              executable=jdkroot.java(version)) as c:
            told = self.daemon.get(f"/api/v1/jvms/{c.pid}").json()
            self.assertRegex(told["java_version"], rf"^(1\.)?{version}\b")
            test_containers.check_names(self, test_containers.capture(self.daemon, c.pid, pid=c.pid), spin, c.pid)
