# SPDX-License-Identifier: Apache-2.0
"""Native functions that the compiler inlined, and lines, by debug information: only with lines=1."""
import os
import subprocess
import tempfile
import unittest

from harness import paths
from harness.daemon import Daemon

SOURCE = r"""
#include <stdio.h>
#define IN static inline __attribute__((always_inline))
volatile unsigned long sink;
IN unsigned long mix(unsigned long x) { for (int i = 0; i < 64; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
IN unsigned long step(unsigned long x) {
    return mix(x + sink);
}
__attribute__((noinline)) void work(void) {
    sink = step(sink | 1);
}
int main(void) { puts("started"); fflush(stdout); for (;;) work(); }
"""


class Inlined(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("cc")
        paths.need("objcopy")
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        folder = tempfile.TemporaryDirectory(prefix="flamed-inlined.")
        cls.addClassCleanup(folder.cleanup)
        cls.source, cls.program = os.path.join(folder.name, "work.c"), os.path.join(folder.name, "work")
        with open(cls.source, "w", encoding="ascii") as f:
            f.write(SOURCE)
        subprocess.run(["cc", "-O2", "-g", "-gdwarf-5", "-fno-omit-frame-pointer", "-Wl,--build-id", "-o", cls.program, cls.source],
                       check=True)
        cls.stripped = cls.program + ".stripped"
        debug = cls.program + ".debug"
        subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", cls.program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", cls.program, cls.stripped], check=True)

    def spin(self, program: str) -> int:
        process = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "started")
        return process.pid

    def document(self, pid: int, **more) -> dict:
        return self.daemon.get("/profile", pid=pid, seconds=2, hz=199, format="json", **more).json()

    def share(self, document: dict, *tail: str) -> float:
        """Returns the share of samples with a stack that ends so, without the kernel's frames: a busy machine interrupts."""
        names = [f["name"].rpartition(":")[0] or f["name"] for f in document["frames"]]
        total = sum(s["samples"] for s in document["stacks"])
        self.assertGreater(total, 0, document)
        kernel = {f for f, frame in enumerate(document["frames"]) if frame["kind"] == "kernel"}
        return sum(s["samples"] for s in document["stacks"]
                   if tuple(names[f] for f in s["frames"] if f not in kernel)[-len(tail):] == tail) / total

    def check(self, program: str) -> None:
        pid = self.spin(program)
        plain = self.document(pid)
        self.assertNotIn("native_inlined", {f["kind"] for f in plain["frames"]})
        self.assertFalse([f for f in plain["frames"] if f.get("line") or f.get("file")], plain["frames"])
        self.assertGreaterEqual(self.share(plain, "main", "work"), 0.95, plain)

        lines = self.document(pid, lines=1)
        kinds = {f["name"].rpartition(":")[0] or f["name"]: f["kind"] for f in lines["frames"]}
        self.assertEqual([kinds.get(n) for n in ("main", "work", "step", "mix")],
                         ["native", "native", "native_inlined", "native_inlined"], lines)
        self.assertGreaterEqual(self.share(lines, "main", "work", "step", "mix"), 0.9, lines)
        step = {(f["line"], f["file"]) for f in lines["frames"] if f["name"].startswith("step:")}
        line = SOURCE.split("\n").index("    return mix(x + sink);") + 1
        self.assertIn((line, self.source), step, lines["frames"])
        self.assertFalse([w for w in lines["warnings"] if "debug information" in w], lines["warnings"])

    def test_a_program_with_its_own(self):
        self.check(self.program)

    def test_by_debuglink_and_compressed(self):
        self.check(self.stripped)

    def test_names_in_a_file_that_others_share(self):
        """dwz moved debug information to a shared file, which is found by the path in the program. Without that file a warning counts the
        losses."""
        paths.need("dwz")
        shared = tempfile.TemporaryDirectory(prefix="flamed-test.", dir=self.dwz_folder())
        self.addCleanup(shared.cleanup)
        os.chmod(shared.name, 0o755)
        programs = [self.program + ".one", self.program + ".two"]
        for program in programs:
            subprocess.run(["cc", "-O2", "-g", "-gdwarf-4", "-fno-omit-frame-pointer", "-Wl,--build-id", "-o", program, self.source],
                           check=True)
        subprocess.run(["dwz", "-m", shared.name + "/shared", "-M", shared.name + "/shared", *programs], check=True)
        self.assertTrue(os.path.exists(shared.name + "/shared"))
        self.check(programs[0])
        os.unlink(shared.name + "/shared")
        lines = self.document(self.spin(programs[1]), lines=1)
        self.assertTrue([w for w in lines["warnings"] if "(dwz)" in w], lines)

    def dwz_folder(self) -> str:
        folder = "/usr/lib/debug/.dwz"
        if not os.path.exists(folder):
            os.makedirs(folder)
            self.addCleanup(os.rmdir, folder)
        return folder

    def test_split_is_not_read_and_a_warning_counts_it(self):
        split = self.program + ".split"
        subprocess.run(["cc", "-O2", "-g", "-gsplit-dwarf", "-fno-omit-frame-pointer", "-o", split, self.source],
                       cwd=os.path.dirname(split), check=True)
        document = self.document(self.spin(split), lines=1)
        self.assertGreaterEqual(self.share(document, "main", "work"), 0.95, document)
        self.assertNotIn("native_inlined", {f["kind"] for f in document["frames"]})
        warning = [w for w in document["warnings"] if ".dwo files" in w]
        self.assertEqual(len(warning), 1, document["warnings"])
        self.assertGreater(int(warning[0].split(" native places")[0].rsplit(" ", 1)[1]), 0)

    def test_broken_is_counted_by_a_warning(self):
        broken, info = self.program + ".broken", self.program + ".info"
        subprocess.run(["objcopy", "--dump-section", f".debug_info={info}", self.program, broken], check=True)
        with open(info, "r+b") as f:
            f.seek(4)
            f.write(b"\x09") # an unknown version
        subprocess.run(["objcopy", "--update-section", f".debug_info={info}", broken], check=True)
        document = self.document(self.spin(broken), lines=1)
        self.assertGreaterEqual(self.share(document, "main", "work"), 0.9, document)
        warning = [w for w in document["warnings"] if "native places is broken, or of a kind that flamed does not read" in w]
        self.assertEqual(len(warning), 1, document["warnings"])
        self.assertRegex(warning[0], r"information of [1-9]")

    def test_formats(self):
        pid = self.spin(self.program)
        text = self.daemon.get("/profile", pid=pid, seconds=1, hz=199, format="collapsed", lines=1, annotate=1).body.decode()
        self.assertRegex(text, r"work:\d+;step:\d+_\[i\];mix:\d+_\[i\] ")
        for form in ("html", "svg", "pprof", "jfr", "otlp", "speedscope", "tree", "flat", "traces"):
            answer = self.daemon.get("/profile", pid=pid, seconds=1, hz=99, format=form, lines=1)
            self.assertEqual(answer.status, 200, form)
            self.assertTrue(answer.body, form)

    def test_kept_and_shown_without(self):
        """Recorded with lines and shown without: inlined frames are folded into the functions around them."""
        pid = self.spin(self.program)
        answer = self.daemon.get("/profile", pid=pid, seconds=2, hz=199, format="json", lines=1)
        path = f"/api/v1/captures/{answer.headers['X-Flamed-Capture']}/profile"
        folded = self.daemon.get(path, format="collapsed").text
        self.assertIn(";main;work ", folded)
        self.assertNotIn("step", folded)
        self.assertRegex(self.daemon.get(path, format="collapsed", lines=1).text, r"work:\d+;step:\d+;mix:\d+ ")



if __name__ == "__main__":
    unittest.main()
