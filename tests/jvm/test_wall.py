# SPDX-License-Identifier: Apache-2.0
"""event=wall: all of each thread's time by its state, compared with the kernel's own count; state= and idle=0."""
import gzip
import os
import subprocess
import time
import unittest

from harness import hsperf, jvm, paths, proc
from harness.daemon import Daemon
from harness.events import WithEvent, skip_without
from harness.profile import Profile
from test_offcpu import EARLY, loaded, stolen

SECONDS = float(os.environ.get("FLAMED_WALL_SECONDS", 3))
PERIOD = 0.01
VM_THREADS = ("VM ", "G1 ", "GC ", "C1 ", "C2 ", "Service ") # how the names of the VM's own threads begin


def clocks(pid: int) -> dict[int, tuple[float, float]]:
    """Returns how long each thread has run, and has waited for a processor."""
    texts = {tid: proc.read(f"/proc/{pid}/task/{tid}/schedstat").split() for tid in proc.threads(pid)}
    return {tid: (int(text[0]) / 1e9, int(text[1]) / 1e9) for tid, text in texts.items() if text}


def seconds(stacks, *states: str) -> float:
    return sum(s.value for s in stacks if not states or s.state in states) / 1e9


class Wall(WithEvent):
    event = "wall"
    sources = ("Wall.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", cls.classes.folder, "Wall", stdin=subprocess.PIPE)
        cls.addClassCleanup(cls.program.__exit__, None, None, None)
        cls.program.__enter__()
        time.sleep(0.5) # the threads have begun
        answer = cls.daemon.request("POST", "/api/v1/captures", headers={"Content-Type": "application/json"},
                                    body=b'{"pid": %d, "seconds": 0.2, "event": "wall"}' % cls.program.pid)
        if answer.status != 201:
            raise AssertionError(answer)
        time.sleep(0.3)
        before, stolen_before = clocks(cls.program.pid), stolen()
        answer = cls.daemon.get("/profile", pid=cls.program.pid, seconds=SECONDS, event="wall", threads=1, format="json")
        if answer.status != 200:
            raise AssertionError(answer)
        after, cls.steal = clocks(cls.program.pid), stolen() - stolen_before
        cls.profile = Profile(answer)
        cls.stored = f"/api/v1/captures/{answer.headers['X-Flamed-Capture']}/profile"
        cls.truth = {tid: tuple(b - a for a, b in zip(before[tid], after[tid])) for tid in before.keys() & after.keys()}

    def shown(self, **parameters):
        return Profile(self.daemon.get(self.stored, format="json", threads=1, **parameters))

    def test_adds_up(self):
        """Each thread's time is that of the wall clock; the time that it ran is the kernel's."""
        profile = self.profile
        length = profile.end - profile.start
        by_thread: dict[int, list] = {}
        for stack in profile.stacks:
            self.assertIn(stack.state, ("running", "runnable", "blocked"), stack)
            by_thread.setdefault(stack.tid, []).append(stack)
        self.assertEqual(set(by_thread), set(self.truth), "every thread, whether it ran or not")
        short, whole = {}, 0.0
        for tid, stacks in by_thread.items():
            ran = self.truth[tid][0]
            whole += seconds(stacks)
            if abs(seconds(stacks) - length) > 0.01 * length + 3 * PERIOD:
                short[tid] = seconds(stacks) - length
            if stacks[0].thread.startswith("spins-"): # the clocks are read before and after: somewhat more
                self.assertAlmostEqual(seconds(stacks, "running"), ran, delta=0.02 * length + 4 * PERIOD + (ran if ran < 0.1 else 0),
                                       msg=profile.describe(stacks))
        truth = length * len(self.truth)
        print(f"{whole:.3f} s of {truth:.3f} s, {len(short)} threads of {len(by_thread)} else than 1 %, stolen {self.steal:.2f} s", end=" ")
        self.assertAlmostEqual(whole, truth, delta=0.02 * truth + self.steal, msg=profile.describe())
        self.assertLessEqual(len(short), 0.05 * len(by_thread) + self.steal / (0.01 * length) + 1, (short, profile.describe()))

    def test_what_threads_did(self):
        spins = [s for s in self.profile.stacks if s.thread.startswith("spins-")]
        # One thread more than processors.
        self.assertGreater(seconds(spins, "runnable"), 0.5 * (self.profile.end - self.profile.start), self.profile.describe(spins))
        self.assertLess(seconds(spins, "blocked"), 0.1 * seconds(spins), self.profile.describe(spins))
        often = [s for s in spins if s.state == "running" and s.samples > 3 and not s.truncated]
        self.assertTrue(often, self.profile.describe(spins))
        self.assertTrue(all(any("Wall.spins" in name for name in s.names) for s in often), self.profile.describe(spins))
        for thread, wait in (("sleeps-0", "sleep"), ("reads-0", "network"), ("works-0", "sleep")):
            waits = [s for s in self.profile.of_thread(thread) if s.state == "blocked" and not s.truncated]
            there = sum(s.value for s in waits if s.wait == wait)
            self.assertGreater(there, 0.9 * sum(s.value for s in waits), self.profile.describe(waits))
            self.assertGreater(there, 0)

    def test_states(self):
        whole = self.shown()
        for state in ("running", "runnable", "blocked", "running,runnable"):
            mine = self.shown(state=state)
            self.assertEqual({s.state for s in mine.stacks}, set(state.split(",")))
            self.assertEqual(sum(s.value for s in mine.stacks), sum(s.value for s in whole.stacks if s.state in state.split(",")))
        answer = self.daemon.get(self.stored, format="json", state="asleep")
        self.assertEqual(answer.status, 400, answer)
        self.assertEqual(answer.json()["parameter"], "state")

    def test_idle(self):
        """The pool's working threads are shown. Those that wait for it are left out and counted."""
        whole, busy = self.shown(), self.shown(idle=0)
        idle = busy.document["meta"]["idle"]
        self.assertEqual(idle["value"], sum(s.value for s in whole.stacks) - sum(s.value for s in busy.stacks))
        self.assertTrue(any("waited for work" in w for w in busy.answer.warnings), busy.answer.warnings)
        self.assertTrue(any("waited for work" in w for w in busy.warnings), busy.warnings)
        waits = lambda p: [s for s in p.stacks if "java.util.concurrent.ThreadPoolExecutor.getTask" in s.names and s.state == "blocked"]
        self.assertTrue(waits(whole))
        self.assertFalse(waits(busy), busy.describe(waits(busy)))
        for thread in ("sleeps-0", "reads-0"): # these wait for other things
            self.assertEqual(seconds(busy.of_thread(thread)), seconds(whole.of_thread(thread)))

    def test_formats(self):
        """Nanoseconds in each format; leaves name the reason of the wait."""
        get = lambda **parameters: self.daemon.get(self.stored, **parameters)
        self.assertEqual({p["unit"] for p in get(format="speedscope").json()["profiles"]}, {"nanoseconds"})
        pprof = gzip.decompress(get(format="pprof").body)
        self.assertIn(b"wall", pprof)
        self.assertIn(b"nanoseconds", pprof)
        self.assertIn(b"nanoseconds", get(format="otlp").body)
        self.assertIn(b"profiler.WallClockSample", get(format="jfr").body)
        leaves = {line.rsplit(" ", 1)[0].rsplit(";", 1)[-1] for line in get(format="collapsed", annotate=1).text.splitlines()}
        self.assertLessEqual({"[sleep]", "[network]", "[runnable]"}, leaves)
        self.assertRegex(get(format="flat").text, r"(?m)  \[sleep\] <- Wall.sleeps$")
        top = self.daemon.get("/top", pid=self.program.pid, event="wall", once=1, interval="500ms")
        self.assertEqual(top.status, 200, top)
        self.assertIn("[sleep]", top.text)
        diff = self.daemon.get("/api/v1/diff", a=self.stored.split("/")[4], b=self.stored.split("/")[4], event="wall", state="blocked", format="json")
        self.assertEqual(diff.status, 200, diff)


