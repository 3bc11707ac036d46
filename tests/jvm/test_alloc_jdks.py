# SPDX-License-Identifier: Apache-2.0
"""Allocation without symbols of libjvm: JDK 8, 11, 21 and 26 to 28 in containers, 17 and 25 on the host, with each collector, and by one
compiler alone."""
import unittest

from harness import bundle, jdkroot, paths
from test_alloc import BUFFERS, SYMBOL_LESS, Checks, Contained, Program, old_kernel_daemon, wait_clean

PLAIN = ("Serial", "Parallel", "G1")
COLLECTORS = {8: PLAIN, 11: (*PLAIN, "Z"), 17: (*PLAIN, "Z", "Shenandoah"), 21: (*PLAIN, "Z"), 25: (*PLAIN, "Z", "Shenandoah"), 26: (*PLAIN, "Z"),
              27: (*PLAIN, "Z", "Shenandoah"), 28: (*PLAIN, "Z", "Shenandoah")}
C1 = ("-XX:TieredStopAtLevel=1",)
OTHERS = (("-XX:-TieredCompilation",), C1, ("-XX:-UseCompressedOops",))
GENERATIONAL = {21: ("-XX:+UseZGC", "-XX:+ZGenerational")} # generational anyway in later releases
# Places that stubs do not show: allocations of a native method of the JDK, such as the object of a lambda from 17 on.
UNSEEN = {(11, "-XX:+UseZGC"): ("cloned",), (8, *C1): ("cloned",), (11, *C1): ("cloned",), (17, *C1): ("boxed", "cloned"), (21, *C1): ("boxed", "cloned"),
          (25, *C1): ("boxed",), (26, *C1): ("boxed",), (27, *C1): ("boxed",), (28, *C1): ("boxed",)}


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

    def check_blind(self, version: int, options: tuple[str, ...], unseen: tuple[str, ...] = (), count: float = 4e9) -> None:
        with self.subTest(jdk=version, options=options), self.start(version, *options) as program:
            print(version, *options, end=": ", flush=True)
            self.daemon = self.blind
            self.assertIn(SYMBOL_LESS, self.prepare(self.blind, program))
            wait_clean(program.pid)
            self.check(program, count, "16k", unseen)

    def check_jdk(self, version: int) -> None:
        for collector in COLLECTORS[version]:
            self.check_blind(version, (f"-XX:+Use{collector}GC",), UNSEEN.get((version, f"-XX:+Use{collector}GC"), ()))
        if version in GENERATIONAL:
            self.check_blind(version, GENERATIONAL[version])
        for options in OTHERS:
            self.check_blind(version, ("-XX:+UseG1GC", *options), UNSEEN.get((version, *options), ()))

    def test_8(self):
        self.check_jdk(8)

    def test_11(self):
        self.check_jdk(11)

    def test_17(self):
        self.check_jdk(17)

    def test_21(self):
        self.check_jdk(21)

    def test_25(self):
        self.check_jdk(25)

    def test_26(self):
        self.check_jdk(26)

    def test_27(self):
        self.check_jdk(27)

    def test_28(self):
        self.check_jdk(28)

    def test_one_after_another(self):
        """On a kernel that needs as long for each probe as newer ones for all of them."""
        with old_kernel_daemon("uprobe-multi") as daemon:
            self.check_one_after_another(daemon)


if __name__ == "__main__":
    unittest.main()
