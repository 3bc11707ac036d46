# SPDX-License-Identifier: Apache-2.0
"""The cost of a sample for the sampled program: with flamed, with `perf record -g`, and with an empty BPF program (the floor: the timer
interrupt itself). One JVM runs on one processor, and everything else on another. Each has slices of half a second in random order, and
the measure is the CPU time of the same work. Results have 95 % confidence, by robust means of the differences within one round.

The load is Mix. Each of its sections counts by the CPU time that one run of it takes without a profiler. So the mix of sections within a
slice does not matter. `--perf-frames=1024`: perf, too, takes stacks with that many frames. `--bpf-seconds=5`: also measures the BPF
program's run time, by the kernel's own clock."""
import contextlib
import dataclasses
import math
import os
import random
import subprocess
import tempfile
import threading
import time

import common
import overhead
from harness import jvm, proc
from harness.daemon import Daemon

LEAD = 0.1 # seconds in which a profiler begins, or its end is over
TRIM = 0.1 # of the slices at either end
NONE = "no profiler"


@dataclasses.dataclass
class Slice:
    """CPU nanoseconds of each section, and its number of runs."""
    ns: list[int]
    runs: list[int]

    def cost(self, each: list[float]) -> float:
        """Returns the CPU time relative to that of the same runs by EACH."""
        return sum(self.ns) / sum(n * ns for n, ns in zip(self.runs, each))


def read(mix: common.Mix) -> Slice:
    said = mix.used()
    del said["runs"], said["work"]
    return Slice(list(said.values()), mix.each)


def measure(mix: common.Mix, window: float) -> Slice:
    before = read(mix)
    time.sleep(window)
    after = read(mix)
    return Slice([a - b for a, b in zip(after.ns, before.ns)], [a - b for a, b in zip(after.runs, before.runs)])


def robust(values: list[float]) -> tuple[float, float]:
    """Returns the trimmed mean, and half of its 95 % confidence interval (Yuen)."""
    ordered, n = sorted(values), len(values)
    cut = int(TRIM * n)
    kept = ordered[cut:n - cut]
    mean = sum(kept) / len(kept)
    pulled = [min(max(v, kept[0]), kept[-1]) for v in ordered]
    middle = sum(pulled) / n
    spread = math.sqrt(sum((v - middle) ** 2 for v in pulled) / (n - 1))
    return mean, 1.96 * spread / ((1 - 2 * TRIM) * math.sqrt(n))


def profilers_of(pid: int, daemon: Daemon, options, perf: overhead.Perf) -> dict:
    """Returns name -> a function that starts it and returns one that stops it."""
    floor = overhead.compile_floor()
    seconds = options.window + 2 * LEAD

    def flamed():
        thread = threading.Thread(target=lambda: daemon.get("/profile", pid=pid, hz=options.hz, seconds=seconds, symbols="memory",
                                                            format="summary", timeout=60))
        thread.start()
        return thread.join

    def empty():
        process = subprocess.Popen([floor, str(options.hz)], stdout=subprocess.DEVNULL)

        def stop() -> None:
            process.kill()
            process.wait()
        return stop

    return {NONE: lambda: lambda: None, overhead.FLOOR: empty, "flamed": flamed, overhead.PERF: perf.start}


def ran_ns(pid: int) -> int:
    """Returns the CPU time of all its threads, by the scheduler's clock."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            total += int(proc.read(f"/proc/{pid}/task/{tid}/schedstat").split()[0])
    return total


def slices(mix: common.Mix, profilers: dict, options, shares: dict[str, list[float]]) -> list[dict[str, Slice]]:
    """Runs one round after the other, for OPTIONS.seconds. SHARES: the JVM's share of its processor in each slice."""
    rounds = []
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        found = {}
        for name in random.sample(list(profilers), len(profilers)):
            ran, began = ran_ns(mix.pid), time.monotonic_ns()
            stop = profilers[name]()
            time.sleep(LEAD)
            found[name] = measure(mix, options.window)
            stop()
            shares.setdefault(name, []).append((ran_ns(mix.pid) - ran) / (time.monotonic_ns() - began))
            time.sleep(LEAD)
        rounds.append(found)
    return rounds


def costs(rounds: list[dict[str, Slice]]) -> dict[str, list[float]]:
    """Returns name -> the relative additional CPU time of the work, compared with that without a profiler in the same round."""
    plain = [r[NONE] for r in rounds]
    sections = range(len(plain[0].ns))
    each = [sum(s.ns[k] for s in plain) / max(1, sum(s.runs[k] for s in plain)) for k in sections]
    return {name: [r[name].cost(each) / r[NONE].cost(each) - 1 for r in rounds] for name in rounds[0] if name != NONE}


@contextlib.contextmanager
def written(path: str, text: str):
    """Sets a setting of the kernel to TEXT during the block."""
    before = proc.read(path)

    def write(what: str) -> None:
        if what.strip() != proc.read(path).strip():
            with open(path, "w", encoding="ascii") as f:
                f.write(what)

    write(text)
    try:
        yield
    finally:
        write(before)


def bpf_stats(to: str):
    """Returns true if the kernel measures the time of BPF programs. It does so for flamed and the floor, and not for perf."""
    return written("/proc/sys/kernel/bpf_stats_enabled", to)


