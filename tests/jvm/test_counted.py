# SPDX-License-Identifier: Apache-2.0
"""A JVM's own counters in each profile: collections, safepoints, compilations and classes, without probes or injection."""
import os
import time
import unittest

from harness import hsperf, jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile
from test_safepoint import Program, of_kind, probes

COLLECTIONS = 3
BOUNDS_S = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
KINDS = "pause", "time_to_safepoint"


class Pauses:
    """For a TestCase: the histograms of safepoints, which need no capture."""
    daemon: Daemon

    def still(self, program, version: int, seconds: float) -> tuple[tuple, dict]:
        """Returns the JVM's counters and flamed's values, while both are stopped."""
        def look() -> tuple[tuple, dict]:
            return hsperf.paused(hsperf.read(program.pid), version), hsperf.histograms(self.daemon, program.pid)

        def same() -> tuple[tuple, dict] | None:
            before = look()
            time.sleep(seconds)
            return before if before[1] and before == look() else None

        return proc.wait_until(same, 60, "the JVM and its histograms stand still")

    def check_rise(self, before: tuple[tuple, dict], program, version: int) -> tuple[tuple, dict]:
        """Histograms rise like the JVM's counters. A single stop is in its bucket. Several at once may be in none for five readings, and the
        time of a stop that a reading fell into is in the sum after the next one."""
        counted, _ = self.still(program, version, 1)
        count, *times = (b - a for a, b in zip(before[0], counted))

        def risen() -> dict | None:
            now = hsperf.histograms(self.daemon, program.pid)
            rose = [{key: now[kind][key] - before[1][kind][key] for key in ("count", "sum")} for kind in KINDS]
            return now if all(r["count"] == count and round(r["sum"] - total, 6) == 0 for r, total in zip(rose, times)) else None

        after = proc.wait_until(risen, 20, f"the {count} safepoints of {times} s are counted")
        for kind, total in zip(KINDS, times):
            rose = {key: after[kind][key] - before[1][kind][key] for key in after[kind]}
            self.assertEqual(rose["+Inf"], count, kind)
            self.assertAlmostEqual(rose["sum"], total, places=6, msg=kind)
            if count == 1:
                self.assertEqual([rose[f"{bound:g}"] for bound in BOUNDS_S], [total <= bound for bound in BOUNDS_S], (kind, total))
        return counted, after

    def check_pauses(self, program, version: int) -> tuple[tuple, dict]:
        proc.wait_until(lambda: program.have("loop", 1) or hsperf.histograms(self.daemon, program.pid), 60, "the recorder knows it")
        self.still(program, version, 1)
        program.have("loop", 1) # a stop during the first reading counts here
        state = self.still(program, version, 12) # up to 5 s to a reading, then five, about 1 s apart
        for kind, count in (("loop", 1), ("gc", 1), ("loop", 20), ("gc", 3)):
            program.have(kind, count)
            before, state = state, self.check_rise(state, program, version)
            self.assertGreaterEqual(state[0][0] - before[0][0], count)
        return state


