# SPDX-License-Identifier: Apache-2.0
"""In the guest: each event of flamed has the values of the program's work, by the program's or the kernel's own count. An event that an
emulated machine lacks is refused with its reason. These tests set no limit for flamed's time."""
import ctypes
import faulthandler
import json
import math
import os
import platform
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import hsperf, jvm, native, paths, probed, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import Profile, ordered # pylint: disable=wrong-import-position

SLOW = 60 # limit of a step in seconds, multiplied by the patience of the harness
TRIES = 6 # captures at most until tables, symbols and names are read
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-XX:TLABSize=256k", "-XX:-ResizeTLAB",
        "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0"] # and no safepoint by itself
# All events with a name of their own, by the test class for them. An emulated processor counts nothing.
COUNTED = {"cpu", "page-faults", "minor-faults", "major-faults", "nativemem", "context-switches", "cpu-migrations"}
WAITS = {"offcpu", "wall", "lock", "nativelock"}
PROBES = {"alloc", "live", "malloc", "nativelive", "safepoint"}
COUNTERS = {"cycles"} if platform.machine() == "aarch64" else set() # QEMU has them
HARDWARE = {"cycles", "ref-cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses"}
CACHE = re.compile(r"-(load|store|prefetche?)(s|-misses)$")
FUNCTION = "JVM_HoldsLock" # of libjvm.so; only Events.calls calls it
AGENT = "/memfd:flamed-agent"
NO_MEMORY = "gives threads no memory"
SIGMAS = 4


def value(stacks, *frames: str) -> int:
    return sum(s.value for s in stacks if ordered(s.names, *frames))


class Emulated(jvm.WithClasses):
    """One flamed and one JVM for all tests of a class."""
    sources = ("Events.java",)
    limit = 800 # seconds

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        faulthandler.dump_traceback_later(cls.limit, exit=True)
        with open("/sys/kernel/mm/transparent_hugepage/enabled", "w", encoding="ascii") as f:
            f.write("never") # so that each page has a fault
        cls.daemon = Daemon("--recorder-hz", "0", wait=False)
        cls.addClassCleanup(cls.daemon.stop)
        cls.program = jvm.Obedient(paths.jdk(17), *JAVA, "-cp", cls.classes.folder, "Events")
        cls.addClassCleanup(cls.program.stop)
        cls.main, = [tid for tid, name in proc.threads(cls.program.pid).items() if name == "java" and tid != cls.program.pid]
        cls.daemon.wait_ready(SLOW)
        cls.began = time.monotonic()

    def ask(self, line: str) -> int:
        said = self.program.ask(line)
        if not said:
            self.fail(f"the JVM ended: {self.program.process.wait()}, {self.program.process.communicate()}")
        return int(said)

    def patient(self, method: str, path: str, **arguments):
        """Returns an answer other than 503, which means that flamed was too slow, or that the kernel still checks a program. A kernel that
        refuses a program causes 500."""
        answers = []
        def in_time() -> bool:
            answers.append(self.daemon.request(method, path, timeout=SLOW, **arguments))
            text = answers[-1].text[:1000]
            return "cannot be read" not in text and (answers[-1].status != 503 or NO_MEMORY in text)
        proc.wait_until(in_time, SLOW, f"{method} {path}", interval=0.5)
        return answers[-1]

    def begin(self, event: str, pid: int = 0, **parameters):
        """The answer."""
        body = json.dumps({"pid": pid or self.program.pid, "event": event, "seconds": 600, **parameters}).encode()
        return self.patient("POST", "/api/v1/captures", body=body, headers={"Content-Type": "application/json"})

    def once(self, event: str, do, pid: int, parameters: dict) -> tuple[int, Profile]:
        answer = self.begin(event, pid, **parameters)
        self.assertEqual(answer.status, 201, (event, answer.text))
        path, begun = answer.headers["Location"], time.monotonic()
        if event == "live" or "source" in parameters:
            proc.wait_until(lambda: probed.breakpoints(pid, AGENT), SLOW, "the agent is there")
        truth = do()
        if event == "nativelive": # the last tenth is left out
            time.sleep((time.monotonic() - begun) / 8 + 0.5)
        self.patient("POST", path + "/stop")
        proc.wait_until(lambda: self.patient("GET", path).json()["state"] != "running", SLOW, "it ends")
        return truth, Profile(self.patient("GET", path + "/profile", format="json", threads=1))

    def take(self, event: str, do, pid: int = 0, tries: int = TRIES, **parameters) -> tuple[int, Profile]:
        """Returns the result of do(), and a profile of that time, once flamed has read the tables for names and whole stacks."""
        for _ in range(tries):
            truth, profile = self.once(event, do, pid or self.program.pid, parameters)
            print(f"    {profile.quality} {profile.warnings}", flush=True)
            cut = profile.quality["truncated"] + profile.quality["unknown"]
            if profile.samples and cut <= 0.02 * profile.samples and not any("being read" in w for w in profile.warnings):
                break
        if cut > 0.02 * profile.samples:
            print(profile.describe()[:2000], flush=True)
        print(f"{time.monotonic() - self.began:.0f} s", end=" ")
        return truth, profile

    def of_main(self, profile: Profile) -> list:
        return [s for s in profile.stacks if s.tid == self.main]

    def named(self, profile: Profile, *frames: str) -> None:
        """Checks that most stacks of the thread that are whole and named are below FRAMES, and that there are some."""
        whole = [s for s in self.of_main(profile) if not s.truncated and "[unknown]" not in s.names]
        self.assertGreater(value(whole, *frames), 0.9 * sum(s.value for s in whole), profile.describe())

    def compare(self, event: str, found: int, truth: int, delta: float, profile: Profile) -> None:
        print(f"    {event}: {found} of {truth}", flush=True)
        self.assertAlmostEqual(found, truth, delta=delta, msg=profile.describe())


