# SPDX-License-Identifier: Apache-2.0
"""`access` in the configuration: tokens and users, warnings, and mistakes."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import caller, jvm, paths, proc
from harness.daemon import Daemon
from test_access import new_token

ALICE, BOB, CAROL = proc.free_ids(3)


class Rules(unittest.TestCase):
    def configure(self, text: str) -> str:
        folder = tempfile.mkdtemp(prefix="flamed-access.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "flamed.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_tokens_and_users(self):
        paths.need_root()
        viewer, rule_viewer = new_token("viewer", "view")
        taker, rule_taker = new_token("taker", "profile")
        config = self.configure(f"access:\n{rule_viewer}{rule_taker}  - {{name: bob, user: {BOB}, role: profile, sees: all}}\n"
                                f"  - {{name: carol, user: {CAROL}, role: health}}\n  - {{name: alice, user: {ALICE}, role: attach, sees: own}}\n")
        spin = jvm.make_spin()
        with Daemon("--config", config) as daemon, jvm.Jvm(
                paths.jdk(17), "-Drest=45", "-Xmx64m", "-cp", spin.folder, spin.main,
                wrap=["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups"]) as one:
            tcp = f"http://127.0.0.1:{daemon.port}"
            ident = daemon.get("/profile", pid=one.pid, seconds=0.2).headers["X-Flamed-Capture"]
            proc.wait_until(lambda: daemon.get(f"/api/v1/captures/{ident}").status == 200, 10, "it is stored")

            def status(path: str, method: str = "GET", **how) -> int:
                return caller.ask(tcp + path, method=method, **how).status

            def bearer(token: str) -> dict:
                return {"uid": 65534, "headers": ("Authorization: Bearer " + token,)}
            profile = f"/profile?pid={one.pid}&seconds=0.1"
            for how, view, take, enter, remove in (
                    ({"uid": 0}, 200, 200, None, None), (bearer(viewer), 200, 403, 403, 403), (bearer(taker), 200, 200, 403, 403),
                    ({"uid": BOB}, 200, 200, 403, 403), ({"uid": CAROL}, 403, 403, 403, 403), ({"uid": ALICE}, 404, 200, 200, 404),
                    ({"uid": 65534}, 401, 401, 401, 401), (bearer(viewer[:-1] + "x"), 401, 401, 401, 401),
                    (bearer(""), 401, 401, 401, 401), ({**bearer(viewer), "uid": 0}, 200, 403, 403, 403),
                    ({"uid": 0, "headers": ("Authorization: Bearer wrong",)}, 401, 401, 401, 401),
                    ({"uid": 0, "headers": (f"Authorization: Bearer {taker}", f"Authorization: Bearer {taker}")}, 401, 401, 401, 401),
                    ({"uid": CAROL, "headers": (f"Authorization: bEaReR   {taker}",)}, 200, 200, 403, 403),
                    ({"uid": 0, "headers": ("Authorization: Basic cm9vdDpyb290",)}, 200, 200, None, None)):
                with self.subTest(who=how):
                    self.assertEqual(status(f"/api/v1/captures/{ident}", **how), view)
                    self.assertEqual(status(profile, **how), take)
                    if enter:
                        self.assertEqual(status(profile + "&symbols=agent", **how), enter)
                    if remove:
                        self.assertEqual(status(f"/api/v1/captures/{ident}", "DELETE", **how), remove)
                    self.assertEqual(status("/healthz", **how), 200)
            self.assertIn(f'"{spin.main}"', json.dumps(caller.ask(tcp + "/api/v1/jvms", **bearer(viewer)).json()))
            lines = daemon.get("/api/v1/audit", limit=1000, unix=True).json()["audit"]
            self.assertTrue(any(line["subject"] == "token taker" and line["action"] == "capture" for line in lines))
            for token in (viewer, taker):
                self.assertNotIn(token, daemon.log() + json.dumps(lines))

            # A removed token stops working, and a wrong rule changes nothing.
            with open(config, "w", encoding="utf-8") as f:
                f.write(f"access:\n{rule_taker}")
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda: status("/api/v1/jvms", **bearer(viewer)) == 401, 10, "the viewer's token is gone", 0.1)
            self.assertEqual(status("/api/v1/jvms", **bearer(taker)), 200)
            self.assertEqual(status("/api/v1/jvms", uid=CAROL), 200, "her rule is gone, too")
            with open(config, "w", encoding="utf-8") as f:
                f.write("access:\n  - {name: x, user: root, role: manage, token_sha256: 12}\n")
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda: "access" in json.dumps(daemon.get("/readyz").json()), 10, "the mistake is told", 0.1)
            self.assertEqual(status("/api/v1/jvms", **bearer(taker)), 200)

    def test_secrets_over_plain_http_are_warned_of(self):
        """On loopback, too, a program with CAP_NET_RAW reads secrets. /readyz and the log warn of that as long as a rule accepts them."""
        paths.need_root()
        _, rule = new_token("viewer", "view")
        user = f"access:\n  - {{name: alice, user: {ALICE}, role: attach, sees: own}}\n"
        config = self.configure(user)
        with Daemon("--config", config, "--recorder-hz=0") as daemon:
            self.assertEqual(daemon.problems("plain http"), [])
            for text, count in ((user + rule, 1), (user, 0)):
                with open(config, "w", encoding="utf-8") as f:
                    f.write(text)
                os.kill(daemon.top(), signal.SIGHUP)
                proc.wait_until(lambda count=count: len(daemon.problems("plain http")) == count, 10, f"{count} warnings", 0.1)
            self.assertEqual(daemon.log().count("may come over plain HTTP"), 1)

    def test_mistakes_are_told(self):
        for text, words in (("access: 1\n", "a list"), ("access:\n  - {name: A}\n", "a-z"), ("access:\n  - {name: a}\n", "either user"),
                            ("access:\n  - {name: a, role: view}\n", "either user"), ("access:\n  - {role: view, user: root}\n", "name"),
                            ("access:\n  - {name: a, role: admin, user: root}\n", "manage"),
                            ("access:\n  - {name: a, role: view, user: no-such-user}\n", "no-such-user"),
                            ("access:\n  - {name: a, role: view, token_sha256: flamed_secret}\n", "64 hex"),
                            ("access:\n  - {name: a, role: view, user: root, sees: some}\n", "all or own"),
                            ("access:\n  - {name: a, role: manage, user: root, sees: own}\n", "whole node"),
                            ("access:\n  - {name: a, role: view, user: root}\n  - {name: a, role: view, user: bin}\n", "no other"),
                            ("access:\n  - {name: a, role: view, group: no-such-group}\n", "no-such-group"),
                            ("access:\n  - {name: a, role: view, group: root, user: root}\n", "either user, group"),
                            ("access:\n  - {name: a, role: view, user: root, match: 'namespace=prod'}\n", "match"),
                            ("access:\n  - {name: a, role: view, user: root, match: 'namespace!=\"prod\"'}\n", "match takes only = and =~"),
                            ("access:\n  - {name: a, role: view, user: root, match: 'namespace=~\".*\"'}\n", "empty"),
                            ("access:\n  - {name: a, role: view, user: root, match: 'main=\"x\"'}\n", "too: any program can run under"),
                            ("access:\n  - {name: a, role: view, user: root, match: []}\n", "one matcher"),
                            ("access:\n  - {name: a, role: manage, user: root, match: 'pod=\"x\"'}\n", "whole node"),
                            ("access:\n  - {name: a, role: view, user: root, x: y}\n", "role, sees")):
            result = subprocess.run([paths.program("flamed"), "--check-config", "--config", self.configure(text)], capture_output=True,
                                    text=True, check=False)
            self.assertEqual(result.returncode, 1, text)
            self.assertIn(words, result.stderr, text)
            self.assertNotIn("flamed_secret", result.stderr)


if __name__ == "__main__":
    unittest.main()
