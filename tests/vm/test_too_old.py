# SPDX-License-Identifier: Apache-2.0
"""In the guest: on a kernel that cannot run the BPF programs flamed serves, says why nothing is sampled and what would help, and
does not end and start again."""
import os
import platform
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position

SLOW = 30 # seconds, times the patience of the harness
FLOOR = "5.15"


class TooOld(unittest.TestCase):
    def problems(self) -> list[dict]:
        """By the Unix socket: without BPF flamed knows no client over TCP."""
        self.daemon.wait_ready(SLOW, (503,))
        return self.daemon.get("/readyz", unix=True).json()["problems"]

    def assert_told(self, text: str) -> None:
        """The reason is this kernel, the remedy a newer one; nobody is sent to look for a capability."""
        self.assertIn(platform.release(), text)
        self.assertIn(f"run Linux {FLOOR} or later", text)
        self.assertNotIn("CAP_", text)

    def test_it_serves_and_says_why(self):
        spin = jvm.make_spin()
        with Daemon(wait=False) as self.daemon, jvm.Jvm(paths.jdk(17), "-Xint", "-cp", spin.folder, spin.main, start="") as target:
            proc.wait_until(lambda: all(p["what"] != "loading" for p in self.problems()), SLOW, "it tried to load its programs")
            processes = self.daemon.processes()
            told = [p for p in self.problems() if p["what"] == "sampling"]
            self.assertEqual(len(told), 1, told)
            self.assert_told(told[0]["detail"])
            self.assert_told(self.daemon.log())

            answer = self.daemon.get("/profile", unix=True, pid=target.pid, seconds=1)
            self.assertEqual(answer.status, 503, answer)
            self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
            self.assert_told(answer.json()["detail"])

            self.assertEqual(self.daemon.get("/healthz").status, 200)
            proc.wait_until(lambda: target.pid in [j["pid"] for j in self.daemon.get("/api/v1/jvms", unix=True).json()["jvms"]], SLOW,
                            "the JVM is listed")
            time.sleep(20)
            self.assertEqual(self.daemon.processes(), processes, self.daemon.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