class Counted(Emulated):
    """Events that the kernel counts for the program's first thread."""

    def counts(self, line: str, count) -> int:
        before = count()
        self.ask(line)
        return count() - before

    def stat(self, field: int) -> int:
        return int(proc.stat(self.program.pid, self.main)[field])

    def switches(self, *kinds: str) -> int:
        lines = (line.split() for line in proc.read(f"/proc/{self.program.pid}/task/{self.main}/status").splitlines())
        return sum(int(words[1]) for words in lines if words[0].removesuffix("_ctxt_switches:") in kinds)

    def test_all_events(self):
        """No event is left out here. Events that an emulated processor lacks are refused."""
        events = {e["name"]: e for e in self.daemon.get("/api/v1/events").json()["events"] if not CACHE.search(e["name"])}
        self.assertEqual(set(events), COUNTED | WAITS | PROBES | HARDWARE)
        self.assertEqual({name for name, e in events.items() if not e["available"]}, HARDWARE - COUNTERS)
        for name in (HARDWARE - COUNTERS) | {"LLC-loads"} | (set() if COUNTERS else {"r01c2", "cpu/event=0x3c/"}):
            answer = self.daemon.get("/profile", pid=self.program.pid, event=name, seconds=0.1)
            self.assertEqual(answer.status, 503, (name, answer.text))
            self.assertIn("many virtual machines have no hardware counters", answer.json()["detail"], (name, answer.text))
        for name in ("task-clock", "sched:sched_swatch", "mem:0"):
            answer = self.daemon.get("/profile", pid=self.program.pid, event=name, seconds=0.1)
            print(name, answer.status, answer.json()["detail"])
            self.assertIn(answer.status, (400, 503), (name, answer.text))
            self.assertEqual(answer.json()["parameter"], "event", (name, answer.text))

    def test_cpu(self):
        """An emulated machine loses ticks, a busy one most of them."""
        truth, profile = self.take("cpu", lambda: self.ask("computes 3000"))
        found = value(self.of_main(profile), "Events.main", "Events.computes")
        print(f"    cpu: {found} of {truth}", flush=True)
        self.assertGreater(found, 0.1 * truth, profile.describe())
        self.assertLess(found, 1.05 * truth, profile.describe())
        self.assertGreater(found, 0.9 * sum(s.value for s in self.of_main(profile)), profile.describe())

    def test_faults(self):
        for event, field, size in (("page-faults", 7, 1), ("minor-faults", 7, 1), ("nativemem", 7, os.sysconf("SC_PAGESIZE"))):
            with self.subTest(event=event):
                truth, profile = self.take(event, lambda f=field: self.counts("touches 20000", lambda: self.stat(f)), interval=64 * size)
                found = sum(s.value for s in self.of_main(profile)) + profile.quality["lost"] * 64 * size
                self.assertGreaterEqual(truth, 20000)
                self.compare(event, found, truth * size, 64 * size * (os.cpu_count() + 1), profile)
                self.named(profile, "Events.main", "Events.touches")

    def test_major_faults(self):
        def faults() -> int:
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("1")
            return self.counts("maps 60", lambda: self.stat(9))

        truth, profile = self.take("major-faults", faults, tries=1) # mapped pages are not dropped
        self.assertGreater(truth, 20)
        self.compare("major-faults", sum(s.value for s in self.of_main(profile)) + profile.quality["lost"], truth, 1, profile)
        self.named(profile, "Events.main", "Events.maps")

    def test_switches(self):
        """One more or less: the last one comes after the answer."""
        both = ("voluntary", "nonvoluntary")
        for event, kinds, parameters in (("context-switches", both, {}), ("sched:sched_switch", both, {}),
                                         ("sched:sched_switch", both[:1], {"filter": "prev_state & 255"})): # it waits, and is not preempted
            with self.subTest(event=event, **parameters):
                truth, profile = self.take(event, lambda k=kinds: self.counts("switches 300", lambda: self.switches(*k)), interval=1, **parameters)
                self.assertGreater(truth, 250) # a short wait may be over before it begins
                self.compare(event, sum(s.value for s in self.of_main(profile)) + profile.quality["lost"], truth, 3, profile)
                self.named(profile, "Events.main", "Events.switches")

    def test_migrations(self):
        def moved() -> int:
            text = proc.read(f"/proc/{self.program.pid}/task/{self.main}/sched")
            return int(re.search(r"^se\.nr_migrations\s*:\s*(\d+)$", text, re.M)[1])

        def moves() -> int:
            before = moved()
            self.program.tell("computes 4000")
            for n in range(20):
                time.sleep(0.1)
                os.sched_setaffinity(self.main, {n % 2})
            self.program.process.stdout.readline()
            return moved() - before

        try:
            truth, profile = self.take("cpu-migrations", moves)
        finally:
            os.sched_setaffinity(self.main, os.sched_getaffinity(0))
        self.assertGreater(truth, 2)
        self.compare("cpu-migrations", sum(s.value for s in self.of_main(profile)), truth, 1, profile)

    def test_addresses(self):
        """Each call of a function, and each write to a variable of another program."""
        library, = {path for _, _, _, path in probed.code_mappings(self.program.pid, "/libjvm.so")}
        own = ctypes.cast(getattr(ctypes.CDLL(library), FUNCTION), ctypes.c_void_p).value
        start, own_start = (probed.code_mappings(pid, "/libjvm.so")[0][0] for pid in (self.program.pid, os.getpid()))
        event = f"mem:{start + own - own_start:#x}:x"
        truth, profile = self.take(event, lambda: self.ask("calls 200"))
        self.compare(event, sum(s.value for s in self.of_main(profile)) + profile.quality["lost"], truth, 0, profile)
        self.named(profile, FUNCTION)
        with native.Obedient("watched") as watched:
            event = f"mem:{watched.process.stdout.readline().split()[0]}/8:w"
            _, profile = self.take(event, lambda: watched.do("write 50"), watched.pid, tries=1)
            self.compare(event, sum(s.value for s in profile.stacks) + profile.quality["lost"], 50, 0, profile)


