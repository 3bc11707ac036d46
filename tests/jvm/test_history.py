# SPDX-License-Identifier: Apache-2.0
"""The history: minutes of the recorder outlive a restart of flamed, and a service its restarts."""
import contextlib
import datetime
import os
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator

from harness import caller, jvm, native, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile
from test_store import disk, on_mount


OFTEN_BUSY = "while sleep 0.05; do i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); done; done"
SLOW_DISK = os.environ.get("FLAMED_SLOW_DISK")
ATTRIBUTES = "service.namespace=retail,service.instance.id=a-1"


def services(daemon: Daemon) -> dict:
    return {s["name"]: s for s in daemon.get("/api/v1/services").json()["services"]}


class History(unittest.TestCase):
    def start(self, daemon: Daemon, version: str, rest: int = 45) -> jvm.Jvm:
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", f"-Drest={rest}", "-Dotel.service.name=shop",
                         f"-Dotel.resource.attributes=service.version={version},{ATTRIBUTES}", "-cp", self.spin.folder, self.spin.main)
        self.addCleanup(target.stop)
        proc.wait_until(lambda: self.spin.method in daemon.get(f"/profile?pid={target.pid}&from=-60s&format=collapsed").text, 60, "it is recorded")
        return target

    def test_a_service_over_restarts(self):
        paths.need_root()
        self.spin = jvm.make_spin()
        folder = tempfile.TemporaryDirectory(prefix="flamed-test.")
        self.addCleanup(folder.cleanup)
        pids, users = [], proc.free_ids(2)
        for user in users:
            busy = subprocess.Popen(["sh", "-c", OFTEN_BUSY], user=user, group=user, extra_groups=[])
            self.addCleanup(busy.wait)
            self.addCleanup(busy.kill)
        for version in ("1.0", "1.1"):
            # a stop of flamed writes the unfinished minute
            daemon = Daemon("--recorder-hz=99", store=folder.name)
            target = self.start(daemon, version)
            pids.append(target.pid)
            daemon.stop()
            target.stop()
        with Daemon("--recorder-hz=99", store=folder.name) as daemon:
            answer = daemon.get("/profile?service=shop&from=-10m&format=collapsed")
            self.assertEqual(answer.status, 200, answer)
            shop = next(s for s in daemon.get("/api/v1/services").json()["services"] if s["name"] == "shop")
            self.assertEqual(sorted(shop["versions"]), ["1.0", "1.1"])
            self.assertEqual(sorted(j["pid"] for j in shop["ended"]), sorted(pids))
            self.assertEqual([(m["kind"], m["pid"]) for m in shop["marks"]], [("deploy", pids[1])])
            self.assertIn("version 1.1 after 1.0", shop["marks"][0]["text"])
            minute = max(j["last_seen"] for j in shop["ended"]) # end of its last minute
            self.assertEqual(daemon.get(f"/profile?service=shop&from=-10m&to={minute}&format=collapsed").status, 200)
            for pid in pids:
                self.assertIn(f"pid={pid}]", answer.text)
            self.check_timeline(daemon, pids)
            self.check_others(daemon, users, minute)
            otlp = daemon.get("/profile", service="shop", **{"from": "-10m", "to": minute, "format": "otlp"}).body
            for text in (b"service.namespace", b"retail", b"service.instance.id", b"a-1"): # otherwise a push would name another service
                self.assertIn(text, otlp)
            changes = daemon.get("/api/v1/changes?service=shop&a=-240s..-120s&b=-120s..now").json()
            self.assertRegex(" ".join(changes["sentences"]), r"and 0\.[1-9] of the 2\.0 after: too few to tell; single minutes are kept since ")
            ended = daemon.get("/api/v1/changes?service=shop") # the history knows it, though no JVM of it runs
            self.assertEqual(ended.status, 200, ended)
            self.assertEqual(daemon.get("/api/v1/changes?service=no-such-shop").status, 404)
            self.start(daemon, "1.1")
            since = daemon.get("/api/v1/changes?service=shop").json()
            self.assertRegex(" ".join(since["sentences"]), "compared with as much before the last deploy: .*version 1.1 after 1.0")
            self.assertEqual(since["ranges"]["a"]["to"], shop["marks"][0]["time"])
            self.assertEqual(since["ranges"]["b"]["from"], shop["marks"][0]["time"])

    def check_timeline(self, daemon: Daemon, pids: list[int]) -> None:
        """Checks the same samples by time, and the release, and the same functions in a table."""
        asked = {"service": "shop", "from": "-2h"}
        timeline = daemon.get("/api/v1/timeline", **asked).json()
        self.assertEqual((timeline["bucket_seconds"], timeline["resolution_seconds"], timeline["hz"]), (60, 60, 99))
        self.assertEqual({s["pid"] for s in timeline["series"]}, set(pids))
        self.assertEqual([sum(s["samples"]) for s in timeline["series"]], [s["total"] for s in timeline["series"]])
        profile = Profile(daemon.get("/profile", **asked, format="json"))
        self.assertEqual(sum(s["total"] for s in timeline["series"]), profile.samples)
        self.assertEqual([(m["kind"], m["pid"], m["service"]) for m in timeline["marks"]], [("deploy", pids[1], "shop")])
        by = daemon.get("/api/v1/timeline", **asked, by="category", buckets=24).json()
        self.assertEqual(sum(s["total"] for s in by["series"]), profile.samples)
        self.assertIn("java", {s["category"] for s in by["series"]})
        one = daemon.get("/api/v1/timeline", pid=pids[0], **{"from": "-2h"}).json()
        self.assertEqual({s["pid"] for s in one["series"]}, {pids[0]})
        self.assertIn(self.spin.main + ".", daemon.get("/top", **asked).text)
        minute = timeline["marks"][0]["time"]
        self.assertIn(self.spin.main + ".", daemon.get("/top", service="shop", at=minute).text)

    def check_others(self, daemon: Daemon, users: list[int], minute: str) -> None:
        """Processes without Java code have one line per user, which other users do not see."""
        names = [f"[other processes of user {user}]" for user in users]
        address = f"http://127.0.0.1:{daemon.port}/api/v1/timeline?from=-2h&to={minute}"
        before, *of_users, after = [{s["jvm"]: s["total"] for s in caller.ask(address, uid=user).json()["series"] if s["pid"] == 0}
                                    for user in (0, *users, 0)]
        for name, theirs in zip(names, of_users):
            self.assertEqual(list(theirs), [name])
            self.assertLessEqual(before[name], theirs[name]) # a minute may be written in between
            self.assertLessEqual(theirs[name], after[name])

    def test_how_jvms_end(self):
        """A JVM that lived for seconds has the second of its end. A running one has not ended, even if its service had another name before."""
        paths.need_root()
        self.spin = jvm.make_spin()
        folder = tempfile.TemporaryDirectory(prefix="flamed-test.")
        self.addCleanup(folder.cleanup)
        with Daemon("--recorder-hz=99", store=folder.name) as daemon:
            runs = self.start(daemon, "1.0")
            brief = self.start(daemon, "1.1")
            brief.stop()
            ended = time.time()
        with contextlib.closing(sqlite3.connect(folder.name + "/flamed-history.db")) as file, file:
            file.execute("UPDATE images SET service = 'before' WHERE pid = ?", (runs.pid,))
            payers = file.execute("SELECT pid, payer FROM images WHERE pid IN (?, ?)", (runs.pid, brief.pid)).fetchall()
        self.assertEqual(len([payer for _, payer in payers if payer]), 2, payers)
        with Daemon("--recorder-hz=99", store=folder.name) as daemon:
            proc.wait_until(lambda: runs.pid in [j["pid"] for s in services(daemon).values() for j in s["jvms"]], 30, "it is listed")
            found = services(daemon)
            self.assertNotIn("before", found)
            self.assertEqual([j["pid"] for j in found["shop"]["ended"]], [brief.pid])
            seen = datetime.datetime.fromisoformat(found["shop"]["ended"][0]["last_seen"].replace("Z", "+00:00")).timestamp()
            self.assertAlmostEqual(seen, ended, delta=1.5)
        with contextlib.closing(sqlite3.connect(folder.name + "/flamed-history.db")) as file:
            rows = file.execute("SELECT pid, payer, service FROM images WHERE pid IN (?, ?)", (runs.pid, brief.pid)).fetchall()
        self.assertIn((runs.pid, "shop"), [(pid, service) for pid, _, service in rows]) # the second flamed has written it, too
        self.assertEqual({(pid, payer) for pid, payer, _ in rows}, set(payers), "owners keep their numbers")

    def test_seconds_of_a_minute_that_is_written(self):
        """Times that the recorder still has are answered by its samples, not by the history's minute around them."""
        paths.need_root()
        self.spin = jvm.make_spin()
        library = native.build("set_clock", "-shared", "-fPIC")
        with tempfile.TemporaryDirectory(prefix="flamed-clock.") as folder:
            os.chmod(folder, 0o755)
            clock = folder + "/ahead"
            with open(clock, "wb") as f:
                f.write(struct.pack("=q", 50 - int(time.time()) % 60)) # ten seconds before the end of a minute
            with Daemon("--recorder-hz=99", wrap=["env", "LD_PRELOAD=" + library, "SET_CLOCK=" + clock]) as daemon:
                target = self.start(daemon, "1.0", rest=5)
                time.sleep(4)
                asked = {"pid": target.pid, "format": "json"}
                recent = lambda: daemon.get("/profile", **asked, **{"from": "-2s"})
                now = Profile(proc.wait_until(lambda: (answer := recent()).status == 200 and answer, 30, "the last seconds have samples")).end
                times = {name: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - ago)) for name, ago in (("from", 3), ("to", 1))}
                before = Profile(daemon.get("/profile", **asked, **times))
                proc.wait_until(lambda: daemon.get("/metrics").text.find("flamed_history_written_total 1") > 0, 30, "a minute is written")
                after = Profile(daemon.get("/profile", **asked, **times))
        self.assertEqual(after.samples, before.samples, after.warnings)
        self.assertAlmostEqual(after.end - after.start, 2, delta=0.1)
        self.assertEqual([w for w in after.warnings if "of the history" in w], [])


