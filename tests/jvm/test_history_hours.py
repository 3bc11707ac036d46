# SPDX-License-Identifier: Apache-2.0
"""Real hours of the history (FLAMED_HISTORY_HOURS: seconds) beside ten JVMs, while flamed is killed again and again: no finished minute is
lost, and none is wrong. Each minute it prints what flamed takes, what it keeps, and how long it answers about an hour. Kills and releases
scale with the time: 780 s from a minute before a multiple of 10 minutes run every check but that of parts of an hour."""
import math
import os
import random
import re
import signal
import tempfile
import threading
import time
import unittest

from harness import jvm, paths, proc
from harness.cgroup import Cpu
from harness.daemon import Daemon
from harness.profile import Profile

SECONDS = int(os.environ.get("FLAMED_HISTORY_HOURS", "0"))
STORE = os.environ.get("FLAMED_HISTORY_STORE", "") # a folder that outlives the test
WORKER_KILLS, DAEMON_KILLS = (math.ceil(kills * SECONDS / 7200) for kills in (10, 3))
LATE_S = 10 # a kill so soon after the end of a minute may come before its write
RELEASE_S = SECONDS / 8
HZ = 19
RSS_MAX_MIB = 300 # of all processes, at the median: whole hours of the node are asked for each minute
RAN = re.compile(r"of these (\d+) s the flight recorder ran (\d+) s: the rest is a gap")


