# SPDX-License-Identifier: Apache-2.0
"""The store's folder of a real daemon: no other user reads its files, even if another user made it, or others could read it before. A
folder of another user is refused."""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import paths, proc
from harness.daemon import Daemon, free_port

ALICE = 64111 # a user that no machine has


def modes(folder: str) -> dict[str, int]:
    return {name: stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode) for name in (".", *os.listdir(folder))}


def read_as_alice(path: str) -> subprocess.CompletedProcess:
    return subprocess.run(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "cat", path], capture_output=True)


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")

    def assert_closed(self, folder: str) -> None:
        found = modes(folder)
        self.assertIn("flamed.db", found)
        self.assertIn("flamed.db-wal", found)
        self.assertEqual(found, {name: 0o700 if name == "." else 0o600 for name in found})
        self.assertNotEqual(os.stat(folder).st_uid, 0, "it is flamed's user's")
        for name in found:
            self.assertNotEqual(read_as_alice(os.path.join(folder, name)).returncode, 0, f"alice reads {name}")

    def test_a_folder_that_was_there(self):
        """Made by a DaemonSet's DirectoryOrCreate (0755), and then as an earlier flamed left it (0755, files 0644)."""
        folder = tempfile.mkdtemp(prefix="flamed-folder.")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        before = os.umask(0o022) # of the process that starts it
        try:
            for _ in range(2):
                with Daemon(store=folder) as daemon:
                    daemon.profile(seconds=0.3)
                    proc.wait_until(lambda: daemon.get("/api/v1/captures").json()["captures"], 5, "a capture is stored")
                    self.assert_closed(folder)
                for name in modes(folder):
                    os.chmod(os.path.join(folder, name), 0o755 if name == "." else 0o644)
        finally:
            os.umask(before)

    def test_a_folder_that_is_made(self):
        parent = tempfile.mkdtemp(prefix="flamed-folder.")
        self.addCleanup(shutil.rmtree, parent)
        os.chmod(parent, 0o755)
        with Daemon(store=os.path.join(parent, "made")):
            self.assert_closed(os.path.join(parent, "made"))

    def test_a_folder_that_is_not_ours(self):
        """Root's non-empty folder (such as /tmp), and another user's: refused with a remedy, and unchanged."""
        for name, owner, mode in (("root's", 0, 0o1777), ("alice's", ALICE, 0o777)):
            with self.subTest(name=name), tempfile.TemporaryDirectory(prefix="flamed-folder.") as folder:
                with open(os.path.join(folder, "notes"), "w", encoding="ascii") as f:
                    f.write("precious")
                os.chown(folder, owner, -1)
                os.chmod(folder, mode)
                result = subprocess.run([paths.program("flamed"), "--listen", f"127.0.0.1:{free_port()}", "--store", folder],
                                        capture_output=True, text=True, timeout=15, stdin=subprocess.DEVNULL)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(folder, result.stderr)
                self.assertIn("--store", result.stderr, "the remedy")
                after = os.stat(folder)
                self.assertEqual((after.st_uid, stat.S_IMODE(after.st_mode)), (owner, mode))
                self.assertEqual(os.listdir(folder), ["notes"])


if __name__ == "__main__":
    unittest.main()
