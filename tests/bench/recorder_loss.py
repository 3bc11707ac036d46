# SPDX-License-Identifier: Apache-2.0
"""What a program loses by the flight recorder: work per CPU second of the workers of Mix, beside a flamed that only records, compared with
slices of the same JVM right before and after it."""
import os
import time

import common
from harness.daemon import Daemon

AIM = 1.0 # percent


def rate(mix: common.Mix, seconds: float) -> float:
    before = mix.used()
    time.sleep(seconds)
    spent = common.difference(mix.used(), before)
    work = spent.pop("work")
    del spent["runs"]
    return work / (sum(spent.values()) / 1e9)


def main() -> None:
    options = common.arguments(__doc__, jdk=17, pairs=7, slice=8.0, settle=12.0)
    aims, gains = common.Aims(options.check), []
    with common.Mix(options.jdk, *options.java_option) as mix:
        time.sleep(20) # it is compiled
        for _ in range(options.pairs):
            without = [rate(mix, options.slice)]
            with Daemon():
                time.sleep(options.settle) # the first stacks have names
                beside = [rate(mix, options.slice) for _ in range(2)]
            without.append(rate(mix, options.slice))
            gains.append(100 * (sum(beside) / sum(without) - 1))
            print(f"  {gains[-1]:+.2f} %", flush=True)
    mean = sum(gains) / len(gains)
    error = 2 * (sum((g - mean) ** 2 for g in gains) / max(len(gains) - 1, 1) / len(gains)) ** 0.5
    print(f"work per CPU second with the recorder: {mean:+.2f} +-{error:.2f} %, at a load of {os.getloadavg()[0]:.0f}")
    aims.aim(f"the loss is below {AIM} %, or not measurable", mean > -max(AIM, error))
    aims.exit()


if __name__ == "__main__":
    main()
