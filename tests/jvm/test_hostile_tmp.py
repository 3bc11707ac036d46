# SPDX-License-Identifier: Apache-2.0
"""JVMs with a hostile /tmp: files of counters that are no files or change all the time, and a file system that does not answer."""
import contextlib
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import attach, fuse, jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import count

USER = pwd.getpwnam("daemon").pw_uid # HotSpot makes the file only for a user with a name
AT_ONCE_S = 2 # limit of a list of JVMs on a busy machine
CHANGES = """
import os, random, sys
with open(sys.argv[1], "rb") as f:
    whole = f.read()
os.unlink(sys.argv[1]) # what the JVM itself has mapped stays as it is
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
print(flush=True)
while True:
    os.ftruncate(fd, random.choice((0, 1, 31, 32, 4095, 1 << 20, 1 << 30)))
    cut = random.randrange(len(whole))
    os.pwrite(fd, whole[:cut] + random.randbytes(64) + whole[cut + 64:], 0)
"""


class Counters(unittest.TestCase):
    """A JVM's user replaces hsperfdata. The JVM is still listed, profiled and named, no request waits, and no file of root's is read."""

    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")
        cls.spin = jvm.make_spin()

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.tmp = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-tmp."))
        os.chmod(self.tmp, 0o1777)
        self.secret = os.path.join(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-secret.")), "file")
        with open(self.secret, "wb") as f:
            f.write(b"\xca\xfe\xc0\xc0a secret of root's" + bytes(32 << 10))
        os.chmod(self.secret, 0o600)

    def start(self) -> tuple[jvm.Jvm, str]:
        """Starts a JVM with its own /tmp. Returns it with its file of counters, as seen from the host."""
        script = 'mount --bind "$1" /mnt && mount --bind "$0" /tmp && shift && exec "$@"'
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        j = self.stack.enter_context(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", "/mnt", self.spin.main, wrap=[
            "unshare", "-m", "sh", "-c", script, self.tmp, self.spin.folder, *user]))
        folder = os.path.join(self.tmp, next(name for name in os.listdir(self.tmp) if name.startswith("hsperfdata_")))
        return j, os.path.join(folder, str(j.pid))

    def check(self, pid: int) -> None:
        with Daemon("--recorder-hz=0") as daemon:
            proc.wait_until(lambda: daemon.get(f"/api/v1/jvms/{pid}").status == 200, 20, "it is seen")
            for _ in range(3):
                with proc.Standstill() as machine:
                    jvms = {one["pid"]: one for one in daemon.get("/api/v1/jvms").json()["jvms"]}
                    self.assertLess(machine.given(), AT_ONCE_S)
            self.assertIn(pid, jvms)
            self.assertEqual(jvms[pid]["main"], self.spin.main, jvms[pid])
            profile = daemon.profile(pid=pid, seconds=1, hz=199)
            self.assertGreater(profile.share(profile.of_thread("spinner"), lambda s: self.spin.method in s.names), 0.9, profile.describe())
            self.assertGreater(count(profile.of_thread("spinner")), 10, profile.describe())
            self.assertNotIn("secret", str(jvms) + daemon.log())
            for name, cost in daemon.cost().items():
                self.assertLess(cost["peak_kib"], 256 << 10, name)

    def test_what_is_no_file(self):
        """A link to a file that only root may read, a FIFO, a file of a terabyte, one of another user, one with a second link, no file."""
        def link(path: str) -> None:
            os.symlink(self.secret, path)

        def fifo(path: str) -> None:
            os.mkfifo(path, 0o666)
            os.chown(path, USER, USER)

        def huge(path: str) -> None:
            with open(path, "wb") as f:
                f.truncate(1 << 40)
            os.chown(path, USER, USER)

        def of_root(path: str) -> None:
            with open(path, "wb") as f:
                f.write(b"a secret of root's")

        def second_link(path: str) -> None:
            os.link(self.secret, path)

        j, path = self.start()
        for make in (link, fifo, huge, of_root, second_link, lambda path: None):
            with self.subTest(make=make.__name__), contextlib.ExitStack() as stack:
                os.unlink(path)
                try:
                    make(path)
                except OSError as e: # another file system
                    self.assertIs(make, second_link, e)
                    open(path, "w", encoding="ascii").close()
                self.check(j.pid)
                stack.close()
                if not os.path.lexists(path):
                    open(path, "w", encoding="ascii").close()

    def test_it_changes_all_the_time(self):
        j, path = self.start()
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        with subprocess.Popen([*user, sys.executable, "-c", CHANGES, path], stdout=subprocess.PIPE) as writer:
            try:
                writer.stdout.readline()
                for _ in range(3):
                    self.check(j.pid)
                self.assertIsNone(writer.poll())
                self.assertTrue(proc.alive(j.pid))
            finally:
                writer.kill()


