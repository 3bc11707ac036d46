# SPDX-License-Identifier: Apache-2.0
"""Virtual threads that returned from a wait: their callers lie in the heap, and are read there."""
import time

from harness import paths
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses

DEEP = 21 # frames of Resumes.deep() below Resumes.work()
LEFT_OUT = "[...]"
CAPTURES_MAX = 8


def is_whole(stack) -> bool:
    """Returns true if the stack of a sample in Resumes.work() has all frames, each as often as it was called, down to the carrier's."""
    names = [name for name in stack.names if name.startswith("Resumes.")]
    return (LEFT_OUT not in stack.names and sum(name == "Resumes.deep" for name in names) == DEEP and "Resumes.handle" in names and
            "java.lang.VirtualThread.run" in stack.names and "java.util.concurrent.ForkJoinWorkerThread.run" in stack.names)


class Joined(WithClasses):
    sources = ("Resumes.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def check_whole(self, pid: int, share: float, least: int, **query) -> int:
        """Of LEAST samples in Resumes.work(), from as many captures as needed, at least SHARE have whole stacks."""
        count, cut = 0, []
        for _ in range(CAPTURES_MAX):
            profile = self.daemon.profile(pid=pid, **query)
            work = [s for s in profile.stacks if "Resumes.work" in s.names]
            count += sum(s.samples for s in work)
            cut += [s for s in work if not is_whole(s)]
            self.assertEqual([s.names for s in cut if LEFT_OUT not in s.names and not s.truncated], [], "what is missing is marked")
            frozen = sum(s.samples for s in profile.stacks if LEFT_OUT in s.names)
            self.assertGreaterEqual(profile.quality["truncated"], frozen)
            self.assertEqual(any("older frames lie in the heap" in w for w in profile.warnings), frozen > 0, profile.warnings)
            if count >= least:
                break
        self.assertGreaterEqual(count, least)
        self.assertLessEqual(sum(s.samples for s in cut), (1 - share) * count, [(s.samples, s.names[-8:]) for s in cut[:5]])
        return count


class VirtualThreads(Joined):
    def start(self, *arguments: str) -> Jvm:
        jvm = Jvm(paths.jdk(25), "-Xmx256m", "-XX:+UseSerialGC", "-cp", self.classes.folder, "Resumes", *arguments)
        self.addCleanup(jvm.stop)
        time.sleep(1) # until it is compiled
        return jvm

    def test_frames_in_the_heap(self):
        jvm = self.start()
        self.check_whole(jvm.pid, 0.99, 100, seconds=2, hz=199)
        self.check_whole(jvm.pid, 0.99, 10, seconds=1, event="alloc")

    def test_threads_that_never_waited(self):
        jvm = self.start("on")
        self.check_whole(jvm.pid, 0.9, 10, seconds=1, hz=199)
