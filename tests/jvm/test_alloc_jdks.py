# SPDX-License-Identifier: Apache-2.0
"""Allocation in JDK 8, whose libjvm tells nothing by symbols, in a container: with each collector, and by one compiler alone."""
import unittest

from harness import bundle, jdkroot, paths
from test_alloc import BUFFERS, SYMBOL_LESS, Checks, Contained, Program, old_kernel_daemon

PLAIN = ("Serial", "Parallel", "G1")
COLLECTORS = {8: PLAIN}
C1 = ("-XX:TieredStopAtLevel=1",)
# Options besides the collector's, and the places that the stubs do not tell with them: what a native method of the JDK allocates.
OTHERS = {("-XX:-TieredCompilation",): (), C1: ("cloned",), ("-XX:-UseCompressedOops",): ()}


class Jdks(Checks):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        super().setUpClass()
        cls.blind = old_kernel_daemon("libjvm-symbols")
        cls.addClassCleanup(cls.blind.stop)

    def start(self, version: int, *options: str):
        options = ("-Xmx256m", "-XX:+UnlockExperimentalVMOptions", *options, *BUFFERS)
        if version in (17, 25):
            return Program(paths.jdk(version), self.classes.folder, *options)
        return Contained("", self.classes.folder, *options, root=jdkroot.root(version), executable=jdkroot.java(version))

    def check_both(self, version: int, options: tuple[str, ...], unseen: tuple[str, ...] = (), count: float = 4e9) -> None:
        with self.subTest(jdk=version, options=options), self.start(version, *options) as program:
            for daemon in (self.blind,) if version == 8 else (self.blind, self.seeing): # 8 tells by symbols to nobody
                print(version, *options, "without symbols" if daemon is self.blind else "with symbols", end=": ", flush=True)
                self.daemon = daemon
                by_stubs = SYMBOL_LESS in self.prepare(daemon, program)
                self.assertTrue(by_stubs or daemon is self.seeing)
                self.check(program, count, "16k", unseen if by_stubs else ())

    def check_jdk(self, version: int) -> None:
        self.seeing = type(self).daemon
        for collector in COLLECTORS[version]:
            self.check_both(version, (f"-XX:+Use{collector}GC",))
        for options, unseen in OTHERS.items():
            self.check_both(version, ("-XX:+UseG1GC", *options), unseen)

    def test_8(self):
        self.check_jdk(8)

    def test_one_after_another(self):
        """Where each probe takes the kernel as long as all do together on a newer one."""
        with old_kernel_daemon("uprobe-multi") as daemon:
            self.check_one_after_another(daemon)


if __name__ == "__main__":
    unittest.main()
