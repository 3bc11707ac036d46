# SPDX-License-Identifier: Apache-2.0
"""Allocation: each place of a program has its bytes, with the right classes, and no probe is left."""
import collections
import concurrent.futures
import os
import shutil
import signal
import subprocess
import tempfile
import time
import typing
import unittest

from harness import bundle, jvm, paths, proc
from harness.contract import Pprof, packed
from harness.daemon import Daemon
from harness.events import WithEvent
from harness.profile import Profile

# Bytes that each place of Alloc.java allocates.
CLASSES = {"small": {"Alloc$Small"}, "boxed": {"Alloc$Worker$$Lambda"}, "bytes200": {"byte[]"}, "chars4k": {"char[]"}, "ints64k": {"int[]"},
           "objects": {"java.lang.Object[]"}, "cloned": {"long[]"}, "grid": {"short[]", "short[][]"}, "varargs": {"java.lang.Object[]"},
           "numbers": {"java.lang.Long"}, "strings": {"byte[]", "char[]", "java.lang.String"}, "bytes400k": {"byte[]"}}
BUFFERS = ("-XX:TLABSize=256k", "-XX:-ResizeTLAB") # of one size, so that the number of samples is known

SYMBOL_LESS_LIBRARIES = ("libjvm.so+0x", "libc.so.6+0x")
SYMBOL_LESS = "at the calls of its allocation stubs"
FIXED = "Allocation repeats in a fixed pattern"


def old_kernel_daemon(word: str) -> Daemon:
    """Returns a daemon that treats a feature of the kernel as missing, by its name in docs/kernels.md."""
    words = os.environ.get("FLAMED_OLD_KERNEL", "")
    os.environ["FLAMED_OLD_KERNEL"] = ",".join([*filter(None, words.split(",")), word])
    try:
        return Daemon("--recorder-hz", "0")
    finally:
        os.environ["FLAMED_OLD_KERNEL"] = words


