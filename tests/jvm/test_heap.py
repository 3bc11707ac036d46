# SPDX-License-Identifier: Apache-2.0
"""GET /api/v1/jvms/{pid}/heap, and the same in /metrics: the JVM's own counters, read from its memory."""
import time

from harness import hsperf, jvm, paths, proc
from harness.daemon import Daemon


class Heap(jvm.WithClasses):
    sources = ("Garbage.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, version: int, *options: str) -> int:
        run = jvm.Jvm(paths.jdk(version), *options, "-Xmx96m", "-cp", self.classes.folder, "Garbage", "1")
        self.addCleanup(run.stop)
        proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{run.pid}").status == 200 and
                        self.daemon.get(f"/api/v1/jvms/{run.pid}").json()["profilable"]["symbols"] == "memory", 20, "it is known")
        return run.pid

    def test_equal_to_the_counters_file(self):
        for version, options in ((17, ()), (25, ()), (25, ("-XX:+UseSerialGC",))):
            with self.subTest(jdk=version, options=options):
                pid = self.start(version, *options)
                proc.wait_until(lambda: hsperf.read(pid)["sun.gc.collector.0.invocations"] > 3, 20, "it collects")
                heap = hsperf.check(self, self.daemon, pid)
                self.assertGreater(heap["collections"][0]["count"], 3)
                self.assertGreater(heap["safepoints"]["sync_seconds"], 0)
                self.assertGreater(heap["rss"], 16 << 20)

    def test_without_counters(self):
        pid = self.start(17, "-XX:-UsePerfData")
        answer = self.daemon.get(f"/api/v1/jvms/{pid}/heap")
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("-XX:-UsePerfData", answer.json()["detail"])
        self.daemon.get("/metrics")
        time.sleep(0.3)
        text = self.daemon.get("/metrics").text
        self.assertIn('flamed_jvm_counters_missing{reason="no_counters"} ', text)
        self.assertNotIn('flamed_jvm_counters_missing{reason="no_counters"} 0\n', text)
        self.assertFalse(any(family.startswith("pool_") for family, _ in hsperf.metrics(self.daemon, pid)))

    def test_no_jvm(self):
        self.assertEqual(self.daemon.get("/api/v1/jvms/2147483646/heap").status, 404)
