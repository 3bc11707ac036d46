# SPDX-License-Identifier: Apache-2.0
"""CPU samples of programs that run for some microseconds and sleep again, against their CPU time by the kernel. The kernel's timers wait
while it changes threads: the end of each turn has no sample."""
import subprocess
import sys
import time

import common
from harness.daemon import Daemon

TURN = "import sys, time, random\n" \
       "burn = int(sys.argv[1]) * 1000\n" \
       "while True:\n" \
       "    time.sleep(random.uniform(0.005, 0.015))\n" \
       "    start = time.thread_time_ns()\n" \
       "    while time.thread_time_ns() - start < burn: pass\n"


def used(pids: list[int]) -> tuple[int, int]:
    """CPU time in ns, and turns."""
    fields = [open(f"/proc/{pid}/schedstat").read().split() for pid in pids]
    return sum(int(f[0]) for f in fields), sum(int(f[2]) for f in fields)


def main() -> None:
    options = common.arguments(__doc__, seconds=30.0, hz=999, programs=12, work="20,50,100,200,500")
    with Daemon("--recorder-hz", "0") as daemon:
        for work in options.work.split(","):
            programs = [subprocess.Popen([sys.executable, "-c", TURN, work]) for _ in range(options.programs)]
            try:
                time.sleep(2)
                pids = [p.pid for p in programs]
                before = used(pids)
                answer = daemon.get("/profile", pid=",".join(map(str, pids)), seconds=options.seconds, hz=options.hz, format="collapsed")
                now = used(pids)
            finally:
                for program in programs:
                    program.kill()
                    program.wait()
            cpu, turns = (b - a for a, b in zip(before, now))
            samples = int(answer.headers["X-Flamed-Samples"])
            seen = samples * 1e9 / options.hz
            print(f"{cpu / turns / 1000:6.1f} us a turn: {samples} samples, {100 * seen / cpu:5.1f} % of the CPU time "
                  f"(+-{100 / max(1, samples) ** 0.5:.1f}), {(cpu - seen) / turns / 1000:.1f} us missing in each turn", flush=True)


if __name__ == "__main__":
    main()