def bytes_and_counts(words: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the allocation that Alloc.java reported: bytes of each place, and how often."""
    counts = dict(zip(words[::3], map(int, words[1::3])))
    return {name: counts[name] * int(size) for name, size in zip(words[::3], words[2::3]) if counts[name]}, counts


def place_of(names: typing.Iterable[str]) -> str:
    """Returns the place of Alloc.java on a stack of NAMES such as Alloc$Worker.grid; "" if there is none."""
    return next((n.split(".")[-1] for n in names if n.startswith("Alloc$Worker.") and n.split(".")[-1] in CLASSES), "")


class Program(jvm.Obedient):
    def __init__(self, home: str, folder: str, *options: str, mode: str = "mixed"):
        super().__init__(home, *options, "-cp", folder, "Alloc", "2", mode)
        self.allocate(3e8) # all code is compiled after this

    def allocate(self, count: float) -> tuple[dict[str, int], dict[str, int]]:
        """Makes it allocate that many bytes. Returns the bytes of each place, and how often."""
        return bytes_and_counts(self.ask(str(int(count))).split())


class Contained(bundle.Asked):
    """Alloc.java in a container of this KIND, as in bundle.Container."""

    def __init__(self, home: str, folder: str, *options: str, **kind):
        super().__init__(home, folder, *options, "-cp", "/classes", "Alloc", "2", "mixed", memory=1 << 30, **kind)
        self.allocate(3e8)

    def allocate(self, count: float) -> tuple[dict[str, int], dict[str, int]]:
        return bytes_and_counts(self.ask(str(int(count)), 300).split())


def stripped(home: str, folder: str) -> str:
    """Returns a copy of the JDK in HOME with a libjvm without symbols, and without a name that leads to a file of symbols."""
    paths.need("strip")
    copy = os.path.join(folder, "stripped-" + os.path.basename(home))
    subprocess.run(["cp", "-rs", home, copy], check=True)
    for name in ("bin/java", "lib/libjli.so", "lib/server/libjvm.so"): # the JDK finds these by their real path
        path = os.path.join(copy, name)
        os.unlink(path)
        shutil.copy(os.path.join(home, name), path)
    subprocess.run(["strip", "-s", "--remove-section=.note.gnu.build-id", "--remove-section=.gnu_debuglink",
                    os.path.join(copy, "lib/server/libjvm.so")], check=True)
    return copy


def changed_pages(pid: int, name: str = "/libjvm.so") -> int:
    """Returns the pages of code of libjvm, or of another file, that differ from the file: those with a probe. (The kernel may keep a copy
    of an unchanged page.)"""
    changed = 0
    for line in proc.read(f"/proc/{pid}/maps").splitlines():
        fields = line.split()
        if name not in line or "x" not in fields[1]:
            continue
        start, end = (int(word, 16) for word in fields[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory, open(f"/proc/{pid}/map_files/{fields[0]}", "rb") as file:
            memory.seek(start)
            file.seek(int(fields[2], 16))
            for _ in range(start, end, 4096):
                changed += memory.read(4096) != file.read(4096).ljust(4096, b"\0")
    return changed


def wait_clean(pid: int) -> None:
    """Waits until no probe is left."""
    proc.wait_until(lambda: changed_pages(pid) == 0, 30, "no probe is left")


class Checks(WithEvent):
    event = "alloc"
    sources = ("Alloc.java",)

    def prepare(self, daemon: Daemon, program: Program) -> str:
        """Loads the BPF program, and the symbols and unwind tables of libjvm: the next capture then has its probes and whole stacks from
        the first sample on. Returns its warnings."""
        def probed() -> str:
            answer = daemon.get("/profile", pid=program.pid, event="alloc", seconds=0.1, format="json")
            self.assertEqual(answer.status, 200, answer)
            self.assertTrue([w for w in answer.warnings if "only some of its places" in w], answer.warnings)
            text = " ".join(answer.warnings)
            return "" if "being read" in text else text

        def whole() -> bool:
            capture = daemon.capture(pid=program.pid, event="alloc", interval="64k")
            program.allocate(5e7)
            quality = capture.stop().quality
            return quality["samples"] > 100 and quality["truncated"] == 0
        text = proc.wait_until(probed, 30, "the symbols of libjvm are read")
        proc.wait_until(whole, 30, "stacks are whole")
        return text

    def wait_taken(self, capture) -> None:
        """Waits for samples: on a busy machine flamed is seconds behind with so many, and the end of a capture does not wait for all of
        them."""
        before, since = -1, time.monotonic()
        while time.monotonic() < since + 1:
            now = capture.daemon.get(capture.path).json()["samples"]
            if now != before:
                before, since = now, time.monotonic()
            time.sleep(0.1)

    def check(self, program: Program, count: float, interval: str, unseen: tuple[str, ...] = (), samples: int = 5000) -> Profile:
        """Checks each place within 10 % of its bytes, and their sum within 5 %. A place has 2,000 samples or more: 10 % is 4.5 sigma.
        UNSEEN: places without samples, whose bytes other places get. Then only the sum counts, and that these places are missing."""
        capture = self.daemon.capture(pid=program.pid, event="alloc", interval=interval)
        truth, _ = program.allocate(count)
        self.wait_taken(capture)
        profile = capture.stop()
        values, taken, wrong = collections.Counter(), collections.Counter(), collections.Counter()
        for stack in profile.stacks:
            place = place_of(stack.names)
            values[place] += stack.value
            taken[place] += stack.samples
            if stack.frames[-1].kind != "class" or place and stack.names[-1] not in CLASSES[place]:
                wrong[f"{place}: {stack.frames[-1]}"] += stack.samples
        total = sum(truth.values())
        errors = {place: values[place] / truth[place] - 1 for place in truth}
        print(f"{profile.samples} samples, {sum(values.values()) / total:.4f} of the bytes,",
              " ".join(f"{place} {error:+.1%}" for place, error in errors.items()))
        self.assertNotIn(FIXED, " ".join(profile.warnings))
        self.assertEqual(profile.quality["lost"], 0, (profile.quality, profile.warnings))
        self.assertGreaterEqual(profile.samples, samples, (profile.quality, profile.warnings))
        self.assertAlmostEqual(sum(values.values()) / total, 1, delta=0.05, msg=(profile.quality, profile.warnings))
        for place, error in errors.items():
            self.assertGreaterEqual(truth[place], 0.05 * total)
            if place in unseen:
                self.assertLess(error, -0.9, (place, taken, errors))
            elif not unseen:
                self.assertLessEqual(abs(error), 0.10, (place, taken, errors))
        self.assertLessEqual(wrong.total(), 0.001 * profile.samples, wrong)
        self.assertLessEqual(sum(s.samples for s in profile.stacks if s.truncated), 0.005 * profile.samples, profile.describe())
        # A libjvm or C library without symbols has frames without names. Frames of other files and of Java code count.
        unknown = sum(s.samples for s in profile.stacks if any(f.kind == "unknown" and not f.name.startswith(SYMBOL_LESS_LIBRARIES) for f in s.frames))
        self.assertLessEqual(unknown, 0.005 * profile.samples, profile.describe())
        # The VM's frames end where Java's begin. A compiler's thread has no Java frame.
        self.assertFalse([s.names for s in profile.stacks if any("AllocTracer" in n or "MemAllocator" in n for n in s.names) and
                          not any("CompileBroker" in n for n in s.names)])
        return profile

    def check_one_after_another(self, daemon: Daemon) -> None:
        """Probes of one capture that are still being removed do not spoil the next capture, whether that begins before or after the first
        one's end. During that time no process waits for the probes."""
        with Program(paths.jdk(17), self.classes.folder, "-Xmx64m", *BUFFERS) as program:
            self.prepare(daemon, program)
            for _ in range(5):
                capture = daemon.capture(pid=program.pid, event="alloc", interval="16k")
                self.check_sum(capture, self.sum_of(program))
                answer = daemon.get("/api/v1/jvms")
                self.assertEqual(answer.status, 200, answer)
            older, of_older = daemon.capture(pid=program.pid, event="alloc", interval="16k"), 0
            for interval in ("32k", "16k", "32k"):
                newer = daemon.capture(pid=program.pid, event="alloc", interval=interval)
                of_both = self.sum_of(program)
                self.check_sum(older, of_older + of_both)
                older, of_older = newer, of_both + self.sum_of(program)
            self.check_sum(older, of_older)
            wait_clean(program.pid)

    def sum_of(self, program: Program) -> int:
        return sum(program.allocate(2e8)[0].values())

    def check_sum(self, capture, expected: int) -> None:
        self.wait_taken(capture)
        profile = capture.stop()
        self.assertAlmostEqual(sum(s.value for s in profile.stacks) / expected, 1, delta=0.1, msg=profile.describe())


class Alloc(Checks):
    def test_as_the_program_allocated(self):
        for version, options in jvm.some((25, ("-Xmx256m", "-XX:+UseG1GC")), (17, ("-Xmx256m", "-XX:+UseParallelGC"))):
            with self.subTest(jdk=version), Program(paths.jdk(version), self.classes.folder, *options, *BUFFERS) as program:
                print(version, end=" ")
                self.prepare(self.daemon, program)
                wait_clean(program.pid)
                self.check(program, 4.5e9, "16k")
                wait_clean(program.pid)

    def test_without_symbols(self):
        """With probes at calls in allocation stubs: the same result."""
        folder = tempfile.mkdtemp(prefix="flamed-alloc.")
        self.addCleanup(shutil.rmtree, folder)
        for version, options in jvm.some((17, ("-Xmx256m", "-XX:+UseG1GC")), (25, ("-Xmx256m", "-XX:+UseParallelGC"))):
            with self.subTest(jdk=version), Program(stripped(paths.jdk(version), folder), self.classes.folder, *options, *BUFFERS) as program:
                print(version, "stripped", end=" ")
                self.assertIn(SYMBOL_LESS, self.prepare(self.daemon, program))
                wait_clean(program.pid)
                self.check(program, 4.5e9, "16k")
                wait_clean(program.pid)

    def test_kinds(self):
        """Objects without a `new` in the source: lambdas, arrays of variable arguments, boxed numbers, concatenated strings. On JDK 25,
        virtual threads allocate them."""
        for version, options in jvm.some((25, ("-Dvirtual=1",)), (17, ())):
            with self.subTest(jdk=version), Program(paths.jdk(version), self.classes.folder, "-Xmx256m", *options, *BUFFERS, mode="kinds") as program:
                print(version, *options, end=" ")
                self.prepare(self.daemon, program)
                self.check(program, 3e9, "16k")
                wait_clean(program.pid)

    def test_fixed_loop(self):
        """A loop with a fixed sequence shows only some of its places, and the profile says so. Also in a JVM that chooses the size of its
        buffers."""
        folder = tempfile.mkdtemp(prefix="flamed-alloc.")
        self.addCleanup(shutil.rmtree, folder)
        for version, home, options in jvm.some((25, paths.jdk(25), ()), (17, paths.jdk(17), BUFFERS), (17, stripped(paths.jdk(17), folder), ())):
            with self.subTest(home=home), Program(home, self.classes.folder, "-Xmx256m", *options, mode="fixed") as program:
                self.prepare(self.daemon, program)
                capture = self.daemon.capture(pid=program.pid, event="alloc", interval="64k")
                program.allocate(1e9)
                self.wait_taken(capture)
                profile = capture.stop()
                places = {place_of(s.names) for s in profile.stacks} - {""}
                text = next((w for w in profile.warnings if FIXED in w), "")
                print(version, *options, f"{profile.samples} samples, {len(places)} places: {text[:4]}")
                self.assertTrue(text, (places, profile.warnings))
                self.assertIn("source=agent", text)
                wait_clean(program.pid)

    def test_loop_of_large_arrays(self):
        """Each array is a sample, so none is missing and there is no warning, except for objects that the same loop allocates in buffers."""
        folder = tempfile.mkdtemp(prefix="flamed-alloc.")
        self.addCleanup(shutil.rmtree, folder)
        for home in jvm.some(paths.jdk(25), paths.jdk(17), stripped(paths.jdk(17), folder)):
            with self.subTest(home=home), Program(home, self.classes.folder, "-Xmx256m", *BUFFERS, mode="large") as program:
                self.prepare(self.daemon, program)
                profile = self.check(program, 1e9, "64k", samples=2400)
                self.assertEqual([s.names for s in profile.stacks if s.samples and "[runnable]" in s.names], [])
            with self.subTest(home=home, both=True), Program(home, self.classes.folder, "-Xmx256m", *BUFFERS, mode="both") as program:
                self.prepare(self.daemon, program)
                capture = self.daemon.capture(pid=program.pid, event="alloc", interval="64k")
                program.allocate(1e9)
                self.wait_taken(capture)
                self.assertIn(FIXED, " ".join(capture.stop().warnings))

    def test_one_after_another(self):
        self.check_one_after_another(self.daemon)

    def test_in_containers(self):
        bundle.need_runc()
        for kind in jvm.some({"user_namespace": False, "docker": True, "overlay": True}, {"user_namespace": True, "read_only": True}):
            with self.subTest(kind=kind), Contained(paths.jdk(17), self.classes.folder, "-Xmx64m", **kind) as program:
                self.prepare(self.daemon, program)
                capture = self.daemon.capture(pid=program.pid, event="alloc", interval="64k")
                truth, _ = program.allocate(1e9)
                self.wait_taken(capture)
                profile = capture.stop()
                self.assertAlmostEqual(sum(s.value for s in profile.stacks) / sum(truth.values()), 1, delta=0.05, msg=profile.describe())
                seen = {stack.names[-1] for stack in profile.stacks}
                self.assertLessEqual(set.union(*(CLASSES[name] for name in truth)) - {"short[][]"}, seen)
                wait_clean(program.pid)

    def test_formats_and_refusals(self):
        with Program(paths.jdk(17), self.classes.folder, "-Xmx64m") as program:
            self.prepare(self.daemon, program)
            wait_clean(program.pid)
            capture = self.daemon.capture(pid=program.pid, event="alloc,cpu")
            self.assertGreater(changed_pages(program.pid), 0) # else the check at the end would be meaningless
            program.allocate(5e8)
            capture.stop()
            wait_clean(program.pid)
            path = f"{capture.path}/profile"
            for name, expected in (("collapsed", b";int[] "), ("flat", b"byte[] <- "), ("pprof", b"\x1f\x8b"), ("jfr", b"FLR"), ("html", b"<!doctype")):
                answer = self.daemon.get(path, format=name)
                self.assertEqual(answer.status, 200, answer)
                self.assertIn(expected, answer.body)
            text = self.daemon.get(path, format="collapsed", names="simple").text
            self.assertIn(";Object[] ", text)
            weight = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
            self.assertGreater(weight, 2e8) # bytes
            with concurrent.futures.ThreadPoolExecutor(1) as pool: # the program allocates during that time
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
        """No probe outlives flamed, in whatever way it ends, and the JVM runs on."""
        with Daemon("--recorder-hz", "0") as daemon, Program(paths.jdk(17), self.classes.folder, "-Xmx64m") as program:
            self.prepare(daemon, program)
            wait_clean(program.pid)
            daemon.capture(pid=program.pid, event="alloc")
            self.assertGreater(changed_pages(program.pid), 0)
            for pid in daemon.processes()["flamed"]:
                os.kill(pid, signal.SIGKILL)
            wait_clean(program.pid)
            self.assertTrue(program.allocate(1e8)[0])
            daemon.wait_ready() # another pair of processes serves


class WithoutUprobes(unittest.TestCase):
    def test_sentence(self):
        daemon = old_kernel_daemon("uprobes")
        self.addCleanup(daemon.stop)
        event, = [e for e in daemon.get("/api/v1/events").json()["events"] if e["name"] == "alloc"]
        self.assertFalse(event["available"])
        self.assertIn("CONFIG_UPROBE_EVENTS", event["reason"])
        answer = daemon.get("/profile", pid=os.getpid(), seconds=0.1, event="alloc")
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("no probes in user space", answer.json()["detail"])


if __name__ == "__main__":
    unittest.main()
