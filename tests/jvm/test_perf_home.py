# SPDX-License-Identifier: Apache-2.0
"""Without BPF programs: perf events give CPU time, by copies of stacks. Missing features are reported with the reason. The kernel also
lacks the system calls that Linux 5.4 lacks."""
import os
import subprocess
import sys
from unittest import mock

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.oldkernel import CALLS_OF_5_4, lacking
from harness.profile import count, ordered
from harness.spinning import WithSpinningJvm

HZ = 199
WHY = "FLAMED_OLD_KERNEL"
DEEP = 130 # samples of the deep stack that are due
BEGUN = 0.6 # CPU seconds: more than the first leaf takes


class PerfHome(WithSpinningJvm):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "bpf"}):
            cls.daemon = Daemon(wrap=lacking(*CALLS_OF_5_4))
        cls.addClassCleanup(cls.daemon.stop)

    def test_true_and_whole(self):
        """As many samples as the thread's CPU time, with names of native and Java code, from the root on."""
        profile, _, clock = proc.captured(self.daemon, self.pid, proc.thread_of(self.pid, "spinner"), HZ, 130)
        stacks, due = profile.of_thread("spinner"), HZ * clock.between(profile)
        self.assertAlmostEqual(count(stacks) / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())
        path = ("start_thread", "JavaThread::thread_main_inner", "java.lang.Thread.run", self.spin.run)
        self.assertGreaterEqual(profile.share(stacks, lambda s: ordered(s.names, *path)), 0.99, profile.describe(stacks))
        self.assertEqual((profile.quality["lost"], profile.quality["truncated"]), (0, 0), profile.describe())

    def test_it_says_so(self):
        """In /readyz, and in each answer. The log says what is missing besides."""
        ready = self.daemon.get("/readyz")
        told = [p["detail"] for p in ready.json()["problems"] if p["what"] == "without bpf"]
        self.assertEqual((ready.status, len(told)), (200, 1), ready)
        profile = self.daemon.profile(pid=self.pid, seconds=0.3, hz=HZ)
        for text in told[0], "\n".join(profile.warnings):
            self.assertIn("without BPF programs event cpu alone is sampled", text)
            self.assertIn(WHY, text)
        for text in "the kernel has no Landlock", "the kernel has no openat2()":
            self.assertIn(text, self.daemon.log())

    def test_what_there_is_not(self):
        """Other events and higher rates are refused, and the list of events says so."""
        for status, arguments in (503, {"event": "offcpu"}), (503, {"event": "page-faults"}), (409, {"hz": HZ + 1}):
            with self.subTest(arguments):
                answer = self.daemon.get("/profile", pid=self.pid, seconds=1, **arguments)
                self.assertEqual(answer.status, status, answer)
                self.assertIn("without BPF programs", answer.json()["detail"])
                self.assertIn(WHY, answer.json()["detail"])
        available = [e["name"] for e in self.daemon.get("/api/v1/events").json()["events"] if e["available"]]
        self.assertEqual(available, ["cpu"])

    def test_several_rates(self):
        """Captures at several rates share the rings. Each has its own samples."""
        slow = self.daemon.capture(pid=self.pid, hz=20)
        fast = self.daemon.profile(pid=self.pid, seconds=5, hz=HZ)
        profile = slow.stop()
        self.assertGreater(profile.samples, 0, profile.describe())
        self.assertLess(profile.samples, fast.samples / 3, (profile.describe(), fast.describe()))

    def test_the_recorder(self):
        def recorded() -> bool:
            answer = self.daemon.get("/profile", pid=self.pid, format="collapsed", **{"from": "-60s"})
            return answer.status == 200 and self.spin.method in answer.text

        proc.wait_until(recorded, 20, "the recorder has samples")

    def test_no_jvm(self):
        """Native code has whole stacks, too: flamed may not read the memory of such a process, and need not."""
        with subprocess.Popen([*proc.ENDS_WITH_US, sys.executable, "-c", "while True: pass"]) as process:
            profile = self.daemon.profile(pid=process.pid, seconds=3, hz=HZ)
            process.kill()
        self.assertGreater(profile.samples, 20, profile.describe())
        whole = profile.share(profile.stacks, lambda s: not s.truncated and len(s.frames) > 3)
        self.assertGreaterEqual(whole, 0.9, profile.describe())

    def test_deep_stacks_are_cut(self):
        """Frames behind the copy are cut, and counted as such; the leaf is right. A leaf takes a thousand times as long as the way to it,
        but the first way has faults of all pages of the stack: the capture begins behind it."""
        deep = jvm.Classes()
        deep.compile("Deep.java")
        with jvm.Jvm(paths.jdk(17), "-Xint", "-cp", deep.folder, "Deep", "3000") as target:
            tid = proc.thread_of(target.pid, "deep-0")
            proc.wait_until(lambda: proc.cpu_seconds(target.pid, tid) > BEGUN, 60, "the thread is in its leaf")
            profile, _, _ = proc.captured(self.daemon, target.pid, tid, HZ, DEEP)
        stacks = profile.of_thread("deep-0")
        self.assertGreaterEqual(count(stacks), 0.8 * DEEP, profile.describe())
        cut = [s for s in stacks if s.truncated] # the others are at the begin of the recursion
        self.assertGreaterEqual(count(cut), 0.97 * count(stacks), profile.describe(stacks))
        at_leaf = profile.share(cut, lambda s: [f.name for f in s.frames if f.kind != "kernel"][-1] == "Deep.leaf") # a busy kernel interrupts it
        self.assertGreaterEqual(at_leaf, 0.95, profile.describe(cut))
        told = next(line for line in self.daemon.get("/metrics").text.splitlines() if 'truncated_total{reason="copied_stack"}' in line)
        self.assertGreaterEqual(float(told.split()[-1]), count(cut), told)


class Forbidden(WithSpinningJvm):
    def test_bpf_only(self):
        """With bpf_only, nothing replaces BPF programs, and no ring is given out."""
        with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "bpf"}), Daemon("--bpf-only=yes", wait=False) as daemon:
            proc.wait_until(lambda: os.path.exists(daemon.unix), 20, "flamed listens")
            proc.wait_until(lambda: any(WHY in p["detail"] for p in daemon.get("/readyz", unix=True).json()["problems"]), 20, "BPF is refused")
            answer = daemon.get("/profile", unix=True, pid=self.pid, seconds=1)
            self.assertEqual(answer.status, 503, answer)
            self.assertIn(WHY, answer.json()["detail"])
            self.assertEqual(daemon.get("/readyz", unix=True).status, 503)
