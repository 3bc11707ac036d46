# SPDX-License-Identifier: Apache-2.0
"""TLS and authentication over it, by openssl, curl and plain sockets. flamed's own process has no right to read the files."""
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from harness import certs, paths, proc
from harness.daemon import Daemon, free_port

NOBODY = 61777 # a user that no machine has: the kernel knows the user, who has few rights


class Reply:
    """The reply that curl got: 0 without an answer."""

    def __init__(self, status: int, body: str, code: int):
        self.status, self.body, self.code = status, body, code

    def __str__(self) -> str:
        return f"{self.status} (curl {self.code}) {self.body[:400]}"


class Served(unittest.TestCase):
    """A folder with a CA and a certificate of localhost, and options to start flamed with them."""

    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("openssl", "curl")
        cls.folder = tempfile.mkdtemp(prefix="flamed-tls.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.ca = certs.Authority(cls.folder, "ca")
        cls.other_ca = certs.Authority(cls.folder, "other-ca")
        cls.cert, cls.key = cls.ca.sign("server", "/CN=flamed", "DNS:localhost,DNS:node.example.com,DNS:*.wild.example.com,IP:127.0.0.1")
        cls.second = cls.ca.sign("second", "/CN=second", "DNS:localhost,IP:127.0.0.1")
        os.chmod(cls.ca.cert, 0o644)

    def tls(self, cert: str | None = None, key: str | None = None, more: str = "") -> str:
        return f"tls_server_config:\n  cert_file: {cert or self.cert}\n  key_file: {key or self.key}\n{more}"

    def configure(self, text: str, name: str | None = None) -> str:
        path = os.path.join(self.folder, name or self.id().rsplit(".", 1)[1] + ".yaml")
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)
        return path

    def token(self, name: str, role: str) -> tuple[str, str]:
        """Returns a token and its rule."""
        said = subprocess.run([paths.program("flamed"), "--new-token", name], capture_output=True, text=True, check=True).stdout
        token = re.search(r"^flamed_\w+$", said, re.M)[0]
        return token, f"  - name: {name}\n    token_sha256: {re.search('token_sha256: ([0-9a-f]{64})$', said, re.M)[1]}\n    role: {role}\n"

    def serve(self, config: str, *more: str, wait: bool = True, address: str = "https://127.0.0.1") -> tuple[Daemon, int]:
        port = free_port()
        daemon = Daemon("--config", self.configure(config), "--listen", f"{address}:{port}", *more, wait=wait)
        self.addCleanup(daemon.stop, check=wait)
        return daemon, port

    def refused(self, config: str, *more: str) -> str:
        """Returns flamed's output when it does not start."""
        path = self.configure(config)
        command = [paths.program("flamed"), "--config", path, "--store", self.folder + "/store-of-none", *more]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def curl(self, url: str, *arguments: str, uid: int = 0, ca: str | None = None) -> Reply:
        command = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "curl", "-s", "-g", "-m", "30", "-w",
                   "\n%{http_code}", "--cacert", ca or self.ca.cert, *arguments, url]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        body, _, status = result.stdout.rpartition("\n")
        return Reply(int(status or 0), body, result.returncode)

    def handshake(self, port: int, *arguments: str, send: str = "") -> str:
        """Returns both outputs of openssl s_client."""
        result = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments], input=send, capture_output=True,
                                text=True, timeout=30, check=False)
        return result.stdout + result.stderr

    def problems(self, daemon: Daemon) -> list[str]:
        return daemon.problems("tls")