def tell_sections(rounds: list[dict[str, Slice]], names: list[str]) -> None:
    """Prints the additional cost of each section with each profiler."""
    for k, section in enumerate(names):
        each = {name: sum(r[name].ns[k] for r in rounds) / max(1, sum(r[name].runs[k] for r in rounds)) for name in rounds[0]}
        print(f"  {section:16} " + ", ".join(f"{name} {100 * (ns / each[NONE] - 1):+.1f} %" for name, ns in each.items() if name != NONE))


def bpf_programs(daemon: Daemon) -> dict[str, tuple[int, int]]:
    """Returns id -> run_time_ns, run_cnt of the programs that flamed's processes hold."""
    found = {}
    for pid in daemon.pids():
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            with contextlib.suppress(OSError):
                info = dict(line.split(":", 1) for line in proc.read(f"/proc/{pid}/fdinfo/{fd}").splitlines() if ":" in line)
                if "run_cnt" in info:
                    found[info["prog_id"].strip()] = (int(info["run_time_ns"]), int(info["run_cnt"]))
    return found


def tell_bpf(daemon: Daemon, pid: int, options) -> None:
    """Measures by kernel.bpf_stats_enabled, which itself adds a little time to each run."""
    with bpf_stats("1"):
        first, said = bpf_programs(daemon), common.metrics(daemon)
        daemon.profile(pid=pid, seconds=options.bpf_seconds, hz=options.hz, symbols="memory")
        last, now = bpf_programs(daemon), common.metrics(daemon)
    samples = now["flamed_samples_total"] - said["flamed_samples_total"]
    ns, runs = (sum(last[p][i] - first.get(p, (0, 0))[i] for p in last) for i in (0, 1))
    own = 1e6 * (now["flamed_sample_seconds_total"] - said["flamed_sample_seconds_total"]) / max(1, samples)
    print(f"BPF: {runs} runs, {ns / max(1, runs):.0f} ns each, those on the other processors among them; {samples:.0f} samples, "
          f"{ns / 1000 / max(1, samples):.2f} us of BPF for each, {own:.2f} us by flamed's own clock")


def main() -> None:
    options = common.arguments(__doc__, jdk=17, hz=9999, window=0.3, seconds=95.0, bpf_seconds=0.0, perf_frames=127)
    aims = common.Aims(options.check)
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise SystemExit("needs two processors")
    with contextlib.ExitStack() as stack:
        stack.enter_context(common.sample_rates())
        os.sched_setaffinity(0, {processors[-1]})
        mix = stack.enter_context(common.Mix(options.jdk, jvm.FRAME_POINTERS, "-XX:+UseSerialGC", *options.java_option))
        os.sched_setaffinity(0, set(processors[:-1]))
        # While no stacks are taken: cannot be changed later.
        stack.enter_context(written("/proc/sys/kernel/perf_event_max_stack", str(options.perf_frames)))
        daemon = stack.enter_context(Daemon("--recorder-hz", "0"))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-cost."))
        perf = overhead.Perf(mix.pid, 1000000000 // options.hz, folder, options.perf_frames)
        stack.callback(perf.process.wait)
        stack.callback(perf.process.kill)
        time.sleep(3)
        if options.bpf_seconds:
            tell_bpf(daemon, mix.pid, options)
        sections = [name for name in mix.used() if "$" in name]
        stolen, before = overhead.steal_ticks(), overhead.captured(daemon)
        with bpf_stats("0"):
            shares: dict[str, list[float]] = {}
            rounds = slices(mix, profilers_of(mix.pid, daemon, options, perf), options, shares)
        stolen = (overhead.steal_ticks() - stolen) / os.sysconf("SC_CLK_TCK")
        due = {name: sum(s) * options.hz for name, s in shares.items()}
        print(f"{len(rounds)} rounds; stolen from the machine meanwhile: {stolen:.1f} CPU seconds; the JVM had "
              f"{100 * sum(shares['flamed']) / len(rounds):.1f} % of its processor with flamed, {100 * sum(shares[overhead.PERF]) / len(rounds):.1f} % "
              f"with perf; taken of the samples that are due in that time: "
              f"flamed {100 * (overhead.captured(daemon) - before) / due['flamed'] / (options.window + 2 * LEAD):.1f} %, "
              f"perf {100 * perf.samples() / due[overhead.PERF] / (options.window + LEAD):.1f} %")
    tell_sections(rounds, sections)
    found = costs(rounds)
    found["flamed less the floor"] = [a - b for a, b in zip(found["flamed"], found[overhead.FLOOR])]
    found["flamed less perf"] = [a - b for a, b in zip(found["flamed"], found[overhead.PERF])]
    us = {}
    for name, values in found.items():
        mean, half = robust(values)
        us[name] = 1e6 * mean / options.hz
        print(f"{name:22} {100 * mean:+6.2f} % +-{100 * half:.2f} of {len(values)}  {us[name]:+6.2f} us a sample +-{1e6 * half / options.hz:.2f}")
    aims.aim("not more than perf", us["flamed less perf"] <= 0)
    aims.aim("within 3 us of the floor", us["flamed less the floor"] <= 3)
    aims.exit()


if __name__ == "__main__":
    main()
