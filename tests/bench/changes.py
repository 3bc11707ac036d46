# SPDX-License-Identifier: Apache-2.0
"""The result of /api/v1/changes for ten releases of one service (Changed.java), each of which makes one change: whether that ranks first.
Time runs faster: a step of 5 s at 997 Hz stands for a minute at 19 Hz. --record FOLDER writes the steps down, with a change of
--percent, and draws replicates from them (changes_curve.c): how often each effect is found first."""
import os
import subprocess
import sys
import time

import common
import recorded
from harness import jvm, paths
from harness.daemon import Daemon

# Case -> the change that should rank first: new code, or code that does more. A longer page means more work for all readers of it.
CASES = {
    "regex": {"Changed$Regex.matchTenantRule"},
    "loop": {"Changed$Loop.add", "Changed$Db.query"},
    "cache": {"Changed$Catalog.load", "Changed$Catalog.find", "Changed$Cache.add"},
    "logging": {"Changed$Log.debug"},
    "payload": {"Changed$Render.page", "Changed$Render.item", "Changed$Render.quote", "Changed$Compression.pack", "Changed$Digest.sum"},
    "lock": {"Changed$Ledger", "Changed$Ledger.enter"},
    "serialization": {"Changed$Render.quoteSlowly"},
    "copy": {"Changed$Copy.copyBuffer"},
    "polling": {"Changed$Poller.poll", "Changed$Poller.run"},
    "collections": {"gc", "vm"},
}
ALONE = ["unshare", "-mpf", "--mount-proc", "--kill-child"] # flamed sees only this namespace


class Changed(jvm.Jvm):
    def turn(self, case: str, percent: float) -> int:
        """The number of requests so far."""
        self.process.stdin.write(f"{case} {percent}\n")
        self.process.stdin.flush()
        while not (line := self.process.stdout.readline()).startswith(case):
            if not line:
                raise RuntimeError("the service ended")
        return int(line.split()[2])


def spent(daemon: Daemon, a: tuple[float, float], b: tuple[float, float]) -> dict:
    return daemon.get("/api/v1/changes", service="changed", a=f"{recorded.stamp(a[0])}..{recorded.stamp(a[1])}", b=f"{recorded.stamp(b[0])}..{recorded.stamp(b[1])}",
                      timeout=120).json()


def one_effect(daemon: Daemon, service: Changed, options, percent: float) -> int:
    """Returns how many of the cases rank first."""
    service.turn("none", 0)
    time.sleep(options.settle)
    begun = time.time()
    time.sleep(options.before)
    a, first = (begun, time.time()), 0
    for case in options.cases.split(","):
        service.turn(case, percent)
        time.sleep(options.warm)
        begun = time.time()
        time.sleep(options.after)
        answer = spent(daemon, a, (begun, time.time()))
        found = answer["changes"]
        is_first = bool(found) and found[0]["name"] in CASES[case]
        first += is_first
        print(f"  {'ok    ' if is_first else 'MISSED'} {case}: " + "; ".join(
            f"{c['kind']} {c['name']} {c['difference']:+.2f} ({c['low']:.2f} to {c['high']:.2f}, from {c['before']:.2f})" for c in found[:4])
            + ("" if found else " ".join(answer["sentences"])), flush=True)
    return first


def record_steps(daemon: Daemon, service: Changed, options, seconds: float, path: str) -> None:
    begun, requests = time.time(), service.turn("count", 0)
    time.sleep(seconds)
    ended, requests = time.time(), service.turn("count", 0) - requests
    recorded.write(daemon, path, "changed", begun, ended, options.step, requests)


def record(daemon: Daemon, service: Changed, options) -> None:
    os.makedirs(options.record, exist_ok=True)
    service.turn("none", 0)
    time.sleep(options.settle)
    record_steps(daemon, service, options, options.before, f"{options.record}/base")
    for case in options.cases.split(","):
        service.turn(case, options.percent)
        time.sleep(options.warm)
        record_steps(daemon, service, options, options.after, f"{options.record}/{case}")


def draw(options) -> None:
    command = [f"{paths.BUILD}/tests/bench/changes_curve", str(options.rounds), str(options.samples), options.effects, f"{options.record}/base"]
    for case in options.cases.split(","):
        command += [f"{options.record}/{case}", ("lock:" if case == "lock" else "") + ",".join(sorted(CASES[case]))]
    subprocess.run(command, check=True)


def main() -> int:
    options = common.arguments(__doc__, jdk=17, effects="3", cases=",".join(CASES), workers=12, rest=2500, settle=40.0, before=150.0, warm=4.0,
                               after=50.0, hz=997, record="", percent=30.0, step=5.0, rounds=10, samples=1140)
    classes = common.compile_bench("Changed")
    missed = 0
    with Daemon("--recorder-hz", str(options.hz), "--recorder-max-bytes", "512M", wrap=ALONE) as daemon:
        enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
        with Changed(paths.jdk(options.jdk), "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch", "-XX:+UseG1GC", "-Dotel.service.name=changed", *options.java_option, "-cp", classes.folder,
                     "Changed", str(options.workers), str(options.rest), stdin=subprocess.PIPE, wrap=enter) as service:
            for percent in map(float, options.effects.split(",")):
                for case in CASES: # compiled, and measured once
                    service.turn(case, percent)
                    time.sleep(1)
                if options.record:
                    record(daemon, service, options)
                    break
                print(f"JDK {options.jdk}, {percent:g} % of the CPU time:", flush=True)
                first = one_effect(daemon, service, options, percent)
                print(f"  {first} of {len(options.cases.split(','))} came first", flush=True)
                missed += len(options.cases.split(",")) - first
    if options.record and options.rounds:
        draw(options)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