class SilentTmp(unittest.TestCase):
    """/tmp of a JVM is on FUSE. After flamed has attached, its server answers nothing, or slowly."""

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.spin = jvm.make_spin()
        self.file = self.stack.enter_context(fuse.File("/usr/bin/env"))
        script = 'mount --bind "$1" /mnt && mount --bind "$0" /tmp && shift && exec "$@"'
        self.jvm = self.stack.enter_context(jvm.Jvm(paths.jdk(17), "-XX:-UsePerfData", "-Xmx64m", "-cp", "/mnt", self.spin.main, wrap=[
            "unshare", "-m", "sh", "-c", script, self.file.folder, self.spin.folder]))
        self.other = self.stack.enter_context(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.spin.folder, self.spin.main))
        self.daemon = self.stack.enter_context(Daemon("--recorder-hz=0"))
        self.stack.callback(self.file.answer) # otherwise no process could end
        time.sleep(2) # flamed does not attach to a JVM in its first two seconds

    def perf_map(self, pid: int) -> tuple[int, float, str]:
        """Returns the status of an answer by the agent, how long it took, and the answer."""
        with proc.Standstill() as machine:
            answer = self.daemon.get(f"/api/v1/jvms/{pid}/perf-map", symbols="agent", timeout=60)
            return answer.status, machine.given(), answer.text[:1000]

    def test_it_never_answers(self):
        """The kernel may hold a helper. Attaches to others work, all clients are answered, and the helper ends with its file system."""
        before = self.daemon.pids()
        self.file.silence("l")
        with ThreadPoolExecutor(2) as pool:
            held = [pool.submit(self.perf_map, self.jvm.pid) for _ in range(2)]
            self.assertEqual(self.file.wait_asked(), "l")
            self.assertEqual(self.daemon.get("/healthz", timeout=5).status, 200)
            status, took, text = self.perf_map(self.other.pid)
            self.assertEqual(status, 200, text)
            self.assertLess(took, 12)
            for one in held:
                status, took, text = one.result()
                self.assertEqual(status, 409, text)
                self.assertLess(took, 16)
        profile = self.daemon.profile(pid=self.other.pid, seconds=1, hz=199)
        self.assertGreater(count(profile.of_thread("spinner")), 10)
        self.assertNotEqual(attach.helpers(), [], "it is held")
        self.assertEqual(self.daemon.get(f"/profile?pid={self.jvm.pid}&seconds=1&symbols=agent", timeout=60).status, 200, "by memory")
        self.file.answer()
        proc.wait_until(lambda: attach.helpers() == [], 40, "it goes")
        self.assertEqual(self.daemon.pids(), before)
        self.assertTrue(proc.alive(self.jvm.pid))
        os.kill(self.jvm.pid, signal.SIGKILL)

    def test_it_answers_slowly(self):
        """Each name takes a while: others do not wait for it, and nothing of it stays."""
        def slowly() -> None:
            while not ended:
                self.file.silence("l")
                time.sleep(0.7)
                self.file.answer()

        ended: list[bool] = []
        with ThreadPoolExecutor(2) as pool:
            answers = pool.submit(slowly)
            try:
                one = pool.submit(self.perf_map, self.jvm.pid)
                status, took, text = self.perf_map(self.other.pid)
                self.assertEqual(status, 200, text)
                self.assertLess(took, 12)
                self.assertLess(one.result()[1], 16)
            finally:
                ended.append(True)
            answers.result()
        proc.wait_until(lambda: attach.helpers() == [], 40, "it goes")


if __name__ == "__main__":
    unittest.main()
