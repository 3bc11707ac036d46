# SPDX-License-Identifier: Apache-2.0
"""Requests of samples of every kind of event, by release and collector: like test_request_events, for longer."""
import unittest

from harness import paths
from test_request_events import RequestEvents as Events

COLLECTORS = {
    "G1": ("-XX:+UseG1GC",), "Parallel": ("-XX:+UseParallelGC",), "Serial": ("-XX:+UseSerialGC",), "ZGC": ("-XX:+UseZGC",),
    "Shenandoah": ("-XX:+UseShenandoahGC",), "compact": ("-XX:+UseCompactObjectHeaders",), "uncompressed": ("-XX:-UseCompressedOops",),
}
SINCE = {"ZGC": 17, "Shenandoah": 17, "compact": 25}
EXPERIMENTAL = ("-XX:+UnlockExperimentalVMOptions",)


class RequestMatrix(Events):
    events = ("cpu,offcpu", "lock,alloc", "wall,malloc", "safepoint,nativelive") # those of the capture before also count for a while
    seconds = 10
    rates = {"cpu,offcpu": 499}
    test_zgc = None # the matrix has it

    def test_events(self):
        for jdk in paths.jdks():
            for name, options in COLLECTORS.items():
                if jdk >= SINCE.get(name, 0):
                    with self.subTest(jdk=jdk, collector=name):
                        self.check(jdk, *EXPERIMENTAL, *options)

    def test_virtual_threads(self):
        for jdk in paths.jdks():
            if jdk >= 21:
                with self.subTest(jdk=jdk):
                    self.check(jdk, how=("virtual",))


del Events # otherwise it is run, too

if __name__ == "__main__":
    unittest.main()
