# SPDX-License-Identifier: Apache-2.0
"""churn.py for several builds at once: each profiles the same JVM, so that the load is equal for all.

    churn_builds.py --builds "/path/to/one/build/release /path/to/another" --jdk 25

Each build itself reports late names; right and wrong are judged like in churn.py."""
import contextlib
import threading

import churn
import common
from harness import jvm, paths
from harness.daemon import Daemon
from harness.profile import count


def ask(daemon: Daemon, build: str, options, said: dict[str, tuple]) -> None:
    start = common.metrics(daemon)
    profile = daemon.profile(pid=options.pid, seconds=options.seconds, hz=options.hz, symbols=options.symbols)
    said[build] = profile, common.delays(common.metrics(daemon), start)


def report(build: str, profile, delays) -> None:
    counts = dict.fromkeys(("right", "wrong", "lost", "none"), 0)
    for stack in profile.stacks:
        if stack.thread.startswith("churn-"):
            counts[churn.judge(stack)] += stack.samples
    judged = sum(counts.values()) - counts["none"]
    print(f"{build}: {count(profile.stacks)} samples, {judged} in generated code, wrong {counts['wrong']}, lost {counts['lost']}, "
          f"{100 * counts['right'] / max(1, judged):.3f} % right\n  {delays[0]}", flush=True)


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=15.0, hz=499, life_ms=50, gc_every=20, symbols="memory", runs=1,
                               builds=paths.BUILD)
    classes = common.compile_bench("Churn", "ChurnBody000000")
    builds = options.builds.split()
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(jvm.Jvm(
            paths.jdk(options.jdk), "-Xmx256m", "-XX:ReservedCodeCacheSize=16m", *options.java_option, "-cp", classes.folder,
            "Churn", str(options.life_ms), str(options.gc_every)))
        options.pid = target.pid
        daemons = {}
        for build in builds:
            paths.BUILD = build
            daemons[build] = stack.enter_context(Daemon())
        for _ in range(options.runs):
            said: dict[str, tuple] = {}
            threads = [threading.Thread(target=ask, args=(daemon, build, options, said)) for build, daemon in daemons.items()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for build in builds:
                report(build, *said[build])


if __name__ == "__main__":
    main()
