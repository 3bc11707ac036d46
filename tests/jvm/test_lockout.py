# SPDX-License-Identifier: Apache-2.0
"""A user who takes everything that flamed gives one caller locks out no other. Root on the Unix socket and health over TCP are answered
within 200 ms all the time. Others have room, and memory stays below its limit. FLAMED_LOCKOUT_SECONDS: how long each test lasts."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import unittest
from unittest import mock

from harness import caller, jvm, paths, proc
from harness.daemon import Daemon
from harness.idle import ENGINE_HOPS, HOPS, IdleServer, Queued
from harness.spinning import WithSpinningJvm
from test_hanging_files import container_cgroup

SECONDS = float(os.environ.get("FLAMED_LOCKOUT_SECONDS", "1"))
SOON = 0.2
ALICE = 64111 # a user that no machine has
CROWD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness/crowd.py")
GROUP = "/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes") else "/sys/fs/cgroup"


class Crowd:
    """Alice's connections, each with the same request."""

    def __init__(self, daemon: Daemon, count: int, method: str, path: str, body: dict | None = None):
        self.process = subprocess.Popen(
            ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", sys.executable, CROWD, str(daemon.port), str(count),
             method, path, *([json.dumps(body)] if body else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def statuses(self) -> dict[str, int]:
        return json.loads(self.process.stdout.readline())

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


# Root in a container with the host's network: threads connect again and again, each time from another cgroup, and there are connections
# without a request. The main thread is in none of these cgroups.
CONTAINER = """
import socket, sys, threading
port, silent, threads, folders = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
held, asked = [], [0] * threads
def connect():
    s = socket.create_connection(("127.0.0.1", port), 30)
    s.settimeout(30)
    return s
def ask(i):
    while True:
        for folder in folders[i::threads] or folders:
            if len(folders) > 1:
                with open(folder + "/cgroup.procs", "w") as f:
                    f.write("0")
            try:
                with connect() as s:
                    s.sendall(b"GET /api/v1/jvms HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
                    s.recv(4096)
            except OSError:
                pass
            asked[i] += 1
def hold():
    while True:
        try:
            held.append(connect())
        except OSError:
            pass
        del held[:-silent]
        if len(held) == silent:
            threading.Event().wait(0.02)
with open(folders[0] + "/cgroup.procs", "w") as f:
    f.write("0")
for i in range(threads):
    threading.Thread(target=ask, args=(i,), daemon=True).start()
if silent:
    threading.Thread(target=hold, daemon=True).start()
while sum(asked) < 2 * threads or len(held) < silent:
    threading.Event().wait(0.05)
print("ready", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def container_root(daemon: Daemon, silent: int, threads: int, folders: list[str]):
    """Runs CONTAINER in a process of its own, or one for each of THREADS if there are many FOLDERS."""
    each = [folders[i::threads] for i in range(threads)] if len(folders) > 1 else [folders]
    with contextlib.ExitStack() as stack:
        for own in each:
            process = stack.enter_context(subprocess.Popen(
                [sys.executable, "-c", CONTAINER, str(daemon.port), str(silent), str(threads // len(each)), *own],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            assert process.stdout.readline() == "ready\n"
        yield


@contextlib.contextmanager
def cgroup_tree(count: int, callers: int):
    """Makes COUNT empty cgroups of version 2, and CALLERS further ones. Returns the folders of the latter."""
    top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "/sys/fs/cgroup/unified"
    if not os.path.exists(top + "/cgroup.controllers"):
        raise unittest.SkipTest("no cgroups of version 2 on this machine")
    top = os.path.join(top, f"flamed-test-{os.getpid()}")
    own = [f"{top}/z{i}" for i in range(callers)]
    folders = [top, top + "/a", *(f"{top}/a/{i}" for i in range(count)), *own]
    with contextlib.ExitStack() as stack:
        for folder in folders:
            os.mkdir(folder)
            stack.callback(os.rmdir, folder)
        yield own
        proc.wait_until(lambda: not any(proc.read(folder + "/cgroup.procs") for folder in own), 10, "empty cgroups")


ALL_PATHS = (("/healthz", False), ("/readyz", False), ("/metrics", False), ("/healthz", True), ("/api/v1/jvms", True),
             ("/profile?pid={pid}&seconds=0.1&symbols=memory&format=flat", True))
# Requests that any caller may make over TCP, and requests over the Unix socket.
UNTOLD_PATHS = tuple(path for path in ALL_PATHS if path[1] or path[0] == "/healthz")


class Lockout(WithSpinningJvm):
    jvm_uid = ALICE
    rest = 45

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        paths.need("setpriv")

    def probe(self, daemon: Daemon, seconds: float, paths: tuple[tuple[str, bool], ...] = ALL_PATHS) -> None:
        """Sends requests that must be answered at once, again and again, for SECONDS."""
        asked: dict[str, list[tuple[float, float]]] = {}
        idle, pids = self.enterContext(IdleServer()), daemon.pids()
        end = time.monotonic() + seconds # a busy machine may need long to start that server
        while time.monotonic() < end:
            for path, unix in ((path.format(pid=self.pid), unix) for path, unix in paths):
                idle.ask()
                with Queued(pids) as queued, proc.Standstill() as machine:
                    answer = daemon.get(path, unix=unix, timeout=20)
                    took = machine.given() - (0.1 if "seconds=0.1" in path else 0)
                self.assertEqual(answer.status, 200, f"{path}: {answer}")
                asked.setdefault(f"{path.split('?')[0]} {'unix' if unix else 'tcp'}", []).append((took, queued.worst))
        worst = {name: tuple(round(seconds * 1000) for seconds in max(times)) for name, times in asked.items()}
        print(f"\n{self.id().rpartition('.')[2]}: the slowest of {len(next(iter(asked.values())))} each, ms, and for how long a thread of "
              f"flamed had no processor meanwhile: {worst}; the slowest of an idle server: {round(idle.worst * 1000)}")
        for name, times in asked.items():
            hops = ENGINE_HOPS if name.startswith(("/api/", "/profile")) else HOPS
            for took, queued in times:
                self.assertLess(took, idle.limit(SOON, hops, queued), f"{name}: {worst}")

    def spinning(self) -> jvm.Jvm:
        """Starts a process that is always busy."""
        return self.enterContext(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.spin.folder, self.spin.main))

    def stored(self, daemon: Daemon, idents: list[str]) -> list[dict] | None:
        """Returns these captures once all are stored. Looks them up by id: a list of the newest has those of probe() first."""
        found = [daemon.get(f"/api/v1/captures/{ident}").json() for ident in idents]
        return found if all(one["state"] == "done" for one in found) else None

    def as_alice(self, daemon: Daemon, path: str, body: dict | None = None) -> caller.Reply:
        return caller.ask(f"http://127.0.0.1:{daemon.port}{path}", uid=ALICE, method="POST" if body else "GET",
                          body=json.dumps(body) if body else None)

    def refuses_alice(self, daemon: Daemon, path: str, *words: str) -> None:
        reply = self.as_alice(daemon, path)
        self.assertEqual(reply.status, 429, str(reply))
        for word in words:
            self.assertIn(word, reply.json()["detail"])

    def test_streams(self):
        with Daemon() as daemon:
            ident = "/api/v1/captures/" + self.as_alice(daemon, "/api/v1/captures", {"pid": self.pid, "seconds": 3600}).json()["id"]
            with Crowd(daemon, 128, "GET", ident + "/stream") as alice:
                self.assertEqual(alice.statuses(), {"200": 64, "429": 64})
                self.refuses_alice(daemon, ident + "/stream", "64 streams")
                self.probe(daemon, SECONDS)
                self.assertEqual(daemon.get("/api/v1/jvms").status, 200, "others over TCP")
                # Callers that come while 16 others wait are refused for that reason.
                refused = re.findall(r'flamed_http_quota_refused_total\{quota="(?:streams|waiting)"\} (\d+)', daemon.get("/metrics").text)
                self.assertIn(sum(map(int, refused)), range(65, 70))

    def test_captures_of_an_hour(self):
        with Daemon() as daemon, Crowd(daemon, 64, "POST", "/api/v1/captures", {"pid": self.pid, "seconds": 3600}) as alice:
            self.assertEqual(alice.statuses(), {"201": 32, "429": 32})
            reply = self.as_alice(daemon, "/api/v1/captures", {"seconds": 3600})
            self.assertEqual(reply.status, 429, str(reply))
            self.assertIn("32 captures are running", reply.json()["detail"])
            self.assertIn("longer than 60 s", reply.json()["detail"])
            for unix in (False, True):
                self.assertEqual(daemon.get(f"/profile?pid={self.pid}&seconds=0.2", unix=unix).status, 200)
            with Crowd(daemon, 40, "GET", f"/profile?pid={self.pid}&seconds=60") as more:
                self.assertEqual(more.statuses(), {"open": 32, "429": 8})
                self.refuses_alice(daemon, f"/profile?pid={self.pid}&seconds=1", f"64 captures are running for user {ALICE} over TCP")
                self.probe(daemon, SECONDS)

    def test_rates(self):
        """Captures with slow rates, one more than there are sets of events, do not block a faster one, and keep their rate."""
        pid = self.spinning().pid
        with Daemon() as daemon:
            slow = [daemon.capture(pid=pid, hz=hz, seconds=600) for hz in (41, 43, 47, 53, 59, 61, 67, 71)]
            since, used = time.monotonic(), proc.cpu_seconds(pid)
            profile = daemon.profile(pid=pid, hz=499, seconds=1)
            share = (proc.cpu_seconds(pid) - used) / (time.monotonic() - since) # share of a processor: others run, too
            self.assertGreater(profile.samples, 250 * min(share, 1))
            numbers = [(daemon.get(one.path).json()["samples"], proc.cpu_seconds(pid)) for one in slow]
            time.sleep(3)
            for one, (before, used) in zip(slow, numbers):
                facts = daemon.get(one.path).json()
                due = facts["hz"] * (proc.cpu_seconds(pid) - used) # others run, too
                self.assertAlmostEqual((facts["samples"] - before) / due, 1, delta=0.15 + 4 / due ** 0.5)
            for one in slow:
                one.stop()
            warnings = [" ".join(daemon.get(one.path).json()["warnings"]) for one in slow]
            self.assertTrue(any("499" in text and "random share" in text for text in warnings), warnings)

    def test_events(self):
        """Captures of other events, more than there are sets, leave room for others: for a user, and for root over TCP."""
        with Daemon() as daemon:
            self.assertEqual(self.as_alice(daemon, "/api/v1/captures", {
                "pid": self.pid, "seconds": 600, "event": "page-faults,minor-faults,context-switches,cpu-migrations"}).status, 201)
            reply = self.as_alice(daemon, "/api/v1/captures", {"pid": self.pid, "seconds": 600, "event": "major-faults"})
            self.assertEqual(reply.status, 429, str(reply))
            self.assertIn("4 events and rates, the most for one caller", reply.json()["detail"])
            self.assertEqual(self.as_alice(daemon, "/api/v1/captures", {"pid": self.pid, "seconds": 600, "event": "page-faults"}).status, 201,
                             "what is sampled already")
            for query in ({}, {"event": "major-faults"}, {"hz": 499}):
                for unix in (False, True):
                    answer = daemon.get("/profile", unix=unix, pid=self.pid, seconds=0.2, format="collapsed", **query)
                    self.assertEqual(answer.status, 200, f"{query}: {answer}")

    def test_regular_expressions(self):
        """Of sixteen clients: each may take 2 s of CPU time, and others wait for none of them."""
        expression = "%5Ba-z.%5D*.*.*%5B0-9%5D%7B9%7D"
        with Daemon() as daemon:
            ident = self.as_alice(daemon, "/api/v1/captures", {"seconds": 1, "hz": 999}).json()["id"]
            proc.wait_until(lambda: daemon.get(f"/api/v1/captures/{ident}/profile", format="flat").status == 200, 5, "it is stored")
            with Crowd(daemon, 16, "GET", f"/api/v1/captures/{ident}/profile?format=collapsed&exclude={expression}"):
                self.probe(daemon, SECONDS)
                with proc.Standstill() as machine:
                    self.assertEqual(daemon.get("/api/v1/jvms").status, 200)
                    self.assertLess(machine.given(), SOON, "others over TCP")

    def over_tcp(self, daemon: Daemon) -> None:
        """The host's root is recognised in the end, and the looks needed are counted."""
        proc.wait_until(lambda: daemon.get("/api/v1/jvms", timeout=30).status == 200, 30, "root over TCP")
        counted = dict(re.findall(r"^(flamed_http_caller_\w+) (\d+)$", daemon.get("/metrics", unix=True).text, re.M))
        print(counted)
        self.assertGreater(int(counted["flamed_http_caller_looks_total"]), 0)

    def test_connections_of_a_container(self):
        """A container's root has the same number as the host's, until the holder of the socket is known. Without a request it never is."""
        with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "sock_diag"}), Daemon("--recorder-hz=0") as daemon, \
                container_cgroup() as cgroup, container_root(daemon, 300, 8, [cgroup]):
            self.probe(daemon, SECONDS, (("/healthz", False), ("/healthz", True), ("/api/v1/whoami", True)))
            self.over_tcp(daemon)

    def test_many_cgroups(self):
        """A user who may make cgroups in a part of the hierarchy connects from one after another: each has to be found."""
        with cgroup_tree(10000, 80) as folders, Daemon("--recorder-hz=0") as daemon, container_root(daemon, 0, 8, folders):
            self.probe(daemon, SECONDS, UNTOLD_PATHS)
            self.over_tcp(daemon)

    @unittest.skipUnless("FLAMED_LOCKOUT_SECONDS" in os.environ, "FLAMED_LOCKOUT_SECONDS is not set: jvm_lockout_long runs it")
    def test_memory(self):
        """Thirty captures of the whole node at 9,999 Hz, in the memory of a pod."""
        paths.need("setpriv")
        group = os.path.join(GROUP, f"flamed-test-{os.getpid()}")
        budget = [] if SECONDS > 30 else ["--captures-max-bytes=16M"] # they reach it within the time of the test
        os.mkdir(group)
        self.addCleanup(os.rmdir, group)
        names = ("memory.limit_in_bytes", "memory.max_usage_in_bytes") if "memory/" in group else ("memory.max", "memory.peak")
        with open(os.path.join(group, names[0]), "w", encoding="ascii") as f:
            f.write(str(512 << 20))
        wrap = ["sh", "-ec", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        self.spinning()
        with Daemon(*budget, wrap=wrap) as daemon:
            with Crowd(daemon, 30, "POST", "/api/v1/captures", {"hz": 9999, "seconds": 60 if SECONDS <= 30 else 3000}) as alice:
                self.assertEqual(alice.statuses(), {"201": 30})
                captures = [one["id"] for one in daemon.get("/api/v1/captures", limit=100).json()["captures"]]
                self.assertEqual(len(captures), 30)
                # All are alike, and the largest one is thinned each time.
                proc.wait_until(lambda: int(re.search(r"^flamed_captures_thinned_total (\d+)", daemon.get("/metrics").text, re.M)[1]) >= 30,
                                120 + 2 * SECONDS, "the memory for captures is used up by each", interval=0.5)
                self.probe(daemon, SECONDS)
                values = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#")
                bytes_, most = (float(values[f"flamed_captures_{n}bytes"]) for n in ("", "max_"))
                self.assertLessEqual(bytes_, most + 30 * 196608, "each may have a first piece, whatever the others have")
                self.assertEqual(daemon.profile(pid=self.pid, seconds=1, hz=99).problems, [], "a small one is whole")
            for ident in captures: # a short one has ended
                stopped = daemon.request("POST", f"/api/v1/captures/{ident}/stop", timeout=30, unix=True) # over TCP root may not
                self.assertIn(stopped.status, (200, 409), str(stopped))
            ended = proc.wait_until(lambda: self.stored(daemon, captures), 60, "they are stored", 0.2)
            for one in ended: # thinned, or ended early
                self.assertIn("captures_max_bytes", " ".join(one["warnings"]), one)
            with open(os.path.join(group, names[1]), encoding="ascii") as f:
                print(f"captures {bytes_ / 1e6:.0f} MB of {most / 1e6:.0f}, the cgroup at most {int(f.read()) / 1e6:.0f} MB")
            with open(os.path.join(group, "memory.failcnt" if "memory/" in group else "memory.events"), encoding="ascii") as f:
                text = f.read()
            self.assertNotIn("oom_kill 1", text)


if __name__ == "__main__":
    unittest.main()
