# SPDX-License-Identifier: Apache-2.0
"""Time off the processor in hard cases: many threads, many switches, waits of hours, threads that end during a wait, and frozen ones."""
import itertools
import os
import secrets
import subprocess
import time
import unittest

from harness import jvm, native, paths, proc
from harness.events import WithEvent
from harness.profile import Profile, Stack
from test_offcpu import loaded, ran, stolen

THREADS = 2000
FEW_MS = 0.03
BLOCK_SECONDS = int(os.environ.get("FLAMED_BLOCK_SECONDS", "2"))


def seconds(stacks: list[Stack]) -> float:
    return sum(s.value for s in stacks) / 1e9


class RunClock(proc.CpuClock):
    """The scheduler's counts for a thread. They add no cost to its switches, some of which are very frequent."""

    def open(self) -> None:
        self.before = 0

    def now(self) -> float:
        return int(proc.read(f"/proc/{self.pid}/task/{self.tid}/schedstat").split()[0]) / 1e9


class Cgroup:
    """A cgroup of one version, for one process, that has FILE."""

    def __init__(self, test: unittest.TestCase, pid: int, version: int, controller: str, file: str):
        roots = (f"/sys/fs/cgroup/{controller}",) if version == 1 else ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
        self.root = next((root for root in roots if os.path.exists(f"{root}/cgroup.procs")), "")
        self.folder = f"{self.root}/flamed-test-{secrets.token_hex(4)}"
        if not self.root:
            test.skipTest(f"cgroups v{version} are not mounted here")
        os.mkdir(self.folder)
        test.addCleanup(os.rmdir, self.folder)
        if not os.path.exists(f"{self.folder}/{file}"):
            test.skipTest(f"cgroups v{version} have no {file} here")
        self.enter(self.folder, pid)
        test.addCleanup(self.enter, self.root, pid)

    @staticmethod
    def enter(folder: str, pid: int) -> None:
        with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(pid))

    def write(self, file: str, text: str) -> None:
        with open(f"{self.folder}/{file}", "w", encoding="ascii") as f:
            f.write(text)

    def read(self, file: str) -> str:
        return proc.read(f"{self.folder}/{file}")


class Freezer(Cgroup):
    def __init__(self, test: unittest.TestCase, pid: int, version: int):
        self.file = "freezer.state" if version == 1 else "cgroup.freeze"
        super().__init__(test, pid, version, "freezer", self.file)
        test.addCleanup(self.thaw)

    def freeze(self) -> None:
        if self.file == "cgroup.freeze":
            self.write(self.file, "1")
            proc.wait_until(lambda: "frozen 1" in self.read("cgroup.events"), 10, "all of it is frozen")
        else:
            self.write(self.file, "FROZEN")
            proc.wait_until(lambda: self.read(self.file).strip() == "FROZEN", 10, "all of it is frozen")

    def thaw(self) -> None:
        self.write(self.file, "0" if self.file == "cgroup.freeze" else "THAWED")


class Quota(Cgroup):
    """A quota of 2 ms per 100 ms, also if other programs leave little more."""

    def __init__(self, test: unittest.TestCase, pid: int):
        version = 1 if os.path.exists("/sys/fs/cgroup/cpu/cgroup.procs") else 2
        file = "cpu.cfs_quota_us" if version == 1 else "cpu.max"
        super().__init__(test, pid, version, "cpu", file)
        self.write(file, "2000" if version == 1 else "2000 100000")

    def throttled(self) -> float:
        """Returns the throttled seconds so far."""
        words = self.read("cpu.stat").split()
        found = dict(zip(words[::2], map(int, words[1::2])))
        return found["throttled_usec"] / 1e6 if "throttled_usec" in found else found["throttled_time"] / 1e9


