# SPDX-License-Identifier: Apache-2.0
"""Processes of unprivileged users that keep flamed busy: each maps a libjvm.so, and 60,000 files with long names."""
import contextlib
import dataclasses
import os
import subprocess
import tempfile
import threading
import time
import unittest

from harness import jvm, native, paths, proc
from harness.daemon import Daemon
from harness.idle import ENGINE_HOPS, HOPS, IdleServer
from harness.profile import count

FAKES = int(os.environ.get("FLAMED_FAKES", "40"))
SECONDS = 10 if FAKES > 40 else 5
MAPPINGS = 60_000
MEMORY = 512 << 20 # limit of flamed's cgroup
WORKER = 256 << 20 # limit of flamed's worker, which parses, whatever others run
# Before Linux 6.11 the executable mappings are found in the text of all mappings.
ANSWER_S = 2.5 if os.environ.get("FLAMED_OLD_KERNEL") else 0.2
LATE = 0.01 # share of answers: if 40 programs use both processors, each thread on the way may wait for its turn
LATE_S = 1.0 + ANSWER_S
USER = 1001


def memory_cgroup() -> tuple[str, str, str]:
    """Returns the cgroup folder in which memory is limited, and the names of the limit and of the peak."""
    if os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        return "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"
    return "/sys/fs/cgroup", "memory.max", "memory.peak"


@contextlib.contextmanager
def limited():
    """Makes a cgroup with MEMORY bytes. Returns its folder, and how to read the peak."""
    top, limit, peak = memory_cgroup()
    folder = tempfile.mkdtemp(prefix="flamed-test.", dir=top)
    try:
        try:
            with open(os.path.join(folder, limit), "w", encoding="ascii") as f:
                f.write(str(MEMORY))
        except OSError as e:
            raise unittest.SkipTest(f"no memory cgroup can be limited here: {e}")
        yield folder, lambda: int(proc.read(os.path.join(folder, peak)))
    finally:
        proc.wait_until(lambda: not proc.read(folder + "/cgroup.procs"), 10, "an empty cgroup")
        os.rmdir(folder)


class Fakes:
    """Runs COUNT such processes."""

    def __init__(self, stack: contextlib.ExitStack, number: int):
        program = native.build("manymaps")
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-fakes."))
        os.chmod(folder, 0o755)
        library = os.path.join(folder, "libjvm.so")
        with open(library, "wb") as f:
            f.write(bytes(4096))
        deep = os.path.join(folder, *["x" * 200] * 15)
        os.makedirs(deep)
        name = os.path.join(deep, "y" * 200)
        with open(name, "wb") as f:
            f.write(bytes(4096))
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        self.processes = []
        stack.callback(self.stop)
        share_us = max(100_000 // number // 4, 100)
        for _ in range(number):
            self.processes.append(subprocess.Popen([*proc.ENDS_WITH_US, *user, program, name, library, str(MAPPINGS), str(share_us)],
                                                   stdout=subprocess.PIPE, text=True))
        for process in self.processes:
            line = process.stdout.readline()
            assert line == f"started {MAPPINGS}\n", line

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            process.stdout.close()


@dataclasses.dataclass
class Asked:
    name: str
    hops: int # threads that an answer takes
    took: list[float] # seconds, ascending

    def most(self) -> float:
        """Returns the longest time of all answers except LATE of them."""
        return self.took[int((1 - LATE) * (len(self.took) - 1))]

    def __str__(self):
        return f"{self.name}: {len(self.took)} answers in {self.most():.3f} s, at worst {self.took[-1]:.3f} s"


class Asking:
    """Requests flamed's health, and as root on the Unix socket the engine's facts, all the time."""

    def __init__(self, daemon: Daemon, pid: int):
        self.daemon, self.pid = daemon, pid
        self.asked: list[Asked] = []
        self.bad: list[str] = []
        self.ended = threading.Event()
        paths_asked = (("/healthz", False), ("/healthz", True), (f"/api/v1/jvms/{pid}", True), ("/api/v1/events", True))
        self.threads = [threading.Thread(target=self.run, args=one) for one in paths_asked]
        self.count = len(self.threads)
        self.idle = IdleServer()
        self.threads.append(threading.Thread(target=self.run_idle))

    def run(self, path: str, unix: bool) -> None:
        took = []
        while not self.ended.wait(0.02):
            with proc.Standstill() as machine:
                answer = self.daemon.get(path, unix=unix, timeout=30)
                took.append(machine.given())
            if answer.status != 200:
                self.bad.append(f"{path}: {answer}")
        self.asked.append(Asked(f"{path}{' on the Unix socket' if unix else ''}", ENGINE_HOPS if path.startswith("/api/") else HOPS, sorted(took)))

    def run_idle(self) -> None:
        with self.idle:
            while not self.ended.wait(0.02):
                self.idle.ask()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()


class FakeJvms(unittest.TestCase):
    def test_others_are_served(self):
        """Clients are answered at once, a capture of a JVM has its length and its names, and memory stays below its limits."""
        paths.need_root()
        spin = jvm.make_spin()
        with contextlib.ExitStack() as stack:
            target = stack.enter_context(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", spin.folder, spin.main))
            folder, peak = stack.enter_context(limited())
            daemon = stack.enter_context(Daemon(wrap=["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder]))
            daemon.profile(pid=target.pid, seconds=1, hz=199) # its files are read
            asking = stack.enter_context(Asking(daemon, target.pid))
            Fakes(stack, FAKES)
            spinner = proc.thread_of(target.pid, "spinner")
            with proc.Standstill() as machine, proc.CpuClock(target.pid, spinner) as clock:
                profile = daemon.profile(pid=target.pid, seconds=SECONDS, hz=99)
                took = machine.given()
            whole = daemon.profile(seconds=SECONDS / 2, hz=99)
            cost = daemon.cost()
            used = max(c["peak_kib"] << 10 for name, c in cost.items() if name.startswith("flamed["))
            metrics = daemon.get("/metrics").text
            asking.__exit__()
            text = (f"{FAKES} fakes: a capture of {SECONDS} s took {took:.2f} s; flamed {used >> 20} MiB, "
                    f"the cgroup {peak() >> 20} MiB; {'; '.join(map(str, asking.asked))}; "
                    f"an idle server: {asking.idle.worst:.3f} s; "
                    + ", ".join(l for l in metrics.splitlines() if l.startswith(("flamed_looks_put_off", "flamed_samples_lost"))))
            print(text)
            self.assertEqual(asking.bad, [], text)
            self.assertEqual(len(asking.asked), asking.count, text) # no request was given up
            for asked in asking.asked:
                self.assertLess(asked.most(), asking.idle.limit(ANSWER_S, asked.hops), text)
                self.assertLess(asked.took[-1], asking.idle.limit(LATE_S, asked.hops), text)
            self.assertLess(took, asking.idle.limit(SECONDS + 1, ENGINE_HOPS), text)
            stacks = profile.of_thread("spinner")
            due = 99 * clock.between(profile)
            self.assertAlmostEqual(count(stacks) / due, 1, delta=0.1 + 4 / due ** 0.5, msg=text)
            self.assertGreater(profile.share(stacks, lambda s: spin.method in s.names), 0.9, profile.describe(stacks))
            self.assertGreater(count(whole.stacks), 0, text)
            self.assertTrue([w for w in whole.warnings if "were not read in time" in w], whole.warnings)
            self.assertLess(used, WORKER, text)
            self.assertLess(peak(), MEMORY, text)


if __name__ == "__main__":
    unittest.main()
