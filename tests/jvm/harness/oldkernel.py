#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as if the kernel were older: oldkernel.py CALL=ERRNO... -- PROGRAM ARGUMENT...

A filter of system calls returns ERRNO (a name: ENOSYS, EINVAL) for each CALL. CALL is a number, or FIRST- for all from FIRST on. Numbers
from 424 on are the same on all architectures."""
import ctypes
import errno
import os
import platform
import struct
import sys

CLOSE_RANGE, MOUNT_SETATTR = 436, 442
SETNS = {"x86_64": 308, "aarch64": 268}[platform.machine()]
# close_range() is the first call after 5.4, which cannot enter a namespace by a pidfd, either.
CALLS_OF_5_4 = (f"{CLOSE_RANGE}-=ENOSYS", f"{SETNS}=EINVAL")
# close_range() is of 5.9, and 440 is the first call of 5.10.
CALLS_OF_5_8 = (f"{CLOSE_RANGE}=ENOSYS", "440-=ENOSYS")

LD_W_ABS, JEQ, JGE, RET = 0x20, 0x15, 0x35, 0x06
ERRNO, ALLOW = 0x00050000, 0x7FFF0000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2


def lacking(*rules: str) -> list[str]:
    """Returns the begin of a command line that runs a program with these rules."""
    return [sys.executable, os.path.abspath(__file__), *rules, "--"]


def instructions(rules: list[str]) -> bytes:
    code = [(LD_W_ABS, 0, 0, 0)]
    for rule in rules:
        call, name = rule.split("=")
        jump = JGE if call.endswith("-") else JEQ
        code += [(jump, 0, 1, int(call.rstrip("-"))), (RET, 0, 0, ERRNO | getattr(errno, name))]
    code.append((RET, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def main() -> None:
    at = sys.argv.index("--")
    code = instructions(sys.argv[1:at])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, MODE_FILTER, program):
        sys.exit(f"oldkernel: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[at + 1], sys.argv[at + 1:])


if __name__ == "__main__":
    main()
