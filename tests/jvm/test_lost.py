# SPDX-License-Identifier: Apache-2.0
"""The losses that a profile reports: those of its own samples, and none of others' samples."""
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import unittest
import urllib.parse

from harness import caller, native, paths, proc
from harness.daemon import Daemon

ALICE, BOB = 1001, 1002
FAST = 9999 # at this rate, samples of a deep stack take more than a quarter of a processor
LEAST = 50
FILLS = 2.5 # CPU seconds of BUSY after which the ring is long full

# Programs that fill the ring: one for each BPF program that writes into it. test_moments.py has that of safepoints, which depends on a
# JVM's probes.
EVENTS = ({"event": "cpu", "hz": FAST}, {"event": "offcpu", "interval": "100us"}, {"event": "malloc", "interval": 1, "force": 1},
          {"event": "nativelive", "interval": 1, "force": 1})
BUSY = "import time\nwhile True:\n    for _ in range(50): bytearray(600)\n    time.sleep(0.0001)" # large enough that Python calls malloc


class Lost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            raise unittest.SkipTest("needs two processors")
        # A sample of it takes some 40 us. It runs before all others on its processor, so that it has enough samples.
        hog = ("chrt", "--fifo", "1", "taskset", "-c", str(cpus[-1]))
        deep = native.build("far_below")
        cls.sleeper = cls.start(ALICE, (), "sleep", "1000").pid
        cls.spinner = cls.start(BOB, ("taskset", "-c", str(cpus[0])), "sh", "-c", "while :; do :; done").pid
        cls.alices, cls.bobs = (cls.start(user, hog, deep).pid for user in (ALICE, BOB))

    @classmethod
    def start(cls, user: int, wrap: tuple[str, ...], *command: str) -> subprocess.Popen:
        """Starts a command of USER's, and stops it."""
        process = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)
        proc.wait_until(lambda: proc.exe(process.pid) not in ("setpriv", "chrt", "taskset"), 10, command[0])
        os.kill(process.pid, signal.SIGSTOP)
        return process

    @contextlib.contextmanager
    def running(self, *pids: int):
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)

    def quality(self, user: int, **parameters) -> tuple[int, list[str]]:
        """Returns the lost samples that the profile of USER's capture reports, and its warnings."""
        query = urllib.parse.urlencode({"format": "json", **parameters})
        reply = caller.ask(f"http://127.0.0.1:{self.daemon.port}/profile?{query}", uid=user)
        self.assertEqual(reply.status, 200, reply)
        profile = json.loads(reply.body)
        return profile["quality"]["lost"], profile["warnings"]

    def beside(self, loser: dict, other: dict) -> tuple[tuple[int, list[str]], tuple[int, list[str]]]:
        """Runs both at once, the other capture within the first. Returns the losses of each."""
        lost: list = []
        thread = threading.Thread(target=lambda: lost.append(self.quality(seconds=3, hz=FAST, **loser)))
        with self.running(loser["pid"], self.spinner):
            thread.start()
            time.sleep(1) # the loser's capture has begun, and has two seconds left
            found = self.quality(seconds=1, **other)
            thread.join()
        return lost[0], found

    def check(self, loser: dict, other: dict) -> None:
        (lost, warned), (found, told) = self.beside(loser, other)
        self.assertGreater(lost, LEAST, "too little was lost for this test")
        self.assertTrue([w for w in warned if "lost" in w or "not taken" in w], warned)
        self.assertEqual(found, 0, told)
        reported = [w for w in told if "lost" in w or "not taken" in w]
        self.assertFalse([w for w in reported if not w.startswith("flamed is behind with its samples")], told)

    def test_root_profiles_bob(self):
        """Alice's own process sleeps: her capture does not learn of the losses of root's."""
        self.check({"user": 0, "pid": self.bobs}, {"user": ALICE, "pid": self.sleeper})

    def test_alice_loses(self):
        """Root's profile of another process, at another rate, is complete, and reports no loss."""
        self.check({"user": ALICE, "pid": self.alices}, {"user": 0, "pid": self.spinner, "hz": 19})

    def test_the_same_set(self):
        """Captures that share a set of events each report the losses of their own processes."""
        self.check({"user": 0, "pid": self.bobs}, {"user": ALICE, "pid": self.sleeper, "hz": FAST})

    def test_all_that_one_sees(self):
        """A viewer of all processes learns of every loss, others of the losses of their part."""
        for user in (0, ALICE):
            with self.subTest(user=user), self.running(self.alices):
                self.assertGreater(self.quality(user, seconds=1, hz=FAST)[0], LEAST)

    def test_a_full_ring(self):
        """Each program counts samples without room for their process: captures of another process do not report them."""
        busy = self.start(BOB, (), "python3", "-c", BUSY).pid
        flamed = self.daemon.processes()["flamed"]
        with self.running(busy):
            begun = [(event["event"], *(self.daemon.capture(pid=pid, **event) for pid in (busy, self.sleeper))) for event in EVENTS]
            time.sleep(1) # the probes are installed
            for pid in flamed:
                os.kill(pid, signal.SIGSTOP)
            before = proc.cpu_seconds(busy)
            try:
                proc.wait_until(lambda: proc.cpu_seconds(busy) > before + FILLS, 60, "the ring is full")
            finally:
                for pid in flamed:
                    os.kill(pid, signal.SIGCONT)
        for event, losing, other in begun:
            lost, found = losing.stop(), other.stop()
            print(f"{event}: {lost.quality['lost']} lost, {lost.samples} samples")
            with self.subTest(event=event):
                self.assertTrue([w for w in lost.warnings if "faster than they could be read" in w], lost.warnings)
                self.assertGreater(lost.quality["lost"], 0)
                self.assertEqual(found.quality["lost"], 0, found.warnings)


if __name__ == "__main__":
    unittest.main()
