# SPDX-License-Identifier: Apache-2.0
"""Runs test modules of this folder: run_tests.py MODULE[.CLASS[.METHOD]]...

Classes of a module with SIDE_BY_SIDE run at the same time, each in its own process. At the end it prints how long each test and its
fixtures took. Exits 77 when every test was skipped, so that ctest says "Skipped" and the reasons are in its log."""
import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Result(unittest.TextTestResult):
    """Ends at SIGTERM after its cleanups, so that no JVM or container is abandoned. Prints how long each test took. An exception in a
    thread of a test makes the test fail, too."""

    def startTestRun(self):
        signal.signal(signal.SIGTERM, self.terminate)
        self.passed = False # a part of a test whose other parts may be skipped
        self.raised: list[tuple] = []
        threading.excepthook = lambda of: self.raised.append((of.exc_type, of.exc_value, of.exc_traceback))
        self.took: list[tuple[float, str]] = []
        self.began = self.since = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        self.since = time.monotonic()

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        self.passed |= err is None

    def stopTest(self, test):
        while self.raised:
            self.addError(test, self.raised.pop())
        super().stopTest(test)
        self.took.append((time.monotonic() - self.since, str(test)))

    def stopTestRun(self):
        fixtures = time.monotonic() - self.began - sum(seconds for seconds, _ in self.took)
        for seconds, name in sorted([*self.took, (fixtures, "fixtures of classes")], reverse=True):
            self.stream.writeln(f"{seconds:7.1f} s  {name}")
        cpu = [used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))]
        self.stream.writeln(f"{cpu[0]:7.1f} s of CPU here, {cpu[1]:.1f} s by programs that have ended")

    def terminate(self, *_):
        self.stop()
        raise SystemExit("ended by SIGTERM")


def classes(name: str) -> list[str]:
    """Returns the classes of the module NAME if they run side by side."""
    module = None if "." in name else importlib.import_module(name)
    found = unittest.defaultTestLoader.loadTestsFromModule(module) if getattr(module, "SIDE_BY_SIDE", False) else []
    return [f"{name}.{type(tests._tests[0]).__name__}" for tests in found if tests.countTestCases()]


def side_by_side(names: list[str]) -> int:
    running = [(subprocess.Popen([sys.executable, __file__, name], stdout=text, stderr=subprocess.STDOUT), text)
               for name, text in ((name, tempfile.TemporaryFile()) for name in names)]
    signal.signal(signal.SIGTERM, lambda *_: [process.terminate() for process, _ in running])
    for process, text in running:
        process.wait()
        text.seek(0)
        sys.stdout.buffer.write(text.read())
        sys.stdout.flush()
    statuses = {process.returncode for process, _ in running}
    return statuses.pop() if len(statuses) == 1 else int(not statuses <= {0, 77})


def main() -> int:
    # Programs of tests run by other users, too, who may not read a shim of pyenv that comes before the interpreter.
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    names = classes(sys.argv[1]) if len(sys.argv) == 2 else []
    if len(names) > 1:
        return side_by_side(names)
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    if not result.wasSuccessful():
        return 1
    if result.testsRun == len(result.skipped) and not result.passed:
        for test, reason in result.skipped:
            print(f"skipped: {test}: {reason}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
