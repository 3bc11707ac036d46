# SPDX-License-Identifier: Apache-2.0
"""A kernel that needs long to attach and detach BPF programs, like a busy one (FLAMED_SLOW_HOOKS): flamed answers other requests during
that time."""
import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time
import unittest

from harness import jvm, paths, probed, proc
from harness.daemon import Answer, Capture, Daemon
from harness.spinning import WithSpinningJvm

SIDE_BY_SIDE = True # each class waits most of its time
HOOK_S = 1
HOOKS = 2 # of one of these captures at most


class Others:
    """Takes short captures of CPU time, one after the other, and records when each was requested and answered."""

    def __init__(self, daemon: Daemon, pid: int):
        self.daemon, self.pid = daemon, pid
        self.all: list[tuple[float, float, Answer]] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        while not self.ended.is_set():
            began = time.monotonic()
            answer = self.daemon.get("/profile", pid=self.pid, seconds=0.1, hz=199, format="json")
            self.all.append((began, time.monotonic(), answer))

    def __enter__(self) -> "Others":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join(60)

    def since(self, begin: float) -> int:
        """Returns how many were requested since then and answered."""
        return sum(began >= begin for began, _, _ in list(self.all))


class WithSlowHooks(WithSpinningJvm):
    rest = 95

    @contextlib.contextmanager
    def slow(self, *events: str, seconds: int = HOOK_S):
        with Daemon("--recorder-hz", "0", wrap=["env", f"FLAMED_SLOW_HOOKS={seconds}"]) as daemon:
            for event in events: # loads their programs
                self.begin(daemon, event).stop()
            self.calm(daemon)
            yield daemon

    def begin(self, daemon: Daemon, event: str, pid: int = 0):
        """Begins a capture that runs until it is stopped."""
        answer = daemon.when_in_place("POST", "/api/v1/captures", body=json.dumps({"pid": pid or self.pid, "event": event}).encode(),
                                headers={"Content-Type": "application/json"})
        self.assertEqual(answer.status, 201, str(answer))
        return Capture(daemon, answer.headers["Location"])

    def calm(self, daemon: Daemon) -> None:
        """Checks that no set is left, and that all hooks are removed."""
        proc.wait_until(lambda: self.sets(daemon) == 0, 20, "no set is left")
        time.sleep(HOOK_S * HOOKS)

    def sets(self, daemon: Daemon) -> int:
        line = next(l for l in daemon.get("/metrics").text.splitlines() if l.startswith("flamed_sampling_sets "))
        return int(float(line.split()[1]))

    def ask_and_go(self, daemon: Daemon, event: str) -> None:
        """A client leaves while its capture is about to begin."""
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as s:
            s.sendall(f"GET /profile?pid={self.pid}&event={event}&seconds=600 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            time.sleep(0.5)


class SlowHooks(WithSlowHooks):
    def test_others_go_on(self):
        with self.slow("alloc", "offcpu") as daemon:
            for event in ("offcpu", "alloc", "alloc,lock"):
                with self.subTest(event=event), Others(daemon, self.pid) as others:
                    began = time.monotonic()
                    capture = self.begin(daemon, event)
                    took = time.monotonic() - began
                    self.assertGreater(took, HOOK_S)
                    self.assertGreater(others.since(began), 0, "captures came to their end while it began")
                    stopping = time.monotonic()
                    profile = capture.stop()
                    self.assertLess(profile.end - profile.start, time.monotonic() - stopping + 0.5 * took, "it began when all was in place")
                for _, _, answer in others.all:
                    self.assertEqual(answer.status, 200, str(answer))
                self.calm(daemon)
        probed.await_none(self.pid)

    def test_clients_that_go_away(self):
        with self.slow("alloc") as daemon:
            for event in ("offcpu", "alloc", "safepoint"):
                self.ask_and_go(daemon, event)
            proc.wait_until(lambda: self.sets(daemon) == 0, 60, "no set is left")
            probed.await_none(self.pid, seconds=60)
            capture = self.begin(daemon, "alloc") # the removed probe must not count as present
            self.assertGreater(probed.breakpoints(self.pid, "libjvm.so"), 0)
            capture.stop()

    def test_no_files_are_kept(self):
        """The broker closes the files for putting probes once these are installed: there may be thousands."""
        with Daemon("--recorder-hz", "0") as daemon:
            folder = f"/proc/{self.broker(daemon)}/fd"
            self.begin(daemon, "malloc").stop()
            proc.wait_until(lambda: self.sets(daemon) == 0, 20, "no set is left")
            before = len(os.listdir(folder))
            capture = self.begin(daemon, "malloc")
            self.assertGreaterEqual(probed.breakpoints(self.pid, "libc"), 6)
            self.assertLess(len(os.listdir(folder)) - before, 12, "one each where probes are not pinned")
            capture.stop()

    @staticmethod
    def broker(daemon: Daemon) -> int:
        return next(pid for pid in proc.children(daemon.top()) if proc.exe(pid) == "flamed-broker")

    def ask(self, daemon: Daemon, answers: list[Answer]) -> None:
        """Takes a capture, and adds its answer to ANSWERS, if there is one: flamed may have closed the connection."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.append(daemon.request("GET", "/profile", pid=self.pid, event="alloc", seconds=60))

    def test_killed_in_the_middle(self):
        """The broker is killed while its probes are put, and while they are removed: nothing is left, and flamed restarts."""
        refused = 0
        with self.slow("alloc") as daemon:
            for delay in (0.5, HOOK_S + 0.5, 2 * HOOK_S + 0.5) * 2:
                if delay == 0.5 and refused:
                    break # else once more: the supervisor was faster than flamed each time
                with self.subTest(delay=delay):
                    answers: list[Answer] = []
                    asking = threading.Thread(target=self.ask, args=(daemon, answers))
                    asking.start()
                    time.sleep(delay)
                    os.kill(self.broker(daemon), signal.SIGKILL)
                    asking.join(20)
                    for answer in answers:
                        self.assertEqual(answer.status, 503, str(answer))
                        if "flamed is stopping" not in answer.text: # the supervisor was faster than flamed
                            self.assertEqual((answer.headers["Retry-After"], answer.json()["title"]), ("1", "Not available at this moment"))
                            self.assertRegex(answer.json()["remedy"], "(again|once more) in a second")
                            refused += 1
                    daemon.wait_ready()
                    probed.await_none(self.pid)
            self.assertEqual(self.begin(daemon, "alloc").stop().quality["lost"], 0)
        self.assertTrue(refused, "flamed answers what a dead broker cannot do")


class Ends(WithSlowHooks):
    def test_one_that_is_stopped_at_once(self):
        """A capture that is a resource ends before the hooks of its begin are removed."""
        with self.slow("alloc") as daemon:
            for event in ("alloc", "offcpu"):
                self.assertEqual(self.begin(daemon, event).stop().quality["lost"], 0)
            proc.wait_until(lambda: self.sets(daemon) == 0, 20, "no set is left")
            probed.await_none(self.pid, seconds=60)

    def another_jvm(self) -> jvm.Jvm:
        return jvm.Jvm(paths.jdk(17), "-Xmx64m", f"-Drest={self.rest}", "-cp", self.spin.folder, self.spin.main)

    def test_others_that_end_meanwhile(self):
        """The last capture of one event ends while another one begins that needs the event and more: the hooks for it are attached again."""
        with self.another_jvm() as other, self.slow("alloc", "malloc", seconds=1) as daemon:
            probed.await_none(self.pid, seconds=60) # malloc has more hooks
            capture = self.begin(daemon, "alloc", other.pid)
            began: list[Capture] = []
            beginning = threading.Thread(target=lambda: began.append(self.begin(daemon, "alloc,malloc")))
            beginning.start()
            proc.wait_until(lambda: probed.breakpoints(self.pid, "libjvm.so") > 0, 20, "it has its probes of alloc, not yet those of malloc")
            self.assertEqual(began, [])
            capture.stop()
            beginning.join(60)
            probed.await_none(other.pid, seconds=60) # earlier hooks are removed by now
            self.assertGreater(probed.breakpoints(self.pid, "libjvm.so"), 0, "they are in when it has begun")
            began[0].stop()

    def test_no_more_than_may_tell(self):
        """JVMs with probes being put count among those that report their moments: four at a time."""
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(self.another_jvm()) for _ in range(5)]
            daemon = stack.enter_context(self.slow())
            answer = daemon.get("/profile", jvm=self.spin.main, event="safepoint", seconds=2 * HOOK_S, format="json")
            self.assertEqual(sum("4 JVMs are probed" in warning for warning in answer.warnings), 1 + len(others) - 4, str(answer))


if __name__ == "__main__":
    unittest.main()
