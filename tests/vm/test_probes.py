# SPDX-License-Identifier: Apache-2.0
"""In the guest: waits of virtual threads by probes. Emulation is slow, so there are no limits of time."""
import faulthandler
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import Profile # pylint: disable=wrong-import-position

SLOW = 60 # limit of a step in seconds, multiplied by the patience of the harness
SECONDS = 4 # of a capture
THREADS = 3 # at each site
LONGEST = 1.1 # waits of a thread as a share of the capture, which may end late here
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]


class Probes(jvm.WithClasses):
    sources = ("VirtualWaits.java",)

    def profile(self, daemon: Daemon, pid: int) -> Profile | None:
        """Returns None if it was too slow. The first capture also reads the code of the JVM, which takes 10 s of processor time here."""
        answer = daemon.get("/profile", pid=pid, seconds=SECONDS, event="offcpu", source="probe", threads=1, format="json", timeout=SLOW)
        return None if "did not finish in time" in answer.text else Profile(answer)

    def test_waits(self):
        faulthandler.dump_traceback_later(800, exit=True)
        with Daemon("--recorder-hz", "0", wait=False) as daemon:
            daemon.wait_ready(SLOW)
            with jvm.Jvm(paths.jdk(25), *JAVA, "-cp", self.classes.folder, "VirtualWaits", str(THREADS), stdin=subprocess.PIPE) as program:
                profile = proc.wait_until(lambda: self.profile(daemon, program.pid), SLOW, "a capture ends in time")
                print(profile.end - profile.start, profile.quality, profile.warnings)
                self.assertFalse([w for w in profile.warnings if "by looking" in w], profile.warnings)
                for site in ("Sleep", "Lock", "Socket"):
                    waits = [s for s in profile.stacks if "VirtualWaits.site" + site in s.names and s.kind == "virtual"]
                    self.assertTrue(waits, (site, profile.describe()))
                    self.assertLessEqual(sum(s.value for s in waits), LONGEST * THREADS * (profile.end - profile.start) * 10**9, profile.describe())


if __name__ == "__main__":
    unittest.main(verbosity=2)
