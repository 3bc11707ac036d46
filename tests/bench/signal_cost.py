# SPDX-License-Identifier: Apache-2.0
"""The CPU time of the readings that signals are found by, beside many small services: idle ones, ones that compute, ones whose pools wait."""
import contextlib
import subprocess
import sys
import time

import common
from harness import jvm, paths
from harness.daemon import Daemon

# flamed sees only this namespace: other JVMs would cost time, too.
ALONE = ["unshare", "-mpf", "--mount-proc", "--kill-child"]
SERVICES = (["IdleService", "15"], ["Pulse", "1"], ["Sick", "starved"], ["Sick", "convoy"], ["Sick", "busy"])
AIM = 0.05 # percent of a processor, beside 40 JVMs


def numbers(daemon: Daemon) -> tuple[float, float]:
    """Returns the CPU seconds of all readings, and their number."""
    lines = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line.startswith("flamed_signal_"))
    return float(lines["flamed_signal_seconds_total"]), float(lines["flamed_signal_readings_total"])


def main() -> int:
    options = common.arguments(__doc__, jdk=17, jvms=40, settle=60.0, seconds=60.0)
    classes = common.compile_bench("IdleService", "Pulse", "Sick")
    with contextlib.ExitStack() as running:
        daemon = running.enter_context(Daemon(wrap=ALONE))
        enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
        for i in range(options.jvms):
            name, *rest = SERVICES[i % len(SERVICES)]
            running.enter_context(jvm.Jvm(paths.jdk(options.jdk), "-Xmx32m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                          "-Drest=100", "-cp", classes.folder, name, *rest, stdin=subprocess.PIPE, wrap=enter))
        time.sleep(options.settle) # all stacks are known
        (cpu, readings), begun = numbers(daemon), time.monotonic()
        time.sleep(options.seconds)
        (cpu_after, readings_after), took = numbers(daemon), time.monotonic() - begun
    each = (cpu_after - cpu) / (readings_after - readings)
    share = 100 * each * options.jvms / 10
    print(f"{options.jvms} JVMs: {readings_after - readings:.0f} readings in {took:.0f} s, {1000 * each:.3f} ms each: "
          f"{share:.4f} % of a processor, aim {AIM} % beside 40")
    return 1 if options.check and share > AIM * options.jvms / 40 else 0


if __name__ == "__main__":
    sys.exit(main())
