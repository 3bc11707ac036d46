# SPDX-License-Identifier: Apache-2.0
"""How many stacks of Java threads are whole, under a load of fourteen kinds of thread."""
import time

import common
from harness import jvm, paths
from harness.daemon import Daemon
from harness.profile import count

JAVA = ("c1", "c2", "inlined", "interpreted")


def main() -> None:
    options = common.arguments(__doc__, jdk=17, samples=20000, hz=999, least=99.8)
    aims = common.Aims(options.check)
    classes = common.compile_bench("Mixed")
    with jvm.Jvm(paths.jdk(options.jdk), *options.java_option, "-Xmx512m", "-cp", classes.folder, "Mixed", "3600",
                 start="") as target, Daemon() as daemon:
        time.sleep(3)
        total = cut = unknown = 0
        worst: dict[str, int] = {}
        while total < options.samples:
            profile = daemon.profile(pid=target.pid, seconds=10, hz=options.hz)
            java = [s for s in profile.stacks if any(f.kind in JAVA for f in s.frames)]
            bad = [s for s in java if s.truncated]
            total, cut = total + count(java), cut + count(bad)
            unknown += count([s for s in java if any(f.kind == "unknown" for f in s.frames)])
            for s in bad:
                key = ";".join(s.names[1:3]) + " ... " + s.names[-1]
                worst[key] = worst.get(key, 0) + s.samples
            print(f"{total} samples in Java, {100 * (1 - cut / total):.3f} % whole, {100 * unknown / total:.3f} % with an "
                  f"unknown frame; quality {profile.quality}")
            assert count(java), "no sample in Java code"
    for key, samples in sorted(worst.items(), key=lambda item: -item[1])[:10]:
        print(f"  {samples:6} cut: {key}")
    aims.aim(f"at least {options.least} % whole", 100 * (1 - cut / total) >= options.least)
    aims.exit()


if __name__ == "__main__":
    main()