class IdleServices(jvm.WithClasses):
    """A service without work has its whole graph, too: all of its threads wait when the capture ends."""
    sources = ("IdleService.java",)
    # Where each of its threads waits, and why.
    WAITS = {"waits-4": ("java.lang.Object.wait", "notify"), "sleeps-4": ("java.lang.Thread.sleep", "sleep"),
             "locks": ("java.util.concurrent.locks.ReentrantLock.lock", "park"), "enters": ("IdleService.enters", "lock"),
             "accepts": ("java.net.ServerSocket.accept", "network"), "takes": ("java.util.concurrent.ArrayBlockingQueue.take", "park")}

    def check(self, daemon: Daemon, version: int) -> None:
        with jvm.Jvm(paths.jdk(version), "-XX:+UseG1GC", "-Xmx64m", "-cp", self.classes.folder, "IdleService", stdin=subprocess.PIPE) as program:
            get = lambda event, seconds: loaded(lambda: daemon.get("/profile", pid=program.pid, seconds=seconds, event=event,
                                                                   threads=1, format="json"))
            get("wall", 0.2) # loads the programs, and makes the process known
            # The compilers, which still work, may run before their stacks are read.
            whole = lambda p: {s.thread for s in p.stacks} - {s.thread for s in p.stacks if s.truncated}
            complete = lambda p: set(self.WAITS) <= whole(p) and (EARLY or p.quality["truncated"] <= 0.01 * p.samples)
            collections = lambda: [n for key, n in hsperf.read(program.pid).items() if key.endswith(".invocations")]

            def take() -> tuple[Profile, bool]:
                """Returns a profile, and whether the JVM collected garbage meanwhile."""
                before = collections()
                return Profile(get("wall", 0.5)), collections() != before

            profile, collected = proc.wait_until(lambda: complete((taken := take())[0]) and taken, 30, "whole stacks of all threads")
            print(f"{version}: {profile.quality}", end=" ")
            self.assertEqual(profile.quality["lost"], 0, profile.describe())
            for thread, (call, wait) in self.WAITS.items():
                stack = max(profile.of_thread(thread), key=lambda s: s.value)
                self.assertIn(call, stack.names, thread)
                self.assertEqual(stack.names[0], profile.of_thread("accepts")[0].names[0], "from its root")
                self.assertEqual((stack.state, stack.wait), ("blocked", wait), stack.names)
            # Workers of pools wait for work; the program's own threads wait for other things.
            without_idle = lambda p: Profile(daemon.get(f"/api/v1/captures/{p.answer.headers['X-Flamed-Capture']}/profile", format="json",
                                                        threads=1, idle=0))
            busy = without_idle(profile)
            names = {s.thread for s in busy.stacks if s.state == "blocked"}
            self.assertFalse([n for n in names if n.startswith("pool-") or n.startswith("ForkJoinPool-")], names)
            waiting = lambda p: [s for s in p.stacks if s.state == "blocked" and not s.truncated and s.thread.startswith(VM_THREADS)]
            for _ in range(3):
                if not collected or not waiting(busy):
                    break
                again, collected = take() # in a collection the VM's threads wait for each other
                busy = without_idle(again)
            self.assertFalse(waiting(busy), busy.describe(waiting(busy)))
            self.assertLessEqual({"waits-4", "sleeps-4", "locks", "enters"}, names)
            locks = Profile(get("lock", 0.5))
            for thread, held in (("locks", "java.util.concurrent.locks.ReentrantLock$NonfairSync"),
                                 ("enters", "java.util.concurrent.locks.ReentrantLock")):
                stack = max(locks.of_thread(thread), key=lambda s: s.value)
                self.assertEqual(stack.names[-1], held, stack.names)
            self.assertEqual(max(locks.of_thread("locks"), key=lambda s: s.value).owner, "main")

    def test_whole(self):
        daemon = Daemon("--recorder-hz", "0")
        self.addCleanup(daemon.stop)
        skip_without(daemon, "wall")
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                self.check(daemon, version)


if __name__ == "__main__":
    unittest.main()
