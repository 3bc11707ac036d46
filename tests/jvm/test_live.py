# SPDX-License-Identifier: Apache-2.0
"""Objects that are still reachable at the end of a capture: their bytes are right, a leak is the widest frame, and all weak references are
deleted."""
import collections
import concurrent.futures
import math
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from harness import attach, bundle, events, jdkroot, jvm, paths, proc
from harness.contract import Pprof
from harness.daemon import Daemon
from harness.profile import Profile
from test_alloc import changed_pages
from test_alloc_agent import AGENT, STREAM, has
from test_locks_jdks import COLLECTORS

SIDE_BY_SIDE = True # each class waits most of its time
KEPT, ROUND = 1024, 4096 # bytes of a round of Keeps.java
ROUNDS, STEPS = 60_000, 300
SIGMAS = 4 # of four checks in each run, one in 10,000 is off by more
SECONDS = float(os.environ.get("FLAMED_LIVE_SECONDS", "1"))
KEPT_KIB = 16 << 10 # KiB that a JVM may need itself: 25 with ZGC takes 10 KiB a second without captures, too
CLASSES = {"keep": "byte[]", "drop256": "char[]", "drop768": "long[]", "drop2048": "java.lang.Object[]"}


class Program(jvm.Jvm):
    def __init__(self, version: int, folder: str, *options: str):
        self.home = paths.jdk(version)
        super().__init__(self.home, "-Xmx384m", *options, "-cp", folder, "Keeps", stdin=subprocess.PIPE)
        self.do("make 20000", "drop", "collect") # all code is compiled after this

    def do(self, *lines: str) -> None:
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            said = self.process.stdout.readline()
            assert said == "done\n", said

    def weak_references(self) -> int:
        return attach.weak_references(self.pid)


class Base(events.WithEvent):
    event = "live"
    sources = ("Keeps.java",)

    def begin(self, pid: int, **params):
        """Begins a capture with its agent loaded. For the first one of a daemon, the kernel checks a program."""
        proc.wait_until(lambda: self.daemon.get("/profile", pid=pid, event="live", seconds=0.1).status != 503, 60, "the program is loaded")
        # Otherwise the probe of that capture counts as this one's, whose agent is not loaded yet.
        proc.wait_until(lambda: not changed_pages(pid, AGENT), 30, "the probe of that capture is gone")
        capture = self.daemon.capture(**{"pid": pid, "event": "live", **params})
        proc.wait_until(lambda: changed_pages(pid, AGENT) or self.daemon.get(capture.path).json()["state"] == "failed", 60, "the agent is there")
        state = self.daemon.get(capture.path).json()
        self.assertEqual(state["state"], "running", state)
        return capture

    def places(self, profile: Profile) -> tuple[collections.Counter, collections.Counter]:
        """Returns bytes and samples of each place."""
        values, samples = collections.Counter(), collections.Counter()
        for stack in profile.stacks:
            place = next((n.split(".")[-1] for n in stack.names if n.split(".")[-1] in CLASSES), "?")
            values[place] += stack.value
            samples[place] += stack.samples
            if place in CLASSES:
                self.assertEqual((stack.frames[-1].kind, stack.names[-1]), ("class", CLASSES[place]))
        return values, samples

    def compare(self, what, profile: Profile, truth: int) -> None:
        """Kept objects have their bytes, and dropped ones almost none."""
        values, samples = self.places(profile)
        off = values["keep"] / truth - 1
        sigma = math.sqrt(1 / samples["keep"])
        print(what, f"{samples['keep']} samples, {off:+.1%} ({off / sigma:+.1f} sigma),", {p: v for p, v in values.items() if p != "keep"})
        self.assertLessEqual(abs(off), SIGMAS * sigma, (what, profile.quality, profile.warnings))
        self.assertLess(values.total() - values["keep"], 0.05 * truth, (what, values))
        self.assertTrue([w for w in profile.warnings if "looked at" in w and "left out" in w], profile.warnings)

    def ends(self, program: Program) -> None:
        """Checks that with the next allocations its agent ends, and no reference is left."""
        def ended() -> bool:
            program.do("make 2000", "drop")
            return not has(program.pid, STREAM)
        proc.wait_until(ended, 30, "the agent has ended")
        self.assertEqual(program.weak_references(), 0)


