# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: the harness of tests/jvm, the load Mix, tables, the kernel's count of BPF time."""
import argparse
import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jvm, paths # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments(description: str, **defaults) -> argparse.Namespace:
    """Options --NAME=VALUE with the types of their defaults; --check makes missed aims an error."""
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


class Mix(jvm.Jvm):
    """The load with a known truth."""

    def __init__(self, version: int, *options: str):
        classes = compile_bench("Mix")
        super().__init__(paths.jdk(version), *options, "-Xmx256m", "-cp", classes.folder, "Mix", stdin=subprocess.PIPE)

    def used(self) -> dict[str, int]:
        """CPU nanoseconds of each section so far, and "runs"."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {key: after[key] - before[key] for key in after}


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextlib.contextmanager
def bpf_stats():
    """Has the kernel count the time in BPF programs; yields a function that gives (ns, runs) so far."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    with open(path, encoding="ascii") as f:
        before = f.read()
    with open(path, "w", encoding="ascii") as f:
        f.write("1")

    def read() -> tuple[int, int]:
        programs = json.loads(subprocess.run(["bpftool", "--json", "prog", "show"], capture_output=True, check=True).stdout)
        perf = [p for p in programs if p.get("type") == "perf_event"]
        return sum(p.get("run_time_ns", 0) for p in perf), sum(p.get("run_cnt", 0) for p in perf)

    try:
        yield read
    finally:
        with open(path, "w", encoding="ascii") as f:
            f.write(before)


class Aims:
    """Collects what was aimed at; the exit status in the end."""

    def __init__(self, check: bool):
        self.check, self.missed = check, 0

    def aim(self, what: str, ok: bool) -> None:
        print(f"{'ok    ' if ok else 'MISSED'} {what}")
        self.missed += not ok

    def exit(self) -> None:
        sys.exit(1 if self.check and self.missed else 0)
