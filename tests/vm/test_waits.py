# SPDX-License-Identifier: Apache-2.0
"""In the guest: where threads of a JVM wait, with stacks taken as each wait begins (Early), or later by task work (Late). Emulation is
slow, so there are no limits of time."""
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
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]
CALLS = {"sleeps": "Naps.sleeps", "parks": "Naps.parks", "blocks": "Naps.blocks"}


class Early(jvm.WithClasses):
    sources = ("Naps.java",)
    early = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        faulthandler.dump_traceback_later(800, exit=True)
        with open("/proc/sys/net/core/bpf_jit_kallsyms", "w", encoding="ascii") as f:
            f.write("1")
        cls.daemon = Daemon("--recorder-hz", "0", wait=False)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.wait_ready(SLOW)

    def capture(self, pid: int, event: str) -> Profile | None:
        """Returns None if it was too slow: programs, files or names were not read in time."""
        answer = self.daemon.get("/profile", pid=pid, seconds=4, event=event, threads=1, format="json", timeout=SLOW)
        if answer.status != 200:
            print(answer.status, answer.text[:200])
            return None
        profile = Profile(answer)
        print(f"{event}: {profile.quality} {profile.warnings}")
        waits = [s for s in profile.stacks if s.thread.split("-")[0] in CALLS and s.state == "blocked"]
        whole = [s for s in waits if not s.truncated]
        # The first wait of each thread began before.
        enough = sum(s.samples for s in whole) > 60 and sum(s.samples for s in waits) - sum(s.samples for s in whole) <= len(
            {s.tid for s in waits}) + 0.02 * sum(s.samples for s in waits)
        return profile if enough else None

    def test_whole(self):
        event, = [e for e in self.daemon.get("/api/v1/events").json()["events"] if e["name"] == "offcpu"]
        self.assertTrue(event["available"], event)
        with jvm.Jvm(paths.jdk(17), *JAVA, "-cp", self.classes.folder, "Naps", stdin=subprocess.PIPE) as program:
            for event in ("offcpu", "wall"):
                profile = proc.wait_until(lambda: self.capture(program.pid, event), SLOW, "whole stacks")
                self.assertEqual(profile.quality["lost"], 0)
                # By a program of this kind, and not of the other.
                self.assertEqual({"_off_switch_earl" in line for line in proc.read("/proc/kallsyms").splitlines() if "_off_switch" in line}, {self.early})
                for kind, call in CALLS.items():
                    mine = [s for s in profile.stacks if s.thread.startswith(kind + "-") and s.state == "blocked" and not s.truncated]
                    there = sum(s.samples for s in mine if any(name.startswith(call) for name in s.names))
                    self.assertGreaterEqual(there, 0.95 * sum(s.samples for s in mine), (kind, [s.names for s in mine][:3]))
                    self.assertTrue(mine, kind)


class Late(Early):
    early = False


if __name__ == "__main__":
    unittest.main(verbosity=2)
