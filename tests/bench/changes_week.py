# SPDX-License-Identifier: Apache-2.0
"""False changes of six services (services/Shop.java) that nobody releases. Records their minutes, each as soon as it has ended, into the
folder --record, and then compares ten minutes with the hour before, each hour of --weeks weeks. The minutes are drawn in blocks of --block that followed one
another (changes_curve.c). Without --minutes it only compares what was recorded before."""
import contextlib
import os
import subprocess
import sys
import time

import common
import recorded
from harness import jvm, paths, proc
from harness.daemon import Daemon

# Service -> its heap, and the pause of its threads: together they take some 0.4 CPUs, so that the machine is not short of them.
SERVICES = {"pricing": ("64m", 25), "catalog": ("24m", 15), "search": ("64m", 60), "checkout": ("64m", 5), "rules": ("64m", 80), "mail": ("64m", 60)}
ALONE = ["unshare", "-mpf", "--mount-proc", "--kill-child"] # flamed sees only this namespace
MINUTE_S = 60
READY_S = 3 # until the recorder has the last samples of a minute
AIM = 1     # change a week, of all services


def record(options) -> None:
    os.makedirs(options.record, exist_ok=True)
    classes = jvm.Classes()
    classes.compile(os.path.join(common.HERE, "services/Shop.java"))
    with contextlib.ExitStack() as running:
        daemon = running.enter_context(Daemon("--recorder-hz", str(options.hz), "--recorder-max-bytes", "512M", wrap=ALONE))
        enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
        for service, (heap, pause) in SERVICES.items():
            running.enter_context(jvm.Jvm(paths.jdk(options.jdk), f"-Xmx{heap}", "-XX:+UseSerialGC", f"-Dotel.service.name=week-{service}",
                                          f"-Dpause={pause}", "-cp", classes.folder, "com.acme.shop.Shop", service, wrap=enter))
        files = {service: recorded.Recording(f"{options.record}/{service}", f"week-{service}") for service in SERVICES}
        time.sleep(options.settle)
        begun = time.time() // MINUTE_S * MINUTE_S + MINUTE_S
        for number in range(options.minutes):
            begin, end = begun + number * MINUTE_S, begun + (number + 1) * MINUTE_S
            time.sleep(max(end + READY_S - time.time(), 0))
            samples = {service: file.add(daemon, begin, end) for service, file in files.items()}
            load = proc.read("/proc/loadavg").split()[0]
            print(f"minute {number + 1}, load {load}: " + ", ".join(f"{service} {count}" for service, count in samples.items()), flush=True)
        for file in files.values():
            file.close()


def compare(options) -> int:
    """Returns how many changes are claimed in the worst week of all services."""
    claimed = [0] * options.weeks
    for service in SERVICES:
        done = subprocess.run([f"{paths.BUILD}/tests/bench/changes_curve", str(options.weeks), "0", "0", f"{options.record}/{service}"],
                              env={**os.environ, "BLOCK": str(options.block), "BEFORE": str(options.before), "HZ": str(options.hz)}, stdout=subprocess.PIPE, text=True, check=True)
        for line in done.stdout.splitlines():
            words = line.split()
            if words[:1] == ["week"]:
                claimed[int(words[1].rstrip(":")) - 1] += int(words[2])
        print(f"{service}:\n{done.stdout}", end="", flush=True)
    print(f"claimed in each week by six services: {claimed}; aim: {AIM}")
    return max(claimed)


def main() -> int:
    options = common.arguments(__doc__, jdk=17, record="", minutes=0, settle=900.0, hz=99, weeks=3, block=10, before=60)
    if options.minutes:
        record(options)
    return 1 if compare(options) > AIM and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
