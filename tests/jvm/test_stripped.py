# SPDX-License-Identifier: Apache-2.0
"""flamed on a machine without debug symbols, as most are. A thread of glibc begins in two functions without a symbol, which get names
all the same: otherwise each sample would count as one with a nameless frame."""
import sys
import unittest

from harness import jvm, paths
from harness.daemon import Daemon

HIDDEN = ["unshare", "-m", "--propagation", "private", "sh", "-c", "mount -t tmpfs none /usr/lib/debug && exec \"$@\"", "sh"]


class Stripped(unittest.TestCase):
    def test_start_of_threads(self):
        paths.need("unshare")
        spin = jvm.make_spin()
        program = jvm.Jvm(paths.jdk(17), "-XX:TieredStopAtLevel=1", "-Xmx64m", "-cp", spin.folder, spin.main, wrap=HIDDEN)
        with program as j, Daemon("--recorder-hz=0", wrap=HIDDEN) as daemon:
            profile = jvm.proc.wait_until(lambda: self.read(daemon, j.pid), 60, "all files are read")
            spinners = profile.of_thread("spinner")
            self.assertTrue(spinners)
            self.assertEqual({tuple(s.names[:2]) for s in spinners}, {("clone3", "start_thread")}, profile.describe(spinners))
            self.assertEqual({f.kind for s in spinners for f in s.frames[:2]}, {"native"})
            first = [s for s in profile.stacks if s.names[:1] == ["_start"]] # of a process's first thread
            self.assertNotIn("clone3", {name for s in first for name in s.names})

    def read(self, daemon: Daemon, pid: int):
        profile = daemon.profile(pid=pid, seconds=1, hz=99, symbols="memory")
        return None if any("being read" in w for w in profile.warnings) or not profile.of_thread("spinner") else profile


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
