#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when more than two files of a tree call one another in a circle: none of them can be read, tested or moved alone.

A file is NAME.c with NAME.h beside it. It leads to another one if it uses a function that only the other one defines. serve/ and its routes
are left out: their files are one state machine, which serve/serve_impl.h explains. Usage: circles.py TREE"""

import os
import re
import sys
from collections import defaultdict

from docstrings import FUNCTION, outermost

FILES_MAX = 2
LEFT_OUT = ("daemon/serve", "daemon/serve/routes")


def sources(tree):
    for top in ("daemon", "agent"):
        for folder, _, names in os.walk(os.path.join(tree, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), tree)
                if name.endswith((".c", ".h")) and not name.endswith(".skel.h") and os.path.dirname(path) not in LEFT_OUT:
                    yield path


def stem(path):
    return path[: -len(".c")]


def defined(text):
    """Returns the functions that other files may call: those with a body that are not static."""
    return [match.group(1) for match in FUNCTION.finditer(outermost(text))
            if match.group().endswith("{") and not re.search(r"\bstatic\b", match.group())]


def words(text):
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)
    return set(re.findall(r"(?<![.>\w])[a-z_]\w*(?=\s*[(,;)}])", text))


def graph(tree):
    """Returns stem -> the stems that it leads to."""
    owners, used = defaultdict(set), defaultdict(set)
    for path in sources(tree):
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            text = file.read()
        used.setdefault(stem(path), set())
        if path.endswith(".c"):
            used[stem(path)] |= words(text)
            for name in defined(text):
                owners[name].add(stem(path))
    to = {name: next(iter(of)) for name, of in owners.items() if len(of) == 1}
    return {file: {to[name] for name in names if name in to} - {file} for file, names in used.items()}


def circles(edges):
    """Returns Tarjan's strongly connected components of more than FILES_MAX."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > FILES_MAX:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in sorted(edges):
        if v not in index:
            visit(v)
    return found


def main():
    edges = graph(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = circles(edges)
    for circle in found:
        print(f"a circle of {len(circle)} files:")
        for file in circle:
            print(f"  {file} uses {', '.join(sorted(edges[file] & set(circle)))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main())
