# SPDX-License-Identifier: Apache-2.0
"""Calls of native functions (event=LIB:SYMBOL): as many as the program made, with their callers, and no probe is left."""
import os
import signal
import unittest

from harness import jvm, native, paths, probed, proc
from harness.daemon import Daemon
from harness.events import WithEvent
from harness.profile import Profile, ordered


# Calls uv_uptime() as many times as each line of its input says, and writes the line back.
NODE = """process.stdin.on("data", line => {
    for (let i = 0; i < +line; i++) os.uptime();
    process.stdout.write(line);
})"""


class Program(native.Obedient):
    """calls.c, after its first malloc()."""

    def __init__(self):
        super().__init__("calls", "-pthread")
        self.do("malloc 10")


class JavaProgram(jvm.Obedient):
    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-cp", folder, "Calls")
        self.do(100)


def probes(pid: int, name: str) -> int:
    """Returns the probes in the files NAME..."""
    return probed.breakpoints(pid, "/" + name)


LIBRARIES = ("libc.so", "libjvm.so", "calls", "node", "libjemalloc.so", "libtcmalloc_minimal.so")


def await_no_probes(*pids: int) -> None:
    """Waits until no probe is left. The kernel removes probes after the answer."""
    proc.wait_until(lambda: not any(probes(pid, name) for pid in pids for name in LIBRARIES), 10, "no probe is left")


def value(profile: Profile, *names: str) -> int:
    return sum(s.value for s in profile.stacks if all(any(name in frame for frame in s.names) for name in names))


