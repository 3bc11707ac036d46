# SPDX-License-Identifier: Apache-2.0
"""What the request of a sample costs: flamed's own time for a sample of a service with a tracer's agent, with requests and without them by turns.
`--pid` takes a service that runs already; `--agent=datadog`, `--jdk=25` and `--event=offcpu` choose others."""
import argparse
import os
import statistics
import sys
import time
import unittest

import common
from harness import paths
from harness.daemon import Daemon

sys.path.append(os.path.join(paths.TREE, "tests/jvm"))
from test_endpoints import Service # pylint: disable=wrong-import-position


def cpu_seconds(pid: int) -> float:
    return time.clock_gettime_ns(~pid << 3 | 2) / 1e9


def taken(daemon: Daemon, pid: int, options, **view) -> tuple[float, float, dict]:
    """Returns us a sample of one capture, all of them in percent of the service's CPU time, and the states of requests."""
    before, used = common.metrics(daemon), cpu_seconds(pid)
    answer = daemon.get("/profile", pid=pid, seconds=options.seconds, hz=options.hz, event=options.event, format="json", **view)
    used = cpu_seconds(pid) - used
    after = common.metrics(daemon)
    seconds, samples = (after[name] - before[name] for name in ("flamed_sample_seconds_total", "flamed_samples_total"))
    return 1e6 * seconds / max(samples, 1), 100 * seconds / used, answer.json()["quality"].get("requests", {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--agent", default="otel")
    parser.add_argument("--jdk", type=int, default=17)
    parser.add_argument("--event", default="cpu")
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    case = unittest.TestCase()
    try:
        pid = options.pid or Service(case, options.jdk, options.agent).process.pid
        daemon = Daemon("--recorder-hz=0")
        case.addCleanup(daemon.stop)
        for _ in range(3): # until the path is complete
            daemon.get("/profile", pid=pid, seconds=5, by="operation", event=options.event, format="collapsed")
        costs: dict[str, list[float]] = {"with": [], "without": []}
        shares: dict[str, list[float]] = {"with": [], "without": []}
        for n in range(2 * options.rounds):
            name, view = ("without", {}) if n % 2 else ("with", {"by": "operation"})
            cost, share, states = taken(daemon, pid, options, **view)
            costs[name].append(cost)
            shares[name].append(share)
            print(f"{name}: {cost:.2f} us a sample {states}", flush=True)
        print(f"{options.event}: samples take {statistics.median(shares['without']):.2f} % of the service's CPU time without requests, "
              f"{statistics.median(shares['with']):.2f} % with them")
        print(f"{options.event}: {statistics.median(costs['without']):.2f} us a sample without its request, {statistics.median(costs['with']):.2f} us "
              f"with it; median of differences {statistics.median(a - b for a, b in zip(costs['with'], costs['without'])):.2f} us")
    finally:
        case.doCleanups()


if __name__ == "__main__":
    main()
