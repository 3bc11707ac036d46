# SPDX-License-Identifier: Apache-2.0
"""Twenty minutes of captures, queries and JVMs that start and end (FLAMED_SOAK_SECONDS): memory, open files and processes of flamed do not
grow. The first third is for warming up: then the recorder, the store and every cache are full."""
import os
import random
import tempfile
import time
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon

SECONDS = float(os.environ.get("FLAMED_SOAK_SECONDS", "60"))
CONFIG = """
recorder_seconds: 60
store_max_bytes: 16M
schedules:
  - {name: steady, match: 'main="Pulse"', every: 10s, for: 1s, hz: 49, keep: 2m}
"""
# flamed's own numbers of what it holds, for the reader of a failure.
GAUGES = ("flamed_elf_files", "flamed_elf_bytes", "flamed_names_bytes", "flamed_flight_recorder_bytes", "flamed_processes",
          "flamed_jvms", "flamed_store_bytes", "flamed_store_names_bytes")
# Growth that does not count: allocators and the kernel round.
SLACK_KIB = 1536


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Returns the slope by least squares: the growth of y per second, and its standard error."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    square = sum((x - mean_x) ** 2 for x, _ in points)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points) / square
    rest = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in points)
    return rise, (rest / max(n - 2, 1) / square) ** 0.5


class Watch:
    """Records memory and open files of each of flamed's processes over time."""

    def __init__(self, daemon: Daemon):
        self.daemon, self.start = daemon, time.monotonic()
        self.pids = {f"{name}{i}": pid for name, pids in sorted(daemon.processes().items())
                     for i, pid in enumerate(pids) if name.startswith("flamed")}
        self.memory: dict[str, list[tuple[float, float]]] = {name: [] for name in self.pids}
        self.files: dict[str, list[tuple[float, float]]] = {name: [] for name in self.pids}

        self.gauges: list[dict[str, float]] = []

    def look(self) -> None:
        now = time.monotonic() - self.start
        lines = (line.rsplit(" ", 1) for line in self.daemon.get("/metrics").text.splitlines() if line[0] != "#")
        self.gauges.append({name: float(value) for name, value in lines if name in GAUGES})
        for name, pid in self.pids.items():
            self.memory[name].append((now, proc.memory_kib(pid)))
            self.files[name].append((now, len(os.listdir(f"/proc/{pid}/fd"))))


class Soak(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.random = random.Random(5)
        self.classes = jvm.Classes()
        self.classes.compile("Pulse.java")
        folder = tempfile.TemporaryDirectory(prefix="flamed-soak.")
        self.addCleanup(folder.cleanup)
        self.config = os.path.join(folder.name, "flamed.yaml")
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(CONFIG)

    def start_jvm(self) -> jvm.Jvm:
        started = jvm.Jvm(paths.jdk(17), "-Xmx32m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                          self.classes.folder, "Pulse", "3")
        self.addCleanup(started.stop)
        return started

    def ask(self, daemon: Daemon, jvms: list[jvm.Jvm], turn: int) -> None:
        """Makes one request of each kind that a client may make."""
        pid = self.random.choice(jvms).pid
        answers = [("capture", daemon.request("POST", "/api/v1/captures", headers={"Content-Type": "application/json"},
                                              body=b'{"pid": %d, "seconds": 0.4, "hz": %d}' % (pid, (49, 99, 199)[turn % 3])), 201),
                   ("past", daemon.get("/profile", **{"from": "-40s", "format": ("html", "pprof", "collapsed")[turn % 3]}), 200),
                   ("query", daemon.get("/api/v1/query", **{"from": "-2m", "format": "json"}), 200),
                   ("profile", daemon.get("/profile", pid=pid, seconds=0.2, format="json"), 200),
                   ("timeline", daemon.get("/api/v1/timeline"), 200)]
        answers += [(path, daemon.get(path), 200) for path in ("/metrics", "/sd", "/api/v1/jvms", "/api/v1/schedules",
                                                               "/api/v1/captures?limit=20", "/top?once=1&interval=500ms")]
        for what, answer, status in answers:
            if turn > 15 or what not in ("past", "query"): # in the first seconds nothing is stored yet
                self.assertEqual(answer.status, status, f"{what}: {answer}")
        if turn % 4 == 0:
            rows = daemon.get("/api/v1/captures", limit=1, state="done").json()["captures"]
            for row in rows:
                self.assertEqual(daemon.request("DELETE", "/api/v1/captures/" + row["id"], unix=True).status, 204)

    def test_flat(self):
        with Daemon("--config", self.config) as daemon:
            jvms = [self.start_jvm() for _ in range(3)]
            watch, turn = Watch(daemon), 0
            while time.monotonic() - watch.start < SECONDS:
                self.ask(daemon, jvms, turn)
                if turn % 5 == 4: # the oldest JVM ends, another starts
                    jvms.pop(0).stop()
                    jvms.append(self.start_jvm())
                watch.look()
                turn += 1
                time.sleep(1.5)
            metrics = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#")
            for name, pid in watch.pids.items():
                self.assertTrue(proc.alive(pid), name)
            cost = daemon.cost()
        print(f"{turn} turns, {turn // 5} JVMs replaced; store {metrics['flamed_store_bytes']} bytes, "
              f"{metrics['flamed_store_puts_total']} captures written; {cost}")
        for gauge in GAUGES:
            print(f"{gauge}: {watch.gauges[0][gauge]:.0f}, {watch.gauges[len(watch.gauges) // 3][gauge]:.0f} after a third, "
                  f"{watch.gauges[-1][gauge]:.0f} at the end")
        for name in watch.pids:
            self.check(name, "KiB", watch.memory[name], SLACK_KIB)
            self.check(name, "open files", watch.files[name], 2)

    def check(self, name: str, unit: str, points: list[tuple[float, float]], slack: float) -> None:
        """Checks that no slope exceeds both chance and SLACK over the observed time."""
        steady = points[len(points) // 3:]
        rise, error = slope(steady)
        span = steady[-1][0] - steady[0][0]
        values = [y for _, y in steady]
        print(f"{name}: {points[0][1]:.0f} at first, then {min(values):.0f} to {max(values):.0f} {unit}; "
              f"slope {rise * span:+.1f} in {span:.0f} s (standard error {error * span:.1f})")
        if SECONDS >= 600: # a shorter run is no soak, but shows that the test works
            self.assertLess((rise - 2 * error) * span, slack, f"{name} grows: {[y for _, y in points[::8]]}")
