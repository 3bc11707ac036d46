# SPDX-License-Identifier: Apache-2.0
"""Processes that map two libjvm.so and run one, that map a renamed one, and that map one without starting a JVM."""
import os
import shutil
import subprocess
import tempfile
import time
import typing

from harness import jvm, native, paths, proc
from harness.daemon import Daemon
from harness.jvm import WithClasses

LATEST = 20 # seconds until a process is known, on a busy machine


def libjvm(version: int) -> str:
    return os.path.join(paths.jdk(version), "lib/server/libjvm.so")


class TwoLibjvms(WithClasses):
    sources = ("LoadsAnother.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def state(self, pid: int, wanted: typing.Callable[[dict], bool]) -> dict:
        """Returns flamed's entry for the JVM, once it equals WANTED; after a time whatever it is."""
        deadline = time.monotonic() + LATEST
        while True:
            one = next((j for j in self.daemon.get("/api/v1/jvms").json()["jvms"] if j["pid"] == pid), {})
            if (one and wanted(one)) or time.monotonic() > deadline:
                return one
            time.sleep(0.1)

    def ready(self, pid: int, version: int) -> dict:
        one = self.state(pid, lambda j: j["profilable"]["symbols"] == "memory")
        self.assertTrue(one, f"process {pid} is not listed")
        self.assertEqual((one["profilable"]["symbols"], one["java_version"].split(".")[0].split("+")[0]), ("memory", str(version)), one)
        return one

    def check(self, pid: int, version: int) -> dict:
        """It is listed with the library that it runs, and its samples have names."""
        one = self.ready(pid, version)
        profile = self.daemon.profile(pid=pid, seconds=2, hz=199)
        running = [s for s in profile.stacks if "CompileBroker::compiler_thread_loop" not in s.names] # it may still compile on a busy machine
        self.assertGreaterEqual(profile.share(running, lambda s: "LoadsAnother.run" in s.names and not s.truncated), 0.9,
                                profile.describe())
        return one

    def embed(self, version: int, *more: str, library: str = "") -> subprocess.Popen:
        program = native.build("embedder", "-I" + paths.jdk(version) + "/include", "-I" + paths.jdk(version) + "/include/linux", "-ldl")
        process = subprocess.Popen([*proc.ENDS_WITH_US, program, library or libjvm(version), self.classes.folder, "LoadsAnother", *more],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "started")
        return process

    def test_loaded_at_once(self):
        """A JVM that maps another's library below its own."""
        for version, other in jvm.some((17, 25), (25, 17)):
            with self.subTest(jdk=version), jvm.Obedient(paths.jdk(version), "-cp", self.classes.folder, "LoadsAnother", libjvm(other)) as one:
                self.check(one.pid, version)

    def test_embedded(self):
        """A program that opens two libraries, and makes a JVM from one. Its stacks lead through the program."""
        for version, other in jvm.some((25, 17), (17, 25)):
            with self.subTest(jdk=version):
                one = self.check(self.embed(version, libjvm(other)).pid, version)
                self.assertEqual(one["main"], "embedder") # no launcher has set a class

    def test_first_thread_has_ended(self):
        """The kernel then reports the process as a zombie, and shows memory and root only through its other threads. Acts that need the
        first one are refused with the reason."""
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                process = self.embed(version, "--thread")
                proc.wait_until(lambda: proc.read(f"/proc/{process.pid}/stat").rpartition(")")[2].split()[0] == "Z", 10, "it has ended")
                self.check(process.pid, version)
                for parameters in {"symbols": "agent"}, {"event": "alloc"}, {"event": "live"}:
                    answer = self.daemon.get("/profile", pid=process.pid, seconds=1, **parameters)
                    said = answer.text if answer.status != 200 else "".join(answer.warnings)
                    self.assertIn(f"the main thread of process {process.pid} has ended", said, parameters)
                self.assertIsNone(process.poll())

    def test_loaded_later(self):
        """A known JVM stays the same when another's library is loaded."""
        for version, other in jvm.some((25, 17), (17, 25)):
            with self.subTest(jdk=version), jvm.Obedient(paths.jdk(version), "-cp", self.classes.folder, "LoadsAnother") as one:
                before = self.check(one.pid, version)
                one.do(libjvm(other))
                self.daemon.get(f"/api/v1/jvms/{one.pid}")
                after = self.check(one.pid, version)
                for key in "exec", "start_time", "main", "java_version":
                    self.assertEqual(before[key], after[key])

    def test_renamed(self):
        """An update moved the library away before flamed started."""
        folder = tempfile.mkdtemp(prefix="flamed-jdk.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        home = os.path.join(folder, "jdk")
        shutil.copytree(paths.jdk(25), home, symlinks=True, ignore=shutil.ignore_patterns("jmods", "src.zip", "*.debuginfo"))
        with jvm.Obedient(home, "-cp", self.classes.folder, "LoadsAnother") as one:
            os.rename(os.path.join(home, "lib/server/libjvm.so"), os.path.join(home, "lib/server/libjvm.so.dpkg-old"))
            with Daemon("--recorder-hz=0") as daemon:
                self.daemon, before = daemon, self.daemon
                self.check(one.pid, 25)
                self.daemon = before

    def test_none_was_made(self):
        """A process that only opens the library does not count as a JVM that starts without end, and flamed says so."""
        code = f"import ctypes, time; ctypes.CDLL({libjvm(25)!r}); print('started', flush=True); time.sleep(1000)"
        process = subprocess.Popen([*proc.ENDS_WITH_US, "python3", "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "started")
        one = self.state(process.pid, lambda j: "no JVM has started" in j["profilable"]["reason"])
        self.assertIn("no JVM has started in it", one["profilable"]["reason"], one)
