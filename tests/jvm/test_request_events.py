# SPDX-License-Identifier: Apache-2.0
"""Requests of samples of every kind of event, compared with the stack, in a service with a small tracer of its own."""
import os
import re
import time
import unittest

from harness import jdkroot
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses, side_by_side, some

TRACER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracer")
SOURCES = tuple(os.path.join(TRACER, name) for name in (
    "io/opentelemetry/api/trace/SpanContext.java", "io/opentelemetry/api/internal/AutoValue_ImmutableSpanContext.java",
    "io/opentelemetry/sdk/trace/SdkSpan.java", "io/opentelemetry/context/ArrayBasedContext.java",
    "io/opentelemetry/context/ThreadLocalContextStorage.java", "Requests.java"))
RIGHT = {"Requests.a": "[GET /a]", "Requests.b": "[GET /b]", "Requests.outside": "[no request]"}
AS_CARRIER = "java.lang.VirtualThread.scheduleUnpark" # JDK 21 runs it as the carrier, which has no request
WITHOUT = ("[request unreadable]", "[unnamed requests]")
APART = [f"-XX:CompileCommand=dontinline,Requests::{name}" for name in ("request", "a", "b", "outside")] # their frames are exact
READY_ROUNDS = 20 # until the tracer's classes were found


def handler(stack: list[str]) -> str:
    """Returns the method that says which request is right, or "" if none does."""
    if AS_CARRIER in stack and stack[0] == RIGHT["Requests.outside"]:
        return ""
    return next((f for f in stack if f in RIGHT), "")


class RequestEvents(WithClasses):
    sources = SOURCES
    events = ("cpu,offcpu", "lock,alloc", "wall,malloc") # two JVMs at a time may sample four
    seconds = 1.5
    rates: dict[str, int] = {} # Hz of some of them
    source: dict[str, str] = {} # parameter of each capture
    without_share = 0.01

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def java(self, jdk: int, *options: str, how: tuple[str, ...]) -> Jvm:
        home, classes, wrap = jdkroot.alone(jdk, self.classes.folder)
        return Jvm(home, "-Xmx100m", "-XX:CompileCommand=quiet", *APART, *options, "-cp", classes, "Requests", *how, wrap=wrap)

    def rows(self, capture: str, **view) -> list[tuple[list[str], int]]:
        """Returns stacks, and the value of each in the event's unit."""
        answer = self.daemon.get(f"/api/v1/captures/{capture}/profile", format="collapsed", **view)
        self.assertEqual(answer.status, 200, answer.text)
        return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in answer.text.splitlines()]

    def judge(self, capture: str, event: str) -> dict[str, int]:
        """Counts results for samples with a stack that shows the right answer."""
        counts = {"right": 0, "wrong": 0, "without": 0}
        for stack, value in self.rows(capture, by="operation", event=event):
            if method := handler(stack):
                found = "right" if stack[0] == RIGHT[method] else "without" if stack[0] in WITHOUT else "wrong"
                counts[found] += value
                if found == "wrong":
                    print("wrong:", value, ";".join(stack))
        return counts

    def ready(self, pid: int, daemon: Daemon | None = None) -> None:
        quality = {}
        for _ in range(READY_ROUNDS):
            quality = (daemon or self.daemon).get("/profile", pid=pid, seconds=1, by="operation", format="json").json()["quality"].get("requests", {})
            if quality.get("named", 0) > 0:
                return
        self.fail(f"the tracer is not read: {quality}")

    def trace_ids(self, capture: str, event: str) -> None:
        seen = 0
        for stack, _ in self.rows(capture, by="trace", event=event):
            if method := handler(stack):
                first = method[-1] if len(method) == len("Requests.a") else ""
                self.assertTrue(stack[0] in WITHOUT or re.fullmatch(rf"\[trace {first}[0-9a-f]{{31}}\]" if first else r"\[no request\]", stack[0]), stack)
                seen += stack[0].startswith("[trace")
        self.assertGreater(seen, 0)

    def table(self, pid: int, daemon: Daemon) -> None:
        """/top has both operations, and below each only its functions."""
        below: dict[str, set[str]] = {}
        group = ""
        for line in daemon.get("/top", pid=pid, once=1, interval="3s", hz=499, by="operation", top=1000).text.splitlines():
            if match := re.match(r" +\d+\.\d\d%  (\[.*\])$", line):
                group = match[1]
            elif match := re.match(r" *\d+\.\d\d% +\d+\.\d\d%  \S+ +(.+)$", line):
                below.setdefault(group, set()).add(match[1])
        for method, root in RIGHT.items():
            self.assertIn(method, below.get(root, set()), below.keys())
            self.assertEqual([r for r, names in below.items() if method in names and r not in (root, *WITHOUT)], [])

    def capture(self, pid: int, events: str):
        """Samples a JVM. If the other JVM's test is behind, both together may have more events than one caller's captures can."""
        for _ in range(60):
            answer = self.daemon.taken(pid=pid, seconds=self.seconds, by="operation", event=events, format="json", **self.source,
                                       **({"hz": self.rates[events]} if events in self.rates else {}))
            if answer.status != 429:
                break
            time.sleep(0.5)
        return answer

    def check(self, jdk: int, *options: str, how: tuple[str, ...] = ()) -> None:
        """Checks that no event has a wrong request. Missing requests are allowed while a collector or a start makes memory unreadable for a
        moment."""
        with self.java(jdk, *options, how=("4", *how)) as java:
            self.ready(java.pid)
            for events in self.events:
                answer = self.capture(java.pid, events)
                self.assertEqual(answer.status, 200, answer.text)
                for event in events.split(","):
                    counts = self.judge(answer.headers["X-Flamed-Capture"], event)
                    print(f"{jdk} {' '.join(options + how)} {event}: {counts}")
                    self.assertEqual(counts["wrong"], 0, (jdk, event, counts))
                    self.assertGreater(counts["right"], 0, (jdk, event, counts))
                    self.assertLessEqual(counts["without"], counts["right"] * self.without_share, (jdk, event, counts))
                    self.trace_ids(answer.headers["X-Flamed-Capture"], event)

    def test_events(self):
        side_by_side(self, self.check, some(17, 25))

    def test_zgc(self):
        """A small heap: references are older than moves of their objects all the time."""
        self.events, self.rates, self.seconds, self.without_share = ("cpu",), {"cpu": 499}, 4, 0.03 # of some 100 samples
        side_by_side(self, lambda jdk: self.check(jdk, "-XX:+UseZGC"), some(25, 17))

    def test_collections(self):
        """Threads wait and run native code while a collector moves their requests: most of the time, so many are unreadable."""
        self.events, self.rates, self.seconds, self.without_share = ("cpu,offcpu", "wall,alloc"), {"cpu,offcpu": 499}, 4, 10
        side_by_side(self, lambda of: self.check(of[0], f"-XX:+Use{of[1]}GC", how=("collect",)), some((17, "G1"), (25, "Serial")))

    def test_virtual_threads(self):
        """Waits without a carrier, by probes: their requests are read when they end."""
        self.events, self.source, self.without_share = ("offcpu", "lock"), {"source": "probe"}, 0.2 # those that still wait at the end
        self.check(25, how=("virtual",))

    def test_the_first_captures(self):
        """The JVM was not sampled before: flamed does not know yet which image of its process samples belong to."""
        with Daemon("--recorder-hz=0") as daemon, self.java(17, how=("2",)) as java:
            self.ready(java.pid, daemon)
            self.table(java.pid, daemon)


if __name__ == "__main__":
    unittest.main()
