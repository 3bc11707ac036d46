# SPDX-License-Identifier: Apache-2.0
"""The HTTP contract, sentence by sentence: the parts for other programs, errors, and HTTP itself."""
import json
import os
import re
import shlex
import socket
import subprocess
import time
import urllib.parse

from harness import proc
from harness.contract import FACTS, ContractCase, Pprof, exposition, folded

JSON = {"Content-Type": "application/json"}
ROUTES = {
    "get": ["/profile", "/top", "/api/v1/jvms", "/api/v1/jvms/{pid}", "/api/v1/jvms/{pid}/preflight", "/api/v1/jvms/{pid}/perf-map",
            "/api/v1/services", "/api/v1/signals", "/api/v1/words", "/api/v1/changes", "/api/v1/push", "/api/v1/events", "/api/v1/captures", "/api/v1/captures/{id}", "/api/v1/captures/{id}/stream",
            "/api/v1/captures/{id}/profile", "/api/v1/query", "/api/v1/diff", "/api/v1/timeline", "/api/v1/schedules",
            "/debug/pprof/profile", "/sd", "/metrics", "/healthz", "/readyz", "/", "/openapi.json",
            "/api/v1/jvms/{pid}/threads"],
    "post": ["/mcp", "/api/v1/captures", "/api/v1/captures/{id}/stop", "/api/v1/triggers/{name}"],
    "delete": ["/api/v1/captures/{id}"],
}
TARGET = ["pid", "container", "nspid", "pod", "namespace", "jvm", "service"]
RENDERING = ["format", "threads", "user", "kernel", "include", "exclude", "depth", "names", "lines", "annotate", "top", "title",
             "reverse", "inverted", "minwidth", "width", "total", "by", "operation", "trace", "span", "spans", "calls", "over"]
TAKING = ["seconds", "from", "to", "at", "event", "symbols", "source", "hz", "interval"]
# Parameters that each route must accept at least.
PARAMETERS = {
    "/profile": TARGET + RENDERING + TAKING, "/top": [*TARGET, "once", "interval", "by", "operation", "include", "exclude", "user", "kernel", "from", "to", "at"],
    "/api/v1/jvms/{pid}/perf-map": ["symbols", "unfold"], "/api/v1/jvms/{pid}/threads": ["format", "group"],
    "/api/v1/events": ["pid", "match"],
    "/api/v1/signals": ["pid", "service", "format"],
    "/api/v1/words": ["pid", "service", "from", "to", "at", "event", "format"],
    "/api/v1/captures": [*TARGET, "limit", "cursor", "from", "to", "at"], "/api/v1/captures/{id}/profile": RENDERING,
    "/api/v1/query": TARGET + RENDERING + ["from", "to", "at"], "/api/v1/diff": [*TARGET, "a", "b", "normalize", "format"],
    "/api/v1/timeline": [*TARGET, "from", "to", "at"], "/debug/pprof/profile": [*TARGET, "seconds"],
}
# A valid value of each parameter.
ALL = bool(os.environ.get("FLAMED_CONTRACT_ALL"))
VALUES = {"pid": "PID", "container": "IDENT", "nspid": "1", "pod": "POD", "namespace": "nowhere", "jvm": "Contract", "service": "Contract",
          "format": "json", "include": "a", "exclude": "b", "depth": "9", "names": "full", "top": "9", "title": "t",
          "minwidth": "1", "width": "900", "seconds": "0.1", "from": "-30s", "to": "-0.1s", "at": "-10s", "event": "cpu", "symbols": "memory", "source": "auto",
          "hz": "99", "interval": "10ms", "a": "-20s..-10s", "b": "-10s..-1s", "limit": "5", "state": "running", "operation": "GET", "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
          "span": "00f067aa0ba902b7", "calls": "a", "over": "1ms",
          "match": "cpu"}