class Calls(WithEvent):
    event = "alloc"
    sources = ("Calls.java",)

    def refused(self, pid: int, event: str, status: int, sentence: str) -> None:
        answers = []
        def known() -> bool: # the symbols are read
            answers.append(self.daemon.get("/profile", pid=pid, event=event, seconds=0.1, format="json"))
            return not answers[-1].late
        proc.wait_until(known, 30, "the symbols are read")
        answer = answers[-1]
        self.assertEqual(answer.status, status, answer)
        document = answer.json()
        self.assertIn(sentence, document["detail"], answer)
        self.assertTrue(document.get("remedy") or status != 409, answer)

    def prepare(self, pid: int, event: str) -> None:
        """Loads the program and reads the symbols: the next capture counts from the first call on."""
        def counted() -> bool:
            answer = self.daemon.get("/profile", pid=pid, event=event, seconds=0.1, format="json")
            if answer.status == 409 and ("cannot be read" in answer.text or "has no file" in answer.text): # not yet, on a busy machine
                return False
            self.assertEqual(answer.status, 200, (answer.text, answer))
            return not answer.late
        proc.wait_until(counted, 30, "the symbols are read")

    def test_as_the_program_calls(self):
        """Lost samples are counted: samples and lost ones add up to the calls."""
        with Program() as program:
            for event, line, caller, count, interval in (("libc.so.6:malloc", "malloc 2000", "allocates", 2000, 1),
                                                         ("libc.so:__libc_malloc", "malloc 2000", "allocates", 2000, 1),
                                                         ("libc.so.6:malloc+0", "malloc 20000", "allocates", 20000, 32),
                                                         ("./calls:counted", "counted 2000", "main", 2000, 1)):
                with self.subTest(event=event, interval=interval):
                    self.prepare(program.pid, event)
                    capture = self.daemon.capture(pid=program.pid, event=event, interval=interval)
                    self.assertEqual(sum(probes(program.pid, name) for name in ("libc.so.6", "calls")), 1)
                    program.do(line)
                    profile = capture.stop()
                    found = value(profile, caller, "malloc" if "malloc" in event else "counted") + profile.quality["lost"] * interval
                    print(f"{event}: {found} of {count}", end=" ")
                    if interval == 1: # pthread_create calls malloc, too
                        self.assertEqual(found, count, profile.describe())
                    else: # exact to an interval per processor
                        self.assertAlmostEqual(found, count, delta=interval * (os.cpu_count() + 1), msg=profile.describe())
                    self.assertFalse([s for s in profile.stacks if s.truncated], profile.describe())
                    await_no_probes(program.pid)
            self.assertEqual(profile.document["meta"]["event"], "./calls:counted")
            self.assertEqual(profile.document["meta"]["unit"], "count")

    def test_several(self):
        """Two functions of two processes, and CPU time, in one capture."""
        with Program() as one, Program() as other:
            self.prepare(one.pid, "libc.so.6:malloc")
            capture = self.daemon.capture(pid=f"{one.pid},{other.pid}", event="libc.so.6:malloc,./calls:counted,cpu")
            proc.wait_until(lambda: all(probes(p.pid, file) for p in (one, other) for file in ("libc.so.6", "calls")), 10, "both have probes")
            for program, n in ((one, 500), (other, 700)):
                program.do(f"malloc {n}")
                program.do(f"counted {n}")
            capture.stop()
            for event, name in (("libc.so.6:malloc", "allocates"), ("./calls:counted", "counted")):
                profile = Profile(self.daemon.get(f"{capture.path}/profile", event=event, format="json"))
                counts = [sum(s.value for s in profile.of_process(p.pid) if name in s.names) for p in (one, other)]
                self.assertEqual(counts[0] + counts[1] + profile.quality["lost"], 1200, profile.describe())
                if not profile.quality["lost"]:
                    self.assertEqual(counts, [500, 700], profile.describe())

    def test_of_a_jvm(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), JavaProgram(version, self.classes.folder) as program:
                self.prepare(program.pid, "libc.so.6:malloc")
                capture = self.daemon.capture(pid=program.pid, event="libc.so.6:malloc")
                program.do(1000)
                profile = capture.stop()
                # The VM's own allocations on the way to the call have other callers.
                found = sum(s.value for s in profile.stacks if "Calls.buffers" in s.names and s.names[-2:] == ["os::malloc", "malloc"]
                            and "llocateMemory0" in s.names[-3])
                print(f"{version}: {found} of 1000", end=" ")
                self.assertLessEqual(found, 1000, profile.describe())
                self.assertGreaterEqual(found + profile.quality["lost"], 990, profile.describe()) # except for stacks that were cut
                self.check_all(program.pid, "libjvm.so:JVM_HoldsLock", lambda p=program: p.do("holds 2000"), "Calls.holds", "JVM_HoldsLock")

    def check_all(self, pid: int, event: str, do, *frames: str) -> None:
        """Only do() makes calls, 2,000 of them: each is sampled, below FRAMES."""
        for interval in (1, 32):
            self.prepare(pid, event)
            capture = self.daemon.capture(pid=pid, event=event, interval=interval)
            do()
            profile = capture.stop()
            found = sum(s.value for s in profile.stacks) + profile.quality["lost"] * interval
            print(f"{event}: {found} of 2000", end=" ")
            self.assertAlmostEqual(found, 2000, delta=0 if interval == 1 else interval * (os.cpu_count() + 1), msg=profile.describe())
            below = sum(s.value for s in profile.stacks if ordered(s.names, *frames) and s.names[-1] == frames[-1])
            self.assertGreaterEqual(below + profile.quality["lost"] * interval, 0.98 * found, profile.describe())
        await_no_probes(pid)

    def test_of_node(self):
        """A function of a linked-in library, called by JavaScript."""
        paths.need("node")
        with native.Obedient("calls", "-pthread", wrap=("node", "-e", NODE)) as node:
            node.do(10)
            self.check_all(node.pid, "./node:uv_uptime", lambda: node.do(2000), "uv_uptime")

    def test_refusals(self):
        with Program() as program:
            self.refused(program.pid, "libc.so.6:malloc+1", 409, "no function begins at offset")
            self.refused(program.pid, "./calls:counted+0x1", 409, "no function begins at offset")
            self.refused(program.pid, "libc.so.6:no_such_function", 409, "has no function no_such_function")
            self.refused(program.pid, "libnothing.so:malloc", 409, "has no file libnothing.so")
            self.refused(program.pid, "/lib/libc.so.6:malloc", 400, "names no function")
            self.refused(program.pid, "libc.so.6:", 400, "names no function")
            self.refused(program.pid, "libc.so.6:malloc+x", 400, "names no function")
            await_no_probes(program.pid)

    def test_own_processes(self):
        """flamed's openers, their nursery, the launcher and the namer are refused, too."""
        own = self.daemon.processes()
        self.assertGreater(len(own["flamed-broker"]), 7, own)
        self.assertGreater(len(own["flamed-namer"]), 1, own)
        for pid in (pid for pids in own.values() for pid in pids):
            self.refused(pid, "libc.so.6:malloc", 409, "is flamed itself")

    def test_killed(self):
        """No probe outlives flamed, in whatever way it ends, and the program runs on."""
        with Daemon("--recorder-hz", "0") as daemon, Program() as program:
            daemon.capture(pid=program.pid, event="libc.so.6:malloc")
            proc.wait_until(lambda: probes(program.pid, "libc.so.6"), 10, "it has a probe")
            for pid in daemon.processes()["flamed"]:
                os.kill(pid, signal.SIGKILL)
            proc.wait_until(lambda: probes(program.pid, "libc.so.6") == 0, 20, "no probe outlives flamed")
            program.do("malloc 1000")
            daemon.wait_ready() # another pair of processes serves


if __name__ == "__main__":
    unittest.main()
