# SPDX-License-Identifier: Apache-2.0
"""Names with passwords over TLS: a worker compares them with bcrypt, and caches the result."""
import base64
import os
import re
import signal
import socket
import ssl
import subprocess
import time
import unittest

from harness import certs, proc
from harness.daemon import Daemon
from test_tls import NOBODY, Served


class Basic(Served):
    """Names with passwords: a worker compares them with bcrypt, and caches the result."""

    RULES = """access:
  - {name: reader, basic: alice, role: view}
  - {name: operator, basic: bob, role: manage}
"""

    def users(self, cost: int, **passwords: str) -> str:
        return "basic_auth_users:\n" + "".join(f"  {name}: {certs.bcrypt(password, cost)}\n" for name, password in passwords.items())

    def counted(self, daemon: Daemon, name: str) -> float:
        return float(re.search("^" + re.escape(name) + r" (\S+)$", daemon.get("/metrics", unix=True).text, re.M)[1])

    def test_right_wrong_and_unknown(self):
        daemon, port = self.serve(self.tls() + self.RULES + self.users(5, alice="sesame", bob="päss:wörd"))
        url = f"https://localhost:{port}"
        self.assertEqual(self.curl(url + "/metrics", "-u", "alice:sesame", uid=NOBODY).status, 200)
        self.assertEqual(self.curl(url + "/api/v1/audit", "-u", "alice:sesame").status, 403, "what is shown counts, for root, too")
        audit = self.curl(url + "/api/v1/audit", "-u", "bob:päss:wörd", uid=NOBODY)
        self.assertEqual(audit.status, 200, audit)
        self.assertIn('"basic reader"', audit.body)
        self.assertNotIn("sesame", audit.body + daemon.log())
        for user in ("alice:wrong", "alice:", "nobody:sesame", "bob:sesame"):
            reply = self.curl(url + "/metrics", "-u", user, "-i")
            self.assertEqual(reply.status, 401, user)
            self.assertIn("Basic realm=", reply.body)
        # A route without a wait, one with a body, and one with half its body when the password is checked.
        self.assertEqual(self.curl(url + "/openapi.json", "-u", "alice:sesame", uid=NOBODY).status, 200)
        body = '{"pid": 2147483646, "seconds": 1}'
        self.assertEqual(self.curl(url + "/api/v1/captures", "-u", "alice:sesame", "-H", "Content-Type: application/json", "-d", body).status, 403)
        fresh = self.users(5, alice="sesame", bob="again")
        self.configure(self.tls() + self.RULES + fresh)
        os.kill(daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: "was read again" in daemon.log(), 20, "users are read again", 0.1)
        self.assertEqual(self.curl(url + "/api/v1/captures", "-u", "bob:again", "-H", "Content-Type: application/json", "-d", body).status, 404)
        self.assertEqual(self.curl(url + "/api/v1/audit", "-u", "bob:päss:wörd").status, 401, "the old password")
        chunk = self.curl(url + "/api/v1/captures", "-u", "bob:again", "-H", "Content-Type: application/json", "-H",
                          "Transfer-Encoding: chunked", "-d", body)
        self.assertEqual(chunk.status, 404, chunk)

    def test_a_body_that_comes_later(self):
        """The password is checked while the body still arrives, on plain HTTP and on TLS."""
        daemon, port = self.serve(self.tls() + self.RULES + self.users(10, alice="sesame", bob="again"))
        context = ssl.create_default_context(cafile=self.ca.cert)
        body = b'{"pid": 2147483646, "seconds": 1}'
        for at, password in enumerate((b"again", b"wrong")):
            code = base64.b64encode(b"bob:" + password)
            for tls in (False, True):
                with socket.create_connection(("127.0.0.1", port if tls else daemon.port), timeout=30) as plain:
                    s = context.wrap_socket(plain, server_hostname="localhost") if tls else plain
                    s.sendall(b"POST /api/v1/captures HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                              b"Authorization: Basic " + code + b"\r\nContent-Length: %d\r\n\r\n" % len(body))
                    time.sleep(0.01)
                    for byte in body:
                        s.sendall(bytes([byte]))
                    self.assertIn((b"404", b"401")[at], s.recv(65536).split(b"\r\n")[0])
                    # The connection continues with another request.
                    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    got = b""
                    while b" 200 OK" not in got:
                        chunk = s.recv(65536)
                        self.assertTrue(chunk, got)
                        got += chunk
                    s.close()

    def test_a_scrape_each_second_costs_one_bcrypt(self):
        daemon, port = self.serve(self.tls() + self.RULES + self.users(12, alice="sesame", bob="again"))

        def spent() -> float:
            return sum(proc.cpu_seconds(pid) for name, pids in daemon.processes().items() if name == "flamed" for pid in pids)

        url = f"https://localhost:{port}/openapi.json"
        before = spent()
        self.assertEqual(self.curl(url, "-u", "alice:sesame").status, 200)
        one = spent() - before
        before = spent()
        for _ in range(20):
            self.assertEqual(self.curl(url, "-u", "alice:sesame").status, 200)
        self.assertLess(spent() - before, 10 * max(one, 0.1), "twenty that are known")

    def test_unknown_costs_as_much_as_wrong(self):
        """An unknown name takes as long as a known one."""
        daemon, port = self.serve(self.RULES + self.users(10, alice="sesame", bob="again"), address="127.0.0.1")

        def took(user: str) -> float:
            times = []
            for _ in range(3):
                began = time.monotonic()
                self.curl(f"http://127.0.0.1:{port}/openapi.json", "-u", user)
                times.append(time.monotonic() - began)
            return min(times)

        malformed = min(took("x" * 100 + ":y") for _ in range(1)) # refused without a check
        wrong, unknown = took("alice:wrong"), took("mallory:wrong")
        self.assertGreater(wrong - malformed, 0.02, "bcrypt was asked")
        self.assertLess(abs(wrong - unknown), max(0.5 * (wrong - malformed), 0.03), f"wrong {wrong:.3f} unknown {unknown:.3f}")

    def test_attempts_are_limited(self):
        token, rule = self.token("scraper", "view")
        daemon, port = self.serve(self.tls() + self.RULES + rule + self.users(5, alice="sesame", bob="again"))
        url = f"https://localhost:{port}/metrics"
        self.assertEqual(self.curl(url, "-u", "alice:sesame", uid=NOBODY).status, 200)
        statuses = [self.curl(url, "-u", f"alice:guess{i}", uid=NOBODY).status for i in range(12)]
        self.assertEqual(statuses[:10], [401] * 10)
        self.assertIn(429, statuses[10:])
        wrong = self.curl(url, "-H", "Authorization: Bearer flamed_guess", "-i", uid=NOBODY)
        self.assertEqual(wrong.status, 401, "tokens are counted apart")
        for _ in range(10):
            wrong = self.curl(url, "-H", "Authorization: Bearer flamed_guess", "-i", uid=NOBODY)
        self.assertEqual(wrong.status, 429)
        self.assertRegex(wrong.body.lower(), r"retry-after: \d+")
        self.assertIn("try again in", wrong.body)
        self.assertEqual(self.curl(url, "-u", "bob:again", uid=NOBODY).status, 200, "another name, right and not known before")
        statuses = [self.curl(url, "-u", f"bob:guess{i}", uid=NOBODY).status for i in range(12)]
        self.assertEqual((statuses[:10], statuses[-1]), ([401] * 10, 429))
        self.assertEqual(self.curl(url, "-u", "bob:again", uid=NOBODY).status, 200, "right before")
        self.assertEqual(self.curl(url, "-u", "alice:sesame", uid=NOBODY).status, 200, "who was right before goes on")
        self.assertEqual(self.curl(url, "-H", f"Authorization: Bearer {token}", uid=NOBODY).status, 200, "a token cannot be guessed")
        self.assertEqual(self.curl(url, "-u", "bob:again", uid=NOBODY + 1).status, 200, "another user is another caller")
        self.assertGreaterEqual(self.counted(daemon, 'flamed_http_quota_refused_total{quota="attempts"}'), 3)
        refused = daemon.get("/api/v1/audit", limit=50, unix=True).text
        self.assertIn('"action":"refusal"', refused.replace(" ", ""))

    def test_many_at_once_leave_room(self):
        """Ten users with wrong passwords at once: others are answered."""
        _, port = self.serve(self.RULES + self.users(13, alice="sesame", bob="again"), address="127.0.0.1")
        url = f"http://127.0.0.1:{port}/openapi.json"
        guesses = [subprocess.Popen(["setpriv", "--reuid", str(NOBODY + i), "--regid", "1", "--clear-groups", "curl", "-s", "-o", "/dev/null",
                                     "-m", "60", "-u", "alice:guess", url]) for i in range(10)]
        try:
            for _ in range(5):
                began = time.monotonic()
                self.assertEqual(self.curl(f"http://127.0.0.1:{port}/api/v1/jvms").status, 200)
                self.assertLess(time.monotonic() - began, 5 * proc.PATIENCE)
        finally:
            for p in guesses:
                p.kill()
                p.wait()

    def test_mistakes_in_users_are_told(self):
        for text, part in ((self.RULES, "basic_auth_users has no 'alice'"),
                           (self.users(5, carol="x"), "no rule under access gives 'carol' a role"),
                           (self.RULES + "basic_auth_users:\n  alice: sesame\n", "alice has no bcrypt hash"),
                           (self.RULES + "basic_auth_users: {}\nbasic_auth_users: {}\n", "twice"),
                           ("access:\n  - {name: a, basic: 'x:y', role: view}\n", "without ':'"),
                           ("access:\n  - {name: a, basic: x, role: view, sees: own}\n", "no user of this machine"),
                           ("access:\n  - {name: a, basic: x, role: view}\n  - {name: b, basic: x, role: view}\n", "no other rule has")):
            said = self.refused(text)
            self.assertIn(part, said, text)
            self.assertNotIn("sesame", said)


if __name__ == "__main__":
    unittest.main()
