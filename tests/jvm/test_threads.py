# SPDX-License-Identifier: Apache-2.0
"""GET /api/v1/jvms/{pid}/threads: the state of each thread, platform and virtual, read from memory."""
import collections
import re
import subprocess

from harness import jdkroot, jvm, paths, proc
from harness.daemon import Daemon

PER_SITE, SLEEPERS, TASKS = 20, 10000, 50
CROWD, CROWD_SECONDS = 100000, 2 # sleepers, and CPU time of a dump on a machine that other programs use, too
# Names of threads begin with the site where they wait; what they wait for there; and their state.
SITES = {"Sleep": ("siteSleep", None, "TIMED_WAITING"), "Lock": ("siteLock", "lock", "WAITING"), "Queue": ("siteQueue", "condition", "WAITING"),
         "Socket": ("siteSocket", None, None), "Monitor": ("siteMonitor", "monitor", "BLOCKED"), "Wait": ("siteWait", "notify", "WAITING")}
CLASSES = {"lock": "ReentrantLock", "monitor": "ManyThreads$Guarded", "notify": "ManyThreads$Waited"}
ROOT = "jdk.internal.vm.Continuation.enter("


class Threads(jvm.WithClasses):
    sources = ("ManyThreads.java", "Wall.java")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, version: int, *command: str) -> int:
        """Starts java of VERSION with COMMAND and waits until its memory is read."""
        home, classes, wrap = jdkroot.alone(version, self.classes.folder)
        run = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, f"{home}/bin/java", "-Xmx512m", "-cp", classes, *command],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) # Wall ends with its input
        self.addCleanup(run.stdin.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        pid = run.pid
        proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{pid}").status == 200 and
                        self.daemon.get(f"/api/v1/jvms/{pid}").json()["profilable"]["symbols"] == "memory", 30, "it is known")
        return pid

    def many(self, version: int, *options: str, sleepers: int = SLEEPERS, churn: int = 0) -> int:
        """CHURN: MB of garbage a second."""
        return self.start(version, *options, "ManyThreads", str(PER_SITE), str(sleepers), str(TASKS), str(churn))

    def settled(self, pid: int, count: int) -> dict:
        """Returns the dump, once COUNT virtual threads of the test wait, and the last thread has begun."""
        def waiting():
            answer = self.daemon.get(f"/api/v1/jvms/{pid}/threads")
            if answer.status == 409: # not at this moment, as on a busy machine
                print(answer.json()["detail"], flush=True)
                return None
            dump = answer.json()
            ours = [t for t in dump["threads"] if t["virtual"] and not t["name"].startswith("SubPoller") and t["state"] != "RUNNABLE"]
            return dump if len(ours) == count and any(t["name"] == "spinner" for t in dump["threads"]) else None
        return proc.wait_until(waiting, 60, f"{count} virtual threads wait")

    def check_sites(self, dump: dict, kind: str, per_site: int, sites: set[str]):
        """Each thread is at its site, with a whole stack and the right reason for its wait."""
        seen = collections.Counter()
        for thread in dump["threads"]:
            name = thread["name"].split("-")[0]
            if name[:1] != kind or name[1:] not in SITES:
                continue
            site, lock, state = SITES[name[1:]]
            stack = dump["stacks"][thread["stack"]]
            self.assertEqual(thread["stack_state"], "whole", thread)
            self.assertTrue(any(f.startswith(f"ManyThreads.{site}(ManyThreads.java:") for f in stack), (thread, stack))
            self.assertTrue(stack[-1].startswith(ROOT if kind == "v" else "java.lang.Thread.run("), stack)
            self.assertIn(thread["state"], (state,) if state else ("WAITING", "RUNNABLE"), thread)
            if lock:
                self.assertEqual(thread.get("lock", {}).get("kind"), lock, thread)
            if lock in CLASSES:
                self.assertIn(CLASSES[lock], thread["lock"]["class"])
            if lock == "lock":
                self.assertEqual(thread["lock"]["owner"]["name"], "main", thread)
            seen[name[1:]] += 1
        self.assertEqual(seen, {site: per_site for site in sites})

    def check(self, version: int, *options: str):
        """Lists 10,000 sleepers, and counts the threads of each site."""
        pid = self.many(version, *options)
        sites = set(SITES) - ({"Monitor", "Wait"} if version < 24 else set())
        dump = self.settled(pid, PER_SITE * len(sites) + SLEEPERS + TASKS)
        self.assertTrue(dump["complete"], dump["warnings"])
        self.check_sites(dump, "v", PER_SITE, sites)
        self.check_sites(dump, "p", 2, set(SITES))
        names = {t["name"] for t in dump["threads"] if t["virtual"]}
        self.assertTrue({f"sleeper-{i}" for i in range(SLEEPERS)} | {f"task-{i}" for i in range(TASKS)} <= names)
        self.assertEqual(dump["count"], len(dump["threads"]))
        spinner = next(t for t in dump["threads"] if t["name"] == "spinner")
        self.assertEqual(spinner["state"], "RUNNABLE")
        self.assertIn(spinner["tid"], proc.threads(pid))
        groups = self.daemon.get(f"/api/v1/jvms/{pid}/threads", group=1).json()["groups"]
        self.assertGreaterEqual(groups[0]["count"], SLEEPERS * 0.9)
        self.assertEqual(groups[0]["virtual"], groups[0]["count"])
        self.assertEqual(sum(g["count"] for g in groups), dump["count"])

    def test_25(self):
        self.check(25)

    def cpu_seconds(self) -> float:
        return sum(proc.cpu_seconds(pid) for pid in self.daemon.pids())

    def test_crowd(self):
        """Dumps of 100,000 sleepers are complete, and take a second of CPU time."""
        pid = self.many(25, "-Xmx1g", sleepers=CROWD)
        self.settled(pid, 6 * PER_SITE + CROWD + TASKS)
        sleepers = {f"sleeper-{i}" for i in range(CROWD)}
        for query in {}, {"group": 1}, {"format": "text"}:
            before = self.cpu_seconds()
            answer = self.daemon.get(f"/api/v1/jvms/{pid}/threads", **query)
            took = self.cpu_seconds() - before
            print(query, round(took, 2), "s of CPU", len(answer.text), "bytes", flush=True)
            self.assertLess(took, CROWD_SECONDS, query)
            if "format" in query:
                names = re.findall(r'(?m)^"(sleeper-\d+)" #\d+ virtual', answer.text)
                self.assertEqual((len(names), set(names)), (CROWD, sleepers))
                self.assertEqual(len(re.findall(r"(?m)^\tat ManyThreads\.deep\(", answer.text)), CROWD * 9)
                continue
            dump = answer.json()
            self.assertTrue(dump["complete"], dump["warnings"])
            if "group" in query:
                self.assertGreaterEqual(dump["groups"][0]["count"], CROWD)
                continue
            names = [t["name"] for t in dump["threads"] if t["name"].startswith("sleeper-")]
            self.assertEqual((len(names), set(names)), (CROWD, sleepers))
            self.assertEqual({t["stack_state"] for t in dump["threads"] if t["name"].startswith("sleeper-")}, {"whole"})
            self.assertEqual(dump["count"], dump["platform"] + dump["virtual"])

    def test_untracked(self):
        """With -Djdk.trackAllThreads=false the JVM lists only the threads of executors, and the answer says so."""
        pid = self.many(25, "-Djdk.trackAllThreads=false", sleepers=0)
        dump = self.settled(pid, TASKS)
        self.assertFalse(dump["complete"])
        self.assertRegex(" ".join(dump["warnings"]), "trackAllThreads=false")
        self.assertEqual({t["name"] for t in dump["threads"] if t["virtual"] and not t["name"].startswith("SubPoller")}, {f"task-{i}" for i in range(TASKS)})

    def test_17(self):
        """Without virtual threads. The text has the form of jstack."""
        pid = self.start(17, "Wall")
        text = proc.wait_until(lambda: (t := self.daemon.get(f"/api/v1/jvms/{pid}/threads", format="text").text).count("at Wall.") > 2 and
                               "at Wall.reads(" in t and '"sleeps-0"' in t and t, 20, "its threads have begun")
        self.assertRegex(text, r'(?m)^"sleeps-0" #\d+ daemon \[\d+\] nid=\d+ waiting on condition$')
        self.assertRegex(text, r"(?m)^\tat Wall\.reads\(Wall\.java:\d+\)$")
        self.assertIn("   java.lang.Thread.State: TIMED_WAITING\n", text)
        self.assertRegex(text, r"(?m)^\tat java\.lang\.Thread\.sleep\(Native Method\)$")
        dump = self.daemon.get(f"/api/v1/jvms/{pid}/threads").json()
        self.assertEqual((dump["virtual"], dump["complete"]), (0, True))
        whole = [t for t in dump["threads"] if t["stack_state"] == "whole"]
        self.assertIn("Reference Handler", [t["name"] for t in whole])
        for query, parameter in (("format=html", "format"), ("group=2", "group")):
            answer = self.daemon.get(f"/api/v1/jvms/{pid}/threads?{query}")
            self.assertEqual((answer.status, answer.json()["parameter"]), (400, parameter))
        self.assertEqual(self.daemon.get("/api/v1/jvms/2147483646/threads").status, 404)
