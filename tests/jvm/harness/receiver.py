# SPDX-License-Identifier: Apache-2.0
"""An engine that receives profiles: an HTTP server that keeps all requests, and answers as a test wants."""
import contextlib
import gzip
import http.server
import ssl
import threading


class Request:
    def __init__(self, path: str, headers, body: bytes):
        self.path, self.headers, self.raw = path, headers, body
        self.body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body


class Receiver:
    """ANSWER(request) returns (status, headers, body). None closes the connection in the middle of an answer. A body that is an iterator of
    bytes is written piece by piece, for as long as the other end reads. CONTEXT: it serves by TLS."""

    def __init__(self, answer=lambda request: (200, {}, b""), port: int = 0, address: str = "127.0.0.1",
                 context: ssl.SSLContext | None = None):
        self.requests: list[Request] = []
        self.lock = threading.Lock()
        self.answer = answer
        self.written = self.ended = 0 # counts of iterators
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = Request(self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append(request)
                answer = outer.answer(request)
                if answer is None:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
                    self.close_connection = True
                    return
                if not isinstance(answer, tuple):
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        for piece in answer:
                            self.wfile.write(piece)
                            outer.written += len(piece)
                    outer.ended += 1
                    return
                status, headers, body = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer((address, port), Handler)
        self.server.daemon_threads = True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.address, self.port = self.server.server_address
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def taken(self, path: str = "") -> list[Request]:
        with self.lock:
            return [request for request in self.requests if request.path.endswith(path)]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
