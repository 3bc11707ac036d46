# SPDX-License-Identifier: Apache-2.0
"""Every stub by its own name: JDK 8, 11, 21 and 26 to 28, each in a container with its own root file system."""
import test_stubs
from harness import bundle, jdkroot


class Jdks(jdkroot.EachJdk, test_stubs.Base):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        super().setUpClass()

    def check(self, version: int) -> None:
        with bundle.Container("", self.classes.folder, *test_stubs.OPTIONS, "-cp", "/classes", "Stubs", root=jdkroot.root(version),
                              executable=jdkroot.java(version)) as c:
            self.check_all(c.pid, version, agent=version >= 17) # for older releases agents are not asked for stubs
