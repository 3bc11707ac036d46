# SPDX-License-Identifier: Apache-2.0
"""A JVM with libjvm.so mapped in pieces, because another profiler wrote to its code: probes still find their places. The hard case: flamed
saw it in one piece before, and must read it again."""
import subprocess
import unittest

from harness import jvm, paths
from harness.daemon import Daemon
from test_alloc import old_kernel_daemon

EVENTS = {"alloc": "CutCode.work", "safepoint": "", "libjvm.so:JVM_GC": "CutCode.work"} # and the methods that do it


class Program(jvm.Jvm):
    def __init__(self, folder: str):
        super().__init__(paths.jdk(25), "--enable-native-access=ALL-UNNAMED", "-Xmx64m", "-cp", folder, "CutCode", stdin=subprocess.PIPE)
        self.pieces = int(self.process.stdout.readline())

    def do(self, what: str) -> None:
        self.process.stdin.write(what)
        self.process.stdin.flush()
        self.pieces = int(self.process.stdout.readline())

    def cut(self) -> None:
        before = self.pieces
        self.do("\n")
        if self.pieces <= before:
            raise RuntimeError(f"{self.pieces} pieces")


class Pieces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.classes = jvm.Classes()
        cls.classes.compile("CutCode.java", release=25) # JDK 25 has what it calls

    def finds(self, daemon: Daemon, pid: int, event: str, who: str, seconds: int) -> bool:
        """Returns whether WHO does EVENT within SECONDS. On a busy machine, no collection may begin in one second."""
        profile = daemon.profile(pid=pid, seconds=seconds, event=event)
        return any(who in frame for s in profile.stacks for frame in s.names)

    def check(self, daemon: Daemon) -> None:
        with daemon, Program(self.classes.folder) as program:
            for turn in range(2):
                for event, who in EVENTS.items():
                    with self.subTest(event=event, pieces=program.pieces):
                        self.assertTrue(any(self.finds(daemon, program.pid, event, who, seconds) for seconds in (1, 4, 16)))
                if turn == 0:
                    program.cut()

    def test_writable(self):
        """Kernels put no probe where a process can write, without an error. A profile without samples would be the result."""
        with Daemon("--recorder-hz", "0") as daemon, Program(self.classes.folder) as program:
            program.do("w")
            for event in EVENTS:
                answer = daemon.get("/profile", pid=program.pid, seconds=1, event=event)
                self.assertEqual(answer.status, 409, event)
                self.assertIn("can write to the code", answer.json()["detail"])

    def test_by_symbols(self):
        self.check(Daemon("--recorder-hz", "0"))

    def test_by_stubs(self):
        """The places are calls to these functions: anywhere in the code, in any piece."""
        self.check(old_kernel_daemon("libjvm-symbols"))


if __name__ == "__main__":
    unittest.main()
