# SPDX-License-Identifier: Apache-2.0
"""Clients that read nothing, shake hands without an end, or send what a browser never sends. Others are served meanwhile."""
import contextlib
import json
import re
import socket
import ssl
import subprocess
import sys
import time
import unittest

from harness import caller, jvm, paths, proc
from harness.daemon import Daemon
from harness.spinning import WithSpinningJvm
from test_tls import Served

ALICE = 64114 # a user that no machine has
CONNECTIONS = 128
RSS_KIB = 384 << 10
ANSWERS = 4 << 20 # answer_max_bytes
QUEUED_KIB = CONNECTIONS * 256 # in the kernel
# Besides the answers: what flamed keeps for 128 connections, and answers that are being written.
GROWTH_KIB = (ANSWERS >> 10) + (24 << 10)
# READER PORT COUNT PATH: requests PATH by COUNT connections, and reads no more of the answers than their statuses.
READER = """
import json, socket, sys, time
port, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
found = []
for _ in range(count):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(30)
    try:
        s.connect(("127.0.0.1", port))
        s.sendall(f"GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n".encode())
    except OSError:
        pass
    found.append(s)
statuses = {}
for s in found:
    try:
        status = s.recv(12, socket.MSG_PEEK)[9:].decode()
    except OSError:
        status = ""
    statuses[status] = statuses.get(status, 0) + 1
print(json.dumps(statuses), flush=True)
sys.stdin.read()
"""


