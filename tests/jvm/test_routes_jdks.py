# SPDX-License-Identifier: Apache-2.0
"""Routes out of annotations in JDK 8, 11, 21 and 26 to 28, each in a container."""
import unittest

import test_routes
from harness import bundle, jdkroot
from harness.daemon import Daemon


class RoutesJdks(test_routes.Checks, jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = test_routes.compiled()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        with bundle.Container("", self.classes.folder, *test_routes.ARGUMENTS, "/classes", "shop.Shop", *test_routes.CASES, root=jdkroot.root(version),
                              executable=jdkroot.java(version)) as c:
            self.judge(c.pid, version)


if __name__ == "__main__":
    unittest.main()
