# SPDX-License-Identifier: Apache-2.0
"""The tarball, unpacked on systems without its libraries, with an older or newer C library, with another one and with none. FLAMED_TARBALL is
that of another processor, whose guest runs these tests (tests/vm/arm64.py --tarball)."""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import unittest

from harness import debroot, jdkroot, jvm, paths, proc
from harness.daemon import Daemon

# After the root and the program inside follows the command line of the daemon's harness. ld.so finds $ORIGIN in /proc.
MOUNTS = ('mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && program=$1 && shift 2 && '
          'exec chroot "$0" "$program" "$@"')


PACK = paths.TREE + "/cmake/tarball/pack.sh"


def build(tree: str, *targets: str, **environment: str) -> str:
    """Returns the folder in which the preset's TARGETS were built from the sources in TREE."""
    for command in ["cmake", "--preset", "tarball"], ["cmake", "--build", "--preset", "tarball", *(f"--target={t}" for t in targets)]:
        subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    return tree + "/build/tarball"


def packed(folder: str) -> str:
    return glob.glob(folder + "/flamed-*.tar.gz")[0]


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.tarball = os.environ.get("FLAMED_TARBALL") or packed(build(paths.TREE))

    def root(self, original: str) -> str:
        """Makes a copy of a root file system. It lies beside the original, as its files are links."""
        folder = tempfile.mkdtemp(prefix="tarball.", dir=paths.CACHE)
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(["cp", "-al", original + "/.", folder], check=True)
        os.chmod(folder, 0o755)
        for name in "proc", "sys", "tmp":
            os.makedirs(f"{folder}/{name}", exist_ok=True)
        return folder

    def unpack(self, root: str) -> str:
        """Returns the unpacked flamed, as seen from inside."""
        subprocess.run(["tar", "-xf", self.tarball, "-C", root + "/tmp"], check=True)
        return "/tmp/" + os.listdir(root + "/tmp")[0] + "/flamed"

    def check(self, original: str) -> None:
        """From unpacking to a flame graph within 10 s."""
        root = self.root(original)
        spin = jvm.make_spin()
        with jvm.Jvm(paths.jdk(17), "-cp", spin.folder, spin.main) as target:
            begin = time.monotonic()
            program = self.unpack(root)
            with Daemon(wrap=["unshare", "--mount", "sh", "-c", MOUNTS, root, program], store="/tmp/store") as daemon:
                page = daemon.get("/profile", pid=target.pid, seconds=2)
                self.assertEqual(page.status, 200, page.text[:500])
                self.assertIn(spin.main, page.text)
                took = time.monotonic() - begin
                print(f"a flame graph after {took:.1f} s", flush=True)
                self.assertLess(took, 10 * proc.PATIENCE) # 10 s but in an emulated machine

    def test_bullseye(self):
        """With glibc 2.31."""
        self.check(debroot.root("libc-bullseye", "bullseye", ["libc6"], "/lib/x86_64-linux-gnu/libc.so.6"))

    def test_bookworm(self):
        self.check(debroot.root("libc-bookworm", "bookworm", ["libc6"], "/lib/x86_64-linux-gnu/libc.so.6"))

    def test_trixie(self):
        self.check(jdkroot.root(21))

    def test_sid(self):
        self.check(jdkroot.root(26))

    def test_musl(self):
        """As on Alpine: with musl and busybox, and no glibc."""
        root = debroot.root("musl", "bookworm", ["musl", "busybox-static"], "/lib/ld-musl-x86_64.so.1")
        self.assertEqual([f for _, _, files in os.walk(root) for f in files if f.startswith(("libc.so.6", "ld-linux"))], [])
        self.check(root)

    def test_empty(self):
        """No file but those of the tarball."""
        self.check(self.enterContext(tempfile.TemporaryDirectory(prefix="tarball.", dir=paths.CACHE)))

    def test_without_its_loader(self):
        """The system's one is no substitute: it may be of another version than the C library in lib/."""
        folder = self.unpacked()
        for loader in glob.glob(folder + "/lib/ld-linux*"):
            os.unlink(loader)
        for name in "flamed", "flamed-broker", "flamed-push":
            told = subprocess.run([f"{folder}/{name}", "--version"], capture_output=True, text=True)
            self.assertEqual((told.returncode, told.stderr), (127, "flamed: cannot load ld.so from lib/ beside this program\n"))

    def test_no_library_is_missing(self):
        """Each library that a file needs lies in lib/."""
        folder = self.unpacked()
        there = set(os.listdir(folder + "/lib"))
        for path in [*glob.glob(folder + "/lib/*"), *(f"{folder}/{name}" for name in ("flamed", "flamed-broker", "flamed-push"))]:
            told = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
            self.assertLessEqual(set(re.findall(r"\(NEEDED\).*\[(.*)\]", told)), there, path)

    def unpacked(self) -> str:
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="tarball."))
        subprocess.run(["tar", "-xf", self.tarball, "-C", folder], check=True)
        return folder + "/" + os.listdir(folder)[0]

    def test_what_it_holds(self):
        """Less than 15 MB, and the list has each library's package, with its licence."""
        self.assertLess(os.path.getsize(self.tarball), 15_000_000)
        folder = self.unpacked()
        with open(folder + "/sbom.spdx.json", encoding="utf-8") as f:
            sbom = json.load(f)
        self.assertEqual(sbom["spdxVersion"], "SPDX-2.3")
        names = [p["name"] for p in sbom["packages"]]
        self.assertEqual(names[0], "flamed")
        self.assertEqual(sorted(os.listdir(folder + "/licenses")), sorted(names[1:]))
        for library in os.listdir(folder + "/lib"):
            path = next(p for p in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout.split() if
                        p.endswith("/" + library))
            owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(path)], capture_output=True, text=True)
            if owner.returncode != 0: # dpkg knows it by the path before /usr was merged
                owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(path).removeprefix("/usr")], capture_output=True, text=True, check=True)
            self.assertIn(owner.stdout.split(":")[0], names)

    def test_install(self):
        """install.sh installs files at the units' paths, and removes all of them again."""
        folder, root = self.unpacked(), self.enterContext(tempfile.TemporaryDirectory(prefix="tarball."))
        subprocess.run([folder + "/install.sh"], check=True, env={**os.environ, "DESTDIR": root})
        units = glob.glob(root + "/usr/lib/systemd/system/*.service")
        self.assertEqual(len(units), 3)
        for unit in units:
            with open(unit, encoding="utf-8") as f:
                program = next(line.split("=")[1].split()[0] for line in f if line.startswith("ExecStart="))
            self.assertTrue(os.access(root + program, os.X_OK), program)
        version = subprocess.run([root + "/usr/bin/flamed", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(os.path.basename(folder).split("-")[1], version)
        subprocess.run([folder + "/install.sh", "--remove"], check=True, env={**os.environ, "DESTDIR": root})
        self.assertEqual([f for _, _, files in os.walk(root) for f in files], [])

    def programs(self, library_path: str) -> str:
        """Returns a folder with programs that do nothing, and look for libraries in LIBRARY_PATH."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="tarball."))
        for name in "flamed", "flamed-broker", "flamed-push":
            subprocess.run(["cc", "-x", "c", "-", "-o", f"{folder}/{name}", "-Wl,--disable-new-dtags,--no-as-needed,-rpath," + library_path, "-lz"],
                           input="int main(void) { return 0; }", text=True, check=True)
        return folder

    def test_paths_of_libraries(self):
        """A library path with an empty or relative part is refused: root's programs would load files from there."""
        for path, good in ("$ORIGIN/lib:", False), (":$ORIGIN/lib", False), ("$ORIGIN/lib:/tmp", False), ("$ORIGIN/lib", True):
            with self.subTest(path=path):
                folder = self.programs(path)
                told = subprocess.run([PACK, folder, "0"], capture_output=True, text=True)
                self.assertEqual("looks for libraries in" in told.stderr, not good, told.stderr)
                self.assertEqual(bool(glob.glob(folder + "/*.tar.gz")), good, told.stderr)

    def test_umask(self):
        """Who clones and packs with a umask by which only root may read gets the same bytes."""
        programs, tree = self.programs("$ORIGIN/lib"), self.enterContext(tempfile.TemporaryDirectory(prefix="tarball."))
        for name in "cmake", "docs", "systemd":
            shutil.copytree(f"{paths.TREE}/{name}", f"{tree}/{name}")
        for name in "LICENSE", "README.md", "CHANGELOG.md":
            shutil.copy(f"{paths.TREE}/{name}", tree)
        made = []
        for umask, rights in (0o022, "go=u-w"), (0o077, "go="):
            subprocess.run(["chmod", "-R", rights, tree, programs], check=True)
            subprocess.run([tree + "/cmake/tarball/pack.sh", programs, "0"], check=True, stdout=subprocess.DEVNULL, umask=umask,
                           env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"})
            with open(packed(programs), "rb") as f:
                made.append(hashlib.file_digest(f, "sha256").hexdigest())
        self.assertEqual(made[0], made[1])
        with tarfile.open(packed(programs)) as tar:
            self.assertEqual({m.mode for m in tar if m.isdir()}, {0o755})
            self.assertEqual({m.mode for m in tar if m.isfile()}, {0o755, 0o644})

    def test_rpm(self):
        """It has the files of the tarball, and depends on no other package."""
        paths.need("rpmbuild", "rpm2cpio", "cpio")
        package = glob.glob(build(paths.TREE, "rpm") + "/flamed-*.rpm")[0]
        asked = subprocess.run(["rpm", "-qp", "--requires", package], capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual([a for a in asked if not a.startswith(("rpmlib(", "/bin/sh"))], [])
        folder, root = self.unpacked(), self.enterContext(tempfile.TemporaryDirectory(prefix="tarball."))
        with subprocess.Popen(["rpm2cpio", package], stdout=subprocess.PIPE) as archive:
            subprocess.run(["cpio", "-idm", "--quiet"], cwd=root, stdin=archive.stdout, check=True)
        for name in "flamed", "flamed-broker", "flamed-push", "lib/libbpf.so.1":
            with open(f"{folder}/{name}", "rb") as a, open(f"{root}/usr/lib/flamed/{name}", "rb") as b:
                self.assertEqual(a.read(), b.read(), name)
        self.assertEqual(os.readlink(root + "/usr/bin/flamed"), "../lib/flamed/flamed")
        self.assertFalse(os.path.exists(root + "/usr/lib/flamed/installed-by-install.sh"))
        self.assertTrue(os.path.exists(root + "/usr/share/doc/flamed/socket-only.conf"))
        folders = subprocess.run(["rpm", "-qp", "--queryformat", "[%{FILENAMES} %{FILEMODES:perms}\n]", package], capture_output=True, text=True,
                                 check=True).stdout.splitlines()
        self.assertEqual([line for line in folders if " d" in line],
                         [f"/usr/{name} drwxr-xr-x" for name in ("lib/flamed", "lib/flamed/lib", "lib/flamed/licenses", "share/doc/flamed")])


@unittest.skipUnless(os.environ.get("FLAMED_TARBALL_TWICE"), "builds flamed twice")
class Twice(unittest.TestCase):
    def test_equal_bytes(self):
        """Two builds in two folders."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=paths.TREE, capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("the sources are in no git repository")
        hashes = []
        for name in "a", "another/folder/of/its/own":
            with tempfile.TemporaryDirectory(prefix="tarball.") as folder:
                tree = os.path.join(folder, name)
                for path in listed.stdout.split("\0")[:-1]:
                    os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
                    shutil.copy2(os.path.join(paths.TREE, path), os.path.join(tree, path), follow_symlinks=False)
                with open(packed(build(tree, SOURCE_DATE_EPOCH="1790000000", CCACHE_DISABLE="1")), "rb") as f:
                    hashes.append(hashlib.file_digest(f, "sha256").hexdigest())
        self.assertEqual(hashes[0], hashes[1])