class Live(Base):
    def check(self, version: int, option: str) -> None:
        with Program(version, self.classes.folder, option) as program:
            capture = self.begin(program.pid, interval="64k")
            for _ in range(STEPS): # at a rate that needs no coarser interval: otherwise samples stand for different bytes
                program.do(f"make {ROUNDS // STEPS}")
                time.sleep(0.02)
            program.do("collect", "make 10", "collect") # a concurrent collector may still work on the first
            self.assertGreater(program.weak_references(), 0)
            time.sleep(0.5) # a busy flamed is behind with its samples
            profile = capture.stop()
            self.compare((version, option), profile, ROUNDS * KEPT)
            self.assertGreater(profile.samples, 100)
            ages = {s["age"] for s in profile.document["stacks"]}
            self.assertGreaterEqual(min(ages), 1)
            self.assertGreater(len(ages), 1)
            self.ends(program)

    def test_g1(self):
        jvm.side_by_side(self, lambda version: self.check(version, "-XX:+UseG1GC"), jvm.some(25, 17))

    def test_zgc(self):
        jvm.side_by_side(self, lambda version: self.check(version, "-XX:+UseZGC"), jvm.some(17, 25))

    def test_a_leak(self):
        """The growing cache of a service is the widest frame, also in a scrape. A diff of two captures shows it."""
        with Program(25, self.classes.folder, "-Xmn32m") as program:
            captures = []
            for seconds in (2, 3):
                capture = self.begin(program.pid, interval="16k")
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    scraped = pool.submit(self.daemon.get, "/debug/pprof/heap", pid=program.pid, seconds=seconds)
                    table = pool.submit(self.daemon.get, "/top", pid=program.pid, event="live", once=1, interval=f"{seconds}s")
                    while not (scraped.done() and table.done()):
                        program.do("serve 1")
                program.do("collect") # on a slow machine the young generation may not be full
                time.sleep(0.5)
                profile = capture.stop()
                total = sum(s.value for s in profile.stacks)
                leak = sum(s.value for s in profile.stacks if "Keeps$Session.<init>" in s.names and s.names[-1] == "byte[]")
                print(f"leak: {leak / total:.0%} of {total >> 10} KiB, {profile.samples} samples")
                self.assertGreater(leak, 0.6 * total, profile.describe())
                captures.append(capture.path.rsplit("/", 1)[1])
            self.assertRegex(table.result().text, r"(?m)^.*\d\d\.\d.* byte\[\]", table.result())
            self.assertIn("Keeps$Session", table.result().text)
            heap = Pprof(scraped.result().body)
            self.assertEqual(heap.types, [("inuse_objects", "count"), ("inuse_space", "bytes")])
            self.assertGreater(heap.counts, 100) # objects, not samples
            diff = self.daemon.get("/api/v1/diff", a=captures[0], b=captures[1], event="live", normalize=0, format="collapsed").text
            self.assertIn("Keeps$Session.<init>;byte[]", diff)
            for name, expected in (("collapsed", b";byte[] "), ("flat", b"byte[]"), ("pprof", b"\x1f\x8b"), ("jfr", b"FLR"), ("html", b"<!doctype"),
                                   ("otlp", b"byte[]"), ("speedscope", b"byte[]"), ("heatmap", b"<!doctype"), ("tree", b"byte[]")):
                answer = self.daemon.get(capture.path + "/profile", format=name)
                self.assertEqual(answer.status, 200, (name, answer))
                self.assertIn(expected, answer.body, name)
            self.ends(program)

    def test_with_allocation(self):
        """One agent reports both allocation and live objects."""
        with Program(17, self.classes.folder) as program:
            capture = self.begin(program.pid, event="alloc,live", source="agent", interval="64k,64k")
            for _ in range(STEPS // 2):
                program.do(f"make {ROUNDS // STEPS}")
                time.sleep(0.02)
            program.do("collect")
            time.sleep(0.5)
            allocated = capture.stop()
            stay = Profile(self.daemon.get(capture.path + "/profile", event="live", format="json"))
            total = sum(s.value for s in allocated.stacks)
            self.assertAlmostEqual(total / (ROUNDS / 2 * ROUND), 1, delta=0.05 + 4 / math.sqrt(allocated.samples), msg=allocated.warnings)
            self.compare("both", stay, ROUNDS * KEPT // 2)

    def test_refusals(self):
        for parameters, status, words in (
                ({"pid": os.getpid(), "event": "live"}, 409, "event=live is for JVMs, and what is selected is no JVM"),
                ({"pid": os.getpid(), "event": "live", "source": "probe"}, 400, "by an agent in the JVM"),
                ({"pid": os.getpid(), "event": "live", "hz": 99}, 400, "has no rate")):
            answer = self.daemon.get("/profile", seconds=0.1, **parameters)
            self.assertEqual(answer.status, status, answer)
            self.assertIn(words, answer.json()["detail"])
        answer = self.daemon.get("/top", pid=os.getpid(), event="live")
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("when a capture ends", answer.json()["detail"])


class Unusual(Base):
    def rounds(self, program: Program) -> int:
        """Makes it allocate for a second or so. Returns the bytes."""
        for _ in range(STEPS // 3):
            program.do("make 100")
            time.sleep(0.01)
        return STEPS // 3 * 100 * ROUND

    def dropped_are_left_out(self, capture, allocated: int) -> None:
        values, _ = self.places(capture.stop())
        self.assertLess(values.total() - values["keep"], 0.05 * allocated, values)

    def test_young_collections_of_zgc(self):
        """Young collections clear no weak reference: objects that they did not visit count as unchecked."""
        with Program(25, self.classes.folder, "-XX:+UseZGC", "-Xmx64m") as program:
            capture = self.begin(program.pid, interval="64k")
            allocated = self.rounds(program)
            program.do("drop", "collect")
            for _ in range(3):
                allocated += self.rounds(program)
                program.do("drop")
            time.sleep(0.5)
            self.dropped_are_left_out(capture, allocated)

    def test_in_the_middle_of_a_collection(self):
        """A collection that has not cleared any reference yet counts as not having checked any."""
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            with Program(17, self.classes.folder, "-XX:+UseSerialGC", "-Xmx512m", "-Xmn200m", f"-Xlog:gc*:file={log}") as program:
                program.do("make 100000") # marking takes time
                capture = self.begin(program.pid, interval="64k")
                self.rounds(program)
                for _ in range(10):
                    program.do("collect")
                    allocated = self.rounds(program)
                    time.sleep(0.5)
                    begun = proc.read(log).count("Phase 1")
                    program.process.stdin.write("collect\n")
                    program.process.stdin.flush()
                    proc.wait_until(lambda before=begun: proc.read(log).count("Phase 1") > before, 30, "it collects", 0.001)
                    os.kill(program.pid, signal.SIGSTOP)
                    try:
                        met = "Phase 2" not in proc.read(log).split("Phase 1")[-1]
                        if met:
                            self.dropped_are_left_out(capture, allocated)
                    finally:
                        os.kill(program.pid, signal.SIGCONT)
                    self.assertEqual(program.process.stdout.readline(), "done\n")
                    if met:
                        return
                self.skipTest("this machine is too busy to meet a collection in its middle")

    def test_a_collector_that_does_not_count(self):
        """Shenandoah: its objects have no age."""
        with Program(17, self.classes.folder, "-XX:+UseShenandoahGC") as program:
            capture = self.begin(program.pid, interval="64k")
            for _ in range(STEPS // 3):
                program.do("make 100")
                time.sleep(0.01)
            program.do("collect", "make 10", "collect")
            time.sleep(0.5)
            profile = capture.stop()
            self.assertGreater(self.places(profile)[0]["keep"], 0)
            self.assertEqual([s for s in profile.document["stacks"] if "age" in s], [])
            self.assertTrue([w for w in profile.warnings if "does not count its collections" in w], profile.warnings)

    def test_killed(self):
        """The lease is not renewed: the agent deletes all references by itself, and another flamed can begin."""
        with Daemon("--recorder-hz", "0") as daemon, Program(17, self.classes.folder) as program:
            self.daemon, shared = daemon, self.daemon
            self.addCleanup(setattr, self, "daemon", shared)
            self.begin(program.pid)
            program.do("make 20000")
            self.assertGreater(program.weak_references(), 10)
            for pid in daemon.processes()["flamed"]:
                os.kill(pid, signal.SIGKILL)
            self.ends(program)
            daemon.wait_ready() # another pair of processes serves
            capture = self.begin(program.pid, interval="64k")
            program.do("make 20000", "collect")
            time.sleep(0.3)
            self.assertGreater(capture.stop().samples, 10)


class Matrix(Base):
    """11, 21 and 26 to 28 in containers, and 17 and 25, with each collector. Not in a plain run."""

    def setUp(self):
        super().setUp()
        if not os.environ.get("FLAMED_LIVE_MATRIX"):
            self.skipTest("FLAMED_LIVE_MATRIX is not set: jvm_live_jdks runs it")

    def check(self, version: int) -> None:
        for collector in COLLECTORS[version]:
            option = f"-XX:+Use{collector}GC"
            with self.subTest(jdk=version, option=option):
                pipe = os.path.join(self.classes.folder, "ask")
                if not os.path.exists(pipe):
                    os.mkfifo(pipe)
                    os.chmod(pipe, 0o666)
                here = version in (17, 25)
                arguments = ("-XX:+UnlockExperimentalVMOptions", "-Xmx384m", option, "-cp", self.classes.folder if here else "/classes",
                             "Keeps", pipe if here else "/classes/ask")
                program = (jvm.Jvm(paths.jdk(version), *arguments) if here else
                           bundle.Container("", self.classes.folder, *arguments, root=jdkroot.root(version), executable=jdkroot.java(version)))
                with program, open(pipe, "w", encoding="ascii") as ask:
                    asked = 0

                    def do(*lines: str) -> None:
                        nonlocal asked
                        ask.write("".join(line + "\n" for line in lines))
                        ask.flush()
                        asked += len(lines)
                        if here:
                            self.assertEqual([program.process.stdout.readline() for _ in lines], ["done\n"] * len(lines))
                        else:
                            proc.wait_until(lambda: proc.read(program.path("out")).count("done") == asked, 60, "it has done that", interval=0.005)
                    do("make 20000", "drop", "collect")
                    capture = self.begin(program.pid, interval="64k")
                    for _ in range(STEPS):
                        do(f"make {ROUNDS // STEPS}")
                        time.sleep(0.02)
                    do("collect", "make 10", "collect")
                    time.sleep(1) # a busy flamed is behind with its samples
                    self.compare((version, option), capture.stop(), ROUNDS * KEPT)
                    do("make 20000", "drop", "make 20000")
                    proc.wait_until(lambda: not has(program.pid, STREAM), 60, "the agent has ended")

    def test_11(self):
        self.check(11)

    def test_17(self):
        self.check(17)

    def test_21(self):
        self.check(21)

    def test_25(self):
        self.check(25)

    def test_26(self):
        self.check(26)

    def test_27(self):
        self.check(27)

    def test_28(self):
        self.check(28)


class Soak(jvm.WithClasses):
    """Captures one after another, of FLAMED_LIVE_SECONDS each: they leave no reference and no memory. Not in a plain run."""
    sources = ("Keeps.java",)

    def check(self, version: int, option: str, count: int) -> None:
        memory, samples = [], 0
        with Daemon("--recorder-hz", "0") as daemon, concurrent.futures.ThreadPoolExecutor(1) as pool, \
                Program(version, self.classes.folder, "-XX:+AlwaysPreTouch", "-Xms384m", option) as program:
            events.skip_without(daemon, "live")

            def once() -> int:
                """Returns the samples of one capture, or 0 if another test's agent prevents it."""
                answer = pool.submit(daemon.get, "/profile", pid=program.pid, event="live", seconds=SECONDS, interval="8k", format="json")
                while not answer.done():
                    program.do("make 300")
                program.do("drop")
                proc.wait_until(lambda: not has(program.pid, STREAM) or program.do("make 2000", "drop"), 60, "the agent has ended")
                return len(answer.result().json()["stacks"]) if answer.result().status == 200 else 0
            proc.wait_until(once, 60, "its program is loaded")
            mappings = len(proc.read(f"/proc/{program.pid}/maps").splitlines())
            threads = len(proc.threads(program.pid))
            while len(memory) < count:
                taken = once()
                samples += taken
                if taken:
                    memory.append(proc.memory_kib(program.pid))
                self.assertIsNone(program.process.poll())
            parts = [max(memory[len(memory) * i // 6:len(memory) * (i + 1) // 6]) for i in range(6)]
            print(f"{version} {option}: {count} captures, {samples} stacks; most KiB of each sixth: {parts}; {mappings} mappings, then "
                  f"{len(proc.read(f'/proc/{program.pid}/maps').splitlines())}", flush=True)
            self.assertEqual(program.weak_references(), 0)
            self.assertLess(parts[-1], parts[1] + KEPT_KIB)
            self.assertLess(len(proc.read(f"/proc/{program.pid}/maps").splitlines()), mappings + 50)
            self.assertLess(len(proc.threads(program.pid)), threads + 10) # the JVM itself starts and ends some

    def test_many(self):
        count = int(os.environ.get("FLAMED_LIVE_CAPTURES", "0"))
        if not count:
            self.skipTest("FLAMED_LIVE_CAPTURES is not set: jvm_live_many runs it")
        for options in (("-XX:+UseG1GC", "-XX:+UseZGC"), ("-XX:+UseZGC", "-XX:+UseG1GC")):
            jvm.side_by_side(self, lambda version, options=options: self.check(version, options[version == 25], count))


if __name__ == "__main__":
    unittest.main()
