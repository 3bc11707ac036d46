# SPDX-License-Identifier: Apache-2.0
"""Captures many JVMs at once, some of them short-lived, and then one JVM with many threads. Reports the result and the delay of the answer.
Also for how much of that time this client was ready to read and had no processor."""
import concurrent.futures
import contextlib
import threading
import time
import urllib.parse

import common
from harness import jvm, paths, proc
from harness.daemon import Answer, Daemon
from harness.profile import Profile, count


def waited() -> float:
    """Returns the seconds in which this thread was ready to run, and others ran."""
    return int(proc.read("/proc/thread-self/schedstat").split()[1]) / 1e9


def capture(daemon: Daemon, seconds: float, hz: int, **parameters) -> tuple[Profile, float, str]:
    """Returns the profile, the seconds from its end to the answer's last byte, and both times as a sentence."""
    query = urllib.parse.urlencode({"seconds": seconds, "hz": hz, "format": "json", "threads": 1, "lines": 1, **parameters})
    with contextlib.closing(daemon.connection(seconds + 60)) as connection:
        connection.request("GET", "/profile?" + query)
        time.sleep(0.1) # it is under way; from here on this test only reads
        before = waited()
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        now, own = time.time(), waited() - before
    assert answer.status == 200, answer
    profile = Profile(answer)
    delay = now - profile.end
    return profile, delay, f"answer {1000 * delay:.0f} ms after the end, in {1000 * own:.0f} of which the client had no processor"


def many_jvms(daemon: Daemon, classes: str, options, aims: common.Aims) -> None:
    def start() -> jvm.Jvm:
        return jvm.Jvm(paths.jdk(options.jdk), "-Xmx32m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes,
                       "Pulse")

    running = [start() for _ in range(options.jvms - 4)]
    leaving = [start() for _ in range(4)]
    arriving: list[jvm.Jvm] = []

    try:
        time.sleep(1)

        def come_and_go() -> None:
            time.sleep(options.seconds / 3)
            for target in leaving:
                target.stop()
            with concurrent.futures.ThreadPoolExecutor(4) as pool: # one by one, the last would start too late
                arriving.extend(pool.map(lambda _: start(), range(4)))
                over.wait() # each ends with the thread that started it

        over = threading.Event()
        thread = threading.Thread(target=come_and_go)
        thread.start()
        try:
            profile, delay, said = capture(daemon, options.seconds, options.hz, jvm="Pulse")
        finally:
            over.set()
            thread.join()
        seen = {s.pid for s in profile.stacks}
        java = [s for s in profile.stacks if any(f.kind in ("c1", "c2", "inlined", "interpreted") for f in s.frames)]
        print(f"{options.jvms} JVMs: {profile.samples} samples of {len(seen)} JVMs, {said}, "
              f"{100 * profile.share(java, lambda s: not s.truncated):.2f} % of Java stacks whole; quality {profile.quality}")
        aims.aim("every JVM that stayed is seen", all(target.pid in seen for target in running))
        aims.aim("those that left and those that came are seen", all(t.pid in seen for t in [*leaving, *arriving]))
        aims.aim("the answer within 1 s", delay < 1)
        aims.aim("99 % of Java stacks whole", profile.share(java, lambda s: not s.truncated) >= 0.99)
    finally:
        for target in [*running, *leaving, *arriving]:
            target.stop()


def many_threads(daemon: Daemon, classes: str, options, aims: common.Aims) -> None:
    with jvm.Jvm(paths.jdk(options.jdk), "-Xmx128m", "-Xss512k", "-cp", classes, "Crowd", str(options.threads)) as target:
        profile, delay, said = capture(daemon, options.seconds, 499, pid=target.pid, symbols="memory")
        crowd = [s for s in profile.stacks if s.thread.startswith("crowd-")]
        named = {s.thread for s in crowd}
        whole = profile.share(crowd, lambda s: not s.truncated)
        print(f"{options.threads} threads: {count(crowd)} samples of {len(named)} of them, {100 * whole:.2f} % whole, {said}; "
              f"quality {profile.quality}")
        aims.aim("99 % whole", whole >= 0.99)
        aims.aim("most threads are seen by name", len(named) > options.threads / 2)
        aims.aim("the answer within 1 s", delay < 1)


def main() -> None:
    options = common.arguments(__doc__, jdk=17, jvms=40, threads=1000, seconds=9.0, hz=99)
    aims = common.Aims(options.check)
    classes = common.compile_bench("Pulse", "Crowd")
    with Daemon() as daemon:
        many_threads(daemon, classes.folder, options, aims)
        many_jvms(daemon, classes.folder, options, aims)
    aims.exit()


if __name__ == "__main__":
    main()
