# SPDX-License-Identifier: Apache-2.0
"""Signals: each fault has its own within a minute and no other important one, and healthy work has none. Also how a JVM ended."""
import contextlib
import os
import re
import unittest

from harness import bundle, cgroup, jvm, paths, proc
from harness.daemon import Daemon

SIDE_BY_SIDE = True # each class waits most of its time
# Signals of the node, not of the JVM: tests beside this one use all processors, so these may be true.
OF_THE_NODE = {"run-queue"}
FIELDS = {"signal": str, "severity": int, "service": str, "pid": int, "since": str, "value": (int, float), "unit": str, "sentence": str,
          "evidence": str, "remedy": str}
OPTIONS = ("-Xmx64m", "-XX:+UseSerialGC")
# As few as a program may open that has a thing to leak; then it is near its limit within a minute.
FEW_FILES = ("prlimit", "--nofile=512:512")


class WithSick(jvm.WithClasses):
    sources = ("Sick.java",)
    options: tuple[str, ...] = () # of flamed

    def setUp(self):
        paths.need_root()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.daemon = self.stack.enter_context(Daemon(*self.options))

    def start(self, how: str, *options: str, service: str = "", wrap: tuple[str, ...] = ()) -> jvm.Jvm:
        return self.stack.enter_context(jvm.Jvm(paths.jdk(17), *OPTIONS, f"-Dotel.service.name={service or how}", *options, "-cp",
                                                self.classes.folder, "Sick", how, wrap=list(wrap)))

    def contain(self, how: str, *options: str, service: str = "", **kind) -> bundle.Container:
        return self.stack.enter_context(bundle.Container(paths.jdk(17), self.classes.folder, *OPTIONS, f"-Dotel.service.name={service or how}",
                                                         *options, "-cp", "/classes", "Sick", how, **kind))

    def signals(self, pid: int) -> dict[str, dict]:
        answer = self.daemon.get("/api/v1/signals", pid=pid)
        return {s["signal"]: s for s in answer.json()["signals"]} if answer.status == 200 else {}

    def await_signal(self, name: str, pid: int, seconds: float = 60) -> dict:
        return proc.wait_until(lambda: self.signals(pid).get(name), 2 * seconds,
                               f"{name} of {pid}: {self.signals(pid)}", 0.5)

    def check_alone(self, pid: int, *own: str) -> None:
        """No signal that matters is on but OWN."""
        others = {n: s["sentence"] for n, s in self.signals(pid).items() if s["severity"] > 1 and n not in {*own, *OF_THE_NODE}}
        self.assertEqual(others, {}, pid)

    def assert_shown(self, signal: dict, cause: str) -> None:
        """The evidence has the code in its first rows."""
        shown = self.daemon.get(signal["evidence"] + "&format=flat").text
        self.assertIn(cause, "\n".join(shown.partition("percent")[2].splitlines()[:6]), signal)


class Signals(WithSick):
    def test_each_has_its_own(self):
        limited = self.contain("busy", cpus=0.1)
        collects, healthy = self.start("garbage", "-Drest=5"), self.start("busy", "-Drest=45")
        convoy, starved = self.start("convoy"), self.start("starved")
        found = {"cpu-limit": self.await_signal("cpu-limit", limited.pid), "gc-pauses": self.await_signal("gc-pauses", collects.pid)}
        found["lock-contention"] = self.await_signal("lock-contention", convoy.pid)
        found["pool-exhausted"] = self.await_signal("pool-exhausted", starved.pid)
        for name, signal in found.items():
            for field, kind in FIELDS.items():
                self.assertIsInstance(signal[field], kind, signal)
            self.assertEqual(set(signal), set(FIELDS))
            self.assertIn(signal["severity"], (1, 2, 3))
            self.assertTrue(any(c.isdigit() for c in signal["sentence"]), signal)
            self.assertEqual(self.daemon.get(f"/api/v1/jvms/{signal['pid']}").json()["signals"][0:1], [name])
        self.assertIn("its CPU limit of 0.1 throttled it in ", found["cpu-limit"]["sentence"])
        self.assertGreaterEqual(found["cpu-limit"]["severity"], 2)
        throttled = re.search(rf'^flamed_jvm_throttled_seconds_total{{pid="{limited.pid}",.*}} (.*)$', self.daemon.get("/metrics").text, re.M)
        self.assertGreater(float(throttled[1]), 1)
        self.assertRegex(found["lock-contention"]["sentence"],
                         r"^\d\.\d of the \d\.\d threads that were busy in the last 30 s waited for the lock of class Sick\$Price itself; (convoy-\d held it|its holders vary, and (most often \(\d+ %\) )?(waited|slept|ran))")
        self.assertRegex(found["pool-exhausted"]["sentence"],
                         r"^4 of 4 threads of checkout-\* wait for the same: \[network\] in Sick\$Carrier\.fetch; they read from 127\.0\.0\.1:\d+; \d+ %")
        for pid, own in ((convoy.pid, ("lock-contention",)), (starved.pid, ("pool-exhausted",)), (limited.pid, ("cpu-limit",)),
                         (collects.pid, ("gc-pauses",)), (healthy.pid, ())):
            self.check_alone(pid, *own)
        answer = self.daemon.get(found["gc-pauses"]["evidence"])
        self.assertEqual(answer.status, 200, answer)
        listed = self.daemon.get("/api/v1/signals", service="busy").json()["signals"]
        self.assertIn((limited.pid, "cpu-limit"), {(s["pid"], s["signal"]) for s in listed})
        self.assertNotIn(collects.pid, {s["pid"] for s in listed})
        self.assertRegex(self.daemon.get("/").text, rf"(?m)^ *{limited.pid} .* ! .*cpu-limit")
        self.assertIn("cpu-limit", self.daemon.get("/api/v1/signals?format=text").text)
        self.assertRegex(self.daemon.get("/metrics").text, r'(?m)^flamed_signal\{signal="gc-pauses",service="garbage"\} [123]$')

    def test_how_it_ended(self):
        fails, zombie = self.start("fails", "-Dafter=4000"), self.start("fails", "-Dafter=4000")
        memory = self.stack.enter_context(cgroup.Memory())
        memory.limit(96 << 20)
        by_hand = self.start("leak", "-Xmx400m", "-Dafter=3000", "-Drest=2", "-Dbytes=1000000", wrap=memory.wrap)
        full = self.contain("leak", "-Xmx400m", "-Dafter=3000", "-Drest=2", "-Dbytes=1000000", memory=96 << 20)
        fails.process.wait(60)
        signal = self.await_signal("ended", fails.pid)
        self.assertEqual((signal["severity"], signal["sentence"][:40]), (2, "it ended with status 3, which is an erro"), signal)
        left = self.await_signal("ended", zombie.pid)
        self.assertEqual((left["severity"], left["sentence"][:40]), (2, "it ended with status 3, which is an erro"), left)
        self.assertIn(zombie.pid, [s["pid"] for s in self.daemon.get("/api/v1/signals", service="fails").json()["signals"]])
        self.assertIn("State:\tZ", proc.read(f"/proc/{zombie.pid}/status")) # nobody has waited for it
        by_hand.process.wait(60)
        for pid in (full.pid, by_hand.pid):
            killed = self.await_signal("ended", pid)
            self.assertEqual(killed["severity"], 3, killed)
            self.assertIn("the kernel ended it (SIGKILL): its container was out of memory", killed["sentence"])
        self.assertEqual(self.daemon.get("/api/v1/signals?pid=2147483646").status, 404)


