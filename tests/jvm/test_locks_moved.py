# SPDX-License-Identifier: Apache-2.0
"""Waits for locks while the collector moves the objects that threads wait for: a lock has its own class or none. A wait of a parked
thread may be lost instead."""
import os

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

    def test_full_collections(self):
        self.check(17, "Serial", "full")
        self.check(25, "G1", "full")

    def test_zgc(self):
        for version in (25, 17):
            self.check(version, "Z", "")
