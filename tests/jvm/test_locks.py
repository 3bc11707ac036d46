# SPDX-License-Identifier: Apache-2.0
"""Waits for locks: as long as the program itself measured, with the class of the lock and the thread that held it."""
import os
import re
import tempfile
import time

from harness import gopprof, jvm, paths, proc
from harness.events import WithEvent
from harness.profile import Profile
from test_offcpu import loaded

AQS = "java.util.concurrent.locks.AbstractQueuedSynchronizer"
# Kind and class of the wait of each kind of thread of Locks.java. A notified thread waits for the lock again.
LOCKS = {
    "LockA": {("[monitor]", "Locks$LockA")},
    "LockB": {("[monitor]", "Locks$LockB")},
    "Static": {("[monitor]", "java.lang.Class for Locks$Shared")},
    "ReentrantLock": {("[lock]", "java.util.concurrent.locks.ReentrantLock$NonfairSync")},
    "ReentrantReadWriteLock": {("[lock]", "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync")},
    "Condition": {("[condition]", f"{AQS}$ConditionObject"), ("[lock]", "java.util.concurrent.locks.ReentrantLock$NonfairSync")},
    "Signal": {("[notify]", "Locks$Signal")},
    "Held": {("[notify]", "java.lang.Object")},
}
# The same for BriefLocks.java, with threads that live for 0.2 s.
BRIEF = {
    "Enters": {("[monitor]", "BriefLocks$Key")},
    "Takes": {("[lock]", "java.util.concurrent.locks.ReentrantLock$NonfairSync")},
}
OWNED = ("LockA", "LockB", "Static", "ReentrantLock", "ReentrantReadWriteLock", *BRIEF)
FEW_MS = 0.02 # seconds allowed for waits during which a thread runs, and for the ends of the window


def asked(start: float, end: float) -> str:
    return f"{int(start * 1e9)} {int(end * 1e9)}"


def told(lines) -> dict[tuple[str, str], float]:
    found = {}
    for line in lines:
        if line.strip() == ".":
            break
        _, thread, owner, ns, _ = line.split()
        found[thread, owner] = int(ns) / 1e9
    return found


class GoProfile:
    """The view of `go tool pprof` on a profile with two values: their sums by the name of the frame below the leaf."""

    def __init__(self, body: bytes):
        with tempfile.NamedTemporaryFile(suffix=".pb.gz") as f:
            f.write(body)
            f.flush()
            text = gopprof.tool("-raw", "-symbolize=none", f.name)
        samples, locations = text.split("\nSamples:\n")[1].split("\nLocations\n")
        self.types = samples.splitlines()[0].replace("[dflt]", "").split()
        names = {m[1]: m[2] for m in re.finditer(r"^\s+(\d+): 0x\w+ (?:M=\d+ )?(.*?) \S*:\d+(?::\d+)? s=\d+", locations, re.M)}
        self.values: dict[str, tuple[int, int]] = {}
        for count, value, ids in re.findall(r"^\s+(\d+)\s+(\d+): ([\d ]+)$", samples, re.M):
            name = names[ids.split()[1]]
            before = self.values.get(name, (0, 0))
            self.values[name] = (before[0] + int(count), before[1] + int(value))


class Program(jvm.Obedient):
    def __init__(self, version: int, folder: str, *options: str, main: str = "Locks"):
        super().__init__(paths.jdk(version), "-Xmx64m", *options, "-cp", folder, main)

    def waited(self, start: float, end: float) -> dict[tuple[str, str], float]:
        """Returns seconds by (thread, owner), "-" for no owner, between two times of time.monotonic()."""
        self.tell(asked(start, end))
        return told(iter(self.process.stdout.readline, ""))