class Server(Served):
    """The server's side: protocols, names, files."""

    def test_protocols_and_ciphers(self):
        daemon, port = self.serve(self.tls())
        for version in ("-tls1", "-tls1_1"):
            said = self.handshake(port, version, "-cipher", "ALL:@SECLEVEL=0")
            self.assertIn("Cipher is (NONE)", said, version)
            self.assertIn("no peer certificate", said, version)
        for version, name in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
            said = self.handshake(port, version, "-CAfile", self.ca.cert, "-verify_return_error")
            self.assertIn("Verify return code: 0 (ok)", said, version)
            self.assertIn(f"New, {name}", said)
        for cipher in ("AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256", "NULL", "aNULL", "ECDHE-ECDSA-AES256-SHA384"):
            said = self.handshake(port, "-tls1_2", "-cipher", cipher + ":@SECLEVEL=0")
            self.assertNotIn("Cipher is ECDHE", said, cipher)
            self.assertIn("Cipher is (NONE)", said, cipher)
        # The client chooses the group: none may cost more than some ms of CPU. ffdhe8192 took 300.
        for group in ("X25519", "P-256", "P-384"):
            self.assertIn("New, TLSv1.3", self.handshake(port, "-tls1_3", "-groups", group), group)
        for group in ("ffdhe2048", "ffdhe8192", "P-521", "X448"):
            self.assertIn("Cipher is (NONE)", self.handshake(port, "-tls1_3", "-groups", group), group)
        # Plain HTTP, noise and a client that asks for another name: the connection ends, and flamed runs on.
        for data in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", os.urandom(600), b"\x16\x03\x01\xff\xff" + os.urandom(2000), b"\x80" * 70):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
                got = b""
                try:
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    while chunk := s.recv(4096):
                        got += chunk
                except OSError:
                    pass # it was reset
                self.assertNotIn(b"HTTP", got)
        said = self.handshake(port, "-servername", "someone.else", "-CAfile", self.ca.cert)
        self.assertIn("Verify return code: 0 (ok)", said, "the one certificate, whatever name is asked for")
        self.assertEqual(self.curl(f"https://localhost:{port}/healthz").status, 200)
        self.assertEqual(daemon.get("/healthz").status, 200, "the plain address beside it")

    def test_renegotiation_is_refused(self):
        _, port = self.serve(self.tls())
        client = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2", "-legacy_renegotiation"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(client.kill)
        said = ""
        while "Verify return code" not in said:
            said += (line := client.stdout.readline())
            self.assertTrue(line, said)
        client.stdin.write("R\n")
        client.stdin.flush()
        rest, _ = client.communicate(timeout=30) # the client ends by itself when the connection does
        self.assertIn("RENEGOTIATING", rest)
        self.assertNotIn("verify return:1", rest, "no second handshake")
        self.assertEqual(self.curl(f"https://localhost:{port}/healthz").status, 200)

    def test_versions_by_configuration(self):
        _, port = self.serve(self.tls(more="  min_version: TLS13\n"))
        self.assertIn("no peer certificate", self.handshake(port, "-tls1_2"))
        self.assertIn("New, TLSv1.3", self.handshake(port))

    def test_who_asks_over_tls_on_this_machine(self):
        """The kernel's facts count as without TLS, and names in the certificate are names of flamed."""
        token, rule = self.token("reader", "view")
        _, port = self.serve(self.tls() + "access:\n" + rule)
        self.assertIn('"sees": "all"', self.curl(f"https://localhost:{port}/api/v1/whoami").body)
        self.assertIn('"sees": "own"', self.curl(f"https://localhost:{port}/api/v1/whoami", uid=NOBODY).body)
        reply = self.curl(f"https://localhost:{port}/api/v1/audit", uid=NOBODY)
        self.assertEqual(reply.status, 403)
        self.assertIn(f"user {NOBODY}", reply.body)
        self.assertEqual(self.curl(f"https://localhost:{port}/metrics", "-H", f"Authorization: Bearer {token}", uid=NOBODY).status, 200)
        self.assertEqual(self.curl(f"https://localhost:{port}/metrics", "-H", "Authorization: Bearer flamed_wrong").status, 401)
        for name, status in (("node.example.com", 200), ("NODE.example.com", 200), ("a.wild.example.com", 200), ("wild.example.com", 403),
                             ("a.b.wild.example.com", 403), ("evil.example.com", 403)):
            reply = self.curl(f"https://{name}:{port}/api/v1/jvms", "--resolve", f"{name}:{port}:127.0.0.1", "-k")
            self.assertEqual(reply.status, status, f"{name}: {reply}")
        self.assertEqual(self.curl(f"https://localhost:{port}/healthz", ca=self.other_ca.cert).code, 60, "curl refuses another CA's")

    def test_a_key_that_others_may_read(self):
        key = self.folder + "/open.key"
        shutil.copy(self.key, key)
        os.chmod(key, 0o640)
        daemon, port = self.serve(self.tls(key=key))
        self.assertIn(f"'{key}', is not its owner's alone", daemon.log())
        self.assertEqual(self.curl(f"https://localhost:{port}/healthz").status, 200)

    def test_the_files_are_out_of_flamed_s_reach(self):
        daemon, port = self.serve(self.tls())
        self.assertNotIn("its owner's alone", daemon.log())
        uids = {os.stat(f"/proc/{pid}").st_uid for pid in daemon.pids()} | \
            {int(re.search(r"^Uid:\t(\d+)", proc.read(f"/proc/{pid}/status"), re.M)[1]) for pid in daemon.pids()}
        uid = str(max(uids))
        self.assertNotEqual(uid, "0")
        result = subprocess.run(["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "cat", self.key], capture_output=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.curl(f"https://localhost:{port}/healthz").status, 200)


class Start(Served):
    """Refusals at the start, with the sentence that names what is missing."""

    def test_public_addresses_take_both(self):
        _, rule = self.token("remote", "view")
        for address in ("0.0.0.0:0", "[::]:0", "192.0.2.7:0"):
            said = self.refused("", "--listen", address)
            self.assertRegex(said, r"without authentication and TLS: tls_server_config .* and a rule under access")
            said = self.refused(self.tls(), "--listen", address)
            self.assertRegex(said, r"without authentication and TLS: a rule under access")
            said = self.refused("access:\n" + rule, "--listen", address)
            self.assertRegex(said, r"without authentication and TLS: tls_server_config with cert_file and key_file is missing")
        self.assertIn("tls_server_config", self.refused("", "--listen", "https://127.0.0.1:0"))
        check = subprocess.run([paths.program("flamed"), "--config", self.configure(self.tls()), "--listen", "0.0.0.0:0", "--check-config"],
                               capture_output=True, text=True, check=False)
        self.assertIn("a rule under access", check.stderr)

    def test_files_that_do_not_fit(self):
        address = ("--listen", f"https://127.0.0.1:{free_port()}")
        self.assertIn("is not that of the certificate", self.refused(self.tls(key=self.second[1]), *address))
        self.assertIn("there is no file", self.refused(self.tls(cert=self.folder + "/none.pem"), *address))
        self.assertIn("cannot be read", self.refused(self.tls(cert=self.key), *address))
        self.assertIn("is no regular file", self.refused(self.tls(key=self.folder), *address))
        path = self.configure(self.tls())
        os.chmod(path, 0o666)
        said = subprocess.run([paths.program("flamed"), "--config", path, "--store", self.folder + "/none", *address], capture_output=True,
                              text=True, check=False, timeout=60).stderr
        self.assertIn("others than root may write to it", said)

    def test_mistakes_are_told(self):
        for text, part in (("tls_server_config:\n  cert_file: /c\n", "takes cert_file and key_file"),
                           ("tls_server_config: {cert_file: /c, key_file: /k}\n", "not written plainly"),
                           (self.tls(more="  min_version: TLS10\n"), "TLS12 or TLS13"),
                           (self.tls(more="  max_version: TLS12\n  min_version: TLS13\n"), "min_version is above"),
                           (self.tls(more="  cipher_suites: []\n"), "line 4: tls_server_config does not take 'cipher_suites'"),
                           (self.tls(more="  cert_file: /d\n"), "each key once"),
                           (self.tls() + self.tls(), "twice")):
            said = self.refused(text)
            self.assertIn(part, said, text)


class Remote(Served):
    """Another network namespace stands for another machine. The kernel knows no user there."""

    def test_from_elsewhere(self):
        paths.need("ip")
        token, rule = self.token("remote", "view")
        name, peer = f"fl{os.getpid() % 100000}", f"fp{os.getpid() % 100000}"
        space = f"flamed-{os.getpid()}"
        here, there = "198.51.100.1", "198.51.100.2" # TEST-NET-2: never a real address
        def ip(*arguments: str) -> None:
            subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)
        try:
            ip("netns", "add", space)
        except (subprocess.CalledProcessError, OSError) as e:
            raise unittest.SkipTest(f"no network namespaces here: {e}") from e
        self.addCleanup(subprocess.run, ["ip", "netns", "del", space], check=False)
        ip("link", "add", name, "type", "veth", "peer", "name", peer, "netns", space)
        ip("addr", "add", here + "/24", "dev", name)
        ip("link", "set", name, "up")
        ip("-n", space, "addr", "add", there + "/24", "dev", peer)
        ip("-n", space, "link", "set", peer, "up")
        _, port = self.serve(self.tls() + "access:\n" + rule, address=here)

        def far(path: str, *arguments: str, scheme: str = "https") -> Reply:
            result = subprocess.run(["ip", "netns", "exec", space, "curl", "-s", "-m", "20", "-w", "\n%{http_code}", "--cacert", self.ca.cert,
                                     "--connect-to", f"node.example.com:{port}:{here}:{port}", *arguments,
                                     f"{scheme}://node.example.com:{port}{path}"], capture_output=True, text=True, timeout=60, check=False)
            body, _, status = result.stdout.rpartition("\n")
            return Reply(int(status or 0), body, result.returncode)

        self.assertEqual(far("/healthz").status, 200)
        reply = far("/metrics")
        self.assertEqual(reply.status, 401, f"root elsewhere is nobody: {reply}")
        self.assertEqual(far("/metrics", "-H", f"Authorization: Bearer {token}").status, 200)
        self.assertEqual(far("/api/v1/audit", "-H", f"Authorization: Bearer {token}").status, 403)
        self.assertEqual(far("/healthz", scheme="http").status, 0, "no plain HTTP")
        self.assertIn('"sees": "all"', self.curl(f"https://node.example.com:{port}/api/v1/whoami", "--resolve", f"node.example.com:{port}:{here}").body,
                      "root of this machine is root, by whichever address")


class Reload(Served):
    """New files replace the earlier ones."""

    def serial(self, port: int) -> str:
        """Returns the subject of the certificate that a new connection gets."""
        said = self.handshake(port, "-CAfile", self.ca.cert)
        return re.search(r"subject=CN ?= ?(\S+)", said)[1]

    def put(self, pair: tuple[str, str], cert: str, key: str) -> None:
        for source, target in ((pair[0], cert), (pair[1], key)):
            shutil.copy(source, target + ".new")
            os.chmod(target + ".new", 0o600)
            os.rename(target + ".new", target)

    def test_reload_under_load(self):
        cert, key = self.folder + "/live.pem", self.folder + "/live.key"
        self.put((self.cert, self.key), cert, key)
        daemon, port = self.serve(self.tls(cert, key))
        context = ssl.create_default_context(cafile=self.ca.cert)
        failures, counts, over = [], [0] * 4, threading.Event()

        def load(at: int) -> None:
            """Connections that live for a hundred requests each."""
            while not over.is_set():
                try:
                    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname="localhost") as s:
                        stream = s.makefile("rb")
                        for _ in range(100):
                            s.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                            status = stream.readline()
                            length = 0
                            while (line := stream.readline()) not in (b"\r\n", b""):
                                if line.lower().startswith(b"content-length:"):
                                    length = int(line.split(b":")[1])
                            if b" 200 " not in status or len(stream.read(length)) != length:
                                raise RuntimeError(f"answered {status!r}")
                            counts[at] += 1
                            if over.is_set():
                                break
                except (OSError, RuntimeError) as e:
                    failures.append(repr(e))
                    return

        threads = [threading.Thread(target=load, args=(i,)) for i in range(len(counts))]
        for t in threads:
            t.start()
        try:
            for i in range(6):
                self.put(self.second if i % 2 == 0 else (self.cert, self.key), cert, key)
                os.kill(daemon.top(), signal.SIGHUP)
                wanted = "second" if i % 2 == 0 else "flamed"
                proc.wait_until(lambda w=wanted: self.serial(port) == w, 20, f"new connections have {wanted}", 0.1)
        finally:
            over.set()
            for t in threads:
                t.join()
        self.assertEqual(failures, [])
        self.assertGreater(min(counts), 20)

    def test_change_without_a_signal_and_a_broken_one(self):
        cert, key = self.folder + "/watched.pem", self.folder + "/watched.key"
        self.put((self.cert, self.key), cert, key)
        daemon, port = self.serve(self.tls(cert, key))
        self.assertEqual(self.problems(daemon), [])
        self.put(self.second, cert, key)
        proc.wait_until(lambda: self.serial(port) == "second", 20, "the change is seen", 0.2)
        # With another certificate's key the earlier files stay, and both the log and /readyz say so.
        self.put((self.second[0], self.key), cert, key)
        proc.wait_until(lambda: self.problems(daemon), 20, "/readyz says", 0.2)
        self.assertIn("is not that of the certificate", self.problems(daemon)[0])
        self.assertIn("those before stay in force", daemon.log())
        self.assertEqual(self.serial(port), "second")
        os.kill(daemon.top(), signal.SIGHUP)
        proc.wait_until(lambda: "the configuration was not read again" in daemon.log(), 20, "a reload fails whole", 0.2)
        self.assertEqual(self.serial(port), "second")
        self.put((self.cert, self.key), cert, key)
        proc.wait_until(lambda: self.serial(port) == "flamed", 20, "put right", 0.2)
        proc.wait_until(lambda: not self.problems(daemon), 20, "and /readyz is quiet", 0.2)
        # An expired certificate is used, and reported.
        ended = self.ca.sign("ended", "/CN=ended", "DNS:localhost", ended=True)
        self.put(ended, cert, key)
        proc.wait_until(lambda: any("ended at 2020-01-02" in p for p in self.problems(daemon)), 20, "one that has ended", 0.2)

    def test_what_a_reload_may_not_take_away(self):
        """An address that other machines reach keeps TLS and authentication, whatever a new file says."""
        _, rule = self.token("remote", "view")
        config = self.tls() + "access:\n" + rule
        daemon, port = self.serve(config, address="0.0.0.0")
        for text in (self.tls(), "access:\n" + rule, ""):
            self.configure(text)
            before = daemon.log().count("the configuration was not read again")
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda b=before: daemon.log().count("the configuration was not read again") > b, 20, "refused", 0.1)
        self.assertEqual(self.curl(f"https://localhost:{port}/healthz").status, 200)


