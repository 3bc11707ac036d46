# SPDX-License-Identifier: Apache-2.0
"""In the guest: ten starts in a row, each without pages of flamed or of the kernel's tables in the page cache. Each becomes ready, and none
of its processes was started twice."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness.daemon import Daemon # pylint: disable=wrong-import-position

STARTS = 10
SLOW = 30 # limit in seconds, multiplied by the patience of the harness


class Starts(unittest.TestCase):
    def test_ready_each_time(self):
        for number in range(STARTS):
            os.sync()
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("3")
            with self.subTest(start=number), Daemon(wait=False) as daemon:
                start = time.monotonic()
                daemon.wait_ready(SLOW)
                print(f"start {number}: ready after {time.monotonic() - start:.1f} s", flush=True)
                self.assertNotIn("again", daemon.log())
                self.assertEqual(daemon.problems(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