class Checks:
    """For a TestCase with self.daemon."""

    def profile(self, program, seconds: float, **parameters) -> Profile:
        return Profile(loaded(lambda: self.daemon.get("/profile", pid=program.pid, seconds=seconds, event="lock", interval="5ms", threads=1,
                                                      format="json", **parameters)))

    def compare(self, name: object, program, seconds: float, locks: dict = LOCKS, least_known: float = 0.9) -> None:
        """LOCKS: of the program. LEAST_KNOWN: the share of time with a known owner."""
        time.sleep(0.5) # the threads have begun
        self.profile(program, 0.2) # loads the programs, and makes the process known
        profile = self.profile(program, seconds)
        since = time.time() - time.monotonic()
        truth = program.waited(profile.start - since, profile.end - since)
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        stacks = [s for s in profile.stacks if s.thread.split("-")[0] in locks]
        named = sum(s.samples for s in stacks if tuple(s.names[-2:]) in locks[s.thread.split("-")[0]])
        self.assertGreaterEqual(named, 0.999 * sum(s.samples for s in stacks), {(s.thread, *s.names[-2:]) for s in stacks})
        for kind in locks:
            mine = [s for s in stacks if s.thread.startswith(kind + "-")]
            seconds_here = sum(s.value for s in mine) / 1e9
            seconds_true = sum(t for (thread, _), t in truth.items() if thread.startswith(kind + "-"))
            print(f"{name} {kind}: {seconds_here:.3f} of {seconds_true:.3f} s", end=" ")
            self.assertAlmostEqual(seconds_here, seconds_true, delta=0.04 * seconds_true + FEW_MS, msg=(kind, profile.describe()))
        known = right = 0.0
        for s in stacks:
            kind = s.thread.split("-")[0]
            if s.owner and kind in OWNED:
                known += s.value
                right += s.value * (s.owner.startswith(kind + "-") and s.owner != s.thread)
        self.assertGreaterEqual(right, 0.99 * known, {(s.thread, s.owner) for s in stacks})
        owned = sum(s.value for s in stacks if s.thread.split("-")[0] in OWNED) / 1e9
        self.assertGreater(known / 1e9, least_known * owned, "whose owner is known")
        missed = wrong = 0.0
        for (thread, owner), t in truth.items():
            if thread.split("-")[0] in OWNED and owner != "-":
                here = sum(s.value for s in stacks if (s.thread, s.owner) == (thread, owner)) / 1e9
                missed += max(0, t - here)
                wrong += max(0, here - t)
        print(f"owner known {known / 1e9:.3f} of {owned:.3f} s, missed {missed:.3f} s, too many {wrong:.3f} s", end=" ")


class Locks(Checks, WithEvent):
    event = "lock"
    sources = ("Locks.java", "BriefLocks.java")

    def test_as_the_program_waited(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), Program(version, self.classes.folder) as program:
                self.compare(version, program, float(os.environ.get("FLAMED_LOCKS_SECONDS", 2)))

    def test_threads_that_live_briefly(self):
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version), Program(version, self.classes.folder, main="BriefLocks") as program:
                self.compare(version, program, float(os.environ.get("FLAMED_LOCKS_SECONDS", 2)), BRIEF, least_known=0.5)

    def test_as_go_tool_pprof_reads_it(self):
        """/debug/pprof/mutex and block, with the sample types of Go programs."""
        paths.need("go")

        def fetch(name: str, **parameters) -> GoProfile:
            answer = self.daemon.get("/debug/pprof/" + name, pid=program.pid, **parameters)
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/octet-stream"), answer)
            return GoProfile(answer.body)

        with Program(17, self.classes.folder) as program:
            proc.wait_until(lambda: self.daemon.get("/profile", pid=program.pid, seconds=0.2, event="lock").status == 200, 60,
                            "the programs are loaded, and the process is known")
            self.assertEqual(fetch("mutex").values, {}, "nothing was counted yet")
            start = time.monotonic()
            block = fetch("block", seconds=2, nonsense=1)
            program.tell(asked(start, time.monotonic()))
            lines = [line.split() for line in program.lines()]
            self.assertEqual(block.types, ["contentions/count", "delay/nanoseconds"])
            self.assertLessEqual({"[monitor]", "[lock]", "[notify]", "[condition]"}, set(block.values))
            # Each await() is one wait, shorter than the interval: a sample stands for several.
            length, waits = (sum(int(line[i]) for line in lines if line[0] == "Condition") for i in (3, 4))
            count, value = block.values["[condition]"]
            print(f"[condition] {value / count / 1e6:.3f} ms each, {length / waits / 1e6:.3f} by the program", end=" ")
            # Equal to the program's measurement, or shorter if a thread was woken in vain. On a busy machine the program's is longer, as a
            # thread waits for a processor before it reads its clock. Plain samples would count 10 ms or more each.
            self.assertLess(value / count, 1.25 * length / waits)
            self.assertGreater(value / count, 0.4 * length / waits)
            mutex = fetch("mutex", seconds=1)
            self.assertEqual((set(mutex.values), mutex.types), ({"[monitor]", "[lock]"}, block.types))
