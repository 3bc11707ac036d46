# SPDX-License-Identifier: Apache-2.0
"""In the guest: this kernel takes the program that finds the peers of waiting threads, and flamed names the server that a pool waits for."""
import faulthandler
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position

SLOW = 100 # limit of a step in seconds, multiplied by the patience of the harness
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]


class Peers(jvm.WithClasses):
    sources = ("Silence.java",)

    def test_named(self):
        faulthandler.dump_traceback_later(800, exit=True)
        with Daemon(wait=False) as daemon:
            daemon.wait_ready(SLOW)
            with jvm.Jvm(paths.jdk(17), *JAVA, "-cp", self.classes.folder, "Silence", "::1", "read", "600000") as program: # poll
                def sentence() -> str:
                    signals = daemon.get("/api/v1/signals", pid=program.pid, timeout=SLOW).json().get("signals", ())
                    said = [s["sentence"] for s in signals if s["signal"] == "pool-exhausted"]
                    return said[0] if said and re.search(" (from|to) ", said[0]) else ""
                said = proc.wait_until(sentence, SLOW, "it names a server", 1)
            print(said, flush=True)
            self.assertRegex(said, r"they read from \[::1\]:\d+;")
            self.assertNotIn("do not name the server", daemon.log())


if __name__ == "__main__":
    unittest.main()
