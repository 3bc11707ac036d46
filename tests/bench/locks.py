# SPDX-License-Identifier: Apache-2.0
"""Waits for locks: what event=lock says of a program that measures its own, beside async-profiler where it can be had; and what
the events of waits cost two threads that wake one another, in turns with no capture."""
import contextlib
import os
import re
import subprocess
import tempfile
import time

import common
from events import capture
from harness import jvm, paths
from harness.daemon import Daemon
from harness.profile import Profile
from test_locks import LOCKS, OWNED, Program, asked, told

MODES = {"no capture": "", "offcpu": "offcpu", "lock": "lock", "nativelock": "nativelock"}


class PingPong(jvm.Jvm):
    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-cp", folder, "PingPong", stdin=subprocess.PIPE, wrap=["taskset", "-c", "0"])

    def turns(self) -> int:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def cpu_ns(self) -> int:
        return time.clock_gettime_ns(~self.pid << 3 | 2)

    def cost(self, seconds: float) -> float:
        """CPU time of a turn, in ns."""
        before, cpu = self.turns(), self.cpu_ns()
        time.sleep(seconds)
        cpu = self.cpu_ns() - cpu
        return cpu / (self.turns() - before)


def waited(program: Program, start: float, end: float) -> dict[str, float]:
    """Seconds by kind, by the program's own clock; async-profiler prints there, too."""
    program.process.stdin.write(asked(start, end))
    program.process.stdin.flush()
    lines = iter(program.process.stdout.readline, "")
    found = told(line for line in lines if len(line.split()) == 5 or line.strip() == ".")
    return {kind: sum(t for (thread, _), t in found.items() if thread.startswith(kind + "-")) for kind in LOCKS}


class Asprof:
    """async-profiler's event lock, of every wait from 10 us on."""

    def __init__(self, program: Program, library: str, folder: str):
        self.program, self.library, self.file = program, library, os.path.join(folder, "locks.collapsed")
        common.load_agent(program.pid, library, f"start,event=lock,file={self.file},collapsed,total")
        self.start = time.monotonic()

    def stop(self) -> tuple[dict[str, float], dict[str, float]]:
        """Seconds by class, and those of the program by kind."""
        end = time.monotonic()
        common.load_agent(self.program.pid, self.library, f"stop,file={self.file},collapsed,total")
        found: dict[str, float] = {}
        with open(self.file, encoding="utf-8") as f:
            for line in f:
                stack, ns = line.rsplit(" ", 1)
                name = re.sub(r"_\[\w\]$", "", stack.rsplit(";", 1)[-1]).replace("/", ".")
                found[name] = found.get(name, 0) + int(ns) / 1e9
        return found, waited(self.program, self.start, end)


def truth(daemon: Daemon, version: int, seconds: float, library: str) -> None:
    classes = jvm.Classes()
    classes.compile("Locks.java")
    with tempfile.TemporaryDirectory() as folder, Program(version, classes.folder) as program:
        time.sleep(1)
        daemon.get("/profile", pid=program.pid, seconds=0.2, event="lock")
        asprof = Asprof(program, library, folder) if library else None
        profile = Profile(daemon.get("/profile", pid=program.pid, seconds=seconds, event="lock", interval="5ms", threads=1, format="json"))
        theirs, their_truth = asprof.stop() if asprof else ({}, {})
        since = time.time() - time.monotonic()
        ours_truth = waited(program, profile.start - since, profile.end - since)
        for kind, ways in LOCKS.items():
            ours = sum(s.value for s in profile.stacks if s.thread.startswith(kind + "-")) / 1e9
            line = f"  {kind}: {ours:.3f} of {ours_truth[kind]:.3f} s ({100 * (ours / ours_truth[kind] - 1):+.1f} %)"
            if asprof and kind in OWNED:
                (_, name), = ways
                line += f"; async-profiler {theirs.get(name, 0):.3f} of {their_truth[kind]:.3f} s ({100 * (theirs.get(name, 0) / their_truth[kind] - 1):+.1f} %)"
            print(line, flush=True)


def cost(daemon: Daemon, version: int, rounds: int, seconds: float) -> None:
    classes = common.compile_bench("PingPong")
    took: dict[str, list[float]] = {name: [] for name in MODES}
    with PingPong(version, classes.folder) as program:
        for event in filter(None, MODES.values()):
            daemon.get("/profile", pid=program.pid, seconds=0.2, event=event)
        for _ in range(rounds):
            for name, event in MODES.items():
                with capture(daemon, event=event, pid=program.pid, interval="10ms") if event else contextlib.nullcontext():
                    took[name].append(program.cost(seconds))
    alone = common.median(took["no capture"])
    print(f"  a turn takes {alone:.0f} ns of CPU time without a capture")
    for name in list(MODES)[1:]:
        more = common.median([a - b for a, b in zip(took[name], took["no capture"])])
        print(f"  with {name}: {more:+.0f} ns ({100 * more / alone:+.1f} %)", flush=True)


def main() -> None:
    options = common.arguments(__doc__, rounds=9, seconds=10.0, window=1.0, jdks="17,25", no_async_profiler=0)
    library = "" if options.no_async_profiler else common.async_profiler()
    with Daemon("--recorder-hz", "0") as daemon:
        for version in map(int, options.jdks.split(",")):
            print(f"JDK {version}, seconds that threads waited, by their own clock", flush=True)
            truth(daemon, version, options.seconds, library)
            print(f"JDK {version}, two threads that park and wake one another on one processor", flush=True)
            cost(daemon, version, options.rounds, options.window)


if __name__ == "__main__":
    main()