class OtherPrograms(ContractCase):
    def test_pprof_profile(self):
        stood = self.world.machine.seconds
        answer = self.get("/debug/pprof/profile?seconds=0.4&hz=199&nonsense=1&debug=0", pid=self.pid)
        self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")
        self.facts(answer)
        profile = Pprof(answer.body)
        self.assertEqual(profile.types, [("samples", "count"), ("cpu", "nanoseconds")])
        self.assertEqual(profile.strings[0], "")
        self.assertGreater(profile.counts, 0)
        self.assertAlmostEqual(profile.time_nanos / 1e9, time.time(), delta=10)
        self.assertAlmostEqual(profile.duration_nanos / 1e9, 0.4, delta=0.3 + self.world.machine.seconds - stood)
        self.assertTrue(profile.period_type)
        whole = Pprof(self.get("/debug/pprof/profile?seconds=0.2").body)
        self.assertGreater(whole.counts, 0)
        self.bad("/debug/pprof/profile?seconds=0.2&pid=2147483646", 404)
        self.bad("/debug/pprof/profile?seconds=x", 400, parameter="seconds")

    def test_other_profiles_of_pprof(self):
        for name in ("heap", "allocs", "block", "mutex", "goroutine"):
            for query in ("", f"?pid={self.pid}&seconds=0.1", "?debug=0&gc=1"):
                with self.subTest(name=name, query=query):
                    answer = self.get(f"/debug/pprof/{name}{query}")
                    self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")
                    profile = Pprof(answer.body)
                    self.assertTrue(profile.types)
                    self.assertEqual(profile.strings[0], "")
        self.bad("/debug/pprof/nonsense", 404)

    def test_service_discovery(self):
        w = self.world

        def jvms() -> set[str]:
            return {str(j["pid"]) for j in self.get("/api/v1/jvms").json()["jvms"]}

        for _ in range(50): # tests beside this one start and end JVMs: repeats until the list was stable
            before, answer, after = jvms(), self.get("/sd"), jvms()
            if before == after:
                break
        self.assertEqual(answer.headers["Content-Type"].split(";")[0], "application/json")
        entries = {e["labels"]["__param_pid"]: e for e in answer.json()}
        self.assertEqual(set(entries), after, "always the full list")
        for entry in entries.values():
            self.assertEqual(len(entry["targets"]), 1)
            self.assertRegex(entry["targets"][0], r"^[\w.:\[\]-]+:\d+$")
            for label, value in entry["labels"].items():
                self.assertRegex(label, r"^[a-zA-Z_][a-zA-Z0-9_]*$")
                self.assertIsInstance(value, str)
            self.assertIn("service_name", entry["labels"])
        # JVMs of tests beside this one may still be unknown.
        self.assertEqual(entries[str(w.host.pid)]["labels"]["main"], "Contract")
        self.assertEqual(entries[str(w.inside.pid)]["labels"]["main"], w.spin.main)
        self.assertIn(entries[str(w.inside.pid)]["labels"]["container"], (w.ident, w.ident[:12]))

    def test_metrics(self):
        answer = self.get("/metrics")
        self.assertRegex(answer.headers["Content-Type"], r"^text/plain; version=0\.0\.4")
        found = exposition(answer.text)
        seconds = found["flamed_jvm_cpu_seconds_total"]
        categories = set(re.findall(r'category="(\w+)"', " ".join(seconds)))
        self.assertLessEqual(categories, {"java", "interpreter", "jit", "gc", "vm", "native", "kernel"})
        self.assertIn("java", categories)
        self.assertTrue(any("Contract" in labels for labels in seconds))
        self.assertEqual(list(found["flamed_sideband_malformed_bytes_total"].values()), [0])
        # Functions are in metrics of their own, once a minute of them is over.
        text = " ".join(labels for name, rows in found.items() if not name.startswith("flamed_function_") for labels in rows)
        self.assertNotIn("worker-0", text)
        self.assertNotIn("Contract.mix", text)
        for name in found:
            self.assertRegex(name, r"^(flamed|process)_")

    def test_health(self):
        for path in ("/healthz", "/readyz"):
            self.get(path)
        page = self.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
        self.assertTrue(page.headers["Content-Type"].startswith("text/html"))

    def test_index(self):
        """curl gets text: each command in it works unchanged."""
        for unix in (False, True):
            index = self.get("/", headers={"Accept": "*/*"}, unix=unix)
            self.assertEqual(index.headers["Content-Type"], "text/plain; charset=utf-8")
            listed = dict(re.findall(r"(?m)^ *(\d+) +[0-9.]+% (.*)$", index.text))
            ill = [" ! " in line for line in listed.values()]
            self.assertEqual(ill, sorted(ill, reverse=True), index.text)
            if str(self.pid) not in listed: # six JVMs of other tests may be before it: with problems, or busier
                self.assertEqual(len(ill), 6, index.text)
            commands = re.findall(r"(?m)^  (curl .*)$", index.text)
            self.assertEqual(len(commands), 3, index.text)
            for command in commands:
                words = shlex.split(command.replace("seconds=10", "seconds=1").replace("/top?", "/top?once=1&"))
                if words[1:3] == ["-o", "flame.html"]:
                    words[2] = "/dev/null"
                if unix:
                    self.assertIn(self.daemon.unix, words)
                answer = subprocess.run([*words, "-s", "-S", "--fail"], capture_output=True, text=True, timeout=30)
                pid = re.search(r"pid=(\d+)", command)
                if not pid or proc.alive(int(pid[1])): # the busiest JVM may be another test's
                    self.assertEqual(answer.returncode, 0, f"{command}: {answer.stderr}")


