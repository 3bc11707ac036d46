# SPDX-License-Identifier: Apache-2.0
"""Waits of virtual threads by probes (source=probe): exact, told apart, bounded, and without a trace afterwards."""
import re
import subprocess

import test_alloc
import test_virtual_waits
from harness import proc
from harness.profile import Profile, count

SLEEPERS = 300


class VirtualYields(test_virtual_waits.VirtualWaits):
    sources = ("VirtualWaits.java", "VirtualYields.java")
    check_each = test_25 = test_untracked = test_recorded = test_recorded_looks_that_are_cut = None

    def begin(self, jvm: subprocess.Popen, what: str) -> None:
        jvm.stdin.write(what + "\n")
        jvm.stdin.flush()
        self.assertEqual(jvm.stdout.readline(), what + "\n")

    def probed(self, jvm: subprocess.Popen, seconds: float, event: str = "offcpu", **query) -> Profile:
        return self.daemon.profile(pid=jvm.pid, seconds=seconds, event=event, source="probe", threads=1, **query)

    @staticmethod
    def unless_often(profile: Profile) -> Profile | None:
        """Threads that wait to run may yield too often for probes, beside other tests and for a moment."""
        return None if any("yield so often" in w for w in profile.warnings) else profile

    def assert_by_probes(self, profile: Profile) -> None:
        self.assertFalse([w for w in profile.warnings if "by looking" in w or "missing" in w], profile.warnings)

    @staticmethod
    def threads_at(profile: Profile, name: str, **of) -> float:
        """How many threads were there, on average."""
        return sum(s.value for s in profile.stacks if name in s.names and all(getattr(s, k) == v for k, v in of.items())) \
            / 1e9 / (profile.end - profile.start)

    def check_exact(self, version: int, *options: str, seconds: int = 10, percent: float = 3) -> None:
        """Each of five sites has the waits that the program measures itself."""
        jvm = self.start(version, *options)
        profile, truth, seen = self.profile(jvm, seconds, event="wall", source="probe")
        if not self.unless_often(profile):
            profile, truth, seen = self.profile(jvm, seconds, event="wall", source="probe")
        nameless = count([s for s in profile.stacks if any(f.kind == "unknown" and not f.module for f in s.frames)])
        print(version, options, {site: (round(truth[site], 3), round(seen[site], 3)) for site in test_virtual_waits.SITES}, profile.quality,
              f"{nameless} with a frame that is not of a file", flush=True)
        self.assert_by_probes(profile)
        for site in test_virtual_waits.SITES:
            self.assertAlmostEqual(seen[site], truth[site], delta=truth[site] * percent / 100 + 0.001, msg=f"{site}: {truth} {seen}")
        locks = self.probed(jvm, 1, event="lock")
        if not self.unless_often(locks):
            locks = self.probed(jvm, 1, event="lock")
        self.assert_by_probes(locks)
        self.assertAlmostEqual(self.seen(locks, "siteLock"), truth["siteLock"], delta=0.5, msg=locks.describe())
        self.assertEqual(self.seen(locks, "siteSocket"), 0, locks.describe())
        test_alloc.wait_clean(jvm.pid)
        jvm.kill() # the next one of a list has the machine for itself
        jvm.wait()

    def test_exact_25(self):
        self.check_exact(25, seconds=3, percent=5)

    def test_told_apart(self):
        """Sleepers that never wake count in full; Thread.yield() is runnable; a pinned thread is its carrier's."""
        jvm = self.start_yields(25)
        for what in "slowly", "pin":
            self.begin(jvm, what)
        profile = self.probed(jvm, 2, interval="100us")
        self.assert_by_probes(profile)
        self.assertAlmostEqual(self.threads_at(profile, "VirtualYields.sleeper"), SLEEPERS, delta=SLEEPERS * 0.01)
        self.assertAlmostEqual(self.threads_at(profile, "VirtualYields$Held.hold", kind="pinned"), 1, delta=0.2, msg=profile.describe())
        unpinned = self.threads_at(profile, "VirtualYields$Held.hold", kind="virtual", state="blocked")
        self.assertLess(unpinned, 0.01, profile.describe()) # the microsecond in which it pins itself
        yields = {s.state for s in profile.of_thread("virtual threads") if "java.lang.Thread.yield" in s.names}
        self.assertEqual(yields, {"runnable"}, profile.describe())
        slow = self.threads_at(profile, "VirtualYields.slowYielder", state="blocked")
        self.assertGreater(slow, 0.5, profile.describe())
        self.assertEqual({s.state for s in profile.of_thread("virtual threads") if "VirtualYields.sleeper" in s.names}, {"blocked"})
        test_alloc.wait_clean(jvm.pid)

    def test_too_often(self):
        """A JVM with too many yields is sampled in full, by probes or by looking; unit_yields_probe tests which."""
        jvm = self.start_yields(25)
        self.begin(jvm, "yield")
        profile = self.probed(jvm, 2) # up to 75 ms after the last look are in no sample
        # On a busy machine looks may be more than a second apart. A warning has the time that is missing.
        missing = sum(float(s) for w in profile.warnings for s in re.findall(r"^([\d.]+) s of waits of virtual threads are missing", w))
        threads = self.threads_at(profile, "VirtualYields.sleeper") + missing / (profile.end - profile.start)
        self.assertAlmostEqual(threads, SLEEPERS, delta=SLEEPERS * 0.05, msg=profile.warnings)
        test_alloc.wait_clean(jvm.pid)

    def test_bare_continuation(self):
        """A continuation outside of virtual threads is no wait, and costs the JVM no probes."""
        for collector in "-XX:+UseG1GC", "-XX:+UseZGC":
            with self.subTest(collector=collector):
                jvm = self.start_yields(25, "--add-exports=java.base/jdk.internal.vm=ALL-UNNAMED", collector)
                self.begin(jvm, "continuation")
                profile = self.probed(jvm, 1)
                self.assert_by_probes(profile)
                self.assertAlmostEqual(self.threads_at(profile, "VirtualYields.sleeper"), SLEEPERS, delta=SLEEPERS * 0.02)

    def test_unlisted(self):
        """Threads that the JVM does not list have samples when their waits end; a warning says that the last are missing."""
        jvm = self.start(25, "-Djdk.trackAllThreads=false")
        profile = proc.wait_until(lambda: self.unless_often(self.probed(jvm, 1)), 60, "the probes are hit seldom enough")
        self.assertTrue(any("trackAllThreads=false" in w for w in profile.warnings), profile.warnings)
        self.assertTrue(any("to its first run" in w for w in profile.warnings), profile.warnings)
        figures = [float(s) for w in profile.warnings for s in re.findall(r"they have waited for at least ([\d.]+) s$", w)]
        self.assertEqual(len(figures), 1, profile.warnings)
        self.assertTrue(0 < figures[0] < test_virtual_waits.PER_SITE * len(test_virtual_waits.SITES) * (profile.end - profile.start), profile.warnings)
        self.assertGreater(self.seen(profile, "siteSleep"), 0, profile.describe())

    def start_yields(self, version: int, *options: str) -> subprocess.Popen:
        return self.start(version, *options, main="VirtualYields", argument=SLEEPERS)
