# SPDX-License-Identifier: Apache-2.0
"""A class that is redefined while it runs: its code has the lines of its own version, also if an agent reports it."""
import os
import tempfile
import zipfile

from harness import jvm, paths, proc
from harness.daemon import Daemon

SHIFT = 1000 # lines in front of the new version
CALL = "Redefined$Work.call"


class Redefined(jvm.WithClasses):
    sources = ("Redefined.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        source = proc.read(os.path.join(paths.JAVA_SOURCES, "Redefined.java"))
        cls.line = next(i for i, text in enumerate(source.splitlines(), 1) if text.endswith("// CALL"))
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.agent, cls.version, new = (os.path.join(folder.name, name) for name in ("agent.jar", "Redefined$Work.class", "Redefined.java"))
        with zipfile.ZipFile(cls.agent, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: Redefined\nCan-Redefine-Classes: true\n")
        with open(new, "w", encoding="utf-8") as f:
            f.write("\n" * SHIFT + source)
        jvm.javac(folder.name, folder.name, 8, [new])

    def lines(self, profile) -> dict[int, int]:
        """Returns line -> samples, of the compiled method with the call."""
        found: dict[int, int] = {}
        for stack in profile.of_thread("worker"):
            for frame in stack.frames:
                if frame.name == CALL and frame.kind in ("c1", "c2"):
                    found[frame.line] = found.get(frame.line, 0) + stack.samples
        return found

    def compiled(self, pid: int, line: int) -> bool:
        return line in self.lines(self.daemon.profile(pid=pid, seconds=0.5, hz=199, symbols="memory"))

    def check(self, version: int) -> None:
        with jvm.Obedient(paths.jdk(version), f"-javaagent:{self.agent}", "-Xmx64m", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Redefined$Work.*",
                          "-cp", self.classes.folder, "Redefined") as target:
            proc.wait_until(lambda: self.compiled(target.pid, self.line), 30, "the first version is compiled")
            capture = self.daemon.capture(pid=target.pid, hz=199, symbols="agent")
            proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{target.pid}/perf-map", symbols="agent").status == 200, 20, "the agent answers")
            target.do(self.version)
            proc.wait_until(lambda: self.compiled(target.pid, self.line + SHIFT), 30, "the new version is compiled")
            profile = capture.stop()
            self.assertIsNone(target.process.poll())
        self.assertTrue(profile.answer.headers["X-Flamed-Symbols"].startswith("agent:"), profile.warnings)
        print(f"JDK {version}: {self.lines(profile)}; {profile.answer.headers['X-Flamed-Symbols']}")
        self.assertEqual(set(self.lines(profile)), {self.line, self.line + SHIFT}, profile.describe())

    def test_lines(self):
        jvm.side_by_side(self, self.check)
