# SPDX-License-Identifier: Apache-2.0
"""Waits for locks: event=lock compared with a program that measures its own waits, and with async-profiler if it is available. wait_cost.py
has the costs."""
import os
import re
import tempfile
import time

import common
from harness import jvm
from harness.daemon import Daemon
from harness.profile import Profile
from test_locks import LOCKS, OWNED, Program, asked, told

def waited(program: Program, start: float, end: float) -> dict[str, float]:
    """Returns seconds by kind, by the program's own clock. async-profiler prints to the same output."""
    program.tell(asked(start, end))
    lines = iter(program.process.stdout.readline, "")
    found = told(line for line in lines if len(line.split()) == 5 or line.strip() == ".")
    return {kind: sum(t for (thread, _), t in found.items() if thread.startswith(kind + "-")) for kind in LOCKS}


class Asprof:
    """async-profiler's event lock, for every wait from 10 us on."""

    def __init__(self, program: Program, library: str, folder: str):
        self.program, self.library, self.file = program, library, os.path.join(folder, "locks.collapsed")
        common.load_agent(program.pid, library, f"start,event=lock,file={self.file},collapsed,total")
        self.start = time.monotonic()

    def stop(self) -> tuple[dict[str, float], dict[str, float]]:
        """Returns seconds by class, and those of the program by kind."""
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


def main() -> None:
    options = common.arguments(__doc__, seconds=10.0, jdks="17,25", no_async_profiler=0)
    library = "" if options.no_async_profiler else common.async_profiler()
    with Daemon("--recorder-hz", "0") as daemon:
        for version in map(int, options.jdks.split(",")):
            print(f"JDK {version}, seconds that threads waited, by their own clock", flush=True)
            truth(daemon, version, options.seconds, library)


if __name__ == "__main__":
    main()
