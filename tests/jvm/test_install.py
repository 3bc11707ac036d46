# SPDX-License-Identifier: Apache-2.0
"""install.sh of the tarball, with empty programs, and what `cmake --install` and the Debian package install.
test_tarball.py has the real programs."""
import glob
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import paths

SCRIPT = paths.TREE + "/cmake/tarball/install.sh"


def files_below(root: str) -> list[str]:
    return [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]


class Install(unittest.TestCase):
    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory(prefix="install."))

    def not_readable(self) -> list[str]:
        """Returns what not every user can read, or enter."""
        found = []
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = os.path.join(folder, name)
                mode = os.stat(path).st_mode
                wanted = 0o755 if stat.S_ISDIR(mode) else 0o644
                if mode & wanted != wanted or mode & 0o022:
                    found.append(f"{path.removeprefix(self.root)} {mode:o}")
        return found

    def named_by_units(self) -> set[str]:
        """Returns the files in /usr that the installed units name."""
        text = "".join(open(unit, encoding="utf-8").read() for unit in glob.glob(self.root + "/usr/lib/systemd/system/*"))
        return set(re.findall(r"/usr/[\w./-]*\w", text))


class Script(Install):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="install."))
        for name in ("lib/libc.so.6", "licenses/libc6", "flamed", "flamed-broker", "flamed-push"):
            os.makedirs(os.path.dirname(f"{self.folder}/{name}"), exist_ok=True)
            open(f"{self.folder}/{name}", "wb").close()
            os.chmod(f"{self.folder}/{name}", 0o755)
        shutil.copytree(paths.TREE + "/systemd", self.folder + "/systemd")
        os.mkdir(self.folder + "/man")
        for name, folder in ("LICENSE", ""), ("docs/flamed.8", "man"), ("cmake/deb/postinst", "systemd"), ("cmake/deb/prerm", "systemd"), \
                (SCRIPT, ""):
            shutil.copy(os.path.join(paths.TREE, name), os.path.join(self.folder, folder))

    def run_(self, *arguments: str, umask: int = 0o022) -> subprocess.CompletedProcess:
        return subprocess.run(["sh", self.folder + "/install.sh", *arguments], capture_output=True, text=True, umask=umask,
                              env={**os.environ, "DESTDIR": self.root})

    def refused(self, *arguments: str) -> None:
        told = self.run_(*arguments)
        self.assertEqual(told.returncode, 1)
        self.assertIn("remove it first", told.stderr)

    def test_files(self):
        """All that the units name is there, every user can read it, whatever root's umask is, and --remove removes it."""
        subprocess.run(["chmod", "-R", "go-rwx", self.folder], check=True) # as a user's tar unpacks with that umask
        self.assertEqual(self.run_(umask=0o077).stderr, "")
        self.assertEqual(self.not_readable(), [])
        self.assertIn("/usr/share/doc/flamed/socket-only.conf", self.named_by_units())
        for name in self.named_by_units():
            self.assertTrue(os.path.exists(self.root + name), name)
        self.assertTrue(os.path.exists(self.root + "/usr/share/doc/flamed/short-turns.conf"))
        self.assertEqual(self.run_("--remove").returncode, 0)
        self.assertEqual(files_below(self.root), [])
        self.assertFalse(os.path.exists(self.root + "/usr/share/doc/flamed"))

    def test_other_words(self):
        """They install nothing, and remove nothing."""
        for arguments in ["--help"], ["-remove"], ["--uninstall"], ["remove"], ["--remove", "x"], ["x", "--remove"]:
            told = self.run_(*arguments)
            self.assertEqual((told.returncode, told.stderr), (2, "Usage: install.sh [--remove]\n"), arguments)
            self.assertEqual(files_below(self.root), [], arguments)

    def test_a_package_is_not_overwritten(self):
        os.makedirs(self.root + "/usr/bin")
        open(self.root + "/usr/bin/flamed", "wb").close()
        self.refused()
        self.assertFalse(os.path.exists(self.root + "/usr/lib"))

    def test_files_of_an_rpm_are_left_alone(self):
        """It has the same link, so the mark of install.sh decides."""
        os.makedirs(self.root + "/usr/bin")
        os.makedirs(self.root + "/usr/lib/flamed")
        with open(self.root + "/usr/lib/flamed/flamed", "wb") as f:
            f.write(b"rpm")
        os.symlink("../lib/flamed/flamed", self.root + "/usr/bin/flamed")
        self.refused()
        self.refused("--remove")
        with open(self.root + "/usr/lib/flamed/flamed", "rb") as f:
            self.assertEqual(f.read(), b"rpm")


class Files(Install):
    def test_files(self):
        """The Debian package has all that the units name, and all that one document links to of the others."""
        subprocess.run(["cmake", "--install", paths.BUILD, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": self.root})
        for name in self.named_by_units():
            self.assertTrue(os.path.exists(self.root + name), name)
        folder = self.root + "/usr/share/doc/flamed"
        links = 0
        for document in set(glob.glob("*.md", root_dir=folder)) - {"README.md", "CHANGELOG.md"}:
            with open(f"{folder}/{document}", encoding="utf-8") as f:
                for link in re.findall(r"\]\(([\w./-]+)(?:#[^)]*)?\)", f.read()):
                    self.assertTrue(os.path.exists(f"{folder}/{link}"), f"{document}: {link}")
                    links += 1
        self.assertGreater(links, 100)
        container = set(os.listdir(paths.TREE + "/docs/container"))
        self.assertEqual(set(os.listdir(folder + "/container")), container)

    def test_package(self):
        """All users can read what the Debian package installs, whatever the umask of who builds it."""
        paths.need("cpack", "dpkg-deb", "dpkg-shlibdeps")
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="install."))
        subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=paths.BUILD, check=True, stdout=subprocess.DEVNULL, umask=0o077)
        subprocess.run(["dpkg-deb", "-x", glob.glob(folder + "/*.deb")[0], self.root], check=True)
        self.assertEqual(self.not_readable(), [])
        self.assertTrue(os.access(self.root + "/usr/lib/flamed/flamed-broker", os.X_OK))
