# SPDX-License-Identifier: Apache-2.0
"""Reads /proc on the host. This is the tests' own view of what flamed should see."""
import bisect
import ctypes
import os
import platform
import secrets
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

LIBC = ctypes.CDLL(None, use_errno=True)
# Every wait of the harness is multiplied by this: an emulated machine is slow (tests/vm).
PATIENCE = int(os.environ.get("FLAMED_PATIENCE", "1"))
LONGEST_INTERVAL = 0.5 # seconds between two checks of wait_until()


def call(numbers: dict[str, int]) -> int:
    """Returns the number of a system call on this machine, or that of x86-64."""
    return numbers.get(platform.machine(), numbers["x86_64"])


# A command prefix: the command ends when the test has ended, in whatever way. Not for commands that change their user.
ENDS_WITH_US = ["setpriv", "--pdeathsig", "TERM"]


def read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


class Obeys:
    """An object with a process that reads lines, executes each, and answers by a line."""
    process: subprocess.Popen

    def tell(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> str:
        """Returns the answer to a line."""
        self.tell(line)
        return self.process.stdout.readline().strip()

    def lines(self) -> Iterator[str]:
        """Returns the lines of its answer, up to a line with only a dot."""
        return iter(self.process.stdout.readline, ".\n")

    def do(self, what: str | int) -> None:
        """Waits until it has executed a line. It then answers "done", or repeats the line."""
        said = self.ask(str(what))
        if said not in ("done", str(what)):
            raise RuntimeError(f"{what}: {said!r}")


def free_ids(count: int) -> list[int]:
    """Returns numbers of users, or groups, that no account and no process has. Two concurrent test runs get different ones."""
    accounts = {int(line.split(":")[2]) for file in ("/etc/passwd", "/etc/group") for line in read(file).splitlines() if line.count(":") > 2}
    running = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            running.add(os.stat(f"/proc/{name}").st_uid)
        except FileNotFoundError:
            pass
    while True:
        first = 400_000 + secrets.randbelow(500_000) # above the ids of user namespaces
        found = list(range(first, first + count))
        if not (accounts | running) & set(found):
            return found


def alive(pid: int) -> bool:
    try:
        return stat(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def stat(pid: int, tid: int = 0) -> list[str]:
    """Returns the fields of /proc/PID/stat, or of one thread's, from the state on: [0] state, [1] ppid, [11] utime, [12] stime, [19] start."""
    return read(f"/proc/{pid}/task/{tid}/stat" if tid else f"/proc/{pid}/stat").rpartition(")")[2].split()


def families() -> dict[int, list[int]]:
    """Returns pid of each parent -> its children. Tests call this many times a second: without open() and text it takes a quarter of the
    time."""
    found: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fd = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fields = os.read(fd, 4096).rpartition(b")")[2].split(None, 2)
        except ProcessLookupError:
            continue
        finally:
            os.close(fd)
        found.setdefault(int(fields[1]), []).append(int(name))
    return found


def waits(pid: int) -> dict[str, str]:
    """Returns where in the kernel its threads sleep, by their names; "0" for a running thread."""
    return {read(f"/proc/{pid}/task/{tid}/comm").strip(): read(f"/proc/{pid}/task/{tid}/wchan") for tid in os.listdir(f"/proc/{pid}/task")}


def children(pid: int) -> list[int]:
    return families().get(pid, [])


def descendants(pid: int) -> list[int]:
    """Returns PID and all processes below it, PID first."""
    below, found = families(), [pid]
    for one in found:
        found += below.get(one, [])
    return found


def exe(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def comm(pid: int) -> str:
    try:
        return read(f"/proc/{pid}/comm").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return "" # the process has ended


def is_jvm(pid: int) -> bool:
    try:
        return "/libjvm.so" in read(f"/proc/{pid}/maps")
    except (FileNotFoundError, ProcessLookupError):
        return False


def find_jvm(pid: int, timeout: float = 20) -> int:
    """Returns the first JVM among PID and its descendants."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        for candidate in descendants(pid):
            if is_jvm(candidate):
                return candidate
        time.sleep(0.02)
    raise TimeoutError(f"no JVM under process {pid}")


def cpu_seconds(pid: int, tid: int = 0) -> float:
    """Returns the CPU seconds of a process, or of one of its threads."""
    fields = stat(pid, tid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def task_clock(tid: int, inherit: bool) -> int:
    """Opens a counter of the nanoseconds that a thread is scheduled in; with INHERIT, also the threads that it starts from now on. Unlike
    CPU time, this includes the time that interrupts and hypervisors took, as do the ticks of a sampling clock. Returns a descriptor."""
    software, clock, size, close_on_exec = 1, 1, 64, 8
    open_call = call({"x86_64": 298, "aarch64": 241}) # perf_event_open(2)
    attributes = struct.pack("<IIQQQQQIIQ", software, size, clock, 0, 0, 0, inherit << 1, 0, 0, 0)
    fd = LIBC.syscall(open_call, attributes, tid, -1, -1, close_on_exec)
    if fd < 0:
        raise OSError(ctypes.get_errno(), f"perf_event_open of thread {tid}")
    return fd


class Standstill:
    """Measures how many seconds a ready thread got no processor from the machine. A hypervisor stops a whole VM now and then. A result that
    is late by this time counts as punctual."""
    TICK = 0.005
    NOTED = 0.02 # seconds that a scheduler may take

    def __init__(self):
        self.seconds = 0.0
        self.pauses: list[tuple[float, float]] = [] # from, to: as time.time()
        self.began = self.last = time.monotonic()
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def late(self, now: float) -> float:
        late = now - self.last - self.TICK
        return late if late > self.NOTED else 0

    def run(self) -> None:
        while not self.ended.is_set():
            time.sleep(self.TICK)
            with self.lock:
                now = time.monotonic()
                if late := self.late(now):
                    self.seconds += late
                    self.pauses.append((time.time() - late, time.time()))
                self.last = now

    def given(self) -> float:
        """Returns the seconds since the begin without stolen time: how long the work took on a machine that was not stopped. Valid at any
        time."""
        with self.lock:
            now = time.monotonic()
            return now - self.began - self.seconds - self.late(now)

    def between(self, start: float, end: float) -> float:
        """Returns the stolen seconds between two moments of time.time()."""
        return sum(max(0, min(end, to) - max(start, since)) for since, to in self.pauses)

    def __enter__(self) -> "Standstill":
        self.began = self.last = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()


class CpuClock:
    """Reads every INTERVAL seconds how long a process, or one of its threads, was scheduled in. So its use between two moments is known
    afterwards: a busy machine delays the start of a capture."""

    def __init__(self, pid: int, tid: int = 0, interval: float = 0.02):
        self.pid, self.tid, self.interval = pid, tid, interval
        self.times: list[float] = []
        self.used: list[float] = []
        self.counters: list[int] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def open(self) -> None:
        if self.tid:
            self.before = int(read(f"/proc/{self.pid}/task/{self.tid}/schedstat").split()[0]) / 1e9
            self.counters.append(task_clock(self.tid, False))
            return
        self.before = cpu_seconds(self.pid)
        for tid in threads(self.pid):
            try:
                self.counters.append(task_clock(tid, True))
            except ProcessLookupError:
                pass # the process has ended

    def read_once(self) -> bool:
        if not os.path.exists(f"/proc/{self.pid}/task/{self.tid or self.pid}"):
            return False
        self.times.append(time.time())
        self.used.append(self.now())
        return True

    def now(self) -> float:
        """Returns the CPU seconds at this moment."""
        return self.before + sum(int.from_bytes(os.read(fd, 8), sys.byteorder) for fd in self.counters) / 1e9

    def run(self) -> None:
        while self.read_once() and not self.ended.wait(self.interval):
            pass

    def __enter__(self) -> "CpuClock":
        self.open()
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()
        self.read_once()
        for fd in self.counters:
            os.close(fd)

    def at(self, moment: float) -> float:
        """Returns the CPU seconds at a moment of time.time(), by the two readings around it."""
        i = bisect.bisect(self.times, moment)
        if i == 0:
            return self.used[0]
        if i == len(self.times):
            return self.used[-1]
        share = (moment - self.times[i - 1]) / (self.times[i] - self.times[i - 1])
        return self.used[i - 1] + share * (self.used[i] - self.used[i - 1])

    def between(self, profile) -> float:
        """Returns the CPU seconds while PROFILE was sampled."""
        return self.at(profile.end) - self.at(profile.start)


def is_stopped(pid: int) -> bool:
    try:
        return all(stat(pid, tid)[0] in "TtZ" for tid in threads(pid))
    except (FileNotFoundError, ProcessLookupError):
        return False # one thread has yet to end


def stop(pid: int) -> None:
    """Stops a process, and waits until its last thread has stopped: on a busy machine that takes a while."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), 10, f"all threads of {pid} have stopped")


def thread_of(pid: int, name: str) -> int:
    """Returns the thread with that name; 0: none (yet)."""
    try:
        return next((tid for tid, comm in threads(pid).items() if comm == name), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def captured(daemon, pid: int, tid: int, hz: int, due: int):
    """Returns a profile of a process that is long enough for more than DUE samples of one of its threads, with the CPU clocks of the
    process and of the thread. A busy machine may give a thread less time than before: then a longer profile is taken."""
    share = 0.5
    for _ in range(4):
        seconds = min(30, max(1, round(2 * due / hz / share, 1)))
        with CpuClock(pid) as of_process, CpuClock(pid, tid) as of_thread:
            profile = daemon.profile(pid=pid, seconds=seconds, hz=hz, timeout=60)
        if hz * of_thread.between(profile) > due:
            return profile, of_process, of_thread
        share = max(of_thread.between(profile) / seconds, 0.001)
    raise TimeoutError(f"in {seconds} s the thread was given {share * seconds:.3f} s of CPU time: the machine is too busy")


def memory_kib(pid: int, key: str = "VmRSS") -> int:
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return 0


class PeakMemory(threading.Thread):
    """The most memory that a process has had."""

    def __init__(self, pid: int):
        super().__init__()
        self.pid, self.kib, self.over = pid, memory_kib(pid), threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05) and alive(self.pid):
            try:
                self.kib = max(self.kib, memory_kib(self.pid))
            except (OSError, IndexError):
                return # the process has ended

    def __enter__(self) -> "PeakMemory":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.over.set()
        self.join()


def ns_pids(pid: int) -> list[int]:
    """Returns its pids, outermost first."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]
    return [pid]


def threads(pid: int) -> dict[int, str]:
    """Returns tid -> comm."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            found[int(tid)] = read(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def wait_until(condition, timeout: float, what: str, interval: float = 0.02):
    """Waits for a true value of condition() and returns it; else TimeoutError naming WHAT. INTERVAL: between two calls at first. Later the
    interval grows to a twentieth of the time so far, up to LONGEST_INTERVAL."""
    timeout *= PATIENCE
    began = time.monotonic()
    end = began + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"after {timeout} s still not: {what}")
        time.sleep(max(interval, min((time.monotonic() - began) / 20, LONGEST_INTERVAL)))
