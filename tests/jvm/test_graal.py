# SPDX-License-Identifier: Apache-2.0
"""Graal in place of C2, from Maven: its code has its kind, and stacks through it are whole."""
import os
import subprocess
import time
import unittest

from harness import paths
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses, side_by_side

LIBRARIES = {17: ("org.graalvm.compiler:compiler:22.3.5", "org.graalvm.sdk:graal-sdk:22.3.5", "org.graalvm.truffle:truffle-api:22.3.5"),
             25: ("org.graalvm.compiler:compiler:25.0.1", "org.graalvm.sdk:collections:25.0.1", "org.graalvm.sdk:word:25.0.1",
                  "org.graalvm.truffle:truffle-compiler:25.0.1")}
OPTIONS = ("-XX:+UnlockExperimentalVMOptions", "-XX:+EnableJVMCI", "-XX:+UseJVMCICompiler", "-XX:CompileCommand=quiet",
           "-XX:CompileCommand=exclude,Leaves::round", "-XX:CompileCommand=exclude,Leaves::main")
COMPILED = 60 # seconds until Graal, which needs compiling itself, has compiled hot code


def graal(version: int) -> list[str]:
    """Returns the options that make a JVM use it. Skips the test if it is not available."""
    folder = os.path.join(paths.CACHE, f"graal-{version}")
    if not os.path.exists(folder + "/complete"):
        for library in LIBRARIES[version]:
            got = subprocess.run(["mvn", "-q", "-B", "dependency:copy", "-Dartifact=" + library, "-DoutputDirectory=" + folder],
                                 capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
            if got.returncode != 0:
                raise unittest.SkipTest(f"{library} cannot be had: {got.stdout[-300:]}")
        with open(folder + "/complete", "w", encoding="ascii"):
            pass
    if version == 17: # the jar replaces a module of the JDK with the same name
        return [f"--module-path={folder}", f"--upgrade-module-path={folder}/{LIBRARIES[17][0].split(':', 1)[1].replace(':', '-')}.jar"]
    return [f"--upgrade-module-path={folder}"]


class Graal(WithClasses):
    sources = ("Leaves.java",)

    @classmethod
    def setUpClass(cls):
        paths.need("mvn")
        super().setUpClass()
        os.environ["JVMCI_VERSION_CHECK"] = "ignore" # the check concerns GraalVM's own builds
        cls.addClassCleanup(os.environ.pop, "JVMCI_VERSION_CHECK")
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, version: int) -> None:
        with Jvm(paths.jdk(version), *OPTIONS, *graal(version), "-cp", self.classes.folder, "Leaves") as jvm:
            deadline = time.monotonic() + COMPILED
            while True:
                profile = self.daemon.profile(pid=jvm.pid, seconds=3, hz=199)
                leaves = [s for s in profile.stacks if "Leaves.leaf" in s.names]
                if profile.share(leaves, lambda s: any(f.kind == "jvmci" for f in s.frames)) > 0.95 or time.monotonic() > deadline:
                    break
            kinds = {f.kind for s in leaves for f in s.frames if f.name == "Leaves.leaf"}
            self.assertIn("jvmci", kinds, profile.describe())
            self.assertNotIn("c2", kinds, profile.describe())
            self.assertGreaterEqual(sum(s.samples for s in leaves), 20, profile.describe())
            main = [s for s in profile.stacks if s.thread == "main"]
            self.assertGreaterEqual(profile.share(main, lambda s: not s.truncated and "Leaves.main" in s.names), 0.98, profile.describe(main))

    def test_leaves_below_the_interpreter(self):
        side_by_side(self, self.check)
