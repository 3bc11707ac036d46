# SPDX-License-Identifier: Apache-2.0
"""flamed answers the addresses in the documents, with their parameters and values."""
import glob
import os
import re
import unittest

from harness import jvm, paths
from harness.daemon import Daemon

# Addresses in commands and in cells of tables.
ADDRESS = re.compile(r"localhost:7979(/[^\s'\"`)]+)|`(/(?:profile|top|api|debug)[^\s`]*)`")
PLACEHOLDER = re.compile(r"^/mcp$|ID\b|PID\b|3f4e2a|OrderService|checkout|shop-0|[{}*]|\.\.\.$|=$|=N$")  # test_mcp.py has POST /mcp
ENDLESS = ("/top",)


def addresses() -> dict[str, str]:
    """Returns each address -> the document that contains it. Addresses with a placeholder for a reader's own name are left out."""
    found: dict[str, str] = {}
    for path in [os.path.join(paths.TREE, "README.md"), *sorted(glob.glob(os.path.join(paths.TREE, "docs", "*.md")))]:
        with open(path, encoding="utf-8") as f:
            for one in (a or b for a, b in ADDRESS.findall(f.read())):
                if not PLACEHOLDER.search(one):
                    found.setdefault(one, os.path.basename(path))
    return found


class Documented(jvm.WithClasses):
    sources = ("Alloc.java",)

    def test_addresses_are_answered(self):
        found = addresses()
        self.assertGreater(len(found), 40, found)
        with jvm.Obedient(paths.jdk(17), "-cp", self.classes.folder, "Alloc", "2", "mixed") as program, Daemon() as daemon:
            daemon.get("/profile", seconds=0.2) # the programs are loaded
            for address, document in found.items():
                with self.subTest(document=document, address=address):
                    self.check(daemon, program.pid, address)

    def check(self, daemon: Daemon, pid: int, address: str) -> None:
        asked = re.sub(r"seconds=\d+", "seconds=0.2", address.replace("4242", str(pid)))
        if asked.startswith(("/profile", "/debug/pprof/")) and "seconds=" not in asked and "from=" not in asked:
            asked += ("&" if "?" in asked else "?") + "seconds=0.2"
        if asked.split("?")[0] in ENDLESS:
            asked += ("&" if "?" in asked else "?") + "once=1"
        answer = daemon.get(asked)
        # An event that this machine lacks, or a time without samples, is a valid answer, too. A wrong parameter, value or route is not.
        fine = (200, 409, 429, 503) if "?" in address else (200, 400, 409, 503)
        self.assertTrue(answer.status in fine or b"no samples of this target" in answer.body, answer)


if __name__ == "__main__":
    unittest.main()
