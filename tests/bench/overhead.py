# SPDX-License-Identifier: Apache-2.0
"""What sampling takes from the sampled: operations per CPU second of the workers, with each profiler on and off in
turn, in one JVM. At 9,999 Hz, where it shows above the noise; the cost of one sample is the loss divided by the rate.

Compared with an empty BPF program at the same rate (the floor: the timer interrupt itself), `perf record -g -p` and,
where it can be had, async-profiler."""
import os
import subprocess
import sys
import tempfile
import time

import common
from harness import jvm
from harness.daemon import Daemon


def compile_floor() -> str:
    out = os.path.join(tempfile.mkdtemp(prefix="flamed-floor."), "floor")
    subprocess.run(["cc", "-O2", "-Wall", "-o", out, os.path.join(common.HERE, "floor.c")], check=True)
    return out


def main() -> None:
    options = common.arguments(__doc__, jdk=17, hz=9999, window=3.0, pairs=4, no_async_profiler=0)
    aims = common.Aims(options.check)
    floor = compile_floor()
    ratios: dict[str, list[float]] = {}
    library = common.async_profiler()
    period = 1000000000 // options.hz # the same for all: a frequency is adapted, and fewer samples are taken
    with common.sample_rates(), common.Mix(options.jdk, jvm.FRAME_POINTERS, *options.java_option) as target, Daemon() as daemon, \
            tempfile.TemporaryDirectory(prefix="flamed-overhead.") as folder:
        time.sleep(5)

        def flamed(seconds):
            return subprocess.Popen(["curl", "-sf", "-o", os.devnull, f"http://127.0.0.1:{daemon.port}/profile?pid={target.pid}"
                                     f"&hz={options.hz}&seconds={seconds}&symbols=memory&format=collapsed"])

        def perf(seconds):
            return subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-g", "-c", str(period), "-p", str(target.pid),
                                     "-o", folder + "/perf.data", "sleep", str(seconds)], stderr=subprocess.DEVNULL)

        def empty(seconds):
            return subprocess.Popen(["timeout", str(seconds), floor, str(options.hz)], stdout=subprocess.DEVNULL)

        def asprof(seconds):
            file = f"file={folder}/out.collapsed,collapsed"
            common.load_agent(target.pid, library, f"start,event=cpu,interval={period}ns,{file}")
            return subprocess.Popen([sys.executable, "-c", f"import sys, time; sys.path.insert(0, {common.HERE!r}); import common; "
                                     f"time.sleep({seconds}); common.load_agent({target.pid}, {library!r}, {'stop,' + file!r})"])

        profilers = {"empty BPF program": empty, "flamed": flamed, "perf record -g -p": perf}
        if library and not options.no_async_profiler:
            profilers["async-profiler"] = asprof

        def rate() -> float:
            """Sections per CPU second of the workers over a window."""
            before = target.used()
            time.sleep(options.window)
            spent = common.difference(target.used(), before)
            runs = spent.pop("runs")
            return runs / (sum(spent.values()) / 1e9)

        for pair in range(options.pairs):
            for name, start in profilers.items():
                order = (False, True) if pair % 2 else (True, False)
                got = {}
                for on in order:
                    process = start(options.window + 2) if on else None
                    time.sleep(1)
                    got[on] = rate()
                    if process and process.wait() not in (0, 124): # 124: as timeout(1) ends the floor
                        raise RuntimeError(f"{name} ended with {process.returncode}")
                ratios.setdefault(name, []).append(got[True] / got[False])
                print(f"pair {pair + 1}, {name}: {100 * (ratios[name][-1] - 1):+.1f} %")
    cost = {}
    for name, values in ratios.items():
        loss = 1 - common.median(values)
        cost[name] = 1e6 * loss / options.hz
        print(f"{name:20} {-100 * loss:+6.1f} % [{100 * (min(values) - 1):+.1f}..{100 * (max(values) - 1):+.1f}]  "
              f"{cost[name]:5.1f} us a sample  {-100 * loss * 99 / options.hz:+.3f} % at 99 Hz")
    aims.aim("not more than perf", cost["flamed"] <= cost["perf record -g -p"])
    aims.aim("within 3 us of the floor", cost["flamed"] <= cost["empty BPF program"] + 3)
    aims.exit()


if __name__ == "__main__":
    main()
