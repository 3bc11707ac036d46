# SPDX-License-Identifier: Apache-2.0
"""Requests to flamed as other users."""
import json
import subprocess

from . import paths


class Reply:
    """What curl got."""

    def __init__(self, status: int, body: bytes, cookie: str = ""):
        self.status, self.body = status, body
        self.cookie = cookie # what Set-Cookie said

    def json(self):
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.status} {self.body[:600]!r}"


def ask(url: str, uid: int = 0, gid: int | None = None, groups: tuple[int, ...] = (), unix: str | None = None, method: str = "GET",
        body: str | None = None, timeout: float = 60, wrap: tuple[str, ...] = (), headers: tuple[str, ...] = (),
        certificate: tuple[str, str, str] | None = None) -> Reply:
    """One request by curl as a user. CERTIFICATE: with its key, and the CA of flamed's."""
    command = [*wrap, "setpriv", "--reuid", str(uid), "--regid", str(uid if gid is None else gid)]
    command += ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    command += ["curl", "-s", "-g", "-m", str(timeout), "-o", "-", "-w", "\n%{http_code} %header{set-cookie}"]
    command += ["-I"] if method == "HEAD" else ["-X", method]
    if unix:
        command += ["--unix-socket", unix]
    if body is not None:
        command += ["-H", "Content-Type: application/json", "-d", body]
    if certificate:
        command += ["--cert", certificate[0], "--key", certificate[1], "--cacert", certificate[2]]
    for header in headers:
        command += ["-H", header]
    result = subprocess.run([*command, url], capture_output=True, check=False, timeout=timeout + 20)
    text, _, tail = result.stdout.rpartition(b"\n")
    status, _, cookie = tail.partition(b" ")
    return Reply(int(status or 0), text, cookie.decode())


def login_address(daemon) -> str:
    """An address of flamed --login, asked for by root."""
    result = subprocess.run([paths.program("flamed"), "--login", "--listen", f"127.0.0.1:{daemon.port}", "--listen",
                             f"unix:{daemon.unix}"], capture_output=True, text=True, check=True, timeout=60)
    return result.stdout.strip()


def log_in(daemon, uid: int = 0) -> str:
    """The header that a browser of UID sends once it has logged in as root."""
    reply = ask(login_address(daemon), uid=uid)
    if reply.status != 303:
        raise AssertionError(str(reply))
    return "Cookie: " + reply.cookie.split(";")[0]