@contextlib.contextmanager
def frozen(folder: str, seconds: float, pause: float, ended: threading.Event) -> Iterator[None]:
    """Lets the disk write for PAUSE seconds after every SECONDS without, until ENDED is set or the block ends."""
    def work() -> None:
        while not ended.is_set():
            subprocess.run(["fsfreeze", "--freeze", folder], check=True)
            try:
                ended.wait(seconds)
            finally:
                subprocess.run(["fsfreeze", "--unfreeze", folder], check=True)
            ended.wait(pause)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def slowly_stopped(*arguments: str, **more) -> Iterator[Daemon]:
    """Runs flamed. Its end may take longer than its supervisor allows, on a busy machine: other tests judge that."""
    daemon = Daemon(*arguments, **more)
    try:
        yield daemon
    finally:
        daemon.stop(check=False)


@unittest.skipUnless(SLOW_DISK, "takes six minutes: FLAMED_SLOW_DISK=1")
class SlowDisk(unittest.TestCase):
    def test_a_slow_disk(self):
        """The disk takes writes for half a second in twenty, and then none for two and a half minutes. Nothing but the history waits for it,
        and the history has all CPU time of a JVM in the end, minute by minute."""
        paths.need_root()
        paths.need("fsfreeze")
        spin, longest = jvm.make_spin(), {}
        minutes: dict[int, float] = {} # begin of a minute -> CPU seconds of the JVM until then
        with disk() as folder:
            with slowly_stopped("--recorder-hz=99", "--history-max-bytes=32M", wrap=on_mount(f"--bind {folder}")) as daemon:
                target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=10", "-cp", spin.folder, spin.main)
                self.addCleanup(target.stop)
                proc.wait_until(lambda: spin.method in daemon.get(f"/profile?pid={target.pid}&from=-60s&format=collapsed").text, 60, "it is recorded")
                for seconds, pause, length in ((20, 0.5, 125), (300, 0.5, 150)):
                    with frozen(folder, seconds, pause, threading.Event()):
                        self.use(daemon, target, length, longest, minutes)
                        waiting = self.metric(daemon, "flamed_history_waiting")
                last = max(minutes)
                proc.wait_until(lambda: self.metric(daemon, "flamed_history_waiting") == 0 and time.time() > last + 65, 120, "all is written", 1)
                self.assertEqual((self.metric(daemon, "flamed_history_unwritten_total"), self.metric(daemon, "flamed_history_failures_total")), (0, 0))
            with slowly_stopped("--history-max-bytes=32M", wrap=on_mount(f"--bind {folder}")) as daemon:
                sampled = {minute: self.sampled(daemon, target.pid, minute) for minute in sorted(minutes) if minute + 60 in minutes}
        whole = {minute: minutes[minute + 60] - minutes[minute] for minute in sampled}
        print(f"at most {', '.join(f'{1000 * took:.0f} ms for {what}' for what, took in longest.items())}; {waiting:.0f} minutes waited at the end; "
              f"CPU seconds by minute {[round(s, 2) for s in whole.values()]}, in the history {[round(s, 2) for s in sampled.values()]}")
        self.assertGreaterEqual(len(sampled), 3)
        self.assertGreaterEqual(waiting, 2)
        self.assertAlmostEqual(sum(sampled.values()) / sum(whole.values()), 1, delta=0.1)
        for minute, seconds in whole.items():
            self.assertAlmostEqual(sampled[minute], seconds, delta=0.25 * seconds + 0.2)
        for what, took in longest.items():
            self.assertLess(took, 2 * proc.PATIENCE, what)

    @staticmethod
    def metric(daemon: Daemon, name: str) -> float:
        return sum(float(line.split()[-1]) for line in daemon.get("/metrics").text.splitlines() if line.split("{")[0].split()[0] == name)

    @staticmethod
    def use(daemon: Daemon, target: jvm.Jvm, seconds: float, longest: dict[str, float], minutes: dict[int, float]) -> None:
        """Asks for what needs no disk for so long. Notes the longest answers, and the JVM's CPU time at the begin of each minute."""
        ended, minute = time.time() + seconds, int(time.time()) // 60
        while time.time() < ended:
            if int(time.time()) // 60 != minute:
                minute = int(time.time()) // 60
                minutes[60 * minute] = proc.cpu_seconds(target.pid)
            for what, path in (("/healthz", "/healthz"), ("/metrics", "/metrics"), ("the recorder's last seconds", f"/profile?pid={target.pid}&from=-20s&format=flat")):
                began = time.monotonic()
                if daemon.get(path, timeout=100).status != 200:
                    raise AssertionError(f"{path} failed")
                longest[what] = max(longest.get(what, 0), time.monotonic() - began)
            time.sleep(0.05)

    def sampled(self, daemon: Daemon, pid: int, minute: int) -> float:
        """Returns the CPU seconds that the history has of a minute."""
        stamp = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in (minute, minute + 60)]
        answer = daemon.get("/profile", pid=pid, format="json", **{"from": stamp[0], "to": stamp[1]})
        self.assertEqual(answer.status, 200, answer)
        self.assertIn("comes from the history", " ".join(answer.warnings))
        self.assertNotIn("is a gap", " ".join(answer.warnings))
        return Profile(answer).samples / 99


if __name__ == "__main__":
    unittest.main()
