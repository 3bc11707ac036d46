# SPDX-License-Identifier: Apache-2.0
"""Logins of browsers: flamed --login, the cookie, its rights, its user, and its end."""
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import caller, certs, paths, proc
from harness.daemon import Daemon, free_port

ALICE, BOB = proc.free_ids(2)
SAME = "Sec-Fetch-Site: same-origin"


class Login(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")
        paths.need("curl")
        cls.folder = tempfile.mkdtemp(prefix="flamed-login.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.config = os.path.join(cls.folder, "flamed.yaml")
        cls.write("")
        cls.daemon = Daemon("--config", cls.config, "--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        cls.tcp = f"http://localhost:{cls.daemon.port}"
        alice = subprocess.Popen(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", *proc.ENDS_WITH_US, "sleep", "1000"])
        cls.addClassCleanup(alice.wait) # she needs a process that can be profiled
        cls.addClassCleanup(alice.kill)
        proc.wait_until(lambda: caller.ask(cls.tcp + "/profile?seconds=0.1", uid=ALICE).status == 200, 20, "her process is known")

    @classmethod
    def write(cls, text: str) -> None:
        with open(cls.config, "w", encoding="utf-8") as f:
            f.write(text)

    def who(self, uid: int, *headers: str) -> dict:
        reply = caller.ask(self.tcp + "/api/v1/whoami", uid=uid, headers=headers)
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def test_a_browser_of_another_user_logs_in_as_root(self):
        address = caller.login_address(self.daemon)
        self.assertRegex(address, rf"^http://[0-9a-f]{{32}}\.localhost:{self.daemon.port}/login\?ticket=[0-9a-f]{{64}}$")
        self.assertEqual(self.who(ALICE)["sees"], "own")
        self.assertEqual(caller.ask(address, uid=ALICE, method="HEAD").status, 200, "a look uses nothing up")
        reply = caller.ask(address, uid=ALICE)
        self.assertEqual(reply.status, 303, str(reply))
        self.assertRegex(reply.cookie, rf"^flamed_{self.daemon.port}=[0-9a-f]{{64}}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200$")
        cookie = "Cookie: " + reply.cookie.split(";")[0]
        who = self.who(ALICE, cookie)
        self.assertEqual((who["subject"], who["known_by"], who["role"], who["sees"]), ("user 0", "cookie", "manage", "all"))
        self.assertGreater(who["session"]["seconds"], 43000)
        self.assertEqual(caller.ask(address, uid=ALICE).status, 403, "it is good once")
        for other in (f"Cookie: a=b; {cookie[8:]}; c", f"Cookie: flamed_{self.daemon.port}={'0' * 64}; {cookie[8:]}"):
            self.assertEqual(self.who(ALICE, other)["known_by"], "cookie", other)
        for other in (cookie[:-1] + "g", cookie.replace("flamed_", "flamed"), cookie.replace(f"_{self.daemon.port}", "_0"), "Cookie: ;;=;"):
            self.assertEqual(self.who(ALICE, other)["known_by"], "kernel", other)

    def test_one_logs_in_again(self):
        """With a valid or an invalid cookie, the browser's user counts, not the cookie's."""
        first = caller.log_in(self.daemon, ALICE)
        for old in (first, first[:-1] + "g"):
            reply = caller.ask(caller.login_address(self.daemon), uid=ALICE, headers=(old, SAME))
            self.assertEqual(reply.status, 303, str(reply))
            cookie = "Cookie: " + reply.cookie.split(";")[0]
            self.assertEqual(self.who(ALICE, cookie)["known_by"], "cookie")
            self.assertEqual(self.who(0, cookie)["known_by"], "kernel", "not root's browser")

    def test_a_token_beside_it_changes_nothing(self):
        """A browser sends a remembered password by itself: the session still belongs to the browser's user, and ends."""
        token = "flamed_" + "5" * 64
        shown = f"Authorization: Bearer {token}"
        self.write(f"access:\n  - {{name: some, token_sha256: {hashlib.sha256(token.encode()).hexdigest()}, role: view}}\n")
        os.kill(self.daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: self.who(ALICE)["subject"] != self.who(ALICE, shown)["subject"], 10, "the token is known", 0.1)
        reply = caller.ask(caller.login_address(self.daemon), uid=ALICE, headers=(shown,))
        self.assertEqual(reply.status, 303, str(reply))
        cookie = "Cookie: " + reply.cookie.split(";")[0]
        self.assertEqual(self.who(ALICE, cookie)["known_by"], "cookie")
        self.assertNotEqual(self.who(65534, cookie)["known_by"], "cookie")
        self.assertEqual(caller.ask(self.tcp + "/logout", uid=ALICE, method="POST", headers=(cookie, shown, SAME)).status, 204)
        self.assertEqual(self.who(ALICE, cookie)["known_by"], "kernel")
        self.write("")
        os.kill(self.daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: self.who(ALICE, shown)["known_by"] == "kernel", 10, "there are no tokens", 0.1)

    def test_what_is_stolen_is_good_for_nobody_else(self):
        """A browser sends the cookies of localhost to each port there, so also to a program of another user."""
        cookie = caller.log_in(self.daemon, ALICE)
        for uid in (BOB, 65534):
            self.assertNotEqual(self.who(uid, cookie)["known_by"], "cookie", uid)
        self.assertEqual(self.who(ALICE, cookie)["known_by"], "cookie")

    def test_no_other_site_starts_anything_by_it(self):
        cookie = caller.log_in(self.daemon, ALICE)
        own = f"Origin: {self.tcp}"
        for path, method, headers, status in (
                ("/profile?seconds=0.1&pid=1", "GET", (), 403), ("/top?once=1&interval=100ms", "GET", (), 403),
                ("/debug/pprof/profile?seconds=0.1", "GET", (), 403), ("/logout", "POST", (), 403), ("/api/v1/triggers/x", "POST", (), 403),
                ("/api/v1/triggers/x", "POST", ("Sec-Fetch-Site: cross-site",), 403),
                ("/api/v1/jvms", "GET", ("Sec-Fetch-Site: same-site",), 403),
                ("/api/v1/triggers/x", "POST", ("Origin: http://localhost:1",), 403),
                ("/api/v1/triggers/x", "POST", (own,), 404), ("/api/v1/triggers/x", "POST", (SAME,), 404),
                ("/profile?seconds=0.1", "GET", (SAME,), 200), ("/profile?seconds=0.1", "GET", ("Sec-Fetch-Site: none",), 200),
                ("/profile?seconds=0.1", "GET", (f"Referer: {self.tcp}/",), 200),
                ("/profile?seconds=0.1", "GET", ("Sec-Fetch-Site: same-site",), 403),
                ("/api/v1/captures", "GET", (), 200), ("/", "GET", (), 200)):
            with self.subTest(path=path, method=method, headers=headers):
                reply = caller.ask(self.tcp + path, uid=ALICE, method=method, headers=(cookie, *headers))
                self.assertEqual(reply.status, status, str(reply))
        reply = caller.ask(self.tcp + "/profile?seconds=0.1", uid=ALICE)
        self.assertEqual(reply.status, 200, "without a cookie nothing is asked of a program")

    def test_its_end(self):
        cookie = caller.log_in(self.daemon, ALICE)
        reply = caller.ask(self.tcp + "/logout", uid=ALICE, method="POST", headers=(cookie, SAME))
        self.assertEqual(reply.status, 204)
        self.assertIn("Max-Age=0", reply.cookie)
        self.assertEqual(self.who(ALICE, cookie)["known_by"], "kernel")

    def test_rules_that_take_rights_end_it(self):
        cookie = caller.log_in(self.daemon, ALICE)
        self.write("access:\n  - {name: root, user: 0, role: view}\n")
        os.kill(self.daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: self.who(ALICE, cookie)["known_by"] == "kernel", 10, "root may less", 0.1)
        self.assertEqual(self.who(0)["role"], "view")
        narrow = caller.log_in(self.daemon, ALICE)
        self.assertEqual(self.who(ALICE, narrow)["role"], "view")
        self.write("")
        os.kill(self.daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: self.who(0)["role"] == "attach", 10, "root may all", 0.1)
        self.assertEqual(self.who(ALICE, cookie)["known_by"], "kernel", "what has ended stays so")
        self.assertEqual(self.who(ALICE, narrow)["role"], "manage", "who may more now has lost nothing")

    def test_there_are_not_many(self):
        """The oldest session of a user ends."""
        cookies = [caller.log_in(self.daemon, ALICE) for _ in range(9)]
        self.assertEqual([self.who(ALICE, c)["known_by"] for c in cookies], ["kernel"] + ["cookie"] * 8)
        addresses = [caller.login_address(self.daemon) for _ in range(5)]
        self.assertEqual([caller.ask(a, uid=ALICE).status for a in addresses], [403] + [303] * 4)

    def test_who_may_not_is_told_what_to_do(self):
        reply = caller.ask(self.tcp + "/", uid=65534, headers=("Accept: text/html,application/xhtml+xml,*/*;q=0.8",))
        self.assertEqual(reply.status, 403)
        self.assertIn(b"<h1>Access refused</h1>", reply.body)
        log_in, otherwise = reply.body.find(b"sudo flamed --login"), reply.body.find(b"curl --unix-socket")
        self.assertTrue(0 < log_in < otherwise, "what a browser can do comes first")
        self.assertEqual(caller.ask(self.tcp + "/", uid=65534).json()["status"], 403, "a program gets JSON")
        who = self.who(65534)
        self.assertEqual((who["subject"], who["role"], who["sees"]), ("nobody", "health", "nothing"))
        self.assertGreater(len(who["remedy"]), 20)
        reply = caller.ask(self.tcp + "/login?ticket=%3Cscript%3E", uid=ALICE, headers=("Accept: text/html",))
        self.assertEqual(reply.status, 403)
        self.assertNotIn(b"<script", reply.body)
        reply = caller.ask(self.tcp + "/api/v1/logins", method="POST")
        self.assertEqual(reply.status, 403, "not over TCP")
        self.assertIn("--login", reply.json()["remedy"])

    def test_where_the_address_leads(self):
        """Uses this machine's own address, if there is one, under a new name for each login, and https if flamed uses TLS."""
        here = os.uname().nodename
        for listens, begin in ((("127.0.0.1:1",), "http://NAME.localhost:1/login?"), (("https://127.0.0.1:2",), "https://localhost:2/login?"),
                               (("https://[::1]:3",), "https://localhost:3/login?"), (("0.0.0.0:4",), f"https://{here}:4/login?"),
                               (("0.0.0.0:4", "127.0.0.1:1"), "http://NAME.localhost:1/login?"), ((), "/login?")):
            result = subprocess.run([paths.program("flamed"), "--login", "--listen", f"unix:{self.daemon.unix}",
                                     *(part for one in listens for part in ("--listen", one))], capture_output=True, text=True,
                                    check=False, timeout=60)
            address = re.sub(r"//[0-9a-f]{32}\.", "//NAME.", result.stdout)
            self.assertEqual((result.returncode, address[:len(begin)]), (0, begin), result.stderr)

    def test_another_address_is_not_printed(self):
        """A flamed under an attacker's control could lead the browser of root to another site."""
        folder = tempfile.mkdtemp(prefix="flamed-login.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(folder + "/sock")
            s.listen()
            for path in ("@evil.example/login?ticket=" + "0" * 64, "/login?ticket=" + "0" * 63 + "\u001b", "/login?ticket=" + "0" * 65):
                with subprocess.Popen([paths.program("flamed"), "--login", "--listen", f"unix:{folder}/sock", "--listen", "127.0.0.1:1"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as login:
                    client = s.accept()[0]
                    client.recv(4096)
                    client.sendall(b"HTTP/1.1 201 Created\r\n\r\n" + json.dumps({"path": path, "seconds": 120}).encode())
                    client.close()
                    out, err = login.communicate(timeout=60)
                self.assertEqual((login.returncode, out), (1, ""), path)
                self.assertIn("its answer cannot be read", err)

    def test_localhost_is_nobody_else_s(self):
        """Browsers and programs may try IPv6 first for localhost: no other user can listen there for tickets and tokens."""
        try:
            with socket.socket(socket.AF_INET6) as s:
                s.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 on this machine")
        bind = ("import socket, sys\ns = socket.socket(socket.AF_INET6)\ns.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                "s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)\ns.bind((sys.argv[1], int(sys.argv[2])))\ns.listen()\n"
                "print('there', flush=True)\nsys.stdin.read()\n")
        alice = ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", sys.executable, "-c", bind]
        for address in ("::1", "::"):
            result = subprocess.run([*alice, address, str(self.daemon.port)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    check=False)
            self.assertIn("Address already in use", result.stderr, address)
        who = caller.ask(f"http://[::1]:{self.daemon.port}/api/v1/whoami", uid=ALICE).json()
        self.assertEqual((who["subject"], who["known_by"]), (f"user {ALICE}", "kernel"))
        port = free_port()
        with subprocess.Popen([*alice, "::1", str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as thief:
            self.assertEqual(thief.stdout.readline(), "there\n")
            result = subprocess.run([paths.program("flamed"), "--listen", f"127.0.0.1:{port}", "--store", self.folder], check=False,
                                    capture_output=True, text=True, timeout=60)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"another program listens on '[::1]:{port}', which is localhost, too", result.stderr)
            thief.stdin.close()

    def test_flamed_login_without_rights_says_what_to_do(self):
        result = subprocess.run(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", paths.program("flamed"), "--login",
                                 "--listen", f"unix:{self.daemon.unix}"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("sudo flamed --login", result.stderr)
        result = subprocess.run([paths.program("flamed"), "--login", "--listen", "unix:/nonexistent/sock"], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is flamed running?", result.stderr)

    def test_it_is_noted_and_no_secret_is(self):
        address = caller.login_address(self.daemon)
        reply = caller.ask(address, uid=BOB)
        secret = reply.cookie.split("=")[1].split(";")[0]
        self.assertEqual(len(secret), 64)
        self.assertEqual(caller.ask(self.tcp + "/logout", uid=BOB, method="POST",
                                    headers=("Cookie: " + reply.cookie.split(";")[0], SAME)).status, 204)
        self.assertEqual(caller.ask(address, uid=BOB).status, 403)
        lines = self.daemon.get("/api/v1/audit", limit=1000, unix=True).json()["audit"]
        self.assertEqual([(line["action"], line["route"], line["subject"], line["status"], line["known_by"]) for line in lines[:4]],
                         [("refusal", "/login", f"user {BOB}", 403, "kernel"), ("logout", "/logout", "user 0", 204, "cookie"),
                          ("login", "/login", "user 0", 303, "cookie"), ("login", "/api/v1/logins", "user 0", 201, "kernel")])
        everything = json.dumps(lines) + self.daemon.log() + self.daemon.get("/metrics").text
        self.assertNotIn(secret, everything)
        self.assertNotIn(re.search(r"ticket=(\w+)", address).group(1), everything)


class OverTls(unittest.TestCase):
    def test_the_cookie_is_of_tls_alone(self):
        paths.need_root()
        paths.need("openssl", "curl")
        folder = tempfile.mkdtemp(prefix="flamed-login.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        ca = certs.Authority(folder, "ca")
        cert, key = ca.sign("server", "/CN=flamed", "DNS:localhost,IP:127.0.0.1")
        config, port = os.path.join(folder, "flamed.yaml"), free_port()
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"tls_server_config:\n  cert_file: {cert}\n  key_file: {key}\n")
        with Daemon("--config", config, "--recorder-hz=0", "--listen", f"https://127.0.0.1:{port}") as daemon:
            path = caller.login_address(daemon).partition("/login")[2]
            command = ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "curl", "-s", "-k", "-m", "30"]
            head = subprocess.run([*command, "-D", "-", "-o", "/dev/null", f"https://localhost:{port}/login{path}"], capture_output=True,
                                  text=True, check=True).stdout
            cookie = re.search(r"(?i)^set-cookie: (.*)$", head, re.M)[1]
            self.assertRegex(cookie, rf"^__Host-flamed_{port}=[0-9a-f]{{64}}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$")
            who = subprocess.run([*command, "-H", "Cookie: " + cookie.split(";")[0], f"https://localhost:{port}/api/v1/whoami"],
                                 capture_output=True, text=True, check=True).stdout
            self.assertEqual((json.loads(who)["subject"], json.loads(who)["known_by"]), ("user 0", "cookie"))


class AuditLog(unittest.TestCase):
    def test_a_file_for_root_that_is_opened_again(self):
        paths.need_root()
        folder = tempfile.mkdtemp(prefix="flamed-audit.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "audit.log")

        def lines(name: str = path) -> list[dict]:
            with open(name, encoding="utf-8") as f:
                return [json.loads(line) for line in f]
        with Daemon("--recorder-hz=0", "--audit-log", path) as daemon:
            self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
            self.assertEqual(os.stat(path).st_uid, 0)
            self.assertEqual(daemon.get("/profile", seconds=0.1).status, 200)
            self.assertEqual([line["route"] for line in lines()], ["/profile"])
            os.rename(path, path + ".1")
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda: os.path.exists(path), 10, "it is there again", 0.05)
            proc.wait_until(lambda: daemon.get("/top", once=1, interval="100ms").status == 200 and
                            any(line["route"] == "/top" for line in lines()), 10, "and written to", 0.1)
            self.assertIn("/profile", [line["route"] for line in lines(path + ".1")])
        os.symlink("/etc/passwd", path + ".link")
        os.mkfifo(path + ".fifo")
        for end, uid, mode in ((".theirs", 61777, 0o666), (".open", 0, 0o620), (".open2", 0, 0o602)):
            with open(path + end, "w", encoding="utf-8"):
                os.chmod(path + end, mode)
                os.chown(path + end, uid, 0)
        os.chmod(folder, 0o777)
        with Daemon("--recorder-hz=0", "--audit-log", path + ".new") as daemon: # each replaces the file, and a signal makes flamed reopen it
            for end in (".link", ".fifo", ".theirs", ".open", ".open2"):
                os.rename(path + end, path + ".new")
                before = daemon.log().count("the audit is written to the log only")
                os.kill(daemon.top(), signal.SIGHUP)
                proc.wait_until(lambda b=before: daemon.log().count("the audit is written to the log only") > b, 10, end, 0.05)
                if not os.path.islink(path + ".new") and not end == ".fifo":
                    self.assertEqual(os.stat(path + ".new").st_size, 0, end)
            self.assertRegex(daemon.log(), r"is user 61777's, with mode 666: others may write to it")


if __name__ == "__main__":
    unittest.main()
