# SPDX-License-Identifier: Apache-2.0
"""Like test_containers.py, in more kinds of containers. JDK 17 and 25."""
import test_containers
from harness import bundle, jvm, paths


class MoreKinds(test_containers.Kinds):
    def test_hidepid(self):
        self.each(hidepid=2)

    def test_host_user_and_network_no_passwd(self):
        self.each(user_namespace=False, network_namespace=False, passwd=False, read_only=False, tmp="exec")

    def test_with_frame_pointers(self):
        """A flag that other profilers need changes nothing."""
        def one(version: int) -> None:
            with bundle.Container(paths.jdk(version), self.spin.folder, jvm.FRAME_POINTERS, *self.arguments()) as c:
                self.check(c)
        jvm.side_by_side(self, one)
