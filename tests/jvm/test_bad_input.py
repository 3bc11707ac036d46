# SPDX-License-Identifier: Apache-2.0
"""Mistakes of clients, one case per row. The answer is a problem+json document that names the mistake and the remedy. flamed's memory does
not grow, and others are served meanwhile."""
import json
import os
import socket
import subprocess
import threading

from harness import proc
from harness.daemon import Answer, Daemon
from harness.spinning import WithSpinningJvm

EXPLODING = "(a+)+$"


class BadInput(WithSpinningJvm):
    rest = 45

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.machine = proc.Standstill()
        cls.machine.__enter__()
        cls.addClassCleanup(cls.machine.__exit__)
        cls.daemon.get("/api/v1/jvms")

    def problem(self, answer: Answer, status: int | tuple[int, ...], *words: str, parameter: str | None = None) -> dict:
        """Checks ANSWER against RFC 9457 and the contract. Returns the document."""
        statuses = (status,) if isinstance(status, int) else status
        self.assertIn(answer.status, statuses, str(answer))
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json", str(answer))
        document = answer.json()
        for member in ("type", "title", "status", "detail"):
            self.assertIn(member, document)
        self.assertEqual(document["status"], answer.status)
        self.assertGreater(len(document["detail"]), 15, "one sentence that helps")
        self.assertLess(len(document["detail"]), 1000)
        for word in words:
            self.assertIn(word.lower(), json.dumps(document).lower())
        if parameter:
            self.assertEqual(document.get("parameter"), parameter)
        return document

    def bad(self, query: str, *words: str, status: int | tuple[int, ...] = 400, parameter: str | None = None) -> None:
        with self.subTest(query=query):
            start = self.machine.given()
            self.problem(self.daemon.get("/profile?" + query), status, *words, parameter=parameter)
            self.assertLess(self.machine.given() - start, 2, "a bad request is refused at once")

    def test_unknown_parameters(self):
        self.bad(f"pid={self.pid}&secs=1", "secs", parameter="secs")
        self.bad(f"pid={self.pid}&Seconds=1", "Seconds")
        self.bad("%00=1")
        self.bad("=1")

    def test_empty_values(self):
        for name in ("pid", "seconds", "hz", "event", "format", "container", "jvm", "include", "symbols", "threads"):
            self.bad(f"{name}=", name, parameter=name)
        self.bad("pid", "pid")

    def test_doubled_parameters(self):
        for query in ("hz=99&hz=98", "format=html&format=json", "event=cpu&event=cpu", "symbols=memory&symbols=none"):
            self.bad(f"pid={self.pid}&{query}", query.split("=")[0])
        answer = self.daemon.get("/profile", pid=self.pid, seconds=["0.2", "30"], format="collapsed")
        self.assertEqual(answer.status, 200, "seconds repeated: the first counts")

    def test_pids(self):
        for value in ("0", "-1", "1e30", "abc", "1.5", "0x10", "99999999999999999999", "%2B1", "1,", ",1", "1,,2", "%201", "4%202",
                      "1;2", "%EF%BC%91"):
            self.bad(f"pid={value}", "pid", parameter="pid")
        self.bad("pid=1,1", "pid", status=(400,))
        self.bad("pid=2147483646", "2147483646", status=404)
        self.bad("pid=" + ",".join(str(i) for i in range(1, 5000)), "pid", status=(400, 414, 431))

    def test_a_thread(self):
        tid = next(t for t in proc.threads(self.pid) if t != self.pid)
        self.bad(f"pid={tid}", str(tid), "thread", str(self.pid), status=(400, 404))

    def test_a_zombie(self):
        zombie = subprocess.Popen(["true"])
        proc.wait_until(lambda: proc.stat(zombie.pid)[0] == "Z", 5, "a zombie")
        self.bad(f"pid={zombie.pid}", str(zombie.pid), "zombie", status=(400, 404))
        zombie.wait()

    def test_a_kernel_thread(self):
        kernel = next(iter(proc.children(2)), 0)
        if not kernel:
            self.skipTest("no kernel thread is to be seen here")
        self.bad(f"pid={kernel}", str(kernel), "kernel", status=(400, 404))

    def test_contradictions(self):
        self.bad(f"nspid={proc.ns_pids(self.pid)[-1]}", "nspid", "container")
        self.bad(f"pid={self.pid}&hz=99&interval=10ms", "hz", "interval")
        self.bad(f"pid={self.pid}&container=ffffffffffff", status=(400, 404))

    def test_numbers(self):
        for name, values in {
            "seconds": ("0", "-1", "0.05", "3601", "1e9", "nan", "inf", "-0", "1s", "0x1", "1,5"),
            "hz": ("0", "-1", "10001", "nan", "inf", "abc", "99hz", "1e-9"),
            "interval": ("0", "0ms", "1", "ms", "1ns", "10min", "-1ms", "99999999999s", "1e3ms"),
            "minwidth": ("-1", "101", "x"), "threads": ("2", "true", "-1"), "user": ("yes",), "kernel": ("maybe",),
        }.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    answer = self.daemon.get(f"/profile?pid={self.pid}&seconds=0.1&{name}={value}"
                                             if name != "seconds" else f"/profile?pid={self.pid}&seconds={value}")
                    self.problem(answer, 400, name, parameter=name)

    def test_words(self):
        self.bad(f"pid={self.pid}&event=nonsense", "event", "nonsense")
        self.bad(f"pid={self.pid}&from=-5s&event=cppu", "event", "did you mean 'cpu'")
        self.bad(f"pid={self.pid}&event=sched:", "event", "sched:")
        self.bad(f"pid={self.pid}&format=pdf", "format", "html")
        self.bad(f"pid={self.pid}&symbols=maybe", "symbols", "memory")

    def test_nothing_matches(self):
        document = self.problem(self.daemon.get("/profile", jvm=f"{self.spin.main}x", seconds=1), 404)
        self.assertIn(self.spin.main, json.dumps(document), "the nearest matches are named")
        slip = self.spin.main + "zz"
        for answer in (self.daemon.get("/profile", service=slip.upper(), seconds=1), self.daemon.get("/profile", jvm=slip, seconds=1),
                       self.daemon.get("/api/v1/diff", jvm=slip, a="-20s..-10s", b="-10s..now")):
            remedy = self.problem(answer, 404)["remedy"]
            self.assertIn(self.spin.main, remedy.split(",")[0], "the nearest is the first one")
        self.problem(self.daemon.get("/profile", container="ffffffffffff", seconds=1), 404, "ffffffffffff")
        self.problem(self.daemon.get("/profile", container="abc", seconds=1), (400, 404), "abc")

    def test_escapes(self):
        for query in ("pid=%00", "pid=%", "pid=%4", "pid=%zz", "jvm=%ff%fe", "jvm=a%00b", "title=%c0%80&pid=1", "%zz=1"):
            self.bad(query, status=(400, 404))

    def test_regular_expressions(self):
        for value in ("(", "[", "*", "(?P<", "a{99999}", "(" * 500 + ")" * 500):
            with self.subTest(value=value[:20]):
                self.problem(self.daemon.get("/profile", jvm=value, seconds=1), 400, "jvm", parameter="jvm")
        for value in (EXPLODING, "(.*)*" * 8 + "$", "(x+x+)+y", "((a*)*)*b"):
            with self.subTest(value=value):
                start = self.machine.given()
                answer = self.daemon.get("/profile", jvm=value, seconds=0.2, format="collapsed")
                self.assertLess(self.machine.given() - start, 5)
                self.assertIn(answer.status, (200, 400, 404), str(answer))
                for name in ("include", "exclude"):
                    start = self.machine.given()
                    answer = self.daemon.get("/profile", pid=self.pid, seconds=0.2, format="collapsed", **{name: value})
                    self.assertLess(self.machine.given() - start, 5)
                    self.assertIn(answer.status, (200, 400), str(answer))

    def test_paths(self):
        self.problem(self.daemon.get("/nonsense"), 404, "/nonsense")
        self.problem(self.daemon.get("/profile/"), 404)
        self.problem(self.daemon.get("/api/v1/jvms/abc"), (400, 404))
        self.problem(self.daemon.get("/api/v1/jvms/0"), (400, 404))
        self.problem(self.daemon.get("/api/v1/jvms/2147483646"), 404)
        self.problem(self.daemon.get(f"/api/v1/jvms/{os.getpid()}"), 404)
        self.problem(self.daemon.get("/" + "a" * 9000), (404, 414))
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//", "/profile%00"):
            with self.subTest(path=path):
                self.assertIn(self.daemon.get(path).status, (400, 404))

    def test_methods(self):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            with self.subTest(method=method):
                answer = self.daemon.request(method, f"/profile?pid={self.pid}&seconds=30")
                self.problem(answer, 405)
                self.assertIn("GET", answer.headers["Allow"])

    def test_head_samples_nothing(self):
        start, events = self.machine.given(), self.daemon.perf_events()
        answer = self.daemon.request("HEAD", f"/profile?pid={self.pid}&seconds=30")
        self.assertEqual(answer.status, 200, str(answer))
        self.assertLess(self.machine.given() - start, 2)
        self.assertEqual(answer.body, b"")
        self.assertEqual(self.daemon.perf_events(), events)
        self.assertEqual(self.daemon.request("HEAD", "/profile?pid=2147483646").status, 404)

    def test_raw_nonsense(self):
        get = f"GET /profile?pid={self.pid}&seconds=0.1&format=collapsed HTTP/1.1\r\nHost: localhost\r\n".encode()
        for name, data in {
            "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "empty line": b"\r\n\r\n", "only a newline": b"\n",
            "no version": b"GET /\r\n\r\n", "odd version": b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
            "NUL in the path": b"GET /profile\0x HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "100 KB of headers": get + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n",
            "5000 headers": get + b"".join(b"X-%d: a\r\n" % i for i in range(5000)) + b"\r\n",
            "huge length": get.replace(b"GET", b"POST") + b"Content-Length: 99999999999999\r\n\r\n",
            "negative length": get + b"Content-Length: -1\r\n\r\n",
            "half a chunk": get.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\nabc",
        }.items():
            with self.subTest(name=name):
                answer = self.daemon.raw(data, timeout=3)
                if answer:
                    self.assertRegex(answer[:20], rb"^HTTP/1\.[01] [245]\d\d ")
                self.assertEqual(self.daemon.get("/healthz").status, 200)

    def test_other_sites(self):
        """Another web site cannot start a capture, in whichever header the browser names it."""
        path = f"/profile?pid={self.pid}&seconds=0.1"
        for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{self.daemon.port}"},
                        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            with self.subTest(headers=headers):
                self.problem(self.daemon.get(path, headers=headers), (400, 403, 421))
        for headers in ({"Host": f"localhost:{self.daemon.port}"}, {"Origin": f"http://127.0.0.1:{self.daemon.port}"},
                        {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
            with self.subTest(headers=headers):
                self.assertEqual(self.daemon.get(path, headers=headers).status, 200)

    def test_slow_and_half_clients(self):
        """200 clients send half a request and nothing more: memory does not grow, and others are served."""
        self.daemon.profile(pid=self.pid, seconds=0.5)
        before = {name: cost["rss_kib"] for name, cost in self.daemon.cost().items()}
        slow = []
        try:
            for _ in range(200):
                s = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=5)
                slow.append(s)
                try:
                    s.sendall(b"GET /profile?pid=1&seco")
                except OSError:
                    pass
            for unix in (True, False):
                served = self.daemon.request("GET", "/healthz", unix=unix, timeout=10)
                self.assertEqual(served.status, 200, f"others are served meanwhile: {served}")
            self.assertGreater(self.daemon.profile(pid=self.pid, seconds=1, hz=199).samples, 0)
        finally:
            after = {name: cost["rss_kib"] for name, cost in self.daemon.cost().items()}
            for s in slow:
                s.close()
        proc.wait_until(lambda: self.quiet_status() == 200, 10, "TCP clients are served again")
        for name, kib in after.items():
            self.assertLess(kib, before[name] + 16384, f"{name} with 200 slow clients")

    def quiet_status(self) -> int:
        try:
            return self.daemon.get("/healthz", timeout=2).status
        except OSError:
            return 0

    def test_memory_is_flat(self):
        """3,000 bad requests do not make memory grow. flamed reads programs that other tests start only once, so another 3,000 requests
        would show a leak again."""
        def bad_requests(n): # without http.client, which takes ten times as long as flamed
            with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=60) as s, s.makefile("rb") as answers:
                for i in range(n):
                    s.sendall(f"GET /profile?pid=abc{i}&x{i}=1&jvm={'z' * 500} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                    self.assertEqual(answers.readline().split()[1], b"400")
                    while (line := answers.readline()) != b"\r\n":
                        if line.startswith(b"Content-Length:"):
                            length = int(line.split()[1])
                    answers.read(length)

        def memory() -> dict[str, float]:
            return {name: cost["rss_kib"] for name, cost in self.daemon.cost().items()}

        bad_requests(500)
        for _ in range(3):
            before = memory()
            threads = [threading.Thread(target=bad_requests, args=(375,)) for _ in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            grown = {name: kib - before[name] for name, kib in memory().items()}
            if max(grown.values()) < 4096:
                break
        self.assertLess(max(grown.values()), 4096, grown)
