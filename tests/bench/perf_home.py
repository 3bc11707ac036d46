# SPDX-License-Identifier: Apache-2.0
"""CPU time with BPF programs and without, under a load of fourteen kinds of thread: how many stacks of Java threads are whole, the losses,
and flamed's processor time per sample. By the Unix socket: without BPF flamed knows no client over TCP."""
import os
from unittest import mock

import common
from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import count

HOMES = {"BPF": "", "perf": "bpf", "refused": ""} # by FLAMED_OLD_KERNEL; the last is for kernels that refuse BPF programs
WARM = 10 # seconds: tables and names are read


def spent(daemon: Daemon) -> float:
    """Returns processor seconds of flamed and its broker. The kernel's time for a sample counts for the interrupted program."""
    return sum(cost["cpu_s"] for cost in daemon.cost().values())


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=20.0, hz=199, runs=3, threads="none", homes="BPF perf", emulated=0)
    aims = common.Aims(options.check)
    classes = common.compile_bench("Mixed")
    wrap = ["nice", "-n", "10"] if options.emulated else None # flamed would wait for the spinning load
    with jvm.Jvm(paths.jdk(options.jdk), *options.java_option, "-Xmx512m", "-cp", classes.folder, "Mixed", "3600", options.threads, wrap=wrap) as target:
        for home in options.homes.split():
            with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": HOMES[home]}), Daemon("--recorder-hz=0") as daemon:
                proc.wait_until(lambda d=daemon: d.get("/profile", pid=target.pid, seconds=WARM, hz=options.hz, unix=True).status == 200, 5 * WARM, "warm")
                samples = java = whole = lost = 0
                before = spent(daemon)
                for _ in range(options.runs):
                    profile = daemon.profile(pid=target.pid, seconds=options.seconds, hz=options.hz, unix=True)
                    stacks = [s for s in profile.stacks if any(f.kind in ("c1", "c2", "inlined", "interpreted") for f in s.frames)]
                    samples += profile.samples
                    java += count(stacks)
                    whole += count([s for s in stacks if not s.truncated])
                    lost += profile.quality["lost"]
                took = spent(daemon) - before
                share = 100 * whole / max(1, java)
                print(f"{home}: {samples} samples, {lost} lost, {whole} of {java} Java stacks whole, {share:.2f} %; "
                      f"{took:.2f} s of flamed, {1000 * took / max(1, samples):.2f} ms a sample", flush=True)
                aims.aim(f"{home}: 99 % whole", share >= 99)
                aims.aim(f"{home}: none lost", lost == 0)
    aims.exit()


if __name__ == "__main__":
    main()
