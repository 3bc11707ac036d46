# SPDX-License-Identifier: Apache-2.0
"""Probes into JVMs that may serve file systems themselves. To put a probe, the kernel waits for the memory of the process, and no process
of the machine can fork during that time. So flamed puts none there, and no request waits."""
import contextlib
import unittest

from harness import fuse, jvm, paths, probed, proc
from harness.daemon import Daemon
from harness.events import skip_without

IN_A_MOUNT = 'mount --bind "$0" "$1" && shift && exec "$@"'


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.home = paths.jdk(17)
        cls.library = cls.home + "/lib/server/libjvm.so"
        cls.spin = jvm.make_spin()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        skip_without(cls.daemon, "alloc")

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def start(self, *wrap: str) -> jvm.Jvm:
        return self.stack.enter_context(jvm.Jvm(self.home, "-Drest=45", "-Xmx64m", "-cp", self.spin.folder, self.spin.main, wrap=list(wrap)))

    def ask(self, pid: int, event: str = "alloc"):
        return self.daemon.get("/profile", pid=pid, event=event, seconds=0.1, format="json", timeout=60)

    def refused(self, target: jvm.Jvm, words: str, event: str = "alloc") -> None:
        def told() -> bool:
            answer = self.ask(target.pid, event)
            said = answer.json()["detail"] if answer.status == 409 else " ".join(answer.warnings)
            return words in said

        before = probed.copies(target.pid, "/libjvm.so")
        proc.wait_until(told, 120, f"it is refused: {words}", interval=0.3)
        self.assertEqual(probed.copies(target.pid, "/libjvm.so"), before, "no probe was there")

    def works(self) -> None:
        """Checks that a JVM that serves no file system can be sampled."""
        other = self.start()

        def taken() -> bool:
            answer = self.ask(other.pid)
            return answer.status == 200 and not answer.late
        proc.wait_until(taken, 120, "a capture", interval=0.3)

    def test_without_root(self):
        """In a user namespace that a user has made."""
        target = self.start("setpriv", "--reuid", "64127", "--regid", "64127", "--clear-groups", "unshare", "-Ur")
        self.refused(target, "serve a file system itself")
        self.refused(target, "serve a file system itself", "safepoint")

    def test_a_mount_of_its_own(self):
        """It has mounted a FUSE file system of its own."""
        file = self.stack.enter_context(fuse.File("/bin/true"))
        self.refused(self.start("unshare", "-m", "sh", "-c", IN_A_MOUNT, file.path, "/etc/hostname"), "serve a file system itself")

    def test_a_library_that_does_not_answer(self):
        """Its libjvm.so is on that file system, and does not open: the broker does not wait for it."""
        file = self.stack.enter_context(fuse.File(self.library))
        target = self.start("unshare", "-m", "sh", "-c", IN_A_MOUNT, file.path, self.library)
        self.refused(target, "serve a file system itself")
        broker = set(self.daemon.processes()["flamed-broker"])
        file.silence("o")
        self.stack.callback(file.answer) # otherwise the process could not end
        self.refused(target, "does not answer")
        self.works()
        self.assertLessEqual(broker, set(self.daemon.processes()["flamed-broker"]), "it was not started again")


if __name__ == "__main__":
    unittest.main()