class HardWaits(WithEvent):
    event = "offcpu"
    sources = ("Many.java",)

    def profile(self, pid: int, length: float, event: str = "offcpu") -> Profile:
        return Profile(loaded(lambda: self.daemon.get("/profile", pid=pid, seconds=length, event=event, threads=1, format="json")))

    def prepared(self, pid: int) -> None:
        """Loads the programs, and makes the process known."""
        proc.wait_until(lambda: self.profile(pid, 0.2).samples, 30, "samples")

    def waiters(self) -> native.Obedient:
        program = native.Obedient("waiters", "-pthread")
        self.addCleanup(program.__exit__)
        return program

    def check_sums(self, profile: Profile, before: dict[int, int], after: dict[int, int], steal: float) -> int:
        """Checks that each thread that existed all the time has its whole time. Returns how many there were."""
        length = profile.end - profile.start
        off: dict[int, float] = {}
        for stack in profile.stacks:
            off[stack.tid] = off.get(stack.tid, 0) + stack.value / 1e9
        all_the_time = before.keys() & after.keys()
        truth = {tid: length - (after[tid] - before[tid]) / 1e9 for tid in all_the_time}
        wrong = {tid: off.get(tid, 0) - t for tid, t in truth.items() if abs(off.get(tid, 0) - t) > 0.01 * length + 0.01}
        print(f"{sum(off.values()):.3f} of {sum(truth.values()):.3f} s, {len(wrong)} of {len(truth)} else than 1 %", end=" ")
        self.assertAlmostEqual(sum(off[tid] for tid in all_the_time & off.keys()), sum(truth.values()), delta=0.02 * sum(truth.values()) + steal)
        self.assertLessEqual(len(wrong), 2 + 0.002 * len(truth) + steal / (0.01 * length), wrong)
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        return len(truth)

    def test_2000_threads(self):
        """Half of them wait from before the capture until after its end."""
        with jvm.Jvm(paths.jdk(17), "-Xmx128m", "-cp", self.classes.folder, "Many", str(THREADS), stdin=subprocess.PIPE) as program:
            proc.wait_until(lambda: (p := self.profile(program.pid, 0.5)).quality["truncated"] < 0.3 * p.samples, 60, "known stacks")
            before, stolen_before = ran(program.pid), stolen()
            profile = self.profile(program.pid, 2)
            self.assertGreater(self.check_sums(profile, before, ran(program.pid), stolen() - stolen_before), THREADS)
        length = profile.end - profile.start
        blocks = [s for s in profile.stacks if s.thread.startswith("blocks-")]
        self.assertEqual(len({s.tid for s in blocks}), THREADS / 2)
        self.assertAlmostEqual(seconds(blocks), length * THREADS / 2, delta=0.001 * length * THREADS)
        self.assertGreaterEqual(seconds([s for s in blocks if "Many.blocks" in s.names]), 0.999 * seconds(blocks), profile.describe(blocks))

    def test_many_switches(self):
        """Two threads switch as fast as the processor can. In each second, one of them is off the processor."""
        program = self.waiters()
        program.do("plays")
        self.prepared(program.pid)
        for event in ("offcpu", "wall"):
            with self.subTest(event=event):
                tids = [tid for tid, name in proc.threads(program.pid).items() if name.startswith("plays-")]
                turns, began, steal = int(program.ask("turns")), time.monotonic(), stolen()
                with RunClock(program.pid, tids[0]) as one, RunClock(program.pid, tids[1]) as other:
                    profile = self.profile(program.pid, 2, event)
                turns = (int(program.ask("turns")) - turns) / (time.monotonic() - began)
                steal = stolen() - steal # time taken from a running thread counts in neither
                players = [s for s in profile.stacks if s.thread.startswith("plays-")]
                off = seconds([s for s in players if s.state != "running"])
                length = profile.end - profile.start
                truth = sum(length - clock.between(profile) for clock in (one, other))
                print(f"{event}: {turns:.0f} switches a second, {off:.3f} of {truth:.3f} s", end=" ")
                self.assertEqual(profile.quality["lost"], 0, profile.describe())
                self.assertEqual({s.tid for s in players}, set(tids))
                self.assertAlmostEqual(off, truth, delta=0.03 * truth + FEW_MS + steal, msg=profile.describe())

    def test_blocked_for_hours(self):
        """With jvm_waits_hours nearly an hour, the longest capture. One wait ends during it; others began before it and go on."""
        program = self.waiters()
        program.do("blocks 1")
        with jvm.Jvm(paths.jdk(17), "-Xmx128m", "-cp", self.classes.folder, "Many", "2", stdin=subprocess.PIPE) as java:
            self.prepared(program.pid)
            self.prepared(java.pid)
            capture = self.daemon.capture(pid=f"{program.pid},{java.pid}", event="offcpu", seconds=3600)
            earliest = time.monotonic()
            program.do(f"dozes {BLOCK_SECONDS}")
            time.sleep(BLOCK_SECONDS)
            proc.wait_until(lambda: not proc.thread_of(program.pid, "dozes-1"), 20, "its thread is gone", interval=0.01)
            latest = time.monotonic()
            profile = capture.stop()
        length = profile.end - profile.start
        dozed = profile.of_thread("dozes-1")
        print(f"{seconds(dozed):.3f} s of a sleep of {BLOCK_SECONDS} s; waits of {length:.3f} s", end=" ")
        self.assertGreaterEqual(seconds(dozed), BLOCK_SECONDS, profile.describe())
        self.assertLess(seconds(dozed), latest - earliest + FEW_MS, profile.describe())
        longest = max(dozed, key=lambda s: s.value)
        self.assertEqual((longest.wait, longest.state, longest.truncated), ("sleep", "blocked", False), longest)
        for thread, method in (("blocks-0", ""), ("blocks-1", "Many.blocks")):
            stacks = profile.of_thread(thread)
            self.assertAlmostEqual(seconds(stacks), length, delta=0.001 * length, msg=profile.describe())
            self.assertTrue(all(method in s.names for s in stacks) or not method, profile.describe(stacks))
        self.assertEqual(profile.quality["lost"], 0, profile.describe())

    def ends_in_a_wait(self, ended, *how: str) -> tuple[Profile, int]:
        """ENDED(pid): whether all threads that the program started have ended."""
        program = self.waiters()
        program.do("blocks 3")
        program.do("naps 3")
        self.prepared(program.pid)
        capture = self.daemon.capture(pid=program.pid, event="offcpu", seconds=60)
        time.sleep(0.3)
        earliest = time.time() + 0.3 # the program waits that long
        for line in how:
            program.do(line)
        proc.wait_until(lambda: ended(program.pid), 20, "its threads are gone", interval=0.002)
        latest = time.time()
        time.sleep(0.3)
        profile = capture.stop()
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        for i in range(3):
            stacks = profile.of_thread(f"blocks-{i}")
            blocked = seconds([s for s in stacks if s.state == "blocked"])
            self.assertGreater(blocked, earliest - profile.start - FEW_MS, profile.describe())
            self.assertLess(seconds(stacks), latest - profile.start + FEW_MS, profile.describe())
        for i in range(3, 6): # these run hardly ever
            self.assertGreater(seconds(profile.of_thread(f"naps-{i}")), 0.8 * (earliest - profile.start), profile.describe())
            self.assertLess(seconds(profile.of_thread(f"naps-{i}")), latest - profile.start + FEW_MS, profile.describe())
        return profile, program.pid

    def check_exit(self, *how: str) -> None:
        profile, pid = self.ends_in_a_wait(lambda pid: proc.stat(pid)[0] == "Z" and len(proc.threads(pid)) == 1, *how)
        # If this kernel does not report the end of a wait, the wait has no stack at all, not even the kernel's. An ending thread may wait
        # to report it.
        waits = [s for s in profile.stacks if s.thread.startswith(("blocks-", "naps-")) and "do_exit" not in s.names]
        cut = [s for s in waits if s.truncated and s.names != ["[truncated]", "[unknown]"]]
        self.assertFalse(cut, profile.describe(cut))
        self.assertTrue([s for s in waits if "blocks" in s.names], profile.describe())
        # The process has not been reaped yet. So its first thread still exists, and waits for nothing.
        self.assertLess(seconds([s for s in profile.stacks if s.tid == pid]), profile.end - profile.start - 0.2, profile.describe())

    def test_exit_while_others_wait(self):
        self.check_exit("exits")

    def test_exit_when_the_first_thread_has_ended(self):
        """The other threads wait longer, as on a busy machine with a late scheduler."""
        self.check_exit("exits", "leaves")

    def test_exec_while_others_wait(self):
        """From then on the process runs another program."""
        steal = stolen()
        profile, pid = self.ends_in_a_wait(lambda pid: proc.read(f"/proc/{pid}/comm").strip() == "sleep", "executes")
        first = [s for s in profile.stacks if s.tid == pid]
        delta = 0.1 + stolen() - steal # it runs a little, and time taken from it then counts in no part
        self.assertAlmostEqual(seconds(first), profile.end - profile.start, delta=delta, msg=profile.describe())
        self.assertEqual({s.wait for s in profile.of_thread("sleep") if s.value > 10 ** 8 and s.state == "blocked"}, {"sleep"}, profile.describe())

    def frozen(self, version: int) -> None:
        program = self.waiters()
        freezer = Freezer(self, program.pid, version)
        program.do("sleeps 1")
        program.do("computes 1")
        tid = proc.wait_until(lambda: proc.thread_of(program.pid, "sleeps-0"), 10, "its thread")
        sleeps = lambda: "nanosleep" in proc.read(f"/proc/{program.pid}/task/{tid}/wchan")
        proc.wait_until(sleeps, 10, "it sleeps")
        self.prepared(program.pid)
        freezer.freeze()
        # The freezer of v1 keeps a sleeping thread where it is.
        self.assertEqual(sleeps(), version == 1)
        profile = self.profile(program.pid, 1)
        for thread, wait in (("sleeps-0", "sleep" if version == 1 else "stopped"), ("computes-1", "stopped")):
            stacks = profile.of_thread(thread)
            self.assertAlmostEqual(seconds(stacks), profile.end - profile.start, delta=FEW_MS, msg=profile.describe())
            self.assertEqual({s.wait for s in stacks}, {wait}, profile.describe(stacks))
        # A freezer that thaws in the middle.
        capture = self.daemon.capture(pid=program.pid, event="offcpu", seconds=60)
        began = time.time()
        time.sleep(0.5)
        thawed = time.time()
        freezer.thaw()
        proc.wait_until(lambda: proc.stat(program.pid, proc.thread_of(program.pid, "computes-1"))[0] == "R", 10, "it runs")
        time.sleep(0.2)
        profile = capture.stop()
        stacks = [s for s in profile.of_thread("computes-1") if s.wait == "stopped"]
        self.assertGreaterEqual(seconds(stacks), thawed - began - FEW_MS, profile.describe())
        self.assertTrue(any("computes" in s.names for s in stacks), profile.describe(stacks))

    def test_frozen_v1(self):
        self.frozen(1)

    def test_frozen_v2(self):
        self.frozen(2)

    def test_throttled(self):
        """A cgroup has used up its quota: its threads could run, but may not."""
        program = self.waiters()
        program.do("computes 1")
        self.prepared(program.pid)
        free = self.profile(program.pid, 0.5)
        self.assertFalse([s for s in free.stacks if "[throttled]" in s.names], free.describe())
        quota = Quota(self, program.pid)

        lengths = itertools.chain((1, 2, 4), itertools.repeat(8))

        def captured() -> Profile | None:
            self.truth, began = quota.throttled(), time.monotonic()
            profile = self.profile(program.pid, next(lengths))
            self.truth, self.around = quota.throttled() - self.truth, time.monotonic() - began - (profile.end - profile.start)
            return profile if self.truth > 0.3 + self.around else None

        profile = proc.wait_until(captured, 60, "a capture in which it was throttled")
        stacks = [s for s in profile.stacks if "[throttled]" in s.names]
        print(f"{seconds(stacks):.3f} of {self.truth - self.around:.3f} to {self.truth:.3f} s", end=" ")
        self.assertEqual({(s.state, s.names[-1]) for s in stacks}, {("runnable", "[throttled]")}, profile.describe())
        self.assertGreaterEqual(seconds(stacks), 0.9 * (self.truth - self.around) - FEW_MS, profile.describe())


if __name__ == "__main__":
    unittest.main()
