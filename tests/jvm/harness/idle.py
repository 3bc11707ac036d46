# SPDX-License-Identifier: Apache-2.0
"""Measures how long answers take on a machine under its present load: those of an idle server, and how long threads of flamed waited for a
processor."""
import contextlib
import http.client
import os
import subprocess
import sys

from harness import proc

SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
# Threads that an answer of flamed needs one after the other, where the idle server has one: those of connections and requests,
HOPS = 2
ENGINE_HOPS = 4 # and those of the engine and a reader, if the engine is asked


# Threads that every answer needs. "flamed-work" is not one: such a thread works for one client at a time.
COMMON_THREADS = {"flamed-net", "flamed-callers", "MHD-worker", "flamed-engine", "flamed-lookout", "flamed-reader", "flamed-broker"}


class Queued:
    """Measures how long one of flamed's COMMON_THREADS was ready to run without a processor: the machine's part of a wait. Threads of PIDS."""

    def __init__(self, pids: list[int]):
        self.pids = pids
        self.worst = 0.0 # seconds, of the worst thread

    def read(self) -> dict[int, int]:
        found = {}
        for pid in self.pids:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for tid, name in proc.threads(pid).items():
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        if name in COMMON_THREADS:
                            found[tid] = int(proc.read(f"/proc/{pid}/task/{tid}/schedstat").split()[1])
        return found

    def __enter__(self) -> "Queued":
        self.before = self.read()
        return self

    def __exit__(self, *_) -> None:
        after = self.read()
        self.worst = max((waited - self.before.get(tid, 0) for tid, waited in after.items()), default=0) / 1e9


class IdleServer:
    def __init__(self):
        self.worst = 0.0 # seconds

    def ask(self) -> None:
        with proc.Standstill() as machine:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            connection.request("GET", "/")
            connection.getresponse().read()
            connection.close()
            self.worst = max(self.worst, machine.given())

    def limit(self, seconds: float, hops: int = HOPS, queued: float = 0) -> float:
        """Returns the time limit on this machine for an answer that is due after SECONDS, if a thread of flamed was QUEUED for that long
        meanwhile."""
        return seconds + hops * max(self.worst, queued)

    def __enter__(self) -> "IdleServer":
        self.process = subprocess.Popen([*proc.ENDS_WITH_US, sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
