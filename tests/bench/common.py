# SPDX-License-Identifier: Apache-2.0
"""Shared by the benchmarks: the harness of tests/jvm, the load Mix, tables, readings of /metrics, async-profiler."""
import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jdkroot, jvm, paths, proc # pylint: disable=wrong-import-position

ASYNC_PROFILER = "4.5"
HERE = os.path.dirname(os.path.abspath(__file__))


def arguments(description: str, **defaults) -> argparse.Namespace:
    """Parses options --NAME=VALUE with the types of their defaults. --check makes missed aims an error."""
    parser = argparse.ArgumentParser(description=description)
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), default=value, type=type(value),
                            help=f"default {value}")
    parser.add_argument("--check", action="store_true", help="exit 1 where an aim is missed")
    parser.add_argument("--java-option", action="append", default=[], help="passed to the JVM; repeatable")
    return parser.parse_args()


def compile_bench(*names: str) -> jvm.Classes:
    classes = jvm.Classes()
    if "Mix" in names:
        # More than 8,000 bytes of bytecode: HotSpot never compiles it.
        source = os.path.join(classes.folder, "MixInterp.java")
        with open(source, "w", encoding="ascii") as f:
            f.write("final class MixInterp {\n    static long interpWork(long s) {\n")
            f.write("        s ^= s << 13;\n        s ^= s >>> 7;\n        s ^= s << 17;\n" * 520)
            f.write("        return s;\n    }\n}\n")
        classes.compile(source)
    classes.compile(*(os.path.join(HERE, name + ".java") if os.path.exists(os.path.join(HERE, name + ".java"))
                      else name + ".java" for name in names))
    return classes


class Mix(jvm.Obedient):
    """The load with a known truth."""

    def __init__(self, version: int, *options: str, wrap: list[str] | None = None):
        self.classes = compile_bench("Mix")
        home, classes, inside = jdkroot.alone(version, self.classes.folder)
        super().__init__(home, *options, "-Xmx256m", "-cp", classes, "Mix", wrap=[*(wrap or []), *inside])

    each: list[int] # runs of each section at the last used()

    def used(self) -> dict[str, int]:
        """Returns CPU nanoseconds of each section so far, "runs", and "work": the sum of the weights of those runs."""
        self.tell("")
        line = self.process.stdout.readline()
        while line and not line.startswith("{"): # output of a profiler in the JVM
            line = self.process.stdout.readline()
        said = json.loads(line)
        self.each = said.pop("each")
        return said


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {key: after[key] - before[key] for key in after}


def processors() -> int:
    return len(os.sched_getaffinity(0))


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextlib.contextmanager
def sample_rates():
    """Makes the kernel allow the highest rates, without lowering them if interrupts take long: it would drop samples, of one profiler more
    than of another."""
    paths_of = ["/proc/sys/kernel/perf_event_max_sample_rate", "/proc/sys/kernel/perf_cpu_time_max_percent"]

    def write(path: str, text: str) -> None:
        with open(path, "w", encoding="ascii") as f:
            f.write(text)

    before = [proc.read(path).strip() for path in paths_of]
    write(paths_of[1], "25") # while it is 0 or 100 the other one cannot be set
    write(paths_of[0], "100000")
    write(paths_of[1], "0")
    try:
        yield
    finally:
        write(paths_of[1], "25")
        write(paths_of[0], before[0])
        write(paths_of[1], before[1])


def metrics(daemon) -> dict[str, float]:
    """Returns series -> value, from /metrics."""
    found = {}
    for line in daemon.get("/metrics", unix=True).text.splitlines():
        if line and not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            found[series] = float(value)
    return found


def delays(after: dict[str, float], before: dict[str, float]) -> tuple[str, float]:
    """Returns a sentence about flamed_sample_delay_seconds between two readings, and the share within 20 ms."""
    name = "flamed_sample_delay_seconds"
    total = after[name + "_count"] - before[name + "_count"]
    within = {float(series.split('"')[1]): value - before[series] for series, value in after.items()
              if series.startswith(name + "_bucket") and "Inf" not in series}
    p99 = next((f"{1000 * bound:g} ms" for bound, n in sorted(within.items()) if n >= 0.99 * total), "over 2 s")
    mean = 1000 * (after[name + "_sum"] - before[name + "_sum"]) / max(1, total)
    return (f"from a sample to its names: mean {mean:.1f} ms, 99 % within {p99}, {100 * within[0.02] / max(1, total):.3f} % within 20 ms "
            f"({total:.0f} samples)"), within[0.02] / max(1, total)


def load_agent(pid: int, library: str, options: str) -> None:
    """Makes the JVM of the bench's load load LIBRARY, by the attach protocol."""
    address = f"/tmp/.java_pid{pid}"
    if not os.path.exists(address):
        mark = f"/tmp/.attach_pid{pid}"
        with open(mark, "w", encoding="ascii"):
            pass
        os.kill(pid, signal.SIGQUIT)
        end = time.monotonic() + 10
        while not os.path.exists(address) and time.monotonic() < end:
            time.sleep(0.02)
        os.unlink(mark)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address)
        s.sendall(b"".join(word.encode() + b"\0" for word in ("1", "load", library, "true", options)))
        answer = s.makefile("rb").read()
    if not answer.startswith(b"0\n"):
        raise RuntimeError(f"{library}: {answer!r}")


def async_profiler() -> str:
    """Returns the library of async-profiler from Maven Central; "" if it is not available."""
    folder = os.path.join(paths.CACHE, "async-profiler-" + ASYNC_PROFILER)
    library = folder + "/linux-x64/libasyncProfiler.so"
    if not os.path.exists(library):
        os.makedirs(folder, exist_ok=True)
        got = subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact=tools.profiler:async-profiler:{ASYNC_PROFILER}",
                              "-DoutputDirectory=" + folder], capture_output=True, stdin=subprocess.DEVNULL, cwd=folder, timeout=300)
        if got.returncode != 0:
            return ""
        with zipfile.ZipFile(f"{folder}/async-profiler-{ASYNC_PROFILER}.jar") as jar:
            jar.extract("linux-x64/libasyncProfiler.so", folder)
    return library


# The output of tests/bench/stacks.c, as a part and the whole.
STACKS_SAY = {"whole": r"java threads: (\d+) of (\d+) whole", "carriers": r"of these (\d+) of (\d+) on carriers",
           "exact": r"compiled code: (\d+) of (\d+) at", "leaf": r"of the others (\d+) of (\d+) called",
           "java": r"calls of Java by their relocation: (\d+) of (\d+) at", "invoke": r"interpreted callers: (\d+) of (\d+) at"}


def stacks(pid: int, seconds: int, hz: int) -> tuple[dict[str, tuple[int, int]], str]:
    """Counts by the program stacks: how many stacks are whole, how many callers true, and why others are not whole."""
    out = subprocess.run([paths.program("tests/bench/stacks"), str(pid), str(seconds), str(hz)], capture_output=True, text=True,
                         check=True).stdout
    got = {key: tuple(map(int, re.search(pattern, out).groups())) for key, pattern in STACKS_SAY.items()}
    return got, ", ".join(" ".join(line.split()) for line in out.splitlines() if line.startswith("  "))


class Aims:
    """Collects missed aims, and the exit status."""

    def __init__(self, check: bool):
        self.check, self.missed = check, 0

    def aim(self, what: str, ok: bool) -> None:
        print(f"{'ok    ' if ok else 'MISSED'} {what}")
        self.missed += not ok

    def exit(self) -> None:
        sys.exit(1 if self.check and self.missed else 0)
