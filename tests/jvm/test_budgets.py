# SPDX-License-Identifier: Apache-2.0
"""How much of flamed's memory and queues one owner can use: programs with millions of symbols, beside a program that is not attacked."""
import os
import re
import tempfile
import unittest

from harness import largefile, paths, proc
from harness.daemon import Daemon

ALICE, BOB = 64127, 64128
SYMBOLS = 2_000_000
NAME = "a_function_with_the_name_of_one_of_templates_%08d" # 110 MB of such names
PROGRAMS = int(os.environ.get("FLAMED_PROGRAMS", "2"))
LIBRARIES, LIBRARY_SYMBOLS = 12, 500_000 # some 0.4 s for each
RSS_KIB = 384 << 10
LEFT_OUT = "take more memory than its share"


class Budgets(unittest.TestCase):
    def setUp(self):
        paths.need("cc", "setpriv")
        folder = tempfile.TemporaryDirectory(prefix="flamed-budgets.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)

    def files(self, number: int, symbols: int) -> list[str]:
        """Makes files with this number of SYMBOLS, all different."""
        made = [os.path.join(self.folder, f"large{i}") for i in range(number)]
        largefile.write(made[0], symbols, NAME)
        for i, path in enumerate(made[1:], 1):
            largefile.write_like(path, made[0], i)
        return made

    def start(self, *files: str, user: int) -> largefile.Runs:
        program = largefile.Runs(*files, user=user)
        self.addCleanup(program.__exit__)
        return program

    def worker(self, daemon: Daemon) -> int:
        return next(pid for pid in daemon.pids() if "flamed-engine" in proc.threads(pid).values())

    def small(self) -> str:
        path = os.path.join(self.folder, "small")
        largefile.write(path, 100, "bobs_%08d")
        return path

    def test_memory(self):
        """Programs of alice's with 2 M symbols each get no names, and alice gets the reason. bob's program has its names."""
        files, small = self.files(PROGRAMS, SYMBOLS), self.small()
        with Daemon() as daemon, proc.PeakMemory(self.worker(daemon)) as peak:
            before = peak.kib
            programs = [self.start(path, user=ALICE) for path in files]
            hers = daemon.profile(seconds=4, pid=programs[0].pid)
            his = daemon.profile(seconds=2, hz=99, pid=self.start(small, user=BOB).pid)
            left_out = float(re.search(r"^flamed_elf_left_out_total (\S+)", daemon.get("/metrics").text, re.M)[1])
            print(f"{before / 1024:.0f} MiB before, at most {peak.kib / 1024:.0f} MiB")
            self.assertLess(peak.kib, RSS_KIB)
            self.assertIn(LEFT_OUT, " ".join(hers.warnings), hers.describe())
            self.assertGreaterEqual(left_out, 1)
            named = lambda s: "bobs_00000000" in s.names or s.names[-1] == "main" # main calls it in a loop
            self.assertGreater(his.share(his.stacks, named), 0.98, his.describe())
            self.assertNotIn(LEFT_OUT, " ".join(his.warnings))

    def test_queue(self):
        """Twelve libraries of alice's, and a program of bob's that starts after hers."""
        files, small = self.files(LIBRARIES, LIBRARY_SYMBOLS), self.small()
        with Daemon() as daemon:
            self.start(*files, user=ALICE)
            daemon.profile(seconds=1, hz=199)
            profile = daemon.profile(seconds=2, hz=99, pid=self.start(small, user=BOB).pid)
            named = profile.share(profile.stacks, lambda s: "bobs_00000000" in s.names)
            self.assertGreater(named, 0.98, profile.describe())


if __name__ == "__main__":
    unittest.main()
