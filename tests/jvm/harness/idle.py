# SPDX-License-Identifier: Apache-2.0
"""A server that does nothing but answer: how long any answer takes on this machine, as busy as it is."""
import http.client
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
# Threads that an answer of flamed's takes one after the other, where the server here has one: those of connections and of requests,
HOPS = 2
ENGINE_HOPS = 4 # and the engine's and a reader's where the engine is asked


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

    def limit(self, seconds: float, hops: int = HOPS) -> float:
        """What an answer that is due after SECONDS may take on this machine."""
        return seconds + hops * self.worst

    def __enter__(self) -> "IdleServer":
        self.process = subprocess.Popen([*proc.ENDS_WITH_US, sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
