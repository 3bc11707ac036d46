# SPDX-License-Identifier: Apache-2.0
"""The store of a real daemon: processes killed at any moment, a flood of captures, files of garbage, and full or read-only folders. Also a
clock that is set, and configurations of every wrong kind."""
import concurrent.futures
import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator

from harness import native, proc
from harness.daemon import Answer, Daemon
from harness.profile import seconds_of
from harness.spinning import WithSpinningJvm

CAPTURES = int(os.environ.get("FLAMED_KILL_CAPTURES", "12"))
FLOOD_SECONDS = float(os.environ.get("FLAMED_FLOOD_SECONDS", "6"))
JUMPS = (86400, 0, -86400, 0) if "FLAMED_FLOOD_SECONDS" in os.environ else (86400, -86400)
JSON = {"Content-Type": "application/json"}


def ask(daemon: Daemon, method: str, path: str, **arguments) -> Answer | None:
    """Sends a request. None while flamed is being restarted."""
    try:
        return daemon.request(method, path, timeout=15, **arguments)
    except (OSError, ValueError, EOFError):
        return None
    except Exception as e: # http.client: the connection ended in the middle
        if type(e).__module__ != "http.client":
            raise
        return None


def held_programs() -> set[int]:
    """Returns ids of the BPF programs that processes of this pid namespace hold."""
    found = set()
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link) == "anon_inode:bpf-prog":
                found.add(int(re.search(r"^prog_id:\s+(\d+)", proc.read(link.replace("/fd/", "/fdinfo/")), re.M)[1]))
        except OSError:
            pass # it has ended, or is not a child of this test
    return found


def bpf_programs() -> set[int]:
    programs = subprocess.run(["bpftool", "--json", "prog", "show"], capture_output=True, check=True).stdout
    return {p["id"] for p in json.loads(programs)}


