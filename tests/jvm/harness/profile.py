# SPDX-License-Identifier: Apache-2.0
"""A profile in format=json, read independently of flamed's own code."""
import calendar
import re
import time
from dataclasses import dataclass

THREAD = re.compile(r"^\[(.*?)(?: tid=(\d+))?\]$", re.S) # without tid: several threads with one name
PROCESS = re.compile(r"^\[(.*) pid=(\d+)\]$", re.S)
# A stub that has the name of the code around it.
NAMELESS_STUB = re.compile(r"^(StubRoutines.*|Stub Generator .*|.*\(stub gen\)|vtable chunks|Interpreter|adapters|MethodHandles adapters|I2C/C2I adapters|"
                           r"\[stub\]|\[unknown\])$")


@dataclass(frozen=True)
class Frame:
    name: str # without a :line suffix
    kind: str
    line: int
    file: str
    module: str


def nameless_stub(frame: Frame) -> bool:
    return frame.kind == "stub" and bool(NAMELESS_STUB.match(frame.name))


@dataclass
class Stack:
    frames: list[Frame] # root first, without process and thread frames
    samples: int
    value: int
    thread: str # name, "" where unknown
    tid: int
    process: str
    pid: int
    state: str = "" # of events that sample waiting threads
    wait: str = ""
    owner: str = "" # the thread that held the lock
    kind: str = "platform" # the kind of its thread

    @property
    def names(self) -> list[str]:
        return [frame.name for frame in self.frames]

    @property
    def truncated(self) -> bool:
        return any(frame.name == "[truncated]" for frame in self.frames)


class Profile:
    def __init__(self, answer):
        self.answer = answer
        self.document = document = answer.json()
        if answer.status != 200:
            raise AssertionError(f"not a profile: {answer}")
        self.quality = document["quality"]
        self.warnings = document["warnings"]
        self.start, self.end = (seconds_of(document["meta"][key]) for key in ("start", "end")) # as time.time()
        frames = []
        for f in document["frames"]:
            name, line = f["name"], f.get("line", 0)
            if line and name.endswith(f":{line}"):
                name = name[:-len(str(line)) - 1]
            frames.append(Frame(name, f["kind"], line, f.get("file", ""), f.get("module", "")))
        self.stacks = []
        for s in document["stacks"]:
            stack = Stack([], s["samples"], s["value"], "", 0, "", 0, s.get("state", ""), s.get("wait", ""), s.get("owner", ""),
                          s.get("thread_kind", "platform"))
            for number in s["frames"]:
                frame = frames[number]
                if frame.kind == "thread" and (match := THREAD.match(frame.name)):
                    stack.thread, stack.tid = match[1], int(match[2] or 0)
                elif frame.kind == "process" and (match := PROCESS.match(frame.name)):
                    stack.process, stack.pid = match[1], int(match[2])
                else:
                    stack.frames.append(frame)
            self.stacks.append(stack)

    @property
    def problems(self) -> list[str]:
        """Returns the warnings, except the one about few samples."""
        return [w for w in self.warnings if "are few" not in w]

    @property
    def samples(self) -> int:
        return sum(stack.samples for stack in self.stacks)

    @property
    def pids(self) -> set[int]:
        """Returns the pids of the processes with a sample, even if all samples are of one process and stacks do not name it. For profiles
        with threads."""
        return {self.document["processes"][thread["process"]]["pid"] for thread in self.document["threads"]}

    def of_thread(self, name: str) -> list[Stack]:
        return [stack for stack in self.stacks if stack.thread == name]

    def of_process(self, pid: int) -> list[Stack]:
        return [stack for stack in self.stacks if stack.pid == pid]

    def share(self, stacks: list[Stack], condition) -> float:
        """Returns the share, 0 to 1, of the samples of STACKS that condition(stack) accepts."""
        total = count(stacks)
        return count([s for s in stacks if condition(s)]) / total if total else 0.0

    def describe(self, stacks: list[Stack] | None = None, most: int = 12) -> str:
        """Returns the heaviest stacks as text, for a failure's message."""
        stacks = sorted(self.stacks if stacks is None else stacks, key=lambda s: -s.samples)
        lines = [f"quality {self.quality}, warnings {self.warnings}"]
        for s in stacks[:most]:
            path = ";".join(f"{f.name}:{f.line}({f.kind})" for f in s.frames)
            lines.append(f"{s.samples:6} [{s.process} {s.pid}] [{s.thread} {s.tid}] {path[-1500:]}")
        return "\n".join(lines)


def seconds_of(text: str) -> float:
    """Converts a time of the documents, "2026-01-31T12:00:00.123456789Z", to the scale of time.time()."""
    whole, _, rest = text.removesuffix("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (rest or "0"))


def count(stacks: list[Stack]) -> int:
    return sum(stack.samples for stack in stacks)


def ordered(names: list[str], *wanted: str) -> bool:
    """Returns true if WANTED occur in NAMES in this order, root first. Other frames may lie between them."""
    position = 0
    for name in names:
        if position < len(wanted) and name == wanted[position]:
            position += 1
    return position == len(wanted)