class Slow(Served):
    """Clients that connect and never shake hands."""

    def test_silent_clients_lock_nobody_out(self):
        _, port = self.serve(self.tls(), "--connections-max", "32")
        silent = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(32)]
        half = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(32)]
        for s in half:
            s.sendall(b"\x16\x03\x01\x02\x00\x01\x00") # the begin of a ClientHello
        try:
            for _ in range(5):
                began = time.monotonic()
                self.assertEqual(self.curl(f"https://localhost:{port}/api/v1/jvms").status, 200)
                self.assertEqual(self.curl(f"https://localhost:{port}/api/v1/jvms", uid=NOBODY).status, 200)
                self.assertLess(time.monotonic() - began, 10 * proc.PATIENCE)
        finally:
            for s in silent + half:
                s.close()

    def stalled(self, port: int, tls: bool) -> list[socket.socket]:
        """Returns connections that stop at every stage: of the handshake, of the request, and of its answer."""
        document = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        context, found = ssl.create_default_context(cafile=self.ca.cert), []

        def connect() -> socket.socket:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096) # an answer does not fit into it
            s.settimeout(20)
            s.connect(("127.0.0.1", port))
            return s

        if tls:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            with self.assertRaises(ssl.SSLWantReadError):
                context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
            hello = outgoing.read()
            for part in (b"", hello[:100], hello):
                s = connect()
                s.sendall(part)
                found.append(s)
        for text in (b"", b"GET /heal", document * 30):
            s = connect()
            found.append(context.wrap_socket(s, server_hostname="localhost") if tls else s)
            found[-1].sendall(text)
        return found

    def idle(self, port: int, uid: int, count: int) -> list[socket.socket]:
        """Returns connections of UID that are idle at every stage: COUNT at each."""
        context, found = ssl.create_default_context(cafile=self.ca.cert), []
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for stage in range(4 * count):
            os.seteuid(uid) # the socket's owner for the kernel
            try:
                plain = socket.create_connection(("127.0.0.1", port), timeout=20)
            finally:
                os.seteuid(0)
            found.append(plain)
            try:
                if stage % 4 == 0:
                    plain.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
                    continue
                found[-1] = context.wrap_socket(plain, server_hostname="localhost")
                found[-1].sendall((b"", request[:20], request)[stage % 4 - 1])
                if stage % 4 == 3:
                    found[-1].recv(4096) # kept open after its answer
            except OSError:
                pass # closed as the one that was idle for longest
        return found

    def test_idle_clients_of_many_users_lock_nobody_out(self):
        """Far more idle connections than there is room for, of several users."""
        daemon, port = self.serve(self.tls(), "--connections-max", "16", "--idle-timeout", "60")
        idle = [s for uid in range(61020, 61026) for s in self.idle(port, uid, 6)]
        try:
            for _ in range(5):
                began = time.monotonic()
                for path in ("/healthz", "/api/v1/jvms", "/metrics"):
                    self.assertEqual(daemon.get(path, unix=True).status, 200, f"root on the Unix socket: {path}")
                for url in (f"https://localhost:{port}", f"http://localhost:{daemon.port}"):
                    self.assertEqual(self.curl(url + "/healthz", uid=NOBODY).status, 200, url)
                    self.assertEqual(self.curl(url + "/api/v1/jvms", uid=61019).status, 200, "another user " + url)
                self.assertLess(time.monotonic() - began, 10 * proc.PATIENCE)
        finally:
            for s in idle:
                s.close()

    def test_stalled_clients_take_no_processor_time(self):
        daemon, port = self.serve(self.tls(), "--recorder-hz", "0", "--idle-timeout", "60")
        pids = [pid for name, pids in daemon.processes().items() if name == "flamed" for pid in pids]
        stalled = self.stalled(port, tls=True) + self.stalled(daemon.port, tls=False)
        try:
            time.sleep(1) # the requests are handled by then
            before = sum(map(proc.cpu_seconds, pids))
            time.sleep(2)
            self.assertLess(sum(map(proc.cpu_seconds, pids)) - before, 0.6, "of two seconds")
        finally:
            for s in stalled:
                s.close()


if __name__ == "__main__":
    unittest.main()
