# SPDX-License-Identifier: Apache-2.0
"""Allocation: the error of each profiler for the bytes of each place of a program (Alloc.java), by the program's own count. flamed by
probes and by its agent, async-profiler by JVMTI and by its TLAB events if it is available, JFR's samples and JFR's TLAB events. They run
one after the other, each in a JVM of its own (async-profiler leaves libjvm's code writable), with an interval of 64 KiB if the profiler
has one. By chance, and as a fixed sequence again and again."""
import collections
import contextlib
import json
import os
import re
import subprocess
import tempfile
import time

import common
from harness import paths
from harness.daemon import Daemon
from test_alloc import CLASSES, Program, bytes_and_counts, place_of

INTERVAL = 65536
JFC = """<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.ObjectAllocationSample"><setting name="enabled">{sample}</setting><setting name="stackTrace">true</setting>
    <setting name="throttle">{throttle}</setting></event>
  <event name="jdk.ObjectAllocationInNewTLAB"><setting name="enabled">{tlab}</setting><setting name="stackTrace">true</setting></event>
  <event name="jdk.ObjectAllocationOutsideTLAB"><setting name="enabled">{tlab}</setting><setting name="stackTrace">true</setting></event>
</configuration>
"""


class Measured(Program):
    """Alloc.java beside agents that also print to its standard output."""

    def allocate(self, count: float) -> tuple[dict[str, int], dict[str, int]]:
        self.tell(str(int(count)))
        while line := self.process.stdout.readline():
            words = line.split()
            if len(words) == 3 * len(CLASSES) and words[0] in CLASSES:
                return bytes_and_counts(words)
        raise RuntimeError("the program has ended: " + self.process.stderr.read()[-2000:])


class Found(collections.Counter):
    """Bytes by place, and the number of their samples."""
    samples = 0


@contextlib.contextmanager
def flamed(program: Program, found: Found, daemon: Daemon, source: str):
    capture = daemon.capture(pid=program.pid, event="alloc", source=source, interval=str(INTERVAL))
    time.sleep(0.5)
    yield
    time.sleep(1)
    for stack in capture.stop().stacks:
        found[place_of(stack.names)] += stack.value
        found.samples += stack.samples


@contextlib.contextmanager
def asprof(program: Program, found: Found, library: str, folder: str, more: str):
    file = f"{folder}/asprof.collapsed"
    common.load_agent(program.pid, library, f"start,event=alloc,alloc={INTERVAL}{more},file={file},collapsed,total")
    yield
    # In two outputs: bytes, and numbers of samples.
    common.load_agent(program.pid, library, f"dump,file={file}.count,collapsed,samples")
    common.load_agent(program.pid, library, f"stop,file={file},collapsed,total")
    for path in (file, file + ".count"):
        with open(path, encoding="utf-8") as f:
            for line in f:
                stack, n = line.rsplit(" ", 1)
                if path == file:
                    found[place_of(re.sub(r"_\[\w\]$", "", frame).replace("/", ".") for frame in stack.split(";"))] += int(n)
                else:
                    found.samples += int(n)


def jcmd(version: int, pid: int, *words: str) -> None:
    subprocess.run([paths.jdk(version) + "/bin/jcmd", str(pid), *words], check=True, stdout=subprocess.DEVNULL, timeout=300)


@contextlib.contextmanager
def jfr(program: Program, found: Found, version: int, folder: str, **settings: str):
    with open(folder + "/alloc.jfc", "w", encoding="ascii") as f:
        f.write(JFC.format(**{"sample": "false", "tlab": "false", "throttle": "off"} | settings))
    jcmd(version, program.pid, "JFR.start", "name=alloc", f"settings={folder}/alloc.jfc", f"filename={folder}/alloc.jfr")
    yield
    jcmd(version, program.pid, "JFR.stop", "name=alloc")
    names = ("jdk.ObjectAllocationSample", "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")
    text = subprocess.run([paths.jdk(version) + "/bin/jfr", "print", "--json", "--stack-depth", "64", "--events", ",".join(names), folder + "/alloc.jfr"],
                          capture_output=True, text=True, check=True, timeout=600).stdout
    for event in json.loads(text)["recording"]["events"]:
        values = event["values"]
        frames = (values.get("stackTrace") or {}).get("frames") or []
        bytes_ = values.get("weight") or values.get("tlabSize") or values["allocationSize"]
        found[place_of(f'{f["method"]["type"]["name"].replace("/", ".")}.{f["method"]["name"]}' for f in frames)] += bytes_
        found.samples += 1


