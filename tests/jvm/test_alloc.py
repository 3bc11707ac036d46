# SPDX-License-Identifier: Apache-2.0
"""Allocation: as many bytes as each place of a program allocated, of the right classes, and no probe left behind."""
import collections
import concurrent.futures
import os
import signal
import subprocess
import time
import unittest

from harness import jvm, paths, proc
from harness.contract import Pprof, packed
from harness.daemon import Daemon
from harness.profile import Profile

# What each place of Alloc.java allocates.
CLASSES = {"small": {"Alloc$Small"}, "boxed": {"Alloc$Worker$$Lambda"}, "bytes200": {"byte[]"}, "chars4k": {"char[]"}, "ints64k": {"int[]"},
           "objects": {"java.lang.Object[]"}, "cloned": {"long[]"}, "grid": {"short[]", "short[][]"}}
BUFFERS = ("-XX:TLABSize=256k", "-XX:-ResizeTLAB") # of one size, so that the number of samples is known


class Program(jvm.Jvm):
    def __init__(self, version: int, folder: str, *options: str):
        super().__init__(paths.jdk(version), *options, "-cp", folder, "Alloc", "2", stdin=subprocess.PIPE)
        self.allocate(3e8) # compiled from here on

    def allocate(self, count: float) -> tuple[dict[str, int], dict[str, int]]:
        """Has it allocate so many bytes: those of each place, and how often."""
        self.process.stdin.write(f"{int(count)}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        counts = dict(zip(words[::3], map(int, words[1::3])))
        return {name: counts[name] * int(size) for name, size in zip(words[::3], words[2::3])}, counts


def dirty_text(pid: int) -> int:
    """KiB of libjvm's code that a process has a copy of."""
    dirty = 0
    wanted = False
    for line in proc.read(f"/proc/{pid}/smaps").splitlines():
        fields = line.split()
        if "-" in fields[0]:
            wanted = line.endswith("/libjvm.so") and "x" in fields[1]
        elif wanted and fields[0] == "Private_Dirty:":
            dirty += int(fields[1])
    return dirty


def changed_pages(pid: int) -> int:
    """Pages of libjvm's code that are not as in its file: those with a probe. (The kernel may leave a copy of one that is.)"""
    changed = 0
    for line in proc.read(f"/proc/{pid}/maps").splitlines():
        fields = line.split()
        if not line.endswith("/libjvm.so") or "x" not in fields[1]:
            continue
        start, end = (int(word, 16) for word in fields[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory, open(f"/proc/{pid}/map_files/{fields[0]}", "rb") as file:
            memory.seek(start)
            file.seek(int(fields[2], 16))
            for _ in range(start, end, 4096):
                changed += memory.read(4096) != file.read(4096).ljust(4096, b"\0")
    return changed


def wait_clean(pid: int) -> None:
    proc.wait_until(lambda: changed_pages(pid) == 0, 30, "no probe is left")


class Alloc(jvm.WithClasses):
    sources = ("Alloc.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)
        event, = [e for e in cls.daemon.get("/api/v1/events").json()["events"] if e["name"] == "alloc"]
        cls.reason = event["reason"]

    def setUp(self):
        if self.reason:
            self.skipTest(self.reason)

    def prepare(self, daemon: Daemon, program: Program) -> None:
        """The BPF program is loaded, and the symbols of libjvm are read: the next capture has its probes from the first."""
        def probed() -> bool:
            answer = daemon.get("/profile", pid=program.pid, event="alloc", seconds=0.1, format="json")
            self.assertEqual(answer.status, 200, answer)
            self.assertTrue([w for w in answer.warnings if "only some of its places" in w], answer.warnings)
            return not any("being read" in warning for warning in answer.warnings)
        proc.wait_until(probed, 30, "the symbols of libjvm are read")

    def wait_taken(self, capture) -> None:
        """On a busy machine flamed is seconds behind with so many samples, and a capture's end does not wait for all of them."""
        before, since = -1, time.monotonic()
        while time.monotonic() < since + 1:
            now = self.daemon.get(capture.path).json()["samples"]
            if now != before:
                before, since = now, time.monotonic()
            time.sleep(0.1)

    def check(self, program: Program, count: float, interval: str) -> Profile:
        """Each place within 10 % of its bytes, their sum within 5 %. A place has 2,000 samples or more: 10 % is 4.5 sigma."""
        capture = self.daemon.capture(pid=program.pid, event="alloc", interval=interval)
        truth, _ = program.allocate(count)
        self.wait_taken(capture)
        profile = capture.stop()
        values, samples, wrong = collections.Counter(), collections.Counter(), collections.Counter()
        for stack in profile.stacks:
            place = next((n.split(".")[-1] for n in stack.names if n.startswith("Alloc$Worker.") and n.split(".")[-1] in truth), "")
            values[place] += stack.value
            samples[place] += stack.samples
            if stack.frames[-1].kind != "class" or place and stack.names[-1] not in CLASSES[place]:
                wrong[f"{place}: {stack.frames[-1]}"] += stack.samples
        total = sum(truth.values())
        errors = {place: values[place] / truth[place] - 1 for place in truth}
        print(f"{profile.samples} samples, {sum(values.values()) / total:.4f} of the bytes,",
              " ".join(f"{place} {error:+.1%}" for place, error in errors.items()))
        self.assertEqual(profile.quality["lost"], 0, (profile.quality, profile.warnings))
        self.assertGreaterEqual(profile.samples, 5000, (profile.quality, profile.warnings))
        self.assertAlmostEqual(sum(values.values()) / total, 1, delta=0.05, msg=(profile.quality, profile.warnings))
        for place, error in errors.items():
            self.assertGreaterEqual(truth[place], 0.05 * total)
            self.assertLessEqual(abs(error), 0.10, (place, samples, errors))
        self.assertLessEqual(wrong.total(), 0.001 * profile.samples, wrong)
        self.assertLessEqual(sum(s.samples for s in profile.stacks if s.truncated), 0.005 * profile.samples, profile.describe())
        self.assertLessEqual(profile.quality["unknown"], 0.005 * profile.samples, profile.describe())
        self.assertFalse([s.names for s in profile.stacks if any("AllocTracer" in n or "MemAllocator" in n for n in s.names)])
        return profile

    def test_as_the_program_allocated(self):
        for version, options in ((17, ("-Xmx256m", "-XX:+UseParallelGC")), (25, ("-Xmx256m", "-XX:+UseG1GC"))):
            with self.subTest(jdk=version), Program(version, self.classes.folder, *options, *BUFFERS) as program:
                print(version, end=" ")
                self.prepare(self.daemon, program)
                wait_clean(program.pid)
                self.check(program, 6e9, "16k")
                wait_clean(program.pid)

    def test_formats_and_refusals(self):
        with Program(17, self.classes.folder, "-Xmx64m") as program:
            self.prepare(self.daemon, program)
            wait_clean(program.pid)
            capture = self.daemon.capture(pid=program.pid, event="alloc,cpu")
            self.assertGreater(changed_pages(program.pid), 0) # else what is asserted at the end means nothing
            program.allocate(5e8)
            capture.stop()
            wait_clean(program.pid)
            path = f"{capture.path}/profile"
            for name, expected in (("collapsed", b";int[] "), ("flat", b"byte[]"), ("pprof", b"\x1f\x8b"), ("jfr", b"FLR"), ("html", b"<!doctype")):
                answer = self.daemon.get(path, format=name)
                self.assertEqual(answer.status, 200, answer)
                self.assertIn(expected, answer.body)
            text = self.daemon.get(path, format="collapsed", names="simple").text
            self.assertIn(";Object[] ", text)
            weight = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
            self.assertGreater(weight, 2e8) # bytes
            with concurrent.futures.ThreadPoolExecutor(1) as pool: # the program allocates for as long as that takes
                scraped = pool.submit(self.daemon.get, "/debug/pprof/allocs", pid=program.pid, seconds=1)
                while not scraped.done():
                    program.allocate(5e7)
            profile = Pprof(scraped.result().body)
            self.assertEqual(profile.types, [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")])
            self.assertGreater(profile.counts, 0)
            self.assertEqual({packed(sample[2])[2:] == [0, 0] for sample in profile.samples}, {True})
        answer = self.daemon.get("/profile", pid=os.getpid(), seconds=0.1, event="alloc")
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("no JVM", answer.json()["detail"])
        answer = self.daemon.get("/debug/pprof/allocs", pid=os.getpid(), seconds=0.1)
        self.assertEqual((answer.status, Pprof(answer.body).samples), (200, []), answer)
        self.assertTrue(any("no JVM" in warning for warning in answer.warnings), answer.warnings)

    def test_killed(self):
        """No probe outlives flamed, however that ends, and the JVM goes on."""
        with Daemon("--recorder-hz", "0") as daemon, Program(17, self.classes.folder, "-Xmx64m") as program:
            self.prepare(daemon, program)
            wait_clean(program.pid)
            daemon.capture(pid=program.pid, event="alloc")
            self.assertGreater(changed_pages(program.pid), 0)
            for pid in daemon.processes()["flamed"]:
                os.kill(pid, signal.SIGKILL)
            wait_clean(program.pid)
            self.assertTrue(program.allocate(1e8)[0])
            daemon.wait_ready() # another pair serves


class WithoutUprobes(unittest.TestCase):
    def test_sentence(self):
        words = os.environ.get("FLAMED_OLD_KERNEL", "")
        os.environ["FLAMED_OLD_KERNEL"] = ",".join([*filter(None, words.split(",")), "uprobes"])
        try:
            daemon = Daemon("--recorder-hz", "0")
        finally:
            os.environ["FLAMED_OLD_KERNEL"] = words
        self.addCleanup(daemon.stop)
        event, = [e for e in daemon.get("/api/v1/events").json()["events"] if e["name"] == "alloc"]
        self.assertFalse(event["available"])
        self.assertIn("CONFIG_UPROBE_EVENTS", event["reason"])
        answer = daemon.get("/profile", pid=os.getpid(), seconds=0.1, event="alloc")
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("no probes in user space", answer.json()["detail"])


if __name__ == "__main__":
    unittest.main()
