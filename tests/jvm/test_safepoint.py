# SPDX-License-Identifier: Apache-2.0
"""Safepoints: as many and as long as in the JVM's own log, and the threads that they waited for."""
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time
import unittest

from harness import fuse, jvm, paths, proc
from harness.daemon import Daemon
from harness.events import WithEvent
from harness.profile import Profile

LINE = re.compile(r'Safepoint "(\w+)", .*?Reaching safepoint: +(\d+) ns,(?: Cleanup: +(\d+) ns,)? At safepoint: +(\d+) ns,.* Total: +(\d+) ns')
LATE = (("loop", "Safepoint.spin"), ("copy", "Safepoint.copy"), ("new", "Safepoint.spin"))
UNSEEN = ("[too short to see]", "[late thread not running]")
# Parallel GC keeps no check for safepoints in a loop that counts in ints. The VM begins no safepoint by itself.
OPTIONS = ("-XX:+UseParallelGC", "-Xmx256m", "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0")


class Program(jvm.Obedient):
    def __init__(self, home: str, folder: str, *options: str):
        super().__init__(home, *options, "-cp", folder, "Safepoint")
        self.vm_thread, = [task for task in os.listdir(f"/proc/{self.pid}/task")
                           if proc.read(f"/proc/{self.pid}/task/{task}/comm") == "VM Thread\n"]

    def have(self, kind: str, count: int) -> None:
        """Causes COUNT safepoints or more, with a thread of that kind running."""
        self.do(f"{kind} {count}")
        proc.wait_until(self.is_over, 20, "the VM's thread waits for its next operation")

    def is_over(self) -> bool:
        """Returns true if the VM's thread sleeps, at two checks. The last safepoint ends in its log some time after the threads went on."""
        for _ in range(2):
            time.sleep(0.01)
            if proc.read(f"/proc/{self.pid}/task/{self.vm_thread}/stat").rsplit(") ", 1)[1][0] != "S":
                return False
        return True


class Logged(Program):
    """With a log of its safepoints."""

    def __init__(self, version: int, folder: str, *options: str):
        handle, self.log = tempfile.mkstemp(suffix=".safepoints")
        os.close(handle)
        super().__init__(paths.jdk(version), folder, *OPTIONS, *options, f"-Xlog:safepoint=info:file={self.log}:uptime:filecount=0")

    def __exit__(self, *what) -> None:
        super().__exit__(*what)
        os.unlink(self.log)

    def logged(self) -> list[dict]:
        """Returns each safepoint so far: name, the time to reach it with the cleanup before its operation, and its whole time."""
        with open(self.log, encoding="utf-8") as f:
            found = (LINE.search(line) for line in f)
            return [{"name": m[1], "reach_ns": int(m[2]) + int(m[3] or 0), "ns": int(m[5])} for m in found if m]


def probes(pid: int) -> int:
    """Returns in how many bytes the code of libjvm.so in a process differs from the file."""
    count = 0
    for line in proc.read(f"/proc/{pid}/maps").splitlines():
        if not line.endswith("/libjvm.so") or line.split()[1] != "r-xp":
            continue
        place, _, offset, _, _, path = line.split()
        start, end = (int(x, 16) for x in place.split("-"))
        with open(path, "rb") as file, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            file.seek(int(offset, 16))
            memory.seek(start)
            for _ in range(start, end, 1 << 16):
                code, ours = file.read(1 << 16), memory.read(1 << 16)
                if code != ours[:len(code)]:
                    count += sum(x != y for x, y in zip(code, ours))
    return count


def of_kind(profile: Profile, kind: str) -> list[dict]:
    return [m for m in profile.document.get("moments", []) if m["kind"] == kind]


def seen(profile: Profile) -> list:
    """Returns the stacks of late threads."""
    return [s for s in profile.stacks if s.names[-1] not in UNSEEN]


def capture(daemon: Daemon, program: Program, kind: str, count: int, **parameters) -> Profile:
    running = daemon.capture(pid=program.pid, **{"event": "safepoint", **parameters})
    program.have(kind, count)
    return running.stop()


