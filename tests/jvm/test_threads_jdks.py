# SPDX-License-Identifier: Apache-2.0
"""The dump of threads on JDKs that this machine lacks, and with each collector."""
import test_threads


class ThreadsJdks(test_threads.Threads):
    test_17 = test_25 = test_untracked = None

    def test_21(self):
        for collector in ("-XX:+UseG1GC", "-XX:+UseSerialGC", "-XX:+UseParallelGC"):
            with self.subTest(collector=collector):
                self.check(21, collector)
        with self.subTest(collector="generational ZGC"):
            self.check(21, "-XX:+UseZGC", "-XX:+ZGenerational")

    def test_25_collectors(self):
        for options in (["-XX:+UseZGC"], ["-XX:+UseSerialGC"], ["-XX:+UseParallelGC"], ["-XX:+UseShenandoahGC"],
                        ["-XX:+UseCompactObjectHeaders"]):
            with self.subTest(options=options):
                self.check(25, *options)

    def test_26(self):
        self.check(26)

    def test_27(self):
        self.check(27)
