# SPDX-License-Identifier: Apache-2.0
"""Java without HotSpot: OpenJ9, and a libjvm.so without HotSpot's tables. The tests use programs that map libraries with such names: no
package has a real one."""
import os
import subprocess
import tempfile
import unittest

from harness import native, paths, proc
from harness.daemon import Daemon

STARTED = 20 # seconds until a process is known, on a busy machine


class OtherVms(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.daemon = Daemon("--recorder-hz=0")
        self.addCleanup(self.daemon.stop)

    def start(self, library: str) -> int:
        """Starts a program that generates code and has mapped LIBRARY. Its code has a name in its perf map."""
        folder = tempfile.TemporaryDirectory(prefix="flamed-vm.")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, library)
        subprocess.run(["cc", "-shared", "-o", path, "-x", "c", "/dev/null"], check=True)
        process = subprocess.Popen([*proc.ENDS_WITH_US, native.build("jitted")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "LD_PRELOAD": path})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        code = process.stdout.readline().strip()
        perf_map = f"/tmp/perf-{process.pid}.map"
        self.addCleanup(os.unlink, perf_map)
        with open(perf_map, "w", encoding="ascii") as f:
            f.write(f"{code} com/example/Orders.total()J_hot\n")
        process.stdin.write("\n")
        process.stdin.flush()
        return process.pid

    def check(self, library: str, name: str, reason: str) -> None:
        pid = self.start(library)
        def listed() -> list[dict]:
            return [j for j in self.daemon.get("/api/v1/jvms").json()["jvms"] if j["pid"] == pid and j["profilable"]["symbols"] == "none"]
        proc.wait_until(lambda: listed() and "starting" not in listed()[0]["profilable"]["reason"], STARTED, f"{library} is known")
        self.assertEqual(listed()[0]["vm_name"], name)
        self.assertIn(reason, listed()[0]["profilable"]["reason"])
        profile = self.daemon.profile(pid=pid, seconds=2, hz=199)
        self.assertTrue(any(reason in w for w in profile.warnings), profile.warnings)
        self.assertIn(reason, profile.answer.headers["X-Flamed-Symbols"])
        self.assertGreaterEqual(profile.share(profile.stacks, lambda s: "com/example/Orders.total()J_hot" in s.names and "main" in s.names), 0.9,
                                profile.describe())

    def test_openj9(self):
        self.check("libj9vm29.so", "Eclipse OpenJ9 VM", "-Xjit:perfTool")

    def test_no_tables(self):
        self.check("libjvm.so", "", "it is of another VM")
