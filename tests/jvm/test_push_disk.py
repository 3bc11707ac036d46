# SPDX-License-Identifier: Apache-2.0
"""Pushing while the disk is full: what can arrive does, once."""
import contextlib
import unittest

from harness import proc
from harness.daemon import free_port
from harness.pushing import Pushing
from test_store import on_mount

EVERY = 5


class Disk(Pushing):
    def test_a_full_disk(self):
        """Requests stay in memory while the store is full. All arrive once the engine is back."""
        port = free_port()
        daemon = self.flamed(f"name: engine\nurl: http://127.0.0.1:{port}\nevery: {EVERY}s", options=("--history-max-age=0",),
                             wrap=on_mount("-t tmpfs -o size=2m,mode=755 none"))
        proc.wait_until(lambda: self.status(daemon, "engine")["queued_bodies"], 60, "one is in the store")
        self.assertFalse(self.status(daemon, "engine")["in_memory"])
        filler = f"/proc/{daemon.top()}/root{daemon.folder}/store/filler"
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                pass
        before = self.status(daemon, "engine") # from here on all go to memory
        proc.wait_until(lambda: self.status(daemon, "engine")["queued_bodies"] >= before["queued_bodies"] + 2, 60, "two more wait")
        status = self.status(daemon, "engine")
        self.assertTrue(status["in_memory"], status)
        self.assertEqual((status["dropped"], daemon.get("/healthz").status), (0, 200))
        engine = self.engine(port=port)
        proc.wait_until(lambda: not self.status(daemon, "engine")["queued_bodies"], 90, "all arrive")
        self.assertGreaterEqual(self.arrived_once(engine), status["queued_bodies"])
        self.assertEqual(self.status(daemon, "engine")["dropped"], 0)


if __name__ == "__main__":
    unittest.main()