def measure(daemon: Daemon, classes: str, version: int, mode: str, count: float, library: str, folder: str, rounds: int) -> dict[str, list[float]]:
    """Returns profiler -> mean errors of the shares of all places, in points, one per round."""
    errors: dict[str, list[float]] = {}
    modes = {"flamed, probe": lambda program, found: flamed(program, found, daemon, "probe"),
             "flamed, agent": lambda program, found: flamed(program, found, daemon, "agent")}
    if library:
        modes["async-profiler, JVMTI"] = lambda program, found: asprof(program, found, library, folder, "")
        modes["async-profiler, TLAB"] = lambda program, found: asprof(program, found, library, folder, ",tlab")
    modes["JFR, samples as by profile.jfc"] = lambda program, found: jfr(program, found, version, folder, sample="true", throttle="300/s")
    modes["JFR, each TLAB"] = lambda program, found: jfr(program, found, version, folder, tlab="true")
    with contextlib.ExitStack() as stack:
        programs = {name: stack.enter_context(Measured(paths.jdk(version), classes, "-Xmx256m", mode=mode)) for name in modes}
        for name, start in modes.items(): # loads libraries that are loaded once
            with start(programs[name], Found()):
                programs[name].allocate(1e8)
        for no in range(rounds):
            for name, start in modes.items():
                found = Found()
                with start(programs[name], found):
                    truth, _ = programs[name].allocate(count)
                total, said = sum(truth.values()), sum(found[place] for place in truth)
                wrong = [abs(100 * (found[place] / max(1, said) - truth[place] / total)) for place in truth]
                mean = sum(wrong) / len(wrong)
                errors.setdefault(name, []).append(mean)
                print(f"  {no + 1} {name:32} {found.samples:6} samples, {said / total:.3f} of the bytes; shares: mean error {mean:.2f}, worst "
                      f"{max(wrong):.2f} points; missing: {[place for place in truth if not found[place]]}", flush=True)
    return errors


def main() -> None:
    options = common.arguments(__doc__, jdks="17,25", megabytes=3000, rounds=3, no_async_profiler=0)
    aims = common.Aims(options.check)
    library = "" if options.no_async_profiler else common.async_profiler()
    print(f"async-profiler {common.ASYNC_PROFILER}" if library else "without async-profiler")
    paths.need_root()
    classes = common.compile_bench("Alloc")
    with Daemon("--recorder-hz", "0") as daemon, tempfile.TemporaryDirectory(prefix="flamed-alloc.") as folder:
        os.chmod(folder, 0o755)
        for version in map(int, options.jdks.split(",")):
            for mode in ("mixed", "fixed"):
                print(f"JDK {version}, {'by chance' if mode == 'mixed' else 'a fixed sequence'}", flush=True)
                errors = {name: common.median(values) for name, values in
                          measure(daemon, classes.folder, version, mode, options.megabytes * 1e6, library, folder, options.rounds).items()}
                print("  median of the mean errors: " + ", ".join(f"{name} {value:.2f}" for name, value in errors.items()), flush=True)
                ours = errors["flamed, probe" if mode == "mixed" else "flamed, agent"]
                aims.aim(f"JDK {version}, {mode}: nearest to the truth", ours <= min(v for name, v in errors.items() if not name.startswith("flamed")))
    aims.exit()


if __name__ == "__main__":
    main()
