# SPDX-License-Identifier: Apache-2.0
"""The shares of three inlined loops (tests/jvm/java/Sections.java) by the program's own clock, by flamed, and by async-profiler: attached,
and loaded at the start, when it has the JVM record all instructions. Each in a JVM of its own, one after the other."""
import os
import tempfile
import time
from collections import Counter

import common
from harness import jvm, paths, proc
from harness.daemon import Daemon
from test_leaf import SECTIONS, Cell, Program, percent, shares

INTERVAL = "500us"


def collapsed(file: str, kind: str) -> dict[str, float]:
    """Returns the shares of the sections, in percent of the stacks below the method with the sections."""
    found: Counter = Counter()
    with open(file, encoding="utf-8") as f:
        for line in f:
            stack, n = line.rsplit(" ", 1)
            names = stack.replace("/", ".").split(";")
            if f"Sections${kind}.round" not in names or "Sections.now" in names:
                continue
            sections = [name.rsplit(".", 1)[1] for name in names if name in [f"Sections${kind}.{section}" for section in SECTIONS]]
            found[sections[0] if sections else "none"] += int(n)
    told = percent(found)
    return {section: told.get(section, 0.0) for section in SECTIONS}


def text(found: dict[str, float]) -> str:
    return ", ".join(f"{found.get(section, 0):.1f}" for section in SECTIONS)


def by_flamed(cell: Cell, home: str, folder: str, seconds: float) -> tuple[str, str]:
    with Daemon() as daemon, Program(cell, folder, home) as program:
        proc.wait_until(lambda: daemon.get(f"/api/v1/jvms/{program.pid}").status == 200, 20, "the JVM is known")
        capture = daemon.capture(pid=program.pid, event="cpu", hz=1999)
        before = program.spent()
        time.sleep(seconds)
        spent = program.spent() - before
        found = shares(cell.kind, capture.stop(), spent)
    return text(found.truth), text(found.found) + (f" ({found.unsure:.1f} unsure)" if found.unsure else "")


def by_async_profiler(cell: Cell, home: str, folder: str, seconds: float, library: str, at_start: bool) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as scratch:
        file, options = os.path.join(scratch, "collapsed"), f"start,event=cpu,interval={INTERVAL},quiet"
        more = [f"-agentpath:{library}={options}"] if at_start else []
        with Program(cell, folder, home, *more) as program:
            if at_start: # earlier samples are of code that was not yet compiled
                common.load_agent(program.pid, library, f"stop,file={file}.before,collapsed,quiet")
            common.load_agent(program.pid, library, options)
            before = program.spent()
            time.sleep(seconds)
            spent = program.spent() - before
            common.load_agent(program.pid, library, f"stop,file={file},collapsed,quiet")
        return text(percent(spent)), text(collapsed(file, cell.kind))


def main() -> None:
    options = common.arguments(__doc__, jdks="17,25", collectors="serial,parallel,g1", compiler="c2", kind="Leaf", seconds=4.0)
    library = common.async_profiler()
    classes = jvm.Classes()
    classes.compile("Sections.java")
    ways = {"flamed": by_flamed}
    if library:
        ways["async-profiler, attached"] = lambda *what: by_async_profiler(*what, library, False)
        ways["async-profiler, at start"] = lambda *what: by_async_profiler(*what, library, True)
    print("| | profiler | true | found |\n| --- | --- | --- | --- |")
    for version in map(int, options.jdks.split(",")):
        for collector in options.collectors.split(","):
            for name, way in ways.items():
                true, found = way(Cell(version, collector, options.compiler, options.kind), paths.jdk(version), classes.folder, options.seconds)
                print(f"| {version} {collector} | {name} | {true} | {found} |", flush=True)


if __name__ == "__main__":
    main()