class Safepoint(WithEvent):
    event = "safepoint"
    sources = ("Safepoint.java",)

    def prepare(self, daemon: Daemon, program: Program) -> None:
        """Loads the BPF programs."""
        proc.wait_until(lambda: daemon.get("/profile", pid=program.pid, event="safepoint", seconds=0.1, format="json").status == 200, 30,
                        "the BPF programs are loaded")

    def check_sum(self, profile: Profile) -> None:
        """The graph equals the time to safepoint, to the nanosecond."""
        self.assertEqual(sum(s.value for s in profile.stacks), sum(m["reach_ns"] for m in of_kind(profile, "safepoint")), profile.describe())
        self.assertEqual(profile.quality["lost"], 0, profile.warnings)

    def check_log(self, version: int, program: Logged, profile: Profile, before: int) -> None:
        """The moments equal the log's lines, in order. At either end the log may have one more, which lies outside of the capture."""
        moments, log = of_kind(profile, "safepoint"), program.logged()[before:]
        names = [m["name"] for m in moments]
        at = next((i for i in range(3) if [line["name"] for line in log[i:i + len(names)]] == names), None)
        self.assertIsNotNone(at, (names, log))
        self.assertLessEqual(len(log) - len(names), 2, (names, log))
        pairs = list(zip(moments, log[at:]))
        apart = {key: statistics.median(abs(m[key] - line[key]) for m, line in pairs) for key in ("ns", "reach_ns")}
        print(f"{version}: {len(moments)} safepoints, {len(log)} in the log; median apart: "
              f"pause {apart['ns'] / 1e3:.1f} us, time to safepoint {apart['reach_ns'] / 1e3:.1f} us")
        for key, value in apart.items(): # single ones differ by the machine's work between two readings of its clock
            self.assertLess(value, 1e6, (key, pairs))

    def check_late(self, version: int, program: Logged, kind: str, method: str) -> None:
        """Safepoints waited for the busy thread."""
        before = len(program.logged())
        profile = capture(self.daemon, program, kind, 20)
        self.check_log(version, program, profile, before)
        self.check_sum(profile)
        self.assertEqual(len([m for m in of_kind(profile, "safepoint") if m["name"] == "ThreadDump"]), 20, profile.document["moments"])
        total, stacks = sum(s.value for s in profile.stacks), seen(profile)
        late = sum(s.value for s in stacks if s.thread == f"late-{kind}" and method in s.names)
        print(f"{version} {kind}: of {total / 1e6:.1f} ms in {late / total:.1%} late-{kind} was seen")
        self.assertGreaterEqual(late, 0.8 * sum(s.value for s in stacks), profile.describe())
        self.assertGreaterEqual(late, 0.8 * total, profile.describe())

    def test_late_threads(self):
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version), Logged(version, self.classes.folder) as program:
                self.prepare(self.daemon, program)
                for kind, method in LATE:
                    self.check_late(version, program, kind, method)
                profile = capture(self.daemon, program, "gc", 5)
                collections = [m for m in of_kind(profile, "gc") if m["name"] == "PS MarkSweep"]
                self.assertEqual(len(collections), 5, profile.document["moments"])
                operations = of_kind(profile, "operation")
                self.assertGreaterEqual(len([m for m in operations if "GC" in m["name"]]), 5, operations)
                self.check_sum(profile)
                proc.wait_until(lambda: probes(program.pid) == 0, 20, "no probe is left") # flamed does not wait for that

    def captured_off(self, version: int, program: Logged, kind: str) -> tuple[Profile, list[dict], int, int]:
        """Returns a profile, its 20 safepoints, the time to reach all, and for how much of it the VM's thread may have waited for a
        processor itself."""
        before = len(program.logged())
        waits = f"/proc/{program.pid}/task/{program.vm_thread}/schedstat"
        waited = -int(proc.read(waits).split()[1])
        profile = capture(self.daemon, program, kind, 20)
        waited += int(proc.read(waits).split()[1])
        self.check_log(version, program, profile, before)
        self.check_sum(profile)
        dumps = [m for m in of_kind(profile, "safepoint") if m["name"] == "ThreadDump"]
        self.assertEqual(len(dumps), 20, profile.document["moments"])
        return profile, dumps, sum(s.value for s in profile.stacks), waited

    def check_off(self, version: int, program: Logged, kind: str, method: str) -> None:
        """Each safepoint waited for the thread that did not run."""
        for _ in range(8):
            profile, dumps, total, waited = self.captured_off(version, program, kind)
            print(f"{version} {kind}: the VM's thread waited for {waited / total:.1%} itself")
            if waited < 0.3 * total:
                break
        self.assertLess(waited, 0.3 * total, "the machine is too busy, so this proves nothing")
        stacks = seen(profile)
        late = sum(s.value for s in stacks if s.thread == f"late-{kind}" and method in s.names)
        nobody = sum(s.value for s in profile.stacks if s.names[-1] == UNSEEN[1])
        print(f"{version} {kind}: {sum(m['reach_ns'] >= 2e6 for m in dumps)} of 20 took 2 ms or more; "
              f"of {total / 1e6:.1f} ms in {late / total:.1%} late-{kind} was seen, in {nobody / total:.1%} nobody")
        self.assertGreaterEqual(sum(m["reach_ns"] >= 2e6 for m in dumps), 5, dumps) # otherwise this proves nothing
        self.assertLessEqual(nobody, 0.02 * total + waited, profile.describe())
        self.assertGreaterEqual(late, 0.9 * total - waited, profile.describe())

    def test_preempted(self):
        """The thread checks for safepoints all the time, but hardly gets a processor."""
        cpu = max(os.sched_getaffinity(0))
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), Logged(version, self.classes.folder) as program, \
                    subprocess.Popen([*proc.ENDS_WITH_US, "taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) as busy:
                task = proc.thread_of(program.pid, "late-nice")
                os.sched_setaffinity(task, {cpu})
                os.setpriority(os.PRIO_PROCESS, task, 19)
                try:
                    self.prepare(self.daemon, program)
                    self.check_off(version, program, "nice", "Safepoint$Late.run")
                finally:
                    busy.kill()

    def test_fault(self):
        """The thread touches a mapped file on a slow file system."""
        with tempfile.NamedTemporaryFile() as source:
            source.truncate(1 << 30)
            for version in jvm.some(17, 25):
                with self.subTest(jdk=version), fuse.File(source.name) as file, \
                        Logged(version, self.classes.folder, f"-Dslow={file.path}") as program:
                    file.slow_down()
                    self.prepare(self.daemon, program)
                    self.check_off(version, program, "fault", "Safepoint.touch")

    def test_formats_and_store(self):
        with Program(paths.jdk(17), self.classes.folder, *OPTIONS) as program:
            self.prepare(self.daemon, program)
            running = self.daemon.capture(pid=program.pid, event="cpu,safepoint")
            self.assertGreaterEqual(probes(program.pid), 7) # otherwise the check at the end proves nothing
            program.have("loop", 10)
            profile = running.stop()
            proc.wait_until(lambda: probes(program.pid) == 0, 20, "no probe is left") # flamed does not wait for that
            dumps = [m for m in of_kind(profile, "safepoint") if m["name"] == "ThreadDump"]
            self.assertEqual(len(dumps), 10, profile.document["moments"]) # from the store, with event cpu
            path = f"{running.path}/profile"
            late = Profile(self.daemon.get(path, format="json", event="safepoint", threads=1))
            self.check_sum(late)
            self.assertEqual(late.document["moments"], profile.document["moments"])
            text = self.daemon.get(path, format="summary").text
            safepoints = of_kind(profile, "safepoint")
            longest = max(safepoints, key=lambda m: m["ns"])
            self.assertIn(f": {len(safepoints)}, {sum(m['ns'] for m in safepoints) / 1e6:.3f} ms, ", text)
            self.assertIn(f"; the longest {longest['ns'] / 1e6:.3f} ms, {longest['name']}\n", text)
            for name, expected in (("collapsed", b"Safepoint.spin"), ("flat", b"Safepoint.spin"), ("pprof", b"\x1f\x8b"), ("jfr", b"FLR"),
                                   ("html", b"<!doctype")):
                answer = self.daemon.get(path, format=name, event="safepoint")
                self.assertEqual(answer.status, 200, answer)
                self.assertIn(expected, answer.body)
        answer = self.daemon.get("/profile", pid=os.getpid(), seconds=0.1, event="safepoint")
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("no JVM", answer.json()["detail"])

    def test_killed(self):
        """No probe outlives flamed, in whatever way it ends, and the JVM runs on."""
        with Daemon("--recorder-hz", "0") as daemon, Program(paths.jdk(17), self.classes.folder, *OPTIONS) as program:
            self.prepare(daemon, program)
            daemon.capture(pid=program.pid, event="safepoint")
            self.assertGreaterEqual(probes(program.pid), 7)
            for pid in daemon.processes()["flamed"]:
                os.kill(pid, signal.SIGKILL)
            proc.wait_until(lambda: probes(program.pid) == 0, 20, "no probe is left")
            program.have("none", 3)
            daemon.wait_ready() # another pair of processes serves


if __name__ == "__main__":
    unittest.main()
