# SPDX-License-Identifier: Apache-2.0
"""flamed answers the addresses in the documents, with their parameters and values."""
import glob
import json
import os
import re
import shlex
import subprocess
import unittest

from harness import jvm, paths
from harness.daemon import Daemon

# Addresses in commands and in cells of tables.
ADDRESS = re.compile(r"localhost:7979(/[^\s'\"`)]+)|`(/(?:profile|top|api|debug)[^\s`]*)`")
PLACEHOLDER = re.compile(r"^/mcp$|ID\b|PID\b|3f4e2a|OrderService|checkout|shop-0|[{}*]|\.\.\.$|=$|=N$")  # test_mcp.py has POST /mcp
ENDLESS = ("/top",)
# Commands that create a capture, whether their options are right or not.
CREATES = re.compile(r"curl (-(?:d|X POST) .*localhost:7979/api/v1/captures.*)")


def addresses() -> dict[str, str]:
    """Returns each address -> the document that contains it. Addresses with a placeholder for a reader's own name are left out."""
    found: dict[str, str] = {}
    for document, text in texts().items():
        for one in (a or b for a, b in ADDRESS.findall(text)):
            if not PLACEHOLDER.search(one):
                found.setdefault(one, document)
    return found


def texts() -> dict[str, str]:
    """Returns document -> text."""
    found = {}
    for path in [os.path.join(paths.TREE, "README.md"), *sorted(glob.glob(os.path.join(paths.TREE, "docs", "*.md")))]:
        with open(path, encoding="utf-8") as f:
            found[os.path.basename(path)] = f.read()
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
            self.check_creates(daemon)

    def check_creates(self, daemon: Daemon):
        """Each command that creates a capture runs as it is printed, and finds only the reader's own names and times missing."""
        commands = [(document, words) for document, text in texts().items() for words in CREATES.findall(text)]
        self.assertGreaterEqual(len(commands), 2, commands)
        for document, words in commands:
            with self.subTest(document=document, command=words):
                words = shlex.split(words.replace(":7979", f":{daemon.port}"))
                answer = subprocess.run(["curl", "-s", "-m", "30", *words], capture_output=True, text=True)
                self.assertEqual(json.loads(answer.stdout).get("status"), 404, answer)

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
