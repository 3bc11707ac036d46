# SPDX-License-Identifier: Apache-2.0
"""The table of resident memory in GET /api/v1/jvms/{pid}/heap: it adds up to RSS, and a program's memory is in the right row."""
import subprocess
import tempfile

from harness import hsperf, jvm, paths, proc
from harness.daemon import Daemon

# Lines for the program, the row that grows, and the least growth.
GROWTH = (("direct", "malloc", 64 << 20), ("threads", "java_stacks", 60 * (64 << 10)), ("classes", "metaspace", 8 << 20),
          ("heap", "java_heap", 32 << 20))


class Program(jvm.Obedient):
    """Memory.java, which executes lines."""

    def __init__(self, version: int, folder: str, *options: str):
        super().__init__(paths.jdk(version), *options, "-Xmx256m", "-cp", folder, "Memory")


class Resident(jvm.WithClasses):
    sources = ("ManyMappings.java", "Memory.java")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)

    def table(self, pid: int, before: str = "") -> dict:
        """Returns a table that is newer than BEFORE: a recent count is returned again."""
        answers = []

        def counted() -> bool:
            answers.append(self.daemon.get(f"/api/v1/jvms/{pid}/heap").json())
            return answers[-1].get("resident") is not None and answers[-1]["resident"]["time"] != before
        proc.wait_until(counted, 30, "its pages are counted")
        return answers[-1]["resident"]

    def bytes_of(self, resident: dict) -> dict[str, int]:
        rows = {row["area"]: row["bytes"] for row in resident["areas"]}
        self.assertEqual(sum(rows.values()), resident["sum"])
        self.assertAlmostEqual(resident["sum"] / resident["rss"], 1, delta=0.05, msg=resident)
        self.assertEqual((resident["uncounted"], resident["huge_pages"]), (0, 0))
        return rows

    def grows(self, version: int, *options: str) -> None:
        with Program(version, self.classes.folder, *options) as program:
            proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{program.pid}").status == 200 and
                            self.daemon.get(f"/api/v1/jvms/{program.pid}").json()["profilable"]["symbols"] == "memory", 20, "it is known")
            resident = self.table(program.pid)
            before = self.bytes_of(resident)
            self.assertLess(before["other"], 0.35 * sum(before.values()), before)
            for area in ("java_heap", "metaspace", "code_cache", "java_stacks", "native_stacks", "malloc", "libjvm", "jars", "libraries"):
                self.assertGreater(before[area], 0, area)
            for what, area, least in GROWTH:
                program.do(what)
                resident = self.table(program.pid, resident["time"])
                after = self.bytes_of(resident)
                print(f"{version} {what}: {area} +{(after[area] - before[area]) >> 10} KiB", end=" ")
                self.assertGreaterEqual(after[area] - before[area], 0.95 * least, (what, before, after))
                if what != "classes": # they use memory of all kinds
                    others = sum(after.values()) - sum(before.values()) - (after[area] - before[area])
                    self.assertLess(others, 16 << 20, (what, before, after))
                before = after
                if what == "heap": # a MiB each: most of their pages have no header, and none of another class
                    classes = {row["class"]: row["share"] for row in resident["objects"]["classes"]}
                    self.assertEqual(resident["objects"]["pages"], 256)
                    self.assertGreater(resident["objects"]["known"], 0)
                    self.assertIn("byte[]", classes)
            told = proc.wait_until(lambda: {label: value for (family, label), value in hsperf.metrics(self.daemon, program.pid).items()
                                            if family == "memory_bytes"}, 20, "it is scraped")
            self.assertEqual(told.keys(), before.keys())
            self.assertAlmostEqual(sum(told.values()) / resident["rss"], 1, delta=0.05)
            self.assertGreaterEqual(len(resident["points"]), 1)
            self.assertGreaterEqual(resident["java_threads"], 60)
            self.assertGreater(resident["threads"], resident["java_threads"])

    def test_rows(self):
        jvm.side_by_side(self, self.grows, jvm.some(25, 17))

    def test_more_mappings_than_are_counted(self):
        """As many as a search engine has. The part left out is reported."""
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(4096)
            for count, truncated in (100, False), (17_000, True):
                with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-XX:+UseSerialGC", "-cp", self.classes.folder, "ManyMappings", file.name, str(count),
                             stdin=subprocess.PIPE) as program:
                    proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{program.pid}").status == 200, 20, "it is known")
                    proc.wait_until(lambda pid=program.pid, truncated=truncated: self.table(pid)["truncated"] == truncated, 30,
                                    "they are counted: flamed may have begun before all were there")
