# SPDX-License-Identifier: Apache-2.0
"""Schedules and triggers of a real daemon: they run in time, with the JVMs that live then, and accept a new configuration."""
import datetime
import json
import os
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from harness import jvm, paths, proc, receiver
from harness.daemon import Daemon

SIDE_BY_SIDE = True # each class waits most of its time
SECONDS = float(os.environ.get("FLAMED_SCHEDULE_SECONDS", "20"))
JVMS = int(os.environ.get("FLAMED_SCHEDULE_JVMS", "3"))
EVERY, FOR = 5, 2
SERVICE = f"pulse-{os.getpid()}" # of the JVMs of this process
PULSE = f'{{main="Pulse",service="{SERVICE}"}}'


def seconds_of(text: str) -> float:
    """Converts RFC 3339 with nanoseconds to seconds since 1970."""
    whole, _, part = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + (part or "0"))


def folder_bytes(path: str) -> int:
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(path) for name in names)


class WithConfiguration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="flamed-config.")
        self.addCleanup(self.folder.cleanup)
        self.config = os.path.join(self.folder.name, "flamed.yaml")

    def configure(self, text: str) -> None:
        """Replaces the file as editors do: by a new file. Only root may read it."""
        fresh = self.config + ".new"
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(fresh, self.config)

    def schedules(self, daemon: Daemon) -> dict[str, dict]:
        """Returns schedules and triggers by name."""
        answer = daemon.get("/api/v1/schedules")
        self.assertEqual(answer.status, 200, answer)
        document = answer.json()
        return {row["name"]: row for row in document["schedules"] + document["triggers"]}

    def captures(self, daemon: Daemon, schedule: str) -> list[dict]:
        """Returns the finished ones, the oldest first."""
        answer = daemon.get("/api/v1/captures", schedule=schedule, state="done", limit=1000)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["captures"][::-1]


