# SPDX-License-Identifier: Apache-2.0
"""Memory asked of malloc (event=nativemem&source=malloc): the bytes that the program asked for, by whom, and no probe left behind."""
import functools
import glob
import shutil
import subprocess
import unittest

from harness import jvm, native, paths, proc
from harness.daemon import Daemon
from test_calls import await_no_probes, probes, value

# What each caller in mallocs.c asks for at once.
ASKED = {"by_malloc": 1000, "by_calloc": 300, "by_realloc": 200, "by_growing": 5000, "by_posix_memalign": 700}
CALLS = 1000


class JavaProgram(jvm.Jvm):
    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-cp", folder, "Mallocs", stdin=subprocess.PIPE)
        self.do(20)

    def do(self, count: int) -> None:
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        if self.process.stdout.readline().strip() != str(count):
            raise RuntimeError(count)


@functools.cache
def jemalloc() -> str:
    return next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), "")


class Malloc(jvm.WithClasses):
    sources = ("Mallocs.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)
        event, = [e for e in cls.daemon.get("/api/v1/events").json()["events"] if e["name"] == "malloc"]
        cls.reason = event["reason"]

    def setUp(self):
        if self.reason:
            self.skipTest(self.reason)

    def prepare(self, pid: int) -> None:
        """The symbols are read: the next capture counts from the first call."""
        def counted() -> bool:
            answer = self.daemon.get("/profile", pid=pid, event="nativemem", source="malloc", seconds=0.1, format="json")
            if answer.status == 409 and "cannot be read" in answer.text: # not in time, on a busy machine
                return False
            self.assertEqual(answer.status, 200, (answer.text, answer))
            return not any("being read" in warning for warning in answer.warnings)
        proc.wait_until(counted, 30, "the symbols are read")

    def check_program(self, wrap: tuple[str, ...], library: str) -> None:
        """Each byte of each caller; and by chance, of what is thinned."""
        with native.Obedient("mallocs", "-pthread", wrap=wrap) as program:
            program.do("all 10")
            self.prepare(program.pid)
            capture = self.daemon.capture(pid=program.pid, event="nativemem", source="malloc", interval=1)
            self.assertGreater(probes(program.pid, library), 2)
            program.do(f"all {CALLS}")
            profile = capture.stop()
            self.assertEqual((profile.document["meta"]["event"], profile.document["meta"]["unit"]), ("malloc", "bytes"))
            found = {caller: value(profile, caller) for caller in ASKED}
            print(f"{library}: {found}", end=" ")
            self.assertFalse([s for s in profile.stacks if s.truncated], profile.describe())
            if profile.quality["lost"] == 0:
                self.assertEqual(found, {caller: bytes * CALLS for caller, bytes in ASKED.items()}, profile.describe())
            capture = self.daemon.capture(pid=program.pid, event="nativemem", source="malloc", interval="400k")
            program.do("large 4000")
            profile = capture.stop()
            found, truth = value(profile, "by_large"), 4000 * 100000
            print(f"thinned: {found} of {truth}", end=" ")
            # Its deviation is sqrt(truth * (interval - size)) = 1.1e7; this is seven of them.
            self.assertAlmostEqual(found + profile.quality["lost"] * 409600, truth, delta=8e7, msg=profile.describe())
            await_no_probes(program.pid)

    def test_glibc(self):
        self.check_program((), "libc.so.6")

    def test_jemalloc(self):
        if not jemalloc():
            self.skipTest("no libjemalloc2 here")
        self.check_program(("env", "LD_PRELOAD=" + jemalloc()), "libjemalloc.so.2")

    def test_musl(self):
        """Its file does not say where functions begin, so no probe may be there: it is refused, and says what to do."""
        if not shutil.which("musl-gcc"):
            self.skipTest("no musl-gcc here")
        out = native.folder() + "/mallocs-musl"
        subprocess.run(["musl-gcc", "-O2", "-o", out, paths.NATIVE_SOURCES + "/mallocs.c"], check=True)
        with subprocess.Popen([*proc.ENDS_WITH_US, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            program.stdin.write("all 1\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), "all 1\n")
            answer = self.daemon.get("/profile", pid=program.pid, event="nativemem", source="malloc", seconds=0.1, format="json")
            program.kill()
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("no function begins at", answer.json()["detail"])
        self.assertIn("needs no probe", answer.json()["remedy"])

    def test_often(self):
        """Who calls it too often is left alone after a second at most, unless that is wanted."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("all 1")
            self.prepare(program.pid)
            program.do("storm 1")
            answer = self.daemon.get("/profile", pid=program.pid, event="malloc", seconds=30, format="json")
            self.assertEqual(answer.status, 409, answer)
            self.assertIn("times a second", answer.json()["detail"])
            self.assertIn("force=1", answer.json()["remedy"])
            await_no_probes(program.pid)
            answer = self.daemon.get("/profile", pid=program.pid, event="malloc", force=1, seconds=2, format="json")
            self.assertEqual(answer.status, 200, answer)
            self.assertTrue([w for w in answer.warnings if "it called malloc some" in w], answer.warnings)

    def test_of_a_jvm(self):
        for version in (17, 25):
            with self.subTest(jdk=version), JavaProgram(version, self.classes.folder) as program:
                self.prepare(program.pid)
                capture = self.daemon.capture(pid=program.pid, event="nativemem", source="malloc", interval=1)
                program.do(200)
                profile = capture.stop()
                # What the VM itself asks for on the way there, as for the classes of a first call, has other callers.
                found = {site: sum(s.value for s in profile.stacks if f"Mallocs.{site}" in s.names and "os::malloc" in s.names[-2])
                         for site in ("small", "large")}
                deflaters = value(profile, "Mallocs.deflater", "Deflater.init")
                print(f"{version}: {found}, {deflaters // 20} a deflater", end=" ")
                if profile.quality["lost"] == 0:
                    for site, bytes in (("small", 1000), ("large", 3000)):
                        self.assertAlmostEqual(found[site], bytes * 200, delta=0.05 * bytes * 200, msg=profile.describe())
                    self.assertTrue(20 * 200_000 < deflaters < 20 * 400_000, (deflaters, profile.describe()))
                await_no_probes(program.pid)


if __name__ == "__main__":
    unittest.main()
