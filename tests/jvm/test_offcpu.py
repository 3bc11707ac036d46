# SPDX-License-Identifier: Apache-2.0
"""Time off the processor: as long as threads waited by the kernel's own count, with the stacks that they waited with."""
import collections
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.events import WithEvent, skip_without
from harness.profile import Profile

# Where each kind of thread of Off.java waits.
CALLS = {"sleeps": "java.lang.Thread.sleep", "parks": "jdk.internal.misc.Unsafe.park", "waits": "java.lang.Object.wait",
         "locks": "Off.locks", "computes": "Off.computes", "pings": "Off.pings"}
# And the reason, if there is one.
WAITS = {"sleeps": "sleep", "parks": "park", "waits": "notify", "computes": "sleep"}
WORDS = os.environ.get("FLAMED_OLD_KERNEL", "").split(",")
EARLY = bool({"task_work", "all"} & set(WORDS)) # then the stacks of waits that began before are unknown


def schedstat_of(pid: int, tid: int) -> list[int]:
    """Returns how long a thread has run, without the hypervisor's time, and has waited for a processor, in ns, and how often it was given
    one."""
    return list(map(int, proc.read(f"/proc/{pid}/task/{tid}/schedstat").split()))


def schedstat(pid: int) -> dict[int, list[int]]:
    """Returns that of each thread."""
    found = {}
    for tid in proc.threads(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError): # it has ended
            if of := schedstat_of(pid, tid):
                found[tid] = of
    return found


def ran(pid: int) -> dict[int, int]:
    """Returns how long each thread has run, in ns, without the hypervisor's time."""
    return {tid: of[0] for tid, of in schedstat(pid).items()}


def stolen() -> float:
    """Returns the time that the hypervisor took from all processors, in seconds."""
    return int(proc.read("/proc/stat").split()[8]) / os.sysconf("SC_CLK_TCK")


def queued(pid: int) -> dict[int, int]:
    """Returns how long each thread has waited for a processor, in ns, once each that waits now has been given one: only then the kernel
    counts the wait."""
    now = schedstat(pid)

    def counted(tid: int) -> bool:
        try:
            return proc.stat(pid, tid)[0] != "R" or schedstat_of(pid, tid)[2] > now[tid][2]
        except (FileNotFoundError, ProcessLookupError, IndexError):
            return True # it has ended

    proc.wait_until(lambda: all(map(counted, now)), 10, "each thread that was woken has run")
    return {tid: of[1] for tid, of in schedstat(pid).items()}


def loaded(ask):
    """Returns the result of ask() once the kernel has checked the programs of its event. That takes long on a busy machine."""
    answers = []

    def answered() -> bool:
        answers[:] = [ask()]
        return answers[0].status != 503

    try:
        proc.wait_until(answered, 60, "the programs are loaded", interval=0.5)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; the last answer: {answers[0].text}") from None
    return answers[0]


class Program(jvm.Jvm):
    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-cp", folder, "Off", stdin=subprocess.PIPE)


