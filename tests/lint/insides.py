#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when more than SEEN_BY_MAX files of other folders use the members of a struct: who changes one must read them all.

A file counts if it includes the header with the members, names the struct and uses one of them. Values are exempt: those of the
folders of VALUES, messages of a socket and discover/'s facts about a process. With --count it prints how many files use the members of each
other struct, and how many modules each folder has. Usage: insides.py TREE [--count]"""

import os
import re
import sys
from collections import Counter

SEEN_BY_MAX = 6
VALUES = ("base", "proc", "profile", "event", "request", "unwind", "agent")
VALUE_HEADERS = re.compile(r"daemon/(discover/discover|broker_client/requests)\.h$|_abi\.h$")

STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
MEMBER = re.compile(r"(\w+)(?:\[[^\]]*\])*\s*[,;:]")


def folder(path):
    """Returns the folder of daemon/ that contains @path, also in a folder below it."""
    return os.path.dirname(path).removeprefix("daemon/").split("/")[0]


def read(tree):
    """Returns path -> its text without comments."""
    found = {}
    for top in ("daemon", "agent"):
        for at, _, names in os.walk(os.path.join(tree, top)):
            for name in names:
                if name.endswith((".c", ".h")) and not name.endswith(".skel.h"):
                    with open(os.path.join(at, name), encoding="utf-8") as file:
                        path = os.path.relpath(os.path.join(at, name), tree)
                        found[path] = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return found


def reached(files):
    """Returns path -> the files of the tree that it includes, directly or through others."""
    direct = {}
    for path, text in files.items():
        names = re.findall(r'#include "([^"]+)"', text)
        direct[path] = {p for n in names for p in ("daemon/" + n, n) if p in files}
    result = {}
    for path in files:
        seen, left = set(), [path]
        while left:
            for to in direct[left.pop()] - seen:
                seen.add(to)
                left.append(to)
        result[path] = seen
    return result


def seers(files):
    """Returns (struct, header) -> the files of other folders that use its members."""
    includes, found = reached(files), {}
    named = {path: set(re.findall(r"\bstruct (\w+)", text)) for path, text in files.items()}
    used = {path: set(re.findall(r"(?:->|\.)(\w+)", text)) for path, text in files.items()}
    for header, text in files.items():
        if not header.endswith(".h") or folder(header) in VALUES or VALUE_HEADERS.search(header):
            continue
        for struct, body in STRUCT.findall(text):
            members = set(MEMBER.findall(body))
            found[struct, header] = sorted(p for p in files if folder(p) != folder(header) and header in includes[p] and
                                           struct in named[p] and used[p] & members)
    return found


def main():
    files = read(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = seers(files)
    bad = {key: by for key, by in found.items() if len(by) > SEEN_BY_MAX}
    for (struct, header), by in bad.items():
        print(f"{header}: {len(by)} files of other folders see inside struct {struct}: {', '.join(by)}")
    if "--count" in sys.argv:
        for (struct, header), by in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
            if by:
                print(f"{len(by)} {struct} {header}")
        for where, count in Counter(os.path.dirname(p) for p in files if p.endswith(".c")).most_common():
            print(f"{count} modules in {where}/")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
