# SPDX-License-Identifier: Apache-2.0
"""The owners of locks on JDKs that this machine lacks, and with each collector and each way to lock."""
import test_lock_owners


class LockOwnersJdks(test_lock_owners.LockOwners):
    test_owners_25 = test_owners_17 = None

    def test_owners_8_and_11(self):
        for version in 8, 11:
            with self.subTest(version=version):
                self.check_owners(version)

    def test_owners_21(self):
        for options in ([], ["-XX:+UseZGC", "-XX:+ZGenerational"], ["-XX:+UnlockExperimentalVMOptions", "-XX:LockingMode=2"]):
            with self.subTest(options=options):
                self.check_owners(21, *options)

    def test_owners_25_collectors(self):
        for option in "UseZGC", "UseSerialGC", "UseParallelGC", "UseShenandoahGC", "UseCompactObjectHeaders":
            with self.subTest(option=option):
                self.check_owners(25, f"-XX:+{option}")

    def test_owners_26_and_27(self):
        for version in 26, 27:
            with self.subTest(version=version):
                self.check_owners(version)
