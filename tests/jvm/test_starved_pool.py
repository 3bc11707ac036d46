# SPDX-License-Identifier: Apache-2.0
"""A Spring Boot service on virtual threads with too few connections: their waits, what they wait for, and the thread that holds it."""
import os
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from harness import paths, proc
from harness.daemon import Daemon, free_port

sys.path.append(os.path.join(paths.TREE, "tests/bench"))
import services # pylint: disable=wrong-import-position

ORDERS, LEDGERS, CONNECTIONS = 16, 6, 2 # requests at a time, and what the pool has
KEPT = 0.1 # seconds for which a request keeps a connection
BORROW, EXECUTE, LEDGER = "com.zaxxer.hikari.util.ConcurrentBag.borrow", "StarvedService.execute", "ReentrantLock"


class StarvedPool(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.over, self.clients = threading.Event(), []
        self.answered: list[float] = [] # when each request was
        path, port, folder = services.maven("StarvedService"), free_port(), self.enterContext(tempfile.TemporaryDirectory())
        self.daemon = Daemon("--recorder-hz=0")
        self.addCleanup(self.daemon.stop)
        command = [paths.jdk(25) + "/bin/java", "-Xmx256m", "-Dspring.threads.virtual.enabled=true", f"-Dserver.port={port}", "-cp", path, "StarvedService"]
        process, log = self.enterContext(services.running(command, folder))
        services.wait_for(port, "/", process, log)
        self.pid = process.pid
        self.addCleanup(self.stop_clients)
        for path in ["/"] * ORDERS + ["/ledger"] * LEDGERS:
            client = threading.Thread(target=self.ask, args=(f"http://127.0.0.1:{port}{path}",))
            client.start()
            self.clients.append(client)
        proc.wait_until(lambda: len(self.waiting(self.dump(), BORROW)) >= ORDERS - CONNECTIONS, 60, "requests wait for a connection")

    def ask(self, url: str) -> None:
        while not self.over.is_set():
            try:
                with urllib.request.urlopen(url, timeout=30) as answer:
                    answer.read()
                self.answered.append(time.time())
            except OSError:
                self.over.wait(0.2)

    def stop_clients(self) -> None:
        self.over.set()
        for client in self.clients:
            client.join()

    def dump(self) -> dict:
        answer = self.daemon.get(f"/api/v1/jvms/{self.pid}/threads")
        return answer.json() if answer.status == 200 else {"threads": [], "stacks": []}

    @staticmethod
    def waiting(dump: dict, place: str) -> list[dict]:
        """Returns the virtual threads with PLACE on their stacks."""
        return [t for t in dump["threads"] if t["virtual"] and "stack" in t and any(f.startswith(place + "(") for f in dump["stacks"][t["stack"]])]

    def check_waits(self, **query) -> None:
        """Requests wait for connections and for the ledger, all of the time but for that with a connection."""
        profile = self.daemon.profile(pid=self.pid, event="wall", seconds=6, threads=1, **query)
        seconds = profile.end - profile.start
        waits = [s for s in profile.stacks if s.kind == "virtual" and s.state == "blocked"]
        seen = {name: sum(s.value for s in waits if name in s.names) / 1e9 / seconds for name in (BORROW, "StarvedService.ledger", EXECUTE)}
        both = sum(s.value for s in waits if BORROW in s.names and "StarvedService.ledger" in s.names) / 1e9 / seconds
        print(query, seen, both, profile.warnings, flush=True)
        self.assertAlmostEqual(seen[BORROW] - both, ORDERS - CONNECTIONS, delta=2, msg=profile.describe())
        self.assertAlmostEqual(seen["StarvedService.ledger"], LEDGERS, delta=1, msg=profile.describe())
        # A busy machine executes fewer than it could. Some began before the capture, or end after it.
        executed = sum(profile.start <= moment < profile.end for moment in self.answered) * KEPT / seconds
        print(f"executed {executed:.3f}", flush=True)
        self.assertGreater(executed, 0.5 * CONNECTIONS) # otherwise this proves nothing
        self.assertAlmostEqual(seen[EXECUTE], executed, delta=0.1 * executed + CONNECTIONS * KEPT / seconds, msg=profile.describe())
        self.assertLessEqual(seen[EXECUTE], CONNECTIONS + 0.1, profile.describe())

    def test_found(self):
        self.check_waits()
        self.check_waits(source="probe")
        locks = self.daemon.profile(pid=self.pid, event="lock", seconds=3)
        longest = max((s for s in locks.stacks if s.kind == "virtual"), key=lambda s: s.value)
        self.assertIn(BORROW, longest.names, locks.describe())
        leaves = {s.names[-1] for s in locks.stacks if "StarvedService.ledger" in s.names and BORROW not in s.names}
        self.assertTrue(any(LEDGER in leaf for leaf in leaves), leaves)
        self.check_owner()

    def check_owner(self) -> None:
        """A thread that waits for the ledger has its class and its owner: the request that waits for a connection, or has one."""
        def owned():
            dump = self.dump()
            ids = {t["id"] for t in self.waiting(dump, "StarvedService.ledger")}
            waits = [t for t in dump["threads"] if t["id"] in ids and LEDGER in t.get("lock", {}).get("class", "")]
            owners = {t["lock"].get("owner", {}).get("id") for t in waits} - {None}
            holders = {t["id"] for t in self.waiting(dump, "StarvedService.query")} & ids
            return owners and owners <= holders and len(waits) >= LEDGERS - 2 and dump
        dump = proc.wait_until(owned, 30, "the owner of the ledger stands in the same dump, with its stack")
        print({t["lock"]["class"] for t in self.waiting(dump, BORROW) if "lock" in t}, flush=True)
