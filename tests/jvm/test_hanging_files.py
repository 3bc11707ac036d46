# SPDX-License-Identifier: Apache-2.0
"""Processes with files and memory on FUSE. Its server may never answer, and the kernel then holds every reader, beyond SIGKILL."""
import concurrent.futures
import contextlib
import http.client
import itertools
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from harness import fuse, jvm, largefile, native, paths, proc
from harness.daemon import Daemon
from harness.idle import IdleServer
from harness.profile import Profile, count
from test_large_symbols import NAME
from test_store import on_mount

FUNCTION = NAME % 0 # the function that spins
HELD = re.compile("request_wait_answer|folio_wait|filemap_fault|rwsem_down|__access_remote") # where the kernel holds a request, and a reader of a page that another one requested
LIES = "HTECR" # of a server: see native/fuse_file.c
PEAK_KIB = 256 << 10 # of each process of flamed
NO_RECORDER = ("--recorder-hz=0",) # the recorder would read the file before its server falls silent


@contextlib.contextmanager
def running(path: str, wrap: list[str] | None = None):
    """Runs the code of the file PATH, or of a command made by WRAP from the program's name. Returns the pid."""
    command = [*wrap, native.build("in_file")] if wrap else [native.build("in_file"), path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            yield process.pid
        finally:
            process.kill()


def named(profile: Profile) -> float:
    return profile.share(profile.stacks, lambda s: FUNCTION in s.names)


def warned(profile: Profile, pid: int) -> bool:
    return any(f"process {pid}" in w and "does not answer" in w for w in profile.warnings)


def unanswered(daemon: Daemon) -> float:
    return float(re.search(r"^flamed_elf_unanswered_total (\S+)", daemon.get("/metrics").text, re.M)[1])


def held(daemon: Daemon) -> dict[str, tuple[int, int]]:
    """Returns threads and descriptors of each of flamed's programs, except the openers of files."""
    return {f"{name}[{pid}]": (len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")))
            for name, pids in daemon.processes().items() for pid in pids if name.startswith("flamed")}


class HangingFiles(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-hanging."))
        self.source = os.path.join(folder, "code")
        largefile.write(self.source, 100, NAME)

    def hanging(self, kinds: str) -> tuple[fuse.File, int]:
        """Starts a process that runs a file on which requests of KINDS get no answer. Returns it and the file."""
        file = self.stack.enter_context(fuse.File(self.source))
        pid = self.stack.enter_context(running(file.path))
        self.stack.callback(file.answer) # otherwise the process could not end
        proc.wait_until(lambda: proc.cpu_seconds(pid) > 0.02, 10, "its code was read")
        file.silence(kinds)
        return file, pid

    def test_an_overlay_of_others(self):
        """An overlay over FUSE, mounted in a user namespace of its own: it is read, and delays nothing when it hangs."""
        file = self.stack.enter_context(fuse.File(self.source))
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-hanging."))
        script = "mount -t overlay overlay -o lowerdir=$1:$2 $2 && exec $3 $2/file"
        wrap = ["unshare", "-Urm", "sh", "-c", script, "sh", file.folder, folder]
        pid = self.stack.enter_context(running("", wrap))
        self.stack.callback(file.answer) # otherwise the process could not end
        with Daemon(*NO_RECORDER) as daemon:
            profile = daemon.profile(pid=pid, seconds=1, hz=499)
            self.assertGreaterEqual(named(profile), 0.9, profile.describe())
        daemon = Daemon(*NO_RECORDER)
        try:
            file.silence("r")
            self.check_hang(daemon, file, "r", pid)
            before = time.monotonic()
        finally:
            daemon.stop()
        self.assertLess(time.monotonic() - before, 2)

    def test_a_jvm(self):
        """A JVM with libjvm.so on FUSE: its stacks are whole and named, from a copy."""
        home = paths.jdk(17)
        spin = jvm.make_spin()
        file = self.stack.enter_context(fuse.File(home + "/lib/server/libjvm.so"))
        wrap = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', file.path, home + "/lib/server/libjvm.so"]
        with jvm.Jvm(home, "-Xmx64m", "-cp", spin.folder, spin.main, wrap=wrap) as target, Daemon() as daemon:
            profile = daemon.profile(pid=target.pid, seconds=3, hz=499)
            self.assertFalse(warned(profile, target.pid), profile.warnings)
            stacks = profile.of_thread("spinner")
            text = profile.describe(stacks)
            self.assertGreater(count(stacks), 100, text)
            self.assertGreaterEqual(profile.share(stacks, lambda s: "JavaThread::thread_main_inner" in s.names), 0.95, text)

    def check_hang(self, daemon: Daemon, file: fuse.File, kind: str, pid: int) -> None:
        """A capture of PID ends in time with its samples. They lack the names of that file, and a warning gives the reason."""
        before = time.monotonic()
        profile = daemon.profile(pid=pid, seconds=1.5, hz=499)
        took = time.monotonic() - before
        self.assertEqual(file.wait_asked(), kind)
        answer = daemon.get("/api/v1/events", pid=pid, match="page*", timeout=30) # reads no file of the process
        self.assertEqual((answer.status, answer.json()["events"][0]["available"]), (200, True), answer)
        text = f"without an answer to '{kind}': {took:.1f} s; {profile.describe()}"
        self.assertGreater(count(profile.stacks), 100, text)
        self.assertEqual(named(profile), 0, text)
        self.assertTrue(warned(profile, pid), text)
        self.assertLess(took, 10, text)

    def test_they_hold_nobody_else(self):
        """Its server leaves open, read or close without an answer: other processes get names, and flamed ends in time."""
        with Daemon(*NO_RECORDER) as daemon:
            with running(self.source) as other:
                self.assertGreaterEqual(named(daemon.profile(pid=other, seconds=1, hz=499)), 0.95)
            before = held(daemon)
            hanging = {kind: self.hanging(kind) for kind in "orf"}
            for kind, (file, pid) in hanging.items():
                self.check_hang(daemon, file, kind, pid)
            self.assertGreaterEqual(unanswered(daemon), len(hanging))
            with tempfile.TemporaryDirectory(prefix="flamed-hanging.") as folder: # a file that was not read before
                path = os.path.join(folder, "other")
                largefile.write(path, 101, NAME)
                with running(path) as other:
                    profile = daemon.profile(pid=other, seconds=1.5, hz=499)
            self.assertGreaterEqual(named(profile), 0.95, profile.describe())
            self.assertFalse(warned(profile, other), profile.warnings)
            for file, _ in hanging.values():
                file.answer()
            for kind, (_, pid) in hanging.items():
                proc.wait_until(lambda: named(daemon.profile(pid=pid, seconds=0.5, hz=499)) > 0.9, 30, f"names after '{kind}'")
            self.stack.pop_all().close()
            # A new opener replaces one that hung. The old one stays when it returns: one process more for each.
            def as_before() -> bool:
                now = held(daemon)
                return all(k in now and now[k][0] == v[0] for k, v in before.items()) and len(now) <= len(before) + len(hanging)
            proc.wait_until(as_before, 10, f"as many threads as before: {before}")
            for name, (_, descriptors) in held(daemon).items():
                # The broker holds the sockets of the new ones.
                self.assertLessEqual(descriptors, before.get(name, (1, 30))[1] + 2 + len(hanging), f"{name}: {before.get(name)}")

    def test_they_lie(self):
        """Its server claims another size, ends each read at once, or changes the content between two reads, also slowly: captures end in
        time, other processes have their names, and no process of flamed ends or grows."""
        with Daemon(*NO_RECORDER) as daemon, running(self.source) as other:
            self.assertGreaterEqual(named(daemon.profile(pid=other, seconds=1, hz=499)), 0.95)
            before = daemon.processes()
            for kind, slowly in itertools.product(LIES, (False, True)):
                with self.subTest(kind=kind, slowly=slowly), fuse.File(self.source) as file, running(file.path) as pid:
                    proc.wait_until(lambda of=pid: proc.cpu_seconds(of) > 0.02, 10, "its code was read")
                    file.lie(kind)
                    if slowly:
                        file.slow_down()
                    asked = time.monotonic()
                    profile = daemon.profile(pid=pid, seconds=1, hz=499)
                    took = time.monotonic() - asked
                    text = f"{took:.1f} s; {profile.describe()}"
                    print(f"{kind}{' slowly' if slowly else ''}: {took:.1f} s, named {named(profile):.2f}", end="; ")
                    self.assertGreater(count(profile.stacks), 20, text)
                    self.assertLess(took, 10, text)
            profile = daemon.profile(pid=other, seconds=1, hz=499)
            self.assertGreaterEqual(named(profile), 0.95, profile.describe())
            now = daemon.processes()
            for name in ("flamed", "flamed-broker", "flamed-namer"):
                self.assertTrue(set(before[name]) <= set(now[name]), f"{name}: {before[name]} {now[name]}")
            for name, cost in daemon.cost().items():
                self.assertLess(cost["peak_kib"], PEAK_KIB, name)

    def test_the_end_waits_for_none(self):
        daemon = Daemon(*NO_RECORDER)
        try:
            for kind in "orf":
                file, pid = self.hanging(kind)
                self.check_hang(daemon, file, kind, pid)
            before = time.monotonic()
        finally:
            daemon.stop()
        self.assertLess(time.monotonic() - before, 2)

@contextlib.contextmanager
def container_cgroup():
    """Makes a cgroup named like a container's. Returns its folder."""
    top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/pids"
    folder = os.path.join(top, os.urandom(32).hex())
    os.mkdir(folder)
    try:
        yield folder
    finally:
        proc.wait_until(lambda: not proc.read(folder + "/cgroup.procs"), 10, "an empty cgroup")
        os.rmdir(folder)


@contextlib.contextmanager
def fake_jvm(file: fuse.File, mode: str, cgroup: str | None = None):
    """Starts a process in CGROUP that maps FILE as its libjvm.so without reading it. Returns the pid."""
    with tempfile.TemporaryDirectory(prefix="flamed-hanging.") as folder:
        path = os.path.join(folder, "libjvm.so")
        open(path, "w", encoding="ascii").close()
        script = 'mount --bind "$0" "$1" && { [ -z "$4" ] || echo $$ >"$4/cgroup.procs"; } && exec "$2" "$1" "$3"'
        command = ["unshare", "-m", "sh", "-c", script, file.path, path, native.build("fakejvm"), mode, cgroup or ""]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout.readline() == "started\n"
                yield process.pid
            finally:
                file.answer() # otherwise the process could not end
                process.kill()


def gauge(daemon: Daemon, name: str) -> float:
    return float(re.search(rf"^{name} (\S+)", daemon.get("/metrics").text, re.M)[1])


@contextlib.contextmanager
def hanging(file: fuse.File, mode: str, count: int = 1):
    """Starts COUNT processes that map FILE as hanging.c says. Returns the pid of the first."""
    with contextlib.ExitStack() as stack:
        processes = []
        try:
            for _ in range(count): # all map the file before the first one reads it
                processes.append(stack.enter_context(
                    subprocess.Popen([native.build("hanging"), mode, file.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)))
                assert processes[-1].stdout.readline() == "started\n"
            for process in processes:
                process.stdin.close()
            yield processes[0].pid
        finally:
            file.answer() # otherwise they could not end
            for process in processes:
                process.kill()


def held_readers(pid: int) -> list[str]:
    """Returns where the kernel holds the readers of flamed's process PID."""
    waits = [proc.read(f"/proc/{pid}/task/{tid}/wchan") for tid in os.listdir(f"/proc/{pid}/task")
             if proc.read(f"/proc/{pid}/task/{tid}/comm").strip() == "flamed-reader"]
    return [w for w in waits if HELD.match(w)]


class Asked:
    """Requests the engine's facts all the time, as root on the Unix socket. Records the longest answer, and refusals."""

    def __init__(self, daemon: Daemon):
        self.daemon, self.slowest, self.refused, self.ended = daemon, 0.0, [], threading.Event()
        self.idle = IdleServer()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.ended.wait(0.02):
            for path, unix in (("/healthz", False), ("/api/v1/events", True), ("/api/v1/jvms", True)):
                self.idle.ask()
                with proc.Standstill() as machine:
                    answer = self.daemon.get(path, unix=unix, timeout=30)
                    self.slowest = max(self.slowest, machine.given())
                if answer.status != 200:
                    self.refused.append(str(answer))

    def __enter__(self):
        self.idle.__enter__()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.idle.__exit__()


class HangingMemory(unittest.TestCase):
    """A JVM's memory, a command line or an exec lies on FUSE, and its server does not answer. The kernel holds each reader, beyond SIGKILL.
    That is a reader of flamed's or an opener of its broker's, and nothing else waits for it."""

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        home = paths.jdk(17)
        spin = jvm.make_spin()
        self.file = self.stack.enter_context(fuse.File(home + "/lib/server/libjvm.so"))
        self.other = self.stack.enter_context(jvm.Jvm(home, "-Xmx64m", "-cp", spin.folder, spin.main))
        self.daemon = Daemon(*NO_RECORDER)
        self.addCleanup(lambda: os.path.exists(self.daemon.folder) and self.daemon.stop(check=False))
        self.addCleanup(self.file.answer) # before this test reads all processes again
        self.file.silence("r")

    def worker(self) -> int:
        [pid] = self.daemon.processes()["flamed"]
        return pid

    def wait_held(self, worker: int) -> None:
        try:
            proc.wait_until(lambda: held_readers(worker), 20, "a reader of flamed's is held")
        except TimeoutError as e:
            raise AssertionError(f"{e}: {proc.waits(worker)}\n{self.daemon.log()}") from e

    def hold(self, cgroup: str | None = None) -> int:
        """Makes flamed read a JVM with memory that does not answer. Returns the JVM's pid."""
        worker = self.worker()
        pid = self.stack.enter_context(fake_jvm(self.file, "hold", cgroup))
        self.file.wait_asked()
        self.wait_held(worker)
        return pid

    def others_work(self) -> None:
        with proc.CpuClock(self.other.pid, proc.thread_of(self.other.pid, "spinner")) as clock:
            profile = self.daemon.profile(pid=self.other.pid, seconds=1, hz=499)
        due = 499 * clock.between(profile)
        self.assertGreater(count(profile.of_thread("spinner")), max(due / 2 - 4, 0), f"{due:.0f} are due; {profile.describe()}")

    def check_served(self, hold) -> None:
        """While HOLD() makes a file system hang, the same flamed answers all clients. Its log reports no end of a process."""
        before = self.daemon.pids()
        with Asked(self.daemon) as asked:
            hold()
            self.others_work()
            time.sleep(6) # longer than an engine may be stalled without a report
            self.others_work()
        self.assertEqual(asked.refused, [])
        self.assertLess(asked.slowest, asked.idle.limit(0.5), "a wait or two for it")
        self.assertEqual([pid for pid in before if not os.path.exists(f"/proc/{pid}")], [], self.daemon.log())
        self.assertEqual(gauge(self.daemon, "flamed_stalled_seconds"), 0)

    def test_memory(self):
        """flamed reports why the JVM has no names, and reads it once it answers."""
        pids = []
        self.check_served(lambda: pids.append(self.hold()))
        one = self.daemon.get(f"/api/v1/jvms/{pids[0]}").json()
        self.assertEqual(one["profilable"]["symbols"], "none")
        self.assertIn("quarantined", one["profilable"]["reason"])
        self.assertEqual(gauge(self.daemon, "flamed_readings_held"), 1)
        self.assertEqual(self.daemon.get("/profile", pid=pids[0], seconds=1, timeout=20).status, 200)
        self.file.answer()
        proc.wait_until(lambda: gauge(self.daemon, "flamed_readings_held") == 0, 10, "it is back")
        proc.wait_until(lambda: "quarantined" not in str(self.daemon.get(f"/api/v1/jvms/{pids[0]}").json()["profilable"]["reason"]), 20,
                        "it is looked at anew")
        self.daemon.stop()

    def test_a_command_line(self):
        pid, worker = [], self.worker()
        self.check_served(lambda: (pid.append(self.stack.enter_context(hanging(self.file, "lock"))), self.wait_held(worker)))
        profile = self.daemon.profile(pid=pid[0], seconds=1, hz=199)
        self.assertGreater(count(profile.stacks), 10, profile.describe())

    def test_an_exec(self):
        """Until the exec is over, the kernel lets no process open its maps or memory. The exec waits for a file that is being closed."""
        self.file.answer()
        self.file.silence("f")
        self.stack.enter_context(running_in(self.stack.enter_context(container_cgroup()))) # flamed must look up its caller
        pids = []
        self.check_served(lambda: pids.append(self.stack.enter_context(hanging(self.file, "exec"))))
        self.daemon.get(f"/api/v1/jvms/{pids[0]}", timeout=20)
        self.others_work()
        self.file.answer() # before this test reads all processes again

    def test_many_at_once(self):
        """More processes of root's hang than readers may be abandoned. Whatever happens, flamed serves again within seconds by itself."""
        self.stack.enter_context(hanging(self.file, "lock", 40))
        end, served = time.monotonic() + 90, 0
        while served < 10 and time.monotonic() < end: # ten seconds in a row
            try:
                served = served + 1 if self.daemon.get("/readyz", timeout=2).status == 200 else 0
            except OSError:
                served = 0
            time.sleep(1)
        self.assertEqual(served, 10, self.daemon.log())
        self.others_work()

    def test_the_end_waits_for_none(self):
        self.hold()
        time.sleep(1)
        before = time.monotonic()
        self.daemon.stop(check=False)
        self.assertLess(time.monotonic() - before, 14)
        another = Daemon("--listen", f"127.0.0.1:{self.daemon.port}", *NO_RECORDER) # the ports are free
        another.stop(check=False) # one of its readers may be held already

    def test_killed_meanwhile(self):
        """Killed by an administrator, or for lack of memory: a held thread does not prevent a new start."""
        before = self.worker()
        self.hold()
        time.sleep(1)
        os.kill(before, 9)
        proc.wait_until(lambda: self.daemon.processes().get("flamed", [before]) != [before], 30, "another flamed")
        self.assertEqual(self.daemon.get("/healthz", timeout=10).status, 200)
        self.daemon.wait_ready(30)
        self.others_work()

    def test_ended_by_its_container(self):
        """The container kills flamed whenever it holds a reader. The next flamed quarantines the container until the file system answers."""
        self.daemon.stop()
        self.daemon = Daemon(*NO_RECORDER, wrap=on_mount('--bind -o ro "$dir"'))
        cgroup = self.stack.enter_context(container_cgroup())
        before, pid = self.worker(), self.hold(cgroup)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.assertEqual(gauge(self.daemon, "flamed_readings_held"), 1)
        again = self.stack.enter_context(running_in(cgroup))
        answer = self.daemon.get("/profile", pid=again, seconds=2, timeout=20)
        self.assertEqual(answer.status, 200, str(answer))
        self.assertEqual(gauge(self.daemon, "flamed_readings_left_total"), 1)
        self.others_work()
        self.assertEqual(self.worker(), before)


@contextlib.contextmanager
def running_in(cgroup: str):
    """Starts a process in CGROUP. Returns the pid."""
    with subprocess.Popen(["sh", "-c", 'echo $$ >"$0/cgroup.procs"; while :; do :; done', cgroup]) as process:
        try:
            proc.wait_until(lambda: str(process.pid) in proc.read(f"{cgroup}/cgroup.procs").split(), 5, "it is in its cgroup", 0.001)
            yield process.pid
        finally:
            process.kill()


class SilentBroker(unittest.TestCase):
    def test_answers_leave_without_it(self):
        """The broker is stalled during a capture, and the engine, which asks it, is stalled, too. Waiting clients get an answer in time,
        others are served, and everything continues once the broker does."""
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        with Daemon(*NO_RECORDER) as daemon:
            self.assertGreater(daemon.profile(pid=busy.pid, seconds=1, hz=199).samples, 0)
            broker = next(pid for pid in proc.children(daemon.top()) if proc.exe(pid) == "flamed-broker")
            answers = []
            asking = threading.Thread(target=lambda: answers.append(daemon.get("/profile", pid=busy.pid, seconds=1, hz=197)))
            began, events = time.monotonic(), daemon.perf_events()
            asking.start()
            proc.wait_until(lambda: daemon.perf_events() > events, 5, "it samples")
            proc.stop(broker)
            try:
                time.sleep(max(began + 4.5 - time.monotonic(), 0))
                self.assertEqual(daemon.get("/healthz", timeout=3).status, 200)
                asking.join(max(began + 1 + 5 + 2 - time.monotonic(), 0))
                self.assertEqual([a.status for a in answers], [503])
            finally:
                os.kill(broker, signal.SIGCONT)
            self.assertGreater(daemon.profile(pid=busy.pid, seconds=1, hz=199).samples, 0)

    # The answer of each route while the engine is stalled: 503 if the route needs it, else its usual answer at once.
    ROUTES = {
        ("get", "/"): 200, ("get", "/ui/{file}"): 200, ("get", "/openapi.json"): 200, ("get", "/healthz"): 200,
        ("get", "/api/v1/whoami"): 200, ("get", "/api/v1/audit"): 200, ("get", "/login"): 403, ("post", "/api/v1/logins"): 201,
        ("post", "/logout"): 204, ("get", "/metrics"): 200, ("get", "/readyz"): 503, ("get", "/sd"): 503,
        ("get", "/profile"): 503, ("get", "/top"): 503,
        ("get", "/api/v1/jvms"): 503, ("get", "/api/v1/jvms/{pid}"): 503, ("get", "/api/v1/jvms/{pid}/preflight"): 503,
        ("get", "/api/v1/jvms/{pid}/perf-map"): 503, ("get", "/api/v1/jvms/{pid}/heap"): 503,
        ("get", "/api/v1/jvms/{pid}/threads"): 503, ("get", "/api/v1/events"): 503,
        ("get", "/api/v1/captures"): 503, ("post", "/api/v1/captures"): 503,
        ("get", "/api/v1/captures/{id}"): 503, ("delete", "/api/v1/captures/{id}"): 503,
        ("get", "/api/v1/captures/{id}/profile"): 503, ("post", "/api/v1/captures/{id}/stop"): 503,
        ("get", "/api/v1/captures/{id}/stream"): 503,
        ("get", "/api/v1/query"): 503, ("get", "/api/v1/diff"): 503, ("get", "/api/v1/timeline"): 503,
        ("get", "/api/v1/schedules"): 503, ("post", "/api/v1/triggers/{name}"): 503,
        ("get", "/debug/pprof/"): 200, ("get", "/debug/pprof/profile"): 503, ("get", "/debug/pprof/heap"): 200,
        ("get", "/debug/pprof/allocs"): 200, ("get", "/debug/pprof/block"): 200, ("get", "/debug/pprof/mutex"): 200,
        ("get", "/debug/pprof/goroutine"): 200,
    }

    def test_no_route_waits_for_the_engine(self):
        """Each answer gives the reason and the remedy within seconds. Uses the Unix socket, which identifies callers: over TCP the broker
        may be needed."""
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        with Daemon(*NO_RECORDER) as daemon:
            paths_of = daemon.get("/openapi.json").json()["paths"]
            self.assertEqual({(m, p) for p, methods in paths_of.items() for m in methods if m in ("get", "post", "delete")}, set(self.ROUTES))
            one = daemon.capture(pid=busy.pid, event="cpu", hz=99)
            one.stop()
            page = re.search(r'/?ui/([^"]+)"', daemon.get("/", headers={"Accept": "text/html"}).text)[1]
            fill = {"pid": str(busy.pid), "file": page, "id": one.path.rpartition("/")[2], "name": "none"}
            more = {"/api/v1/diff": {"a": fill["id"], "b": fill["id"]}, "/api/v1/captures": {"limit": 1}}
            broker = next(pid for pid in proc.children(daemon.top()) if proc.exe(pid) == "flamed-broker")

            def sample() -> None:
                with contextlib.suppress(OSError, http.client.HTTPException): # flamed may end before it answers
                    daemon.get("/profile", pid=busy.pid, seconds=0.5, hz=197)

            asking = threading.Thread(target=sample)
            events = daemon.perf_events()
            asking.start()
            proc.wait_until(lambda: daemon.perf_events() > events, 5, "it samples")
            proc.stop(broker)
            try:
                proc.wait_until(lambda: daemon.get("/api/v1/events", unix=True, timeout=9).status == 503, 9, "the engine stands")

                def ask(route: tuple[str, str]):
                    method, path = route
                    began = time.monotonic()
                    answer = daemon.request(method.upper(), path.format(**fill), unix=True, timeout=9, **more.get(path, {}) if method == "get" else {},
                                            **({"body": b"{\"pid\": %d}" % busy.pid, "headers": {"Content-Type": "application/json"}}
                                               if route == ("post", "/api/v1/captures") else {}))
                    return route, answer, time.monotonic() - began

                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    answers = list(pool.map(ask, self.ROUTES))
            finally:
                os.kill(broker, signal.SIGCONT)
                asking.join()
            for route, answer, took in answers:
                with self.subTest(route=route):
                    self.assertEqual(answer.status, self.ROUTES[route], answer)
                    self.assertLess(took, 5)
                    if route[1] == "/readyz":
                        self.assertIn("is stalled", answer.json()["problems"][0]["detail"])
                    elif answer.status == 503:
                        self.assertIn("is stalled", answer.json()["detail"])
                        self.assertIn("again", answer.json()["remedy"])
            metrics = next(a.text for (_, path), a, _ in answers if path == "/metrics")
            self.assertGreaterEqual(float(re.search(r"^flamed_stalled_seconds (\S+)", metrics, re.M)[1]), 5)
            self.assertGreater(daemon.profile(pid=busy.pid, seconds=1, hz=199).samples, 0)
            self.assertEqual(gauge(daemon, "flamed_stalled_seconds"), 0)


if __name__ == "__main__":
    unittest.main()
