# SPDX-License-Identifier: Apache-2.0
"""Accesses to an address (event=mem:ADDRESS): as many as the program made, with their callers, and none of another process."""
import contextlib
import ctypes
import errno
import os
import platform
import struct
import unittest

from harness import native, paths
from harness.daemon import Capture, Daemon
from harness.profile import Profile

ACCESSES = 2000
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


class Program(native.Obedient):
    """watched.c, which prints two addresses first."""

    def __init__(self, *wrap: str):
        super().__init__("watched", wrap=wrap)
        self.variable, self.function = (int(word, 16) for word in self.process.stdout.readline().split())


def watch(program: Program) -> int:
    """Sets a breakpoint in PROGRAM, as a debugger does. Returns a descriptor, or the negative error."""
    attributes = struct.pack("<IIQQQQQIIQQ", 5, 72, 0, 1, 0, 0, 1 << 5, 0, 2, program.variable, 8) # PERF_TYPE_BREAKPOINT, exclude_kernel
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(PERF_EVENT_OPEN[platform.machine()], attributes, program.pid, -1, -1, 0)
    return fd if fd >= 0 else -ctypes.get_errno()


class Breakpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)

    def counted(self, event: str, program: Program, *does: tuple[Program, str], **parameters) -> Profile:
        """Returns the samples of a capture of PROGRAM while each program executes its line."""
        answer = self.daemon.taken(pid=program.pid, event=event, seconds=0.1, format="json", **parameters)
        if answer.status == 503:
            self.skipTest(answer.json()["detail"]) # no breakpoints here
        self.assertEqual(answer.status, 200, (answer.text, answer))
        capture = self.daemon.capture(pid=program.pid, event=event, **parameters)
        for whose, line in does:
            whose.do(line)
        return capture.stop()

    def test_as_the_program_does(self):
        with Program() as program:
            for event, line, function in ((f"mem:{program.variable:#x}/8:w", "write", "writes"),
                                          (f"mem:{program.variable:#x}/8", "read", "reads"),
                                          (f"mem:{program.variable}/8:rw", "write", "writes"),
                                          (f"mem:{program.function:#x}:x", "call", "called")):
                with self.subTest(event=event):
                    profile = self.counted(event, program, (program, f"{line} {ACCESSES}"))
                    self.assertEqual(sum(s.value for s in profile.stacks) + profile.quality["lost"], ACCESSES, profile.describe())
                    for stack in profile.stacks:
                        self.assertTrue(any(function in name for name in stack.names), stack.names)
                        self.assertTrue(any("main" in name for name in stack.names), stack.names)

    def test_reads_are_no_writes_and_one_of_several_stands_for_them(self):
        with Program() as program:
            event = f"mem:{program.variable:#x}/8:w"
            profile = self.counted(event, program, (program, f"read {ACCESSES}"))
            self.assertEqual(sum(s.value for s in profile.stacks), 0, profile.describe())
            profile = self.counted(event, program, (program, "write 32000"), interval="32")
            self.assertAlmostEqual(sum(s.value for s in profile.stacks), 32000, delta=32 * 4, msg=profile.describe())

    def test_another_process_with_the_same_address(self):
        fixed = ("setarch", "-R") # both have the variable at the same address
        with Program(*fixed) as program, Program(*fixed) as other:
            self.assertEqual(program.variable, other.variable)
            profile = self.counted(f"mem:{program.variable:#x}/8:w", program, (other, "write 1000"), (program, "write 500"))
            self.assertEqual(sum(s.value for s in profile.stacks) + profile.quality["lost"], 500, profile.describe())

    def test_a_debugger_has_the_last_one(self):
        """As many captures as flamed permits: a debugger still sets a breakpoint. With that one set, flamed permits a capture less."""
        with Program() as program, contextlib.ExitStack() as stack:
            self.counted(f"mem:{program.variable:#x}/8:w", program, (program, "write 1")) # skips where there are no breakpoints

            def captures() -> tuple[list[Capture], str]:
                begun = []
                try:
                    while True:
                        address = program.variable + len(begun) # captures of one address share a breakpoint
                        begun.append(self.daemon.capture(pid=program.pid, event=f"mem:{address:#x}/1:w"))
                        stack.callback(self.daemon.request, "DELETE", begun[-1].path)
                except AssertionError as refusal:
                    return begun, str(refusal)
            begun, refusal = captures()
            self.assertIn("leaves the last one to debuggers", refusal)
            debugger = watch(program)
            self.assertGreaterEqual(debugger, 0, os.strerror(-debugger) if debugger < 0 else "")
            stack.callback(os.close, debugger)
            self.assertEqual(watch(program), -errno.ENOSPC, "it was the last one")
            for capture in begun:
                capture.stop()
            fewer, refusal = captures()
            self.assertEqual(len(fewer), len(begun) - 1, refusal)

    def test_what_cannot_be_watched(self):
        with Program() as program:
            for event in (f"mem:{program.variable + 1:#x}/8:w", "mem:0xffffffff81000000:x", "mem:0", f"mem:{program.variable:#x}/3"):
                answer = self.daemon.get("/profile", pid=program.pid, event=event, seconds=0.1)
                self.assertEqual((answer.status, answer.json()["parameter"]), (400, "event"), answer)


if __name__ == "__main__":
    unittest.main()
