# SPDX-License-Identifier: Apache-2.0
"""A file with the device and inode of another one that flamed has read: its stacks are its own."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import native, paths, proc
from harness.daemon import Daemon
from harness.profile import count, ordered

ALICE, BOB, ROOT = 1001, 1002, 0
WHOLE = ("main", "work", "outer", "inner", "leaf")
TRIES = 20
HZ, CPU_S = 997, 0.3 # 300 samples, however busy the machine is


class UsedInodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")
        cls.true, cls.false = (native.build("chain", "-shared", "-fPIC", *more) for more in ((), ("-DLIES",)))
        cls.program = native.build("in_library", "-ldl")

    def setUp(self):
        self.daemon = Daemon("--recorder-hz=0") # each case has its own daemon, which knows no file
        self.addCleanup(self.daemon.stop)
        self.folder = tempfile.mkdtemp(prefix="flamed-inodes.")
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder)
        self.library = os.path.join(self.folder, "lib.so")

    def place(self, source: str, user: int) -> tuple[int, int]:
        """Copies SOURCE to self.library. Returns its device and inode."""
        shutil.copyfile(source, self.library)
        os.chmod(self.library, 0o755)
        os.chown(self.library, user, user)
        found = os.stat(self.library)
        return found.st_dev, found.st_ino

    def sampled(self, user: int):
        """Returns the profile of a program of USER's that runs the library at that path."""
        with subprocess.Popen(["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", self.program, self.library],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            try:
                self.assertEqual(process.stdout.readline().strip(), "started")
                capture, used = self.daemon.capture(pid=process.pid, hz=HZ), proc.cpu_seconds(process.pid)
                proc.wait_until(lambda: proc.cpu_seconds(process.pid) - used >= CPU_S, 60, f"it has used {CPU_S} s of CPU time")
                return capture.stop(lines=0)
            finally:
                process.kill()

    def is_held(self) -> bool:
        """Returns true if flamed has the library open: until it closes it, the inode is not reused."""
        for pid in self.daemon.pids():
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{fd}") == self.library:
                        return True
        return False

    def whole(self, profile) -> float:
        self.assertGreater(count(profile.stacks), 50, profile.describe())
        return profile.share(profile.stacks, lambda s: ordered(s.names, *WHOLE))

    def check(self, first: int, second: int, successor) -> None:
        """The second user's stacks are whole, though the first user's file has the same numbers and false tables for the same code.
        SUCCESSOR replaces the file, and returns its numbers."""
        for _ in range(TRIES):
            numbers = self.place(self.false, first)
            self.assertEqual(self.whole(self.sampled(first)), 0, "the file does not say what it should")
            proc.wait_until(lambda: not self.is_held(), 10, "flamed to close the library")
            if successor(second) == numbers:
                break
        else:
            self.skipTest("the file system gives no file the inode of the one before")
        profile = self.sampled(second)
        self.assertGreaterEqual(self.whole(profile), 0.95, profile.describe())

    def next_file(self, user: int) -> tuple[int, int]:
        os.unlink(self.library)
        return self.place(self.true, user)

    def test_the_next_file(self):
        self.check(ALICE, BOB, self.next_file)

    def test_an_upgrade(self):
        """Root's library is removed, and the new one gets its inode."""
        self.check(ROOT, BOB, self.next_file)

    def test_an_upgrade_in_place(self):
        self.check(ROOT, BOB, lambda _: self.place(self.true, ROOT))

    def test_the_next_mount(self):
        """A tmpfs always counts its inodes from the same number, and gets the device number of the unmounted one."""
        def mount():
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "inodes", self.folder], check=True)

        def unmount(): # another test's flamed may have the file open
            proc.wait_until(lambda: subprocess.run(["umount", self.folder], capture_output=True).returncode == 0, 30, "nothing has it open")

        def next_mount(user: int) -> tuple[int, int]:
            unmount()
            mount()
            return self.place(self.true, user)

        mount()
        self.addCleanup(unmount)
        self.check(ALICE, BOB, next_mount)


if __name__ == "__main__":
    unittest.main()
