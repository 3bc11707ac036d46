# SPDX-License-Identifier: Apache-2.0
"""A flamed of the build under test on its own port, Unix socket and store, and the HTTP client of the tests."""
import contextlib
import errno
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

from . import paths, proc
from .profile import Profile


def free_port() -> int:
    """Returns a port that is free on both addresses of localhost: flamed uses both."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
            try:
                with socket.socket(socket.AF_INET6) as other:
                    other.bind(("::1", port))
            except OSError as e:
                if e.errno == errno.EADDRINUSE:
                    continue # no IPv6 here
            return port


LATE = re.compile(r" begins [\d.]+ s into this profile:| is not in this profile: its programs and probes |installing the programs and probes of this capture took")


class Answer:
    """A complete HTTP answer."""

    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    @property
    def warnings(self) -> list[str]:
        return self.headers.get_all("X-Flamed-Warning") or []

    @property
    def late(self) -> bool:
        """Returns true if the kernel of a busy machine had not prepared an event in time. The next capture then finds it ready."""
        return any(LATE.search(warning) for warning in self.warnings)

    def __str__(self) -> str:
        return f"{self.status} {self.headers.items()} {self.body[:2000]!r}"


class Daemon:
    """Starts flamed. WRAP: prefix of its command line (unshare, setpriv, ...). STORE: a folder that outlives flamed. A test that asks
    neither for the past nor for signals passes --recorder-hz=0: a recorder also reads every JVM of the tests beside it. With ten of
    them a start takes a second of CPU time more. Tests that end no process of flamed share one."""

    def __init__(self, *arguments: str, wrap: list[str] | None = None, wait: bool = True, store: str | None = None):
        paths.need_root()
        self.folder = tempfile.mkdtemp(prefix="flamed-test.")
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        self.unix = os.path.join(self.folder, "flamed.sock")
        if not store:
            store = os.path.join(self.folder, "store")
            os.mkdir(store)
        self.log_path = os.path.join(self.folder, "log")
        self.command = [paths.program("flamed"), "--listen", f"127.0.0.1:{self.port}", "--listen", f"unix:{self.unix}",
                        "--store", store, *arguments]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(proc.ENDS_WITH_US + (wrap or []) + self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, start_new_session=True)
        if wait:
            try:
                self.wait_ready()
            except BaseException:
                self.stop(check=False)
                raise

    def wait_ready(self, timeout: float = 20, statuses: tuple[int, ...] = (200,)) -> Answer:
        """Waits until /readyz returns one of STATUSES, and no longer reports that the BPF programs are being loaded."""
        end = time.monotonic() + timeout * proc.PATIENCE
        last: object = "nothing listens"
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"flamed ended with {self.process.returncode}:\n{self.log()}")
            try:
                last = answer = self.get("/readyz", timeout=5)
                if answer.status in statuses and answer.json()["status"] != "loading":
                    return answer
            except OSError as e:
                last = e
            time.sleep(0.05)
        raise TimeoutError(f"flamed is not ready: {last}\n{self.log()}")

    def problems(self, what: str = "") -> list[str]:
        """Returns the sentences of /readyz about WHAT, or all. Uses the Unix socket, where flamed knows its clients at once; over TCP it
        may not know them yet."""
        return [p["detail"] for p in self.get("/readyz", unix=True).json()["problems"] if what in ("", p["what"])]

    def log(self) -> str:
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    # ---- its processes ----

    def processes(self) -> dict[str, list[int]]:
        """Returns program name -> pids, of all of flamed's processes. The namer is flamed's program with another name."""
        found: dict[str, list[int]] = {}
        for pid in proc.descendants(self.process.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError): # it has ended since
                namer = proc.read(f"/proc/{pid}/cmdline").startswith("flamed-namer\0")
                found.setdefault("flamed-namer" if namer else proc.exe(pid), []).append(pid)
        return found

    def pids(self) -> list[int]:
        return [pid for name, pids in self.processes().items() if name.startswith("flamed") for pid in pids]

    def perf_events(self) -> int:
        """Returns the number of perf events that flamed's processes hold open."""
        count = 0
        for pid in self.pids():
            try:
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    try:
                        count += "perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}")
                    except FileNotFoundError:
                        pass
            except FileNotFoundError:
                pass
        return count

    def cost(self) -> dict[str, dict[str, float]]:
        """Returns CPU seconds so far and memory of each process, by program and pid."""
        return {f"{name}[{pid}]": {"cpu_s": proc.cpu_seconds(pid), "rss_kib": proc.memory_kib(pid),
                                   "peak_kib": proc.memory_kib(pid, "VmHWM")}
                for name, pids in self.processes().items() for pid in pids if name.startswith("flamed")}

    def top(self) -> int:
        """Returns its topmost process: the one that a wrapper started, else the one that this test started."""
        return next((pid for pid in proc.descendants(self.process.pid) if proc.exe(pid).startswith("flamed")),
                    self.process.pid)

    def stop(self, check: bool = True) -> None:
        status = None
        if self.process.poll() is None:
            os.kill(self.top(), signal.SIGTERM) # unshare does not pass the signal on
            try:
                status = self.process.wait(15 * proc.PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                check = False
                status = "did not end within 15 s of SIGTERM"
        else:
            status = self.process.returncode
        log = self.log()
        shutil.rmtree(self.folder, ignore_errors=True)
        if status != 0 and check or isinstance(status, str):
            raise RuntimeError(f"flamed: {status}\n{log[-4000:]}")

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            print(f"---- flamed's log\n{self.log()[-4000:]}\n----")
        self.stop(check=kind is None)

    # ---- HTTP ----

    def connection(self, timeout: float, unix: bool = False) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        if unix:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(timeout)
            connection.sock.connect(self.unix)
        return connection

    def request(self, method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes | None = None,
                timeout: float = 60, unix: bool = False, **parameters) -> Answer:
        """Sends a request. PARAMETERS are appended to PATH as a query; a list repeats its parameter."""
        if parameters:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(parameters, doseq=True)
        connection = self.connection(timeout * proc.PATIENCE, unix)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, **arguments) -> Answer:
        """Sends a GET. Repeats it as Retry-After says if the kernel has not prepared the capture in time."""
        return self.when_in_place("GET", path, **arguments)

    def when_in_place(self, method: str, path: str, **arguments) -> Answer:
        end = time.monotonic() + 60 * proc.PATIENCE
        while True:
            answer = self.request(method, path, **arguments)
            if answer.status != 503 or b'"EINPROGRESS"' not in answer.body or time.monotonic() > end:
                return answer

    def taken(self, **arguments) -> Answer:
        """Returns the answer of a capture with all events ready when it began."""
        answers: list[Answer] = []

        def in_time() -> bool:
            answers.append(self.get("/profile", **arguments))
            return not answers[-1].late
        proc.wait_until(in_time, 60, "all events are in place")
        return answers[-1]

    def profile(self, *, seconds: float = 3, timeout: float | None = None, **parameters) -> Profile:
        """Returns a finished profile, by format=json with lines and threads. Fails unless the status is 200."""
        parameters = {"seconds": seconds, "format": "json", "lines": 1, "threads": 1, **parameters}
        answer = self.taken(timeout=timeout or float(seconds) + 15, **parameters)
        if answer.status != 200:
            raise AssertionError(f"/profile with {parameters}: {answer}")
        return Profile(answer)

    def capture(self, **parameters) -> "Capture":
        """Begins a capture that runs until it is stopped."""
        answer = self.when_in_place("POST", "/api/v1/captures", body=json.dumps(parameters).encode(),
                                    headers={"Content-Type": "application/json"})
        if answer.status != 201:
            raise AssertionError(f"POST /captures with {parameters}: {answer}")
        return Capture(self, answer.headers["Location"])

    def raw(self, data: bytes, timeout: float = 10, first: float | None = None) -> bytes:
        """Sends bytes unchanged. Returns all received bytes, until the other side closes or is silent for TIMEOUT (FIRST before the first
        byte)."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
            s.settimeout(first or timeout)
            got = b""
            try:
                s.sendall(data)
            except OSError:
                pass # refused early: the answer matters
            try:
                while chunk := s.recv(65536):
                    got += chunk
                    s.settimeout(timeout)
            except OSError:
                pass
            return got


class Capture:
    """A running capture."""

    def __init__(self, daemon: Daemon, path: str):
        self.daemon, self.path = daemon, path

    def samples(self) -> int:
        """Returns how many samples it has until now."""
        return self.daemon.get(self.path).json()["samples"]

    def stop(self, lines: int = 1) -> Profile:
        """Ends the capture. Returns its profile, like Daemon.profile()."""
        answer = self.daemon.request("POST", self.path + "/stop")
        if answer.status not in (200, 202, 204):
            raise AssertionError(f"stop: {answer}")
        proc.wait_until(lambda: self.daemon.get(self.path).json()["state"] != "running", 10, "the capture ends")
        answer = self.daemon.get(self.path + "/profile", format="json", lines=lines, threads=1)
        if answer.status != 200:
            raise AssertionError(f"{self.path}: {answer}")
        return Profile(answer)
