# SPDX-License-Identifier: Apache-2.0
"""Virtual threads that came back from a wait: what is missing of their stacks is counted, and told."""
import time

from harness import paths
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses

TOLD = "older frames lie in the heap"


class VirtualThreads(WithClasses):
    sources = ("Resumes.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, *arguments: str) -> Jvm:
        jvm = Jvm(paths.jdk(25), "-Xmx256m", "-XX:+UseSerialGC", "-cp", self.classes.folder, "Resumes", *arguments)
        self.addCleanup(jvm.stop)
        time.sleep(2) # until it is compiled
        return jvm

    def test_frames_in_the_heap(self):
        """Each stack with [...] counts as truncated, by its own reason, in all that tells of the quality."""
        jvm = self.start()
        profile = self.daemon.profile(pid=jvm.pid, seconds=3, hz=199)
        work = [s for s in profile.stacks if "Resumes.work" in s.names]
        frozen = sum(s.samples for s in profile.stacks if "[...]" in s.names)
        self.assertGreaterEqual(profile.share(work, lambda s: "[...]" in s.names and not s.truncated), 0.9, profile.describe())
        whole = sum(s.samples for s in profile.stacks if s.truncated)
        self.assertGreaterEqual(profile.quality["truncated"], frozen, profile.describe())
        self.assertLessEqual(profile.quality["truncated"], frozen + whole, profile.describe())
        told = [w for w in profile.warnings if TOLD in w]
        self.assertEqual(len(told), 1, profile.warnings)
        self.assertIn(f" of {profile.quality['samples']} samples ", told[0])
        summary = self.daemon.get("/profile", pid=jvm.pid, seconds=1, hz=199, format="summary").text
        self.assertIn("frozen frames of a virtual thread", summary)
        metrics = self.daemon.get("/metrics").text
        counted = [line for line in metrics.splitlines() if line.startswith('flamed_samples_truncated_total{reason="virtual_thread"}')]
        self.assertTrue(counted and float(counted[0].split()[-1]) >= frozen * 0.9, counted)

    def test_threads_that_never_waited(self):
        """Whole stacks of virtual threads are not counted."""
        jvm = self.start("on")
        profile = self.daemon.profile(pid=jvm.pid, seconds=2, hz=199)
        work = [s for s in profile.stacks if "Resumes.work" in s.names]
        self.assertGreaterEqual(profile.share(work, lambda s: "[...]" not in s.names and "Resumes.handle" in s.names), 0.9, profile.describe())
        self.assertLessEqual(profile.quality["truncated"], 0.1 * profile.quality["samples"], profile.describe())
