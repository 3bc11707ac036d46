# SPDX-License-Identifier: Apache-2.0
"""A JVM that the kernel ends for want of memory has a signal that says so."""
import unittest

import test_signals


class Killed(test_signals.Signals):
    def test_each_has_its_own(self):
        """Of the other file."""

    def test_how_it_ended(self):
        full = self.contain("leak", "-Xmx400m", "-Drest=2", "-Dbytes=1000000", memory=96 << 20)
        signal = self.await_signal("ended", full.pid)
        self.assertEqual(signal["severity"], 3, signal)
        self.assertIn("memory", signal["sentence"])


if __name__ == "__main__":
    unittest.main()
