# SPDX-License-Identifier: Apache-2.0
"""Certificates of clients, by openssl and curl."""
import os
import re
import shutil
import signal
import socket
import ssl
import time
import unittest

from harness import proc
from harness.daemon import free_port
from test_tls import NOBODY, Reply, Served


class Clients(Served):
    """Certificates of clients."""

    RULES = """access:
  - {name: scraper, certificate: prometheus.example.com, role: view}
  - {name: workload, certificate: "spiffe://example.com/pyroscope", role: profile}
  - {name: person, certificate: ops@example.com, role: manage}
  - {name: old, certificate: Old Name, role: view}
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        def client(name: str, san: str, ca=None, subject: str = "/CN=x", **more) -> tuple[str, str]:
            pair = (ca or cls.ca).sign(name, subject, san, usage=more.pop("usage", "clientAuth"), **more)
            os.chmod(pair[1], 0o644) # curl runs as another user
            return pair
        cls.dns = client("dns", "DNS:else.example.com,DNS:Prometheus.example.com")
        cls.uri = client("uri", "URI:spiffe://example.com/pyroscope")
        cls.mail = client("mail", "email:ops@example.com")
        cls.common = client("common", "", subject="/CN=Old Name")
        cls.both = client("both", "DNS:unknown.example.com", subject="/CN=Old Name")
        cls.twisted = client("twisted", "DNS:ops@example.com,DNS:spiffe://example.com/pyroscope,URI:prometheus.example.com")
        cls.ended = client("ended-client", "DNS:prometheus.example.com", ended=True)
        cls.foreign = client("foreign", "DNS:prometheus.example.com", ca=cls.other_ca)
        cls.wrong_use = client("wrong-use", "DNS:prometheus.example.com", usage="serverAuth")

    def clients(self, kind: str) -> str:
        return self.tls(more=f"  client_auth_type: {kind}\n  client_ca_file: {self.ca.cert}\n")

    def shows(self, port: int, path: str, pair: tuple[str, str] | None, *arguments: str, version: str = "--tlsv1.3") -> Reply:
        certificate = ["--cert", pair[0], "--key", pair[1]] if pair else []
        return self.curl(f"https://localhost:{port}{path}", *certificate, version, *arguments, uid=NOBODY)

    def test_optional(self):
        daemon, port = self.serve(self.clients("VerifyClientCertIfGiven") + self.RULES)
        audit, metrics = "/api/v1/audit", "/metrics"
        for pair, path, status in ((self.dns, metrics, 200), (self.dns, audit, 403), (self.mail, audit, 200), (self.uri, metrics, 200),
                                   (self.uri, audit, 403)):
            reply = self.shows(port, path, pair)
            self.assertEqual(reply.status, status, f"{pair[0]} {path}: {reply}")
        self.assertIn("certificate scraper", self.shows(port, audit, self.dns).body)
        # Names of another kind do not match, and the common name is ignored: the kernel's user counts.
        for pair in (self.twisted, self.common, self.both, None):
            reply = self.shows(port, audit, pair)
            self.assertEqual(reply.status, 403, f"{pair}: {reply}")
            self.assertIn(f"user {NOBODY}", reply.body, str(pair))
        for pair in (self.ended, self.foreign, self.wrong_use):
            for version in ("--tlsv1.2", "--tlsv1.3"):
                limit = ["--tls-max", version[-3:]]
                reply = self.shows(port, "/healthz", pair, *limit, version=version)
                self.assertEqual(reply.status, 0, f"{pair[0]}: the connection ends: {reply}")
        # One connection, two requests: the second has the same subject.
        twice = self.shows(port, "/api/v1/whoami", self.mail, f"https://localhost:{port}/api/v1/whoami")
        self.assertEqual(twice.body.count("certificate person"), 2, twice)

    def test_required(self):
        _, port = self.serve(self.clients("RequireAndVerifyClientCert") + self.RULES)
        for version in ("1.2", "1.3"):
            self.assertEqual(self.shows(port, "/healthz", None, "--tls-max", version, version="--tlsv" + version).status, 0)
            self.assertEqual(self.shows(port, "/metrics", self.dns, "--tls-max", version, version="--tlsv" + version).status, 200)
            self.assertEqual(self.shows(port, "/healthz", self.foreign, "--tls-max", version, version="--tlsv" + version).status, 0)

    def test_what_is_not_verified_tells_nothing(self):
        token, rule = self.token("reader", "view")
        for kind, without in (("NoClientCert", 200), ("RequestClientCert", 200), ("RequireAnyClientCert", 0)):
            _, port = self.serve(self.tls(more=f"  client_auth_type: {kind}\n") + "access:\n" + rule)
            for pair in (self.dns, self.foreign):
                reply = self.shows(port, "/api/v1/audit", pair)
                self.assertEqual(reply.status, 403, f"{kind}: {reply}")
                self.assertIn(f"user {NOBODY}", reply.body)
            self.assertEqual(self.shows(port, "/healthz", None).status, without, kind)

    def test_another_ca_by_a_reload(self):
        ca = self.folder + "/client-ca.pem"
        shutil.copy(self.ca.cert, ca)
        daemon, port = self.serve(self.tls(more=f"  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: {ca}\n") + self.RULES)
        self.assertEqual(self.shows(port, "/metrics", self.dns).status, 200)
        shutil.copy(self.other_ca.cert, ca + ".new")
        os.rename(ca + ".new", ca)
        os.kill(daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: self.shows(port, "/metrics", self.foreign).status == 200, 20, "the other CA's count", 0.1)
        self.assertEqual(self.shows(port, "/metrics", self.dns).status, 0, "and those of the one before no more")

    def keep(self, port: int, pair: tuple[str, str]) -> ssl.SSLSocket:
        """A connection that stays open."""
        context = ssl.create_default_context(cafile=self.ca.cert)
        context.load_cert_chain(*pair)
        s = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname="localhost")
        self.addCleanup(s.close)
        return s

    def ask(self, s: ssl.SSLSocket, path: str) -> tuple[int, str]:
        """Returns the status and the whole answer of another request on it."""
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        stream = s.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += (line := stream.readline())
            if not line:
                return 0, head.decode()
        length = re.search(rb"(?i)content-length: (\d+)", head)
        return int(head.split()[1]), (head + stream.read(int(length[1]) if length else 0)).decode()

    def test_connections_that_are_kept_open(self):
        """A removed CA and an expired certificate also count for open connections and their streams."""
        ca = self.folder + "/kept-ca.pem"
        shutil.copy(self.ca.cert, ca)
        daemon, port = self.serve(self.tls(more=f"  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: {ca}\n") + self.RULES)
        at = int(time.time()) + int(8 * proc.PATIENCE)
        soon = self.ca.sign("soon", "/CN=x", "email:ops@example.com", usage="clientAuth", ended=True,
                            ends=time.strftime("%Y%m%d%H%M%SZ", time.gmtime(at)))
        short, kept, other, streaming = self.keep(port, soon), self.keep(port, self.mail), self.keep(port, self.uri), self.keep(port, self.uri)
        for s in (short, kept, other):
            self.assertEqual(self.ask(s, "/metrics")[0], 200)
        streaming.sendall(b"GET /top?interval=500ms HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b" 200 ", streaming.recv(4096))
        while time.time() <= at + 1:
            time.sleep(0.2)
        status, text = self.ask(short, "/healthz")
        self.assertEqual(status, 403, text)
        self.assertRegex(text, r"(?s)Connection: close.*it has ended")
        self.assertEqual(short.recv(1), b"")
        self.assertEqual(self.ask(kept, "/metrics")[0], 200)
        shutil.copy(self.other_ca.cert, ca + ".new")
        os.rename(ca + ".new", ca)
        os.kill(daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: self.shows(port, "/metrics", self.dns).status == 0, 20, "the CA counts no more for new ones", 0.1)
        for s in (kept, other):
            status, text = self.ask(s, "/metrics")
            self.assertEqual(status, 403, text)
            self.assertIn("flamed's rules for certificates have changed", text)
            self.assertEqual(s.recv(1), b"")
        said = b""
        while piece := streaming.recv(65536):
            said += piece
        self.assertIn(b"the right to this has ended", said)

    def test_mistakes_of_clients_are_told(self):
        for text, part in ((self.tls() + self.RULES, "a rule for a certificate takes tls_server_config with"),
                           (self.tls(more="  client_auth_type: RequireAndVerifyClientCert\n"), "client_ca_file goes with"),
                           (self.tls(more=f"  client_ca_file: {self.ca.cert}\n"), "client_ca_file goes with"),
                           (self.tls(more="  client_auth_type: sometimes\n"), "NoClientCert, RequestClientCert"),
                           (self.clients("VerifyClientCertIfGiven") + "access:\n  - {name: a, certificate: \"\", role: view}\n", "a DNS name")):
            self.assertIn(part, self.refused(text), text)
        said = self.refused(self.tls(more=f"  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: {self.key}\n"), "--listen",
                            f"https://127.0.0.1:{free_port()}")
        self.assertIn("there is no certificate of a CA", said)


if __name__ == "__main__":
    unittest.main()
