# SPDX-License-Identifier: Apache-2.0
"""A file with 200 MB of symbols, met during captures: it is read on another thread, and the captures get its names."""
import os
import tempfile
import threading
import time
import unittest

from harness import largefile, paths, proc
from harness.daemon import Daemon

FUNCTIONS = 1200000
NAME = "a_function_as_long_as_one_of_cplusplus_with_its_templates_and_arguments_resolved_as_it_is_mangled_%08d"


class Watch(threading.Thread):
    """Measures the CPU seconds of the thread that reads symbols, and how often the engine went to wait meanwhile: it drains the ring each
    time."""

    def __init__(self, worker: int):
        super().__init__()
        self.worker, self.over = worker, threading.Event()
        self.engine, self.reader = (proc.thread_of(worker, name) for name in ("flamed-engine", "flamed-symbols"))
        self.reading_s, self.waits = 0.0, 0

    def now(self) -> tuple[float, int]:
        task = f"/proc/{self.worker}/task/"
        status = proc.read(f"{task}{self.engine}/status")
        return (int(proc.read(f"{task}{self.reader}/schedstat").split()[0]) / 1e9,
                int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]))

    def run(self) -> None:
        before = self.now()
        while not self.over.wait(0.05):
            now = self.now()
            if now[0] > before[0]:
                self.reading_s += now[0] - before[0]
                self.waits += now[1] - before[1]
            before = now


class LargeSymbols(unittest.TestCase):
    def test_captures_go_on_while_it_is_read(self):
        paths.need("cc")
        with tempfile.TemporaryDirectory(prefix="flamed-large.") as folder, Daemon() as daemon:
            path = os.path.join(folder, "large")
            self.assertGreater(largefile.write(path, FUNCTIONS, NAME), 200e6)
            worker = next(pid for pid in daemon.pids() if "flamed-engine" in proc.threads(pid).values())
            watch = Watch(worker)
            watch.start()
            try:
                with largefile.Runs(path) as program:
                    before = time.monotonic()
                    profile = daemon.profile(pid=program.pid, seconds=8, hz=999)
                    took = time.monotonic() - before
            finally:
                watch.over.set()
                watch.join()
            text = f"read in {watch.reading_s:.2f} s of CPU, {watch.waits} waits of the engine meanwhile; {profile.describe()}"
            self.assertGreater(watch.reading_s, 0.2, text)
            # It wakes every 10 ms. On a busy machine the reader gets no larger share than it.
            self.assertGreater(watch.waits, 20 * watch.reading_s, text)
            self.assertEqual(profile.quality["lost"], 0, text)
            self.assertGreaterEqual(profile.share(profile.stacks, lambda s: NAME % 0 in s.names), 0.95, text)
            self.assertLess(took, 60, text)
            print(text.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
