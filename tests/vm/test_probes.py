# SPDX-License-Identifier: Apache-2.0
"""In the guest: waits of virtual threads by probes. Emulation is slow, so there are no limits of time."""
import faulthandler
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jvm, paths # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import Profile # pylint: disable=wrong-import-position

SLOW = 60 # limit of a step in seconds, multiplied by the patience of the harness
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]


class Probes(jvm.WithClasses):
    sources = ("VirtualWaits.java",)

    def test_waits(self):
        faulthandler.dump_traceback_later(800, exit=True)
        with Daemon("--recorder-hz", "0", wait=False) as daemon:
            daemon.wait_ready(SLOW)
            with jvm.Jvm(paths.jdk(25), *JAVA, "-cp", self.classes.folder, "VirtualWaits", "3", stdin=subprocess.PIPE) as program:
                answer = daemon.get("/profile", pid=program.pid, seconds=4, event="offcpu", source="probe", threads=1, format="json", timeout=SLOW)
                profile = Profile(answer)
                print(profile.quality, profile.warnings)
                self.assertFalse([w for w in profile.warnings if "by looking" in w], profile.warnings)
                for site in ("Sleep", "Lock", "Socket"):
                    waits = [s for s in profile.stacks if "VirtualWaits.site" + site in s.names and s.kind == "virtual"]
                    self.assertTrue(waits, (site, profile.describe()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
