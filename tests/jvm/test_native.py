# SPDX-License-Identifier: Apache-2.0
"""Code that is not Java: the kernel, C++ with readable names, a library deleted while it runs, Node.js by its perf map."""
import contextlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import time
import typing
import unittest

from harness import native, paths
from harness.daemon import Daemon
from harness.profile import ordered

GENERATED = "lead through code that lies in no file"
CPP = r"""
#include <stdint.h>
namespace shop { struct Order { template <typename T> __attribute__((noinline)) T total(T s) {
    for (int i = 0; i < 20000; i++) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; } return s; } }; }
volatile uint64_t sink;
extern "C" __attribute__((noinline)) void @NAME@() { shop::Order o; sink = o.total<uint64_t>(sink | 1); }
"""
MUSL = r"""
#include <pthread.h>
#include <stdio.h>
volatile unsigned long x = 1;
__attribute__((noinline)) void spin(void) { for (int i = 0; i < 1000000; i++) x = x * 3 + 1; __asm__(""); }
__attribute__((noinline)) void *in_thread(void *a) { for (;;) spin(); return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, in_thread, 0); puts("started"); fflush(stdout); for (;;) spin(); }
"""
MAIN = r"""
#include <dlfcn.h>
#include <unistd.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) { puts(dlerror()); return 1; }
    unlink(argv[1]);
    void (*work)(void) = (void (*)(void))dlsym(library, argv[2]);
    puts("started"); fflush(stdout);
    for (;;) work();
}
"""