class Waits(Emulated):
    """As long as the program's own measurement."""

    def test_offcpu(self):
        def ran() -> int:
            return int(proc.read(f"/proc/{self.program.pid}/task/{self.main}/schedstat").split()[0])

        def sleeps() -> int:
            before = ran()
            return self.ask("sleeps 20") - (ran() - before)

        truth, profile = self.take("offcpu", sleeps)
        self.compare("offcpu", value(self.of_main(profile), "Events.main", "Events.sleeps"), truth, 0.05 * truth, profile)

    def test_wall(self):
        """All of the thread's time, and the part that it ran."""
        truth, profile = self.take("wall", lambda: self.ask("sleeps 5") * 0 + self.ask("computes 2000"))
        mine = self.of_main(profile)
        seconds = profile.document["meta"]["seconds"]
        self.compare("wall", sum(s.value for s in mine), seconds * 1e9, 0.03 * seconds * 1e9, profile)
        self.compare("wall, running", value([s for s in mine if s.state != "blocked"], "Events.computes"), truth, 0.1 * truth, profile)

    def test_lock(self):
        """For a thread that has existed for long, and for threads that wait once."""
        for line, thread in (("contends 10", "waiter"), ("meets 10", "brief")):
            with self.subTest(thread):
                truth, profile = self.take("lock", lambda l=line: self.ask(l))
                mine = [s for s in profile.stacks if s.thread == thread and s.names[-2:] == ["[monitor]", "Events$Key"]]
                self.compare(f"lock, {thread}", value(mine, "Events.enters"), truth, 0.1 * truth, profile)
                owners = {s.owner for s in mine}
                if thread == "brief": # each has only one wait: without a sign that it would be long, its owner was not read
                    owners -= {""}
                self.assertEqual(owners, {"main"}, profile.describe())

    def test_nativelock(self):
        """The JVM's own thread for periodic tasks waits all the time."""
        _, profile = self.take("nativelock", lambda: self.ask("sleeps 30"))
        seconds = profile.document["meta"]["seconds"]
        mine = [s for s in profile.stacks if s.thread == "VM Periodic Tas"]
        self.compare("nativelock", sum(s.value for s in mine), seconds * 1e9, 0.2 * seconds * 1e9, profile) # except for the time that it runs
        self.assertEqual({s.names[-2] for s in mine if not s.truncated}, {"[condition]"}, profile.describe())


