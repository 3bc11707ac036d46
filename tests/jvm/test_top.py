# SPDX-License-Identifier: Apache-2.0
"""/top as a person uses it: curl in a terminal (tmux), for a JVM with a hot method that changes half-way."""
import os
import re
import secrets
import subprocess
import threading
import time
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon

SECONDS = float(os.environ.get("FLAMED_TOP_SECONDS", "12")) # of watching; the hot method changes half-way
INTERVAL = 2.0
LINES, COLUMNS, WIDTH = 30, 120, 100
CPU_AIM = 0.01 # of a CPU, more than without a viewer
TICKS = os.sysconf("SC_CLK_TCK")


class Terminal:
    """A tmux with one command in it."""

    def __init__(self, command: str):
        paths.need("tmux", "curl")
        self.socket = "flamed-" + secrets.token_hex(4)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), command)

    def tmux(self, *arguments: str) -> str:
        return subprocess.run(["tmux", "-L", self.socket, *arguments], capture_output=True, text=True).stdout

    def screen(self) -> list[str]:
        return self.tmux("capture-pane", "-p").splitlines()

    def steady(self, screen: list[str]) -> list[str]:
        """Returns the screen after SCREEN. While a table is being drawn, a part is still the earlier one."""
        for _ in range(20):
            before, screen = screen, self.screen()
            if screen == before:
                break
        return screen

    def close(self) -> None:
        self.tmux("kill-server")


def cpu_seconds(pids) -> float:
    return sum(sum(int(n) for n in proc.stat(pid)[11:13]) for pid in pids) / TICKS


def rows(screen: list[str]) -> list[tuple[float, float, str, str]]:
    """Returns (self %, total %, kind, name) of the table on the screen."""
    found = []
    for line in screen:
        match = re.match(r" *([\d.]+)% +([\d.]+)%  (\S+) +(.*)$", line)
        if match:
            found.append((float(match[1]), float(match[2]), match[3], match[4]))
    return found


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.daemon = Daemon("--recorder-hz=0") # /top takes samples of its own
        cls.addClassCleanup(cls.daemon.stop)
        cls.classes = jvm.Classes()
        cls.classes.compile("TwoHalves.java")

    def watch(self, target: jvm.Jvm) -> Terminal:
        terminal = Terminal(f"curl -sN 'http://127.0.0.1:{self.daemon.port}/top?pid={target.pid}&width={WIDTH}&top={LINES - 8}'; sleep 60")
        self.addCleanup(terminal.close)
        return terminal

    def test_a_change_is_seen_within_two_intervals(self):
        half = SECONDS / 2
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "TwoHalves", str(round(half + INTERVAL)))
        self.addCleanup(target.stop)
        machine = proc.Standstill()
        machine.__enter__()
        self.addCleanup(machine.__exit__)
        changed = []
        threading.Thread(target=lambda: changed.append(target.process.stdout.readline() and machine.given()), daemon=True).start()
        pids = self.daemon.pids()
        quiet_from, quiet_cpu = time.monotonic(), cpu_seconds(pids)
        time.sleep(INTERVAL)
        quiet = (cpu_seconds(pids) - quiet_cpu) / (time.monotonic() - quiet_from)
        terminal = self.watch(target)
        began, cpu, first, hot, seen = time.monotonic(), cpu_seconds(pids), None, [], 0
        while time.monotonic() - began < SECONDS:
            time.sleep(0.1)
            screen, now = terminal.screen(), machine.given()
            if not rows(screen):
                self.assertIsNone(first, f"the screen was empty between two tables: {screen}")
                continue
            screen = terminal.steady(screen)
            table = rows(screen)
            first = first or now
            seen += 1
            self.check_screen(screen, table)
            hot.append((now, table[0][3]))
        used = (cpu_seconds(pids) - cpu) / (time.monotonic() - began)
        self.assertTrue(changed, "the workload never changed")
        self.assertGreater(seen, SECONDS * 3)
        self.assertIn("TwoHalves.early", [name for at, name in hot if at < changed[0]])
        late = next(at for at, name in hot if name == "TwoHalves.late") - changed[0]
        print(f"seen after {late:.1f} s; {100 * used:.2f} % of a CPU, {100 * quiet:.2f} % before")
        self.assertLessEqual(late, 2 * INTERVAL + 0.5)
        self.assertTrue(all(name == "TwoHalves.late" for at, name in hot if at > changed[0] + 2 * INTERVAL + 0.5))
        if SECONDS >= 60:
            self.assertLess(used - quiet, CPU_AIM)
        self.check_end(terminal)

    def check_screen(self, screen: list[str], table) -> None:
        """The header stays in place, and no line is wider than requested."""
        self.assertRegex(screen[0], r"^flamed top · pid \d+ \(TwoHalves\) · cpu · 99 Hz · [\d.]+ s")
        self.assertRegex(screen[1], r"^\d+ samples \([\d.]+ CPUs\), \d+ lost, \d+ with an unknown frame, \d+ truncated")
        self.assertEqual(sum(line.startswith("flamed top") for line in screen), 1, screen)
        self.assertTrue(all(len(line) <= WIDTH for line in screen), screen)
        self.assertEqual([row[0] for row in table], sorted((row[0] for row in table), reverse=True))
        self.assertIn(table[0][2], ("c2", "c1", "interpreted", "inlined"))

    def check_end(self, terminal: Terminal) -> None:
        self.assertIn("\nflamed_http_streams 1\n", self.daemon.get("/metrics").text)
        terminal.close()
        proc.wait_until(lambda: "\nflamed_http_streams 0\n" in self.daemon.get("/metrics").text, 3,
                        "the stream ends with its client")

    def test_the_other_side_ends(self):
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "TwoHalves", "60")
        self.addCleanup(target.stop)
        daemon = Daemon("--recorder-hz=0")
        client = subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{daemon.port}/top?pid={target.pid}"],
                                  stdout=subprocess.PIPE, text=True)
        time.sleep(3)
        target.stop() # the target has ended: the table says so, and goes on or ends
        time.sleep(3)
        daemon.stop()
        text = client.communicate(timeout=15)[0]
        self.assertIn("TwoHalves.early", text)
        self.assertEqual(client.returncode, 0, "the answer ends as it should")

    def test_once_is_one_table(self):
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "TwoHalves", "60")
        self.addCleanup(target.stop)
        waits = self.daemon.get("/top", pid=target.pid, once=1, interval="1s", top=3, event="wall")
        self.assertRegex(waits.text.splitlines()[1], r"^\d+ samples \([\d.]+ threads\)")
        answer = self.daemon.get("/top", pid=target.pid, once=1, interval="1s", top=3, include="TwoHalves")
        self.assertEqual(answer.status, 200, answer)
        self.assertNotIn("\x1b", answer.text)
        self.assertEqual(rows(answer.text.splitlines())[0][3], "TwoHalves.early")
        self.assertLessEqual(len(rows(answer.text.splitlines())), 3)


if __name__ == "__main__":
    unittest.main()
