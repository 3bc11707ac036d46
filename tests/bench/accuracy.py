# SPDX-License-Identifier: Apache-2.0
"""Compares the profile of a load with known CPU shares: the error of each section, in percentage points, and in standard deviations of
as many samples drawn by chance. On an emulated machine (--emulated=1) there is no limit for the delay of names, and samples before the names
and the rules of native code were read do not count. Several sources of names (--symbols=auto,agent) take turns."""
import common
from harness import proc
from harness.daemon import Daemon
from harness.profile import count


WARM = 30 # seconds
TOLD = ("X-Flamed-Samples", "X-Flamed-Unknown", "X-Flamed-Truncated", "X-Flamed-Warning")
NAMED = 0.75 # share of the samples: code of libz has no symbols
CUT = 0.005 # share of cut stacks, which count for no section: first those in libz, whose rules are read late


def is_read(daemon: Daemon, pid: int, hz: int) -> bool:
    answer = daemon.get("/profile", pid=pid, seconds=3, hz=hz, symbols="memory", unix=True)
    print("before", answer.status, *(f"{name} {value}" for name, value in answer.headers.items() if name in TOLD))
    if answer.status != 200:
        return False
    samples, unknown, cut = (int(answer.headers[f"X-Flamed-{name}"]) for name in ("Samples", "Unknown", "Truncated"))
    return unknown < (1 - NAMED) * samples and cut <= CUT * samples


def chance(share: float, samples: int) -> float:
    """Returns the standard deviation of SHARE, in percentage points, of SAMPLES drawn by chance."""
    return 100 * (share * (1 - share) / max(1, samples)) ** 0.5


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=18.0, hz=999, runs=3, symbols="memory", worst=0.5, mean=0.2, emulated=0)
    aims = common.Aims(options.check)
    sources = options.symbols.split(",")
    errors: dict[str, dict[str, list[float]]] = {} # of each source
    least, most_unknown = (0.9, 0.005) if options.emulated else (0.99, 0.0005) # of hundreds of samples, or of thousands
    wrap = ["nice", "-n", "10"] if options.emulated else None # flamed would wait for the spinning load
    with common.Mix(options.jdk, *options.java_option, wrap=wrap) as target, Daemon() as daemon:
        if options.emulated:
            proc.wait_until(lambda: is_read(daemon, target.pid, options.hz), WARM, "names and rules are read")
        start = common.metrics(daemon)
        for run in range(options.runs):
            source = sources[run % len(sources)]
            sections = errors.setdefault(source, {})
            before = target.used()
            profile = daemon.profile(pid=target.pid, seconds=options.seconds, hz=options.hz, symbols=source, unix=True)
            truth = common.difference(target.used(), before)
            del truth["runs"], truth["work"]
            total = sum(truth.values())
            stacks = [s for s in profile.stacks if s.thread.startswith("worker-")]
            samples = count(stacks)
            print(f"run {run + 1}, {source}: {profile.answer.headers['X-Flamed-Symbols']}; {samples} samples of the workers for "
                  f"{total / 1e9:.1f} s of CPU "
                  f"({samples / (total / 1e9 * options.hz):.3f} of what is due), quality {profile.quality}")
            # Between the sections the workers read the clock: no section includes that time.
            inside = [s for s in stacks if any(section + ".run" in s.names for section in truth)]
            print(f"  {100 * (1 - count(inside) / max(1, samples)):.2f} % of the samples are between sections")
            for section, ns in truth.items():
                share = profile.share(inside, lambda s: f"{section}.run" in s.names)
                error = 100 * (share - ns / total)
                sections.setdefault(section, []).append(error)
                print(f"  {section:20} true {100 * ns / total:6.2f} %  seen {100 * share:6.2f} %  {error:+.2f}, "
                      f"{error / max(1e-9, chance(ns / total, count(inside))):+.1f} sd")
            java = [s for s in stacks if any(f.kind in ("c1", "c2", "inlined", "interpreted") for f in s.frames)]
            unknown = profile.share(java, lambda s: any(f.kind == "unknown" and not f.module for f in s.frames))
            stripped = profile.share(java, lambda s: any(f.kind == "unknown" and f.module for f in s.frames))
            interpreted = [s for s in stacks if "Mix$Interpreted.run" in s.names]
            named = profile.share(interpreted, lambda s: "MixInterp.interpWork" in s.names)
            whole = profile.share(stacks, lambda s: "java.lang.Thread.run" in s.names and not s.truncated)
            print(f"  whole {100 * whole:.2f} %, unknown in Java code {100 * unknown:.3f} %, in files without "
                  f"symbols {100 * stripped:.3f} %, "
                  f"interpreted method named {100 * named:.2f} %")
            aims.aim(f"under {100 * most_unknown:g} % unknown in Java code", unknown < most_unknown)
            aims.aim("the interpreted method is named", named > least)
            if named <= least:
                print(profile.describe([s for s in interpreted if "MixInterp.interpWork" not in s.names]))
        text, in_time = common.delays(common.metrics(daemon), start)
        print(text)
        if not options.emulated:
            aims.aim("99 % of samples named within 20 ms", in_time >= 0.99)
    for source, sections in errors.items():
        medians = {section: abs(common.median(values)) for section, values in sections.items()}
        worst, mean = max(medians.values()), sum(medians.values()) / len(medians)
        print(f"{source}: median of {len(next(iter(sections.values())))}: worst {worst:.2f}, mean {mean:.2f} percentage points")
        aims.aim(f"{source}: no section off by more than {options.worst} points", worst <= options.worst)
        aims.aim(f"{source}: mean at most {options.mean} points", mean <= options.mean)
    aims.exit()


if __name__ == "__main__":
    main()
