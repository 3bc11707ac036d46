# SPDX-License-Identifier: Apache-2.0
"""How many stacks of Java threads are whole, with true callers, under a load of fourteen kinds of thread: by collector, compiler and JDK. A
cell is JDK:OPTIONS, as in --cells="17 25:-XX:+UseZGC,-Xmx1g 11". JDKs that the machine lacks run in a container of their own. Repeats
captures of --seconds until there are --samples, at most --most times."""
import contextlib
import time

import common
from harness import bundle, jdkroot, jvm, paths

ALL = ("17 25 17:-XX:+UseParallelGC 25:-XX:+UseParallelGC 17:-XX:+UseSerialGC 25:-XX:+UseSerialGC 17:-XX:+UseZGC "
       "25:-XX:+UseZGC 25:-XX:+UseShenandoahGC 17:-Xint 25:-Xint 17:-XX:TieredStopAtLevel=1 25:-XX:TieredStopAtLevel=1 "
       "8 11 21")


@contextlib.contextmanager
def load(classes: str, version: int, options: list[str], leave_out: str):
    """Starts the load. Returns the pid of its JVM."""
    arguments = [*options, "-Xmx512m", "-cp"]
    if version in paths.jdks():
        with jvm.Jvm(paths.jdk(version), *arguments, classes, "Mixed", "3600", leave_out) as target:
            yield target.pid
    else:
        with bundle.Container("", classes, *arguments, "/classes", "Mixed", "3600", leave_out, root=jdkroot.root(version),
                              executable=jdkroot.java(version), network_namespace=False, memory=1 << 30) as container:
            yield container.pid


def enough(pid: int, options) -> tuple[dict[str, tuple[int, int]], str]:
    """Returns common.stacks, added up over several captures until there are options.samples, and reasons of each."""
    got, reasons = {}, []
    for _ in range(options.most):
        more, why = common.stacks(pid, options.seconds, options.hz)
        got = {key: (got.get(key, (0, 0))[0] + part, got.get(key, (0, 0))[1] + whole) for key, (part, whole) in more.items()}
        reasons += [why] if why else []
        if got["whole"][1] >= options.samples:
            break
    return got, "; ".join(reasons)


def main() -> None:
    options = common.arguments(__doc__, cells=ALL, samples=20000, hz=1999, warm=3.0, seconds=6, most=15, leave_out="none")
    aims = common.Aims(options.check)
    classes = common.compile_bench("Mixed")
    print("cell | whole | of these, on carriers of virtual threads | exact PcDesc | others that called the stub above them | "
          "calls of Java, by their relocations (25 up) | at an invoke | not whole because")
    for cell in options.cells.split():
        version, _, text = cell.partition(":")
        with load(classes.folder, int(version), text.split(",") if text else [], options.leave_out) as pid:
            time.sleep(options.warm)
            got, why = enough(pid, options)
        share = {key: 100 * part / max(1, whole) for key, (part, whole) in got.items()}
        print(" | ".join([cell, *(f"{part} of {whole}, {share[key]:.3f} %" for key, (part, whole) in got.items()), why]), flush=True)
        aims.aim(f"{cell}: {options.samples} samples of Java threads", got["whole"][1] >= options.samples)
        least = 99.8 if cell in ("17", "25") else 99.5
        aims.aim(f"{cell}: at least {least} % whole", share["whole"] >= least)
        compiled = share["exact"] >= 99 or ("-Xint" in text and not got["exact"][1]) # it compiles nothing
        aims.aim(f"{cell}: 99 % of callers true", compiled and (share["invoke"] >= 99 or not got["invoke"][1]))
    aims.exit()


if __name__ == "__main__":
    main()