class WithPulse(WithConfiguration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.classes = jvm.Classes()
        cls.classes.compile("Pulse.java")

    def start_jvm(self, milliseconds: int = 4) -> jvm.Jvm:
        started = jvm.Jvm(paths.jdk(17), "-Xmx32m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                          f"-Dotel.service.name={SERVICE}", "-cp", self.classes.folder, "Pulse", str(milliseconds))
        self.addCleanup(started.stop)
        return started


class Schedules(WithPulse):
    def test_in_time_with_those_that_live(self):
        """No run is missed. Each begins within a second of its time, and has exactly the JVMs that lived through it. Each JVM uses 4 % of a
        processor by its thread's own clock (Pulse), which it gets on two processors under any load. So a run has some 16 samples, and
        none would mean a fault of the schedule."""
        self.configure(f"""
schedules:
  - name: pulse
    match: ['{PULSE}', 'pod=""']
    every: {EVERY}s
    for: {FOR}s
    hz: 199
    keep: 1h
""")
        lives: dict[int, list[float]] = {} # pid -> before and after its start, before and after its end
        running = []

        def begin() -> None:
            before = time.time()
            running.append(self.start_jvm())
            lives[running[-1].pid] = [before, time.time(), float("inf"), float("inf")]

        def end() -> None:
            gone = running.pop(0)
            lives[gone.pid][2] = time.time()
            gone.stop()
            lives[gone.pid][3] = time.time()

        with Daemon("--config", self.config, "--recorder-hz=0") as daemon, proc.Standstill() as machine:
            phase = self.schedules(daemon)["pulse"]["phase_seconds"]
            for _ in range(max(JVMS - 1, 1)):
                begin()
            time.sleep(1)
            start = time.time()
            before, sizes = self.schedules(daemon)["pulse"], [folder_bytes(daemon.folder + "/store")]
            turn = 0
            while time.time() < start + SECONDS: # one starts and one ends, in turn
                time.sleep(min(SECONDS / 3, 7))
                sizes.append(folder_bytes(daemon.folder + "/store"))
                if turn % 2 == 0:
                    begin()
                else:
                    end()
                turn += 1
            time.sleep(FOR + 1)
            ended = time.time()
            after, captures = self.schedules(daemon)["pulse"], self.captures(daemon, "pulse")
        expected = int((ended - phase) // EVERY) - int((start - phase) // EVERY)
        self.assertEqual(after["missed"], 0, after)
        self.assertLessEqual(abs(after["runs"] - before["runs"] - expected), 1, after)
        self.assertGreaterEqual(len(captures), expected - 2)
        begun = [seconds_of(c["start"]) for c in captures]
        drifts = [(b - phase) % EVERY for b in begun]
        print(f"{len(captures)} captures; begun late by at most {max(drifts) * 1000:.1f} ms")
        for b, drift in zip(begun, drifts):
            self.assertLess(drift - machine.between(b - drift, b), 1.0)
        for one, two in zip(begun, begun[1:]):
            self.assertAlmostEqual(two - one, EVERY, delta=1.0 + machine.between(one - 1, two))
        for capture, b in zip(captures, begun):
            self.assertAlmostEqual(capture["seconds"], FOR, delta=0.3 + machine.between(b, b + FOR + 1))
            pids = {p["pid"] for p in capture["processes"]}
            through = {pid for pid, (_, came, goes, _) in lives.items() if came < b - 0.5 and goes > b + FOR}
            within = {pid for pid, (comes, _, _, went) in lives.items() if comes < b + FOR and went > b}
            self.assertLessEqual(through, pids, "every JVM that lived through it")
            self.assertLessEqual(pids, within, "none that did not live then")
        if len(captures) >= 20: # the runs at the end cost no more than those at the begin
            half = len(sizes) // 2
            print(f"store: {sizes}")
            self.assertLess(sizes[-1] - sizes[half], 1.5 * (sizes[half] - sizes[1]) + (1 << 20))

    def test_triggers(self):
        self.configure(f"""
triggers:
  - name: high-cpu
    match: '{{main=~"Pul.*",service="{SERVICE}"}}'
    for: 1s
    hz: 199
    cooldown: 3s
  - {{name: nobody, match: 'main="no.such.Main"', for: 1s}}
""")
        one = self.start_jvm(40)
        with Daemon("--config", self.config, "--recorder-hz=0") as daemon:
            answer = daemon.request("POST", "/api/v1/triggers/high-cpu", unix=True)
            self.assertIn(answer.status, (200, 201), answer)
            ident = answer.json()["id"]
            again = daemon.request("POST", "/api/v1/triggers/high-cpu", unix=True)
            self.assertEqual(again.status, 429, again)
            self.assertIn(ident, again.text)
            self.assertIn(int(again.headers["Retry-After"]), (2, 3))
            wrong = daemon.request("POST", "/api/v1/triggers/hihg-cpu", unix=True)
            self.assertEqual(wrong.status, 404, wrong)
            self.assertIn("'high-cpu'", wrong.json()["remedy"])
            self.assertEqual(daemon.request("POST", "/api/v1/triggers/nobody", unix=True).status, 404)
            proc.wait_until(lambda: self.captures(daemon, "high-cpu"), 5, "the capture is done")
            capture = self.captures(daemon, "high-cpu")[0]
            self.assertEqual(capture["id"], ident)
            self.assertEqual([p["pid"] for p in capture["processes"]], [one.pid])
            self.assertGreater(capture["samples"], 10)
            row = self.schedules(daemon)["high-cpu"]
            self.assertEqual((row["runs"], row["last_capture"], row["last_state"]), (1, ident, "done"), row)
            time.sleep(2)
            alert = b'{"version":"4","status":"firing","alerts":[]}' # in the form of Alertmanager
            answer = daemon.request("POST", "/api/v1/triggers/high-cpu", unix=True, body=alert,
                                    headers={"Content-Type": "application/json", "User-Agent": "Alertmanager/0.27"})
            self.assertIn(answer.status, (200, 201), answer)


class Conditions(WithPulse):
    def test_a_trigger_pulls_itself(self):
        """The trigger fires once while its condition holds; the minute before is kept beside the capture. A trigger with a false condition
        makes no capture."""
        self.configure(f"""
triggers:
  - {{name: busy, match: '{PULSE}', for: 1s, on: "cpu > 0.01", cooldown: 1s}}
  - {{name: calm, match: '{PULSE}', for: 1s, on: "cpu > 1000"}}
""")
        one = self.start_jvm(20)
        with Daemon("--config", self.config) as daemon:
            proc.wait_until(lambda: len(self.captures(daemon, "busy")) == 2, 120, "the capture and the minute before")
            for capture in self.captures(daemon, "busy"):
                self.assertEqual([p["pid"] for p in capture["processes"]], [one.pid])
                self.assertGreater(capture["samples"], 0)
            time.sleep(22) # the condition still holds, and it does not fire again
            rows = self.schedules(daemon)
            self.assertEqual((rows["busy"]["on"], rows["busy"]["runs"], rows["calm"]["runs"]), ("cpu > 0.01", 1, 0))
            self.assertRegex(daemon.get("/metrics").text, r"(?m)^flamed_triggers_fired_total 1$")
            said = rf"trigger=busy host_pid={one.pid} service=\S+ capture=(\w{{32}}) before=(\w{{32}}): cpu > 0.01: it is "
            ids = re.search(said, daemon.log()).groups()
            self.assertEqual(sorted(ids), sorted(c["id"] for c in self.captures(daemon, "busy")))
            self.assertEqual(rows["busy"]["last_capture"], ids[0])


class Webhooks(WithPulse):
    def test_webhooks(self):
        """One webhook gets its trigger's message. A failing one and a hanging one are counted, and delay nothing."""
        got = receiver.Receiver(lambda request: (200, {}, b"fine"))
        fails = receiver.Receiver(lambda request: (500, {}, b"no, sesame"))
        over = threading.Event()
        hangs = receiver.Receiver(lambda request: (over.wait(60), (200, {}, b""))[1])
        for one in (got, fails, hangs):
            self.addCleanup(one.stop)
        self.addCleanup(over.set)
        with open(os.path.join(self.folder.name, "token"), "w", encoding="ascii") as f:
            f.write("sesame\n")
        trigger = f"""
  - name: NAME
    match: '{PULSE}'
    for: 1s
    on: "cpu > 0.01"
    webhook:
      url: URL/hook
      link: https://node.example
      headers: {{ X-Team: shop }}
      authorization:
        credentials_file: token"""
        self.configure("triggers:" + "".join(trigger.replace("NAME", name).replace("URL", one.url)
                                             for name, one in (("hangs", hangs), ("fails", fails), ("takes", got))))
        jvm_of = self.start_jvm(20)
        with Daemon("--config", self.config) as daemon:
            status = lambda name: {t["name"]: t for t in daemon.get("/api/v1/push").json()["targets"]}[name]
            proc.wait_until(lambda: got.taken("/hook") and hangs.taken("/hook"), 120, "the webhooks are called")
            request, = got.taken("/hook")
            self.assertEqual((request.headers["Authorization"], request.headers["X-Team"], request.headers["Content-Type"]),
                             ("Bearer sesame", "shop", "application/json"))
            event = json.loads(request.body)
            self.assertEqual((event["trigger"], event["condition"], event["pid"], event["page"]),
                             ("takes", "cpu > 0.01", jvm_of.pid, f"https://node.example/#/jvm/{jvm_of.pid}"))
            self.assertRegex(event["sentences"][0], r"^cpu > 0.01: it is ")
            self.assertAlmostEqual(seconds_of(event["time"]), time.time(), delta=60)
            proc.wait_until(lambda: len(self.captures(daemon, "takes")) == 2, 20, "both captures are there")
            self.assertEqual([c["kind"] for c in event["captures"]], ["capture", "before"])
            self.assertEqual({c["id"] for c in event["captures"]}, {c["id"] for c in self.captures(daemon, "takes")})
            for capture in event["captures"]:
                self.assertEqual(daemon.get(capture["link"].removeprefix("https://node.example"), format="flat").status, 200, capture)
            # After three times 500 it is given up.
            proc.wait_until(lambda: status("fails")["rejected"] == 1, 60, "it is given up")
            self.assertEqual((len(fails.taken("/hook")), status("fails")["queued_bodies"]), (3, 0))
            self.assertRegex(status("fails")["last_error"], r"status 500: no, \[hidden\]$")
            self.assertIsNotNone(status("fails")["failing_since"])
            self.assertEqual((status("takes")["sent_bodies"], status("takes")["rejected"], status("takes")["last_error"]), (1, 0, None))
            self.assertEqual((status("hangs")["sent_bodies"], status("hangs")["queued_bodies"]), (0, 1))
            self.assertEqual(status("takes")["url"], got.url) # without its path, which may be a secret
            begun = time.monotonic()
            self.assertEqual(daemon.get("/api/v1/jvms").status, 200)
            self.assertLess(time.monotonic() - begun, 2)
            self.assertRegex(daemon.get("/metrics").text, r'(?m)^flamed_push_failures_total\{target="fails"\} 3$')
            self.assertNotIn("sesame", daemon.log() + daemon.get("/api/v1/push").text)
            over.set() # and then the webhook accepts it
            proc.wait_until(lambda: status("hangs")["sent_bodies"] == 1, 30, "it has it")


class Configured(WithConfiguration):
    def test_busy_machine_is_said(self):
        """A run that cannot begin is counted, with its reason; the ones after it run."""
        self.configure("captures_max: 1\nschedules:\n  - {name: often, every: 2s, for: 500ms}\n")
        with Daemon("--config", self.config, "--recorder-hz=0") as daemon:
            proc.wait_until(lambda: self.schedules(daemon)["often"]["runs"] >= 1, 10, "it runs")
            status = 0
            while status != 200: # between two runs there is room
                status = daemon.get("/profile", seconds=7, hz=49, format="collapsed").status
            row = self.schedules(daemon)["often"]
            self.assertGreaterEqual(row["missed"], 2, row)
            self.assertIn("captures are running", row["last_error"])
            self.assertLess(abs(seconds_of(row["last_error_time"]) - time.time()), 9)
            proc.wait_until(lambda: self.schedules(daemon)["often"]["runs"] > row["runs"], 10, "it runs again")

    def test_no_target_is_no_miss(self):
        self.configure("schedules:\n  - {name: none, match: 'main=\"no.such.Main\"', every: 1s, for: 100ms}\n")
        with Daemon("--config", self.config, "--recorder-hz=0") as daemon:
            row = proc.wait_until(lambda: (r := self.schedules(daemon)["none"])["unmatched"] >= 2 and r, 10, "it is tried")
            self.assertEqual((row["runs"], row["missed"], row["last_capture"]), (0, 0, None), row)
            self.assertIn('main="no.such.Main"', row["last_error"])

    def problems(self, daemon: Daemon) -> list[str]:
        return daemon.problems("configuration")

    def test_reload(self):
        """SIGHUP: a valid file is applied completely, an invalid one not at all. Running captures continue."""
        first = "schedules:\n  - {name: one, every: 1h, for: 1s, hz: 49}\n"
        self.configure(first)
        with Daemon("--config", self.config) as daemon:
            # Not in the seconds around its hour: otherwise the next run is another one.
            before = proc.wait_until(lambda: seconds_of((r := self.schedules(daemon)["one"])["next_run"]) - time.time() > 20 and r,
                                     40, "its next run is not now", 0.5)
            result = []
            thread = threading.Thread(target=lambda: result.append(daemon.get("/profile", seconds=3, format="collapsed").status))
            thread.start()
            time.sleep(0.5)
            self.configure("captures_max: 7\nschedules:\n  - {name: one, every: 1h, for: 1s, hz: 99}\n"
                           "  - {name: two, every: 2h, for: 1s}\ntriggers:\n  - {name: three, for: 1s}\n")
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda: sorted(self.schedules(daemon)) == ["one", "three", "two"], 5, "it is taken")
            after = self.schedules(daemon)["one"]
            self.assertEqual(after["hz"], 99)
            self.assertEqual((after["phase_seconds"], after["next_run"]), (before["phase_seconds"], before["next_run"]))
            proc.wait_until(lambda: "a restart is needed" in daemon.log(), 2, "what needs a restart is said")
            self.assertIn("captures_max", daemon.log().rpartition("a restart is needed")[2])
            self.assertEqual(self.problems(daemon), [])
            for bad, words in (("schedules:\n  - {name: four, every: 1h, for: 1s}\n  - {name: five, every: soon, for: 1s}\n",
                                ["line 3", "five: every", "'soon'", "1m30s"]),
                               ("schedules: []\nlogg_level: info\n", ["line 2", "logg_level"]),
                               ("schedules: [\n", ["line"])):
                self.configure(bad)
                os.kill(daemon.top(), signal.SIGHUP)
                problem = proc.wait_until(lambda: any(words[0] in p for p in self.problems(daemon)) and self.problems(daemon),
                                          5, "the mistake is shown")[0]
                for word in words:
                    self.assertIn(word, problem)
                    self.assertIn(word, daemon.log())
                self.assertEqual(sorted(self.schedules(daemon)), ["one", "three", "two"], "all stays as it was")
            os.unlink(self.config)
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda: any("there is no" in p for p in self.problems(daemon)), 5, "a file that is gone")
            thread.join()
            self.assertEqual(result, [200], "a capture under way goes on")
            self.configure(first)
            os.kill(daemon.top(), signal.SIGHUP)
            proc.wait_until(lambda: self.problems(daemon) == [] and sorted(self.schedules(daemon)) == ["one"], 5, "it is good again")

            # A restarted worker also reads the new file.
            self.configure("schedules:\n  - {name: nine, every: 1h, for: 1s}\n")
            worker = next(p for p in daemon.pids() if proc.exe(p) == "flamed")
            os.kill(worker, signal.SIGKILL)
            daemon.wait_ready()
            self.assertEqual(sorted(self.schedules(daemon)), ["nine"])

    def test_check_config(self):
        self.configure("schedules:\n  - {name: one, every: 1h, for: 1s}\n")
        command = [paths.program("flamed"), "--check-config", "--config", self.config]
        result = subprocess.run(command, capture_output=True, text=True, timeout=10)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.assertIn("ok", result.stdout)
        self.configure("schedules:\n  - name: one\n    every: 1h\n    for: one second\n")
        result = subprocess.run(command, capture_output=True, text=True, timeout=10)
        self.assertEqual(result.returncode, 1, result)
        for word in (self.config, "line 4", "one: for", "'one second'", "1m30s"):
            self.assertIn(word, result.stderr)

    def test_configurations_of_every_wrong_kind(self):
        """Each is refused with one sentence that names the file: no crash, no wait, and no unlimited memory."""
        def make(path: str, kind: str) -> None:
            if kind == "folder":
                os.mkdir(path)
            elif kind == "fifo":
                os.mkfifo(path)
            elif kind == "socket":
                with socket.socket(socket.AF_UNIX) as s:
                    s.bind(path)
            elif kind == "loop":
                os.symlink(path, path)
            elif kind in ("/dev/zero", "/dev/full", "/proc/self/mem"):
                os.symlink(kind, path)
            else:
                with open(path, "wb") as f:
                    f.write(CONTENTS[kind])

        for kind in ("folder", "fifo", "socket", "loop", "/dev/zero", "/dev/full", "/proc/self/mem", *CONTENTS):
            with self.subTest(kind=kind):
                path = os.path.join(self.folder.name, re.sub(r"\W", "_", kind) + ".yaml")
                make(path, kind)
                for more in (["--check-config"], ["--listen", "127.0.0.1:0", "--store", self.folder.name + "/store"]):
                    result = subprocess.run([paths.program("flamed"), "--config", path, *more], capture_output=True, text=True,
                                            timeout=10, errors="replace", preexec_fn=little_memory, stdin=subprocess.DEVNULL)
                    self.assertIn(result.returncode, (1, 78), result)
                    self.assertIn(path, result.stderr)
                    self.assertLess(len(result.stderr), 2000)
        self.assertFalse(os.path.exists(self.folder.name + "/store"))


CONTENTS = {
    "too large": b"# " + b"x" * (8 << 20) + b"\n",
    "binary": bytes(range(256)) * 64,
    "NUL": b"hz: 1\0\nlisten: 2\n",
    "not UTF-8": b"store: \xff\xfe\n",
    "UTF-16": "store: /tmp/x\n".encode("utf-16"),
    "tabs": b"schedules:\n\t- name: x\n",
    "deep": b"a: " + b"[" * 100000,
    "deep flow maps": b"{a: " * 20000,
    "aliases of aliases": b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12)),
    "alias of itself": b"schedules: &a [*a]\n",
    "two documents": b"store: /tmp\n---\nstore: /var\n",
    "a list": b"- store\n- /tmp\n",
    "a word": b"store\n",
    "a tag": b"store: !!python/object/apply:os.system [id]\n",
    "merge key": b"<<: {store: /tmp}\n",
    "key twice": b"store: /tmp\nstore: /var\n",
    "unknown key": b"stroe: /tmp\n",
    "number": b"captures_max: 99999999999999999999999\n",
    "negative": b"captures_max: -1\n",
    "not a number": b"captures_max: .nan\n",
    "list for a number": b"captures_max: [1]\n",
    "after the end": b"store: /tmp\n...\nuser: root\n",
    "open quote": b"store: \"/tmp\n",
    "many schedules": b"schedules:\n" + b"".join(b"  - {name: s%d, every: 1h, for: 1s}\n" % i for i in range(5000)),
    "long regular expression": b"schedules:\n  - {name: a, every: 1h, for: 1s, match: 'main=~\"" + b"(a*)*" * 20000 + b"\"'}\n",
}


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
