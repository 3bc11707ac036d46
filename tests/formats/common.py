# SPDX-License-Identifier: Apache-2.0
"""Writes profiles with write_format, and knows their expected contents."""
import collections
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
WRITE = os.environ.get("WRITE_FORMAT", os.path.join(TREE, "build/release/tests/formats/write_format"))
PROTO = os.path.join(TREE, "daemon/render/proto")
PERIOD = 10101010
CASES = ("mixed", "single", "hostile", "empty")


def need(*commands: str) -> None:
    """Skips the calling test if a command is missing."""
    for command in commands:
        if not shutil.which(command):
            raise unittest.SkipTest(f"no {command} on this machine")


@functools.cache
def write(case: str, form: str, *options: str) -> bytes:
    return subprocess.run([WRITE, case, form, *options], check=True, capture_output=True).stdout


def write_file(case: str, form: str, *options: str) -> str:
    """Does the same as write(), into a file that stays until the test's process ends."""
    with tempfile.NamedTemporaryFile(dir=folder(), suffix="." + form, delete=False) as file:
        file.write(write(case, form, *options))
        return file.name


@functools.cache
def folder() -> str:
    made = tempfile.TemporaryDirectory(prefix="flamed-formats-")
    folders.append(made)
    return made.name


folders: list = []


def run(*command: str, **more) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} gave {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


# Operations of the case "requests", by the sample's number modulo 5. The last one has no ids.
OPERATIONS = ("", "GET /orders/{id}", "POST /orders", "", "GET:/cart")


def request(number: int) -> tuple[str, str, str, str]:
    """Returns operation, trace, span and root of that sample of the case "requests"."""
    k = number % len(OPERATIONS)
    root = 0x3030303030303030 + 2 * k
    span = root + number // len(OPERATIONS) % 2
    return (OPERATIONS[k], f"3132333435363738{k:016x}", f"{span:016x}", f"{root:016x}") if 0 < k < 4 else (OPERATIONS[k], "", "", "")


REQUESTS = [request(number) for number in range(60)]


class Sample:
    """One sample of the profile: frames are (kind, line, name), root first."""

    def __init__(self, line: str):
        time_ns, tid, count, stack = line.split("\t")
        self.time_ns, self.tid, self.count = int(time_ns), int(tid), int(count)
        self.frames = [(int(kind), int(number), name) for kind, number, name in
                       (frame.split(":", 2) for frame in stack.split(";"))]
        self.names = tuple(name for _, _, name in self.frames)


@functools.cache
def samples(case: str, *options: str) -> list[Sample]:
    """Not for "hostile", whose names contain the separators."""
    return [Sample(line) for line in write(case, "samples", *options).decode().splitlines()]


def collapsed(case: str, *options: str) -> collections.Counter:
    """Returns stacks, root first, and their samples."""
    counts = collections.Counter()
    for line in write(case, "collapsed", *options).decode().splitlines():
        stack, _, count = line.rpartition(" ")
        counts[tuple(stack.split(";"))] += int(count)
    return counts


def clean(name: str) -> str:
    """Returns a name in the spelling of collapsed."""
    return re.sub(r" (\d+(\.\d*)?)$", r"_\1", re.sub("[;\r\n\ufffd]", "_", name))


def main() -> None:
    """Runs the tests of the calling file. Returns 77 if all of them were skipped."""
    result = unittest.main(exit=False, verbosity=2).result
    skipped_all = result.testsRun and len(result.skipped) == result.testsRun
    sys.exit(0 if result.wasSuccessful() and not skipped_all else 77 if skipped_all else 1)
