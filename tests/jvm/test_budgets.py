# SPDX-License-Identifier: Apache-2.0
"""What one owner can take of flamed's queues: libraries with millions of symbols, beside a program that nobody attacks."""
import os
import tempfile
import unittest

from harness import largefile, paths
from harness.daemon import Daemon

ALICE, BOB = 64127, 64128
NAME = "a_function_with_the_name_of_one_of_templates_%08d"
LIBRARIES, LIBRARY_SYMBOLS = 12, 700_000 # half a second each


class Budgets(unittest.TestCase):
    def setUp(self):
        paths.need("cc", "setpriv")
        folder = tempfile.TemporaryDirectory(prefix="flamed-budgets.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)

    def files(self, number: int, symbols: int) -> list[str]:
        """As many files of so many SYMBOLS, no two alike."""
        made = [os.path.join(self.folder, f"large{i}") for i in range(number)]
        largefile.write(made[0], symbols, NAME)
        for i, path in enumerate(made[1:], 1):
            largefile.write_like(path, made[0], i)
        return made

    def start(self, *files: str, user: int) -> largefile.Runs:
        program = largefile.Runs(*files, user=user)
        self.addCleanup(program.__exit__)
        return program

    def test_queue(self):
        """Twelve libraries of alice's, and bob's program that starts after hers."""
        files = self.files(LIBRARIES, LIBRARY_SYMBOLS)
        small = os.path.join(self.folder, "small")
        largefile.write(small, 100, "bobs_%08d")
        with Daemon() as daemon:
            self.start(*files, user=ALICE)
            daemon.profile(seconds=1, hz=199)
            profile = daemon.profile(seconds=2, hz=99, pid=self.start(small, user=BOB).pid)
            named = profile.share(profile.stacks, lambda s: "bobs_00000000" in s.names)
            self.assertGreater(named, 0.98, profile.describe())


if __name__ == "__main__":
    unittest.main()
