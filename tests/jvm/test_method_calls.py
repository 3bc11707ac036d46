# SPDX-License-Identifier: Apache-2.0
"""calls= and over= of event=wall: the number of calls of methods and their durations, compared with the program's own clock."""
import gzip
import math
import os
import subprocess
import time
import unittest

from harness import jvm, paths
from harness.events import WithEvent
from harness.profile import Profile, count
from test_offcpu import stolen

SECONDS = float(os.environ.get("FLAMED_CALLS_SECONDS", 15))
METHODS = ("brief", "sleeps", "longs", "spins", "mixes")
COUNTED = METHODS[1:] # all of their calls last longer than three intervals
SLEEPING = ("sleeps", "longs") # these only sleep: waits are exact


def rank(lengths: list[float], share: float, interval: float) -> float:
    """What SHARE of the calls that are seen do not exceed. A call below INTERVAL is seen by chance, so that longer ones count more. On a busy
    machine calls of 1 ms wait for a processor now and then, and the few long ones are seen."""
    weights = {length: 0.0 for length in sorted(lengths)}
    for length in lengths:
        weights[length] += min(length / interval, 1)
    left = share * math.fsum(weights.values())
    for length, weight in weights.items():
        left -= weight
        if left <= 1e-9:
            return length
    return max(lengths)


