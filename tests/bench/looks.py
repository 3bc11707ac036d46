# SPDX-License-Identifier: Apache-2.0
"""Waits by passes of the recorder: the shares of five kinds of waits, compared with the program's own clock and with event=wall in the same
time. Also the cost of passes beside many idle threads."""
import subprocess
import sys
import time
from datetime import datetime, timezone

import common
from harness import jdkroot, jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile

KINDS = ("sleep", "park", "notify", "lock", "network")
AIM_POINTS, AIM_COST = 1.5, 0.1


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class KnownWaits(jvm.Jvm):
    def __init__(self, version: int, folder: str, threads: int, ms: int):
        home, classes, inside = jdkroot.alone(version, folder)
        super().__init__(home, "-Xmx128m", "-cp", classes, "KnownWaits", str(threads), str(ms), stdin=subprocess.PIPE, wrap=inside)

    def waited(self) -> dict[str, float]:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        while "sleep=" not in (line := self.process.stdout.readline()):
            pass
        return {word.split("=")[0]: int(word.split("=")[1]) / 1e9 for word in line.split()}


def by_kind(profile: Profile) -> dict[str, float]:
    """Returns seconds of the threads that measure themselves; "cut": stacks without a reason of the wait."""
    found: dict[str, float] = {}
    for s in profile.stacks:
        if s.thread.startswith("known-") and s.state == "blocked":
            kind = s.wait if s.wait in KINDS else "cut"
            found[kind] = found.get(kind, 0) + s.value / 1e9
    return found


def shares(seconds: dict[str, float]) -> dict[str, float]:
    whole = sum(seconds.get(kind, 0) for kind in KINDS)
    return {kind: 100 * seconds.get(kind, 0) / whole for kind in KINDS}


def wait_for_passes(daemon: Daemon, count: int) -> None:
    begun = numbers(daemon)["flamed_looks_total"]
    proc.wait_until(lambda: numbers(daemon)["flamed_looks_total"] >= begun + count, 8 * count, f"{count} passes", interval=0.2)
    time.sleep(1) # their stacks get names


def truth(daemon: Daemon, options) -> float:
    """Prints the shares. Returns the largest difference in points."""
    classes = common.compile_bench("KnownWaits")
    with KnownWaits(options.jdk, classes.folder, options.threads, options.ms) as program:
        time.sleep(5) # the first passes are over; the program is compiled
        before, begun = program.waited(), time.time()
        hooked = by_kind(Profile(daemon.get("/profile", pid=program.pid, seconds=options.hooks, event="wall", threads=1, format="json",
                                            timeout=options.hooks + 60))) if options.hooks else {}
        time.sleep(max(options.seconds - (time.time() - begun), 0))
        ended = time.time()
        after = program.waited()
        wait_for_passes(daemon, 2) # the next one may meet a thread while it runs
        looked = by_kind(Profile(daemon.get("/profile", pid=program.pid, event="wall", threads=1, format="json",
                                            **{"from": stamp(begun), "to": stamp(ended)})))
    own = {kind: after[kind] - before[kind] for kind in KINDS}
    true, by_looks, by_hooks = shares(own), shares(looked), shares(hooked) if hooked else {}
    for kind in KINDS:
        print(f"  {kind}: {looked.get(kind, 0):.1f} of {own[kind]:.1f} s, {by_looks[kind]:.2f} % of {true[kind]:.2f} %"
              + (f"; by event=wall, of {options.hooks:.0f} s, {by_hooks[kind]:.2f} %" if hooked else ""))
    whole = sum(looked.values())
    print(f"  in all {whole:.1f} of {sum(own.values()):.1f} s, {100 * looked.get('cut', 0) / whole:.1f} % without a stack that says what for")
    return max(abs(by_looks[kind] - true[kind]) for kind in KINDS)


def numbers(daemon: Daemon) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines if "looks" in name}


# flamed sees only this namespace: other JVMs would cost time, too.
ALONE = ["unshare", "-mpf", "--mount-proc", "--kill-child"]


def one_cost(options, folder: str, waits: str) -> float:
    """Returns the percent of a CPU that flamed uses beside idle threads."""
    with Daemon("--recorder-waits=" + waits, wrap=ALONE) as daemon:
        enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
        with jvm.Jvm(paths.jdk(options.jdk), "-Xmx256m", "-Xss512k", "-cp", folder, "IdleService", str(options.idle // 3),
                     stdin=subprocess.PIPE, wrap=enter):
            time.sleep(options.settle) # until all stacks are known
            before, numbers_before, begun = sum(proc.cpu_seconds(pid) for pid in daemon.pids()), numbers(daemon), time.monotonic()
            time.sleep(options.slice)
            took = time.monotonic() - begun
            used, found = 100 * (sum(proc.cpu_seconds(pid) for pid in daemon.pids()) - before) / took, numbers(daemon)
    looks = ""
    if waits == "yes":
        more = {name: found[name] - numbers_before[name] for name in found}
        looks = (f"; {found['flamed_looks_threads']:.0f} threads, passes of "
                 f"{1000 * more['flamed_looks_seconds_total'] / more['flamed_looks_total']:.2f} ms, "
                 f"{more['flamed_looks_walked_total'] / took:.1f} walks a second")
    print(f"  recorder_waits={waits}: {used:.3f} % of a CPU{looks}", flush=True)
    return used


def cost(options) -> float:
    """Returns the percent of a CPU that passes use beside idle threads: the difference with and without them, in turn."""
    classes = jvm.Classes()
    classes.compile("IdleService.java")
    used: dict[str, list[float]] = {"no": [], "yes": []}
    for turn in range(2 * options.rounds):
        waits = ("yes", "no", "no", "yes")[turn % 4]
        used[waits].append(one_cost(options, classes.folder, waits))
    return sum(used["yes"]) / options.rounds - sum(used["no"]) / options.rounds


def main() -> int:
    options = common.arguments(__doc__, jdk=17, seconds=300.0, threads=40, ms=1000, hooks=0.0, idle=1000, rounds=2, slice=30.0, settle=40.0)
    missed = False
    if options.seconds:
        with Daemon() as daemon:
            print(f"JDK {options.jdk}, {options.threads} threads that wait up to {options.ms} ms, {options.seconds:.0f} s", flush=True)
            off = truth(daemon, options)
        print(f"  off by {off:.2f} points at most")
        missed |= off > AIM_POINTS
    if options.idle:
        print(f"JDK {options.jdk}, {options.idle} idle threads", flush=True)
        took = cost(options)
        print(f"  looking took {took:.3f} % of a CPU")
        missed |= took > AIM_COST
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
