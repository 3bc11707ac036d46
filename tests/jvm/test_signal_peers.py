# SPDX-License-Identifier: Apache-2.0
"""A pool that waits for a server: the signal names the server, in each network namespace, by IPv4, IPv6 and a Unix socket."""
import contextlib
import os
import re
import tempfile
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon

SIDE_BY_SIDE = True # each class waits most of its time
# A network namespace with loopback only: what listens there is not in the host's tables.
ELSEWHERE = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$0" "$@"']


class Peers(jvm.WithClasses):
    sources = ("Silence.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.classes.compile("SilentUnix.java", release=17)

    def setUp(self):
        paths.need_root()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.daemon = self.stack.enter_context(Daemon())

    def start(self, jdk: int, *arguments: str, wrap: list[str] | None = None) -> int:
        return self.stack.enter_context(jvm.Jvm(paths.jdk(jdk), "-Xmx64m", "-XX:+UseSerialGC", "-cp", self.classes.folder, *arguments, wrap=wrap)).pid

    def sentence(self, pid: int) -> str:
        """Returns the sentence of the pool once it names a server."""
        def named():
            found = [s["sentence"] for s in self.daemon.get("/api/v1/signals", pid=pid).json().get("signals", ()) if s["signal"] == "pool-exhausted"]
            return found[0] if found and re.search(" (from|to) ", found[0]) else None
        return proc.wait_until(named, 150, f"the pool of {pid} names what it waits for: {self.daemon.get('/api/v1/signals', pid=pid).text}", 0.5)

    def test_named(self):
        path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "db.sock")
        cases = ((8, None, ("Silence", "127.0.0.1", "read", "0"), r"they read from 127\.0\.0\.1:\d+;"), # recv
                 (8, ELSEWHERE, ("Silence", "::1", "read", "600000"), r"they read from \[::1\]:\d+;"), # poll, then recv
                 (11, ELSEWHERE, ("Silence", "127.0.0.1", "read", "600000"), r"they read from 127\.0\.0\.1:\d+;"),
                 (17, ELSEWHERE, ("Silence", "::1", "read", "600000"), r"they read from \[::1\]:\d+;"), # poll
                 (25, ELSEWHERE, ("Silence", "127.0.0.1", "read", "0"), r"they read from 127\.0\.0\.1:\d+;"), # read
                 (25, None, ("Silence", "::1", "write", "0"), r"they write to \[::1\]:\d+;"),
                 (21, None, ("SilentUnix", path), f"they read from unix:{re.escape(path)};"))
        waits = [(self.start(jdk, *arguments, wrap=wrap), wanted) for jdk, wrap, arguments, wanted in cases if jdk in paths.jdks()]
        for pid, wanted in waits:
            with self.subTest(wanted, pid=pid):
                said = self.sentence(pid)
                print(said, flush=True)
                self.assertRegex(said, rf"^4 of 4 threads of http-\* wait for the same: \[network\] in Silen.*\.(read|write); {wanted} \d+ %")


if __name__ == "__main__":
    unittest.main()
