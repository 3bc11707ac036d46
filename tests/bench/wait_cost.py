# SPDX-License-Identifier: Apache-2.0
"""The cost of events of waits for the waiting programs, compared with async-profiler if it is available: CPU time of the same work, in
slices without and with each profiler in random order (paired.py), and the time of a switch by the kernel's own clock of BPF programs.

Loads: two threads that park and wake one another on one processor (the worst case), the fourteen kinds of threads of Mixed.java, 1,000
threads that wait, Tomcat under wrk."""
import contextlib
import time

import common
import paired

FLAMED = {event: {"event": event, "interval": "10ms"} for event in ("offcpu", "wall", "lock", "nativelock")}
OTHERS = {"wall": "event=wall,interval=10ms", "lock": "event=lock"}
FEWER = {"tomcat": ("offcpu", "wall", "lock")} # for flamed: one request takes longer to measure


def ping_pong(options, folder: str, _: contextlib.ExitStack) -> paired.Load:
    return paired.Load(paired.Counting(options.jdk, *options.java_option, "-Xmx64m", "-cp", folder, "PingPong"), "turn")


def waits(options, folder: str, _: contextlib.ExitStack) -> paired.Load:
    return paired.Load(paired.Counting(options.jdk, *options.java_option, "-Xmx256m", "-Xss512k", "-cp", folder, "Waits", str(options.threads)),
                       "turn")


def mixed(options, folder: str, _: contextlib.ExitStack) -> paired.Load:
    return paired.MixedLoad(paired.Counting(options.jdk, *options.java_option, "-Xmx512m", "-cp", folder, "Mixed", "3600"), "run")


LOADS = {"pingpong": ping_pong, "waits": waits, "mixed": mixed, "tomcat": paired.web("tomcat")}


def measure(name: str, options, library: str, folder: str, aims: common.Aims) -> None:
    flamed = {event: FLAMED[event] for event in FEWER.get(name, FLAMED)}
    with paired.beside(LOADS[name], options, library, folder, flamed, OTHERS) as (daemon, load, modes):
        for start in modes.values(): # loads libraries that are loaded once
            with start():
                time.sleep(paired.LEAD)
        print(f"{name}, JDK {options.jdk}", flush=True)
        runs = paired.bpf(daemon, load, modes, options.bpf_slices, min(0.5, options.window)) if options.bpf_slices else {}
        found = paired.tell(load, paired.rounds_of(load, modes, options.rounds, options.window), options.window)
    for mode, (least, us) in runs.items():
        if name == "pingpong" and mode != "flamed wall":
            aims.aim(f"{name}, {mode}: a switch takes 150 ns at most", least <= 150)
        if mode != "flamed nativelock": # Java's waits are checked, too, and do not count
            aims.aim(f"{name}, {mode}: a sample takes 15 us at most", us <= 15)
    for mode, (more, half) in found.items():
        if mode.startswith("flamed "):
            if name == "pingpong":
                aims.aim(f"{name}, {mode}: 15 % at most", more <= 0.15)
            elif name == "waits": # each wait is a sample
                aims.aim(f"{name}, {mode}: less than async-profiler's wall", more <= found.get("async-profiler wall", (more, 0))[0])
            else:
                aims.aim(f"{name}, {mode}: nothing measurable", more - half <= 0)


def main() -> None:
    paired.each(__doc__, LOADS, ("PingPong", "Waits", "Mixed", "Answers"), measure, threads=1000)


if __name__ == "__main__":
    main()
