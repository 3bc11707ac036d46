# SPDX-License-Identifier: Apache-2.0
"""What event=alloc costs a JVM that allocates 1 GB a second, by its probes and by its agent, beside async-profiler where it can be had: CPU
time of the same work, in slices without and with each profiler in random order (paired.py). And that nothing stays: pages of libjvm's code
that are not those of its file, before, meanwhile and after. With --loads=tomcat the same of a service."""
import contextlib
import re
import tempfile
import time

import common
import overhead
import paired
from harness import proc
from harness.daemon import Daemon

FLAMED = {"alloc probe": {"event": "alloc", "source": "probe"}, "alloc agent": {"event": "alloc", "source": "agent"}}
OTHERS = {"alloc": "event=alloc,alloc=524288"}
KINDS = ("Private_Dirty", "Anonymous")


def code_kib(pid: int) -> dict[str, int]:
    """Of libjvm's code, by smaps: what the process has of its own."""
    found, here = dict.fromkeys(KINDS, 0), False
    for line in proc.read(f"/proc/{pid}/smaps").splitlines():
        words = line.split()
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            here = line.endswith("/libjvm.so") and "x" in words[1]
        elif here and words[0][:-1] in KINDS:
            found[words[0][:-1]] += int(words[1])
    return found


def rate(options, folder: str, _: contextlib.ExitStack) -> paired.Load:
    return paired.Load(paired.Counting(options.jdk, *options.java_option, "-Xmx512m", "-cp", folder, "AllocRate", str(options.megabytes), "2"),
                       "MB", 1e6)


def tomcat(options, _: str, stack: contextlib.ExitStack) -> paired.Load:
    return paired.ServiceLoad(overhead.TomcatLoad(options, stack))


LOADS = {"rate": rate, "tomcat": tomcat}


def measure(name: str, options, library: str, folder: str, aims: common.Aims) -> None:
    with contextlib.ExitStack() as stack:
        with paired.apart(stack):
            load = LOADS[name](options, folder, stack)
        if hasattr(load, "program"):
            stack.enter_context(load.program)
        daemon = stack.enter_context(Daemon("--recorder-hz", "0"))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-alloc-cost."))
        modes = paired.modes_of(daemon, load.pid, library, scratch, FLAMED, OTHERS)
        time.sleep(3)
        print(f"{name}, JDK {options.jdk}: libjvm's code before: {code_kib(load.pid)} KiB", flush=True)
        for mode, start in modes.items():
            with start():
                time.sleep(1)
                print(f"  with {mode}: {code_kib(load.pid)}")
        runs = paired.bpf(daemon, load, modes, options.bpf_slices, min(0.5, options.window)) if options.bpf_slices else {}
        found = paired.tell(load, paired.rounds_of(load, modes, options.rounds, options.window), options.window)
        time.sleep(1)
        after = code_kib(load.pid)
        print(f"  after all: {after}")
    aims.aim(f"{name}: the code is as in its file again", not any(after.values()))
    for mode, (_, us) in runs.items():
        aims.aim(f"{name}, {mode}: a sample takes 15 us at most", us <= 15)
    for mode, (more, _) in found.items():
        if mode.startswith("flamed "):
            aims.aim(f"{name}, {mode}: 2 % at most", more <= 0.02)


def main() -> None:
    paired.each(__doc__, LOADS, ("AllocRate",), measure, megabytes=1000)


if __name__ == "__main__":
    main()
