# SPDX-License-Identifier: Apache-2.0
"""What looking at virtual threads costs a service on them: requests and CPU time of the JDK's HTTP server, with a capture of event=wall and
without one by turns. The clients keep it as busy as the machine can."""
import json
import subprocess
import threading
import time

import common
from harness import paths, proc
from harness.daemon import Daemon

REST = 0.5 # seconds at both ends of a capture that do not count


def told(jvm: subprocess.Popen) -> int:
    jvm.stdin.write("\n")
    jvm.stdin.flush()
    return int(jvm.stdout.readline())


def measured(server: subprocess.Popen, seconds: float) -> tuple[float, float]:
    """Returns requests a second, and us of the server's CPU time for each."""
    began, count, used = time.monotonic(), told(server), proc.cpu_seconds(server.pid)
    time.sleep(seconds)
    requests = told(server) - count
    return requests / (time.monotonic() - began), 1e6 * (proc.cpu_seconds(server.pid) - used) / max(requests, 1)


def captured(daemon: Daemon, server: subprocess.Popen, options) -> tuple[float, float]:
    answers = []
    capture = threading.Thread(target=lambda: answers.append(daemon.get(
        "/profile", pid=server.pid, seconds=options.seconds + 2 * REST, event=options.event, format="json")))
    capture.start()
    time.sleep(REST)
    found = measured(server, options.seconds)
    capture.join()
    seen = [s for s in answers[0].json()["stacks"] if s.get("thread_kind") == "virtual"]
    if not seen:
        raise AssertionError(f"no virtual thread was seen: {json.dumps(answers[0].json())[:1000]}")
    return found


def change(on: list[tuple[float, float]], off: list[tuple[float, float]], which: int) -> str:
    ratios = [100 * (a[which] / b[which] - 1) for a, b in zip(on, off)]
    return f"{common.median(ratios):+.2f} % ({common.percentile(ratios, 0.25):+.2f} to {common.percentile(ratios, 0.75):+.2f})"


def main() -> None:
    options = common.arguments(__doc__, clients=32, seconds=4.0, rounds=12, jdk=25, event="wall")
    classes = common.compile_bench("VirtualServer")
    java = [f"{paths.jdk(options.jdk)}/bin/java", *options.java_option, "-Xmx256m", "-cp", classes.folder, "VirtualServer"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server = subprocess.Popen([*proc.ENDS_WITH_US, *java], **pipes)
    clients = subprocess.Popen([*proc.ENDS_WITH_US, *java, server.stdout.readline().strip(), str(options.clients)], **pipes)
    daemon = Daemon("--recorder-hz=0")
    try:
        time.sleep(5)
        captured(daemon, server, options) # loads the programs
        on, off = [], []
        for turn in range(options.rounds):
            for with_capture in (True, False) if turn % 2 else (False, True):
                (on if with_capture else off).append(captured(daemon, server, options) if with_capture else measured(server, options.seconds))
        for which, name, unit in (0, "requests", "a second"), (1, "CPU time of the server", "us a request"):
            print(f"{name}: {common.median([o[which] for o in off]):.1f} {unit} without, {common.median([o[which] for o in on]):.1f} with "
                  f"event={options.event}; by pairs {change(on, off, which)}")
    finally:
        daemon.stop()
        for jvm in clients, server:
            jvm.kill()
            jvm.wait()


if __name__ == "__main__":
    main()
