# SPDX-License-Identifier: Apache-2.0
"""Makes single attaches through the real flamed-broker, by the program attach_probe. Also asks an attached JVM for facts."""
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field

from . import paths, proc

PR_SET_CHILD_SUBREAPER = 36
ORPHANS = ("flamed-launcher", "flamed-opener", "flamed-mounter", "flamed-attach", "memfd:flamed-at")


def programs() -> list[str]:
    """Environment of an attach. Orphans of its broker become children of this test, so helpers() finds them. Those in a container do, too:
    tests that do not need them leave them to init, which reaps them at once."""
    proc.LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return [paths.program("tests/jvm/attach_probe"), paths.program("flamed-broker")]


def leave_orphans() -> None:
    """Leaves orphans to init, which reaps them."""
    proc.LIBC.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


# Asks the JVM of pid ARG for its threads. Runs in the folder with the JVM's socket.
ASK = """import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(".java_pid" + sys.argv[1])
s.sendall(b"1\\0jcmd\\0Thread.print\\0\\0\\0")
sys.stdout.buffer.write(b"".join(iter(lambda: s.recv(65536), b"")))"""


@dataclass
class Outcome:
    """The output of attach_probe."""
    text: str
    values: dict[str, str] = field(default_factory=dict)
    code: list[list[str]] = field(default_factory=list) # [start, end, innermost frame, ..., outermost]
    stubs: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Outcome":
        found = cls(text)
        for line in text.splitlines():
            if line.startswith("code "):
                found.code.append(line.split(" ")[1:])
            elif line.startswith("stub "):
                found.stubs.append(line.split(" ", 3)[3])
            else:
                key, _, value = line.partition(":")
                found.values[key] = value.strip()
        return found

    def __getitem__(self, key: str) -> str:
        return self.values.get(key, "")

    def number(self, key: str) -> int:
        return int(self.values.get(key, "-1"))

    @property
    def done(self) -> bool:
        return self["outcome"] == "0"


def attach(pid: int, mode: str = "load", *words: str, seconds: float = 0, timeout: float = 60, groups: tuple[int, ...] = (),
           wrap: tuple[str, ...] = ()) -> Outcome:
    """Attaches once. GROUPS: supplementary groups of the broker. WRAP: a prefix of the command line."""
    result = subprocess.run([*wrap, *programs(), str(pid), mode, str(seconds), *words], capture_output=True, text=True,
                            errors="replace", timeout=timeout, extra_groups=groups or None)
    helpers() # reaps ended processes
    return Outcome.of(result.stdout + result.stderr)


class Holding:
    """An attach that streams until it is killed, like a flamed that is killed."""

    def __init__(self, pid: int):
        self.process = subprocess.Popen([*programs(), str(pid), "load", "0", "hold"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("outcome:"):
                self.done = line.strip() == "outcome: 0"
                break

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def mappings(pid: int, name: str) -> int:
    return sum(name in line for line in proc.read(f"/proc/{pid}/maps").splitlines())


def helpers(pid: int | None = None) -> list[int]:
    """Returns pids of live flamed-attach processes, only of brokers that this test started; with PID, only those in its pid namespace."""
    found = []
    namespace = os.stat(f"/proc/{pid}/ns/pid").st_ino if pid else 0
    for one in proc.descendants(os.getpid())[1:]:
        try:
            name = proc.read(f"/proc/{one}/comm").strip()
            if not proc.alive(one): # an ended process that waits for its parent does nothing
                if name in ORPHANS and int(proc.stat(one)[1]) == os.getpid():
                    os.waitpid(one, os.WNOHANG)
                continue
            if pid and os.stat(f"/proc/{one}/ns/pid").st_ino != namespace:
                continue
            if name in ("flamed-attach", "memfd:flamed-at") or "flamed-attach" in os.readlink(f"/proc/{one}/exe"):
                found.append(one)
        except OSError:
            pass
    return found


def _inside(pid: int, kind: str) -> str:
    """Returns the process's uid or gid (KIND) as its user namespace shows it."""
    host = int(re.search(kind.title() + r":\s+\d+\s+(\d+)", proc.read(f"/proc/{pid}/status"))[1])
    ranges = (map(int, line.split()) for line in proc.read(f"/proc/{pid}/{kind}_map").splitlines())
    return next(str(first + host - outside) for first, outside, count in ranges if outside <= host < outside + count)


def weak_references(pid: int) -> int:
    """Returns the number of the JVM's weak JNI references, as the JVM itself prints it. The JVM was attached to before. The request is made
    as its own user, in any container."""
    same = os.stat(f"/proc/{pid}/ns/user").st_ino == os.stat("/proc/self/ns/user").st_ino
    enter = ["nsenter", *([] if same else [f"--user=/proc/{pid}/ns/user"]), "--setuid", _inside(pid, "uid"), "--setgid", _inside(pid, "gid")]
    python = shutil.which("python3", path=os.defpath) or sys.executable # any user may run it
    said = subprocess.run([*enter, python, "-c", ASK, str(proc.ns_pids(pid)[-1])], cwd=f"/proc/{pid}/root/tmp", capture_output=True,
                          timeout=90, check=True).stdout.decode(errors="replace")
    return int(re.search(r"JNI global refs: \d+, weak refs: (\d+)", said)[1])
