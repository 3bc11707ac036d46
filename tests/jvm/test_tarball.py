# SPDX-License-Identifier: Apache-2.0
"""The tarball, unpacked where none of the libraries that it brings is installed."""
import glob
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import debroot, jdkroot, jvm, paths
from harness.daemon import Daemon

# What follows the root and the program inside is the command line as the daemon's harness makes it. ld.so finds $ORIGIN in /proc.
MOUNTS = ('mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && program=$1 && shift 2 && '
          'exec chroot "$0" "$program" "$@"')


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        for command in ["cmake", "--preset", "tarball"], ["cmake", "--build", "--preset", "tarball"]:
            subprocess.run(command, cwd=paths.TREE, check=True, stdout=subprocess.DEVNULL)
        cls.tarball = glob.glob(paths.TREE + "/build/tarball/flamed-*.tar.gz")[0]

    def root(self, original: str) -> str:
        """A copy of a root file system, beside it because its files are links."""
        folder = tempfile.mkdtemp(prefix="tarball.", dir=paths.CACHE)
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        subprocess.run(["cp", "-al", original + "/.", folder], check=True)
        for name in "proc", "sys", "tmp":
            os.makedirs(f"{folder}/{name}", exist_ok=True)
        return folder

    def unpack(self, root: str) -> str:
        """The unpacked flamed, as seen from inside."""
        subprocess.run(["tar", "-xf", self.tarball, "-C", root + "/tmp"], check=True)
        return "/tmp/" + os.listdir(root + "/tmp")[0] + "/flamed"

    def check(self, version: int) -> None:
        root = self.root(jdkroot.root(version))
        spin = jvm.make_spin()
        with jvm.Jvm(paths.jdk(17), "-cp", spin.folder, spin.main) as target:
            begin = time.monotonic()
            program = self.unpack(root)
            with Daemon(wrap=["unshare", "--mount", "sh", "-c", MOUNTS, root, program], store="/tmp/store") as daemon:
                page = daemon.get("/profile", pid=target.pid, seconds=2)
                self.assertEqual(page.status, 200, page.text[:500])
                self.assertIn(spin.main, page.text)
                self.assertLess(time.monotonic() - begin, 10)

    def test_trixie(self):
        self.check(21)

    def test_sid(self):
        self.check(26)

    def test_bullseye_has_too_old_a_glibc(self):
        root = self.root(debroot.root("libc-bullseye", "bullseye", ["libc6"], "/lib/x86_64-linux-gnu/libc.so.6"))
        told = subprocess.run(["unshare", "--mount", "sh", "-c", MOUNTS, root, self.unpack(root), "flamed", "--version"],
                              capture_output=True, text=True)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("`GLIBC_2.34' not found", told.stderr)
