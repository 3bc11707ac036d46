# SPDX-License-Identifier: Apache-2.0
"""What a JVM counts itself, in each profile of it: collections, safepoints, compilations and classes, with no probe and nothing injected."""
import time
import unittest

from harness import hsperf, jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile
from test_safepoint import Program, of_kind, probes

COLLECTIONS = 3


class Counted(jvm.WithClasses):
    sources = ("Safepoint.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def run_collections(self, program: Program) -> tuple[Profile, str]:
        """What a capture saw of some collections, and its path."""
        running = self.daemon.capture(pid=program.pid, event="cpu")
        for _ in range(COLLECTIONS):
            program.have("gc", 1)
            time.sleep(0.3) # looks are 0.1 s apart; if they are late, collections are told by their number alone
        return running.stop(), running.path + "/profile"

    def check_sums(self, profile: Profile, before: dict, after: dict) -> None:
        """Counts are the differences of the JVM's counters; what its compilers do beside the program may lie around the capture."""
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
        """Each has its place and its cause; all of them take no longer than the JVM says."""
        single = of_kind(profile, "gc")
        self.assertGreaterEqual(len(single), 1, profile.document["moments"])
        self.assertIn("(System.gc())", single[-1]["name"])
        self.assertLessEqual(sum(m["ns"] for m in single), sum(m["total_ns"] for m in of_kind(profile, "collections")) + len(single) * 10**6)
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
        """Whether the recorder has moments of the program: from now on it has all."""
        answer = self.daemon.get("/profile", pid=program.pid, format="json", **{"from": "-60s"})
        return answer.status == 200 and "moments" in answer.json()

    def test_what_was_recorded(self):
        """The flight recorder has them, too, though no capture runs."""
        with Program(paths.jdk(17), self.classes.folder, "-XX:+UseG1GC", "-Xmx256m") as program:
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

    def test_short_while_recorded(self):
        """A capture has all of its own, and nothing of before, though the recorder's looks are seldom."""
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
