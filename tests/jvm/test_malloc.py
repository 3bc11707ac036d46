# SPDX-License-Identifier: Apache-2.0
"""Memory requested from malloc (event=nativemem&source=malloc): the bytes that the program requested, with the callers, and no probe is
left."""
import glob
import os
import shutil
import time
import unittest

from harness import bundle, jvm, mallocs, native, paths, proc
from harness.profile import Profile
from test_calls import await_no_probes, probes, value

# Bytes that each caller in mallocs.c requests at once.
ASKED = {"by_malloc": 1000, "by_calloc": 300, "by_realloc": 200, "by_growing": 5000, "by_posix_memalign": 700}
CALLS = 1000
JNI = "libjnimalloc.so"
# In musl these call another function of musl, which has the probe; the walk ends there.
MUSL_CALLERS = {"by_calloc": "calloc", "by_posix_memalign": "posix_memalign"}


class JavaProgram(jvm.Obedient):
    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-cp", folder, "Mallocs", os.path.join(folder, JNI))
        self.do(20)


class Contained(bundle.Asked):
    """The same in a container of this KIND, as in bundle.Container."""

    def __init__(self, version: int, folder: str, **kind):
        super().__init__(paths.jdk(version), folder, "-Xmx64m", "-cp", "/classes", "Mallocs", "/classes/" + JNI, **kind)
        self.do(20)

    def do(self, count: int) -> None:
        if self.ask(str(count)) != str(count):
            raise RuntimeError(count)


def library(name: str) -> str:
    found = glob.glob("/usr/lib/*/" + name)
    if not found:
        raise unittest.SkipTest(f"no {name} here")
    return found[0]


