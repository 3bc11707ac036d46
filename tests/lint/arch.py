#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when code outside the list of daemon/unwind/arch/arch.h depends on the processor, or a row of the list is not true.

Code depends on it if it names registers, an instruction decoder, the machine of an ELF file or an architecture. In files
of the list comments count, too. Usage: arch.py TREE
"""

import os
import re
import sys

LIST = "daemon/unwind/arch/arch.h"
PROCESSOR = re.compile(r"\b(?:r(?:ax|bx|cx|dx|si|di|bp|sp|1[0-5])|\w*(?:X86|AARCH64)\w*|__(?:x86_64|aarch64)__|AUDIT_ARCH\w*"
                       r"|Zydis\w+|ZYDIS\w+|x(?:2[89]|30)|MOMENT_R[A-Z0-9]+|SAMPLE_REGISTER_R[0-9ABD]\w*|DWARF_R[BS]P)\b")
ROW = re.compile(r"^ \*   \S.*  (\S+\.[ch])$", re.MULTILINE)


def sources(tree):
    for top in ("daemon", "agent"):
        for at, _, names in os.walk(os.path.join(tree, top)):
            for name in names:
                if name.endswith((".c", ".h")) and not name.endswith(".skel.h"):
                    yield os.path.relpath(os.path.join(at, name), tree)


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else "."
    rows = ROW.findall(read(tree, LIST)) if os.path.exists(os.path.join(tree, LIST)) else []
    listed = {row if row.startswith("agent/") else "daemon/" + row for row in rows}
    found = set()
    for path in sources(tree):
        text = read(tree, path)
        if path not in listed: # code that only compares bytes of instructions names them in comments
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        if path != LIST and PROCESSOR.search(text):
            found.add(path)
    for path in sorted(found - listed):
        print(f"{path}: depends on the processor; give it a row in {LIST}, or take that out of it")
    for path in sorted(listed - found):
        print(f"{LIST}: {path} does not depend on the processor; take its row out")
    return found != listed


if __name__ == "__main__":
    sys.exit(main())
