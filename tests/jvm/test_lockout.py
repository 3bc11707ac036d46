# SPDX-License-Identifier: Apache-2.0
"""A user of the machine who takes all that flamed gives one caller locks nobody out: root on the Unix socket and health over TCP are
answered within 200 ms throughout, others have room, and memory stays under its limit. FLAMED_LOCKOUT_SECONDS: how long each lasts."""
import json
import os
import re
import subprocess
import sys
import time

from harness import caller, paths, proc
from harness.daemon import Daemon
from harness.idle import IdleServer
from harness.spinning import WithSpinningJvm

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


class Lockout(WithSpinningJvm):
    jvm_uid = ALICE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        paths.need("setpriv")

    def probe(self, daemon: Daemon, seconds: float) -> None:
        """Asks again and again for SECONDS what has to be answered at once."""
        asked: dict[str, list[float]] = {}
        end = time.monotonic() + seconds
        idle = self.enterContext(IdleServer())
        while time.monotonic() < end:
            for path, unix in (("/healthz", False), ("/readyz", False), ("/metrics", False), ("/healthz", True),
                               ("/api/v1/jvms", True), (f"/profile?pid={self.pid}&seconds=0.1&symbols=memory&format=flat", True)):
                idle.ask()
                with proc.Standstill() as machine:
                    answer = daemon.get(path, unix=unix, timeout=20)
                    took = machine.given() - (0.1 if "seconds=0.1" in path else 0)
                self.assertEqual(answer.status, 200, f"{path}: {answer}")
                asked.setdefault(f"{path.split('?')[0]} {'unix' if unix else 'tcp'}", []).append(took)
        worst = {name: round(max(times) * 1000) for name, times in asked.items()}
        print(f"\n{self.id().rpartition('.')[2]}: the slowest of {len(next(iter(asked.values())))} each, ms: {worst}, "
              f"of an idle server: {round(idle.worst * 1000)}")
        for name, times in asked.items():
            self.assertLess(max(times), idle.limit(SOON), f"{name}: {worst}")

    def stored(self, daemon: Daemon, count: int) -> list[dict] | None:
        """The stored captures at 2,999 Hz, once there are COUNT."""
        found = [one for one in daemon.get("/api/v1/captures", state="done", limit=100).json()["captures"] if round(one["hz"]) == 2999]
        return found if len(found) == count else None

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
                # Those who come while 16 others wait for their turn are refused for that.
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
        """Captures of slow rates, one more than there are sets of events, keep nobody from a faster one, and go on at their rate."""
        with Daemon() as daemon:
            slow = [daemon.capture(pid=self.pid, hz=hz, seconds=600) for hz in (41, 43, 47, 53)]
            profile = daemon.profile(pid=self.pid, hz=499, seconds=1)
            self.assertGreater(profile.samples, 250)
            numbers = [daemon.get(one.path).json()["samples"] for one in slow]
            with proc.Standstill() as machine:
                time.sleep(3)
                seconds = machine.given()
            for one, before in zip(slow, numbers):
                facts = daemon.get(one.path).json()
                due = facts["hz"] * seconds
                self.assertAlmostEqual((facts["samples"] - before) / due, 1, delta=0.15 + 4 / due ** 0.5)
            for one in slow:
                one.stop()
            warnings = [" ".join(daemon.get(one.path).json()["warnings"]) for one in slow]
            self.assertTrue(any("499" in text and "random share" in text for text in warnings), warnings)

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

    def test_memory(self):
        """Thirty captures of the whole node at 2,999 Hz, in the memory that a pod has."""
        paths.need("setpriv")
        group = os.path.join(GROUP, f"flamed-test-{os.getpid()}")
        budget = [] if SECONDS > 30 else ["--captures-max-bytes=16M"] # which they reach in the time that there is
        os.mkdir(group)
        self.addCleanup(os.rmdir, group)
        names = ("memory.limit_in_bytes", "memory.max_usage_in_bytes") if "memory/" in group else ("memory.max", "memory.peak")
        with open(os.path.join(group, names[0]), "w", encoding="ascii") as f:
            f.write(str(512 << 20))
        wrap = ["sh", "-ec", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        with Daemon(*budget, wrap=wrap) as daemon:
            with Crowd(daemon, 30, "POST", "/api/v1/captures", {"hz": 2999, "seconds": 60 if SECONDS <= 30 else 3000}) as alice:
                self.assertEqual(alice.statuses(), {"201": 30})
                # They are alike, and the largest is thinned each time.
                proc.wait_until(lambda: int(re.search(r"^flamed_captures_thinned_total (\d+)", daemon.get("/metrics").text, re.M)[1]) >= 30,
                                60 + 2 * SECONDS, "the memory for captures is used up by each", interval=0.5)
                self.probe(daemon, SECONDS)
                values = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#")
                bytes_, most = (float(values[f"flamed_captures_{n}bytes"]) for n in ("", "max_"))
                self.assertLessEqual(bytes_, most + 30 * 196608, "each may have a first piece, whatever the others have")
                self.assertEqual(daemon.profile(pid=self.pid, seconds=1, hz=99).warnings, [], "a small one is whole")
                captures = daemon.get("/api/v1/captures", state="running").json()["captures"]
            for one in captures:
                daemon.request("POST", f"/api/v1/captures/{one['id']}/stop", timeout=30)
            ended = proc.wait_until(lambda: self.stored(daemon, 30), 60, "they are stored", 0.2)
            for one in ended: # thinned, or ended early
                self.assertIn("captures_max_bytes", " ".join(one["warnings"]), one)
            with open(os.path.join(group, names[1]), encoding="ascii") as f:
                print(f"captures {bytes_ / 1e6:.0f} MB of {most / 1e6:.0f}, the cgroup at most {int(f.read()) / 1e6:.0f} MB")
            with open(os.path.join(group, "memory.failcnt" if "memory/" in group else "memory.events"), encoding="ascii") as f:
                text = f.read()
            self.assertNotIn("oom_kill 1", text)


if __name__ == "__main__":
    import unittest
    unittest.main()