class Words(WithSick):
    options = ("--recorder-hz", "99")

    def test_in_words(self):
        """At most five sentences, each with a link that answers; few samples are said, and a longer time is taken instead."""
        convoy, busy = self.start("convoy"), self.start("busy", "-Drest=15")
        self.await_signal("lock-contention", convoy.pid)
        said = self.daemon.get("/api/v1/words", pid=convoy.pid).json()["sentences"]
        self.assertRegex(next(s["sentence"] for s in said if s["kind"] == "signal"), r"^lock-contention: \d\.\d of the .* (convoy-\d held it|its holders vary, and (most often \(\d+ %\) )?(waited|slept|ran))")
        enough = proc.wait_until(lambda: (a := self.daemon.get("/api/v1/words", pid=busy.pid).json())["samples"] >= 300 and a, 120, "300 samples")
        kinds = [s["kind"] for s in enough["sentences"]]
        self.assertEqual((kinds[0], kinds[-1], "few" in kinds), ("time", "sure", False), enough)
        self.assertRegex(enough["sentences"][0]["sentence"], r"^Of the CPU time: \d+ % java.*; \d+ % in Sick\.")
        for s in said + enough["sentences"]:
            self.assertEqual(self.daemon.get(s["evidence"]).status, 200, s)
        self.assertLessEqual(len(said), 5)
        brief = self.daemon.get("/profile", pid=busy.pid, seconds=0.3, format="summary").text
        self.assertRegex(brief, r"^\d+ samples?: too few to tell; what follows is about \d+ min, with \d+\.\n"
                                r"   see /profile\?event=cpu&pid=\d+&from=\S+\nOf the CPU time: \d+ % java")
        self.assertIn("Of the CPU time", self.daemon.get("/api/v1/words?format=text", service="busy").text)


@unittest.skipUnless("FLAMED_SLOW_SIGNALS" in os.environ, "FLAMED_SLOW_SIGNALS is not set: jvm_signals_slower runs it")
class Slower(WithSick):
    def test_slower_ones(self):
        """What is judged by a minute, or not before a program is a minute old."""
        storm, straggler, idle = self.start("storm"), self.start("straggler"), self.start("idle")
        files = self.start("descriptors", "-Drest=150", wrap=FEW_FILES)
        exhausted = [self.start("exhausted", *options) for options in ((), ("-XX:-UseSerialGC", "-XX:+UseParallelGC"))]
        late = self.await_signal("safepoint-late", straggler.pid)
        self.assertRegex(late["sentence"], r"^\d+ safepoints of the last 30 s waited \d+ ms each until the last thread had stopped: \d+ % of")
        full = proc.wait_until(lambda: (s := self.signals(files.pid).get("descriptors")) and s["severity"] > 1 and s, 120, "few are left", 0.5)
        self.assertRegex(full["sentence"], r"^\d+ of at most 512 descriptors are open \((9\d|100) %\)")
        self.assert_shown(full, "Sick$Files.open")
        thrown = self.await_signal("deoptimization", storm.pid, 120)
        self.assertRegex(thrown["sentence"], r"^the JIT compiled \d+ methods in \d+ s of the last 30 s, .*: code is thrown away and compiled again$")
        for program in exhausted:
            full = self.await_signal("heap-full", program.pid)
            self.assertEqual(full["severity"], 3)
            self.assertRegex(full["sentence"], r"^the last collection of the old generation left (9[89]\.\d|100\.0) % of it in use, \d+ % of the heap; there was no collection in the last \d+ s")
            self.check_alone(program.pid, "heap-full")
        for pid, own in ((storm.pid, ("deoptimization",)), (straggler.pid, ("safepoint-late",)), (files.pid, ("descriptors",)), (idle.pid, ())):
            self.check_alone(pid, *own)
        self.assert_shown(thrown, "Sick$Script.call")
        self.assert_shown(late, "Sick$Report.sum")


if __name__ == "__main__":
    unittest.main()
