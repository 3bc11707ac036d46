# SPDX-License-Identifier: Apache-2.0
"""The loss of a sampled program: work per CPU second of the workers, with each profiler on and off in turn, in one JVM. Each short slice is
compared with the slices before and after it without a profiler. It runs at 9,999 Hz, where the loss exceeds the noise; the cost of one
sample is the loss divided by the rate. `--load=tomcat --hz=99 --window=2`: the loss of a service at a usual rate, in requests per CPU
second.

Compared with an empty BPF program at the same rate (the floor: the timer interrupt itself), `perf record -g -p` and, if it is available,
async-profiler."""
import contextlib
import os
import re
import subprocess
import tempfile
import time

import common
import services
from harness import jvm, paths
from harness.daemon import Daemon

LEAD = 0.25 # seconds in which a profiler begins, or its end is over
FLOOR, PERF, NOTHING = "empty BPF program", "perf record -g -p", "none, twice"


def compile_floor() -> str:
    out = os.path.join(tempfile.mkdtemp(prefix="flamed-floor."), "floor")
    subprocess.run(["cc", "-O2", "-Wall", "-o", out, os.path.join(common.HERE, "floor.c")], check=True)
    return out


def steal_ticks() -> int:
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8])


def rotated(names: list[str], by: int) -> list[str]:
    return names[by % len(names):] + names[:by % len(names)]


def uncertainty(values: list[float]) -> float:
    """Returns the uncertainty of their median, as two standard errors: by their quartiles, which single outliers do not move."""
    spread = (common.percentile(values, 0.75) - common.percentile(values, 0.25)) / 1.349
    return 2 * 1.253 * spread / len(values) ** 0.5


class MixLoad:
    """Work per CPU second of the workers of Mix, without time stolen from the machine."""

    def __init__(self, options, stack: contextlib.ExitStack):
        self.mix = stack.enter_context(common.Mix(options.jdk, jvm.FRAME_POINTERS, *options.java_option))
        self.pid, self.window = self.mix.pid, options.window

    def rate(self) -> float:
        before = self.mix.used()
        time.sleep(self.window)
        spent = common.difference(self.mix.used(), before)
        work = spent.pop("work")
        del spent["runs"]
        return work / (sum(spent.values()) / 1e9)


class WebLoad:
    """Requests of wrk that the service NAME of services.py answers, per CPU second of its threads."""

    def __init__(self, name: str, options, stack: contextlib.ExitStack):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"flamed-{name}.", ignore_cleanup_errors=True))
        java = paths.jdk(options.jdk) + "/bin/java"
        self.pid, urls = stack.enter_context(services.SERVICES[name](java, folder, [jvm.FRAME_POINTERS, *options.java_option]))
        # Tomcat's servlet: a JSP begins a session with each request of wrk, which fill the heap within a minute.
        self.url, self.window = urls[-1], options.window
        for _ in range(4): # hot code gets compiled
            self.requests(2)

    def requests(self, seconds: float) -> int:
        root = services.debian()
        out = subprocess.run([root + "/usr/bin/wrk", "-t1", "-c4", f"-d{seconds:g}", self.url], capture_output=True, text=True, check=True,
                             env={**os.environ, "LD_LIBRARY_PATH": root + "/usr/lib/x86_64-linux-gnu"}).stdout
        return int(re.search(r"(\d+) requests in", out)[1])

    def cpu_ns(self) -> dict[str, int]:
        found = {}
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{self.pid}/task/{tid}/schedstat", encoding="ascii") as f:
                found[tid] = int(f.read().split()[0])
        return found

    def rate(self) -> float:
        before = self.cpu_ns()
        requests = self.requests(self.window)
        after = self.cpu_ns()
        return requests / (sum(ns - before.get(tid, 0) for tid, ns in after.items()) / 1e9)


def flamed_seconds(options) -> float:
    return options.window + 1.5 * LEAD


def captured(daemon: Daemon) -> float:
    """Returns the samples so far, without those of the flight recorder."""
    said = common.metrics(daemon)
    return said["flamed_samples_total"] - said.get("flamed_flight_recorder_samples_total", 0)


class Perf:
    """perf record, which runs all the time and is told when to count."""

    def __init__(self, pid: int, period: int, folder: str, frames: int = 127):
        self.control, self.ack, self.data = (f"{folder}/{name}" for name in ("control", "ack", "perf.data"))
        os.mkfifo(self.control)
        os.mkfifo(self.ack)
        self.process = subprocess.Popen(["perf", "record", "-q", "-e", f"cpu-clock/max-stack={frames}/", "-g", "-c", str(period), "-p", str(pid), "-D", "-1",
                                         "--control", f"fifo:{self.control},{self.ack}", "-o", self.data],
                                        stderr=subprocess.DEVNULL)

    def tell(self, what: str) -> None:
        with open(self.control, "w", encoding="ascii") as control, open(self.ack, encoding="ascii") as ack:
            control.write(what + "\n")
            control.flush()
            if not ack.readline().startswith("ack"):
                raise RuntimeError(f"perf does not {what}")

    def start(self):
        self.tell("enable")
        return lambda: self.tell("disable")

    def samples(self) -> int:
        """Ends it."""
        self.process.terminate()
        self.process.wait()
        said = subprocess.run(["perf", "report", "--stats", "-i", self.data], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL).stdout
        found = re.search(r"SAMPLE events: +(\d+)", said)
        return int(found[1]) if found else 0


