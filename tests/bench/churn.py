# SPDX-License-Identifier: Apache-2.0
"""Classes that are generated, compiled, run for a moment and unloaded: whether the profile names the method that ran.

Each stack contains its own truth: the steps that call a generated method spell its number (Churn.java)."""
import re

import common
from harness import jdkroot, jvm
from harness.daemon import Daemon
from harness.profile import count

STEP = re.compile(r"^Churn\$Step(\d)\.digit$")
BODY = re.compile(r"^ChurnBody(\d{6})\.(run|work(\d{6}))$")


def judge(stack) -> str:
    """Returns right, wrong, lost (no name) or none (no generated code in this stack: it is being defined)."""
    digits = "".join(m[1] for m in map(STEP.match, stack.names) if m)
    if len(digits) != 6:
        return "none"
    last = max(i for i, name in enumerate(stack.names) if STEP.match(name))
    below = [f for f in stack.frames[last + 1:] if f.name != "Churn$Step.next"]
    bodies = [m for m in (BODY.match(f.name) for f in below) if m]
    if any(m[1] != digits or m[3] and m[3] != digits for m in bodies):
        return "wrong"
    if not below:
        return "none"
    return "right" if bodies else "lost"


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=15.0, hz=499, life_ms=50, gc_every=20, symbols="memory")
    aims = common.Aims(options.check)
    classes = common.compile_bench("Churn", "ChurnBody000000")
    home, folder, inside = jdkroot.alone(options.jdk, classes.folder)
    with jvm.Jvm(home, "-Xmx256m", "-XX:ReservedCodeCacheSize=16m", *options.java_option, "-cp", folder, "Churn", str(options.life_ms),
                 str(options.gc_every), wrap=inside) as target, Daemon() as daemon:
        start = common.metrics(daemon)
        profile = daemon.profile(pid=target.pid, seconds=options.seconds, hz=options.hz, symbols=options.symbols)
        text, in_time = common.delays(common.metrics(daemon), start)
    stacks = [s for s in profile.stacks if s.thread.startswith("churn-")]
    counts: dict[str, int] = {"right": 0, "wrong": 0, "lost": 0, "none": 0}
    examples: dict[str, list] = {}
    for s in stacks:
        verdict = judge(s)
        counts[verdict] += s.samples
        examples.setdefault(verdict, []).append(s)
    judged = count(stacks) - counts["none"]
    print(f"{count(stacks)} samples of the generating threads, {judged} in generated code; quality {profile.quality}")
    for verdict in ("right", "wrong", "lost"):
        print(f"  {verdict:6} {100 * counts[verdict] / max(1, judged):7.3f} %")
    for verdict in ("wrong", "lost"):
        if verdict in examples:
            print(f"{verdict}:\n{profile.describe(examples[verdict], 3)}")
    print(text)
    aims.aim("99 % of samples named within 20 ms", in_time >= 0.99)
    aims.aim("99.9 % right", judged > 0 and counts["right"] / judged >= 0.999)
    aims.exit()


if __name__ == "__main__":
    main()