class Counted(Pauses, jvm.WithClasses):
    sources = ("Safepoint.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def run_collections(self, program: Program) -> tuple[Profile, str]:
        """Captures some collections. Returns the profile and its path."""
        running = self.daemon.capture(pid=program.pid, event="cpu")
        for _ in range(COLLECTIONS):
            program.have("gc", 1)
            time.sleep(0.3) # readings are 0.1 s apart; late readings find only the number of collections
        return running.stop(), running.path + "/profile"

    def check_sums(self, profile: Profile, before: dict, after: dict) -> None:
        """Counts are the differences of the JVM's counters. Compilations beside the program may lie outside the capture."""
        found = {kind: (sum(m["count"] for m in of_kind(profile, kind)), sum(m.get("total_ns", 0) for m in of_kind(profile, kind)))
                 for kind in ("collections", "safepoints", "compilations", "classes_loaded")}

        def risen(*keys: str) -> int:
            return sum(after[key] - before[key] for key in keys)

        names = [f"sun.gc.collector.{i}" for i in hsperf.numbers(after, "collector")]
        self.assertEqual(found["collections"], (risen(*(n + ".invocations" for n in names)), risen(*(n + ".time" for n in names))))
        self.assertGreaterEqual(found["collections"][0], COLLECTIONS)
        self.assertEqual(found["safepoints"][0], risen("sun.rt.safepoints"))
        for kind, keys in (("compilations", ("sun.ci.totalCompiles",)),
                           ("classes_loaded", ("java.cls.loadedClasses", "java.cls.sharedLoadedClasses"))):
            self.assertLessEqual(found[kind][0], risen(*keys), kind)

    def check_collections(self, profile: Profile) -> None:
        """Each collection has its place and its cause. Together they take no longer than the JVM's counters say."""
        single = of_kind(profile, "gc")
        self.assertGreaterEqual(len(single), 1, profile.document["moments"])
        self.assertIn("(System.gc())", single[-1]["name"])
        self.assertLessEqual(sum(m["ns"] for m in single), sum(m.get("total_ns", 0) for m in of_kind(profile, "collections")) + len(single) * 10**6)
        end_ns = profile.document["meta"]["seconds"] * 1e9
        for m in profile.document["moments"]:
            self.assertLessEqual(m["at_ns"] + m["ns"], end_ns + 1e6, m)

    def test_collections(self):
        for version, option in ((17, "-XX:+UseG1GC"), (25, "-XX:+UseParallelGC")):
            with self.subTest(jdk=version), Program(paths.jdk(version), self.classes.folder, option, "-Xmx256m",
                                                    "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0") as program:
                proc.wait_until(lambda: self.daemon.get("/profile", pid=program.pid, seconds=0.1, format="collapsed").status == 200 and
                                self.daemon.get(f"/api/v1/jvms/{program.pid}").json()["profilable"]["symbols"] == "memory", 20, "it is known")
                before = hsperf.read(program.pid)
                profile, path = self.run_collections(program)
                after = hsperf.read(program.pid)
                self.check_sums(profile, before, after)
                self.check_collections(profile)
                self.assertEqual(probes(program.pid), 0)
                count = sum(m["count"] for m in of_kind(profile, "collections"))
                self.assertIn(f"Collections         : {count}, ", self.daemon.get(path, format="flat").text)
                self.assertIn('"kind":"gc"', self.daemon.get(path, format="html").text)

    def known(self, program: Program) -> bool:
        """Returns true if the recorder has moments of the program. From then on it has all."""
        answer = self.daemon.get("/profile", pid=program.pid, format="json", **{"from": "-60s"})
        return answer.status == 200 and "moments" in answer.json()

    def test_what_was_recorded(self):
        """The flight recorder has them, too, without a capture."""
        with Program(paths.jdk(17), self.classes.folder, "-XX:+UseG1GC", "-Xmx256m", "-XX:-UseCountedLoopSafepoints") as program:
            proc.wait_until(lambda: program.have("none", 1) or self.known(program), 60, "the recorder knows it")
            before = hsperf.read(program.pid)
            program.have("gc", COLLECTIONS)
            after = hsperf.read(program.pid)

            def told() -> Profile | None:
                profile = Profile(self.daemon.get("/profile", pid=program.pid, format="json", **{"from": "-60s"}))
                return profile if sum(m["count"] for m in of_kind(profile, "collections")) >= COLLECTIONS else None

            profile = proc.wait_until(told, 30, "the counts of after the collections")
            names = [f"sun.gc.collector.{i}.invocations" for i in hsperf.numbers(after, "collector")]
            self.assertEqual(sum(m["count"] for m in of_kind(profile, "collections")), sum(after[n] - before[n] for n in names))
            self.assertIn("(System.gc())", of_kind(profile, "gc")[-1]["name"])
            self.assertEqual(probes(program.pid), 0)
            self.check_timeline(program, profile)

    def check_timeline(self, program: Program, profile: Profile) -> None:
        """The timeline has the same collections, and one second in which threads were waited for."""
        def stops() -> list[dict]:
            return self.daemon.get("/api/v1/timeline", pid=program.pid, **{"from": "-60s"}).json()["moments"]

        collections = [s for s in stops() if s["kind"] == "gc"]
        self.assertEqual([(s["name"], round(s["seconds"] * 1e9)) for s in collections],
                         [(m["name"], m["ns"]) for m in of_kind(profile, "gc")][-len(collections):])
        self.assertEqual({s["pid"] for s in stops()}, {program.pid})
        self.assertNotIn("safepoints", {s["kind"] for s in stops() if s["stopped_seconds"] < 0.01})
        before = sum(s["kind"] == "safepoints" for s in stops())
        program.have("loop", 20) # each wait takes some 5 ms
        proc.wait_until(lambda: sum(s["kind"] == "safepoints" and s["count"] >= 1 for s in stops()) > before, 30, "the safepoints are there")
        self.check_stopped(program)
        other = self.daemon.get("/api/v1/timeline", pid=os.getpid(), **{"from": "-60s"})
        self.assertEqual(other.json().get("moments", []), [], other)

    def check_stopped(self, program: Program) -> None:
        """Of many collections between two readings the last has a moment. The time of the others is included, too."""
        def stopped() -> float:
            return sum(s["stopped_seconds"] for s in self.daemon.get("/api/v1/timeline", pid=program.pid, **{"from": "-300s"}).json()["moments"])

        told, before = stopped(), hsperf.paused(hsperf.read(program.pid), 17)[1]
        program.have("gc", 60)
        wanted = 0.8 * (hsperf.paused(hsperf.read(program.pid), 17)[1] - before)
        proc.wait_until(lambda: stopped() - told >= wanted, 30, f"{wanted} s of collections are in the timeline")

    def check_histograms(self, version: int) -> None:
        with Program(paths.jdk(version), self.classes.folder, "-XX:+UseParallelGC" if version == 25 else "-XX:+UseG1GC", "-Xmx256m",
                     "-XX:-UseCountedLoopSafepoints", "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0") as program:
            state = self.check_pauses(program, version)
            answer = self.daemon.get("/profile", pid=program.pid, event="safepoint", seconds=0.1)
            if answer.status == 200: # this machine supports probes
                running = self.daemon.capture(pid=program.pid, event="safepoint")
                program.have("gc", COLLECTIONS)
                running.stop()
                self.check_rise(state, program, version)
        proc.wait_until(lambda: not hsperf.histograms(self.daemon, program.pid), 20, "it is gone from /metrics")

    def test_pauses(self):
        """Histograms exist without a capture. A capture with probes does not count twice. A JVM that has ended has none."""
        jvm.side_by_side(self, self.check_histograms)

    def test_short_while_recorded(self):
        """A capture has all moments of its time and none from before, though the recorder reads rarely."""
        with Program(paths.jdk(17), self.classes.folder, "-XX:+UseG1GC", "-Xmx256m") as program:
            proc.wait_until(lambda: program.have("none", 1) or self.known(program), 60, "the recorder knows it")
            for _ in range(5):
                program.have("gc", 1)
                before = hsperf.read(program.pid)
                running = self.daemon.capture(pid=program.pid, event="cpu")
                program.have("gc", COLLECTIONS)
                profile = running.stop()
                after = hsperf.read(program.pid)
                names = [f"sun.gc.collector.{i}.invocations" for i in hsperf.numbers(after, "collector")]
                self.assertEqual(sum(m["count"] for m in of_kind(profile, "collections")), sum(after[n] - before[n] for n in names))

    def test_without_counters(self):
        with Program(paths.jdk(17), self.classes.folder, "-XX:-UsePerfData", "-Xmx256m") as program:
            profile, _ = self.run_collections(program)
            self.assertEqual(profile.document.get("moments", []), [])


if __name__ == "__main__":
    unittest.main()
