# SPDX-License-Identifier: Apache-2.0
"""The cost of an attach: time until flamed has the whole map with inlining, and processor time of the JVM's own thread. The first attach
makes the JVM listen, so it is separate from later ones. For comparison: `jcmd Compiler.perfmap`, the same command through flamed-attach,
and perf-map-agent if a folder with its build is given (JDK 17), interleaved in one run. Also the effect on the JVM: throughput, and the
longest gap of a thread that wakes every millisecond."""
import os
import subprocess
import time

import common
from harness import attach, jvm, paths, proc

PER_CLASS = 100


def generate(folder: str, methods: int) -> list[str]:
    """Makes classes M0, M1, ... of PER_CLASS methods, each with an inlined callee."""
    sources = []
    for c in range(methods // PER_CLASS):
        path = os.path.join(folder, f"M{c}.java")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"public final class M{c} {{\n    static long mix(long x) {{ return (x ^ x << 13) * 31; }}\n")
            for m in range(PER_CLASS):
                f.write(f"    static long work{m}(long x) {{ long s = mix(x + {m}); if (s % 7 == 0) s += mix(s); return s; }}\n")
            f.write("    public static long all(int n) {\n        long s = 0;\n        for (int i = 0; i < n; i++) {\n")
            f.write("".join(f"            s += work{m}(s + i);\n" for m in range(PER_CLASS)))
            f.write("        }\n        return s;\n    }\n}\n")
        sources.append(path)
    return sources


class Load(jvm.Obedient):
    def __init__(self, version: int, methods: int, *options: str):
        classes = jvm.Classes()
        classes.compile(*generate(classes.folder, methods), os.path.join(common.HERE, "Methods.java"))
        super().__init__(paths.jdk(version), *options, "-XX:TieredStopAtLevel=1", "-XX:-BackgroundCompilation", "-Xmx256m", "-cp",
                         classes.folder, "Methods", str(methods // PER_CLASS))

    def look(self, command: str = "") -> tuple[int, float]:
        ops, gap = self.ask(command).split()
        return int(ops), int(gap) / 1e6

    def rate(self, seconds: float) -> tuple[float, float]:
        """Returns work per second and the longest gap in ms."""
        before, _ = self.look()
        began = time.monotonic()
        time.sleep(seconds)
        after, gap = self.look()
        return (after - before) / (time.monotonic() - began), gap


def listener_ms(pid: int) -> float:
    """Returns the processor time so far of the thread that serves the agent."""
    return sum(int(proc.read(f"/proc/{pid}/task/{tid}/schedstat").split()[0]) for tid, name in proc.threads(pid).items()
               if name == "Attach Listener") / 1e6


def main() -> None:
    options = common.arguments(__doc__, jdk=17, methods="1000,7000,12000", rounds=5, seconds=10.0, perf_map_agent="")
    aims = common.Aims(options.check)
    jcmd = os.path.join(paths.jdk(max(paths.jdks())), "bin/jcmd")
    for methods in map(int, options.methods.split(",")):
        with Load(options.jdk, methods, *options.java_option) as target:
            target.look("pause")
            first = attach.attach(target.pid) # from here on it listens, and has the agent
            target.look("go")
            quiet, quiet_gap = target.rate(options.seconds)
            times: dict[str, list[float]] = {"first, JVM idle": [first.number("total_us") / 1000], "agent": [], "agent's replay": [],
                                             "agent, JVM idle": [], "its replay": [], "its thread": [], "jcmd": [], "perfmap": []}
            gaps = []
            target.look("pause")
            for _ in range(options.rounds):
                used = listener_ms(target.pid)
                found = attach.attach(target.pid)
                times["its thread"].append(listener_ms(target.pid) - used)
                times["agent, JVM idle"].append(found.number("total_us") / 1000)
                times["its replay"].append(found.number("replay_us") / 1000)
            target.look("go")
            for _ in range(options.rounds):
                target.look()
                found = attach.attach(target.pid)
                gaps.append(target.look()[1])
                times["agent"].append(found.number("total_us") / 1000)
                times["agent's replay"].append(found.number("replay_us") / 1000)
                pieces, size = found.number("pieces"), found.number("bytes")
                began = time.monotonic()
                subprocess.run([jcmd, str(target.pid), "Compiler.perfmap"], capture_output=True, check=False)
                times["jcmd"].append((time.monotonic() - began) * 1000)
                for words in ((), ("unfoldall",)) if options.perf_map_agent else ():
                    began = time.monotonic()
                    subprocess.run([os.path.join(paths.jdk(options.jdk), "bin/java"), "-cp", "attach-main.jar",
                                    "net.virtualvoid.perf.AttachOnce", str(target.pid), *words], capture_output=True, check=True,
                                   cwd=os.path.join(options.perf_map_agent, "out"))
                    times.setdefault(" ".join(("perf-map-agent", *words)), []).append((time.monotonic() - began) * 1000)
                if options.jdk >= 22:
                    found = attach.attach(target.pid, "perfmap")
                    times["perfmap"].append(float(found["attach_us"]) / 1000)
            after, _ = target.rate(options.seconds)
            print(f"jdk {options.jdk}, {methods} methods and what the JDK compiled: {pieces} pieces, {size / 1e6:.1f} MB")
            for name, values in times.items():
                if values:
                    print(f"  {name:25} median {common.median(values):7.1f} ms [{min(values):.1f} .. {max(values):.1f}]")
            print(f"  throughput over {options.seconds:.0f} s after / before: {after / quiet:.3f}; longest gap of a 1 ms waker: "
                  f"{max(gaps):.0f} ms while attached to, {quiet_gap:.0f} ms in {options.seconds:.0f} s before")
            aims.aim(f"a map of {methods} methods under 50 ms", common.median(times["agent"]) < 50)
            aims.aim("throughput within 5 %", after / quiet > 0.95)
    print(f"agent: {os.path.getsize(paths.program('libflamed-agent.so'))} bytes, flamed-attach: "
          f"{os.path.getsize(paths.program('flamed-attach'))} bytes")
    aims.exit()


if __name__ == "__main__":
    main()
