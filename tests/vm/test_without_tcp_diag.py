# SPDX-License-Identifier: Apache-2.0
"""In a guest that cannot load the kernel's module tcp_diag: over TCP, root and users are identified by /proc/net/tcp. Emulation is slow, so
there are no limits of time."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import caller, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position

SLOW = 30 # limit in seconds, multiplied by the patience of the harness
USER = 61001


class WithoutTcpDiag(unittest.TestCase):
    def test_who_asks_over_tcp(self):
        self.assertNotIn("tcp_diag", proc.read("/proc/modules"))
        self.assertNotEqual(os.system("modprobe tcp_diag 2>/dev/null"), 0)
        daemon = Daemon(wait=False)
        self.addCleanup(daemon.stop)
        for _ in range(3):
            reply = caller.ask(f"http://127.0.0.1:{daemon.port}/api/v1/whoami", timeout=SLOW)
            self.assertEqual((reply.json()["subject"], reply.json()["sees"]), ("user 0", "all"), str(reply))
            self.assertEqual(caller.ask(f"http://127.0.0.1:{daemon.port}/api/v1/jvms", timeout=SLOW).status, 200)
            self.assertEqual(caller.ask(f"http://[::1]:{daemon.port}/api/v1/jvms", timeout=SLOW).status, 200)
            reply = caller.ask(f"http://127.0.0.1:{daemon.port}/api/v1/whoami", uid=USER, timeout=SLOW)
            self.assertEqual((reply.json()["subject"], reply.json()["sees"]), (f"user {USER}", "own"), str(reply))


if __name__ == "__main__":
    unittest.main(verbosity=2)