class SlowReaders(jvm.WithClasses):
    sources = ("ManyPaths.java",)

    @contextlib.contextmanager
    def readers(self, daemon: Daemon, path: str):
        """Alice's connections, which read nothing. Returns the number of answers by status."""
        process = subprocess.Popen(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", sys.executable, "-c", READER,
                                    str(daemon.port), str(CONNECTIONS), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()
            process.communicate()

    def queued_kib(self, daemon: Daemon) -> int:
        """Returns how much memory the kernel has for answers that are on their way: the w of skmem."""
        sockets = subprocess.run(["ss", "-tmnH", f"sport = :{daemon.port}"], capture_output=True, text=True, check=True).stdout
        queued = [int(kept) for kept in re.findall(r"skmem:\(r\d+,rb\d+,t\d+,tb\d+,f\d+,w(\d+)", sockets)]
        self.assertGreater(len(queued), 0, sockets)
        return sum(queued) >> 10

    def test_answers_that_are_not_read(self):
        """They take no more memory than answer_max_bytes: later ones are refused, and others are served."""
        paths.need("setpriv", "ss")
        user = ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups"]
        target = self.enterContext(jvm.Jvm(paths.jdk(17), "-Xint", "-Xmx64m", "-cp", self.classes.folder, "ManyPaths", wrap=user))
        with Daemon("--recorder-hz=0", "--answer-max-bytes", str(ANSWERS)) as daemon:
            url = f"http://127.0.0.1:{daemon.port}"
            reply = caller.ask(url + "/api/v1/captures", uid=ALICE, method="POST", body=json.dumps({"pid": target.pid, "seconds": 300, "hz": 999}))
            self.assertEqual(reply.status, 201, str(reply))
            capture = f"/api/v1/captures/{reply.json()['id']}"
            proc.wait_until(lambda: daemon.get(capture, unix=True).json()["samples"] >= 300, 100, "300 samples")
            self.assertIn(daemon.request("POST", capture + "/stop", unix=True).status, (200, 202, 204))
            path = capture + "/profile?format=collapsed"
            size = proc.wait_until(lambda: len(reply.body) if (reply := caller.ask(url + path, uid=ALICE)).status == 200 else 0, 30, "it is stored")
            target.stop()
            self.assertGreater(CONNECTIONS * size >> 10, 2 * GROWTH_KIB, "so many answers take more")
            worker = next(pid for pid in daemon.pids() if "flamed-engine" in proc.threads(pid).values())
            with proc.PeakMemory(worker) as peak:
                before = peak.kib
                with self.readers(daemon, path) as statuses:
                    for unix in (True, False):
                        self.assertEqual(daemon.get("/healthz", unix=unix).status, 200)
                        self.assertEqual(daemon.get("/api/v1/jvms", unix=unix, timeout=30).status, 200)
                    queued = self.queued_kib(daemon)
                text = f"{size} bytes each: {statuses}, {before >> 10} MiB before, at most {peak.kib >> 10} MiB, and {queued >> 10} MiB in the kernel"
            print(text)
            self.assertEqual(sum(statuses.values()), CONNECTIONS, text)
            self.assertGreater(statuses.get("200", 0), 0, text)
            self.assertGreater(statuses.get("429", 0), 0, text)
            self.assertLess(peak.kib, before + GROWTH_KIB, text)
            self.assertLess(queued, QUEUED_KIB, text)
            self.assertEqual(caller.ask(url + path, uid=ALICE).status, 200, "they are gone")


class SlowHandshakes(Served):
    def test_a_byte_a_second(self):
        """Handshakes that go on for ever, one byte after another, keep no place from others, and take no processor time."""
        daemon, port = self.serve(self.tls(), "--connections-max", "32")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with self.assertRaises(ssl.SSLWantReadError):
            ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
        hello, slow = outgoing.read(), []
        self.addCleanup(lambda: [s.close() for s in slow])
        for _ in range(64):
            slow.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        used, seconds = self.used(daemon), 5
        for i in range(seconds):
            for s in slow:
                with contextlib.suppress(OSError): # replaced by another client
                    s.sendall(hello[i:i + 1])
            time.sleep(1)
            if i % 2:
                self.assertEqual(self.curl(f"https://localhost:{port}/healthz").status, 200)
        self.assertLess((self.used(daemon) - used) / seconds, 0.2, "of a processor")

    def used(self, daemon: Daemon) -> float:
        return sum(cost["cpu_s"] for cost in daemon.cost().values())


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv", "curl")
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        cls.url = f"http://localhost:{cls.daemon.port}"

    def known_by(self, cookie: str) -> str:
        return caller.ask(self.url + "/api/v1/whoami", uid=ALICE, headers=(cookie,)).json()["known_by"]

    def test_no_client_chooses_a_session(self):
        """A cookie that was there before a login is no session after it, and the session of an earlier login is another one."""
        chosen = f"Cookie: flamed_{self.daemon.port}={'a' * 64}"
        address = caller.login_address(self.daemon)
        reply = caller.ask(address, uid=ALICE, headers=(chosen, "Sec-Fetch-Site: same-origin"))
        self.assertEqual(reply.status, 303, str(reply))
        given = "Cookie: " + reply.cookie.split(";")[0]
        self.assertNotEqual(given, chosen)
        self.assertEqual(self.known_by(given), "cookie")
        self.assertEqual(self.known_by(chosen), "kernel")
        self.assertNotEqual(caller.log_in(self.daemon, ALICE), given)

    def test_tickets_and_tokens_that_are_wrong(self):
        """A ticket counts once, and a wrong one or a wrong token gives nothing, however near it is."""
        address = caller.login_address(self.daemon)
        good = address.rpartition("=")[2]
        for ticket in ("", "0" * 64, good[:-1], good + "0", good[:-1] + ("1" if good[-1] == "0" else "0"), good.upper() + "%00", good + "%00"):
            reply = caller.ask(f"{self.url}/login?ticket={ticket}", uid=ALICE)
            self.assertIn(reply.status, (400, 403), f"{ticket}: {reply}")
            self.assertEqual(reply.cookie, "", ticket)
        self.assertEqual(caller.ask(address, uid=ALICE).status, 303, "wrong ones used nothing up")
        self.assertEqual(caller.ask(address, uid=ALICE).status, 403, "replayed")
        for shown in ("Bearer", "Bearer ", "Bearer flamed_" + "0" * 64, "Bearer flamed_" + "0" * 4000, "Basic OjA=", "Basic !", "Digest x"):
            reply = caller.ask(self.url + "/api/v1/whoami", uid=ALICE, headers=(f"Authorization: {shown}",))
            self.assertIn(reply.status, (200, 400, 401, 403, 429), f"{shown}: {reply}")
            if reply.status == 200:
                self.assertEqual((reply.json()["known_by"], reply.json()["subject"]), ("kernel", f"user {ALICE}"), shown)


class Bytes(WithSpinningJvm):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-max-bytes", str(4 << 20))
        cls.addClassCleanup(cls.daemon.stop)

    def statuses(self, data: bytes) -> list[int]:
        """Returns the statuses of all answers to DATA on one connection."""
        got = self.daemon.raw(data, timeout=2, first=20)
        return [int(status) for status in re.findall(rb"^HTTP/1\.1 (\d{3}) ", got, re.M)]

    def test_pipelined_requests(self):
        """Requests that are sent at once are answered in their order, each with its own rights. A body of one is no request."""
        host = b"Host: localhost\r\n"
        health, missing = b"GET /healthz HTTP/1.1\r\n" + host + b"\r\n", b"GET /api/v1/jvms/2147483646 HTTP/1.1\r\n" + host + b"\r\n"
        self.assertEqual(self.statuses(health + missing + health), [200, 404, 200])
        self.assertEqual(self.statuses(health * 50), [200] * 50)
        inner = b"DELETE /api/v1/captures/x HTTP/1.1\r\n" + host + b"\r\n"
        post = b"POST /api/v1/captures HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
        self.assertEqual(self.statuses(post + b"Content-Length: %d\r\n\r\n" % len(inner) + inner + health), [400, 200])
        chunked = post + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
        self.assertEqual(self.statuses(chunked + health), [400, 200])
        both = post + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertEqual(self.statuses(both + health), [400], "two lengths end the connection")
        for bad in (b"Transfer-Encoding: chunked, chunked\r\n", b"Transfer-Encoding: x\r\n", b"Content-Length: 4\r\nContent-Length: 5\r\n",
                    b"Content-Length: +4\r\n", b"Content-Length: 0x4\r\n"):
            with self.subTest(bad=bad):
                # Some versions of libmicrohttpd write the head of such an answer twice.
                self.assertEqual(set(self.statuses(post + bad + b"\r\n{}  " + health)), {400})
        workers = self.daemon.pids()
        endless = post + b"Transfer-Encoding: chunked\r\n\r\n" + (b"4000\r\n" + b"a" * 0x4000 + b"\r\n") * 256
        self.assertIn(self.statuses(endless), ([413], [])) # closed before it is sent whole
        self.assertEqual(self.statuses(health), [200])
        self.assertEqual(self.daemon.pids(), workers)

    def test_times_of_the_past(self):
        """No value of from, to, at and past is answered by anything but a refusal or an answer of the past, nor takes long."""
        huge = ("9" * 400, "-" + "9" * 30, "1e309", "NaN", "inf", "0x7fffffffffffffff", "9223372036854775807", "18446744073709551616", "-1",
                "-0", "1;2", "%00", "%2500", "now-", "now+1h", "-9223372036854775808s", "1s1s", "2038-01-19T03:14:08Z", "0000-00-00T00:00:00Z",
                "9999-12-31T23:59:60Z", "2026-02-30T00:00:00Z", "2026-11-29T00:00:00%2B99:99", "-99999999999d", "%D9%A1s", "%F0%9F%98%80")
        routes = (f"/profile?pid={self.pid}&format=collapsed&", f"/api/v1/timeline?pid={self.pid}&", f"/api/v1/changes?pid={self.pid}&",
                  "/api/v1/signals?", "/api/v1/services?")
        for route in routes:
            for name in ("from", "to", "at", "past") if route is routes[0] else ("from", "to"):
                for value in huge:
                    query = f"{name}={value}" if name != "to" else f"from=-60s&to={value}"
                    with proc.Standstill() as machine:
                        answer = self.daemon.get(route + query, timeout=30)
                        took = machine.given()
                    with self.subTest(route=route, query=query):
                        self.assertIn(answer.status, (200, 400, 404, 409, 416), str(answer))
                        if answer.status == 400:
                            self.assertIn("detail", answer.json())
                        self.assertLess(took, 5)
        worker = next(pid for pid in self.daemon.pids() if "flamed-engine" in proc.threads(pid).values())
        self.assertLess(proc.memory_kib(worker), RSS_KIB)


if __name__ == "__main__":
    unittest.main()
