# SPDX-License-Identifier: Apache-2.0
"""Several captures of an event at once: two JVMs by one request, and each by one of its own, all at the same time and each at its own
interval."""
import collections
import concurrent.futures
import math
import subprocess
import time
import unittest

from harness import events, jvm, paths, proc
from harness.profile import Profile
from test_alloc import changed_pages
from test_alloc_agent import AGENT

EVENTS = "alloc,live,nativelive"
ROUNDS = {"first": 16_000, "second": 8_000} # rounds of Stays.java
BUFFER, EACH, HEAP = 8192, 8, 1024
SIGMAS = 5


class Program(jvm.Jvm):
    def __init__(self, folder: str):
        super().__init__(paths.jdk(17), "-Xmx256m", "-XX:MaxDirectMemorySize=256m", "-cp", folder, "Stays", stdin=subprocess.PIPE)

    def do(self, *lines: str) -> None:
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            said = self.process.stdout.readline()
            assert said == "done\n", said


class Several(events.WithEvent):
    event = "live"
    sources = ("Stays.java",)

    def check(self, capture, event: str, interval: int, truth: dict[int, float], place: str) -> None:
        """EVENT of CAPTURE has the bytes of PLACE ("": of all) in each process, and no other process."""
        profile = Profile(self.daemon.get(capture.path + "/profile", event=event, format="json", threads=1))
        got: collections.Counter = collections.Counter()
        for stack in profile.stacks:
            pid = stack.pid or next(iter(truth)) # with a single process there is no frame for it
            self.assertIn(pid, truth, (event, stack))
            if not place or f"Stays.{place}" in stack.names:
                got[pid] += stack.value
        for pid, expected in truth.items():
            off = got[pid] / expected - 1
            print(event, len(truth), f"{off:+.1%}")
            self.assertLessEqual(abs(off), 0.05 + SIGMAS * math.sqrt(interval / expected), (event, pid, got, profile.warnings))

    def test_two_jvms(self):
        with Program(self.classes.folder) as first, Program(self.classes.folder) as second:
            both = {first.pid: ROUNDS["first"], second.pid: ROUNDS["second"]}
            for program in (first, second):
                program.do("make 2000") # from here on, code is compiled, and the events' programs are loaded
            self.daemon.when_in_place("GET", "/profile", pid=f"{first.pid},{second.pid}", event=EVENTS, seconds=0.1, force=1)
            captures = [(64 << 10, both, self.daemon.capture(pid=f"{first.pid},{second.pid}", event=EVENTS, interval="64k,64k,64k", force=True))]
            for pid, rounds in both.items():
                captures.append((128 << 10, {pid: rounds}, self.daemon.capture(pid=str(pid), event=EVENTS, interval="128k,128k,128k", force=True)))
            for program in (first, second):
                proc.wait_until(lambda p=program: changed_pages(p.pid, AGENT), 30, "the agent is probed")
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                for done in [pool.submit(program.do, f"make {both[program.pid]}", "collect") for program in (first, second)]:
                    done.result()
            time.sleep(1.5) # the last tenth of a capture is too recent for nativelive
            for _, _, capture in captures:
                capture.stop()
            for interval, rounds, capture in captures:
                self.check(capture, "alloc", interval, {pid: n * 2 * HEAP for pid, n in rounds.items()}, "") # probes may show a single place of a loop
                self.check(capture, "live", interval, {pid: n * HEAP for pid, n in rounds.items()}, "keep")
                self.check(capture, "nativelive", interval, {pid: n // EACH * BUFFER for pid, n in rounds.items()}, "buffer")


if __name__ == "__main__":
    unittest.main()
