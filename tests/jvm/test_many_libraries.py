# SPDX-License-Identifier: Apache-2.0
"""JVMs that load hundreds and thousands of libraries: their stacks are as complete as without, and libraries without room are reported."""
import os
import shutil
import tempfile
import time

from harness import native, paths
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses, side_by_side, some

MANY = 700 # more than one description holds
TOO_MANY = 4700 # more than flamed keeps per process
LEFT_OUT = "executable mappings more than the"


class ManyLibraries(WithClasses):
    sources = ("Libraries.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix="flamed-many.", dir="/dev/shm")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        library = native.build("small", "-shared", "-fPIC", "-Wl,--build-id=none")
        for name, count in ("none", 0), ("many", MANY), ("too many", TOO_MANY):
            os.mkdir(os.path.join(cls.folder, name))
            for i in range(count):
                shutil.copy(library, os.path.join(cls.folder, name, f"libsmall{i:05}.so"))
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, version: int, name: str) -> Jvm:
        jvm = Jvm(paths.jdk(version), "-Xmx64m", "-XX:+UseSerialGC", "-cp", self.classes.folder, "Libraries", os.path.join(self.folder, name))
        self.addCleanup(jvm.stop)
        return jvm

    def check(self, profile) -> None:
        """Checks that Java code and native leaves are whole from main on, and named."""
        def whole(stack) -> bool:
            return not stack.truncated and "Libraries.main" in stack.names

        worker = [s for s in profile.stacks if "Libraries.round" in s.names or s.truncated]
        native_leaf = [s for s in worker if s.frames[-1].module.endswith("libzip.so") or "libz" in s.frames[-1].module]
        self.assertGreaterEqual(profile.share(worker, whole), 0.98, profile.describe())
        self.assertGreaterEqual(sum(s.samples for s in native_leaf), 0.15 * profile.samples, profile.describe())
        self.assertGreaterEqual(profile.share(native_leaf, lambda s: "Libraries.pack" in s.names and whole(s)), 0.98, profile.describe())

    def test_as_without(self):
        """With hundreds of libraries the result is the same as with none, and there is no warning."""
        def check(version: int) -> None:
            for name in "none", "many":
                with self.subTest(libraries=name, jdk=version):
                    jvm = self.start(version, name)
                    profile = self.daemon.profile(pid=jvm.pid, seconds=3, hz=999)
                    self.check(profile)
                    self.assertEqual([w for w in profile.warnings if LEFT_OUT in w], [])
                    jvm.stop()
        side_by_side(self, check, some(17, 25))

    def test_beyond_the_bound(self):
        """Beyond the limit, the loss is reported. libjvm and libc are known at once. Libraries that samples met are known in the next
        capture, though the JVM mapped them first, and so above all others."""
        jvm = self.start(25, "too many")
        first = self.daemon.profile(pid=jvm.pid, seconds=3, hz=999)
        self.assertEqual(len([w for w in first.warnings if LEFT_OUT in w and str(jvm.pid) in w]), 1, first.warnings)
        metric = next(line for line in self.daemon.get("/metrics").text.splitlines() if line.startswith("flamed_mappings_left_out "))
        self.assertGreater(float(metric.split()[1]), 300)
        deadline = time.monotonic() + 60
        while True:
            profile = self.daemon.profile(pid=jvm.pid, seconds=3, hz=999)
            try:
                return self.check(profile)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
