# SPDX-License-Identifier: Apache-2.0
"""The cost of an answer: requests per second and CPU time of /healthz, /metrics and /api/v1/jvms. On connections that stay, and on one per
request, which includes finding its owner. The same over TLS, where each connection needs a whole handshake of TLS 1.3. --before DIR: a
build to compare with; both run at once and get requests in turn, so that other load affects both. --check: fails if finding the subject
of a request takes too long."""
import argparse
import os
import shutil
import socket
import ssl
import statistics
import sys
import tempfile
import time

import common # pylint: disable=unused-import (where the harness is)
from harness import certs, paths
from harness.daemon import Daemon, free_port

BATCH = 32 # requests sent at once on a connection that stays
ROUTES = ("/healthz", "/metrics", "/api/v1/jvms")
HOWS = {"stays": "one connection", "anew": "a connection each"}
WAYS = {"plain": "", "ecdsa": "TLS, P-256", "rsa": "TLS, RSA 2048"}
CONNECT_LIMIT_US = 1800 # limit of CPU time for a connection with its subject and a request, with --check: ten times the usual time


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of all threads of a process, to the nanosecond. flamed's threads stay."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


class Flamed:
    """A flamed under test, with the certificate for WAY."""

    def __init__(self, name: str, build: str, way: str = "plain"):
        self.name, self.way = name, way
        paths.BUILD = os.path.realpath(build)
        self.folder = tempfile.mkdtemp(prefix="flamed-serving.")
        self.tls, options = None, []
        if way != "plain":
            self.tls, self.port = ssl.create_default_context(), free_port()
            options = [f"--config={self.configure(rsa=way == 'rsa')}", f"--listen=https://127.0.0.1:{self.port}"]
        self.daemon = Daemon("--recorder-hz=0", "--connections-max=4096", *options)
        self.port = self.port if self.tls else self.daemon.port
        self.pid = max(pid for name, pids in self.daemon.processes().items() if name == "flamed" for pid in pids)
        self.rates: dict[tuple, list[float]] = {}
        self.costs: dict[tuple, list[float]] = {}

    def configure(self, rsa: bool) -> str:
        """Writes a configuration with a certificate of the test's own CA, which the client trusts."""
        ca = certs.Authority(self.folder, "ca")
        cert, key = ca.sign("server", "/CN=flamed", "IP:127.0.0.1,DNS:localhost", rsa=rsa)
        self.tls.load_verify_locations(ca.cert)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        path = os.path.join(self.folder, "flamed.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"tls_server_config:\n  cert_file: {cert}\n  key_file: {key}\n")
        return path

    def stop(self) -> None:
        self.daemon.stop(check=False)
        shutil.rmtree(self.folder)

    def connect(self) -> socket.socket:
        s = socket.create_connection(("127.0.0.1", self.port), 20)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(s, server_hostname="127.0.0.1") if self.tls else s

    def stays(self, route: str, seconds: float) -> int:
        """Measures requests answered on one connection."""
        ask = f"GET {route} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * BATCH
        count, end = 0, time.monotonic() + seconds
        with self.connect() as s:
            while time.monotonic() < end:
                s.sendall(ask)
                got, tail = 0, b""
                while got < BATCH:
                    chunk = s.recv(1 << 20)
                    if not chunk:
                        raise RuntimeError(f"{self.name}: {route}: the connection was closed")
                    both = tail + chunk
                    if b"HTTP/1.1 4" in both:
                        raise RuntimeError(f"{self.name}: {route}: {both[-600:]!r}")
                    got += both.count(b"HTTP/1.1 200 OK\r\n")
                    tail = both[-16:]
                count += BATCH
        return count

    def anew(self, route: str, seconds: float) -> int:
        """Measures requests answered, each on a new connection."""
        ask = f"GET {route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            with self.connect() as s:
                s.sendall(ask)
                text = b""
                while chunk := s.recv(1 << 20):
                    text += chunk
            if not text.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"{self.name}: {route}: {text[:200]!r}")
            count += 1
        return count

    def slice(self, how: str, route: str, seconds: float) -> None:
        cpu, begun = cpu_seconds(self.pid), time.monotonic()
        count = getattr(self, how)(route, seconds)
        took, cpu = time.monotonic() - begun, cpu_seconds(self.pid) - cpu
        self.rates.setdefault((how, route), []).append(count / took)
        self.costs.setdefault((how, route), []).append(cpu / count * 1e6)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="folder of another build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    builds = ([("before", options.before)] if options.before else []) + [("now", paths.BUILD)]
    flameds = [Flamed(*one, way) for way in WAYS for one in builds]
    try:
        for n in range(options.rounds):
            for how in HOWS:
                for route in ROUTES:
                    for one in flameds[::-1 if n % 2 else 1]:
                        one.slice(how, route, options.seconds)
        for way, what in WAYS.items():
            for how, often in HOWS.items():
                for route in ROUTES:
                    print(f"{what:13} {often:17} {route:14}" + "".join(
                        f"  {one.name}: {statistics.median(one.rates[how, route]):8.0f}/s {statistics.median(one.costs[how, route]):7.1f} us of CPU"
                        f" (best {min(one.costs[how, route]):.1f})" for one in flameds if one.way == way))
        cost = min(next(one for one in flameds if one.name == "now").costs["anew", "/healthz"])
        if options.check and cost > CONNECT_LIMIT_US:
            print(f"a connection with a request takes {cost:.0f} us of CPU at best: at most {CONNECT_LIMIT_US} are right")
            return 1
        return 0
    finally:
        for one in flameds:
            one.stop()


if __name__ == "__main__":
    sys.exit(main())
