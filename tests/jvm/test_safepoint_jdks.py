# SPDX-License-Identifier: Apache-2.0
"""Safepoints of JDK 11, 21 and 26 to 28 in containers, and of 17 and 25 here, with each collector. There are as many as the JVM counts
itself, with the thread that they waited for."""
import time
import unittest

from harness import bundle, events, hsperf, jdkroot, jvm, paths, proc
from test_locks_jdks import COLLECTORS
from harness.daemon import Daemon
from test_counted import Pauses
from test_safepoint import Program, capture, of_kind, seen

OPTIONS = ("-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0", "-XX:+UsePerfData",
           "-XX:-UseCountedLoopSafepoints", "-Xmx256m")
COUNT = 10


class Contained(events.Contained):
    program = "Safepoint"

    def have(self, kind: str, count: int) -> None:
        before = self.said().count("done")
        self.ask(f"{kind} {count}")
        proc.wait_until(lambda: self.said().count("done") > before, 30, "it answers")
        proc.wait_until(self.is_idle, 30, "its safepoints are over")

    def is_idle(self) -> bool:
        """Returns true if the VM counts no safepoint for a while. The last one is over some time after the threads went on."""
        before = hsperf.read(self.pid)["sun.rt.safepointTime"]
        time.sleep(0.2)
        return hsperf.read(self.pid)["sun.rt.safepointTime"] == before


class SafepointJdks(jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Safepoint.java")
        cls.daemon = events.daemon_with(cls, "safepoint")

    def compare(self, what: tuple, program) -> None:
        proc.wait_until(lambda: self.daemon.get("/profile", pid=program.pid, event="safepoint", seconds=0.1).status == 200, 30, "it can be captured")
        before = hsperf.read(program.pid)
        profile = capture(self.daemon, program, "loop", COUNT)
        after = hsperf.read(program.pid)
        moments, total = of_kind(profile, "safepoint"), sum(s.value for s in profile.stacks)
        counted = after["sun.rt.safepoints"] - before["sun.rt.safepoints"]
        late = sum(s.value for s in seen(profile) if s.thread == "late-loop" and "Safepoint.spin" in s.names)
        self.assertEqual(len([m for m in moments if m["name"] == "ThreadDump"]), COUNT, profile.document["moments"])
        self.assertIn(counted - len(moments), (0, 1, 2), profile.document["moments"]) # at the ends of the capture
        self.assertEqual(total, sum(m["reach_ns"] for m in moments))
        self.assertGreaterEqual(late, 0.8 * sum(s.value for s in seen(profile)), profile.describe())
        self.assertGreaterEqual(late, 0.1 * total, profile.describe())
        pauses = sum(m["ns"] for m in moments) / 1e9
        seconds = hsperf.paused(after, what[0])[1] - hsperf.paused(before, what[0])[1]
        if counted == len(moments): # the counters have the same, except for the cleanup of older JDKs
            self.assertAlmostEqual(pauses, seconds, delta=0.2 * pauses)
        collecting = capture(self.daemon, program, "gc", 3)
        print(*what, f"{len(moments)} safepoints of {counted}, {pauses * 1e3:.2f} ms of {seconds * 1e3:.2f}; late in {late / total:.1%};",
              f"collections {sorted({m.get('name', '') for m in of_kind(collecting, 'gc')})},",
              f"operations {sorted({m.get('name', '') for m in of_kind(collecting, 'operation')})}")
        self.assertTrue(of_kind(collecting, "operation"))
        if not any(name in what[1] for name in ("UseZGC", "UseShenandoahGC")):
            self.assertGreaterEqual(len(of_kind(collecting, "gc")), 3, collecting.document["moments"])

    def check(self, version: int) -> None:
        for collector in COLLECTORS[version]:
            option = f"-XX:+Use{collector}GC"
            with self.subTest(jdk=version, option=option), Contained(version, self.classes.folder, *OPTIONS, option) as program:
                self.compare((version, option), program)

    def check_here(self, version: int) -> None:
        for collector in COLLECTORS[version]:
            option = f"-XX:+Use{collector}GC"
            with self.subTest(jdk=version, option=option), Program(paths.jdk(version), self.classes.folder, *OPTIONS, option) as program:
                self.compare((version, option), program)

    def test_8(self):
        """Debian builds it without marks for probes, and flamed says so."""
        with Contained(8, self.classes.folder, *OPTIONS) as program:
            answers = []
            proc.wait_until(lambda: answers.append(self.daemon.get("/profile", pid=program.pid, event="safepoint", seconds=0.1))
                            or answers[-1].status not in (200, 503), 30, "it is refused")
            self.assertEqual(answers[-1].status, 409, answers[-1])
            self.assertIn("(JDK 8) has no marks for probes", answers[-1].json()["detail"])
            whole = self.daemon.get("/profile", jvm="Safepoint", event="safepoint", seconds=0.5, format="json")
            self.assertEqual(whole.status, 200, whole)
            self.assertTrue([w for w in whole.json()["warnings"] if f"safepoints of {program.pid} " in w], whole)

    def test_17(self):
        self.check_here(17)

    def test_25(self):
        self.check_here(25)


class PausesJdks(Pauses, jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Safepoint.java")
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        with Contained(version, self.classes.folder, *OPTIONS) as program:
            self.check_pauses(program, version)


if __name__ == "__main__":
    unittest.main()
