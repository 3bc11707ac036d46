# SPDX-License-Identifier: Apache-2.0
"""Requests to flamed as other users."""
import json
import secrets
import subprocess
from concurrent.futures import ThreadPoolExecutor

from . import paths


class Reply:
    """The reply that curl got."""

    def __init__(self, status: int, body: bytes, cookie: str = ""):
        self.status, self.body = status, body
        self.cookie = cookie # value of Set-Cookie

    def json(self):
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.status} {self.body[:600]!r}"


class Request:
    """The arguments of ask() and ask_all(). CERTIFICATE: with its key, and the CA of flamed's certificate."""

    def __init__(self, url: str, unix: str | None = None, method: str = "GET", body: str | None = None, headers: tuple[str, ...] = (),
                 certificate: tuple[str, str, str] | None = None):
        self.options = [("url", url), ("output", "-"), ("head", "") if method == "HEAD" else ("request", method)]
        if unix:
            self.options.append(("unix-socket", unix))
        if body is not None:
            self.options += [("header", "Content-Type: application/json"), ("data", body)]
        if certificate:
            self.options += zip(("cert", "key", "cacert"), certificate)
        self.options += (("header", header) for header in headers)


def config(request: Request, timeout: float, mark: str) -> str:
    """Returns a request in the form of curl's configuration. The next request shares neither its connection nor its TLS session."""
    options = [("silent", ""), ("globoff", ""), ("no-sessionid", ""), ("max-time", str(timeout)), *request.options,
               ("header", "Connection: close"), ("write-out", f"\\n{mark} %{{http_code}} %header{{set-cookie}}\\n")]
    return "".join(name + (" = \"" + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if value else "") + "\n" for name, value in options)


def one_curl(requests: list[Request], uid: int, gid: int | None, groups: tuple[int, ...], timeout: float, wrap: tuple[str, ...]) -> list[Reply]:
    mark = secrets.token_hex(16)
    command = [*wrap, "setpriv", "--reuid", str(uid), "--regid", str(uid if gid is None else gid)]
    command += ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    result = subprocess.run([*command, "curl", "--config", "-"], capture_output=True, check=False, timeout=(timeout + 20) * len(requests),
                            input="next\n".join(config(request, timeout, mark) for request in requests).encode())
    replies = []
    rest = result.stdout
    for _ in requests:
        text, found, rest = rest.partition(f"\n{mark} ".encode())
        tail, _, rest = rest.partition(b"\n")
        status, _, cookie = tail.partition(b" ")
        replies.append(Reply(int(status or 0), text if found else b"", cookie.decode()))
    return replies


def ask_all(requests: list[Request], uid: int = 0, gid: int | None = None, groups: tuple[int, ...] = (), timeout: float = 60,
            wrap: tuple[str, ...] = (), at_once: int = 1) -> list[Reply]:
    """Makes requests by curl as a user, AT_ONCE of them in parallel. One curl makes many: starting it takes longer than an answer."""
    replies: list[Reply | None] = [None] * len(requests)
    lanes = range(min(at_once, len(requests)))
    with ThreadPoolExecutor(len(lanes)) as pool:
        of_lanes = pool.map(lambda lane: one_curl(requests[lane::len(lanes)], uid, gid, groups, timeout, wrap), lanes)
        for lane, some in zip(lanes, of_lanes):
            replies[lane::len(lanes)] = some
    return replies


def ask(url: str, uid: int = 0, gid: int | None = None, groups: tuple[int, ...] = (), timeout: float = 60, wrap: tuple[str, ...] = (),
        **request) -> Reply:
    """Makes one request by curl as a user. REQUEST: fields of a Request."""
    return one_curl([Request(url, **request)], uid, gid, groups, timeout, wrap)[0]


def login_address(daemon) -> str:
    """Returns an address of flamed --login, requested by root."""
    result = subprocess.run([paths.program("flamed"), "--login", "--listen", f"127.0.0.1:{daemon.port}", "--listen",
                             f"unix:{daemon.unix}"], capture_output=True, text=True, check=True, timeout=60)
    return result.stdout.strip()


def log_in(daemon, uid: int = 0) -> str:
    """Returns the header of a browser of user UID that has logged in as root."""
    reply = ask(login_address(daemon), uid=uid)
    if reply.status != 303:
        raise AssertionError(str(reply))
    return "Cookie: " + reply.cookie.split(";")[0]
