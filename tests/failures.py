#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints why tests failed, a few lines each, out of ctest's log, which also holds all that the others printed.
Usage: failures.py LastTest.log"""
import re
import sys

LINES_MAX = 30 # of one test
COLUMNS_MAX = 400
REASON = re.compile(r"^(FAIL|ERROR): |Error\b|Exception\b|\bnot ok\b|Assert|assert|^  File |actual|expected|ERROR:|SUMMARY:|:[FE]:|[Tt]imed? ?out|no longer|\.spec\.mjs:\d")


def failed(log: str) -> list[tuple[str, list[str]]]:
    """Returns name and output of each test that failed."""
    found = []
    for part in re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        output = rest.partition("Output:\n")[2]
        if not re.search(r"^Test (Passed|Skipped)\.$", output, flags=re.M):
            found.append((name, output.partition("<end of output>")[0].splitlines()[1:]))
    return found


def reasons(output: list[str]) -> list[str]:
    """Returns the lines that look like a reason, each with the one after it; else the last ones."""
    wanted = sorted({n for i, line in enumerate(output) if REASON.search(line) for n in (i, i + 1) if n < len(output)})
    return [output[n].rstrip()[:COLUMNS_MAX] for n in wanted[:LINES_MAX]] or [line[:COLUMNS_MAX] for line in output[-LINES_MAX:]]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for name, output in failed(log.read()):
            print(f"--- why {name} failed", *reasons(output), sep="\n")


main()
