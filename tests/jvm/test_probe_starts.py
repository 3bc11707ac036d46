# SPDX-License-Identifier: Apache-2.0
"""Probes are put and removed in four programs under load, again and again. No program crashes, and no trace of a probe is left. A place
that allows no probe is refused with a sentence."""
import contextlib
import os
import random
import subprocess
import threading
import time
import unittest

import test_calls
from harness import native, paths, probed, proc
from harness.events import WithEvent
from harness.profile import Profile

STARTS = int(os.environ.get("FLAMED_PROBE_STARTS", "5"))
OFFSETS = int(os.environ.get("FLAMED_PROBE_OFFSETS", "20"))
PAGE_KIB = 4
NODE = """process.stdin.on("data", line => {
    for (let i = 0; i < 50; i++) Buffer.allocUnsafeSlow(100000 + i);
    setTimeout(() => process.stdout.write(line), 1);
})"""


class Loaded:
    """A program that does WORK again and again, driven by a thread of this test, until it is stopped."""

    def __init__(self, name: str, program, work):
        self.name, self.program, self.pid, self.work = name, program, program.pid, work
        self.rounds = 0
        self.problem = ""
        self.ended = threading.Event()
        self.work()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self.work()
                self.rounds += 1
                time.sleep(0.002) # the machine is small
        except (OSError, RuntimeError) as e:
            self.problem = f"{self.name}: {e!r}"

    def __enter__(self) -> "Loaded":
        self.program.__enter__()
        self.thread.start()
        return self

    def __exit__(self, *reason) -> None:
        self.ended.set()
        self.thread.join(10)
        self.program.__exit__(*reason)


def go_program() -> str:
    out = native.folder() + "/calls-go"
    if not os.path.exists(out):
        subprocess.run(["go", "build", "-o", out, paths.NATIVE_SOURCES + "/calls.go"], check=True,
                       env={**os.environ, "GOCACHE": native.folder() + "/go", "GO111MODULE": "off", "CGO_ENABLED": "1"})
    return out


class ProbeStarts(WithEvent):
    event = "alloc"
    sources = ("Calls.java",)
    prepare = test_calls.Calls.prepare

    def programs(self) -> dict[str, Loaded]:
        """Returns event -> its program, for the events that this machine has."""
        made: dict[str, tuple] = {}
        c = test_calls.Program()
        made["libc.so.6:malloc"] = ("C", c, lambda: c.do("malloc 500"))
        java = test_calls.JavaProgram(17, self.classes.folder)
        made["libjvm.so:Unsafe_AllocateMemory0"] = ("Java", java, lambda: java.do(50))
        with contextlib.suppress(unittest.SkipTest):
            if STARTS < 100:
                raise unittest.SkipTest("to compile it takes longer than all the rest")
            paths.need("go")
            go = native.Obedient("calls", "-pthread", wrap=("sh", "-c", f"exec {go_program()}"))
            made["./calls-go:counted"] = ("Go", go, lambda: go.do("counted 500"))
        with contextlib.suppress(unittest.SkipTest):
            paths.need("node")
            node = native.Obedient("calls", "-pthread", wrap=("node", "-e", NODE))
            made["./node:uv_update_time"] = ("Node", node, lambda: node.do("on"))
        return {event: Loaded(*of) for event, of in made.items()}

    def test_many_starts(self):
        """Each capture puts a probe into a function of each program, and into malloc in all of them."""
        with contextlib.ExitStack() as stack:
            programs = self.programs()
            for program in programs.values():
                stack.enter_context(program)
            pids = [program.pid for program in programs.values()]
            copies, traced, log = {pid: probed.copies(pid) for pid in pids}, probed.traced(), len(probed.kernel_log())
            for event, program in programs.items():
                self.prepare(program.pid, event)
            params = {"pid": ",".join(map(str, pids)), "event": ",".join(programs), "interval": ",".join(["16"] * len(programs))}
            rounds = {event: program.rounds for event, program in programs.items()}
            seen, began = dict.fromkeys(programs, 0), time.monotonic()
            for number in range(STARTS):
                capture = self.daemon.capture(**params)
                if number % 100 == 0: # long enough for samples
                    proc.wait_until(lambda: self.daemon.get(capture.path).json()["samples"] > 2000, 30, "samples")
                    capture.stop()
                    for event in programs:
                        profile = Profile(self.daemon.get(f"{capture.path}/profile", event=event, format="json"))
                        seen[event] += sum(s.samples for s in profile.of_process(programs[event].pid))
                else:
                    self.assertEqual(self.daemon.request("POST", capture.path + "/stop").status, 200)
                self.assertEqual([p.problem for p in programs.values() if p.problem], [], number)
            took = time.monotonic() - began
            probed.await_none(*pids)
            print(f"{STARTS} captures of {len(programs)} programs in {took:.0f} s; samples: {seen}")
            for event, program in programs.items(): # and all run on
                before = program.rounds
                self.assertGreater(before, rounds[event], program.name)
                proc.wait_until(lambda: program.rounds > before + 3 or program.problem, 20, f"{program.name} goes on")
                self.assertEqual(program.problem, "")
            more = [probed.more_copies(copies[pid], probed.copies(pid)) for pid in pids]
            print(f"copies of pages that are left, in KiB: {more}")
            self.assertLessEqual({kib for found in more for kib in found.values()}, {PAGE_KIB}) # of the only place in each file
            self.assertEqual(probed.traced(), traced)
            self.assertEqual(probed.kernel_log()[log:], [])
            for event in programs:
                self.assertGreater(seen[event], 0, event)

    def test_refused_offsets(self):
        """Anywhere in libc: where no function begins, and where a function begins that allows no probe. Each refusal has a sentence and a
        remedy."""
        chance = random.Random(OFFSETS)
        with test_calls.Program() as program:
            self.prepare(program.pid, "libc.so.6:malloc")
            before, answers = probed.copies(program.pid), {}
            for _ in range(OFFSETS):
                offset = chance.randrange(1, 1 << chance.randrange(1, 31))
                answer = self.daemon.get("/profile", pid=program.pid, event=f"libc.so.6:malloc+{offset}", seconds=0.1, format="json")
                answers[answer.status] = answers.get(answer.status, 0) + 1
                if answer.status != 200: # otherwise a function begins there
                    self.assertEqual(answer.status, 409, answer)
                    said = answer.json()
                    self.assertRegex(said["detail"], "no function begins at offset|begins with an instruction at which flamed puts no probe", offset)
                    self.assertTrue(said["remedy"], offset)
            print(f"answers: {answers}")
            self.assertGreater(answers[409], OFFSETS / 2)
            probed.await_none(program.pid)
            self.assertLessEqual(sum(probed.more_copies(before, probed.copies(program.pid)).values()), PAGE_KIB * answers.get(200, 0))
            program.do("malloc 1000")


if __name__ == "__main__":
    unittest.main()
