# SPDX-License-Identifier: Apache-2.0
"""A JVM's allocation without probes, in /heap, the list of JVMs and /metrics, compared with the known allocation of a program."""
import threading
import time
import unittest
from datetime import datetime

from harness import hsperf, jvm, paths, proc
from harness.daemon import Daemon

ROUND = 2 * (64 + 256 + 1024 + 2048 + 640) # bytes that the threads of AllocLoop.java allocate in one round


class Program(jvm.Obedient):
    def __init__(self, home: str, folder: str, *options: str):
        super().__init__(home, *options, "-cp", folder, "AllocLoop")


class Checks(jvm.WithClasses):
    sources = ("AllocLoop.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)

    def heap(self, pid: int) -> dict:
        return self.daemon.get(f"/api/v1/jvms/{pid}/heap").json()

    def allocated(self, pid: int) -> int:
        """Returns the bytes so far: flamed reads threads at most every half second."""
        now = time.time()

        def looked() -> dict | None:
            allocation = self.heap(pid)["allocation"]
            return allocation if datetime.fromisoformat(allocation["time"][:26] + "+00:00").timestamp() > now else None
        return proc.wait_until(looked, 20, "its threads are looked at again", interval=0.1)["bytes"]

    def wait_known(self, pid: int) -> None:
        proc.wait_until(lambda: (self.heap(pid).get("allocation") or {}).get("bytes"), 30, "its threads are looked at")

    def compare(self, program, rounds: int) -> None:
        """Within 2 % of the allocated bytes, in a JVM where little else allocates."""
        self.wait_known(program.pid)
        program.do(rounds // 10) # loading of classes, and compilation
        before = self.allocated(program.pid)
        program.do(rounds)
        share = (self.allocated(program.pid) - before) / (rounds * ROUND)
        print(f"{share:.4f}", end=" ", flush=True)
        self.assertAlmostEqual(share, 1, delta=0.02)


class Allocated(Checks):
    def test_as_the_program_allocated(self):
        for version, options in ((17, ("-XX:-UseTLAB",)), *jvm.some((25, ("-XX:+UseZGC",)), (25, ("-XX:+UseParallelGC",)), (17, ("-XX:+UseG1GC",)))):
            with self.subTest(jdk=version, options=options), Program(paths.jdk(version), self.classes.folder, "-Xmx128m", *options) as program:
                print(version, *options, end=": ")
                self.compare(program, 100_000)

    def test_rate(self):
        """Some 40 MB a second for a while. The list of JVMs has the same, and /metrics the sum."""
        with Program(paths.jdk(17), self.classes.folder, "-Xmx128m") as program:
            self.wait_known(program.pid)
            self.assertIsNone(self.heap(program.pid)["allocation"]["bytes_per_second"])
            log, end = [], threading.Event()

            def run() -> None:
                while not end.wait(0.1):
                    program.do(500)
                    log.append(time.time())
            thread = threading.Thread(target=run)
            thread.start()
            try:
                for _ in range(10):
                    time.sleep(0.6)
                    heap = self.heap(program.pid)
                    now = time.time()
                listed, = [j for j in self.daemon.get("/api/v1/jvms").json()["jvms"] if j["pid"] == program.pid]
            finally:
                end.set()
                thread.join()
            allocation, history = heap["allocation"], heap["history"]
            made = len([t for t in log if now - allocation["seconds"] < t <= now]) * 500 * ROUND
            print(f"{allocation['bytes_per_second'] / 1e6:.1f} MB/s over {allocation['seconds']:.1f} s, {made / allocation['seconds'] / 1e6:.1f} made")
            self.assertAlmostEqual(allocation["bytes_per_second"] * allocation["seconds"] / made, 1, delta=0.15) # one turn at each end may be missing
            self.assertAlmostEqual(listed["allocated_bytes_per_second"] / allocation["bytes_per_second"], 1, delta=0.15)
            self.assertEqual({len(points) for points in history.values()}, {len(history["time"])}, history)
            self.assertGreaterEqual(len(history["time"]), 4)
            allocated = [n for n in history["allocated"] if n is not None]
            self.assertEqual(allocated, sorted(allocated))
            self.assertEqual(allocated[-1], allocation["bytes"])
            self.assertGreater(allocated[-1] - allocated[0], 0.8 * (len(log) - 12) * 500 * ROUND)
            self.assertGreater(min(history["heap_committed"]), 1 << 20)
            self.assertGreater(min(history["rss"]), 16 << 20)
            total = self.allocated(program.pid)
            self.daemon.get("/metrics")
            proc.wait_until(lambda: hsperf.metrics(self.daemon, program.pid).get(("allocated_bytes_total", ""), 0) >= total, 20, "it is scraped", interval=0.5)
            self.assertAlmostEqual(hsperf.metrics(self.daemon, program.pid)["allocated_bytes_total", ""] / total, 1, delta=0.02)

    def test_the_recorder_looks(self):
        """Without any request the list has a rate, and there is a history, also of areas."""
        with Daemon() as daemon, Program(paths.jdk(25), self.classes.folder, "-Xmx128m") as program:
            end = threading.Event()

            def run() -> None:
                while not end.is_set():
                    program.do(2000)
            thread = threading.Thread(target=run)
            thread.start()
            try:
                rate = proc.wait_until(lambda: next((j["allocated_bytes_per_second"] for j in daemon.get("/api/v1/jvms").json()["jvms"]
                                                     if j["pid"] == program.pid), None), 60, "the recorder has looked at it")
                self.assertGreater(rate, 1e6)
                heap = daemon.get(f"/api/v1/jvms/{program.pid}/heap").json()
                self.assertGreaterEqual(len(heap["history"]["time"]), 2)
            finally:
                end.set()
                thread.join()


if __name__ == "__main__":
    unittest.main()