def stamp(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class Load:
    """Two steady services, one that generates code, one that is released again and again, and six that are idle."""

    def __init__(self, test: unittest.TestCase):
        self.test, self.classes = test, jvm.Classes()
        self.classes.compile("Service.java", "Churn.java", "ChurnBody000000.java")
        limited = Cpu(0.08)
        test.addCleanup(limited.__exit__)
        self.jvms = {"steady": self.service("steady", "20", "4"), "calm": self.service("calm", "10", "2"),
                     "churning": self.start("churning", "1.0", "Churn", "50", "4", wrap=list(limited.wrap))}
        self.jvms.update({f"idle{i}": self.service(f"idle{i}", "25", "0.1") for i in range(6)})
        self.releases: list[tuple[float, jvm.Jvm]] = []
        self.release()

    def start(self, name: str, version: str, *program: str, wrap: list[str] | None = None) -> jvm.Jvm:
        started = jvm.Jvm(paths.jdk(17), "-Xmx32m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dotel.service.name={name}",
                          f"-Dotel.resource.attributes=service.version={version}", "-cp", self.classes.folder, *program, wrap=wrap)
        self.test.addCleanup(started.stop)
        return started

    def service(self, name: str, threads: str, milliseconds: str, version: str = "1.0") -> jvm.Jvm:
        return self.start(name, version, "Service", threads, milliseconds)

    def release(self) -> None:
        """Ends the JVM of the service orders, and starts one of the other version."""
        if self.releases:
            self.releases[-1][1].stop()
        began = time.time()
        self.releases.append((began, self.service("orders", "10", "2", f"1.{len(self.releases) % 2}")))


class Truth(threading.Thread):
    """Notes the CPU seconds of each JVM at the begin of each minute."""

    def __init__(self, pids: list[int]):
        super().__init__()
        self.pids, self.minutes, self.over = pids, {}, threading.Event()

    def run(self) -> None:
        while not self.over.wait(60 - time.time() % 60):
            minute = round(time.time() / 60) * 60
            self.minutes[minute] = {pid: proc.cpu_seconds(pid) for pid in self.pids}

    def of(self, minute: int, pid: int) -> float:
        return self.minutes[minute + 60][pid] - self.minutes[minute][pid]


@unittest.skipUnless(SECONDS, "takes hours: FLAMED_HISTORY_HOURS=7200")
class Hours(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.chance = random.Random(int(os.environ.get("FLAMED_SEED", "18")))
        folder = tempfile.TemporaryDirectory(prefix="flamed-hours.")
        self.addCleanup(folder.cleanup)
        self.store = STORE or folder.name
        os.makedirs(self.store, exist_ok=True)
        self.outages: list[tuple[float, float]] = [] # of kills: from, to
        self.bad: list[str] = []
        self.rss: list[float] = []
        self.answers: list[tuple[float, float]] = []
        self.daemon = self.start_daemon()

    def start_daemon(self) -> Daemon:
        return Daemon(f"--recorder-hz={HZ}", store=self.store)

    def test_hours(self):
        self.addCleanup(lambda: self.daemon.stop(check=False))
        load = Load(self)
        truth = Truth([one.pid for one in load.jvms.values()])
        truth.start()
        try:
            self.live(load)
        finally:
            truth.over.set()
            truth.join()
        self.daemon.stop()
        self.daemon = self.start_daemon()
        sums = {name: self.sampled(one.pid, min(truth.minutes), max(truth.minutes)) for name, one in load.jvms.items()}
        self.check_minutes(load, truth, sums)
        self.check_gaps()
        self.check_tiers(min(truth.minutes), max(truth.minutes))
        self.check_releases(load)
        print(f"RSS {min(self.rss):.0f} to {max(self.rss):.0f} MiB; an hour of the node: at most {max(a[0] for a in self.answers):.2f} s, "
              f"{max(a[1] for a in self.answers):.2f} s of CPU")
        self.assertEqual(self.bad, [])
        self.assertLess(sorted(self.rss)[len(self.rss) // 2], RSS_MAX_MIB)

    # ---- living ----

    def live(self, load: Load) -> None:
        """Kills, releases, and measures each minute, until the time is over."""
        began = time.time()
        due = sorted([(began + self.chance.uniform(0.02, 0.98) * SECONDS, whole) for whole in [False] * WORKER_KILLS + [True] * DAEMON_KILLS])
        cost, minute = 0.0, 0
        while time.time() < began + SECONDS:
            if due and time.time() >= due[0][0]:
                self.kill(due.pop(0)[1])
            if time.time() - load.releases[-1][0] > RELEASE_S:
                load.release()
            if time.time() // 60 != minute:
                minute = time.time() // 60
                cost = self.look(cost)
            time.sleep(0.5)
        self.assertEqual(due, [])

    def kill(self, whole: bool) -> None:
        began = time.time()
        if whole:
            for pid in self.daemon.pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.daemon.stop(check=False)
            self.daemon = self.start_daemon()
        else:
            os.kill(next(pid for pid in proc.children(self.daemon.top()) if proc.exe(pid) == "flamed"), signal.SIGKILL)
            time.sleep(0.2)
            self.daemon.wait_ready(60)
        self.outages.append((began, time.time()))
        print(f"{stamp(began)} kill -9 of {'all of flamed' if whole else 'the worker'}: ready after {time.time() - began:.1f} s", flush=True)

    def look(self, before: float) -> float:
        """Prints a line of what flamed takes now. Returns its CPU seconds so far."""
        parts = self.daemon.cost()
        cpu, rss = sum(p["cpu_s"] for p in parts.values()), sum(p["rss_kib"] for p in parts.values()) / 1024
        lines = (line.rsplit(" ", 1) for line in self.daemon.get("/metrics").text.splitlines() if line[0] != "#")
        metrics = {name: float(value) for name, value in lines if name.startswith("flamed_history_")}
        self.rss.append(rss)
        label = "{{tier=\"{}\"}}".format
        tiers = ", ".join(f"{tier} {metrics['flamed_history_tier_bytes' + label(tier)] / 1024:.0f} KiB "
                          f"{metrics['flamed_history_tier_seconds' + label(tier)]:.0f} s" for tier in ("1m", "10m", "1h"))
        self.bad += [f"{stamp(time.time())} {name} {metrics[name]}" for name in
                     ("flamed_history_failures_total", "flamed_history_unwritten_total", "flamed_history_names_left_out_total") if metrics[name]]
        took = self.ask_hour()
        after = sum(p["cpu_s"] for p in self.daemon.cost().values())
        self.answers.append((took, after - cpu))
        size = sum(os.path.getsize(f"{self.store}/{name}") for name in os.listdir(self.store) if "history" in name)
        print(f"{stamp(time.time())} RSS {rss:.0f} MiB, CPU {cpu - before if cpu >= before else cpu:.2f} s since; files {size / 1024:.0f} KiB; {tiers}; "
              f"written {metrics['flamed_history_written_total']:.0f}; an hour in {took:.2f} s (CPU {after - cpu:.2f})", flush=True)
        return after

    def ask_hour(self) -> float:
        began = time.monotonic()
        answer = self.daemon.get("/profile", timeout=120, format="json", **{"from": "-1h"})
        if answer.status != 200 and len(self.rss) > 2: # nothing is recorded yet
            self.bad.append(f"{stamp(time.time())} an hour: {answer.status} {answer.text[:300]}")
        return time.monotonic() - began

    # ---- checks ----

    def sampled(self, pid: int, first: int, end: int) -> dict[int, int]:
        """Returns the samples of a JVM by minute."""
        count = (end - first) // 60
        got = self.daemon.get("/api/v1/timeline", pid=pid, buckets=count, **{"from": stamp(first), "to": stamp(end)}).json()
        self.assertEqual((got["bucket_seconds"], got["resolution_seconds"], got["hz"]), (60, 60, HZ))
        [series] = got["series"]
        self.assertEqual(series["pid"], pid)
        whole = self.daemon.get("/profile", format="json", pid=pid, **{"from": stamp(first), "to": stamp(end)}).json()
        self.assertEqual(([p["pid"] for p in whole["processes"]], whole["quality"]["samples"]), ([pid], series["total"])) # over all restarts
        return {first + 60 * i: n for i, n in enumerate(series["samples"])}

    def killed(self, minute: int) -> bool:
        return any(begin < minute + 60 + LATE_S and end > minute for begin, end in self.outages)

    def check_minutes(self, load: Load, truth: Truth, sums: dict[str, dict[int, int]]) -> None:
        """Each minute without a kill has each JVM's CPU time. A minute with one has at most that."""
        for name, one in load.jvms.items():
            whole, expected = 0, 0.0
            for minute, samples in sums[name].items():
                cpu = truth.of(minute, one.pid) * HZ
                slack = 6 * cpu ** 0.5 + 0.25 * cpu + 6
                if samples > cpu + slack or (not self.killed(minute) and samples < cpu - slack):
                    self.bad.append(f"{name} in {stamp(minute)}: {samples} samples of {cpu:.0f}")
                if not self.killed(minute):
                    whole, expected = whole + samples, expected + cpu
            print(f"{name}: {whole} samples of {expected:.0f} in {sum(not self.killed(m) for m in sums[name])} minutes without a kill, "
                  f"{sum(sums[name].values()) - whole} in {sum(self.killed(m) for m in sums[name])} others")
            if expected > 1000 or name == "steady":
                self.assertAlmostEqual(whole / expected, 1, delta=max(0.1, 3.2 / expected ** 0.5), msg=name)

    def check_gaps(self) -> None:
        """An answer over kills says how much of its time is known: all but the minutes under way, up to flamed's return."""
        checked = 0.0
        for begin, _ in self.outages:
            if begin < checked:
                continue
            first = int(begin // 60) * 60 - 60
            while self.killed(first):
                first -= 60
            last = first + 120
            while self.killed(last):
                last += 60
            last, checked = last + 60, last
            inside = [(b, e) for b, e in self.outages if first <= b < last]
            lost, until, late = 0.0, 0.0, 0
            for b, e in sorted(inside):
                since = max(until, b // 60 * 60)
                lost, until, late = lost + max(0.0, e - since), max(until, e), late + 60 * (b % 60 < LATE_S)
            answer = self.daemon.get("/profile", format="json", **{"from": stamp(first), "to": stamp(last)})
            found = RAN.search(" ".join(answer.warnings))
            ran = int(found[2]) if found else -1
            expected = last - first - lost
            print(f"{stamp(first)}, {last - first:.0f} s with {len(inside)} kills: {answer.status}, {ran} s known of {expected:.0f} that have to be")
            if not expected - late - 2 <= ran <= expected + sum(e - b for b, e in inside) + 2:
                self.bad.append(f"the gap in {stamp(first)}, {last - first:.0f} s: {ran} s, {expected:.0f} expected: {answer.status} {answer.warnings}")

    def check_tiers(self, first: int, end: int) -> None:
        """Long parts have exactly the samples of their minutes."""
        for length in (600, 3600):
            begin = first_part = -(-first // length) * length
            while begin + length <= end:
                times = {"from": stamp(begin), "to": stamp(begin + length)}
                profile = Profile(self.daemon.get("/profile", format="json", **times))
                series = self.daemon.get("/api/v1/timeline", buckets=length // 60, **times).json()
                minutes = sum(s["total"] for s in series["series"]) + series["others"]
                print(f"{times['from']}, {length} s: {profile.samples} samples in long parts, {minutes} in minutes")
                if profile.samples != minutes or not any("parts of" in w or "hours" in w for w in profile.warnings):
                    self.bad.append(f"{times}: {profile.samples} samples, {minutes} in minutes: {profile.warnings}")
                begin += length
            if end - first >= 2 * length:
                self.assertGreater(begin, first_part)

    def check_releases(self, load: Load) -> None:
        [orders] = [s for s in self.daemon.get("/api/v1/services").json()["services"] if s["name"] == "orders"]
        marks = [m for m in reversed(orders["marks"]) if m["kind"] == "deploy"] # the newest comes first
        self.assertEqual([m["pid"] for m in marks], [one.pid for _, one in load.releases[1:]])
        for mark, (began, _) in zip(marks, load.releases[1:]):
            print(f"release at {stamp(began)}: {mark['time']} {mark['text']}")
            self.assertIn(mark["time"][:19] + "Z", [stamp(began + late) for late in (-1, 0, 1, 2)])
        self.assertEqual(len(orders["jvms"]) + len(orders["ended"]), len(load.releases))


if __name__ == "__main__":
    unittest.main()
