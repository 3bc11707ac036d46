# SPDX-License-Identifier: Apache-2.0
"""A user's process stops being the user's while it is profiled: its program becomes one of root's, or root's process gets its number."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import caller, paths, proc
from harness.daemon import Daemon

USER = 61031 # no machine and no other test has this user
SOURCE = r"""
#include <unistd.h>
static volatile unsigned long turns;
__attribute__((noinline)) void root_s_secret(void) { for (;;) turns++; }
__attribute__((noinline)) void the_user_s(void) { while (access("/proc/self/cwd/go", F_OK) != 0) for (int i = 0; i < 1000000; i++) turns++; }
int main(int argc, char **argv) { if (argc > 1) { the_user_s(); execl(argv[1], argv[1], (char *)0); } root_s_secret(); }
"""
HZ = 199


class Races(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.folder = tempfile.mkdtemp(prefix="flamed-races.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.plain, cls.of_root = cls.folder + "/plain", cls.folder + "/of_root"
        subprocess.run(["cc", "-O1", "-g", "-x", "c", "-o", cls.plain, "-"], input=SOURCE, text=True, check=True)
        shutil.copy(cls.plain, cls.of_root)
        os.chmod(cls.of_root, 0o4755) # set-user-ID
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def ask(self, path: str, **arguments) -> caller.Reply:
        return caller.ask(f"http://127.0.0.1:{self.daemon.port}{path}", uid=USER, **arguments)

    def begin(self, *arguments: str) -> subprocess.Popen:
        """Starts a program of the user's, with a capture that has samples of it. self.capture is the path of that capture."""
        process = subprocess.Popen(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", self.plain, *arguments],
                                   cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        proc.wait_until(lambda: proc.exe(process.pid) == "plain", 20, "the program runs")
        reply = self.ask("/api/v1/captures", method="POST", body=json.dumps({"pid": process.pid, "hz": HZ}))
        self.assertEqual(reply.status, 201, str(reply))
        self.capture = "/api/v1/captures/" + reply.json()["id"]
        proc.wait_until(lambda: self.ask(self.capture).json()["samples"] > 20, 30, "there are samples")
        return process

    def check(self, pid: int) -> None:
        """After root's program has used a second of CPU time, the user must not see it, by any request."""
        before = proc.cpu_seconds(pid)
        proc.wait_until(lambda: proc.cpu_seconds(pid) > before + 1, 60, "root's program has run")
        self.assertEqual(self.ask(f"/profile?pid={pid}&seconds=0.2").status, 404)
        self.ask(self.capture + "/stop", method="POST")
        proc.wait_until(lambda: self.ask(self.capture).json()["state"] != "running", 20, "the capture ends")
        mine = self.ask(self.capture + "/profile?format=collapsed")
        self.assertIn(b"the_user_s", mine.body)
        for reply in (mine, self.ask(f"/profile?from=-60s&pid={pid}&format=collapsed"), self.ask("/profile?from=-60s&format=collapsed"),
                      self.ask(f"/api/v1/query?from=-60s&pid={pid}&format=collapsed"), self.ask(f"/top?pid={pid}&once=1&interval=100ms")):
            self.assertNotIn(b"root_s_secret", reply.body)
        of_root = self.daemon.profile(pid=pid, seconds=0.5, hz=HZ)
        self.assertTrue(any("root_s_secret" in s.names for s in of_root.stacks), "or there was nothing to see")

    def test_its_program_becomes_one_of_root_s(self):
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("no set-user-ID program counts here")
        process = self.begin(self.of_root)
        with open(self.folder + "/go", "wb"):
            pass
        self.addCleanup(os.unlink, self.folder + "/go")
        proc.wait_until(lambda: proc.exe(process.pid) == "of_root", 60, "it is another program")
        self.check(process.pid)

    def test_its_number_becomes_a_process_of_root_s(self):
        process = self.begin("never")
        process.kill()
        process.wait()
        self.check(self.again(process.pid))

    def again(self, pid: int) -> int:
        """Makes root's program start with this number. Other programs start processes, too: skips if many tries fail."""
        for _ in range(300):
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
                f.write(str(pid - 1))
            other = subprocess.Popen([self.plain], cwd=self.folder)
            if other.pid == pid:
                self.addCleanup(other.wait)
                self.addCleanup(other.kill)
                return pid
            other.kill()
            other.wait()
        self.skipTest("no process got the number that was asked for")
        return 0