class Probes(Emulated):
    """As many calls, bytes and safepoints as by the program's own count."""

    def test_calls(self):
        event = f"libjvm.so:{FUNCTION}"
        truth, profile = self.take(event, lambda: self.ask("calls 200"))
        self.compare(event, value(profile.stacks, "Events.calls", FUNCTION) + profile.quality["lost"], truth, 0, profile)
        probed.await_none(self.program.pid, seconds=SLOW)

    def test_malloc(self):
        self.ask("buffers 50") # the VM itself calls malloc for code that runs for the first time
        truth, profile = self.take("malloc", lambda: self.ask("buffers 200") * 10, interval=1)
        self.assertEqual(profile.quality["lost"], 0)
        self.compare("malloc", value(profile.stacks, "Events.buffers", "Unsafe_AllocateMemory0"), truth, 0, profile)

    def test_nativelive(self):
        truth, profile = self.take("nativelive", lambda: self.ask("buffers 200"), interval=1)
        self.compare("nativelive", value(profile.stacks, "Events.buffers", "Unsafe_AllocateMemory0"), truth, 0, profile)

    def allocated(self, event: str, **parameters) -> tuple[int, Profile, float]:
        truth, profile = self.take(event, lambda: self.ask("keeps 100000"), **parameters)
        leaves = {s.names[-1] for s in profile.stacks if "Events.keeps" in s.names}
        self.assertEqual(leaves, {"byte[]"}, profile.describe())
        samples = sum(s.samples for s in profile.stacks if "Events.keeps" in s.names)
        return truth, profile, SIGMAS / math.sqrt(samples)

    def test_alloc(self):
        """By probes each full buffer is seen; by the agent it is chance."""
        truth, profile, _ = self.allocated("alloc", interval="256k")
        self.compare("alloc", value(profile.stacks, "Events.keeps"), 4 * truth, 0.05 * 4 * truth, profile)
        truth, profile, off = self.allocated("alloc", interval="256k", source="agent")
        self.compare("alloc by agent", value(profile.stacks, "Events.keeps"), 4 * truth, off * 4 * truth, profile)

    def test_live(self):
        truth, profile, off = self.allocated("live", interval="128k")
        self.compare("live", value(profile.stacks, "Events.keeps"), truth, off * truth, profile)

    def test_safepoint(self):
        def collects() -> int:
            before = hsperf.paused(hsperf.read(self.program.pid), 17)[0]
            self.ask("collects 10")
            return hsperf.paused(hsperf.read(self.program.pid), 17)[0] - before

        truth, profile = self.take("safepoint", collects)
        moments = [m for m in profile.document["moments"] if m["kind"] == "safepoint"]
        self.assertGreaterEqual(truth, 10)
        self.compare("safepoint", len(moments), truth, 1, profile)
        total = sum(s.value for s in profile.stacks)
        self.assertEqual(total, sum(m["reach_ns"] for m in moments), profile.describe())
        late = sum(s.value for s in profile.stacks if s.thread == "late" and "Events.copies" in s.names)
        nobody = sum(s.value for s in profile.stacks if s.names[-1].startswith("[")) # an emulated processor runs no thread now and then
        print(f"    late {late}, nobody {nobody}, of {total}", flush=True)
        self.assertGreater(late + nobody, 0.8 * total, profile.describe())


class Refused(Emulated):
    """On a processor without cmpxchg16b, and a kernel that needs it to store memory beside a thread. Features that do not need it work as
    usual."""

    def test_without_task_memory(self):
        self.assertNotIn(" cx16", proc.read("/proc/cpuinfo"))
        for event, parameters in (("alloc", {}), ("nativelive", {}), ("live", {}), ("alloc", {"source": "agent"})):
            with self.subTest(event=event, **parameters):
                answer = self.begin(event, **parameters)
                print(answer.status, answer.text)
                self.assertEqual(answer.status, 503, (event, answer.text))
                self.assertIn(NO_MEMORY, answer.json()["detail"])
        _, profile = self.take("malloc", lambda: self.ask("buffers 20"), interval=1)
        self.assertEqual(value(profile.stacks, "Events.buffers", "Unsafe_AllocateMemory0"), 20 * 1200, profile.describe())


if __name__ == "__main__":
    unittest.main(verbosity=2)
