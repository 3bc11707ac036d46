# SPDX-License-Identifier: Apache-2.0
"""The cost of an event that the kernel counts for its causes: CPU time of a page fault and of a context switch. In turn without a capture,
while another process is captured, and while the whole machine is, at the usual interval and for each event."""
import contextlib
import json
import resource
import subprocess
import sys

import common
from harness import jvm, paths
from harness.daemon import Daemon

FAULTS = 200_000
SWITCHES = 200_000
TOUCH = f"""
import ctypes
assert ctypes.CDLL(None).prctl(41, 1, 0, 0, 0) == 0 # no huge pages
bytes(1) * 1
x = b"x" * ({FAULTS} * 4096)
"""
LOADS = {"page-faults": (FAULTS, [sys.executable, "-c", TOUCH]),
         "context-switches": (SWITCHES, ["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-l", str(SWITCHES // 2)])}
ALONE = "no capture"


def cpu_ns(command: list[str]) -> float:
    """Returns the CPU time of a program and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@contextlib.contextmanager
def capture(daemon: Daemon, **parameters):
    def post(path: str, status: int, **more) -> dict:
        answer = daemon.request("POST", path, **more)
        if answer.status != status:
            raise RuntimeError(str(answer))
        return answer.json()

    path = "/api/v1/captures/" + post("/api/v1/captures", 201, headers={"Content-Type": "application/json"},
                                      body=json.dumps({"seconds": 600, **parameters}).encode())["id"]
    yield
    post(path + "/stop", 200)


def main() -> None:
    options = common.arguments(__doc__, jdk=17, rounds=9)
    spin = jvm.make_spin()
    with jvm.Jvm(paths.jdk(options.jdk), "-Xmx64m", "-Drest=1000", "-cp", spin.folder, spin.main) as other, Daemon("--recorder-hz", "0") as daemon:
        for event, (count, command) in LOADS.items():
            modes = {ALONE: None, "another process is captured": {"pid": other.pid}, "the machine is": {},
                     "the machine is, interval=1": {"interval": "1"}}
            took: dict[str, list[float]] = {name: [] for name in modes}
            for _ in range(options.rounds):
                for name, parameters in modes.items():
                    with contextlib.nullcontext() if parameters is None else capture(daemon, event=event, **parameters):
                        took[name].append(cpu_ns(command) / count)
            alone = common.median(took[ALONE])
            print(f"{event}: {alone:.0f} ns each without a capture")
            for name in list(modes)[1:]:
                more = common.median([a - b for a, b in zip(took[name], took[ALONE])])
                print(f"  while {name}: {more:+.0f} ns ({100 * more / alone:+.1f} %)")


if __name__ == "__main__":
    main()
