# SPDX-License-Identifier: Apache-2.0
"""Waits of virtual threads without a carrier, compared with the program's own clocks."""
import re
import subprocess
import time

from harness import jdkroot, proc
from harness.daemon import Daemon
from harness.jvm import WithClasses
from harness.profile import Profile

PER_SITE = 20
SITES = ("siteSleep", "siteLock", "siteMonitor", "siteQueue", "siteSocket")


class VirtualWaits(WithClasses):
    sources = ("VirtualWaits.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, version: int, *options: str, main: str = "VirtualWaits", argument: int = PER_SITE) -> subprocess.Popen:
        home, classes, wrap = jdkroot.alone(version, self.classes.folder)
        jvm = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, f"{home}/bin/java", "-Xmx512m", *options, "-cp", classes, main, str(argument)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(jvm.communicate)
        self.addCleanup(jvm.kill)
        self.assertEqual(jvm.stdout.readline(), "started\n")
        time.sleep(2) # until it is compiled
        return jvm

    def waited(self, jvm: subprocess.Popen) -> dict[str, tuple[int, int]]:
        """Returns how long each site has waited so far, and by when, in ns."""
        jvm.stdin.write("\n")
        jvm.stdin.flush()
        words = jvm.stdout.readline().split()
        return {site: (int(ns), int(when)) for site, ns, when in zip(words[::3], words[1::3], words[2::3])}

    @staticmethod
    def truth(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> dict[str, float]:
        """Returns how many threads of each site waited between two readings, on average, by the program's clocks."""
        return {site: (after[site][0] - before[site][0]) / max(after[site][1] - before[site][1], 1) for site in SITES}

    def profile(self, jvm: subprocess.Popen, seconds: int, **query):
        """Returns a profile, and the share of the waits of each site by the program's clocks and by the profile."""
        before = self.waited(jvm)
        profile = self.daemon.profile(pid=jvm.pid, seconds=seconds, threads=1, **query)
        truth = self.truth(before, self.waited(jvm))
        for site, threads in truth.items():
            self.assertLessEqual(threads, PER_SITE + 0.001, f"{site}: no more threads than there are can wait: {truth}")
        return profile, truth, {site: self.seen(profile, site) for site in SITES}

    @staticmethod
    def seen(profile, site: str) -> float:
        """Returns how many threads waited there, on average."""
        waited = sum(s.value for s in profile.stacks if f"VirtualWaits.{site}" in s.names and "VirtualWaits.hold" not in s.names)
        return waited / 1e9 / (profile.end - profile.start)

    def check(self, version: int, *options: str, seconds: int = 10, points: float = 1.0):
        """Each site has the share of the waits that the program measures, and their sum is the same."""
        jvm = self.start(version, *options)
        profile, truth, seen = self.profile(jvm, seconds, event="wall")
        print(version, options, round(profile.end - profile.start, 2), {site: (round(truth[site], 2), round(seen[site], 2)) for site in SITES}, profile.quality, flush=True)
        for site in SITES:
            share, found = truth[site] / sum(truth.values()), seen[site] / sum(seen.values())
            self.assertAlmostEqual(100 * found, 100 * share, delta=points, msg=f"{site}: {truth} {seen}")
        self.assertAlmostEqual(sum(seen.values()) / sum(truth.values()), 1, delta=0.05)
        locks = self.daemon.profile(pid=jvm.pid, seconds=2, event="lock")
        self.assertTrue(any("siteLock" in n for s in locks.stacks for n in s.names), locks.describe())
        self.assertFalse(any("siteSocket" in n for s in locks.stacks for n in s.names), locks.describe())

    def test_25(self):
        self.check(25, seconds=3, points=3)

    def test_untracked(self):
        """A JVM does not list threads that no executor has started: a warning says so, and the others are there."""
        jvm = self.start(25, "-Djdk.trackAllThreads=false")
        profile = self.daemon.profile(pid=jvm.pid, seconds=1, event="offcpu")
        self.assertTrue(any("trackAllThreads=false" in w for w in profile.warnings), profile.warnings)
        # A thread with a carrier is there: it may wait for a processor on its way to the wait.
        self.assertFalse(any("VirtualWaits.siteSleep" in s.names for s in profile.of_thread("virtual threads")), profile.describe())

    def test_recorded(self):
        """The flight recorder has waits of virtual threads, by a pass about once a second, of each site and of locks."""
        with Daemon() as recording:
            jvm = self.start(25)
            proc.wait_until(lambda: "VirtualWaits.siteSleep" in recording.get("/profile", pid=jvm.pid, event="offcpu", format="collapsed", **{"from": "-4s"}).text,
                            60, "the recorder knows its virtual threads")
            before = self.waited(jvm)
            time.sleep(12)
            truth = self.truth(before, self.waited(jvm))
            waits, locks = (Profile(recording.get("/profile", pid=jvm.pid, event=event, format="json", **{"from": "-9s", "to": "-2s"}))
                            for event in ("offcpu", "lock"))
        seen = {site: self.seen(waits, site) for site in SITES}
        for site in SITES:
            self.assertAlmostEqual(seen[site] / sum(seen.values()), truth[site] / sum(truth.values()), delta=0.08, msg=f"{site}: {truth} {seen}")
        # A pass at either end may be missing.
        self.assertAlmostEqual(sum(seen.values()) / sum(truth.values()), 1, delta=0.4, msg=f"{truth} {seen}")
        self.assertGreater(self.seen(locks, "siteLock"), 5)
        self.assertEqual(self.seen(locks, "siteSocket"), 0)

    def test_recorded_looks_that_are_cut(self):
        """The recorder's answer says how much of the waits has stacks without their outer frames, if that is over 1 %."""
        with Daemon() as recording:
            jvm = self.start(25)
            time.sleep(10)
            answer = recording.get("/profile", pid=jvm.pid, event="offcpu", format="json", **{"from": "-8s"})
        self.assertEqual(answer.status, 200, answer)
        stacks = Profile(answer).stacks
        share = 100 * sum(s.value for s in stacks if s.truncated) / sum(s.value for s in stacks)
        said = re.search("([0-9]+) % of the time that threads waited has stacks without their outer frames", "\n".join(answer.warnings))
        self.assertAlmostEqual(share, int(said[1]) if said else 0.5, delta=1)
