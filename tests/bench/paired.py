# SPDX-License-Identifier: Apache-2.0
"""Compares the costs of profilers for one load in one run: slices without and with each, in random order, and the CPU time of the same
work. A ratio is of two slices of one round, with 95 % confidence. Also measures flamed's BPF programs by the kernel's own clock."""
import contextlib
import dataclasses
import os
import random
import tempfile
import time
import unittest

import common
import cost
import overhead
from events import capture
from harness import jvm, paths
from harness.daemon import Daemon

NONE = "none"
LEAD = 0.25 # seconds in which a profiler begins, and its end is over


class Counting(jvm.Obedient):
    """A program that prints how much it has done, for each line that it reads."""

    def __init__(self, version: int, *arguments: str):
        super().__init__(paths.jdk(version), *arguments)

    def line(self) -> list[int]:
        self.tell("")
        while line := self.process.stdout.readline():
            with contextlib.suppress(ValueError): # output of a profiler in the JVM
                return [int(word) for word in line.split()]
        raise RuntimeError("the load has ended: " + self.process.stderr.read()[-2000:])


@dataclasses.dataclass
class Slice:
    """Of each part of a load: CPU nanoseconds, and the amount of work."""
    ns: list[float]
    work: list[float]


class Load:
    """A program, one kind of work in units of so MANY, and its whole CPU time."""

    def __init__(self, program: Counting, unit: str, many: float = 1):
        self.program, self.pid, self.unit, self.many = program, program.pid, unit, many

    def read(self) -> Slice:
        return Slice([time.clock_gettime_ns(~self.pid << 3 | 2)], [self.program.line()[0] / self.many])

    def slice(self, seconds: float) -> Slice:
        before = self.read()
        time.sleep(seconds)
        after = self.read()
        return Slice([a - b for a, b in zip(after.ns, before.ns)], [a - b for a, b in zip(after.work, before.work)])


class MixedLoad(Load):
    """Mixed.java: its threads without the JVM's own, each by its own clock."""

    def read(self) -> Slice:
        said = self.program.line()
        return Slice(said[1::2], said[::2])


class ServiceLoad(Load):
    """A service of overhead.py: requests, and its threads' CPU time."""

    def __init__(self, service: overhead.WebLoad):
        self.service, self.pid, self.unit = service, service.pid, "request"

    def slice(self, seconds: float) -> Slice:
        before = self.service.cpu_ns()
        requests = self.service.requests(max(1, round(seconds))) # wrk accepts whole seconds only
        after = self.service.cpu_ns()
        return Slice([sum(ns - before.get(tid, 0) for tid, ns in after.items())], [requests])


def web(name: str):
    """Returns a function that makes a load of the service NAME."""
    return lambda options, _, stack: ServiceLoad(overhead.WebLoad(name, options, stack))


