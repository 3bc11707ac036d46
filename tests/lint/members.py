#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a struct of the daemon or of the agent has more than MEMBERS_MAX members: it is more than one idea.

LARGE lists the structs that had more before this lint existed, each with its limit. These numbers may only fall, and a struct that no
longer needs its line loses it. Usage: members.py TREE [--count]"""

import os
import re
import sys

MEMBERS_MAX = 30
LARGE = {"process": 41, "profile": 39, "unwind_vm": 33, "unwind_walk": 35}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRUCT = re.compile(r"\b(?:struct|union) (\w+)\s*\{")


def members(text, start):
    """Returns the number of members of a struct with the body at @start. A struct inside it counts as one."""
    depth, count = 1, 0
    for character in text[start:]:
        depth += (character in "{(") - (character in ")}")
        if depth == 0:
            break
        count += depth == 1 and character in ";,"
    return count


def structs(tree):
    """Returns (members, name, path) of each."""
    for top in ("agent", "daemon"):
        for at, _, names in os.walk(os.path.join(tree, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")) and not name.endswith(".skel.h"):
                    path = os.path.join(at, name)
                    with open(path, encoding="utf-8") as file:
                        text = COMMENT.sub("", file.read())
                    for found in STRUCT.finditer(text):
                        yield members(text, found.end()), found[1], os.path.relpath(path, tree)


def main():
    tree = sys.argv[1]
    found = sorted(structs(tree), reverse=True)
    if "--count" in sys.argv:
        for count, name, path in found[:40]:
            print(count, name, path)
    large = {name for count, name, _ in found if count > MEMBERS_MAX}
    faults = [f"{path}: struct {name} has {count} members, more than {LARGE.get(name, MEMBERS_MAX)}: split it by idea"
              for count, name, path in found if count > LARGE.get(name, MEMBERS_MAX)]
    if large:  # not in the trees that the selftest makes
        faults += [f"{name} is not large any more: take it out of LARGE" for name in sorted(LARGE.keys() - large)]
    print("\n".join(faults), end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
