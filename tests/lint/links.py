#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a document links to a file or a heading that does not exist, or when a command in it names a test that does not exist. Also
fails when README.md leaves out a page of docs/. Usage: links.py TREE"""
import functools
import glob
import os
import re
import sys

LINK = re.compile(r"\]\(([^()\s]+)\)")
# Tests in commands: a script or a source of tests/, a program of a bench, a test by its name in ctest.
SCRIPT = re.compile(r"(?<![\w/*<])tests/[\w/-]+\.(?:py|sh|c|mjs|java)\b")
PROGRAM = re.compile(r"build/release/(tests/\w+/\w+)")
SELECTED = re.compile(r"-R '?([\w|]+)")


def prose(path):
    """Returns the lines of a document outside of code."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"(?ms)^```.*?^```", "", f.read())
    return [line for line in text.splitlines() if not line.startswith("    ")]


def anchors(path):
    """Returns the links that lead to headings of the document, by the rule of GitHub and GitLab."""
    heads = [line.lstrip("#").strip().lower() for line in prose(path) if line.startswith("#")]
    return {re.sub(r"[^\w -]", "", head).replace(" ", "-") for head in heads}


def check(tree, name):
    for target in LINK.findall("\n".join(prose(os.path.join(tree, name)))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = os.path.join(tree, os.path.dirname(name), path) if path else os.path.join(tree, name)
        if not os.path.exists(there):
            yield f"{name} links to {target}: there is no such file"
        elif anchor and anchor not in anchors(there):
            yield f"{name} links to {target}: there is no such heading"


def commands(tree, name):
    with open(os.path.join(tree, name), encoding="utf-8") as f:
        text = f.read()
    for script in {*SCRIPT.findall(text), *(program + ".c" for program in PROGRAM.findall(text))}:
        if not os.path.exists(os.path.join(tree, script)):
            yield f"{name} runs {script}: there is no such file"
    for test in {test for alternatives in SELECTED.findall(text) for test in alternatives.split("|")}:
        if not re.search(rf"\b(?:{test}|{test.partition('_')[2] or test})\b", tests_of(tree)):
            yield f"{name} runs the test {test}: there is no such test"


@functools.cache
def tests_of(tree):
    """Returns the texts that name the tests."""
    found = []
    for path in glob.glob(os.path.join(tree, "tests/**/CMakeLists.txt"), recursive=True):
        with open(path, encoding="utf-8") as f:
            found.append(f.read())
    return "\n".join(found)


def main():
    tree = sys.argv[1]
    docs = os.path.join(tree, "docs")
    pages = sorted(f"docs/{name}" for name in os.listdir(docs) if name.endswith(".md"))
    tops = [name for name in ("README.md", "CHANGELOG.md") if os.path.exists(os.path.join(tree, name))]
    bad = [complaint for name in tops + pages for complaint in [*check(tree, name), *commands(tree, name)]]
    if "README.md" in tops:
        linked = LINK.findall("\n".join(prose(os.path.join(tree, "README.md"))))
        bad += [f"README.md does not link to {page}" for page in pages if page not in linked]
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