@contextlib.contextmanager
def apart(stack: contextlib.ExitStack):
    """With two or more processors, processes started within the block get the last one, and all later ones the others."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) > 1:
        os.sched_setaffinity(0, {processors[-1]})
    try:
        yield
    finally:
        if len(processors) > 1:
            os.sched_setaffinity(0, set(processors[:-1]))
            stack.callback(os.sched_setaffinity, 0, set(processors))


@contextlib.contextmanager
def asprof(pid: int, library: str, folder: str, options: str):
    """Runs async-profiler with OPTIONS, such as "event=wall,interval=10ms"."""
    file = f"file={folder}/asprof.collapsed,collapsed"
    common.load_agent(pid, library, f"start,{options},{file}")
    try:
        yield
    finally:
        common.load_agent(pid, library, "stop," + file)


def modes_of(daemon: Daemon, pid: int, library: str, folder: str, flamed: dict[str, dict], others: dict[str, str]) -> dict:
    """Returns name -> the context of a slice. FLAMED: parameters of captures; OTHERS: options of async-profiler, if there is its LIBRARY."""
    modes = {NONE: contextlib.nullcontext}
    for name, parameters in flamed.items():
        modes["flamed " + name] = lambda p=parameters: capture(daemon, pid=pid, **p)
    for name, options in others.items() if library else ():
        modes["async-profiler " + name] = lambda o=options: asprof(pid, library, folder, o)
    return modes


@contextlib.contextmanager
def beside(make, options, library: str, folder: str, flamed: dict[str, dict], others: dict[str, str]):
    """Starts a daemon, beside it the load of MAKE(options, folder, exit stack), and returns modes_of() both."""
    with contextlib.ExitStack() as stack:
        with apart(stack):
            load = make(options, folder, stack)
        if hasattr(load, "program"):
            stack.enter_context(load.program)
        daemon = stack.enter_context(Daemon("--recorder-hz", "0"))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-paired."))
        modes = modes_of(daemon, load.pid, library, scratch, flamed, others)
        time.sleep(3)
        yield daemon, load, modes


def rounds_of(load: Load, modes: dict, rounds: int, window: float) -> list[dict[str, Slice]]:
    found = []
    stolen = overhead.steal_ticks()
    for _ in range(rounds):
        one = {}
        for name in random.sample(list(modes), len(modes)):
            with modes[name]():
                time.sleep(LEAD)
                one[name] = load.slice(window)
            time.sleep(LEAD)
        found.append(one)
    print(f"  stolen from the machine meanwhile: {(overhead.steal_ticks() - stolen) / os.sysconf('SC_CLK_TCK'):.1f} CPU seconds")
    return found


def prices(rounds: list[dict[str, Slice]]) -> dict[str, list[float]]:
    """Returns name -> the relative additional CPU time of the same work, compared with that without a profiler in the same round."""
    plain = [r[NONE] for r in rounds]
    parts = [k for k in range(len(plain[0].ns)) if all(s.work[k] > 0 for s in plain)]
    each = {k: sum(s.ns[k] for s in plain) / sum(s.work[k] for s in plain) for k in parts}

    def price(s: Slice) -> float:
        return sum(s.ns[k] for k in parts) / sum(s.work[k] * each[k] for k in parts)

    return {name: [price(r[name]) / price(r[NONE]) - 1 for r in rounds] for name in rounds[0] if name != NONE}


def tell(load: Load, rounds: list[dict[str, Slice]], window: float) -> dict[str, tuple[float, float]]:
    """Prints a line for each profiler. Returns name -> the additional cost, and half of the interval around it."""
    ns, work = (sum(sum(getattr(r[NONE], key)) for r in rounds) for key in ("ns", "work"))
    seconds = len(rounds) * window
    single = len(rounds[0][NONE].ns) == 1
    each = f"; {ns / work:.0f} ns of CPU time a {load.unit}, {work / seconds:.0f} a second" if single else ""
    print(f"  without a profiler {100 * ns / 1e9 / seconds:.1f} % of a processor{each}")
    found = {}
    for name, values in prices(rounds).items():
        mean, half = found[name] = cost.robust(values)
        more = f"  {mean * ns / work:+.0f} ns a {load.unit}" if single else ""
        print(f"  {name:24} {100 * mean:+6.2f} % +-{100 * half:.2f} of {len(values)}{more}", flush=True)
    return found


def bpf(daemon: Daemon, load: Load, modes: dict, slices: int, window: float) -> dict[str, tuple[float, float]]:
    """Measures a run of flamed's programs by kernel.bpf_stats_enabled. The time includes its own clock (an empty program has some 44 ns).
    Most runs are switches or probes. Returns name -> the least of all slices, and us per sample by flamed's own clock."""
    found = {}
    for name in [n for n in modes if n.startswith("flamed ")]:
        each, shares, runs_each = [], [], []
        with modes[name](), cost.bpf_stats("1"):
            time.sleep(LEAD)
            before = common.metrics(daemon)
            for _ in range(slices):
                first, began = cost.bpf_programs(daemon), time.monotonic()
                load.slice(window)
                last, took = cost.bpf_programs(daemon), time.monotonic() - began
                ns, runs = (sum(last[p][i] - first.get(p, (0, 0))[i] for p in last) for i in (0, 1))
                each.append(ns / max(1, runs))
                shares.append(ns / 1e9 / took)
                runs_each.append(runs / took)
            after = common.metrics(daemon)
        samples, spent = (after[n] - before[n] for n in ("flamed_samples_total", "flamed_sample_seconds_total"))
        us = 1e6 * spent / max(1, samples)
        found[name] = (min(each), us)
        print(f"  {name:24} BPF: {min(each):.0f} ns a run at least, {common.median(each):.0f} median of {slices}; {common.median(runs_each):.0f} runs a "
              f"second, {100 * common.median(shares):.2f} % of a processor; a sample {us:.1f} us of {samples:.0f}", flush=True)
    return found


def each(text: str, loads: dict, sources: tuple[str, ...], measure, **more) -> None:
    """Runs a script described by TEXT: MEASURE(name, options, async-profiler's library or "", folder of classes, aims) for each requested
    one of LOADS. MORE: its own options."""
    options = common.arguments(text, jdk=17, loads=" ".join(loads), rounds=20, window=1.0, bpf_slices=20, no_async_profiler=0, **more)
    aims = common.Aims(options.check)
    library = "" if options.no_async_profiler else common.async_profiler()
    print(f"async-profiler {common.ASYNC_PROFILER}" if library else "without async-profiler")
    paths.need_root()
    classes = common.compile_bench(*sources)
    for name in options.loads.split():
        try:
            measure(name, options, library, classes.folder, aims)
        except unittest.SkipTest as e:
            print(f"{name}: skipped: {e}")
    aims.exit()
