# SPDX-License-Identifier: Apache-2.0
"""Like test_attach.py, in more kinds of containers. JDK 17 and 25."""
import dataclasses

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


class OfProgram:
    """Like test_attach.Matrix, with PROGRAM of tests/jvm/java in place of the generated one."""
    program = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.classes = jvm.Classes()
        cls.classes.compile(cls.program + ".java")
        cls.spin = dataclasses.replace(cls.spin, folder=cls.classes.folder, main=cls.program)

    def test_two_pid_namespaces(self):
        def one(version: int) -> None:
            with bundle.NestedPids(paths.jdk(version), self.spin.folder, *self.arguments(".")) as c:
                self.check(c)
        jvm.side_by_side(self, one)

    # Tests of Matrix that are no kind of container, or need the names of its own program.
    test_a_copy_of_the_agent = test_the_proc_of_another_namespace = test_what_another_pid_1_left_in_the_same_tmp = None
    test_a_time_namespace = None
