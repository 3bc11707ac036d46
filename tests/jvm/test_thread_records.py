# SPDX-License-Identifier: Apache-2.0
"""Requests that a native library keeps in a record of each thread (OTEP 4947), by each way in which its code may find the thread's variable."""
import unittest

from harness import native
from harness.jvm import side_by_side, some
from test_request_events import RequestEvents as Events

WAYS = {
    "descriptor": ("-mtls-dialect=gnu2",), "module": ("-mtls-dialect=gnu",), "static": ("-ftls-model=initial-exec",), "swapped": ("-DSWAPS",),
}


def library(way: str) -> str:
    return native.build("records", "-shared", "-fPIC", f"-DWAY_{way}", *WAYS[way])


class ThreadRecords(Events):
    rates = {"cpu,offcpu": 499, "cpu": 499}
    test_zgc = test_the_first_captures = None # test_request_events has them

    def test_events(self):
        built = library("descriptor")
        side_by_side(self, lambda jdk: self.check(jdk, how=(built,)), some(25, 17))

    def test_ways(self):
        self.events = ("cpu",)
        for way in ("module", "static", "swapped"):
            with self.subTest(way=way):
                self.check(17, "-XX:+UseZGC", how=(library(way),))


del Events # otherwise it is run, too

if __name__ == "__main__":
    unittest.main()
