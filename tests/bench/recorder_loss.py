# SPDX-License-Identifier: Apache-2.0
"""What a program loses by the flight recorder: work per CPU second of the workers of Mix, beside a flamed that only records, compared with
slices of the same JVM right before and after it. --engine=away: so for two flamed by turns. The second one also pushes CPU time and waits, every
5 s, to a closed port."""
import os
import tempfile
import time

import common
from harness.daemon import Daemon, free_port

AIM = 1.0 # percent


def rate(mix: common.Mix, seconds: float) -> float:
    before = mix.used()
    time.sleep(seconds)
    spent = common.difference(mix.used(), before)
    work = spent.pop("work")
    del spent["runs"]
    return work / (sum(spent.values()) / 1e9)


def push_to_nobody() -> str:
    return f"push:\n  - {{name: away, url: 'http://127.0.0.1:{free_port()}', every: 5s, events: [cpu, wall]}}\n"


def beside(mix: common.Mix, options, config: str) -> list[float]:
    """Returns the rates of two slices beside a flamed of CONFIG, whose requests wait if it pushes."""
    arguments = ["--config", config] if os.path.getsize(config) else []
    daemon = Daemon(*arguments)
    try:
        time.sleep(options.settle) # the first stacks have names
        rates = [rate(mix, options.slice) for _ in range(2)]
        if arguments:
            target = daemon.get("/api/v1/push").json()["targets"][0]
            print(f"    {target['queued_bodies']} requests wait: {target['last_error']}", flush=True)
            if not target["queued_bodies"] or target["dropped"] or target["sent_bodies"]:
                raise RuntimeError(f"this is no engine that is away: {target}")
        return rates
    finally:
        daemon.stop(check=False) # on a busy machine it may take longer


def gain(mix: common.Mix, options, config: str) -> float:
    """Returns by how many percent more work is done beside a flamed of CONFIG."""
    without = [rate(mix, options.slice)]
    with_it = beside(mix, options, config)
    without.append(rate(mix, options.slice))
    return 100 * (sum(with_it) / sum(without) - 1)


def tell(what: str, gains: list[float]) -> tuple[float, float]:
    mean = sum(gains) / len(gains)
    error = 2 * (sum((g - mean) ** 2 for g in gains) / max(len(gains) - 1, 1) / len(gains)) ** 0.5
    print(f"{what}: {mean:+.2f} +-{error:.2f} %, at a load of {os.getloadavg()[0]:.0f}")
    return mean, error


def main() -> None:
    options = common.arguments(__doc__, jdk=17, pairs=7, slice=8.0, settle=12.0, engine="none")
    aims, gains, more = common.Aims(options.check), [], []
    with tempfile.TemporaryDirectory(prefix="flamed-loss.") as folder, common.Mix(options.jdk, *options.java_option) as mix:
        os.chmod(folder, 0o755)
        configs = [folder + "/none.yaml"] + [folder + "/away.yaml"] * (options.engine == "away")
        for config in configs:
            with open(config, "w", encoding="ascii") as file:
                file.write(push_to_nobody() if config.endswith("away.yaml") else "")
        time.sleep(20) # it is compiled
        for number in range(options.pairs):
            both = {config: gain(mix, options, config) for config in (configs[::-1] if number % 2 else configs)}
            gains.append(both[configs[0]])
            more.append(both[configs[-1]] - both[configs[0]])
            print("  " + ", ".join(f"{both[config]:+.2f} %" for config in configs), flush=True)
    mean, error = tell("work per CPU second with the recorder", gains)
    aims.aim(f"the loss is below {AIM} %, or not measurable", mean > -max(AIM, error))
    if options.engine == "away":
        mean, error = tell("and with an engine that is away, in addition", more)
        aims.aim(f"the additional loss is below {AIM} %, or not measurable", mean > -max(AIM, error))
    aims.exit()


if __name__ == "__main__":
    main()