def ended(process: subprocess.Popen) -> None:
    if process.wait() != 0:
        raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")


def profilers_of(pid: int, daemon: Daemon, options, perf: Perf, folder: str) -> dict:
    """Name -> what starts it and returns what stops it."""
    floor = compile_floor()
    library = "" if options.no_async_profiler else common.async_profiler()
    period = 1000000000 // options.hz

    def flamed():
        process = subprocess.Popen(["curl", "-sf", "-o", os.devnull, f"http://127.0.0.1:{daemon.port}/profile?pid={pid}&hz={options.hz}"
                                    f"&seconds={flamed_seconds(options)}&symbols=memory&format=collapsed"])
        return lambda: ended(process)

    def empty():
        process = subprocess.Popen([floor, str(options.hz)], stdout=subprocess.DEVNULL)
        return process.kill

    def asprof():
        file = f"file={folder}/out.collapsed,collapsed"
        common.load_agent(pid, library, f"start,event=cpu,interval={period}ns,{file}")
        return lambda: common.load_agent(pid, library, "stop," + file)

    found = {FLOOR: empty, "flamed": flamed, PERF: perf.start}
    if library:
        found["async-profiler"] = asprof
    return found


def compare(load, profilers: dict, options) -> dict[str, list[float]]:
    """Name -> the load's rate with it in relation to that without, before and behind it; one of each in turn."""
    ratios: dict[str, list[float]] = {}
    stolen = steal_ticks()
    before = load.rate()
    for pair in range(options.pairs):
        for name in rotated(list(profilers), pair):
            stop = profilers[name]()
            time.sleep(LEAD)
            on = load.rate()
            stop()
            time.sleep(LEAD)
            after = load.rate()
            ratios.setdefault(name, []).append(2 * on / (before + after))
            ratios.setdefault(NOTHING, []).append(after / before)
            before = after
        print(f"pair {pair + 1}: " + ", ".join(f"{name} {100 * (values[-1] - 1):+.1f} %" for name, values in ratios.items()), flush=True)
    print(f"stolen from the machine meanwhile: {(steal_ticks() - stolen) / os.sysconf('SC_CLK_TCK'):.1f} CPU seconds")
    return ratios


def main() -> None:
    options = common.arguments(__doc__, jdk=17, load="mix", hz=9999, window=0.4, pairs=24, no_async_profiler=0)
    aims = common.Aims(options.check)
    with contextlib.ExitStack() as stack:
        stack.enter_context(common.sample_rates())
        load = MixLoad(options, stack) if options.load == "mix" else WebLoad(options.load, options, stack)
        daemon = stack.enter_context(Daemon())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-overhead."))
        # The same period for all: a frequency is adapted, and fewer samples are taken.
        perf = Perf(load.pid, 1000000000 // options.hz, folder)
        stack.callback(perf.process.kill)
        time.sleep(3)
        before, first = captured(daemon), common.metrics(daemon)
        ratios = compare(load, profilers_of(load.pid, daemon, options, perf, folder), options)
        due = options.pairs * options.hz * common.processors()
        taken = {"flamed": (captured(daemon) - before) / (due * flamed_seconds(options)),
                 PERF: perf.samples() / (due * (options.window + LEAD))}
        print("taken of the samples that are due when all processors are the load's: "
              + ", ".join(f"{name} {100 * share:.0f} %" for name, share in taken.items()))
        spent, samples = (common.metrics(daemon)[name] - first[name] for name in ("flamed_sample_seconds_total", "flamed_samples_total"))
        each = spent / max(1, samples)
        print(f"by flamed's own clock in the kernel: {1e6 * each:.1f} us a sample, of {samples:.0f}: {100 * each * options.hz:.3f} % of the CPU time")
    cost, loss = {}, {}
    for name, values in ratios.items():
        loss[name] = 1 - common.median(values)
        cost[name] = 1e6 * loss[name] / options.hz
        print(f"{name:20} {-100 * loss[name]:+6.1f} % +-{100 * uncertainty(values):.1f} of {len(values)} "
              f"[{100 * (min(values) - 1):+.1f}..{100 * (max(values) - 1):+.1f}]  "
              f"{cost[name]:5.1f} us a sample  {-100 * loss[name] * 99 / options.hz:+.3f} % at 99 Hz")
    if options.load == "mix":
        aims.aim("not more than perf", cost["flamed"] <= cost[PERF])
        aims.aim("within 3 us of the floor", cost["flamed"] <= cost[FLOOR] + 3)
    else:
        aims.aim("nothing measurable is lost", loss["flamed"] <= uncertainty(ratios["flamed"]))
    aims.exit()


if __name__ == "__main__":
    main()
