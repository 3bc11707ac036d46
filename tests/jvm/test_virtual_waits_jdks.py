# SPDX-License-Identifier: Apache-2.0
"""Waits of virtual threads compared with the program's own clocks, on other JDKs and with each collector."""
import test_virtual_waits


class VirtualWaitsJdks(test_virtual_waits.VirtualWaits):
    test_25 = test_untracked = None

    def check_each(self, version: int, *options: str) -> None:
        for option in options:
            with self.subTest(jdk=version, option=option):
                self.check(version, *option.split())

    def test_21(self):
        self.check_each(21, "-XX:+UseG1GC", "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC -XX:+ZGenerational",
                        "-XX:+UseShenandoahGC")

    def test_25_collectors(self):
        self.check_each(25, "-XX:+UseG1GC", "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC", "-XX:+UseShenandoahGC",
                        "-XX:+UseCompactObjectHeaders")

    def test_26(self):
        self.check(26)

    def test_27(self):
        self.check(27)
