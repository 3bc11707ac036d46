# SPDX-License-Identifier: Apache-2.0
"""Profiles without samples give the reason: the shell that started a JVM, and processes that are stopped, traced or frozen."""
import os
import signal
import subprocess

from harness import paths, proc
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses
from test_hard_waits import Freezer

SHELL = '"$0" "$@"; exit 0' # it waits for its child


class NoSamples(WithClasses):
    sources = ("LoadsAnother.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, wrap: list[str] | None = None) -> Jvm:
        jvm = Jvm(paths.jdk(17), "-Xmx64m", "-XX:+UseSerialGC", "-cp", self.classes.folder, "LoadsAnother", wrap=wrap, stdin=subprocess.PIPE)
        self.addCleanup(jvm.stop)
        return jvm

    def child_of(self, pid: int) -> int:
        children = [int(c) for c in proc.read(f"/proc/{pid}/task/{pid}/children").split()]
        self.assertEqual(len(children), 1, children)
        return children[0]

    def why(self, pid: int) -> str:
        profile = self.daemon.profile(pid=pid, seconds=1, hz=99)
        self.assertEqual(profile.samples, 0, profile.describe())
        told = [w for w in profile.warnings if w.startswith("no samples")]
        self.assertEqual(len(told), 1, profile.warnings)
        return told[0]

    def has_samples(self, pid: int) -> None:
        """Waits for samples: a busy machine may give the process little time."""
        proc.wait_until(lambda: self.daemon.profile(pid=pid, seconds=1, hz=499).samples > 10 or
                        self.daemon.profile(pid=pid, seconds=8, hz=499).samples > 10, 30, "it has samples")

    def test_the_shell(self):
        """The shell is no JVM, and its child is one, also through another shell. The JVM itself has samples."""
        for wrap, word in (["sh", "-c", SHELL], "child"), (["sh", "-c", SHELL, "sh", "-c", SHELL], "descendant"):
            with self.subTest(wrap=wrap):
                jvm = self.start(wrap)
                pid, child = jvm.pid, self.child_of(jvm.pid)
                while word == "descendant" and proc.read(f"/proc/{child}/comm").strip() != "java":
                    child = self.child_of(child)
                self.addCleanup(os.kill, child, signal.SIGKILL)
                said = f"process {pid} (sh) is no JVM; its {word} {child} is (LoadsAnother)"
                self.assertEqual(self.why(pid), "no samples: " + said)
                answer = self.daemon.get(f"/api/v1/jvms/{pid}")
                self.assertEqual(answer.status, 404, answer)
                self.assertIn(said, answer.json()["detail"])
                self.has_samples(child)

    def test_a_shell_alone(self):
        """The shell started no JVM: an idle process has no samples."""
        process = subprocess.Popen([*proc.ENDS_WITH_US, "sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("the target used no CPU time", self.why(process.pid))

    def test_stopped(self):
        jvm = self.start()
        proc.stop(jvm.pid)
        self.assertIn(f"process {jvm.pid} (LoadsAnother) is stopped", self.why(jvm.pid))
        os.kill(jvm.pid, signal.SIGCONT)
        self.has_samples(jvm.pid)

    def test_traced(self):
        paths.need("gdb")
        jvm = self.start()
        with subprocess.Popen(["gdb", "-q", "-nx", "-batch", "-p", str(jvm.pid), "-ex", "shell sleep 1000"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracer:
            try:
                proc.wait_until(lambda: proc.is_stopped(jvm.pid), 60, "all of its threads are traced")
                self.assertIn(f"is stopped by {tracer.pid} (gdb), which traces it", self.why(jvm.pid))
            finally:
                tracer.kill()

    def test_frozen(self):
        jvm = self.start()
        group = Freezer(self, jvm.pid, 1 if os.path.exists("/sys/fs/cgroup/freezer/cgroup.procs") else 2)
        group.freeze()
        self.assertIn(f"the cgroup of process {jvm.pid} (LoadsAnother) is frozen", self.why(jvm.pid))
        group.thaw()
        self.has_samples(jvm.pid)
