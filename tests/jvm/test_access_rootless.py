# SPDX-License-Identifier: Apache-2.0
"""Rights on containers that a user made without root: the user owns what the kernel lets that user trace, and no more."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import caller, jvm, paths, proc, rootless
from harness.daemon import Daemon
from test_forged import below, folders, hierarchies

# EVE has containers without root.
ALICE, EVE = proc.free_ids(2)


class WithoutRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("unshare")
        folder = tempfile.mkdtemp(prefix="flamed-access.")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        with open(f"{folder}/flamed.yaml", "w", encoding="utf-8") as f:
            f.write(f"access:\n  - {{name: eve, user: {EVE}, role: attach, sees: own}}\n"
                    f"  - {{name: alice, user: {ALICE}, role: attach, sees: own}}\n")
        cls.daemon = Daemon("--config", f.name, "--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        cls.tcp = f"http://127.0.0.1:{cls.daemon.port}"
        cls.spin = jvm.make_spin()
        cls.arguments = (paths.jdk(17), "-Drest=45", "-Xmx64m", "-cp", cls.spin.folder, cls.spin.main)

    def status(self, pid: int, uid: int, query: str = "") -> int:
        return caller.ask(f"{self.tcp}/profile?pid={pid}&seconds=0.1{query}", uid=uid).status

    def listed(self, uid: int) -> list[int]:
        return [one["pid"] for one in caller.ask(self.tcp + "/api/v1/jvms", uid=uid).json()["jvms"]]

    def test_is_its_owner_s_and_nobody_else_s(self):
        for uid in (1000, 0): # a user of the container, and its root
            with self.subTest(user=uid), rootless.Rootless(EVE, *self.arguments, uid=uid) as one:
                proc.wait_until(lambda one=one: one.pid in self.listed(EVE), 20, "its owner sees it")
                others = {ALICE, one.host_uid} - {EVE}
                self.assertEqual([self.status(one.pid, user) for user in (0, EVE, *others)], [200, 200] + [404] * len(others))
                self.assertNotIn(one.pid, self.listed(ALICE))
                text = caller.ask(f"{self.tcp}/profile?pid={one.pid}&seconds=1&format=collapsed&annotate=1", uid=EVE).body.decode()
                self.assertIn(self.spin.main, text)
                self.assertNotRegex(text, r"_\[k\]", "the kernel's functions are no user's")

    def test_attaching_takes_the_whole_node(self):
        with rootless.Rootless(EVE, *self.arguments) as one:
            proc.wait_until(lambda: one.pid in self.listed(EVE), 20, "its owner sees it")
            time.sleep(2) # flamed does not attach to younger JVMs
            reply = caller.ask(f"{self.tcp}/api/v1/jvms/{one.pid}/perf-map?symbols=agent", uid=EVE)
            self.assertEqual(reply.status, 409, str(reply))
            self.assertIn("your own rootless container", reply.json()["detail"])
            steps = caller.ask(f"{self.tcp}/api/v1/jvms/{one.pid}/preflight", uid=EVE).json()
            self.assertFalse(steps["symbols"]["agent"], str(steps))
            ident = caller.ask(self.tcp + "/api/v1/captures", uid=EVE, method="POST",
                               body=json.dumps({"pid": one.pid, "symbols": "agent", "seconds": 0.5})).json()["id"]
            proc.wait_until(lambda: self.daemon.get(f"/api/v1/captures/{ident}").json()["state"] == "done", 20, "it is done", 0.1)
            self.assertIn("your own rootless container", json.dumps(self.daemon.get(f"/api/v1/captures/{ident}").json()["warnings"]))
            self.assertNotIn("flamed-agent", proc.read(f"/proc/{one.pid}/maps"))
            reply = self.daemon.get(f"/api/v1/jvms/{one.pid}/perf-map", symbols="agent")
            self.assertEqual(reply.status, 200, str(reply))

    def test_a_number_in_a_container_of_root_s_makes_nobody_an_owner(self):
        """Users inside may have the same number and may make namespaces, too. Their processes are recognised by the pid namespace and by
        the cgroup."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        folder = below(hierarchies()[0], "docker", os.urandom(32).hex())
        stack.enter_context(folders(*folder))
        alice = ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "unshare", "-Ur"]
        for how, wrap in (("on the host", []), ("pid namespace", ["unshare", "-p", "-f", "--kill-child", "--mount-proc"]),
                          ("cgroup", ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder[-1]])):
            with self.subTest(how=how), jvm.Jvm(*self.arguments, wrap=[*wrap, *alice]) as one:
                pid = proc.find_jvm(one.pid)
                try:
                    proc.wait_until(lambda pid=pid: pid in self.listed(0), 20, "root sees it")
                    self.assertEqual(self.status(pid, ALICE), 404 if wrap else 200)
                finally:
                    os.kill(pid, signal.SIGKILL) # a process that changed its user outlives its starter

    def test_what_may_not_be_traced_is_not_its_owner_s(self):
        """Processes that root put into the namespace, and those that forbid dumps."""
        quiet = "import ctypes, sys; ctypes.CDLL(None).prctl(4, int(sys.argv[1])); print(flush=True); sys.stdin.read()"
        with rootless.Rootless(EVE, *self.arguments) as one:
            enter = ["nsenter", f"--user=/proc/{one.pid}/ns/user"]
            as_eve = ["setpriv", f"--reuid={EVE}", f"--regid={EVE}", "--clear-groups"]
            for wrap, dumpable, user, expected in ((as_eve, 1, EVE, 200), (as_eve, 0, EVE, 404), ([*enter, "-S", "1000", "-G", "1000"], 1, EVE, 200),
                                                   ([*enter, "-S", "1000", "-G", "1000"], 0, EVE, 200),
                                                   ([*enter, "--preserve-credentials"], 1, EVE, 404)):
                with self.subTest(how=wrap, dumpable=dumpable), subprocess.Popen(
                        [*wrap, "python3", "-c", quiet, str(dumpable)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                    other.stdout.readline()
                    time.sleep(1.1) # flamed reads a process again after a second
                    self.assertEqual((self.status(other.pid, 0), self.status(other.pid, user)), (200, expected))
                    other.stdin.close()


if __name__ == "__main__":
    unittest.main()
