# SPDX-License-Identifier: Apache-2.0
"""Compilations and classes of JDK 11, 21 and 26 to 28 in containers: as many as the JVM counts itself, with the known names."""
import time
import unittest

from harness import bundle, events, hsperf, jdkroot, jvm, proc
from test_safepoint import of_kind

OPTIONS = ("-XX:+UsePerfData", "-Xmx256m")
COUNTS = {"jit": ("sun.ci.totalCompiles",), "class_load": ("java.cls.loadedClasses", "java.cls.sharedLoadedClasses"),
          "class_unload": ("java.cls.unloadedClasses", "java.cls.sharedUnloadedClasses")}


class Contained(events.Contained):
    program = "Loads"

    def have(self, line: str) -> None:
        before = self.said().count("done")
        self.ask(line)
        proc.wait_until(lambda: self.said().count("done") > before, 60, "it answers")
        proc.wait_until(self.is_idle, 60, "it is idle")

    def counted(self) -> dict[str, int]:
        found = hsperf.read(self.pid)
        return {kind: sum(found[name] for name in names) for kind, names in COUNTS.items()}

    def is_idle(self) -> bool:
        before = self.counted()
        time.sleep(1)
        return before == self.counted()


class MomentsJdks(jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Loads.java", "LoadBody000000.java")
        cls.daemon = events.daemon_with(cls, "safepoint")

    def check(self, version: int) -> None:
        with Contained(version, self.classes.folder, *OPTIONS) as program:
            proc.wait_until(lambda: self.daemon.get("/profile", pid=program.pid, event="safepoint", seconds=0.1).status == 200, 30,
                            "it can be captured")
            program.have("work 1")
            running = self.daemon.capture(pid=program.pid, event="safepoint")
            before = program.counted()
            program.have("work 10")
            program.have("gc")
            after = program.counted()
            profile = running.stop()
            told = {kind: len(of_kind(profile, kind)) for kind in COUNTS}
            print(version, told, {m["compiler"] for m in of_kind(profile, "jit")}, {m["by"] for m in of_kind(profile, "jit")})
            self.assertEqual(told, {kind: after[kind] - before[kind] for kind in COUNTS})
            loaded, compiled = ([m["name"] for m in of_kind(profile, kind)] for kind in ("class_load", "jit"))
            for i in range(5, 15): # after the classes of its start, and one more
                self.assertIn(f"LoadBody{i:06}", loaded)
                self.assertIn(f"LoadBody{i:06}.applyAsInt", compiled)

    def test_8(self):
        self.skipTest("Debian's has no marks for probes: test_safepoint_jdks has what flamed says then")


if __name__ == "__main__":
    unittest.main()