class MethodCalls(WithEvent):
    event = "wall"
    sources = ("KnownCalls.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = jvm.Jvm(paths.jdk(25), "-Xmx64m", "-cp", cls.classes.folder, "KnownCalls", stdin=subprocess.PIPE)
        cls.addClassCleanup(cls.program.__exit__, None, None, None)
        cls.program.__enter__()
        cls.daemon.get("/profile", pid=cls.program.pid, seconds=0.5, event="wall", format="json") # loads all programs
        stolen_before = stolen()
        cls.answer = cls.daemon.get("/profile", pid=cls.program.pid, seconds=SECONDS, calls=r"^KnownCalls\.(" + "|".join(METHODS) + ")$",
                                    format="json")
        if cls.answer.status != 200:
            raise AssertionError(cls.answer)
        cls.profile, cls.stolen = Profile(cls.answer), stolen() - stolen_before
        cls.stored = f"/api/v1/captures/{cls.answer.headers['X-Flamed-Capture']}/profile"
        threads = Profile(cls.daemon.get(cls.stored, threads=1, format="json"))
        cls.waits = {name: count(s for s in threads.of_thread(name) if s.state == "blocked") for name in METHODS}
        cls.holes = {name: count(s for s in threads.of_thread(name) if s.truncated) for name in METHODS}
        cls.interval = cls.profile.document["meta"]["period"] / 1e9
        start, end, clock = cls.profile.start, cls.profile.end, cls.clock()
        cls.truth = {name: [c for c in calls if start < c[0] and c[1] < end] for name, calls in clock.items()} # calls within the capture
        cls.cut = {name: sum(c[0] <= t <= c[1] for c in calls for t in (start, end)) for name, calls in clock.items()}
        cls.total = {name: sum(max(min(c[1], end) - max(c[0], start), 0) for c in calls) for name, calls in clock.items()} # and parts of the others

    @classmethod
    def clock(cls) -> dict[str, list[tuple[float, float]]]:
        """Returns begin and end of each call, by method, up to one that ends after the capture."""
        calls: dict[str, list] = {name: [] for name in METHODS}
        while not all(c and c[-1][1] > cls.profile.end for c in calls.values()):
            time.sleep(0.05)
            cls.program.process.stdin.write("\n")
            cls.program.process.stdin.flush()
            for line in iter(cls.program.process.stdout.readline, "end\n"):
                name, *times = line.split()
                begin, end = (int(t) / 1e9 for t in times)
                calls[name].append((begin, end))
        return calls

    def calls(self, **parameters) -> dict:
        return self.daemon.get(self.stored, format="json", **parameters).json()["meta"]["calls"]

    def test_lengths(self):
        found = {m["name"].split(".")[1]: m for m in self.profile.document["meta"]["calls"]["methods"]}
        self.assertEqual(set(found), set(METHODS), found)
        off = {}
        for name, calls in self.truth.items():
            lengths = [end - begin for begin, end in calls]
            self.assertTrue(lengths, name)
            for key, share in (("p50", 0.5), ("p99", 0.99)):
                off[name, key] = found[name][key] / 1e9 - rank(lengths, share, self.interval)
            off[name, "count"] = found[name]["count"] - len(lengths)
            off[name, "total"] = found[name]["total"] / 1e9 - self.total[name]
        print(f"stolen {self.stolen:.2f} s", {f"{name} {key}": round(x * 1e3, 1) if key != "count" else x for (name, key), x in off.items()}, end=" ")
        for (name, key), x in off.items():
            # Calls shorter than an interval are seen by chance, longer ones with more certainty.
            if key in ("p50", "p99"):
                within = self.interval * (2 if (name, key) == ("brief", "p99") else 1) + (self.stolen if key == "p99" else 0)
                self.assertLessEqual(abs(x), within, (name, key, found[name]))
        for name in COUNTED:
            # A call that begins or ends within two intervals of the capture's ends may count on either side. An unreadable stack may cut the
            # calls before and after it. The kernel of some virtual machines does not report each switch: docs/waits.md.
            edges = [c for c in self.truth[name] if c[0] < self.profile.start + 2 * self.interval or c[1] > self.profile.end - 2 * self.interval]
            holes, cut = self.holes[name], 2 * self.holes[name]
            self.assertLessEqual(holes, 0.02 * self.waits[name] + 3, found[name])
            self.assertLessEqual(found[name]["cut"], self.cut[name] + cut + 1, found[name])
            self.assertLessEqual(off[name, "count"], len(edges), (name, found[name], len(self.truth[name])))
            self.assertGreaterEqual(off[name, "count"], -len(edges) - cut, (name, found[name], len(self.truth[name])))
            # A call that runs between two waits comes out half an interval too short, on average. A cut call is known in part.
            each = self.interval * (0.1 if name in SLEEPING else 0.7)
            within = each * len(self.truth[name]) + 2 * self.interval + self.stolen + cut * max(e - b for b, e in self.truth[name])
            self.assertLessEqual(abs(off[name, "total"]), within, (name, found[name], self.total[name]))

    def test_over(self):
        """The graph has only samples of longer calls; the table has all."""
        whole, longer = self.calls(calls="KnownCalls.sleeps"), self.calls(calls="KnownCalls.sleeps", over="100ms")
        self.assertEqual(whole["methods"], longer["methods"])
        self.assertEqual(longer["over"], 100_000_000)
        graph = lambda **parameters: Profile(self.daemon.get(self.stored, format="json", calls="^KnownCalls.sleeps$", **parameters))
        inside = graph()
        self.assertTrue(all("KnownCalls.sleeps" in s.names for s in inside.stacks), inside.describe())
        shown = sum(s.value for s in graph(over="100ms").stacks) / 1e9
        truth = sum(e - b for b, e in self.truth["sleeps"] if e - b > 0.1)
        self.assertAlmostEqual(shown, truth, delta=0.05 * truth + 1) # and those at the ends of the capture
        self.assertLess(shown, sum(s.value for s in inside.stacks) / 1e9 - 1)
        self.assertEqual(graph(over="10s").samples, 0)

    def test_formats(self):
        get = lambda **parameters: self.daemon.get(self.stored, calls="KnownCalls.(longs|sleeps)$", over="400ms", **parameters)
        for name in ("summary", "flat", "traces", "tree"):
            text = get(format=name).text
            self.assertRegex(text, r"(?m)^ +\d+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+[+ ] +KnownCalls.longs$", name)
            self.assertIn("over 400 ms", text)
        self.assertIn('"calls":{"interval":', get(format="html").text)
        self.assertRegex(gzip.decompress(get(format="pprof").body), rb"calls: KnownCalls.longs: \d+ calls")
        self.assertTrue([w for w in get(format="collapsed").warnings if "count as one" in w])

    def test_query(self):
        """Calls come from stored captures, and never from the flight recorder or the history."""
        found = self.daemon.get("/api/v1/query", pid=self.program.pid, calls="^KnownCalls.longs$", format="json", **{"from": "-10m"})
        self.assertEqual(found.status, 200, found)
        method, = found.json()["meta"]["calls"]["methods"]
        stored = next(m for m in self.answer.json()["meta"]["calls"]["methods"] if m["name"] == method["name"])
        self.assertGreaterEqual(method["count"], stored["count"])
        nothing = self.daemon.get("/api/v1/query", pid=self.program.pid, calls="x", **{"from": "-10m", "to": "-9m"})
        self.assertEqual(nothing.status, 404, nothing)

    def test_refused(self):
        pid = self.program.pid
        for parameters, parameter in (({"pid": pid, "calls": "("}, "calls"), ({"pid": pid, "over": "1s"}, "over"),
                                      ({"pid": pid, "calls": "x", "over": "0ms"}, "over"), ({"pid": pid, "calls": "x", "over": "2h"}, "over"),
                                      ({"pid": pid, "calls": "x", "event": "cpu"}, "calls"), ({"pid": pid, "calls": "x", "from": "-1m"}, "calls")):
            answer = self.daemon.get("/profile", **parameters)
            self.assertEqual((answer.status, answer.json().get("parameter")), (400, parameter), (parameters, answer))
        other = self.daemon.get("/profile", pid=pid, seconds=0.2)
        answer = self.daemon.get(f"/api/v1/captures/{other.headers['X-Flamed-Capture']}/profile", calls="x")
        self.assertEqual((answer.status, answer.json()["parameter"]), (400, "calls"), answer)


class VirtualCalls(WithEvent):
    """Samples do not name their virtual thread. Its calls are left out, and a warning says so."""
    event = "wall"
    sources = ("VirtualWaits.java",)

    def test_left_out(self):
        with jvm.Jvm(paths.jdk(25), "-Xmx256m", "-cp", self.classes.folder, "VirtualWaits", "20", stdin=subprocess.PIPE) as program:
            answer = self.daemon.get("/profile", pid=program.pid, seconds=2, calls="VirtualWaits.site", format="json")
            calls = answer.json()["meta"]["calls"]
            self.assertEqual(calls["methods"], [])
            self.assertGreater(calls["virtual_left_out"], 100)
            self.assertTrue([w for w in answer.warnings if "which virtual thread" in w], answer.warnings)


if __name__ == "__main__":
    unittest.main()