class Native(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, *command: str, **options) -> subprocess.Popen:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "started")
        return process

    def test_cpp_in_a_deleted_library(self):
        paths.need("c++")
        with tempfile.TemporaryDirectory(prefix="flamed-cpp.") as folder:
            name = "work" + secrets.token_hex(4)
            library, program = os.path.join(folder, "libwork.so"), os.path.join(folder, "main")
            for out, text, options in ((library, CPP.replace("@NAME@", name), ("-shared", "-fPIC")),
                                       (program, MAIN, ("-rdynamic", "-ldl"))):
                source = out + ".cc"
                with open(source, "w", encoding="ascii") as f:
                    f.write(text)
                subprocess.run(["c++", "-O2", "-g", "-fno-omit-frame-pointer",
                                "-mno-omit-leaf-frame-pointer", "-o", out, source, *options], check=True)
            process = self.start(program, library, name)
            self.assertFalse(os.path.exists(library))
            profile = self.daemon.profile(pid=process.pid, seconds=2, hz=199)
            wanted = [n for s in profile.stacks for n in s.names if "shop::Order::total<unsigned long>" in n]
            self.assertTrue(wanted, profile.describe())
            self.assertGreaterEqual(profile.share(profile.stacks, lambda s: ordered(s.names, "main", name, wanted[0])), 0.95,
                                    profile.describe())

    def test_an_old_perf_map(self):
        """A map that was last written before the process began belongs to an earlier process with that pid: it names nothing."""
        for age, named in ((0, True), (3600, False), (-5, True)):
            with self.subTest(age=age):
                process = subprocess.Popen([native.build("jitted")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                path, name = f"/tmp/perf-{process.pid}.map", "jitted" + secrets.token_hex(4)
                try:
                    with open(path, "w", encoding="ascii") as f:
                        f.write(f"{process.stdout.readline().strip()} {name}\n")
                    os.utime(path, (time.time() - age, time.time() - age))
                    process.stdin.write("\n")
                    process.stdin.flush()
                    profile = self.daemon.profile(pid=process.pid, seconds=2, hz=199)
                    if profile.samples <= 30: # it had little of a busy processor
                        profile = self.daemon.profile(pid=process.pid, seconds=10, hz=199)
                    share = profile.share(profile.stacks, lambda s, name=name: any(name in n for n in s.names))
                    self.assertTrue(share >= 0.8 if named else share == 0, profile.describe())
                    self.assertEqual(any(GENERATED in w and f"process {process.pid} " in w for w in profile.warnings), not named,
                                     profile.warnings)
                    self.assertGreater(profile.samples, 30)
                finally:
                    process.kill()
                    process.communicate()
                    os.unlink(path)

    def test_musl(self):
        """musl has no tables: the code of its outermost functions is read. Linked statically, with symbols and without, and as a library."""
        paths.need("musl-gcc")
        source = native.folder() + "/musl.c"
        with open(source, "w", encoding="ascii") as f:
            f.write(MUSL)
        for options in ("-static",), ("-static", "-s"), ():
            with self.subTest(options=options):
                out = native.folder() + "/musl" + "".join(options)
                subprocess.run(["musl-gcc", "-O2", "-o", out, source, *options], check=True)
                process = self.start(out)
                profile = self.daemon.profile(pid=process.pid, seconds=3, hz=999)
                self.assertGreater(profile.samples, 50)
                self.assertGreaterEqual(profile.share(profile.stacks, lambda s: not s.truncated), 0.99, profile.describe())
                roots = {s.names[0] for s in profile.stacks if s.samples >= 5}
                self.assertEqual(len(roots), 2, profile.describe()) # those of main and of the thread
                if "-s" not in options:
                    for inner in "main", "in_thread":
                        stacks = [s for s in profile.stacks if inner in s.names]
                        self.assertGreater(sum(s.samples for s in stacks), 20, profile.describe())
                        self.assertEqual({s.names.index(inner) for s in stacks}, {2}, profile.describe())

    def test_kernel(self):
        """System calls show the kernel's functions; kernel=0 leaves those samples out."""
        process = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
        try:
            profile = self.daemon.profile(pid=process.pid, seconds=2, hz=199)
            self.assertGreaterEqual(profile.share(profile.stacks, lambda s: any(f.kind == "kernel" for f in s.frames)), 0.8,
                                    profile.describe())
            self.assertGreaterEqual(profile.share(profile.stacks, lambda s: any("read" in n for n in s.names)), 0.8,
                                    profile.describe())
            user = self.daemon.profile(pid=process.pid, seconds=1, hz=199, kernel=0)
            self.assertEqual([s for s in user.stacks if s.frames and s.frames[-1].kind == "kernel"], [])
        finally:
            process.kill()
            process.wait()

    def test_node_by_its_perf_map(self):
        paths.need("node")
        name = "spin" + secrets.token_hex(4)
        folder = tempfile.mkdtemp(prefix="flamed-node.") # it writes a log in its working folder
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        process = self.start("node", "--perf-basic-prof", os.path.join(paths.NATIVE_SOURCES, "spin.js"), name, cwd=folder)
        self.addCleanup(lambda: os.path.exists(f"/tmp/perf-{process.pid}.map") and os.unlink(f"/tmp/perf-{process.pid}.map"))
        profile = self.daemon.profile(pid=process.pid, seconds=3, hz=199)
        self.assertGreaterEqual(profile.share(profile.stacks, lambda s: any(name in n for n in s.names)), 0.9,
                                profile.describe())

    def profile_stripped(self, root: str, name: str):
        """Runs the program NAME in ROOT. Returns its profile, with frames named after its file."""
        process = subprocess.Popen(["/" + name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, executable="/" + name,
                                   preexec_fn=lambda: os.chroot(root)) # pylint: disable=subprocess-popen-preexec-fn
        try:
            self.assertEqual(process.stdout.readline().strip(), "started")
            # Without samples in the kernel: an interrupt is no function of the program.
            return self.daemon.profile(pid=process.pid, seconds=2, hz=499, kernel=0)
        finally:
            process.kill()
            process.communicate()

    def test_stripped(self):
        """A function without a name is one frame, named by its start. A file that debuginfod has downloaded for a container's root names
        it."""
        whole, root = native.build("two_functions", "-static", "-Wl,--build-id,--eh-frame-hdr"), tempfile.mkdtemp(prefix="flamed-root.")
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        functions = ["first_of_two", "second_of_two"]
        nm = dict(reversed(line.split()[::2]) for line in subprocess.run(["nm", whole], capture_output=True, text=True, check=True)
                  .stdout.splitlines() if line.split()[-1] in functions)
        subprocess.run(["strip", "--strip-all", "-o", root + "/work", whole], check=True)
        profile = self.profile_stripped(root, "work")
        starts = {f"work+0x{int(nm[name], 16):x}" for name in functions}
        self.assertEqual(profile.describe().count("first_of_two"), 0)
        for start in starts:
            self.assertGreater(profile.share(profile.stacks, lambda s, start=start: s.names[-1:] == [start]), 0.2, profile.describe())
        self.assertGreater(profile.share(profile.stacks, lambda s: s.names[-1:] and s.names[-1] in starts), 0.97, profile.describe())

        notes = subprocess.run(["readelf", "-n", whole], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
        cache = f"{root}/root/.cache/debuginfod_client/{build_id}"
        os.makedirs(cache)
        subprocess.run(["objcopy", "--only-keep-debug", whole, cache + "/debuginfo"], check=True)
        shutil.copy(root + "/work", root + "/again") # another file: the result for the first one is cached
        profile = self.profile_stripped(root, "again")
        for name in functions:
            self.assertGreater(profile.share(profile.stacks, lambda s, name=name: s.names[-1:] == [name]), 0.2, profile.describe())
        self.assertEqual([n for s in profile.stacks for n in s.names if "+0x" in n], [])

    def test_hostile_perf_map(self):
        """A map that is a link out of its root, a pipe, endless, or not text: never misread, and never waited for."""
        secret = tempfile.NamedTemporaryFile("w", prefix="flamed-secret.", suffix=".txt")
        secret.write("100000000000 1000 topsecretword\n") # where spinner.c has its code
        secret.flush()
        root = tempfile.mkdtemp(prefix="flamed-root.")
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        os.mkdir(root + "/tmp")
        shutil.copy(native.build("spinner", "-static"), root + "/spinner")
        makers = {
            "absolute link": lambda path: os.symlink(secret.name, path),
            "link upwards": lambda path: os.symlink("../../.." + secret.name, path),
            "magic link": lambda path: os.symlink("/proc/self/root" + secret.name, path),
            "hard link to the secret": lambda path: os.link(secret.name, path),
            "pipe": os.mkfifo,
            "folder": os.mkdir,
            "noise": lambda path: open(path, "wb").write(os.urandom(1 << 20)),
            "huge": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
            "its own": lambda path: shutil.copy(secret.name, path), # this one is read: otherwise the others would prove nothing
        }
        for label, make in makers.items():
            with self.subTest(label), self.in_root(root, make) as pid: # each has its own process: flamed caches results
                answer = self.daemon.get("/profile", pid=pid, seconds=0.5, format="collapsed", timeout=6)
                self.assertEqual(answer.status, 200)
                self.assertEqual("topsecretword" in answer.text, label == "its own", answer.text)

    @staticmethod
    @contextlib.contextmanager
    def in_root(root: str, make: typing.Callable[[str], object]):
        """Starts the program /spinner inside ROOT. Returns its pid. MAKE(path) makes its perf map before."""
        def begin() -> None:
            make(f"{root}/tmp/perf-{os.getpid()}.map")
            os.chroot(root)

        process = subprocess.Popen(["/spinner"], executable="/spinner", stdin=subprocess.DEVNULL,
                                   preexec_fn=begin) # pylint: disable=subprocess-popen-preexec-fn
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()
