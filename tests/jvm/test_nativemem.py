# SPDX-License-Identifier: Apache-2.0
"""The causes of a JVM's growth (event=nativemem) have names: arenas, metaspace, stacks of threads. Values equal their sizes, or RSS."""
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile


class Program(jvm.Obedient):
    """Grows.java, which executes lines."""

    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx256m", "-XX:MaxDirectMemorySize=2g", "-cp", folder, "Grows")


def value(profile: Profile, *names: str) -> int:
    """Returns the value of stacks with one of these frames."""
    return sum(s.value for s in profile.stacks if any(name in frame for frame in s.names for name in names))


class NativeMemory(jvm.WithClasses):
    sources = ("Grows.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if "[always]" in proc.read("/sys/kernel/mm/transparent_hugepage/enabled"):
            raise unittest.SkipTest("a huge page counts as a small one")
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)

    def grown(self, program: Program, what: str, interval: str, areas: tuple[str, ...] = ()) -> tuple[Profile, int]:
        """Returns the profile of the program's work, and the growth of these areas of its memory meanwhile, by RSS."""
        def resident() -> int:
            answer = self.daemon.get(f"/api/v1/jvms/{program.pid}/heap").json()
            return sum(row["bytes"] for row in answer["resident"]["areas"] if row["area"] in areas)

        before = resident() if areas else 0
        capture = self.daemon.capture(pid=program.pid, event="nativemem", interval=interval)
        program.do(what)
        profile = capture.stop()
        self.assertLess(profile.quality["lost"], 0.05 * profile.samples, profile.describe())
        if areas: # an answer may be older
            proc.wait_until(lambda: resident() - before > 4 << 20, 30, "RSS has grown")
        return profile, resident() - before if areas else 0

    def test_arenas(self):
        """Arenas of two sites."""
        with Program(25, self.classes.folder) as program:
            program.do("arenas") # loads classes
            profile, _ = self.grown(program, "arenas", "64k")
            lost = profile.quality["lost"] / profile.samples
            for site, truth in (("Grows.small", 32 << 20), ("Grows.large", 96 << 20)):
                print(f"{site}: {value(profile, site)} of {truth}", end=" ")
                self.assertAlmostEqual(value(profile, site) / truth, 1, delta=0.01 + lost, msg=profile.describe())

    def test_metaspace(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), Program(version, self.classes.folder) as program:
                profile, truth = self.grown(program, "classes", "16k", ("metaspace", "class_space"))
                found = value(profile, "Metaspace::")
                print(f"{version}: {found} of {truth}", end=" ")
                self.assertAlmostEqual(found / truth, 1, delta=0.2, msg=profile.describe())

    def test_stacks_of_threads(self):
        """First touched by the thread itself, and by its creator."""
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version), Program(version, self.classes.folder) as program:
                profile, truth = self.grown(program, "threads", "16k", ("java_stacks",))
                found = value(profile, "thread_native_entry", "pthread_create")
                print(f"{version}: {found} of {truth}", end=" ")
                self.assertAlmostEqual(found / truth, 1, delta=0.2, msg=profile.describe())


if __name__ == "__main__":
    unittest.main()
