# SPDX-License-Identifier: Apache-2.0
"""The cost of event=alloc for a JVM that allocates 1 GB a second: by probes, by the agent, and beside async-profiler if it is available.
Also the cost of event=live. It measures CPU time of the same work, in slices without and with each profiler in random order (paired.py).
No trace may stay: it counts pages of libjvm's code that differ from the file, before, during and after. --loads="tomcat spring
dropwizard" measures services. Use --no-async-profiler=1 for them: it can leave that code writable, and then no probe is put there."""
import contextlib
import re
import time

import common
import paired
from harness import proc

FLAMED = {"alloc probe": {"event": "alloc", "source": "probe"}, "alloc agent": {"event": "alloc", "source": "agent"}, "live": {"event": "live"}}
OTHERS = {"alloc": "event=alloc,alloc=524288"}
KINDS = ("Private_Dirty", "Anonymous")


def code_kib(pid: int) -> dict[str, int]:
    """Returns the KiB of libjvm's code that the process has a copy of, by smaps."""
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


LOADS = {"rate": rate, **{name: paired.web(name) for name in ("tomcat", "spring", "dropwizard")}}


def measure(name: str, options, library: str, folder: str, aims: common.Aims) -> None:
    with paired.beside(LOADS[name], options, library, folder, FLAMED, OTHERS) as (daemon, load, modes):
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
    paired.each(__doc__, LOADS, ("AllocRate", "Answers"), measure, megabytes=1000)


if __name__ == "__main__":
    main()
