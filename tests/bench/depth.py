# SPDX-License-Identifier: Apache-2.0
"""Time per sample in the kernel by depth of the stack, from the program's first clock reading to its last
(flamed_sample_seconds_total), and how many stacks are whole."""
import common
from harness import jvm, paths
from harness.daemon import Daemon
from harness.profile import count


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=4.0, depths="20,110,500,1000,2000", rates="99,999")
    aims = common.Aims(options.check)
    classes = common.compile_bench("Deep")
    with Daemon("--recorder-hz", "0") as daemon:
        for depth in map(int, options.depths.split(",")):
            with jvm.Jvm(paths.jdk(options.jdk), *options.java_option, "-Xss512m", "-Xmx64m", "-cp", classes.folder, "Deep",
                         str(depth)) as target:
                for hz in map(int, options.rates.split(",")):
                    before = common.metrics(daemon)
                    profile = daemon.profile(pid=target.pid, seconds=options.seconds, hz=hz, symbols="memory")
                    now = common.metrics(daemon)
                    taken = now["flamed_samples_total"] - before["flamed_samples_total"]
                    spent = now["flamed_sample_seconds_total"] - before["flamed_sample_seconds_total"]
                    stacks = profile.of_thread("deep-0")
                    frames = common.median([len(s.frames) for s in stacks]) if stacks else 0
                    whole = profile.share(stacks, lambda s: not s.truncated and "java.lang.Thread.run" in s.names)
                    print(f"depth {depth:5} at {hz:5} Hz: {1e6 * spent / max(1, taken):7.2f} us a sample "
                          f"({count(stacks)} samples), {frames:.0f} frames, {100 * whole:.2f} % whole", flush=True)
                    if depth <= 1000:
                        aims.aim(f"99 % of stacks of {depth} frames whole", whole >= 0.99)
    aims.exit()


if __name__ == "__main__":
    main()
