# SPDX-License-Identifier: Apache-2.0
"""Who asks, for flamed: a cgroup of the tests' own, so that root's connections cannot be taken for those of other programs in
pid namespaces of the machine, and requests as other users."""
import atexit
import json
import os
import secrets
import subprocess
import time

V2 = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def top() -> str | None:
    """Where the cgroups of version 2 are mounted."""
    return next((path for path in V2 if os.path.exists(f"{path}/cgroup.controllers")), None)


def current() -> str:
    """Our cgroup of version 2."""
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        return next((line.strip()[3:] for line in f if line.startswith("0::")), "/")


def leave(path: str, back: str) -> None:
    """Empties the cgroup and removes it; one that is dying is in it for a while."""
    for _ in range(20):
        try:
            with open(f"{path}/cgroup.procs", encoding="utf-8") as f:
                pids = f.read().split()
            for pid in pids:
                try:
                    with open(f"{back}/cgroup.procs", "w", encoding="utf-8") as f:
                        f.write(pid)
                except OSError:
                    pass
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)


def enter() -> None:
    """Leaves the top of the hierarchy, where everything else may be, until we end."""
    mount = top()
    if not mount or current() != "/":
        return
    path = f"{mount}/flamed-tests-{secrets.token_hex(4)}"
    try:
        os.mkdir(path)
        with open(f"{path}/cgroup.procs", "w", encoding="utf-8") as f:
            f.write(str(os.getpid()))
    except OSError:
        return
    atexit.register(leave, path, mount)


class Reply:
    """What curl got."""

    def __init__(self, status: int, body: bytes):
        self.status, self.body = status, body

    def json(self):
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.status} {self.body[:600]!r}"


def ask(url: str, uid: int = 0, gid: int | None = None, groups: tuple[int, ...] = (), unix: str | None = None, method: str = "GET",
        body: str | None = None, timeout: float = 60, wrap: tuple[str, ...] = (), headers: tuple[str, ...] = ()) -> Reply:
    """One request by curl as a user."""
    command = [*wrap, "setpriv", "--reuid", str(uid), "--regid", str(uid if gid is None else gid)]
    command += ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    command += ["curl", "-s", "-g", "-m", str(timeout), "-o", "-", "-w", "\n%{http_code}"]
    command += ["-I"] if method == "HEAD" else ["-X", method]
    if unix:
        command += ["--unix-socket", unix]
    if body is not None:
        command += ["-H", "Content-Type: application/json", "-d", body]
    for header in headers:
        command += ["-H", header]
    result = subprocess.run([*command, url], capture_output=True, check=False, timeout=timeout + 20)
    text, _, status = result.stdout.rpartition(b"\n")
    return Reply(int(status or 0), text)
