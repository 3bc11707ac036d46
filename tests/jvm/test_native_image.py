# SPDX-License-Identifier: Apache-2.0
"""Native images of GraalVM: recognised, with whole stacks, and with the names that the file has. A plain run uses a program of the same
shape. A long run uses real ones, from packages that contain one."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import debroot, native, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile, ordered

NAMELESS = "no symbols"
GRAPH = """
import random, sys
sys.path.insert(0, sys.argv[1])
import nodusdb
graph = nodusdb.Graph(result_capacity=100000)
def edges(n): return [(random.randrange(3000), random.randrange(3000)) for _ in range(n)]
graph.add_edges_from(edges(30000))
while True:
    for i in range(50):
        graph.khop(i, 3)
    graph.add_edges_from(edges(3000))
"""
FUNCTION = "function f{0}(a, b) {{ for (var x = a * {0} + b, j = 0; j < x; j++) x -= j % 7 ? j : f{1}(j, x); return x }}\nconsole.log(f{0}({0}, 2));\n"


def kept(folder: str, *command: str) -> str:
    """Returns the folder in the tests' cache that COMMAND fills. Skips the test if that fails."""
    folder = os.path.join(paths.CACHE, folder)
    if not os.path.exists(folder):
        with tempfile.TemporaryDirectory(dir=paths.CACHE) as new:
            got = subprocess.run(command, cwd=new, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
            if got.returncode != 0:
                raise unittest.SkipTest(f"{command[-1]} cannot be had: {got.stderr.strip().splitlines()[-1:]}")
            for name in os.listdir(new):
                shutil.unpack_archive(os.path.join(new, name), new, "zip" if name.endswith(".whl") else None)
                os.unlink(os.path.join(new, name))
            os.chmod(new, 0o755)
            shutil.copytree(new, folder)
    return folder


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, *command: str) -> int:
        process = subprocess.Popen([*proc.ENDS_WITH_US, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process.pid

    def look(self, pid: int, named: bool, hz: int = 199, depth: int = 5) -> Profile:
        """Returns a profile of PID once its file was read and there are stacks of DEPTH frames; and flamed's facts about it."""
        def is_read() -> bool:
            stacks = self.daemon.profile(pid=pid, seconds=1, hz=hz).stacks
            return sum(s.samples for s in stacks if len(s.names) >= depth) > 0.5 * sum(s.samples for s in stacks)
        proc.wait_until(is_read, 60, f"stacks of {depth} frames")
        profile = self.daemon.profile(pid=pid, seconds=3, hz=hz)
        listed = self.daemon.get(f"/api/v1/jvms/{pid}").json()
        self.assertEqual((listed["vm_name"], listed["profilable"]["symbols"]), ("GraalVM native image", "file" if named else "none"))
        self.assertEqual(NAMELESS not in listed["profilable"]["reason"], named, listed)
        self.assertEqual(any(NAMELESS in w and str(pid) in w for w in profile.warnings), not named, profile.warnings)
        return profile


class Images(Base):
    def test_with_symbols(self):
        profile = self.look(self.start(native.build("image")), named=True)
        self.assertGreaterEqual(profile.share(profile.stacks, lambda s: ordered(s.names, "main", "entry", "image_outer", "image_inner")), 0.98,
                                profile.describe())
        self.assertEqual(sum(s.samples for s in profile.stacks if s.truncated), 0, profile.describe())

    def test_without_symbols(self):
        """Each function is one frame, by the address where it begins."""
        program = native.build("image", "-s")
        profile = self.look(self.start(program), named=False)
        whole = [s for s in profile.stacks if not s.truncated]
        self.assertGreaterEqual(profile.share(profile.stacks, lambda s: not s.truncated), 0.99, profile.describe())
        frames = {tuple(n for n in s.names if "+0x" in n) for s in whole if s.samples >= 5}
        self.assertEqual({len(f) for f in frames}, {5}, profile.describe()) # _start, main, entry, image_outer, image_inner
        self.assertEqual(len(frames), 1, profile.describe())

    def test_with_few_symbols(self):
        """Functions exported to C have names. Functions between them have none, and not that of the one before."""
        profile = self.look(self.start(native.build("image", "-Wl,-x")), named=False)
        whole = [s for s in profile.stacks if not s.truncated and s.samples >= 5]
        self.assertGreaterEqual(profile.share(profile.stacks, lambda s: ordered(s.names, "_start", "main", "entry")), 0.98, profile.describe())
        frames = {tuple(n for n in s.names if n.startswith("image")) for s in whole}
        self.assertEqual([len(f) for f in frames], [2], profile.describe()) # image_outer, image_inner
        self.assertTrue(all(n.startswith("image+0x") for f in frames for n in f), profile.describe())


@unittest.skipUnless(os.environ.get("FLAMED_NATIVE_IMAGES"), "downloads 100 MB")
class Real(Base):
    def test_packed(self):
        """A packed program: its file only has the code that unpacks it."""
        upx = debroot.root("upx-sid", "sid", ["upx-ucl"], "/usr/bin/upx-ucl")
        packed = native.build("image", "-static") + ".upx"
        subprocess.run([upx + "/lib64/ld-linux-x86-64.so.2", "--library-path", upx + "/usr/lib/x86_64-linux-gnu", upx + "/usr/bin/upx-ucl",
                        "-q", "-f", "-o", packed, native.build("image", "-static")], check=True, stdout=subprocess.DEVNULL)
        pid = self.start(packed)
        profile = self.daemon.profile(pid=pid, seconds=2, hz=199)
        self.assertGreater(profile.samples, 100)
        sentence = [w for w in profile.warnings if f"of process {pid} lead through code that lies in no file" in w]
        self.assertEqual(len(sentence), 1, profile.warnings)
        self.assertGreater(float(sentence[0].split(" %")[0]), 90)

    def test_library_in_python(self):
        """Stacks lead through Python, libffi and the image."""
        folder = kept("nodusdb-0.1.1", sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:",
                      "--platform=manylinux_2_34_x86_64", "nodusdb==0.1.1")
        profile = self.look(self.start(sys.executable, "-c", GRAPH, folder), named=False, hz=499, depth=25)
        image = [s for s in profile.stacks if any(n.startswith("libnodusdb.so+0x") for n in s.names)]
        self.assertGreater(sum(s.samples for s in image), 200, profile.describe())
        self.assertGreaterEqual(profile.share(image, lambda s: not s.truncated and s.names[0] == "_start"), 0.99, profile.describe(image))

    def compiler(self, version: str, named: bool) -> Profile:
        """Profiles Google's Closure Compiler while it compiles a long program with functions that call each other."""
        paths.need("npm")
        folder = kept("google-closure-compiler-linux-" + version, "npm", "pack", "--silent", "google-closure-compiler-linux@" + version)
        with tempfile.NamedTemporaryFile("w", suffix=".js") as source:
            source.writelines(FUNCTION.format(i, i // 2) for i in range(20000))
            source.flush()
            program = os.path.join(folder, "package/compiler")
            os.chmod(program, 0o755)
            return self.look(self.start(program, "-O", "ADVANCED", "--js", source.name, "--js_output_file", "/dev/null"), named, hz=499)

    def main(self, profile: Profile) -> list:
        """Returns the stacks of its thread that compiles."""
        stacks = [s for s in profile.stacks if s.thread == "jscompiler" and len(s.names) > 3]
        self.assertGreater(sum(s.samples for s in stacks), 200, profile.describe())
        return stacks

    def test_static_program(self):
        """All code is in one file, with musl, which has no rules either: stacks end in its own functions, and reach the root through its
        start."""
        profile = self.compiler("20261015.0.0", named=False)
        self.assertGreaterEqual(profile.share(self.main(profile), lambda s: not s.truncated), 0.95, profile.describe())

    def test_symbols_of_graalvm_19(self):
        profile = self.compiler("20190819.0.0", named=True)
        stacks = self.main(profile)
        self.assertGreaterEqual(profile.share(stacks, lambda s: not s.truncated and s.names[0] in ("clone3", "__clone")), 0.99,
                                profile.describe(stacks))
        self.assertGreaterEqual(profile.share(stacks, lambda s: any(n.startswith("Thread_run_") for n in s.names)), 0.99,
                                profile.describe(stacks))
        self.assertFalse([n for s in stacks for n in s.names if n.startswith("compiler+0x")], profile.describe(stacks))

    def test_few_symbols_of_graalvm_21(self):
        """The file has symbols of C code, and one without a size between functions of Java. That one names none of them."""
        profile = self.compiler("20210907.0.0", named=False)
        stacks = self.main(profile)
        self.assertGreaterEqual(profile.share(stacks, lambda s: not s.truncated), 0.99, profile.describe(stacks))
        self.assertFalse([n for s in stacks for n in s.names if n.startswith("IsolateEnterStub")], profile.describe(stacks))