class OffCpu(WithEvent):
    event = "offcpu"
    sources = ("Off.java", "Naps.java", "Ways.java")
    early = EARLY

    def profile(self, program: Program, seconds: float, **parameters) -> Profile:
        return Profile(loaded(lambda: self.daemon.get("/profile", pid=program.pid, seconds=seconds, event="offcpu", threads=1,
                                                      format="json", **parameters)))

    def check(self, version: int, program: Program, seconds: float) -> None:
        time.sleep(0.5) # the threads have begun
        # Loads the programs, and makes the process known.
        proc.wait_until(lambda: (p := self.profile(program, 0.2)).samples and p.quality["truncated"] <= 0.1 * p.samples, 30, "whole stacks")
        before, stolen_before = ran(program.pid), stolen()
        profile = self.profile(program, seconds)
        after, steal = ran(program.pid), stolen() - stolen_before
        length = profile.end - profile.start
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        off: dict[int, float] = {}
        for stack in profile.stacks:
            off[stack.tid] = off.get(stack.tid, 0) + stack.value / 1e9
        wall = truth = 0.0
        short = {}
        for tid in before.keys() & after.keys():
            on = (after[tid] - before[tid]) / 1e9
            wall += length
            truth += length - on
            if abs(off.get(tid, 0) + on - length) > 0.01 * length + 0.01:
                short[tid] = off.get(tid, 0) + on - length
        whole = sum(off.values())
        print(f"{version}: {whole:.3f} s of {truth:.3f} s, {len(short)} threads of {len(off)} else than 1 %, stolen {steal:.2f} s", end=" ")
        self.assertAlmostEqual(whole, truth, delta=0.02 * truth + steal, msg=profile.describe())
        # Time that the hypervisor takes from a running thread counts in neither.
        self.assertLessEqual(len(short), 0.05 * len(off) + steal / (0.01 * length), (short, profile.describe()))
        returned = [s for s in profile.stacks if s.thread.split("-")[0] in CALLS and s.samples and not s.truncated]
        for kind, call in CALLS.items():
            mine = [s for s in returned if s.thread.startswith(kind + "-") and s.frames]
            there = sum(s.samples for s in mine if any(name.startswith(call) for name in s.names) and "Off.main" not in s.names)
            self.assertGreaterEqual(there, 0.98 * sum(s.samples for s in mine), (kind, [s.names for s in mine][:5]))
        for kind, wait in WAITS.items():
            mine = [s for s in returned if s.thread.startswith(kind + "-") and s.frames and s.state == "blocked"]
            there = sum(s.samples for s in mine if s.wait == wait)
            self.assertGreaterEqual(there, 0.9 * sum(s.samples for s in mine), (kind, [(s.wait, s.names) for s in mine][:5]))
        for thread in ("blocks-0", "blocks-1", "blocks-2"): # it waits all the time, so one sample has all of it
            self.assertAlmostEqual(sum(s.value for s in profile.of_thread(thread)) / 1e9, length, delta=0.001)
            stack, = profile.of_thread(thread)
            self.assertIn("Off.blocks", stack.names, "what still waits has its stack")
            self.assertFalse(stack.truncated, stack.names)
        # A wait that lasted to the end, of a thread that ran before its stack was read, only has the kernel's stack.
        cut = sum(s.samples for s in profile.stacks if s.truncated)
        self.assertLessEqual(cut, (2 if self.early else 1) * len(off) + 0.001 * profile.samples, profile.describe())

    def test_as_the_threads_waited(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), Program(version, self.classes.folder) as program:
                self.check(version, program, float(os.environ.get("FLAMED_OFFCPU_SECONDS", 3)))

    def test_stopped_and_killed(self):
        """A process that is stopped, and one that is killed while it waits."""
        with Program(17, self.classes.folder) as program:
            self.profile(program, 0.2)
            stops: list[float] = []

            def stop() -> None:
                os.kill(program.pid, signal.SIGSTOP)
                states = lambda: [proc.read(f"/proc/{program.pid}/task/{tid}/stat").rpartition(")")[2].split()[0] for tid in proc.threads(program.pid)]
                proc.wait_until(lambda: set(states()) == {"T"}, 10, "all threads have stopped")
                stops.append(time.time())
                time.sleep(0.7)
                stops.append(time.time())
                os.kill(program.pid, signal.SIGCONT)

            timer = threading.Timer(0.3, stop)
            timer.start()
            profile = self.profile(program, 1.5)
            timer.join()
            self.assertAlmostEqual(sum(s.value for s in profile.of_thread("sleeps-0")) / 1e9, 1.5, delta=0.05)
            stopped = sum(s.value for s in profile.of_thread("sleeps-0") if any("do_signal_stop" in n for n in s.names)) / 1e9
            truth = min(stops[1], profile.end) - max(stops[0], profile.start)
            self.assertGreaterEqual(stopped, truth - 0.02, profile.describe())
            ended = []
            threading.Timer(0.5, lambda: (os.kill(program.pid, signal.SIGKILL), ended.append(time.time()))).start()
            profile = self.profile(program, 1)
            self.assertAlmostEqual(sum(s.value for s in profile.of_thread("blocks-0")) / 1e9, ended[0] - profile.start, delta=0.1,
                                   msg=profile.describe())
            self.assertEqual(profile.quality["lost"], 0)

    def test_weight(self):
        """Formats weigh waits by their time, unless the request says otherwise."""
        with Program(17, self.classes.folder) as program:
            self.profile(program, 0.2)
            answer = self.daemon.get("/profile", pid=program.pid, seconds=0.5, event="offcpu", format="collapsed")
            self.assertGreater(sum(int(line.rsplit(" ", 1)[1]) for line in answer.text.splitlines()), 10 ** 9)
            answer = self.daemon.get("/profile", pid=program.pid, seconds=0.5, event="offcpu", format="collapsed", total=0)
            self.assertLess(sum(int(line.rsplit(" ", 1)[1]) for line in answer.text.splitlines()), 10 ** 6)

    def test_runnable_at_the_end(self):
        """Of a wait that a capture's end finds, only the time since the thread was woken is a wait for a processor."""
        one = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
        others = [subprocess.Popen([*proc.ENDS_WITH_US, *one, "sh", "-c", "while :; do :; done"]) for _ in range(2)]
        self.addCleanup(lambda: [other.kill() or other.wait() for other in others])
        command = [*one, "nice", "-n", "10"] # each thread that wakes waits for the two
        with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "Naps", "30", "400", wrap=command,
                     stdin=subprocess.PIPE) as program:
            self.profile(program, 0.2)
            for _ in range(8):
                before = {tid: of[1] for tid, of in schedstat(program.pid).items()}
                profile = self.profile(program, 0.5, hz=1000)
                after, said = queued(program.pid), collections.Counter()
                for stack in profile.stacks:
                    said[stack.tid] += stack.value if stack.state == "runnable" else 0
                lived = said.keys() & after.keys() # of a thread that has ended the kernel says nothing; one that began meanwhile began at 0
                self.assertGreater(sum(said[tid] for tid in lived), 0)
                for tid in lived:
                    self.assertLessEqual(said[tid], after[tid] - before.get(tid, 0) + 20_000_000, (tid, profile.describe()))

    def test_beside_a_tracepoint(self):
        """Another event's program is loaded later, and does not affect this one."""
        with Program(17, self.classes.folder) as program:
            self.profile(program, 0.2)
            answer = self.daemon.get("/profile", pid=program.pid, seconds=0.2, event="sched:sched_switch", format="json")
            self.assertEqual(answer.status, 200, str(answer)) # with tracefs mounted and without
            self.assertGreater(sum(s.value for s in self.profile(program, 0.3).of_thread("sleeps-0")), 0.2 * 10 ** 9)

    def budgets_of_programs(self) -> dict[str, set[int]]:
        """Returns the maps `budgets` of each program of this flamed: another flamed may run here."""
        maps = json.loads(subprocess.run(["bpftool", "--json", "map", "show"], capture_output=True, check=True).stdout)
        programs = json.loads(subprocess.run(["bpftool", "--json", "prog", "show"], capture_output=True, check=True).stdout)
        mine = set()
        for fd in (f"/proc/{pid}/fdinfo/{fd}" for pid in self.daemon.pids() for fd in os.listdir(f"/proc/{pid}/fdinfo")):
            with contextlib.suppress(FileNotFoundError): # it was closed since
                mine |= {int(line.split()[1]) for line in proc.read(fd).splitlines() if line.startswith("prog_id:")}
        budgets = {m["id"] for m in maps if m.get("name") == "budgets"}
        return {p["name"]: budgets & set(p.get("map_ids", [])) for p in programs if p["id"] in mine and budgets & set(p.get("map_ids", []))}

    def test_one_budget(self):
        """The programs of all events count the costs of their samples in one map."""
        paths.need("bpftool")
        wanted = {"cpu_tick", "off_switch_early" if self.early else "off_switch", "alloc_probe", "point_tick"}
        with Program(17, self.classes.folder) as program:
            capture = self.daemon.capture(pid=program.pid, event="cpu,offcpu,alloc,sched:sched_switch")
            proc.wait_until(lambda: wanted <= set(self.budgets_of_programs()), 30, "all programs are loaded")
            of = self.budgets_of_programs()
            capture.stop()
        self.assertEqual(len(set.union(*of.values())), 1, of)

    def test_quick_to_verify(self):
        """The kernel checks each path through a program that it loads: 102,477 instructions for the one of the start, 186,189 for the
        largest, that of waits (446,206 while loops were long and tracked too much)."""
        verified: list[int] = []
        for path in (f"/proc/{pid}/fdinfo/{fd}" for pid in self.daemon.pids() for fd in os.listdir(f"/proc/{pid}/fdinfo")):
            with contextlib.suppress(FileNotFoundError): # closed since the listing
                verified += [int(line.split()[1]) for line in proc.read(path).splitlines() if line.startswith("verified_insns:")]
        if not verified:
            self.skipTest("this kernel does not say")
        self.assertLess(max(verified), 200000)


class WithoutTaskWork(jvm.WithClasses):
    """Like kernels that take stacks when a wait begins."""
    sources = ("Off.java",)
    early = True
    profile, check = OffCpu.profile, OffCpu.check

    def test_as_the_threads_waited(self):
        os.environ["FLAMED_OLD_KERNEL"] = ",".join([*filter(None, WORDS), "task_work"])
        try:
            self.daemon = Daemon("--recorder-hz", "0")
        finally:
            os.environ["FLAMED_OLD_KERNEL"] = ",".join(WORDS)
        self.addCleanup(self.daemon.stop)
        skip_without(self.daemon, "offcpu")
        with Program(17, self.classes.folder) as program:
            self.check(17, program, 3)


if __name__ == "__main__":
    unittest.main()
