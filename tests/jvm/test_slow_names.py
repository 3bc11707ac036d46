# SPDX-License-Identifier: Apache-2.0
"""A program with symbols that take endless time to demangle, beside a JVM: flamed continues, and the JVM has all its names."""
import os
import re
import statistics
import threading
import time

from harness import native, paths, proc, spinning
from harness.daemon import Daemon
from harness.profile import Profile

RUST = "_RNvMIC1aFGzzzzzzzzzz_EuEu1f"
CPP = "_Z1fIDp1BIS0_I" # and so on
HEALTH_S = 0.2 # limit of an answer about health


class Health(threading.Thread):
    """Measures flamed's time for /healthz, requested over and over, each time on a new connection."""

    def __init__(self, daemon: Daemon):
        super().__init__(daemon=True)
        self.daemon_, self.over, self.took, self.wrong = daemon, threading.Event(), [], []

    def run(self) -> None:
        while not self.over.wait(0.05):
            before = time.monotonic()
            try:
                answer = self.daemon_.get("/healthz", unix=True, timeout=5)
                if answer.status != 200:
                    self.wrong.append(str(answer))
            except OSError as e:
                self.wrong.append(repr(e))
            self.took.append(time.monotonic() - before)

    def stop(self) -> "Health":
        self.over.set()
        self.join()
        return self


class SlowNames(spinning.WithSpinningJvm):
    def setUp(self):
        paths.need("cc")
        self.daemon = Daemon("--recorder-hz=49")
        self.addCleanup(self.daemon.stop)
        self.slow = native.Obedient("slow_names")
        self.addCleanup(self.slow.__exit__)
        self.assertEqual(self.slow.process.stdout.readline().strip(), "started")

    def raw(self, reason: str) -> int:
        found = re.search(rf'^flamed_symbols_raw_total{{reason="{reason}"}} (\d+)', self.daemon.get("/metrics").text, re.M)
        return int(found[1])

    def named(self, java: Profile) -> None:
        """Checks the busy thread: on a busy machine it has few samples, and those of the VM's own threads are not few beside them."""
        stacks = java.of_thread("spinner")
        self.assertGreaterEqual(java.share(stacks, lambda s: self.spin.run in s.names), 0.95, java.describe())

    def test_flamed_goes_on(self):
        worker = self.daemon.processes()["flamed"]
        health = Health(self.daemon)
        health.start()
        try:
            profiles = {}
            threads = [threading.Thread(target=lambda pid=pid: profiles.setdefault(pid, self.daemon.profile(pid=pid, seconds=5, hz=199)))
                       for pid in (self.pid, self.slow.pid)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            before = time.monotonic()
            calls = self.daemon.get("/profile", pid=self.slow.pid, seconds=1, event="./slow_names:f")
            took = time.monotonic() - before
        finally:
            health.stop()
        text = f"{len(health.took)} times health: median {statistics.median(health.took):.4f} s, longest {max(health.took):.4f} s"
        print(text)
        self.assertFalse(health.wrong, text)
        # Except for two answers, when a busy machine gave flamed no processor.
        self.assertLess(sorted(health.took)[-3], HEALTH_S * proc.PATIENCE, text)
        self.assertLess(max(health.took), 10 * HEALTH_S * proc.PATIENCE, text)
        self.assertEqual(self.daemon.processes()["flamed"], worker, "it was not started again")

        java, slow = profiles[self.pid], profiles[self.slow.pid]
        self.assertEqual(java.quality["lost"], 0, java.describe())
        self.assertEqual(java.quality["unknown"], 0, java.describe())
        self.named(java)
        self.assertEqual(slow.quality["lost"], 0, slow.describe())
        for symbol in (RUST, CPP):
            self.assertGreater(slow.share(slow.stacks, lambda s, symbol=symbol: any(n.startswith(symbol) for n in s.names)), 0.1,
                               slow.describe())
        # the inlined one, by its name in the debug information
        self.assertGreater(slow.share(slow.stacks, lambda s: any(n.startswith(RUST + "_in") for n in s.names) and "named_caller" in s.names),
                           0.1, slow.describe())
        self.assertIn(calls.status, (404, 409, 422), calls)
        self.assertIn("no function f", calls.text)
        self.assertLess(took, 5 * proc.PATIENCE, calls)
        self.assertGreaterEqual(self.raw("too_slow"), 2)
        self.assertEqual(self.raw("fault"), 0)
        print(self.daemon.get("/metrics").text.partition("# HELP flamed_symbols")[2][:900])

    def test_large_perf_maps(self):
        """Three of 8 MB: a thread of their own reads them, not the engine's. Samples wait for their last line."""
        programs = [native.Obedient("mapped_code", arguments=("8",)) for _ in range(3)]
        for program in programs:
            self.addCleanup(lambda pid=program.pid: os.unlink(f"/tmp/perf-{pid}.map"))
            self.addCleanup(program.__exit__)
        for program in programs:
            self.assertEqual(program.process.stdout.readline().strip(), "started")
        [worker] = self.daemon.processes()["flamed"]
        profiles = {}
        threads = [threading.Thread(target=lambda pid=pid: profiles.setdefault(pid, self.daemon.profile(pid=pid, seconds=6, hz=49)))
                   for pid in [program.pid for program in programs] + [self.pid]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertGreater(proc.cpu_seconds(worker, proc.thread_of(worker, "flamed-perfmaps")), 0.03)
        for program in programs:
            profile = profiles[program.pid]
            self.assertGreaterEqual(profile.share(profile.stacks, lambda s: "the_function_that_runs" in s.names), 0.9, profile.describe())
        java = profiles[self.pid]
        self.assertEqual(java.quality["unknown"], 0, java.describe())
        self.named(java)


if __name__ == "__main__":
    import unittest
    unittest.main()
