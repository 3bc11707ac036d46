# SPDX-License-Identifier: Apache-2.0
"""./run as a new user starts it, in a pid namespace without another JVM. Also the view of root, of the user of its demo JVM, and of another
user."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import caller, jvm, paths, proc
from harness.daemon import free_port

NOBODY, OTHER = 65534, 61021 # the demo's user; one that no machine and no other test has


class Run:
    """./run of this tree, on the build under test: only cmake, which would build another, is replaced by a no-op."""

    def __init__(self, *arguments: str):
        self.folder = tempfile.mkdtemp(prefix="flamed-run.")
        os.chmod(self.folder, 0o755)
        for name in ("cmake", "tests"):
            os.symlink(os.path.join(paths.TREE, name), os.path.join(self.folder, name))
        shutil.copy(os.path.join(paths.TREE, "run"), self.folder)
        os.mkdir(os.path.join(self.folder, "build"))
        os.symlink(paths.BUILD, os.path.join(self.folder, "build/release"))
        for name in ("bin", "tmp"):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        with open(os.path.join(self.folder, "bin/cmake"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n")
        os.chmod(f.name, 0o755)
        self.log_path = os.path.join(self.folder, "log")
        environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", TMPDIR=self.folder + "/tmp")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*proc.ENDS_WITH_US, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                                             self.folder + "/run", *arguments], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def output(self) -> str:
        return proc.read(self.log_path)

    def wait_for(self, pattern: str) -> re.Match:
        """Waits for output of ./run."""
        def found() -> re.Match | None:
            if self.process.poll() is not None:
                raise RuntimeError(f"./run ended with {self.process.returncode}:\n{self.output()}")
            return re.search(pattern, self.output())

        return proc.wait_until(found, 90, f"./run prints {pattern}")

    def script(self) -> int:
        """Returns the pid of the script: the first process of its namespace."""
        return next(pid for pid in proc.descendants(self.process.pid) if proc.ns_pids(pid)[1:] == [1])

    def stop(self) -> None:
        for pid in reversed(proc.descendants(self.process.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class AsThreeUsers(jvm.WithClasses):
    sources = ("Burn.java",)

    @classmethod
    def setUpClass(cls):
        paths.need_root()
        super().setUpClass()
        cls.port = free_port()
        cls.run_ = Run("--", "--listen", f"127.0.0.1:{cls.port}")
        cls.addClassCleanup(cls.run_.stop)
        cls.curl = cls.run_.wait_for(r"curl -o flame\.html '(http://\S+/profile\?pid=)(\d+)&seconds=10'")
        cls.demo = int(cls.curl[2])

    def profile(self, pid: int, uid: int) -> caller.Reply:
        """Runs the line that ./run prints as a user, for a second in place of ten."""
        return caller.ask(f"{self.curl[1]}{pid}&seconds=1", uid=uid)

    def get(self, path: str, uid: int) -> caller.Reply:
        return caller.ask(f"http://127.0.0.1:{self.port}{path}", uid=uid)

    def refused(self, reply: caller.Reply, status: int, says: str) -> None:
        """Checks a problem with a sentence, and another sentence with the remedy."""
        self.assertEqual(reply.status, status, str(reply))
        problem = reply.json()
        self.assertRegex(problem["detail"], says)
        self.assertTrue(problem["remedy"], str(reply))

    def test_root_profiles_the_demo(self):
        reply = self.profile(self.demo, 0)
        self.assertEqual(reply.status, 200, str(reply))
        self.assertIn(b"<html", reply.body[:500])
        self.assertIn(b"Demo", reply.body)
        who = self.get("/api/v1/whoami", 0).json()
        self.assertEqual(who["role"], "attach") # over TCP
        self.assertIn("flamed has no Unix socket", who["remedy"]) # ./run adds no socket if its user gives --listen
        self.assertIn(b"Demo", self.get("/", 0).body)

    def test_the_user_of_the_demo_is_nobody(self):
        """The demo's number stands for every unmapped user, and root has made a namespace around it."""
        self.refused(self.profile(self.demo, NOBODY), 403, "no name on this machine")
        self.refused(self.get("/api/v1/jvms", NOBODY), 403, "no name on this machine")
        self.assertEqual(self.get("/healthz", NOBODY).status, 200)

    def test_another_user_has_what_is_its_own(self):
        self.refused(self.profile(self.demo, OTHER), 404, str(self.demo))
        self.assertEqual(self.get("/api/v1/jvms", OTHER).json()["jvms"], [])
        with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "Burn", "60", wrap=[
                "nsenter", "--pid", "--mount", "--target", str(self.run_.script()), "setpriv", "--reuid", str(OTHER), "--regid", str(OTHER),
                "--clear-groups", "--pdeathsig", "KILL"]) as its:
            pid = proc.ns_pids(proc.find_jvm(its.pid))[-1]

            def listed() -> list[int]:
                return [j["pid"] for j in self.get("/api/v1/jvms", OTHER).json()["jvms"]]
            self.assertEqual(proc.wait_until(listed, 10, "a JVM is listed"), [pid])
            reply = self.profile(pid, OTHER)
            self.assertEqual(reply.status, 200, str(reply))
            self.assertIn(b"Burn", reply.body)
            self.assertEqual(self.get("/api/v1/whoami", OTHER).json()["role"], "profile")

    def test_then_ctrl_c_ends_all(self):
        os.kill(self.run_.script(), signal.SIGINT)
        self.run_.process.wait(30 * proc.PATIENCE)
        self.assertEqual(os.listdir(self.run_.folder + "/tmp"), [], "its folder is gone")


class Refused(unittest.TestCase):
    def test_not_as_root(self):
        result = subprocess.run(["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", os.path.join(paths.TREE, "run")],
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("sudo ./run", result.stderr)
