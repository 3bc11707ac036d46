# SPDX-License-Identifier: Apache-2.0
"""Processes whose files lie on FUSE, whose server may never answer: whoever asks it is then held by the kernel, beyond SIGKILL."""
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from harness import fuse, jvm, native, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile, count
from test_large_symbols import NAME, write_large

FUNCTION = NAME % 0 # the one that spins
NO_RECORDER = ("--recorder-hz=0",) # it would read the file before its server falls silent


@contextlib.contextmanager
def running(path: str, wrap: list[str] | None = None):
    """A process that runs the code of the file PATH, or of what WRAP makes of the program's name: its pid."""
    command = [*wrap, native.build("in_file")] if wrap else [native.build("in_file"), path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            yield process.pid
        finally:
            process.kill()


def named(profile: Profile) -> float:
    return profile.share(profile.stacks, lambda s: FUNCTION in s.names)


def warned(profile: Profile, pid: int) -> bool:
    return any(f"process {pid}" in w and "does not answer" in w for w in profile.warnings)


def unanswered(daemon: Daemon) -> float:
    return float(re.search(r"^flamed_elf_unanswered_total (\S+)", daemon.get("/metrics").text, re.M)[1])


def held(daemon: Daemon) -> dict[str, tuple[int, int]]:
    """Threads and descriptors of each program of flamed's, the openers of files apart."""
    return {f"{name}[{pid}]": (len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")))
            for name, pids in daemon.processes().items() for pid in pids if name.startswith("flamed")}


class HangingFiles(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-hanging."))
        self.source = os.path.join(folder, "code")
        write_large(self.source, 100)

    def hanging(self, kinds: str) -> tuple[fuse.File, int]:
        """A process that runs a file of which requests of KINDS get no answer, and that file."""
        file = self.stack.enter_context(fuse.File(self.source))
        pid = self.stack.enter_context(running(file.path))
        self.stack.callback(file.answer) # or it could not end
        proc.wait_until(lambda: proc.cpu_seconds(pid) > 0.02, 10, "its code was read")
        file.silence(kinds)
        return file, pid

    def test_an_overlay_of_others(self):
        """An overlay over FUSE, mounted in a user namespace of its own: it is read, and holds nobody when it hangs."""
        file = self.stack.enter_context(fuse.File(self.source))
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-hanging."))
        script = "mount -t overlay overlay -o lowerdir=$1:$2 $2 && exec $3 $2/file"
        wrap = ["unshare", "-Urm", "sh", "-c", script, "sh", file.folder, folder]
        pid = self.stack.enter_context(running("", wrap))
        self.stack.callback(file.answer) # or it could not end
        with Daemon(*NO_RECORDER) as daemon:
            profile = daemon.profile(pid=pid, seconds=1, hz=499)
            self.assertGreaterEqual(named(profile), 0.9, profile.describe())
        daemon = Daemon(*NO_RECORDER)
        try:
            file.silence("r")
            self.check_hang(daemon, file, "r", pid)
            before = time.monotonic()
        finally:
            daemon.stop()
        self.assertLess(time.monotonic() - before, 2)

    def test_a_jvm(self):
        """Whose libjvm.so lies on FUSE: its stacks are whole and named, by what was copied."""
        home = paths.jdk(17)
        spin = jvm.make_spin()
        file = self.stack.enter_context(fuse.File(home + "/lib/server/libjvm.so"))
        wrap = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', file.path, home + "/lib/server/libjvm.so"]
        with jvm.Jvm(home, "-Xmx64m", "-cp", spin.folder, spin.main, wrap=wrap) as target, Daemon() as daemon:
            profile = daemon.profile(pid=target.pid, seconds=3, hz=499)
            self.assertFalse(warned(profile, target.pid), profile.warnings)
            stacks = profile.of_thread("spinner")
            text = profile.describe(stacks)
            self.assertGreater(count(stacks), 100, text)
            self.assertGreaterEqual(profile.share(stacks, lambda s: "JavaThread::thread_main_inner" in s.names), 0.95, text)

    def check_hang(self, daemon: Daemon, file: fuse.File, kind: str, pid: int) -> None:
        """PID's capture ends in time with its samples, which have no names of that file, and says why."""
        before = time.monotonic()
        profile = daemon.profile(pid=pid, seconds=1.5, hz=499)
        took = time.monotonic() - before
        self.assertEqual(file.wait_asked(), kind)
        text = f"without an answer to '{kind}': {took:.1f} s; {profile.describe()}"
        self.assertGreater(count(profile.stacks), 100, text)
        self.assertEqual(named(profile), 0, text)
        self.assertTrue(warned(profile, pid), text)
        self.assertLess(took, 10, text)

    def test_they_hold_nobody_else(self):
        """Its server leaves open, read or close without an answer: other processes are named, and flamed ends in time."""
        with Daemon(*NO_RECORDER) as daemon:
            with running(self.source) as other:
                self.assertGreaterEqual(named(daemon.profile(pid=other, seconds=1, hz=499)), 0.95)
            before = held(daemon)
            hanging = {kind: self.hanging(kind) for kind in "orf"}
            for kind, (file, pid) in hanging.items():
                self.check_hang(daemon, file, kind, pid)
            self.assertGreaterEqual(unanswered(daemon), len(hanging))
            with tempfile.TemporaryDirectory(prefix="flamed-hanging.") as folder: # a file that was not read before
                path = os.path.join(folder, "other")
                write_large(path, 101)
                with running(path) as other:
                    profile = daemon.profile(pid=other, seconds=1.5, hz=499)
            self.assertGreaterEqual(named(profile), 0.95, profile.describe())
            self.assertFalse(warned(profile, other), profile.warnings)
            for file, _ in hanging.values():
                file.answer()
            for kind, (_, pid) in hanging.items():
                proc.wait_until(lambda: named(daemon.profile(pid=pid, seconds=0.5, hz=499)) > 0.9, 30, f"names after '{kind}'")
            self.stack.pop_all().close()
            proc.wait_until(lambda: {k: v[0] for k, v in held(daemon).items()} == {k: v[0] for k, v in before.items()}, 10,
                            f"as many threads as before: {before}")
            for name, (_, descriptors) in held(daemon).items():
                self.assertLessEqual(descriptors, before[name][1] + 2, f"{name}: {before[name]}")

    def test_the_end_waits_for_none(self):
        daemon = Daemon(*NO_RECORDER)
        try:
            for kind in "orf":
                file, pid = self.hanging(kind)
                self.check_hang(daemon, file, kind, pid)
            before = time.monotonic()
        finally:
            daemon.stop()
        self.assertLess(time.monotonic() - before, 2)

if __name__ == "__main__":
    unittest.main()


class SilentBroker(unittest.TestCase):
    def test_answers_leave_without_it(self):
        """The broker stands still in the middle of a capture, and so does the engine, which asks it: who waits is told in time,
        others are served meanwhile, and all goes on with it."""
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        with Daemon(*NO_RECORDER) as daemon:
            self.assertGreater(daemon.profile(pid=busy.pid, seconds=1, hz=199).samples, 0)
            broker = next(pid for pid in proc.children(daemon.top()) if proc.exe(pid) == "flamed-broker")
            answers = []
            asking = threading.Thread(target=lambda: answers.append(daemon.get("/profile", pid=busy.pid, seconds=1, hz=197)))
            began, events = time.monotonic(), daemon.perf_events()
            asking.start()
            proc.wait_until(lambda: daemon.perf_events() > events, 5, "it samples")
            proc.stop(broker)
            try:
                time.sleep(max(began + 4.5 - time.monotonic(), 0))
                self.assertEqual(daemon.get("/healthz", timeout=3).status, 200)
                asking.join(max(began + 1 + 5 + 2 - time.monotonic(), 0))
                self.assertEqual([a.status for a in answers], [503])
            finally:
                os.kill(broker, signal.SIGCONT)
            self.assertGreater(daemon.profile(pid=busy.pid, seconds=1, hz=199).samples, 0)
