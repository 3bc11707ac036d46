# SPDX-License-Identifier: Apache-2.0
"""As test_attach.py, in more kinds of containers. JDK 17 and 25."""
import test_attach
from harness import bundle, jvm, paths


class MoreKinds(test_attach.Kinds):
    def test_read_only_root_and_writable_tmp(self):
        self.each(user_namespace=False, tmp="exec")

    def test_no_passwd_entry(self):
        self.each(user_namespace=False, passwd=False)

    def test_root_of_a_user_namespace(self):
        self.each(uid=0, capabilities=test_attach.DOCKER_CAPABILITIES)

    def test_hidepid_4(self):
        self.each(hidepid=4)

    def test_seccomp(self):
        self.each(user_namespace=False, seccomp=True)

    def test_host_network(self):
        self.each(user_namespace=False, network_namespace=False)

    def test_chroot(self):
        def one(version: int) -> None:
            with bundle.Chroot(paths.jdk(version), self.spin.folder, *self.arguments()) as c:
                self.check(c)
        jvm.side_by_side(self, one)