class Document(ContractCase):
    """/openapi.json and the routes agree."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = cls.daemon.get("/openapi.json").json()
        body = json.dumps({"pid": cls.pid, "seconds": 0.3}).encode()
        answer = cls.daemon.request("POST", "/api/v1/captures", body=body, headers=JSON)
        assert answer.status == 201, answer
        cls.ident = answer.json()["id"]
        proc.wait_until(lambda: cls.daemon.get(f"/api/v1/captures/{cls.ident}").json()["state"] == "done", 30, "a capture is done")

    def resolve(self, node: dict) -> dict:
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/")]
            node = target
        return node

    def queries(self, route: str, method: str) -> set[str]:
        item = self.document["paths"][route]
        rows = [self.resolve(p) for p in item.get("parameters", []) + item[method].get("parameters", [])]
        return {p["name"] for p in rows if p["in"] == "query"}

    def path(self, route: str) -> str:
        return route.replace("{pid}", str(self.pid)).replace("{id}", self.ident).replace("{name}", "nonsense")

    def test_every_route_of_the_contract(self):
        self.assertTrue(self.document["openapi"].startswith("3.1"))
        for method, routes in ROUTES.items():
            for route in routes:
                paths = [r for r in self.document["paths"] if re.sub(r"\{\w+\}", "{}", r) == re.sub(r"\{\w+\}", "{}", route)]
                self.assertTrue(paths and method in self.document["paths"][paths[0]], f"{method} {route}")
        for name in ("heap", "allocs", "block", "mutex", "goroutine"):
            self.assertTrue({f"/debug/pprof/{name}", "/debug/pprof/{profile}", "/debug/pprof/{name}"} & set(self.document["paths"]), name)
        for route, wanted in PARAMETERS.items():
            self.assertLessEqual(set(wanted), self.queries(route, "get"), route)

    def test_nothing_else_is_accepted(self):
        """Tests each parameter on each route by HEAD, which takes no samples: refused unless the document lists it. Without
        FLAMED_CONTRACT_ALL a route is tested with one in eight of those that it must refuse, each route with others."""
        w = self.world
        everything = {name for route, item in self.document["paths"].items() for method in item if method in ("get", "post", "delete")
                      for name in self.queries(route, method)}
        self.assertLessEqual(set(TARGET + RENDERING + TAKING), everything)
        connection = self.daemon.connection(20) # reopened if an answer without length closes it
        for number, (route, item) in enumerate(self.document["paths"].items()):
            if "get" not in item or route.startswith("/debug/pprof/") or route == "/":
                continue
            listed = self.queries(route, "get")
            refused = sorted(everything - set(listed))
            for name in [*sorted(listed), "nonsense", *(refused if ALL else refused[number % 8::8])]:
                value = ("jvm" if route == "/api/v1/timeline" else "operation") if name == "by" else VALUES.get(name, "1")
                value = value.replace("PID", str(self.pid)).replace("IDENT", w.ident).replace("POD", w.pod)
                query = {name: "2s" if route == "/top" and name == "interval" else value}
                query |= {"container": w.ident} if name == "nspid" else {}
                query |= {k: VALUES[k] for k in ("a", "b") if route in ("/api/v1/diff", "/api/v1/changes") and k != name}
                query |= {"from": "-30s"} if name == "to" else {}
                query |= {"calls": VALUES["calls"]} if name == "over" else {}
                query |= {"event": "sched:sched_switch", "filter": "prev_pid == 1"} if name == "filter" else {}
                where = self.path(route) + "?" + urllib.parse.urlencode(query)
                if item["get"]["x-flamed-role"] == "manage": # root has this role only on the Unix socket
                    response = self.daemon.request("HEAD", where, unix=True)
                else:
                    connection.request("HEAD", where)
                    response = connection.getresponse()
                    response.read()
                with self.subTest(route=route, name=name):
                    if name not in listed:
                        self.assertEqual(response.status, 400)
                    elif name in ("namespace", "cursor", "unfold") or route.endswith("/diff"):
                        self.assertIn(response.status, (200, 400, 404, 409)) # no capture matches
                    elif name in ("calls", "over") and route != "/profile":
                        self.assertIn(response.status, (400, 404)) # the stored captures have no event=wall
                    else:
                        self.assertEqual(response.status, 200)
        connection.close()

    def test_the_same_on_the_unix_socket(self):
        for route in self.document["paths"]:
            if "get" in self.document["paths"][route] and not route.endswith("/stream") and route != "/top":
                path = self.path(route) + ("?a=-9s..-5s&b=-5s..-1s" if route.endswith("/diff") else "")
                with self.subTest(route=route):
                    one, two = (self.daemon.request("HEAD", path, unix=unix) for unix in (False, True))
                    if self.document["paths"][route]["get"]["x-flamed-role"] == "manage":
                        self.assertEqual((one.status, two.status), (403, 200))
                        continue
                    self.assertEqual(one.status, two.status)
                    self.assertEqual(one.headers.get("Content-Type"), two.headers.get("Content-Type"))


class Errors(ContractCase):
    def test_statuses(self):
        for method, path, allowed in (("POST", "/profile", "GET"), ("PUT", "/api/v1/captures", "POST"), ("DELETE", "/metrics", "GET"),
                                      ("GET", "/api/v1/captures/x/stop", "POST"), ("PATCH", "/", "GET"), ("OPTIONS", "/sd", "GET"),
                                      ("POST", "/api/v1/jvms", "GET"), ("TRACE", "/profile", "GET")):
            answer = self.daemon.request(method, path)
            self.problem(answer, 405)
            self.assertIn(allowed, [m.strip() for m in answer.headers["Allow"].split(",")])
        for path in ("/nonsense", "/profile/", "/api", "/api/v1", "/api/v1/nonsense", "/api/v2/jvms", "//profile", "/Profile"):
            self.bad(path, 404)
        for path in ("/api/v1/jvms", "/sd", "/metrics", "/healthz", "/readyz", "/api/v1/schedules", "/openapi.json"):
            self.bad(path + "?nonsense=1", 400, "nonsense", parameter="nonsense")

    def test_head(self):
        """HEAD takes no samples, and has the headers of GET."""
        events = self.daemon.perf_events()
        kept = len(self.get("/api/v1/captures?limit=1000").json()["captures"])
        for path in (f"/profile?pid={self.pid}&seconds=30", f"/profile?pid={self.pid}&seconds=30&format=pprof", "/profile?seconds=60",
                     f"/top?pid={self.pid}", "/debug/pprof/profile?seconds=30", f"/api/v1/jvms/{self.pid}/perf-map"):
            start = self.world.machine.given()
            answer = self.daemon.request("HEAD", path)
            took = self.world.machine.given() - start
            self.assertEqual(answer.status, 200, path)
            self.assertEqual(answer.body, b"")
            self.assertLess(took, 2)
        self.assertEqual(self.daemon.request("HEAD", "/profile?format=pprof").headers["Content-Type"], "application/octet-stream")
        self.assertEqual(self.daemon.perf_events(), events)
        self.assertEqual(len(self.get("/api/v1/captures?limit=1000").json()["captures"]), kept)
        for path in ("/profile?pid=2147483646", "/api/v1/jvms/2147483646", "/nonsense", "/profile?nonsense=1"):
            self.assertEqual(self.daemon.request("HEAD", path).status, self.daemon.get(path).status, path)
        for path in ("/api/v1/jvms", "/metrics", "/", "/sd", "/openapi.json", "/healthz"):
            one, two = self.daemon.request("HEAD", path), self.get(path)
            self.assertEqual(one.headers["Content-Type"], two.headers["Content-Type"])

    def test_head_is_followed_by_nothing(self):
        for path in ("/profile?seconds=9", "/top", "/debug/pprof/profile", f"/api/v1/jvms/{self.pid}/perf-map", "/metrics", "/sd"):
            got = self.daemon.raw(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), timeout=1, first=20)
            with self.subTest(path=path):
                self.assertTrue(got.startswith(b"HTTP/1.1 200 "), got[:80])
                self.assertTrue(got.endswith(b"\r\n\r\n") and got.count(b"\r\n\r\n") == 1, got[-40:])

    def test_too_many_captures(self):
        made, refused = [], []
        try:
            for _ in range(70):
                answer = self.daemon.request("POST", "/api/v1/captures", headers=JSON,
                                             body=json.dumps({"pid": self.pid, "seconds": 60}).encode())
                (made if answer.status == 201 else refused).append(answer)
            self.assertEqual(len(made), 64)
            for answer in refused:
                self.problem(answer, 429, "64")
                self.assertRegex(answer.headers["Retry-After"], r"^\d+$")
            self.assertEqual(self.daemon.get("/profile", pid=self.pid, seconds=0.1).status, 429)
            self.get(f"/profile?pid={self.pid}&from=-20s&format=flat") # the past needs no capture
        finally:
            for answer in made:
                self.assertEqual(self.daemon.request("DELETE", answer.headers["Location"]).status // 100, 2)
        proc.wait_until(lambda: self.daemon.get("/profile", pid=self.pid, seconds=0.1, format="flat").status == 200, 5, "room again")

    def test_other_sites(self):
        port = self.daemon.port
        for path, method in (("/profile?seconds=0.1", "GET"), ("/api/v1/jvms", "GET"), ("/metrics", "GET"), ("/", "GET"),
                             ("/healthz", "GET"), ("/api/v1/captures", "POST"), ("/openapi.json", "GET"), ("/sd", "GET")):
            for headers in ({"Host": "evil.example"}, {"Host": f"127.0.0.1.evil.example:{port}"}, {"Origin": "http://evil.example"},
                            {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": f"http://localhost:{port + 1}"},
                            {"Referer": "http://evil.example/"}):
                if method == "GET" and "Sec-Fetch-Site" in headers and path == "/":
                    continue # a link to the page
                self.bad(path, (400, 403, 421), method=method, headers=headers, body=b"{}" if method == "POST" else None)
        for headers in ({"Host": f"localhost:{port}"}, {"Host": "localhost"}, {"Host": f"[::1]:{port}"},
                        {"Origin": f"http://localhost:{port}", "Host": f"localhost:{port}"}, {"Sec-Fetch-Site": "same-origin"},
                        {"Sec-Fetch-Site": "none"}):
            self.get("/api/v1/events", headers=headers)


class Wire(ContractCase):
    """HTTP as other clients use it."""

    def one(self, *lines: str, body: bytes = b"", host: bool = True) -> tuple[int, bytes]:
        data = "\r\n".join([lines[0], *(["Host: localhost"] if host else []), *lines[1:], "Connection: close", "", ""]).encode()
        got = self.daemon.raw(data + body, timeout=8)
        match = re.match(rb"HTTP/1\.[01] (\d+) ", got)
        self.assertIsNotNone(match, got[:200])
        return int(match[1]), got

    def test_requests(self):
        body = json.dumps({"pid": self.pid, "seconds": 0.1}).encode()
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (body[:5], body[5:])) + b"0\r\n\r\n"
        for status, lines, sent in (
            (200, ("GET /healthz HTTP/1.0",), b""),
            (200, (f"GET http://localhost:{self.daemon.port}/healthz HTTP/1.1",), b""),
            (200, ("GET /health%7A HTTP/1.1",), b""),
            (200, ("GET /healthz? HTTP/1.1",), b""),
            (200, ("GET /healthz HTTP/1.1", "Accept: text/html", "Accept: application/json", "X-Odd: \xe9"), b""),
            (200, (f"GET /api/v1/events?p%69d={self.pid}& HTTP/1.1",), b""),
            (201, ("POST /api/v1/captures HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked"), chunks),
            (201, ("POST /api/v1/captures HTTP/1.1", "Content-Type: application/json", "Expect: 100-continue",
                   f"Content-Length: {len(body)}"), body),
            (404, ("GET /profile%2f HTTP/1.1",), b""),
        ):
            with self.subTest(lines=lines):
                found, got = self.one(*lines, body=sent)
                if found == 100:
                    found = int(re.findall(rb"HTTP/1\.1 (\d+) ", got)[1])
                self.assertEqual(found, status, got[:300])
        self.assertIn(self.one("GET /healthz HTTP/1.1", host=False)[0], (400, 403), "HTTP/1.1 has a Host")
        self.assertEqual(self.one(f"GET http://evil.example:{self.daemon.port}/healthz HTTP/1.1")[0], 403, "the host that counts")
        self.assertIn(self.one("GET /healthz HTTP/1.1", "Host: evil.example")[0], (400, 403, 421), "two Hosts")

    def test_pipelining(self):
        request = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        got = self.daemon.raw(request * 4 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertEqual(got.count(b"HTTP/1.1 200 "), 5)

    def test_large_headers(self):
        status, _ = self.one("GET /healthz HTTP/1.1", *(f"X-{i}: " + "a" * 990 for i in range(30)))
        self.assertEqual(status, 200, "up to 32 KiB")
        got = self.daemon.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: " + b"a" * 990 + b"\r\n" +
                              b"".join(b"X-%d: %s\r\n" % (i, b"a" * 990) for i in range(40)) + b"\r\n", timeout=8)
        self.assertRegex(got[:20], rb"^HTTP/1\.[01] 4(31|13|14) ")

    def test_a_slow_client(self):
        with socket.create_connection(("127.0.0.1", self.daemon.port)) as s:
            for byte in b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n":
                s.sendall(bytes([byte]))
                time.sleep(0.01)
            self.assertIn(b" 200 ", s.recv(4096))

    def test_curl(self):
        """The line of the README, the file name in the answer, and compression."""
        url = f"http://localhost:{self.daemon.port}/profile?pid={self.pid}&from=-20s"
        for arguments, start in ((["--compressed"], "<!doctype html"), (["-H", "Accept: application/json"], "{"),
                                 (["--unix-socket", self.daemon.unix], "<!doctype html")):
            text = subprocess.run(["curl", "-sSf", *arguments, url], capture_output=True, text=True, check=True).stdout
            self.assertTrue(text.lower().startswith(start), text[:80])
        answer = self.get(f"/profile?pid={self.pid}&from=-20s&format=collapsed", headers={"Accept-Encoding": "gzip"})
        self.assertIn(answer.headers.get("Content-Encoding"), (None, "gzip"))

    def test_in_time(self):
        """An answer never takes longer than seconds + 5."""
        start = self.world.machine.given()
        answer = self.get("/profile?seconds=1&format=collapsed", timeout=30)
        self.assertLess(self.world.machine.given() - start, 6)
        self.assertGreater(sum(folded(answer).values()), 0)
        for name in FACTS:
            self.assertIn(name, answer.headers)