class Malloc(mallocs.WithMallocs):
    sources = ("Mallocs.java",)
    event = "malloc"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(native.build("jnimalloc", "-shared", "-fPIC"), os.path.join(cls.classes.folder, JNI))

    def check_asked(self, program: native.Obedient, library: str, left_out: tuple[str, ...] = ()) -> None:
        """Checks each byte of each caller, except those of LEFT_OUT, which the answer names."""
        program.do("all 10")
        self.prepare(program.pid)

        def take() -> Profile:
            capture = self.daemon.capture(pid=program.pid, event="nativemem", source="malloc", interval=1)
            self.assertGreater(probes(program.pid, library), 1)
            program.do(f"all {CALLS}")
            return capture.stop()

        profile = self.unlost(take)
        self.assertEqual((profile.document["meta"]["event"], profile.document["meta"]["unit"]), ("malloc", "bytes"))
        found = {caller: value(profile, MUSL_CALLERS.get(caller, caller) if library == "libc.so" else caller) for caller in ASKED}
        print(f"{library}: {found}", end=" ")
        self.assertFalse([s for s in profile.stacks if s.truncated and library != "libc.so"], profile.describe())
        truth = {caller: 0 if caller[len("by_"):] in left_out else bytes * CALLS for caller, bytes in ASKED.items()}
        self.assertEqual(found, truth, profile.describe())
        warnings = [w for w in profile.warnings if "no probe can be put there" in w]
        self.assertEqual(bool(warnings), bool(left_out), warnings)
        self.assertFalse([name for name in left_out if name not in warnings[0]], warnings)

    def check_program(self, wrap: tuple[str, ...], library: str, left_out: tuple[str, ...] = ()) -> None:
        """Checks each byte; and by chance, if samples are thinned."""
        with native.Obedient("mallocs", "-pthread", wrap=wrap) as program:
            self.check_asked(program, library, left_out)
            capture = self.daemon.capture(pid=program.pid, event="nativemem", source="malloc", interval="400k")
            program.do("large 4000")
            profile = capture.stop()
            found, truth = value(profile, "by_large"), 4000 * 100000
            print(f"thinned: {found} of {truth}", end=" ")
            # The deviation is sqrt(truth * (interval - size)) = 1.1e7; this is seven times that.
            self.assertAlmostEqual(found + profile.quality["lost"] * 409600, truth, delta=8e7, msg=profile.describe())
            await_no_probes(program.pid)

    def test_glibc(self):
        self.check_program((), "libc.so.6")

    def test_what_is_aligned_anyway(self):
        """glibc's functions that align call malloc in that case: a request counts once."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("align 10")
            self.prepare(program.pid)

            def take() -> Profile:
                capture = self.daemon.capture(pid=program.pid, event="malloc", interval=1)
                program.do("align 1000")
                return capture.stop()

            profile = self.unlost(take)
            self.assertEqual(value(profile, "by_aligned"), 1000 * (500 + 512), profile.describe())

    def test_in_pieces(self):
        """A library mapped in several pieces has one probe per function."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("split 1")
            pieces = [line for line in proc.read(f"/proc/{program.pid}/maps").splitlines() if "libc.so.6" in line and "x" in line.split()[1]]
            self.assertGreater(len(pieces), 1, pieces)
            self.check_asked(program, "libc.so.6")
            await_no_probes(program.pid)

    def test_writable_code(self):
        """The kernel puts no probe where the process can write to the code, without an error. flamed reports it."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("write 1")
            for event in ("malloc", "libc.so.6:malloc"):
                proc.wait_until(lambda: "can write to the code of that function" in self.daemon.get("/profile", pid=program.pid, event=event, seconds=0.1).text, # pylint: disable=cell-var-from-loop
                                30, "it is refused")
                self.assertEqual(probes(program.pid, "libc.so.6"), 0)

    def test_patched_code(self):
        """The kernel would execute the file's instruction there, in the middle of another one: the program would crash."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("patch 1")
            patched = probes(program.pid, "libc.so.6")
            self.assertGreater(patched, 0)
            for event in ("malloc", "libc.so.6:malloc"):
                proc.wait_until(lambda: "runs other code than its file has" in self.daemon.get("/profile", pid=program.pid, event=event, seconds=0.1).text, # pylint: disable=cell-var-from-loop
                                30, "it is refused")
                program.do("all 10")
                self.assertEqual(probes(program.pid, "libc.so.6"), patched)

    def test_jemalloc(self):
        self.check_program(("env", "LD_PRELOAD=" + library("libjemalloc.so.2")), "libjemalloc.so.2")

    def test_tcmalloc(self):
        """Two of its functions begin with an instruction that allows no probe: the answer names them."""
        self.check_program(("env", "LD_PRELOAD=" + library("libtcmalloc_minimal.so.4")), "libtcmalloc_minimal.so.4", ("posix_memalign", "aligned_alloc"))

    def test_musl(self):
        """It also has no table for walking through it."""
        with mallocs.musl_program() as program:
            self.check_asked(program, "libc.so")
            await_no_probes(program.pid)

    def test_often(self):
        with native.Obedient("mallocs", "-pthread") as program:
            self.check_often(program, "malloc")

    def test_forced_by_another(self):
        """A capture without force=1 counts such a process only while one with force=1 runs."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("all 1")
            self.prepare(program.pid)
            program.do("storm 1")
            forced, other = (self.daemon.capture(pid=program.pid, event="malloc", interval="64m", **words) for words in ({"force": 1}, {}))
            time.sleep(2.5) # until then a capture without force is refused
            self.assertGreater(probes(program.pid, "libc.so.6"), 1)
            forced.stop()
            await_no_probes(program.pid)
            time.sleep(1) # the reason comes with the next look
            self.assertTrue([w for w in other.stop().warnings if "times a second" in w])

    def check_jvm(self, program) -> None:
        self.prepare(program.pid)

        def take() -> Profile:
            capture = self.daemon.capture(pid=program.pid, event="nativemem", source="malloc", interval=1)
            program.do(200)
            return capture.stop()

        profile = self.unlost(take)
        # The VM's own requests on the way, such as for the classes of a first call, have other callers.
        found = {site: sum(s.value for s in profile.stacks if f"Mallocs.{site}" in s.names and "os::malloc" in s.names[-2])
                 for site in ("small", "large")}
        found["ask"] = value(profile, "Mallocs.ask", "Java_Mallocs_ask")
        deflaters = value(profile, "Mallocs.deflater", "Deflater.init")
        print(f"{found}, {deflaters // 20} a deflater", end=" ")
        for site, bytes in (("small", 1000), ("large", 3000), ("ask", 700)):
            self.assertAlmostEqual(found[site], bytes * 200, delta=0.05 * bytes * 200, msg=profile.describe())
        self.assertTrue(20 * 200_000 < deflaters < 20 * 400_000, (deflaters, profile.describe()))
        await_no_probes(program.pid)

    def test_beside_another(self):
        """Calls before a capture began do not count towards its limit, even if another capture counted them."""
        with native.Obedient("mallocs", "-pthread") as program:
            program.do("all 10")
            self.prepare(program.pid)
            first = self.daemon.capture(pid=program.pid, event="malloc", interval="1m", force=1)
            for _ in range(5):
                program.do("all 5000")
            second = self.daemon.capture(pid=program.pid, event="malloc", interval=1)
            program.do("all 100")
            answer = self.daemon.get("/profile", pid=program.pid, event="malloc", interval=2, seconds=2.5, format="json")
            self.assertEqual(answer.status, 200, answer.text)
            profile = second.stop()
            if profile.quality["lost"] == 0:
                self.assertEqual(value(profile, "by_malloc"), 100 * ASKED["by_malloc"], profile.describe())
            first.stop()

    def test_of_a_jvm(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), JavaProgram(version, self.classes.folder) as program:
                self.check_jvm(program)

    def test_in_a_container(self):
        """Like a container of Docker: with its filter of system calls, its devices, and an overlay as root."""
        with Contained(17, self.classes.folder, docker=True, overlay=True, user_namespace=False) as program:
            self.check_jvm(program)


if __name__ == "__main__":
    unittest.main()
