# SPDX-License-Identifier: Apache-2.0
"""Operations without a tracer: the handlers of a server, compared with the clocks of its threads."""
import http.client
import os
import re
import tempfile
import unittest

from harness import paths, proc
from harness.daemon import Daemon
from harness.jvm import Classes, Jvm

START_S = 120
SAMPLES, ROUNDS = 400, 20
HANDLERS = ("Handled$Fast.handle()", "Handled$Slow.handle()")


class Handlers(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.classes = Classes()
        self.classes.compile("Handled.java", release=11)

    def totals(self) -> list[int]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        connection.request("GET", "/totals")
        text = connection.getresponse().read().decode()
        connection.close()
        return [int(word) for word in text.split()]

    def rows(self, daemon: Daemon, **parameters) -> list[tuple[list[str], int]]:
        text = daemon.get("/profile", pid=self.java.pid, by="operation", format="collapsed", **parameters).text
        return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]

    def judge(self, release: int) -> None:
        """Checks that samples in burning code have the handler that burns, and that both handlers have the share of CPU time by their
        clocks."""
        folder = tempfile.TemporaryDirectory(prefix="flamed-handled.")
        self.addCleanup(folder.cleanup)
        self.java = Jvm(paths.jdk(release), "-Xmx100m", "-cp", self.classes.folder, "Handled", folder.name + "/port", start="")
        self.addCleanup(self.java.stop)
        proc.wait_until(lambda: os.path.exists(folder.name + "/port"), START_S, "the service listens", interval=0.1)
        self.port = int(proc.read(folder.name + "/port"))
        with Daemon("--recorder-hz=99") as daemon:
            counts, spent = dict.fromkeys(HANDLERS, 0), [0, 0]
            for _ in range(ROUNDS):
                before = self.totals()
                for stack, count in self.rows(daemon, seconds=2, hz=499):
                    if "Handled.burn" not in stack:
                        self.assertNotIn("Handled.ask", stack if stack[0][1:-1] in HANDLERS else []) # threads of clients have no handler
                        continue
                    self.assertIn(stack[0][1:-1], HANDLERS, stack)
                    self.assertIn(stack[0][1:-3], stack)
                    counts[stack[0][1:-1]] += count
                spent = [total + now - then for total, now, then in zip(spent, self.totals(), before)]
                if sum(counts.values()) >= SAMPLES:
                    break
            self.assertGreaterEqual(sum(counts.values()), SAMPLES)
            share, clock = counts[HANDLERS[1]] / sum(counts.values()), spent[1] / sum(spent)
            print(f"JDK {release}: {sum(counts.values())} samples, slow {share:.3f} of them, by the clocks {clock:.3f}")
            self.assertAlmostEqual(share, clock, delta=0.1)
            slow = self.rows(daemon, operation=r"Slow\.handle", **{"from": "-60s"})
            self.assertTrue(slow)
            self.assertEqual({stack[0] for stack, _ in slow}, {f"[{HANDLERS[1]}]"})
            proc.wait_until(lambda: set(HANDLERS) <= self.counted(daemon), 60, "metrics have both", interval=1)

    def counted(self, daemon: Daemon) -> set[str]:
        lines = [line for line in daemon.get("/metrics").text.splitlines() if line.startswith(f'flamed_jvm_operation_cpu_seconds_total{{pid="{self.java.pid}"')]
        return {re.search('operation="([^"]*)"', line)[1] for line in lines}

    def test_the_jdks_server_on_17(self):
        self.judge(17)

    def test_the_jdks_server_on_25(self):
        self.judge(25)


if __name__ == "__main__":
    unittest.main()
