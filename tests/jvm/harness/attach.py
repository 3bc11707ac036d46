# SPDX-License-Identifier: Apache-2.0
"""One attach through the real flamed-broker, by the program attach_probe."""
import os
import signal
import subprocess
from dataclasses import dataclass, field

from . import paths, proc


def programs() -> list[str]:
    return [paths.program("tests/jvm/attach_probe"), paths.program("flamed-broker")]


@dataclass
class Outcome:
    """What attach_probe printed."""
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


def attach(pid: int, mode: str = "load", *words: str, seconds: float = 0, timeout: float = 60) -> Outcome:
    result = subprocess.run([*programs(), str(pid), mode, str(seconds), *words], capture_output=True, text=True,
                            errors="replace", timeout=timeout)
    return Outcome.of(result.stdout + result.stderr)


class Holding:
    """An attach that streams until it is killed, as a flamed that is killed."""

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
    """Pids of flamed-attach that are alive; in the pid namespace of process PID alone."""
    found = []
    namespace = os.stat(f"/proc/{pid}/ns/pid").st_ino if pid else 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if pid and os.stat(f"/proc/{entry}/ns/pid").st_ino != namespace:
                    continue
                if proc.read(f"/proc/{entry}/comm").strip() in ("flamed-attach", "memfd:flamed-at") or \
                        "flamed-attach" in os.readlink(f"/proc/{entry}/exe"):
                    if proc.alive(int(entry)): # what has ended and waits for its parent does nothing
                        found.append(int(entry))
            except OSError:
                pass
    return found
