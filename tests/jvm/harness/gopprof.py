# SPDX-License-Identifier: Apache-2.0
"""The view that `go tool pprof` has of a profile, as counters: -traces, -top and -peek. Also the same from flamed's collapsed text."""
import collections
import os
import re
import subprocess
import tempfile

ALL = ("-symbolize=none", "-sample_index=samples", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0")


def tool(*arguments: str, seconds: float = 60) -> str:
    with tempfile.TemporaryDirectory(prefix="flamed-pprof.") as folder:
        result = subprocess.run(["go", "tool", "pprof", *arguments], capture_output=True, text=True, timeout=seconds,
                                env={**os.environ, "PPROF_TMPDIR": folder, "GOFLAGS": "-mod=mod"})
    if result.returncode != 0:
        raise RuntimeError(f"{arguments}: {result.stderr}")
    return result.stdout


def clean(name: str) -> str:
    return name.strip().removesuffix(" (inline)").removesuffix(" (partial-inline)")


def traces(path: str) -> collections.Counter:
    """Returns stacks, root first."""
    found: collections.Counter = collections.Counter()
    for block in tool("-traces", *ALL, path).split("-----------+" + "-" * 55 + "\n")[1:]:
        stack: list[str] = []
        count = 0
        for line in block.splitlines():
            if re.match(r"^\s*[\w ]+:  ", line): # a label
                continue
            if stack:
                stack.append(clean(line))
            else:
                words = line.split(None, 1)
                count = int(words[0])
                stack.append(clean(words[1]))
        if stack:
            found[tuple(reversed(stack))] += count
    return found


def top(path: str) -> dict[str, tuple[int, int]]:
    """Returns name -> samples of its own, samples with its callees."""
    rows = {}
    for line in tool("-top", *ALL, path).split("cum%\n", 1)[1].splitlines():
        own, _, _, total, _, name = line.split(None, 5)
        rows[clean(name)] = (int(own), int(total))
    return rows


def peek(path: str, name: str) -> tuple[collections.Counter, collections.Counter]:
    """Returns samples by caller and by callee of the function NAME."""
    callers: collections.Counter = collections.Counter()
    callees: collections.Counter = collections.Counter()
    text = tool("-peek", "^" + re.escape(name) + "$", *ALL, path)
    for block in re.split(r"^-+\+-+\n", text, flags=re.M)[2:]: # the first holds the names of the columns
        into = callers
        for line in block.splitlines():
            edge = re.match(r"^\s+(\d+)\s+\S+%\s+\|\s+(.*)$", line)
            if edge:
                into[clean(edge[2])] += int(edge[1])
            else:
                into = callees
    return callers, callees


def collapsed(text: str) -> collections.Counter:
    """Returns stacks, root first, of format=collapsed."""
    found: collections.Counter = collections.Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        found[tuple(stack.split(";"))] += int(count)
    return found
