# SPDX-License-Identifier: Apache-2.0
"""Waits of native code for locks: as long as the program itself measured, with the address of the lock, and without Java's locks."""
import os
import time

from harness import jvm, native, proc
from harness.events import WithEvent
from harness.profile import Profile
from test_locks import FEW_MS, LOCKS, Program, asked

USES = {"short": "[mutex]", "long": "[mutex]", "condition": "[condition]", "semaphore": "[semaphore]"}

# Where Java's threads wait.
JAVA = ("jdk.internal.misc.Unsafe.park", "java.lang.Object.wait", "java.lang.Thread.sleep", "Parker::", "ObjectMonitor::")


class NativeLocks(WithEvent):
    event = "nativelock"
    sources = ("Locks.java",)

    def profile(self, pid: int, seconds: float, event: str = "nativelock") -> Profile:
        return Profile(self.daemon.get("/profile", pid=pid, seconds=seconds, event=event, interval="5ms", threads=1, format="json"))

    def prepare(self, pid: int) -> None:
        proc.wait_until(lambda: self.daemon.get("/profile", pid=pid, seconds=0.2, event="nativelock").status == 200, 60,
                        "the programs are loaded, and the process is known")

    def test_as_the_program_waited(self):
        program = self.enterContext(native.Obedient("futexes", "-pthread"))
        addresses = dict(line.split() for line in program.lines())
        self.prepare(program.pid)
        profile = self.profile(program.pid, float(os.environ.get("FLAMED_LOCKS_SECONDS", 2)))
        since = time.time() - time.monotonic()
        program.tell(asked(profile.start - since, profile.end - since))
        truth = {thread: int(ns) / 1e9 for thread, ns in map(str.split, program.lines())}
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        for kind, use in USES.items():
            mine = [s for s in profile.stacks if s.thread.startswith(kind + "-")]
            here = sum(s.value for s in mine) / 1e9
            true = sum(t for thread, t in truth.items() if thread.startswith(kind + "-"))
            print(f"{kind}: {here:.3f} of {true:.3f} s", end=" ")
            self.assertAlmostEqual(here, true, delta=0.04 * true + FEW_MS, msg=(kind, profile.describe()))
            low = int(addresses[kind], 16)
            named = sum(s.value for s in mine if s.names[-2] == use and low <= int(s.names[-1], 16) < low + 64) / 1e9
            # Except waits for a condition's mutex after the thread was woken, and waits at the end without a stack.
            self.assertGreaterEqual(named, 0.9 * here - FEW_MS, {(s.thread, *s.names[-2:]) for s in mine})
        held = sum(s.value for s in profile.of_thread("held-0")) / 1e9
        self.assertAlmostEqual(held, profile.end - profile.start, delta=FEW_MS)
        self.assertEqual({s.names[-1] for s in profile.of_thread("short-0") if s.names[-2] == "[mutex]"}, {addresses["short"]})

    def test_not_those_of_java(self):
        """Monitors, parks and sleeps also end in futexes. They belong to event=lock, and are not here."""
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version), Program(version, self.classes.folder) as program:
                self.prepare(program.pid)
                profile = self.profile(program.pid, 1)
                java = [s for s in profile.stacks if s.thread.split("-")[0] in LOCKS or s.thread == "signals"]
                wrong = [s for s in java if s.truncated or any(name.startswith(JAVA) for name in s.names)]
                self.assertEqual(wrong, [])
                # Now and then they wait for a mutex of the VM.
                self.assertLess(sum(s.value for s in java) / 1e9, 0.5, {(s.thread, *s.names[-6:]) for s in java})
                others = sum(s.value for s in profile.stacks) / 1e9
                print(f"{version}: {others:.3f} s of the VM's own", end=" ")
                self.assertGreater(others, 1, "threads of the VM that wait for work")
