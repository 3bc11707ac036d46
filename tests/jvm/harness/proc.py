# SPDX-License-Identifier: Apache-2.0
"""Reading /proc from the host, as the tests' own independent view of what flamed should see."""
import bisect
import os
import threading
import time


# Goes before a command: it ends when the test is gone, however that ended. Not for what changes its user.
ENDS_WITH_US = ["setpriv", "--pdeathsig", "TERM"]


def read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def alive(pid: int) -> bool:
    try:
        return stat(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on: [0] state, [1] ppid, [11] utime, [12] stime, [19] start."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def children(pid: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if int(stat(int(name))[1]) == pid:
                    found.append(int(name))
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def descendants(pid: int) -> list[int]:
    """PID and everything below it, PID first."""
    found = [pid]
    for child in children(pid):
        found += descendants(child)
    return found


def exe(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_jvm(pid: int) -> bool:
    try:
        return "/libjvm.so" in read(f"/proc/{pid}/maps")
    except (FileNotFoundError, ProcessLookupError):
        return False


def find_jvm(pid: int, timeout: float = 20) -> int:
    """The first JVM among PID and its descendants."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        for candidate in descendants(pid):
            if is_jvm(candidate):
                return candidate
        time.sleep(0.02)
    raise TimeoutError(f"no JVM under process {pid}")


def cpu_seconds(pid: int, tid: int = 0) -> float:
    """Of a process, or of one thread of it."""
    fields = read(f"/proc/{pid}/task/{tid}/stat" if tid else f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class CpuClock:
    """Reads the CPU time of a process, or of one thread of it, every INTERVAL seconds while it is entered, so that what was used
    between two moments can be told afterwards: a busy machine delays the start of a capture, and stretches nothing else."""

    def __init__(self, pid: int, tid: int = 0, interval: float = 0.02):
        self.pid, self.tid, self.interval = pid, tid, interval
        self.times: list[float] = []
        self.used: list[float] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def read_once(self) -> bool:
        try:
            if self.tid:
                used = int(read(f"/proc/{self.pid}/task/{self.tid}/schedstat").split()[0]) / 1e9
            else:
                used = cpu_seconds(self.pid)
        except (FileNotFoundError, ProcessLookupError):
            return False
        self.times.append(time.time())
        self.used.append(used)
        return True

    def run(self) -> None:
        while self.read_once() and not self.ended.wait(self.interval):
            pass

    def __enter__(self) -> "CpuClock":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()
        self.read_once()

    def at(self, moment: float) -> float:
        """CPU seconds at a moment of time.time(), by the two readings around it."""
        i = bisect.bisect(self.times, moment)
        if i == 0:
            return self.used[0]
        if i == len(self.times):
            return self.used[-1]
        share = (moment - self.times[i - 1]) / (self.times[i] - self.times[i - 1])
        return self.used[i - 1] + share * (self.used[i] - self.used[i - 1])

    def between(self, profile) -> float:
        """CPU seconds while PROFILE was sampled."""
        return self.at(profile.end) - self.at(profile.start)


def thread_of(pid: int, name: str) -> int:
    """The thread of that name; 0: none (yet)."""
    try:
        return next((tid for tid, comm in threads(pid).items() if comm == name), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def seconds_to_use(pid: int, tid: int, cpu_s: float, least: float, most: float) -> float:
    """How long a thread takes to use CPU_S seconds of CPU time if it gets as much as in the next half second. A
    capture of that length has the same number of samples on a busy machine as on an idle one."""
    with CpuClock(pid, tid) as clock:
        time.sleep(0.5)
    share = (clock.used[-1] - clock.used[0]) / (clock.times[-1] - clock.times[0])
    return min(most, max(least, round(1.3 * cpu_s / max(share, 0.001), 1)))


def memory_kib(pid: int, key: str = "VmRSS") -> int:
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return 0


def ns_pids(pid: int) -> list[int]:
    """Outermost first."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]
    return [pid]


def threads(pid: int) -> dict[int, str]:
    """tid -> comm."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            found[int(tid)] = read(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def wait_until(condition, timeout: float, what: str, interval: float = 0.02):
    """The first true value of condition(); TimeoutError naming WHAT otherwise."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"after {timeout} s still not: {what}")
        time.sleep(interval)
