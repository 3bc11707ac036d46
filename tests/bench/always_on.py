# SPDX-License-Identifier: Apache-2.0
"""The cost of flamed without requests: CPU time and memory of all its processes, and the time of its samples in the kernel's interrupt. It
runs beside --jvms JVMs with --threads threads each, at --hz. Lists are separated by commas; each rate is measured on the same JVMs; 0
JVMs show the cost of the rest of the machine. With --at-once, one flamed for each rate runs at the same time, without passes over
threads: the difference is what samples of CPU time take. Together the JVMs use --load of the machine's CPUs; --execs programs are started per
second beside them. --scraped N scrapes /metrics every N seconds, also while it settles (--settle). For a minute after a scrape flamed
reads the JVMs' counters, and in the first minute all their pages."""
import contextlib
import os
import threading
import time

import common
from harness import jvm, paths, proc
from harness.daemon import Daemon


def injected(pids: list[int]) -> int:
    """Returns how many of the JVMs have a file of flamed's mapped."""
    return sum("flamed" in proc.read(f"/proc/{pid}/maps") for pid in pids)


@contextlib.contextmanager
def repeating(every: float, act):
    """Calls ACT every EVERY seconds until the end of the block, which fails if ACT did. Never calls it if EVERY is 0."""
    over = threading.Event()
    failures = []

    def run() -> None:
        try:
            while every and not over.wait(every):
                act()
        except Exception as failure: # pylint: disable=broad-exception-caught
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failures:
        raise failures[0]


def start_program() -> None:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def numbers(daemon: Daemon) -> dict[str, float]:
    """Returns /metrics, by name and labels."""
    lines = (line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#")
    return {name: float(value) for name, value in lines}


KERNEL_SECONDS = 10.0 # between two scrapes, after the measurement without


def measure(hz: int, seconds: float, settle: float, scraped: float, pids: list[int]) -> dict:
    with Daemon(f"--recorder-hz={hz}") as daemon, repeating(scraped, lambda: numbers(daemon)): # like Prometheus
        time.sleep(settle)
        before, start = daemon.cost(), time.monotonic()
        load = sum(proc.cpu_seconds(pid) for pid in pids)
        time.sleep(seconds)
        after, took = daemon.cost(), time.monotonic() - start
        load = sum(proc.cpu_seconds(pid) for pid in pids) - load
        first = numbers(daemon)
        time.sleep(KERNEL_SECONDS)
        metrics = numbers(daemon)
        kernel, samples = (metrics[name] - first[name] for name in ("flamed_sample_seconds_total", "flamed_samples_total"))
        names = {name.split("[")[0] for name in after}
        cpu = {name: sum(100 * (c["cpu_s"] - before.get(key, c)["cpu_s"]) / took for key, c in after.items()
                         if key.startswith(name + "[")) for name in names}
        return {"cpu": sum(cpu.values()), "cpu_of": cpu, "kernel": 100 * kernel / KERNEL_SECONDS, "us": 1e6 * kernel / max(samples, 1),
                "load": 100 * load / took, "rss": sum(c["rss_kib"] for c in after.values()) / 1024,
                "lost": sum(v for k, v in metrics.items() if k.startswith("flamed_samples_lost_total")),
                "jvms": metrics["flamed_jvms"], "injected": injected(pids)}


def measure_at_once(rates: list[int], seconds: float, settle: float) -> None:
    """Prints what a sample of CPU time takes, in all of flamed."""
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(Daemon(f"--recorder-hz={hz}", "--recorder-waits=no")) for hz in rates]
        time.sleep(settle)
        used = [sum(part["cpu_s"] for part in daemon.cost().values()) for daemon in daemons]
        time.sleep(seconds)
        used = [sum(part["cpu_s"] for part in daemon.cost().values()) - before for daemon, before in zip(daemons, used)]
        first = [numbers(daemon)["flamed_samples_total"] for daemon in daemons]
        time.sleep(KERNEL_SECONDS)
        samples = [seconds / KERNEL_SECONDS * (numbers(daemon)["flamed_samples_total"] - n) for daemon, n in zip(daemons, first)]
    for hz, cpu_s, n in zip(rates, used, samples):
        print(f"  {hz} Hz: {100 * cpu_s / seconds:.3f} % of a CPU, {n / seconds:.1f} samples a second")
    print(f"  a sample: {1e6 * (used[-1] - used[0]) / (samples[-1] - samples[0]):.1f} us")


def main() -> None:
    options = common.arguments(__doc__, jdk=17, jvms="40", threads="25", hz="19", seconds=40.0, settle=15.0, load=0.5, execs=0.0, scraped=0.0, at_once=0)
    aims = common.Aims(options.check)
    classes = common.compile_bench("Service")
    print("JVMs threads   Hz | CPU %  in the kernel %  us a sample | MiB | load % | lost")
    for count in (int(word) for word in options.jvms.split(",")):
        for threads in (int(word) for word in options.threads.split(",")):
            each = 100 * options.load * (os.cpu_count() or 1) / max(count, 1)
            running: list[jvm.Jvm] = []
            try:
                for _ in range(count):
                    running.append(jvm.Jvm(paths.jdk(options.jdk), *options.java_option, "-Xmx24m", "-Xss256k", "-XX:+UseSerialGC",
                                           "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-cp", classes.folder, "Service",
                                           str(threads), str(each)))
                pids = [one.pid for one in running]
                rates = [int(word) for word in options.hz.split(",")]
                if options.at_once:
                    measure_at_once(rates, options.seconds, options.settle)
                    continue
                for hz in rates:
                    with repeating(1 / options.execs if options.execs else 0, start_program): # like nodes
                        m = measure(hz, options.seconds, options.settle, options.scraped, pids)
                    parts = ", ".join(f"{name} {share:.2f}" for name, share in sorted(m["cpu_of"].items()))
                    print(f"{count:4} {count * threads:7} {hz:4} | {m['cpu']:5.2f}  {m['kernel']:15.3f}  {m['us']:11.1f} | "
                          f"{m['rss']:3.0f} | {m['load']:6.0f} | {m['lost']:.0f}   ({parts})", flush=True)
                    aims.aim("every JVM known, nothing injected", m["jvms"] >= count and m["injected"] == 0)
                    if hz <= 19:
                        aims.aim("under 1 % of one CPU and 150 MiB", m["cpu"] + m["kernel"] < 1 and m["rss"] < 150)
            finally:
                for one in running:
                    one.stop()
    aims.exit()


if __name__ == "__main__":
    main()
