# SPDX-License-Identifier: Apache-2.0
"""flamed-attach by itself, in places without room for a socket, and with memory files that may not be executed."""
import contextlib
import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from harness import attach, bundle, jvm, paths, proc

# Listens like a JVM once it gets SIGQUIT, and closes each connection.
LISTENS_AT_SIGQUIT = """
import os, signal, socket
def listen(*_):
    global listener
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/tmp/.java_pid{os.getpid()}")
    listener.listen(4)
listener = None
signal.signal(signal.SIGQUIT, listen)
print(flush=True)
while not listener:
    signal.pause()
while True:
    listener.accept()[0].close()
"""


class Helper(unittest.TestCase):
    """flamed-attach by itself, without the broker and the broker's checks."""

    def start_helper(self, pid: int) -> tuple[int, int]:
        """Starts the helper. Returns its pid, and the pipe for its result."""
        job, none = os.memfd_create("job"), os.memfd_create("none")
        os.pwrite(job, struct.pack("<8I", 0x54414c46, 1, 0, 0, 0, pid, 0, 20000), 0) # struct attach_job of helper/job.h
        result, told = os.pipe()
        given = [told, os.pidfd_open(pid), none, none, os.open("/", os.O_PATH), os.open(f"/proc/{pid}/status", os.O_RDONLY), job]
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 30) for fd in given] # avoids the numbers 3 to 9
        child = os.fork()
        if child == 0:
            for number, fd in enumerate(high, 3):
                os.dup2(fd, number)
            os.execve(paths.program("flamed-attach"), ["flamed-attach"], {})
        for fd in {*given, *high}:
            os.close(fd)
        return child, result

    def result_of(self, child: int, result: int) -> tuple[int, int, int]:
        """Returns its step, errno, and whether it sent SIGQUIT."""
        os.waitpid(child, 0)
        with os.fdopen(result, "rb") as f:
            text = f.read()
        self.assertGreater(len(text), 20)
        _, _, step, error, started = struct.unpack("<5I", text[:20])
        return step, error, started

    def run_helper(self, pid: int) -> tuple[int, int, int]:
        return self.result_of(*self.start_helper(pid))

    def test_no_new_privileges(self):
        """For the guard and the porter, while they wait for the JVM. test_the_helper_is_nobody has the talker."""
        paths.need_root()
        program = "import signal, time; signal.signal(signal.SIGQUIT, lambda *_: None); print(flush=True); time.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as p:
            try:
                p.stdout.readline()
                child, result = self.start_helper(p.pid)
                proc.wait_until(lambda: os.path.exists(f"/tmp/.attach_pid{p.pid}"), 10, "it makes the JVM listen")
                outside = proc.descendants(child)
                self.assertEqual(len(outside), 2, "the guard and the porter; the talker comes when somebody listens")
                for pid in outside:
                    self.assertIn("\nNoNewPrivs:\t1\n", proc.read(f"/proc/{pid}/status"))
            finally:
                p.kill()
        listener = 12 # ATTACH_STEP_LISTENER: the JVM ended
        self.assertEqual(self.result_of(child, result), (listener, errno.ESRCH, 1))

    def test_what_a_killed_one_left(self):
        """The file of a killed helper is removed by the next attach, which then makes the JVM listen."""
        paths.need_root()
        with subprocess.Popen([sys.executable, "-c", LISTENS_AT_SIGQUIT], stdout=subprocess.PIPE) as p:
            left = f"/tmp/.attach_pid{p.pid}"
            try:
                p.stdout.readline()
                connected = 16, 17 # ATTACH_STEP_SEND, ATTACH_STEP_REPLY: the JVM closes the connection
                for number, asked in enumerate((1, 0)):
                    with open(left, "wb"):
                        os.utime(left, (0, 0))
                    step, _, started = self.run_helper(p.pid)
                    self.assertEqual((started, os.path.exists(left)), (asked, False), number)
                    self.assertIn(step, connected, number)
            finally:
                p.kill()
                for name in (f"/tmp/.java_pid{p.pid}", left):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name)

    def test_who_does_not_catch_sigquit(self):
        """A JVM stopped catching SIGQUIT after the broker had checked: the helper's own check keeps it alive."""
        paths.need_root()
        with subprocess.Popen(["sleep", "60"]) as p:
            try:
                state = 9 # ATTACH_STEP_STATE
                self.assertEqual(self.run_helper(p.pid), (state, errno.ENOTSUP, 0))
                self.assertFalse(os.path.exists(f"/tmp/.attach_pid{p.pid}"))
                proc.stop(p.pid)
                self.assertEqual(self.run_helper(p.pid), (state, errno.EBUSY, 0))
                os.kill(p.pid, signal.SIGCONT)
                time.sleep(0.2)
                self.assertTrue(proc.alive(p.pid))
            finally:
                p.kill()


class Nowhere(unittest.TestCase):
    def test_no_place_for_a_socket(self):
        """No /tmp, or one that cannot be written: HotSpot's socket has no other place. The error names the remedy, and nothing is touched."""
        bundle.need_runc()
        spin = jvm.make_spin()
        for tmp in ("none", "read-only"):
            with self.subTest(tmp=tmp), bundle.Container(paths.jdk(17), spin.folder, "-Drest=200", "-Xmx64m", "-cp", "/classes", spin.main, tmp=tmp,
                                                         user_namespace=False) as c:
                found = attach.attach(c.pid)
                self.assertFalse(found.done, found.text)
                self.assertEqual(found["step"], "trigger", found.text)
                self.assertIn("/tmp", found["remedy"])
                self.assertTrue(proc.alive(c.pid))
                self.assertNotIn("Full thread dump", c.output())


class ByMemory(unittest.TestCase):
    """Memory files may not be executed (vm.memfd_noexec=2): the helper comes from a file system without a mount point."""

    def test_memory_files_may_not_be_executed(self):
        if not os.path.exists("/proc/sys/vm/memfd_noexec"):
            self.skipTest("this kernel has no vm.memfd_noexec")
        classes = jvm.Classes()
        classes.compile("Idle.java")
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                java = [paths.jdk(version) + "/bin/java", "-Xmx32m", "-cp", classes.folder, "Idle", "1"]
                script = """
                    echo 2 >/proc/sys/vm/memfd_noexec && cat /proc/sys/vm/memfd_noexec | sed 's/^/level: /'
                    "$@" >"$OUT" & while kill -0 $! && ! grep -q started "$OUT"; do sleep 0.1; done; sleep 1.5
                    $PROBE $! load
                    kill -0 $! && echo alive: yes
                    kill -9 $!
                """
                with tempfile.NamedTemporaryFile(prefix="flamed-out.") as out:
                    result = subprocess.run(["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh", *java],
                                            env=dict(os.environ, PROBE=" ".join(attach.programs()), OUT=out.name),
                                            capture_output=True, text=True, timeout=60)
                found = attach.Outcome.of(result.stdout + result.stderr)
                if found["level"] != "2":
                    self.skipTest(f"vm.memfd_noexec cannot be set here: {found.text[-300:]}")
                self.assertTrue(found.done, found.text[-2000:])
                self.assertGreater(found.number("methods"), 5)
                self.assertEqual(found["alive"], "yes", found.text)
