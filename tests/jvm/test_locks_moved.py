# SPDX-License-Identifier: Apache-2.0
"""Waits for locks while the collector moves the objects that threads wait for: a lock has its own class or none, in profiles and in
dumps of threads. In a profile, a wait of a parked thread may be lost instead."""
import os
import time

from harness import jvm, paths
from harness.events import WithEvent
from test_locks import Checks

# Kind and class of the wait of each kind of thread of MovedLocks.java.
MOVED = {
    "ParkA": ("[park]", "MovedLocks$ParkA"),
    "ParkB": ("[park]", "MovedLocks$ParkB"),
    "WaitA": ("[notify]", "MovedLocks$WaitA"),
    "WaitB": ("[notify]", "MovedLocks$WaitB"),
}
UNKNOWN = ("[notify]", "[lock of unknown class]")
SECONDS = float(os.environ.get("FLAMED_LOCKS_SECONDS", 4))


class LocksMoved(Checks, WithEvent):
    event = "lock"
    sources = ("MovedLocks.java",)

    def found(self, program) -> dict[str, dict[tuple[str, str], int]]:
        """Returns samples by kind of thread, and by kind and class of the wait."""
        self.profile(program, 0.5) # loads the programs, and makes the process known
        profile = self.profile(program, SECONDS)
        found: dict[str, dict[tuple[str, str], int]] = {kind: {} for kind in MOVED}
        for s in profile.stacks:
            here = found.get(s.thread.split("-")[0], {})
            here[tuple(s.names[-2:])] = here.get(tuple(s.names[-2:]), 0) + s.samples
        print({kind: list(here.values()) for kind, here in found.items()}, "lost", profile.quality["lost"], end=" ")
        return found

    def check(self, version: int, collector: str, mode: str) -> None:
        arguments = "-Xmx512m", f"-XX:+Use{collector}GC", "-cp", self.classes.folder, "MovedLocks", mode
        with self.subTest(jdk=version, collector=collector), jvm.Jvm(paths.jdk(version), *arguments) as program:
            print(version, collector, end=" ")
            found = self.found(program)
            for kind, own in MOVED.items():
                self.assertLessEqual(set(found[kind]), {own, UNKNOWN} if kind.startswith("Wait") else {own}, found)
                self.assertGreater(found[kind].get(own, 0), 100, found)

    def dumped(self, pid: int) -> dict[str, dict[str | None, int]]:
        """Returns the number of locks in dumps of threads, by kind of thread and class of the lock (None: unknown)."""
        found: dict[str, dict[str | None, int]] = {kind: {} for kind in MOVED}
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            answer = self.daemon.get(f"/api/v1/jvms/{pid}/threads", format="json")
            self.assertIn(answer.status, (200, 409), answer.text) # 409: objects moved all the time
            for thread in answer.json().get("threads", []):
                kind, lock = thread.get("name", "").split("-")[0], thread.get("lock")
                if kind in MOVED and lock: # without a lock it was not waiting
                    here = found[kind]
                    here[lock.get("class")] = here.get(lock.get("class"), 0) + 1
        return found

    def check_dumps(self, version: int, collector: str) -> None:
        arguments = "-Xmx512m", f"-XX:+Use{collector}GC", "-cp", self.classes.folder, "MovedLocks", "full"
        with self.subTest(jdk=version, collector=collector), jvm.Jvm(paths.jdk(version), *arguments) as program:
            self.profile(program, 0.5) # makes the process known
            found = self.dumped(program.pid)
            print(version, collector, {kind: list(here.values()) for kind, here in found.items()}, end=" ")
            for kind, (_, own) in MOVED.items():
                self.assertLessEqual(set(found[kind]), {own, None}, found)
                self.assertGreater(found[kind].get(own, 0), 100, found)

    def test_dumps(self):
        self.check_dumps(17, "Serial")
        self.check_dumps(25, "G1")

    def test_full_collections(self):
        self.check(17, "Serial", "full")
        self.check(25, "G1", "full")

    def test_zgc(self):
        for version in (25, 17):
            self.check(version, "Z", "")
