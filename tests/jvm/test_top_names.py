# SPDX-License-Identifier: Apache-2.0
"""Hostile names of classes, threads, programs and jars in a real terminal. /top stays in place, with one line per method and none wider
than requested. Nothing else of the terminal changes."""
import re
import time
import unicodedata
import unittest

import test_names
from harness import jvm, paths, proc
from harness.daemon import Daemon
from test_top import LINES, WIDTH, Terminal

# The names of test_names, and characters with no column or two.
NAMES = test_names.HOSTILE | test_names.BROKEN | {
    "wide": b"Evil" + "\u6f22\u5b57".encode() * 40,
    "combining": b"Evil" + "e\u0301\u0323".encode() * 40,
    "joined": b"Evil" + "\u200b\u200d\ufeff".encode() * 40,
    "thousands": b"Evil" + b"y" * 10000,
}
LINK = "e\x1b[2J\n\u202e" # the program's name
JAR = "evil\x1b]0;owned\x07\x1b[10;10H\u202e.jar"
ROWS = LINES - 8
SECONDS = 7 # of watching: three tables and more
ROW = re.compile(r" *\d+\.\d\d% +\d+\.\d\d%  [a-z0-9]+ +\S")


def columns(text: str) -> int:
    """Returns how many columns a terminal needs for it."""
    return sum(0 if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
               else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class TopNames(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.daemon = Daemon()
        self.addCleanup(self.daemon.stop)
        self.classes = jvm.Classes()
        self.classes.compile("Evil.java", "EvilBody.java")

    def state(self, terminal: Terminal) -> dict[str, str]:
        """Returns the state that an escape sequence could change besides the text."""
        names = ("pane_title", "alternate_on", "cursor_flag", "insert_flag", "origin_flag", "wrap_flag", "scroll_region_upper",
                 "scroll_region_lower", "mouse_any_flag", "keypad_flag", "window_name")
        return {name: terminal.tmux("display-message", "-p", "#{" + name + "}").rstrip("\n") for name in names}

    def test_no_name_moves_the_cursor(self):
        target = test_names.Names.start(self, NAMES, "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
                                        link=LINK, jar=JAR)
        terminal = Terminal(f"curl -sN 'http://127.0.0.1:{self.daemon.port}/top?pid={target.pid}&width={WIDTH}&top={ROWS}'; sleep 60")
        self.addCleanup(terminal.close)
        proc.wait_until(lambda: terminal.screen()[0].startswith("sampling"), 10, "the first line")
        before = self.state(terminal)
        proc.wait_until(lambda: terminal.screen()[0].startswith("flamed top"), 10, "the first table")
        seen, began = set(), time.monotonic()
        while time.monotonic() - began < SECONDS:
            seen.update(self.check_screen(terminal))
            time.sleep(0.2)
        self.assertEqual(self.state(terminal), before)
        self.assertGreaterEqual(len([name for name in seen if "Evil" in name]), len(NAMES) // 2, seen)

    def check_screen(self, terminal: Terminal) -> list[str]:
        """Checks its rows. While a table is being drawn, the cursor is not behind it yet: then it checks again."""
        for _ in range(20):
            position = terminal.tmux("display-message", "-p", "#{cursor_x},#{cursor_y}").strip()
            plain, raw = terminal.screen(), terminal.tmux("capture-pane", "-p", "-e")
            lines = [line.rstrip() for line in plain]
            while lines and not lines[-1]:
                lines.pop()
            if position == f"0,{len(lines)}":
                break
            time.sleep(0.05)
        self.assertEqual(position, f"0,{len(lines)}", plain) # at the begin of the line behind the table
        test_names.Names.assert_clean(self, raw, "the pane, with what would be its colours")
        self.assertTrue(lines[0].startswith(f"flamed top \u00b7 pid {target_pid(lines[0])} ("), lines[0])
        self.assertRegex(lines[1], r"^\d+ samples \(")
        head = next(i for i, line in enumerate(lines) if line == "   self    total  kind         name")
        self.assertEqual(lines[head - 1], "")
        self.assertGreater(len(lines), head + 1)
        self.assertLessEqual(len(lines), head + 1 + ROWS)
        for line in lines[head + 1:]:
            self.assertRegex(line, ROW)
        for line in lines:
            self.assertLessEqual(columns(line), WIDTH, line)
        return lines[head + 1:]


def target_pid(line: str) -> str:
    found = re.search(r"pid (\d+)", line)
    return found[1] if found else "?"


if __name__ == "__main__":
    unittest.main()
