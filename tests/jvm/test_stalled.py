# SPDX-License-Identifier: Apache-2.0
"""An engine that is stalled while it names a program's samples: flamed ends, and the next one quarantines that program."""
import ctypes
import os
import re
import subprocess
import time

from harness import native, paths, proc, spinning
from harness.daemon import Daemon

PTRACE_CONT, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 0x4206, 0x4207
WALL = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
USER = 64077
STANDS = re.compile(r"its engine made no progress for \d+ s, while (.*)")


def ptrace(request: int, tid: int) -> None:
    if LIBC.ptrace(request, tid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


class Stalled(spinning.WithSpinningJvm):
    """A tracer stops the thread: for flamed, the engine works on a sample without an end."""

    def setUp(self):
        paths.need("cc")
        self.daemon = Daemon("--recorder-hz=0")
        self.addCleanup(self.daemon.stop)

    def worker(self) -> int:
        return self.daemon.processes().get("flamed", [0])[0]

    def hold_engine(self, worker: int) -> None:
        """Holds the engine until flamed gives up. It is held in user space: in its own code, not in the kernel."""
        tid = next(tid for tid, name in proc.threads(worker).items() if name == "flamed-engine")
        ptrace(PTRACE_SEIZE, tid)
        for _ in range(10000):
            ptrace(PTRACE_INTERRUPT, tid)
            os.waitpid(tid, WALL)
            if proc.read(f"/proc/{worker}/task/{tid}/syscall").startswith("-1 "):
                return
            ptrace(PTRACE_CONT, tid)
            time.sleep(0.0003)
        self.fail("the engine's thread is never at work")

    def test_the_next_one_leaves_it_alone(self):
        slow = subprocess.Popen([*proc.ENDS_WITH_US, "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
                                 native.build("deep")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(slow.communicate)
        self.addCleanup(slow.kill)
        self.assertEqual(slow.stdout.readline().strip(), "started")
        worker = self.worker()
        self.daemon.capture(pid=slow.pid, seconds=600, hz=9999)
        time.sleep(1)
        self.hold_engine(worker)
        proc.wait_until(lambda: self.worker() not in (0, worker), 90, "another flamed", 0.2)
        self.daemon.wait_ready(30)
        said = STANDS.search(self.daemon.log())
        self.assertIsNotNone(said, self.daemon.log())
        self.assertIn(f"named the frames of a sample of process {slow.pid}; the next flamed quarantines its owner", said[1])
        self.assertIn("flamed_quarantined 1\n", self.daemon.get("/metrics").text)
        # it is not read; another user's JVM has all its names
        left = self.daemon.profile(pid=slow.pid, seconds=2, hz=199)
        self.assertEqual(left.share(left.stacks, lambda s: any(n.startswith("deep_") for n in s.names)), 0, left.describe())
        java = self.daemon.profile(pid=self.pid, seconds=2, hz=199)
        self.assertGreaterEqual(java.share(java.stacks, lambda s: any("Spin" in n for n in s.names)), 0.9, java.describe())


if __name__ == "__main__":
    import unittest
    unittest.main()
