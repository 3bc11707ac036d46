# SPDX-License-Identifier: Apache-2.0
"""Runs test modules of this folder: run_tests.py MODULE[.CLASS[.METHOD]]...

Exits 77 when every test was skipped, so that ctest says "Skipped" and the reasons are in its log."""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Result(unittest.TextTestResult):
    """Ends at SIGTERM with its cleanups done, so that no JVM or container stays behind."""

    def startTestRun(self):
        signal.signal(signal.SIGTERM, self.terminate)

    def terminate(self, *_):
        self.stop()
        raise SystemExit("ended by SIGTERM")


def main() -> int:
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    if not result.wasSuccessful():
        return 1
    if result.testsRun == len(result.skipped):
        for test, reason in result.skipped:
            print(f"skipped: {test}: {reason}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
