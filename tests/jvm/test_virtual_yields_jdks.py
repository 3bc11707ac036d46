# SPDX-License-Identifier: Apache-2.0
"""Waits of virtual threads by probes against the program's own clocks, on other JDKs and with other collectors."""
import test_virtual_yields

OTHERS = ("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseShenandoahGC")


class VirtualYieldsJdks(test_virtual_yields.VirtualYields):
    test_exact_25 = test_told_apart = test_too_often = None

    def check_all(self, version: int, *options: str) -> None:
        for option in options:
            with self.subTest(jdk=version, option=option):
                self.check_exact(version, *option.split())

    def test_21(self):
        self.check_all(21, "-XX:+UseG1GC", "-XX:+UseZGC -XX:+ZGenerational", *OTHERS)

    def test_25(self):
        self.check_all(25, "-XX:+UseG1GC", "-XX:+UseZGC", *OTHERS, "-XX:+UseCompactObjectHeaders")

    def test_26(self):
        self.check_all(26, "-XX:+UseG1GC", "-XX:+UseZGC", *OTHERS)

    def test_27(self):
        self.check_all(27, "-XX:+UseG1GC", "-XX:+UseZGC", *OTHERS)
