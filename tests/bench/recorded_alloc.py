# SPDX-License-Identifier: Apache-2.0
"""The cost of recorder_alloc: CPU time of the same work of a JVM that allocates 1 GB a second, and of flamed itself, in slices beside a
flamed without and with the option in random order (paired.py). Also what flamed's BPF programs take by the kernel's own clock."""
import contextlib
import random
import time

import alloc_cost
import common
import cost
import paired
from harness import proc
from harness.daemon import Daemon

OPTION = "recorder_alloc"
AIM_JVM, AIM_FLAMED = 0.02, 0.5 # of the JVM's CPU time; percent of a processor


def cpu(daemon: Daemon) -> float:
    return sum(proc.cpu_seconds(pid) for pid in daemon.pids())


def programs(daemon: Daemon) -> int:
    """Returns the nanoseconds of all of flamed's BPF programs."""
    return sum(ns for ns, _ in cost.bpf_programs(daemon).values())


def one_slice(load: paired.Load, mode: str, options) -> tuple[paired.Slice, float, float, float]:
    """Returns the JVM's work, the CPU time of flamed and of its BPF programs in percent of a processor, and the samples a second."""
    with Daemon("--recorder-alloc", "no" if mode == paired.NONE else "yes") as daemon, cost.bpf_stats("1"):
        time.sleep(options.settle) # the JVM has its probes, and all code is known
        before, ns, begun = cpu(daemon), programs(daemon), time.time()
        slice_ = load.slice(options.window)
        used, took = cpu(daemon) - before, time.time() - begun
        spent = (programs(daemon) - ns) / 1e9
        answer = daemon.get("/profile", pid=load.pid, event="alloc", format="json", **{"from": f"-{took:.3f}s"})
        samples = answer.json()["quality"]["samples"] / took if answer.status == 200 else 0
    return slice_, 100 * used / took, 100 * spent / took, samples


def measure(name: str, options, _: str, folder: str, aims: common.Aims) -> None:
    rounds, used, spent, rates = [], {paired.NONE: [], OPTION: []}, {paired.NONE: [], OPTION: []}, []
    with contextlib.ExitStack() as stack:
        with paired.apart(stack):
            load = alloc_cost.LOADS[name](options, folder, stack)
        if hasattr(load, "program"):
            stack.enter_context(load.program)
        print(f"{name}, JDK {options.jdk}, {options.rounds} rounds of {options.window:.0f} s", flush=True)
        for _round in range(options.rounds):
            one = {}
            for mode in random.sample(list(used), len(used)):
                one[mode], percent, programs_, samples = one_slice(load, mode, options)
                used[mode].append(percent)
                spent[mode].append(programs_)
                if mode == OPTION:
                    rates.append(samples)
            rounds.append(one)
        more, _half = paired.tell(load, rounds, options.window)[OPTION]
    mean, half = cost.robust([on - off for on, off in zip(used[OPTION], used[paired.NONE])])
    print(f"  flamed without it {common.median(used[paired.NONE]):.2f} % of a processor, with it {mean:+.2f} +-{half:.2f}; "
          f"{common.median(rates):.1f} samples a second; BPF programs {common.median(spent[paired.NONE]):.3f} and "
          f"{common.median(spent[OPTION]):.3f} %", flush=True)
    aims.aim(f"{name}: {100 * AIM_JVM:.0f} % of the JVM's CPU time at most", more <= AIM_JVM)
    aims.aim(f"{name}: {AIM_FLAMED} % of a processor more for flamed at most", mean <= AIM_FLAMED)
    aims.aim(f"{name}: there are samples", common.median(rates) > 5)


def main() -> None:
    paired.each(__doc__, {"rate": alloc_cost.rate}, ("AllocRate", "Answers"), measure, megabytes=1000, settle=9.0)


if __name__ == "__main__":
    main()
