# SPDX-License-Identifier: Apache-2.0
"""How long questions about a day take: a generated history of --jvms JVMs over --minutes, for some hours, for the whole of it, and for its
timeline. --store keeps the generated history there, and uses it again."""
import os
import random
import subprocess
import tempfile
import time

import common
from harness import paths, proc
from harness.daemon import Daemon

AIM_HOUR_S, AIM_DAY_S, AIM_MIB = 1.0, 3.0, 200


def generate(folder: str, options) -> None:
    with Daemon(store=folder): # makes it a store of its user's
        pass
    os.unlink(folder + "/flamed-history.db")
    began = time.monotonic()
    print(subprocess.run([paths.program("tests/bench/history_store"), folder, *map(str, (options.jvms, options.minutes, options.stacks, options.depth))],
                         check=True, capture_output=True, text=True).stdout.strip(), f"({time.monotonic() - began:.0f} s in all)", flush=True)
    for name in os.listdir(folder):
        os.chown(f"{folder}/{name}", os.stat(folder).st_uid, os.stat(folder).st_gid)
        os.chmod(f"{folder}/{name}", 0o600)


def asked(daemon: Daemon, route: str, **query) -> tuple[float, float]:
    """Returns the seconds until the whole answer has arrived, and flamed's seconds of CPU meanwhile."""
    began, cpu = time.monotonic(), sum(map(proc.cpu_seconds, daemon.pids()))
    answer = daemon.get(route, timeout=120, **query)
    took = time.monotonic() - began
    if answer.status != 200:
        raise RuntimeError(f"{route} {query}: {answer.status} {answer.text[:300]}")
    return took, sum(map(proc.cpu_seconds, daemon.pids())) - cpu


def peak_mib(daemon: Daemon) -> float:
    """Returns the peak memory of one of flamed's processes."""
    return max(int(line.split()[1]) for pid in daemon.pids() for line in proc.read(f"/proc/{pid}/status").splitlines() if line.startswith("VmHWM")) / 1024


def measure(daemon: Daemon, options, aims: common.Aims) -> None:
    for name, query in (("a service", {"service": "shop0"}), ("all", {})):
        for event in ("cpu", "wall"):
            hours = []
            for _ in range(options.rounds):
                first = random.randrange(60, max(options.minutes - 60, 61))
                hours.append(asked(daemon, "/profile", format="json", event=event, **query, **{"from": f"-{first + 60}m", "to": f"-{first}m"}))
            day = asked(daemon, "/profile", format="json", event=event, **query, **{"from": f"-{options.minutes}m"})
            took, cpu = zip(*hours)
            print(f"{name}, {event}: an hour {common.median(took):.2f} s, 95 % {common.percentile(took, 0.95):.2f} s (CPU {common.median(cpu):.2f}, "
                  f"{common.percentile(cpu, 0.95):.2f}); all of it {day[0]:.2f} s ({day[1]:.2f}); at most {peak_mib(daemon):.0f} MiB so far", flush=True)
            aims.aim(f"an hour within {AIM_HOUR_S} s, all of it within {AIM_DAY_S} s", common.percentile(took, 0.95) < AIM_HOUR_S and day[0] < AIM_DAY_S)
    for by in ("jvm", "category"):
        for buckets in ({}, {"buckets": 1440}):
            took, cpu = asked(daemon, "/api/v1/timeline", by=by, **buckets, **{"from": f"-{options.minutes}m"})
            print(f"timeline by {by}, buckets {buckets.get('buckets', 'of its own')}: {took:.2f} s (CPU {cpu:.2f})", flush=True)
            aims.aim(f"a timeline within {AIM_HOUR_S} s", took < AIM_HOUR_S)
    print(f"at most {peak_mib(daemon):.0f} MiB")
    aims.aim(f"under {AIM_MIB} MiB", peak_mib(daemon) < AIM_MIB)


def main() -> None:
    options = common.arguments(__doc__, jvms=40, minutes=1440, stacks=300, depth=40, rounds=20, store="")
    aims = common.Aims(options.check)
    with tempfile.TemporaryDirectory(prefix="flamed-history.") as folder:
        store = options.store or folder
        if not os.listdir(store):
            generate(store, options)
        with Daemon(store=store) as daemon:
            measure(daemon, options, aims)
    aims.exit()


if __name__ == "__main__":
    main()
