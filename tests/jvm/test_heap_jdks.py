# SPDX-License-Identifier: Apache-2.0
"""The counters of JDK 8, 11, 21 and 26 to 28 with each of their collectors, in containers: equal to the JVM's own file."""
import unittest

from harness import bundle, hsperf, jdkroot, jvm, proc
from harness.daemon import Daemon

COLLECTORS = {
    8: ("Serial", "Parallel", "ConcMarkSweep", "G1"),
    11: ("Serial", "Parallel", "ConcMarkSweep", "G1", "Z"),
    21: ("Serial", "Parallel", "G1", "Z"),
    26: ("Serial", "Parallel", "G1", "Z"),
    27: ("Serial", "Parallel", "G1", "Z", "Shenandoah"),
    28: ("Serial", "Parallel", "G1", "Z", "Shenandoah"),
}


class HeapJdks(jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Garbage.java")
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        for collector in COLLECTORS[version]:
            with self.subTest(collector=collector):
                options = ["-XX:+UnlockExperimentalVMOptions"] if collector == "Z" else []
                with bundle.Container("", self.classes.folder, *options, f"-XX:+Use{collector}GC", "-Xmx96m", "-cp", "/classes", "Garbage", "1",
                                      root=jdkroot.root(version), executable=jdkroot.java(version)) as c:
                    proc.wait_until(lambda: hsperf.read(c.pid)["sun.rt.safepoints"] > 9, 30, "it collects")
                    hsperf.check(self, self.daemon, c.pid)
