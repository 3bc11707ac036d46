# SPDX-License-Identifier: Apache-2.0
"""How many stacks of Java threads are whole, and whether their callers are true, under a load of fourteen kinds of
thread: by collector, compiler and JDK. A cell is JDK:OPTIONS, as in --cells="17 25:-XX:+UseZGC,-Xmx1g 11"; those of JDKs
that the machine has not run in a container of their own."""
import contextlib
import re
import subprocess
import time

import common
from harness import bundle, jdkroot, jvm, paths

ALL = ("17 25 17:-XX:+UseParallelGC 25:-XX:+UseParallelGC 17:-XX:+UseSerialGC 25:-XX:+UseSerialGC 17:-XX:+UseZGC "
       "25:-XX:+UseZGC 25:-XX:+UseShenandoahGC 17:-Xint 25:-Xint 17:-XX:TieredStopAtLevel=1 25:-XX:TieredStopAtLevel=1 "
       "8 11 21")
MATCHES = {"whole": r"java threads: (\d+) of (\d+) whole", "exact": r"compiled code: (\d+) of (\d+) at",
           "leaf": r"of the others (\d+) of (\d+) called", "invoke": r"interpreted callers: (\d+) of (\d+) at"}


@contextlib.contextmanager
def load(classes: str, version: int, options: list[str]):
    """The pid of a JVM under the load."""
    arguments = [*options, "-Xmx512m", "-cp"]
    if version in paths.jdks():
        with jvm.Jvm(paths.jdk(version), *arguments, classes, "Mixed", "3600") as target:
            yield target.pid
    else:
        with bundle.Container("", classes, *arguments, "/classes", "Mixed", "3600", root=jdkroot.root(version),
                              executable=jdkroot.java(version), network_namespace=False, memory=1 << 30) as container:
            yield container.pid


def main() -> None:
    options = common.arguments(__doc__, cells=ALL, samples=20000, hz=1999, warm=3.0)
    aims = common.Aims(options.check)
    classes = common.compile_bench("Mixed")
    print("cell | whole | exact PcDesc | others that called the stub above them | at an invoke | not whole because")
    for cell in options.cells.split():
        version, _, text = cell.partition(":")
        with load(classes.folder, int(version), text.split(",") if text else []) as pid:
            time.sleep(options.warm)
            # A sample a tick and processor, two thirds of them of Java threads.
            seconds = max(3, round(options.samples / options.hz / common.processors() * 1.6))
            out = subprocess.run([paths.program("tests/bench/stacks"), str(pid), str(seconds), str(options.hz)],
                                 capture_output=True, text=True, check=True).stdout
        got = {key: tuple(map(int, re.search(pattern, out).groups())) for key, pattern in MATCHES.items()}
        share = {key: 100 * part / max(1, whole) for key, (part, whole) in got.items()}
        why = ", ".join(" ".join(line.split()) for line in out.splitlines() if line.startswith("  "))
        print(" | ".join([cell, *(f"{part} of {whole}, {share[key]:.3f} %" for key, (part, whole) in got.items()), why]), flush=True)
        least = 99.8 if cell in ("17", "25") else 99.5
        aims.aim(f"{cell}: at least {least} % whole", share["whole"] >= least)
        aims.aim(f"{cell}: 99 % of callers true", share["exact"] >= 99 and (share["invoke"] >= 99 or not got["invoke"][1]))
    aims.exit()


if __name__ == "__main__":
    main()
