# SPDX-License-Identifier: Apache-2.0
"""Carriers of virtual threads: signals if no carrier is free, or if waiting virtual threads hold them. Also samples by kind of thread."""
import collections
import subprocess

from harness import jdkroot, proc
from harness.daemon import Daemon
from harness.jvm import WithClasses
from harness.profile import Profile

OPTIONS = ("-Xmx64m", "-XX:+UseSerialGC", "-Djdk.virtualThreadScheduler.parallelism=2", "-Djdk.virtualThreadScheduler.maxPoolSize=2")
STARVED, PINNED = "carriers-starved", "carriers-pinned"


class Carriers(WithClasses):
    sources = ("Carriers.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, version: int, how: str) -> subprocess.Popen:
        home, classes, wrap = jdkroot.alone(version, self.classes.folder)
        jvm = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, f"{home}/bin/java", *OPTIONS, "-cp", classes, "Carriers", how],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(jvm.communicate)
        self.addCleanup(jvm.kill)
        self.assertEqual(jvm.stdout.readline(), "started\n")
        return jvm

    def signals(self, pid: int) -> dict[str, dict]:
        answer = self.daemon.get("/api/v1/signals", pid=pid)
        return {s["signal"]: s for s in answer.json()["signals"]} if answer.status == 200 else {}

    def await_signals(self, pid: int, *names: str) -> dict[str, dict]:
        return proc.wait_until(lambda: (found := self.signals(pid)) and set(names) <= set(found) and found, 180, f"{names} of {pid}", 0.5)

    def check_pinned(self, jvm: subprocess.Popen, code: str, place: str):
        found = self.await_signals(jvm.pid, PINNED, STARVED)
        print(found[PINNED]["sentence"], "|", found[STARVED]["sentence"], flush=True)
        self.assertRegex(found[PINNED]["sentence"],
                         rf"^on average (1\.\d|2\.0) of 2 carriers are pinned by virtual threads that wait for another thread in {code}{place}; "
                         r"\d+\.\d others could run, but have no carrier$")
        self.assertRegex(found[STARVED]["sentence"], r"^on average \d+\.\d virtual threads could run, .*; \d\.\d carriers are pinned$")
        self.assertGreater(found[STARVED]["value"], 4)
        for signal in found.values():
            self.assertEqual(self.daemon.get(signal["evidence"]).status, 200, signal)
        kinds = self.kinds(jvm.pid, "offcpu")
        self.assertGreater(kinds["pinned", "blocked"], 1, kinds)
        self.assertGreater(kinds["virtual", "runnable"], 10, kinds)

    def kinds(self, pid: int, event: str) -> dict[tuple[str, str], float]:
        """Checks how many threads of each kind were in each state in the last seconds, on average, and that groups and stacks agree."""
        profile = Profile(self.daemon.get("/profile", pid=pid, event=event, by=["kind", "state"], format="json", **{"from": "-20s"}))
        found = collections.Counter()
        for s in profile.stacks:
            kind, state = (name.strip("[]") for name in s.names[:2])
            self.assertEqual(s.kind, kind, s.names)
            found[kind, state] += s.value / 1e9 / (profile.end - profile.start)
        return found

    def test_permits(self):
        """Virtual threads of no pool that all want a permit: where they wait, and what the others wait for that have one."""
        limited, healthy = self.start(25, "permits"), self.start(25, "healthy")
        found = proc.wait_until(lambda: (one := self.signals(limited.pid).get("pool-exhausted")) and one["sentence"].startswith(("8.", "9.")) and one, 180, "a whole window of it", 0.5)
        print(found["sentence"], flush=True)
        self.assertRegex(found["sentence"], r"^(8\.\d|9\.0) virtual threads waited for a permit of a semaphore in Carriers\.save, (7\d|8\d) % of those that "
                         r"waited within their work, in the last 30 s; 3 others in Carriers\.save wait for the same: \[sleep\] in Carriers\.rest$")
        self.assertEqual(found["severity"], 3)
        self.assertIn("Carriers.save", self.daemon.get(found["evidence"] + "&format=flat").text)
        kinds = self.daemon.get("/profile", pid=limited.pid, event="offcpu", format="collapsed", **{"from": "-20s"}).text
        self.assertIn("Carriers.save", kinds)
        self.assertEqual(self.signals(healthy.pid), {})

    def test_signals(self):
        """A class initializer that waits pins both carriers; threads that compute occupy both; a healthy service has no signal."""
        pinned, computes, healthy = (self.start(25, how) for how in ("initializer", "computes", "healthy"))
        self.check_pinned(pinned, r"Carriers\.rest", r", pinned by Carriers\$(First|Second)\.<clinit>")
        found = self.await_signals(computes.pid, STARVED)
        self.assertNotIn(PINNED, found)
        self.assertNotIn("pinned", found[STARVED]["sentence"])
        kinds = self.kinds(computes.pid, "cpu")
        self.assertGreater(kinds["virtual", "running"], 0.9 * sum(kinds.values()), kinds)
        self.assertGreater(kinds["virtual", "running"], 0)
        computes.kill() # on a busy machine it leaves the healthy one no processor, and so no carrier
        proc.wait_until(lambda: not {STARVED, PINNED} & set(self.signals(healthy.pid)), 120, "the healthy one has processors", 0.5)
        kinds = self.kinds(healthy.pid, "wall")
        self.assertEqual(kinds["pinned", "blocked"], 0, kinds)
        self.assertGreater(kinds["virtual", "blocked"], 10, kinds)
        # A carrier mostly runs again before its stack is read.
        self.assertGreater(sum(threads for (kind, _), threads in kinds.items() if kind in ("carrier", "unclear")), 0.3, kinds)
