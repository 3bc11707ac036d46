# SPDX-License-Identifier: Apache-2.0
"""Allocation sampled by an agent: right even if the same sequence is allocated all the time, and all memory is freed."""
import collections
import concurrent.futures
import math
import os
import re
import signal
import subprocess
import time
import unittest

from harness import bundle, events, jdkroot, jvm, native, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile
from test_alloc import changed_pages
from test_locks_jdks import COLLECTORS

# Bytes and class of each place of AllocLoop.java, per round.
BYTES = {"small": 64, "bytes256": 256, "chars1k": 1024, "longs2k": 2048, "cloned": 640}
CLASSES = {"small": "AllocLoop$Small", "bytes256": "byte[]", "chars1k": "char[]", "longs2k": "long[]", "cloned": "long[]"}
ROUND = sum(BYTES.values())
ROUNDS = 50_000 # 200 MB per thread
AGENT, STREAM = "/memfd:flamed-agent", "/memfd:flamed-stream"
SAMPLES = int(os.environ.get("FLAMED_ALLOC_SAMPLES", "2000"))
SIGMAS = 5


class Program(jvm.Jvm):
    def __init__(self, version: int, folder: str, *options: str, short: bool = False):
        super().__init__(paths.jdk(version), "-Xmx256m", *options, "-cp", folder, "AllocLoop", *(["short"] if short else []), stdin=subprocess.PIPE)
        self.allocate() # all code is compiled after this

    def allocate(self) -> int:
        """Makes it allocate. Returns the bytes."""
        self.process.stdin.write(f"{ROUNDS}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert said == "done\n", said
        return 2 * ROUNDS * ROUND


def has(pid: int, name: str) -> bool:
    return name in proc.read(f"/proc/{pid}/maps")


class Base(events.WithEvent):
    event = "alloc"
    sources = ("AllocLoop.java",)

    def begin(self, pid: int, **params):
        """Begins a capture by an agent that is loaded. For the first one of a daemon, the kernel checks a program."""
        proc.wait_until(lambda: self.daemon.get("/profile", pid=pid, event="alloc", seconds=0.1).status != 503, 60, "the program is loaded")
        capture = self.daemon.capture(pid=pid, event="alloc", source="agent", **params)
        proc.wait_until(lambda: changed_pages(pid, AGENT) or self.daemon.get(capture.path).json()["state"] == "failed", 60, "the agent is there")
        state = self.daemon.get(capture.path).json()
        self.assertEqual(state["state"], "running", state)
        return capture

    def compare(self, what, profile: Profile, symbols: bool = True) -> int:
        """Checks the share of each place: within a point, or within chance. Returns the bytes of all."""
        values, samples, wrong = collections.Counter(), 0, collections.Counter()
        for stack in profile.stacks:
            place = next((n.split(".")[-1] for n in stack.names if n.split(".")[-1] in BYTES), "")
            if place:
                values[place] += stack.value
                samples += stack.samples
                if stack.frames[-1].kind != "class" or stack.names[-1] != CLASSES[place]:
                    wrong[f"{place}: {stack.frames[-1]}"] += stack.samples
        total = sum(values.values())
        errors = {place: 100 * (values[place] / total - bytes / ROUND) for place, bytes in BYTES.items()}
        print(what, f"{samples} samples,", " ".join(f"{place} {error:+.2f}" for place, error in errors.items()), "points")
        self.assertLessEqual(profile.quality["lost"], 0.02 * samples, (what, profile.quality, profile.warnings))
        for place, bytes in BYTES.items():
            share = bytes / ROUND
            chance = 100 * SIGMAS * math.sqrt(share * (1 - share) / samples)
            self.assertLessEqual(abs(errors[place]), max(1, chance), (what, place, samples, errors))
        self.assertLessEqual(wrong.total(), 0.001 * samples, (what, wrong))
        self.assertLessEqual(sum(s.samples for s in profile.stacks if s.truncated), 0.005 * profile.samples, (what, profile.describe()))
        if symbols: # the C library of a container has no symbols
            self.assertLessEqual(profile.quality["unknown"], 0.005 * profile.samples, (what, profile.describe()))
        self.assertFalse([s.names for s in profile.stacks if any("flamed_agent" in n or "post_sampled" in n for n in s.names)])
        return total


class AllocAgent(Base):
    def check(self, version: int) -> None:
        with Program(version, self.classes.folder) as program:
            capture = self.begin(program.pid, interval="64k")
            truth = 0
            until = time.monotonic() + 150
            while self.daemon.get(capture.path).json()["samples"] < SAMPLES and time.monotonic() < until:
                truth += program.allocate()
            time.sleep(0.5) # a busy flamed is behind with its samples
            profile = capture.stop()
            self.assertGreaterEqual(profile.samples, SAMPLES, (profile.quality, profile.warnings))
            total = self.compare(version, profile)
            self.assertAlmostEqual(total / truth, 1, delta=0.05 + SIGMAS / math.sqrt(profile.samples), msg=(profile.quality, profile.warnings))
            self.ends(program)

    def ends(self, program: Program) -> None:
        """Checks that its agent ends with the next allocations."""
        def ended() -> bool:
            program.allocate()
            return not has(program.pid, STREAM)
        proc.wait_until(ended, 30, "the agent has ended")
        proc.wait_until(lambda: not changed_pages(program.pid, AGENT), 30, "its probe is gone")

    def test_fixed_loop(self):
        jvm.side_by_side(self, self.check, jvm.some(17, 25))

    def holder_error(self, program: Program) -> int:
        """Returns the error that JVMTI gives to another agent that wants to sample; 0: none."""
        said = subprocess.run([os.path.join(paths.jdk(17), "bin", "jcmd"), str(program.pid), "JVMTI.agent_load", self.holder],
                              capture_output=True, text=True, timeout=60, check=True).stdout
        return int(re.search(r"return code: (\d+)", said)[1])

    def test_one_alone_may_sample(self):
        self.holder = native.build("alloc_holder", "-shared", "-fPIC", "-I", paths.TREE)
        with Program(17, self.classes.folder) as program, Program(17, self.classes.folder, f"-agentpath:{self.holder}") as held:
            self.assertEqual(self.holder_error(program), 0)
            capture = self.begin(program.pid)
            self.assertEqual(self.holder_error(program), 98) # else the next check would be meaningless
            capture.stop()
            self.ends(program)
            self.assertEqual(self.holder_error(program), 0)
            answers = []
            proc.wait_until(lambda: answers.append(self.daemon.get("/profile", pid=held.pid, event="alloc", source="agent", seconds=20))
                            or answers[-1].status != 503, 60, "it is refused")
            self.assertEqual(answers[-1].status, 409, answers[-1])
            self.assertIn("another agent in that JVM samples its allocations", answers[-1].json()["detail"])
            self.assertIn("source=probe", answers[-1].body.decode())
            self.assertTrue(held.allocate())

    def test_refusals(self):
        proc.wait_until(lambda: self.daemon.get("/profile", pid=os.getpid(), event="alloc", source="agent", seconds=0.1).status != 503, 60, "it is loaded")
        answer = self.daemon.get("/profile", pid=os.getpid(), event="alloc", source="agent", seconds=0.1)
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("is no JVM", answer.json()["detail"])
        with Daemon("--recorder-hz", "0", "--symbols", "memory") as daemon, Program(17, self.classes.folder) as program:
            answers = []
            # flamed waits for a JVM in its first moments, whatever else prevents the attach.
            proc.wait_until(lambda: answers.append(daemon.get("/profile", pid=program.pid, event="alloc", source="agent", seconds=0.1)) or
                            answers[-1].status not in (200, 503), 60, "it is refused")
            answer = answers[-1]
            self.assertEqual(answer.status, 409, answer)
            self.assertIn("no agent can sample", answer.json()["detail"])

    def test_ended_by_another(self):
        """A warning says that allocations are missing after another flamed took the agent."""
        with Program(17, self.classes.folder) as program, Daemon("--recorder-hz", "0") as other:
            capture = self.begin(program.pid)
            answers = []
            proc.wait_until(lambda: answers.append(other.get("/profile", pid=program.pid, event="alloc", source="agent", seconds=1))
                            or answers[-1].status != 503, 60, "the other one has it")
            self.assertEqual(answers[-1].status, 200, answers[-1].body[:500])
            profile = capture.stop()
            self.assertTrue([w for w in profile.warnings if "the agent ended before the capture" in w], profile.warnings)

    def test_killed(self):
        """The lease is not renewed: the agent ends by itself, and the JVM runs on."""
        with Daemon("--recorder-hz", "0") as daemon, Program(17, self.classes.folder) as program:
            self.daemon, shared = daemon, self.daemon
            self.addCleanup(setattr, self, "daemon", shared)
            self.begin(program.pid)
            self.assertTrue(has(program.pid, STREAM))
            for pid in daemon.processes()["flamed"]:
                os.kill(pid, signal.SIGKILL)
            self.ends(program)
            daemon.wait_ready() # another pair of processes serves
            capture = self.begin(program.pid) # and the same copy of the agent is used again
            self.assertEqual(len({line.split()[4] for line in proc.read(f"/proc/{program.pid}/maps").splitlines() if AGENT in line}), 1)
            program.allocate()
            self.assertGreater(capture.stop().samples, 0)


class Matrix(Base):
    """JDK 11, 21 and 26 in containers, and 17 and 25, with each collector. Not in a plain run."""
    options = ("-XX:+UnlockExperimentalVMOptions", "-Xmx256m")

    def setUp(self):
        super().setUp()
        if not os.environ.get("FLAMED_ALLOC_MATRIX"):
            self.skipTest("FLAMED_ALLOC_MATRIX is not set: jvm_alloc_agent_jdks runs it")

    def run_one(self, what, pid: int) -> None:
        capture = self.begin(pid, interval="64k")
        proc.wait_until(lambda: self.daemon.get(capture.path).json()["samples"] >= SAMPLES, 120, f"samples of {what}")
        self.compare(what, capture.stop(), what[0] in (17, 25))

    def check(self, version: int, *more: str) -> None:
        for option in (*(f"-XX:+Use{name}GC" for name in COLLECTORS[version]), *more):
            with self.subTest(jdk=version, option=option):
                pipe = os.path.join(self.classes.folder, "ask")
                if not os.path.exists(pipe):
                    os.mkfifo(pipe)
                    os.chmod(pipe, 0o666)
                here = version in (17, 25)
                arguments = (*self.options, option, "-cp", self.classes.folder if here else "/classes", "AllocLoop",
                             pipe if here else "/classes/ask")
                program = (jvm.Jvm(paths.jdk(version), *arguments) if here else
                           bundle.Container("", self.classes.folder, *arguments, root=jdkroot.root(version), executable=jdkroot.java(version)))
                with program, open(pipe, "w") as ask:
                    ask.write("1000000000\n")
                    ask.flush()
                    self.run_one((version, option), program.pid)

    def test_11(self):
        self.check(11, "-Xint")

    def test_17(self):
        self.check(17, "-XX:TieredStopAtLevel=1")

    def test_21(self):
        self.check(21)

    def test_25(self):
        self.check(25, "-Xint")

    def test_26(self):
        self.check(26)


class Soak(Base):
    """Captures one after another in JVMs whose threads end all the time. Not in a plain run."""

    def check(self, version: int, option: str, count: int) -> None:
        """They leave no mapping, descriptor or thread, and the resident memory is unchanged."""
        with Program(version, self.classes.folder, "-XX:+AlwaysPreTouch", "-Xms256m", option, short=True) as program:
            def state():
                return len(os.listdir(f"/proc/{program.pid}/fd")), proc.read(f"/proc/{program.pid}/maps").count(AGENT)
            def streams():
                return proc.read(f"/proc/{program.pid}/maps").count(STREAM)
            def threads():
                return len(os.listdir(f"/proc/{program.pid}/task"))
            def resident():
                return int(re.search(r"VmRSS:\s+(\d+)", proc.read(f"/proc/{program.pid}/status"))[1])
            def once():
                capture = self.begin(program.pid, symbols="agent")
                program.allocate()
                capture.stop()
                # The session that reports code keeps its memory until code is compiled, or the next session begins.
                proc.wait_until(lambda: program.allocate() and streams() <= 1, 60, "the agent has ended")
            for _ in range(10):
                once()
            before, before_threads, memory = state(), threads(), resident()
            for _ in range(count):
                once()
            print(version, option, count, "captures:", before, state(), before_threads, threads(), "threads", memory, resident(), "KiB")
            self.assertEqual(state(), before)
            self.assertIsNone(program.process.poll())
            self.assertLess(threads(), before_threads + 10) # the JVM itself starts and ends some
            self.assertLess(resident(), memory + 10240)

    def test_many(self):
        count = int(os.environ.get("FLAMED_ALLOC_CAPTURES", "0"))
        if not count:
            self.skipTest("FLAMED_ALLOC_CAPTURES is not set: jvm_alloc_agent_many runs it")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for check in [pool.submit(self.check, version, f"-XX:+Use{name}GC", count)
                          for version in (17, 25) for name in ("G1", "Parallel")]:
                check.result()


if __name__ == "__main__":
    unittest.main()