def metrics(daemon: Daemon) -> dict[str, float]:
    lines = (line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#")
    return {name: float(value) for name, value in lines}


def problem(daemon: Daemon, what: str = "store") -> str:
    return " ".join(daemon.problems(what))


class Store(WithSpinningJvm):
    rest = 45

    def create(self, daemon: Daemon, **parameters) -> str:
        answer = daemon.request("POST", "/api/v1/captures", headers=JSON,
                                body=json.dumps({"pid": self.pid, "seconds": 0.3, "hz": 99, **parameters}).encode())
        self.assertEqual(answer.status, 201, answer)
        return answer.json()["id"]

    def done(self, daemon: Daemon, ident: str) -> dict:
        def look():
            state = daemon.get("/api/v1/captures/" + ident).json()
            return state if state["state"] != "running" else None
        return proc.wait_until(look, 15, "the capture ends")

    def keep_one(self, daemon: Daemon) -> str:
        """Makes a capture with samples of the JVM's thread. On a busy machine it is repeated, for longer, if the thread got no processor."""
        for seconds in (0.3, 2, 8):
            ident = self.create(daemon, seconds=seconds)
            self.assertEqual(self.done(daemon, ident)["state"], "done")
            if self.spin.method in daemon.get(f"/api/v1/captures/{ident}/profile", format="collapsed").text:
                return ident
        raise AssertionError(f"no sample of the JVM's thread in {seconds} s")

    def assert_readable(self, daemon: Daemon, ident: str) -> None:
        answer = daemon.get(f"/api/v1/captures/{ident}/profile", format="collapsed")
        self.assertEqual(answer.status, 200, answer)
        self.assertIn(self.spin.method, answer.text)

    def assert_profiles(self, daemon: Daemon) -> None:
        """Checks that the rest works."""
        proc.captured(daemon, self.pid, proc.thread_of(self.pid, "spinner"), 199, 20)

    # ---- kill -9 ----

    def one_capture(self, daemon: Daemon, known: dict[str, int]) -> None:
        """Repeats a capture until it is answered as done or failed. Notes those answered as done."""
        body = json.dumps({"pid": self.pid, "seconds": 0.5, "hz": 199}).encode()
        ident = None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if ident is None:
                answer = ask(daemon, "POST", "/api/v1/captures", headers=JSON, body=body)
                ident = answer.json()["id"] if answer is not None and answer.status == 201 else None
            else:
                answer = ask(daemon, "GET", "/api/v1/captures/" + ident)
                if answer is not None and answer.status == 200 and answer.json()["state"] == "done":
                    known[ident] = answer.json()["samples"]
                    return
                if answer is not None and answer.status in (200, 404) and answer.json().get("state") != "running":
                    return # it failed, or vanished with the process that began it: no client got it as done
            time.sleep(0.02)
        self.fail("no answer for 60 s")

    def test_killed_at_any_moment(self):
        """Kills flamed, the broker, or both: each capture answered as done is stored completely, and none is stored in part."""
        chance = random.Random(os.environ.get("FLAMED_SEED", "3"))
        loaded, known, kills, log = set(), {}, 0, []
        with Daemon() as daemon, concurrent.futures.ThreadPoolExecutor(4) as pool:
            taken, pending, events = 0, set(), daemon.perf_events()
            while taken < CAPTURES or pending:
                while taken < CAPTURES and len(pending) < 4:
                    pending.add(pool.submit(self.one_capture, daemon, known))
                    taken += 1
                if taken < CAPTURES:
                    if chance.random() < 0.9: # otherwise in the middle of the next start
                        daemon.wait_ready(30)
                        time.sleep(chance.uniform(0, 2))
                    loaded |= held_programs()
                    victims = self.kill_some(daemon, chance)
                    kills += bool(victims)
                    log.append(victims)
                finished, pending = concurrent.futures.wait(pending, timeout=0.1, return_when=concurrent.futures.FIRST_COMPLETED)
                for one in finished:
                    one.result()
            daemon.wait_ready(30)
            rows, cursor = {}, ""
            while cursor is not None:
                page = daemon.get("/api/v1/captures", limit=100, **({"cursor": cursor} if cursor else {})).json()
                rows.update({row["id"]: row for row in page["captures"]})
                cursor = page.get("next") or None
            states = [row["state"] for row in rows.values()]
            print(f"{CAPTURES} captures, {kills} kills ({sum(len(v) == 2 for v in log)} of both): {len(known)} answered as done; "
                  f"stored: {states.count('done')} done, {states.count('failed')} failed")
            self.assertEqual(states.count("running"), 0)
            self.assertGreater(len(known), CAPTURES / 4)
            self.assertGreaterEqual(kills, CAPTURES / 8)
            for ident, samples in known.items():
                self.assertEqual(rows[ident]["state"], "done", rows[ident])
            for ident, row in rows.items():
                answer = daemon.get(f"/api/v1/captures/{ident}/profile", format="collapsed")
                if row["state"] == "done":
                    counted = sum(int(line.rsplit(" ", 1)[1]) for line in answer.text.splitlines())
                    self.assertEqual((answer.status, counted), (200, known.get(ident, row["samples"])), row)
                else:
                    self.assertEqual(answer.status, 409, answer)
                    self.assertIn("ended", row["failure"] if "failure" in row else row["error"])
            self.assert_profiles(daemon)
            copy = os.path.join(daemon.folder, "copy")
            shutil.copytree(os.path.join(daemon.folder, "store"), copy) # as a crash would leave it
            with sqlite3.connect(copy + "/flamed.db") as db:
                self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                self.assertEqual(db.execute("SELECT count(*) FROM captures WHERE state = 1 AND body IS NULL").fetchone(), (0,))
                self.assertEqual(db.execute("SELECT count(*) FROM processes WHERE capture NOT IN (SELECT n FROM captures)").fetchone(), (0,))
            proc.wait_until(lambda: daemon.perf_events() == events, 10, "as many perf events are open as at the start")
            loaded |= held_programs()
        self.assertTrue(loaded)
        proc.wait_until(lambda: not (loaded & bpf_programs()) - held_programs(), 10, "no BPF program is left")

    def kill_some(self, daemon: Daemon, chance: random.Random) -> list[str]:
        names = chance.choice([["flamed"], ["flamed-broker"], ["flamed", "flamed-broker"]])
        killed = []
        for pid in proc.children(daemon.top()):
            if proc.exe(pid) in names:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(proc.exe(pid))
                except ProcessLookupError:
                    pass
        return killed

    # ---- floods and clocks ----

    def test_flood(self):
        """More captures than fit: the oldest are dropped, nothing fails, readers get complete captures or none, and the file keeps its
        size."""
        with Daemon("--store-max-bytes=16M", "--recorder-hz=0") as daemon:
            self.fill(daemon)
            stop, errors, counts = threading.Event(), [], {"made": 0, "read": 0}

            def make(number: int) -> None:
                while not stop.is_set():
                    answer = daemon.request("POST", "/api/v1/captures", headers=JSON,
                                            body=json.dumps({"seconds": 0.1, "hz": 997 + number}).encode())
                    counts["made"] += answer.status == 201
                    if answer.status not in (201, 429):
                        errors.append(str(answer))
                    time.sleep(0.02)

            def read() -> None:
                while not stop.is_set():
                    for row in daemon.get("/api/v1/captures", state="done", limit=5).json()["captures"]:
                        answer = daemon.get(f"/api/v1/captures/{row['id']}/profile", format="collapsed")
                        counts["read"] += answer.status == 200
                        if answer.status not in (200, 404):
                            errors.append(str(answer))

            with concurrent.futures.ThreadPoolExecutor(5) as pool:
                asking = [*(pool.submit(make, i % 2) for i in range(4)), pool.submit(read)]
                try:
                    time.sleep(FLOOD_SECONDS)
                    proc.wait_until(lambda: errors or min(counts.values()) > 20, 60, "enough are made and read")
                finally:
                    stop.set()
                for one in asking:
                    one.result()
            numbers = metrics(daemon)
            self.assertLessEqual(numbers["flamed_store_waiting"], 128 + 64, "none waits for a thousand before it")
            files = {name: os.path.getsize(f"{daemon.folder}/store/{name}") for name in os.listdir(daemon.folder + "/store")}
            print(counts, files, {k: v for k, v in numbers.items() if k.startswith("flamed_store")})
            self.assertEqual(errors, [])
            self.assertGreater(counts["made"], 20)
            self.assertGreater(counts["read"], 20)
            self.assertGreater(numbers['flamed_store_dropped_total{reason="size"}'], 0)
            self.assertEqual(numbers["flamed_store_put_failures_total"], 0)
            self.assertLess(files["flamed.db"], 17 << 20)
            self.assertLess(files.get("flamed.db-wal", 0), 9 << 20)
            self.assert_readable(daemon, self.keep_one(daemon))

    def fill(self, daemon: Daemon) -> None:
        """Fills the store up to near its limit, by failed captures of the size of real ones."""
        self.keep_one(daemon)
        with sqlite3.connect(f"{daemon.folder}/store/flamed.db", timeout=10) as db:
            for n in range(16):
                db.execute("INSERT INTO captures SELECT NULL, ?, 2, start_ns - ? * 1000000000, end_ns - ? * 1000000000, event, target,"
                           " symbols, schedule, failure, unit, period, by_process, samples, lost, unknown, truncated, max_age_s, warnings,"
                           " epoch, randomblob(1035000), scope, events FROM captures LIMIT 1", (f"{n:032x}", 100 - n, 100 - n))

    def test_clock_is_set(self):
        """A day ahead and back: running captures end in time, schedules go on, ranges are right, and nothing is dropped as too old."""
        library = native.build("set_clock", "-shared", "-fPIC")
        with tempfile.TemporaryDirectory(prefix="flamed-clock.") as folder:
            os.chmod(folder, 0o755)
            clock, config = folder + "/ahead", folder + "/flamed.yaml"
            with open(clock, "wb") as f:
                f.write(struct.pack("=q", 0))
            with open(config, "w", encoding="ascii") as f:
                f.write("store_max_age: 3600\nschedules:\n  - {name: tick, every: 2s, for: 200ms}\n")

            def ahead(seconds: int) -> None:
                with open(clock, "r+b") as f:
                    f.write(struct.pack("=q", seconds))

            with Daemon("--config", config, wrap=["env", "LD_PRELOAD=" + library, "SET_CLOCK=" + clock]) as daemon, \
                    proc.Standstill() as machine:
                old = self.keep_one(daemon)
                for jump in JUMPS:
                    with self.subTest(ahead=jump):
                        runs = self.schedule(daemon)["runs"]
                        stood = machine.seconds
                        long = self.create(daemon, seconds=1.5)
                        time.sleep(0.3)
                        ahead(jump)
                        start = machine.given()
                        row = self.done(daemon, long)
                        self.assertLess(machine.given() - start, 4)
                        self.assertEqual(row["state"], "done", row)
                        self.assertAlmostEqual(row["seconds"], 1.5, delta=0.2 + machine.seconds - stood)
                        proc.wait_until(lambda: self.schedule(daemon)["runs"] >= runs + 2, 12, "the schedule goes on")
                        self.assertLess(abs(seconds_of(self.schedule(daemon)["last_run"]) - time.time() - jump), 6)
                        answers = []
                        def recorded() -> bool: # a busy machine may give the JVM no processor for a while
                            answers.append((daemon.get("/profile", pid=self.pid, format="json", **{"from": "-3s"}), time.time()))
                            return answers[-1][0].status == 200
                        proc.wait_until(recorded, 20, "the last seconds have samples")
                        past, asked = answers[-1]
                        self.assertLess(abs(seconds_of(past.json()["meta"]["end"]) - asked - jump), 2)
                        self.assert_readable(daemon, old)
                self.assertEqual(problem(daemon), "")
                self.assertEqual(metrics(daemon)['flamed_store_dropped_total{reason="age"}'], 0)

    def schedule(self, daemon: Daemon) -> dict:
        return daemon.get("/api/v1/schedules").json()["schedules"][0]

    def test_counts_outlive_a_restart(self):
        with tempfile.TemporaryDirectory(prefix="flamed-config.") as folder:
            config = folder + "/flamed.yaml"
            with open(config, "w", encoding="ascii") as f:
                f.write("schedules:\n  - {name: tick, every: 1s, for: 100ms}\n"
                        "  - {name: none, match: 'main=\"no.such.Main\"', every: 1s, for: 100ms}\n")
            with Daemon("--config", config, "--recorder-hz=0") as daemon:
                def rows() -> dict[str, dict]:
                    return {row["name"]: row for row in daemon.get("/api/v1/schedules").json()["schedules"]}
                proc.wait_until(lambda: rows()["tick"]["runs"] >= 3 and rows()["none"]["unmatched"] >= 3, 60, "they ran")
                time.sleep(5.5) # missed runs are written down this often
                before = rows()
                os.kill(next(p for p in daemon.pids() if proc.exe(p) == "flamed"), signal.SIGKILL)
                time.sleep(0.3)
                daemon.wait_ready()
                after = rows()
                self.assertGreaterEqual(after["tick"]["runs"], before["tick"]["runs"])
                self.assertLessEqual(after["tick"]["runs"], before["tick"]["runs"] + 8)
                self.assertIsNotNone(after["tick"]["last_run"])
                self.assertGreaterEqual(after["none"]["unmatched"], before["none"]["unmatched"] - 5)
                proc.wait_until(lambda: "no.such.Main" in rows()["none"]["last_error"], 20, "the next one says why, too")

    # ---- files and folders that are not as they should be ----

    def garbage(self, damage) -> None:
        """Makes a store with one capture, damages its file by DAMAGE(path), and starts flamed on it again."""
        with Daemon("--recorder-hz=0") as daemon:
            ident, store = self.keep_one(daemon), daemon.folder + "/store"
            worker = next(p for p in daemon.pids() if proc.exe(p) == "flamed")
            proc.stop(worker)
            damage(store + "/flamed.db")
            os.kill(worker, signal.SIGKILL)
            time.sleep(0.3)
            daemon.wait_ready()
            self.assertIn("move the file away", problem(daemon))
            self.assertEqual(metrics(daemon)["flamed_store_healthy"], 0)
            self.assert_profiles(daemon)
            self.assertGreaterEqual(daemon.get("/api/v1/captures/" + ident).status, 400)
            refused = daemon.request("POST", "/api/v1/captures", headers=JSON, body=b'{"seconds": 0.1}')
            self.assertEqual(refused.status, 503, refused)
            self.assertIn("move the file away", refused.text)
            for name in os.listdir(store): # as the message advises
                os.rename(f"{store}/{name}", f"{daemon.folder}/{name}.away")
            proc.wait_until(lambda: daemon.request("POST", "/api/v1/captures", headers=JSON, body=b'{"seconds": 0.1}').status == 201,
                            15, "it begins a new one by itself")
            proc.wait_until(lambda: problem(daemon) == "", 5, "all is well")
            self.assert_readable(daemon, self.keep_one(daemon))

    def test_file_of_garbage(self):
        def garbage(path: str) -> None:
            for name in (path, path + "-wal", path + "-shm"):
                with open(name, "wb") as f:
                    f.write(random.Random(1).randbytes(100000))

        self.garbage(garbage)

    def refused(self, daemon: Daemon, ident: str, remedy: str) -> None:
        """Nothing can be stored, and every answer says so. Stored captures can be read, and the rest works."""
        answer = daemon.request("POST", "/api/v1/captures", headers=JSON, body=b'{"seconds": 0.1}')
        self.assertEqual(answer.status, 503, answer)
        self.assertIn(remedy, answer.text)
        self.assertIn(remedy, problem(daemon))
        self.assertEqual(metrics(daemon)["flamed_store_healthy"], 0)
        self.assert_readable(daemon, ident)
        self.assertIn(ident, [row["id"] for row in daemon.get("/api/v1/captures").json()["captures"]])
        self.assert_profiles(daemon)

    def mended(self, daemon: Daemon, ident: str) -> None:
        """It continues by itself, with all earlier captures."""
        proc.wait_until(lambda: daemon.request("POST", "/api/v1/captures", headers=JSON, body=b'{"seconds": 0.1}').status == 201,
                        15, "captures are stored again", 0.5)
        proc.wait_until(lambda: problem(daemon) == "", 5, "all is well")
        self.assert_readable(daemon, ident)
        self.assert_readable(daemon, self.keep_one(daemon))

    def test_folder_that_is_full(self):
        with Daemon(wrap=on_mount("-t tmpfs -o size=2m,mode=755 none")) as daemon:
            ident = self.keep_one(daemon)
            filler = f"/proc/{daemon.top()}/root{daemon.folder}/store/filler"
            with open(filler, "wb", buffering=0) as f:
                try:
                    while f.write(b"\0" * 4096):
                        pass
                except OSError:
                    pass
            self.refused(daemon, ident, "free disk space")
            os.unlink(filler)
            self.mended(daemon, ident)

    def test_folder_that_is_read_only(self):
        with Daemon(wrap=on_mount("--bind \"$dir\"")) as daemon:
            ident, top, store = self.keep_one(daemon), daemon.top(), daemon.folder + "/store"
            proc.stop(top) # the next worker then finds it in that state
            for pid in proc.children(top):
                os.kill(pid, signal.SIGKILL)
            remount = ["nsenter", "-t", str(top), "-m", "mount", store, "-o"]
            proc.wait_until(lambda: subprocess.run([*remount, "remount,ro,bind"], capture_output=True).returncode == 0, 5, "read-only")
            os.kill(top, signal.SIGCONT)
            time.sleep(0.3)
            daemon.wait_ready()
            self.refused(daemon, ident, "folder writable")
            subprocess.run([*remount, "remount,rw,bind"], check=True)
            self.mended(daemon, ident)

    def test_disk_that_stalls(self):
        """Requests that do not need it do not wait. Captures answered meanwhile are stored once it answers again."""
        with disk() as folder, Daemon(wrap=on_mount(f"--bind {folder}")) as daemon:
            ident = self.keep_one(daemon)
            subprocess.run(["fsfreeze", "--freeze", folder], check=True)
            try:
                with proc.Standstill() as machine:
                    answer = daemon.get("/profile", pid=self.pid, seconds=2, format="collapsed")
                    took = machine.given()
                self.assertEqual(answer.status, 200, answer)
                self.assertLess(took, 2 + 5)
                self.assertIn(self.spin.method, answer.text)
                waiting = answer.headers["X-Flamed-Capture"]
                again = daemon.get(f"/api/v1/captures/{waiting}/profile", format="collapsed")
                self.assertEqual((again.status, again.text), (200, answer.text))
                proc.wait_until(lambda: "has kept the store busy for" in problem(daemon), 10, "/readyz says so")
                self.assertEqual(metrics(daemon)["flamed_store_healthy"], 0)
                facts = daemon.get(f"/api/v1/captures/{waiting}")
                self.assertEqual((facts.status, facts.json()["state"], facts.json()["progress"]), (200, "running", 1))
                listed = daemon.get("/api/v1/captures")
                self.assertEqual(listed.status, 503, listed)
                self.assertIn("has kept the store busy for", listed.text)
            finally:
                subprocess.run(["fsfreeze", "--unfreeze", folder], check=True)
            proc.wait_until(lambda: problem(daemon) == "", 10, "it goes on by itself")
            for one in (ident, waiting):
                proc.wait_until(lambda i=one: daemon.get(f"/api/v1/captures/{i}").json()["state"] == "done", 10, "it is stored")
                self.assert_readable(daemon, one)


@contextlib.contextmanager
def disk() -> Iterator[str]:
    """Makes a file system on a file, which can be frozen."""
    with tempfile.TemporaryDirectory(prefix="flamed-disk.") as folder:
        image, mount = f"{folder}/image", f"{folder}/mount"
        os.mkdir(mount)
        with open(image, "wb") as f:
            f.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, mount], check=True)
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)


def on_mount(options: str) -> list[str]:
    """Returns a wrapper that makes the store's folder a mount that only flamed sees."""
    return ["unshare", "-m", "sh", "-ec",
            'for word; do [ "$last" != --store ] || dir=$word; last=$word; done; mount ' + options + ' "$dir"; exec "$@"', "sh"]
