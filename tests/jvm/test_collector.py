# SPDX-License-Identifier: Apache-2.0
"""A real OpenTelemetry Collector receives what flamed-push sends: the sums of flamed's own profiles of the same times.
FLAMED_COLLECTOR_PRINT=1 prints the figures of docs/fleet.md."""
import collections
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon, free_port

sys.path.append(os.path.join(paths.TREE, "tests/formats"))
import readers as readers_of_formats # pylint: disable=wrong-import-position

EVENTS = {"cpu": "samples:count", "wall": "wall:nanoseconds", "offcpu": "off_cpu:nanoseconds", "lock": "lock:nanoseconds"}
EVERY = 5
HOSTILE = 'shop "é"; <b>{}\\n\u202e$(id)'
BODY_MAX = 4 << 20
AWAY = 60 # intervals


class Collector:
    """Runs the collector, with the feature gate for profiles."""

    def __init__(self, folder: str, address: str = "127.0.0.1"):
        self.address = address
        self.program, self.port = readers_of_formats.real_collector(), free_port()
        self.out, self.config, self.process = os.path.join(folder, "out"), os.path.join(folder, "collector.yaml"), None
        os.mkdir(self.out)
        self.log = os.path.join(folder, "log")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"""receivers: {{otlp: {{protocols: {{http: {{endpoint: "{address}:{self.port}"}}}}}}}}
exporters: {{files: {{folder: "{self.out}"}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{profiles: {{receivers: [otlp], exporters: [files]}}}}
""")

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def start(self) -> None:
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([*proc.ENDS_WITH_US, self.program, "--config", self.config,
                                             "--feature-gates=service.profilesSupport"], stdout=log, stderr=log)
        proc.wait_until(lambda: "Everything is ready" in proc.read(self.log), 60, "the collector runs")

    def stop(self, hard: bool = False) -> None:
        if self.process:
            (self.process.kill if hard else self.process.terminate)()
            self.process.wait()
            os.truncate(self.log, 0)
        self.process = None

    def files(self) -> list[str]:
        return sorted(glob.glob(self.out + "/*.pb"))

    def samples(self) -> list[dict]:
        """Returns the samples that arrived; fails where Pyroscope would refuse one."""
        files = self.files()
        taken = readers_of_formats.collector(*files) if files else {}
        return [sample for path in files for sample in taken[os.path.basename(path)]]


class Cut:
    """Passes connections to the collector, and kills it in the middle of the next request once WHERE is set: "request" when half of the body
    has come, "answer" when the collector has taken it and answers. The sender sees a connection that ends."""

    def __init__(self, collector: Collector):
        self.collector, self.where, self.lock = collector, None, threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                client = self.server.accept()[0]
            except OSError:
                return # stop()
            threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def pass_on(self, client: socket.socket) -> None:
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self.collector.port)) as engine:
                    while request := self.read_request(client):
                        self.pass_request(client, engine, *request)
            except OSError:
                pass # one end has closed: so does the other

    @staticmethod
    def read_request(client: socket.socket) -> tuple[bytes, int] | None:
        """Returns a whole request, and the length of its head."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = client.recv(65536)
            if not piece:
                return None
            data += piece
        head = data.index(b"\r\n\r\n") + 4
        length = int(re.search(rb"(?i)content-length: (\d+)", data[:head])[1])
        while len(data) < head + length:
            piece = client.recv(65536)
            if not piece:
                return None
            data += piece
        return data, head

    def pass_request(self, client: socket.socket, engine: socket.socket, data: bytes, head: int) -> None:
        with self.lock:
            where = self.where
            if where == "request":
                engine.sendall(data[:head + (len(data) - head) // 2])
                time.sleep(0.2)
            else:
                engine.sendall(data)
                answer = engine.recv(65536)
            if where:
                self.collector.stop(hard=True)
                self.where = None
                raise ConnectionResetError("cut")
            client.sendall(answer)

    def cut(self, where: str) -> None:
        self.where = where
        proc.wait_until(lambda: not self.where, 60, "a request was cut")

    def stop(self) -> None:
        self.server.close()


class ACollector(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        readers_of_formats.real_collector()
        cls.classes = jvm.Classes()
        cls.classes.compile("Pushed.java")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="flamed-test.")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.name = f"{HOSTILE} {os.getpid()}"
        self.shown = self.name.replace("\u202e", "\ufffd") # which would turn around what follows
        self.collector = Collector(self.folder)
        self.addCleanup(self.collector.stop, hard=True)
        self.url = self.collector.url

    def target(self, *arguments: str) -> jvm.Jvm:
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "Pushed", *arguments, wrap=[
            "env", "OTEL_SERVICE_NAME=" + self.name, "OTEL_RESOURCE_ATTRIBUTES=service.version=2.4,service.namespace=retail,deployment.environment.name=prod"])
        self.addCleanup(target.stop)
        return target

    def flamed(self, target: jvm.Jvm, more: str, *options: str) -> Daemon:
        """Starts flamed, which knows the service of TARGET from self.known on."""
        path = os.path.join(self.folder, "flamed.yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f"push:\n  - name: collector\n    url: {self.url}\n    link: https://node.example\n    "
                       f"match: '{{service=~\"shop.* {os.getpid()}\"}}'\n    {more}\n")
        daemon = Daemon("--config", path, *options)
        self.addCleanup(daemon.stop)
        proc.wait_until(lambda: self.service(daemon, target) == self.shown, 30, "the service is known")
        self.known = time.time_ns()
        return daemon

    @staticmethod
    def service(daemon: Daemon, target: jvm.Jvm) -> str:
        answer = daemon.get(f"/api/v1/jvms/{target.pid}")
        return answer.json()["service"]["name"] if answer.status == 200 else ""

    def status(self, daemon: Daemon) -> dict:
        return daemon.get("/api/v1/push").json()["targets"][0]

    def own(self, daemon: Daemon, event: str, begin: int, end: int) -> collections.Counter:
        """Returns the stacks of flamed's own profile of that time, without the process."""
        stamp = lambda ns: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + f".{ns % 10**9:09}Z"
        answer = daemon.get("/profile", service=self.shown, event=event, format="collapsed", **{"from": stamp(begin), "to": stamp(end)})
        self.assertEqual(answer.status, 200, answer)
        found = collections.Counter()
        for line in answer.text.splitlines():
            stack, _, value = line.rpartition(" ")
            found[stack.partition(";")[2]] += int(value)
        return found

    @staticmethod
    def pushed(sample: dict, every: int = EVERY) -> int:
        """Returns when the time began that was pushed: nanoseconds beside the sample's, which come from two clocks."""
        return (sample["begin"] + 10**6) // (every * 10**9) * every * 10**9

    def compare(self, daemon: Daemon, samples: list[dict], every: int = EVERY) -> int:
        """Checks that each time and event since the service was known has the stacks and sums of flamed's own profile. Returns their number."""
        found: dict[tuple, collections.Counter] = collections.defaultdict(collections.Counter)
        for s in samples:
            self.assertEqual(s["resource"], {"service.name": self.shown, "service.version": "2.4", "service.namespace": "retail",
                                             "deployment.environment.name": "prod", "host.name": os.uname().nodename})
            event = next(event for event, kind in EVENTS.items() if kind == s["type"])
            self.assertEqual(s["period"], "" if event == "offcpu" else f"{event}:nanoseconds")
            begin = self.pushed(s, every)
            if begin < self.known:
                continue
            found[event, begin, begin + every * 10**9][";".join(re.sub("[;\r\n]", "_", name) for name in s["stack"])] += sum(s["values"])
        for (event, begin, end), stacks in found.items():
            own, where = self.own(daemon, event, begin, end), (event, begin, end)
            if event == "cpu":
                self.assertEqual(sum(stacks.values()), sum(own.values()), where)
                self.assertTrue("[other]" in stacks or stacks == own, where)
                continue
            # Each answer divides waits between its intervals again, which rounds to nanoseconds.
            within = sum(own.values()) // 10**6
            differ = {stack: (stacks[stack], own[stack]) for stack in {*stacks, *own} if abs(stacks[stack] - own[stack]) > within}
            self.assertEqual(differ, {}, where)
        return len(found)

    def check_none_is_missing(self, daemon: Daemon, begins: list[int]) -> None:
        """Checks that an interval between those of BEGINS is without a sample: then there is nothing to push."""
        for begin in set(range(begins[0], begins[-1], EVERY * 10**9)) - set(begins):
            self.assertEqual(self.own(daemon, "cpu", begin, begin + EVERY * 10**9), {}, begin)

    def test_each_event_arrives(self):
        """Pushes each event of at least two intervals in a row, with names of an attacker."""
        self.collector.start()
        daemon = self.flamed(self.target("3", "30", "2"), f"every: {EVERY}s\n    events: [{', '.join(EVENTS)}]", "--recorder-hz=99")
        kinds = lambda: collections.Counter(kind for kind, _ in {(s["type"], s["begin"]) for s in self.collector.samples() if s["begin"] // 10**9 > self.known // 10**9 + EVERY})
        proc.wait_until(lambda: len(kinds()) == len(EVENTS) and min(kinds().values()) >= 2, 120, "each event comes twice", 2)
        samples = self.collector.samples()
        self.assertTrue(any("Pushed.плати$" in s["stack"] for s in samples))
        self.assertGreaterEqual(self.compare(daemon, samples), 2 * len(EVENTS))
        for size in map(os.path.getsize, self.collector.files()):
            self.assertLess(size, BODY_MAX)
        status = self.status(daemon)
        self.assertEqual((status["dropped"], status["rejected"], status["last_error"]), (0, 0, None), status)
        if os.environ.get("FLAMED_COLLECTOR_PRINT"):
            print(f"{len(self.collector.files())} requests, {kinds()}, {len(samples)} samples")

    def test_it_is_away_for_longer_than_the_spool(self):
        """Starts the collector after spool_age: flamed has dropped and counted the oldest intervals, and the others arrive."""
        daemon = self.flamed(self.target("3", "30", "2"), f"every: {EVERY}s\n    spool_age: 60s", "--recorder-hz=99")
        proc.wait_until(lambda: self.status(daemon)["dropped"] >= 3, 240, "three are too old", 1)
        self.collector.start()
        proc.wait_until(lambda: self.status(daemon)["sent_bodies"] and self.status(daemon)["queued_bodies"] == 0, 240, "the others arrive", 0.5)
        status, samples = self.status(daemon), self.collector.samples()
        begins = sorted({self.pushed(s) for s in samples})
        self.check_none_is_missing(daemon, begins)
        self.assertGreaterEqual(len(begins), 60 / EVERY / 2)
        self.assertEqual(self.compare(daemon, samples), len(begins)) # all are younger than the service
        dropped = re.search(r'flamed_push_dropped_total\{target="collector",reason="age"\} (\d+)', daemon.get("/metrics").text)
        self.assertEqual(int(dropped[1]), status["dropped"])

    def test_it_is_killed_within_requests_and_away(self):
        """Kills the collector with half of a request, and starts it again after AWAY intervals, as many as an hour has minutes. Then kills
        it before its answer to a request that it has taken. Each interval arrives, with the sums of flamed's own profile; the one without
        an answer, and no other, arrives twice."""
        cut = Cut(self.collector)
        self.addCleanup(cut.stop)
        self.url = f"http://127.0.0.1:{cut.port}"
        self.collector.start()
        daemon = self.flamed(self.target("3", "30", "2"), f"every: {EVERY}s\n    events: [cpu, wall, lock]", "--recorder-hz=99",
                             "--recorder-seconds=1800", "--recorder-max-bytes=512M")
        proc.wait_until(lambda: self.status(daemon)["sent_bodies"] >= 2, 60, "two requests arrive")
        cut.cut("request")
        gone = len(self.collector.files())
        memory = self.memory(daemon)
        proc.wait_until(lambda: self.status(daemon)["queued_bodies"] >= AWAY, 2 * AWAY * EVERY, "it was away", 1)
        self.assertEqual(len(self.collector.files()), gone)
        self.assertLess(self.memory(daemon), memory + 32768, "KiB")
        self.collector.start()
        proc.wait_until(lambda: self.status(daemon)["queued_bodies"] == 0, 300, "what has waited arrives", 0.2)
        cut.cut("answer")
        self.collector.start()
        proc.wait_until(lambda: self.status(daemon)["queued_bodies"] == 0, 120, "the rest arrives", 0.2)
        status, contents, twice = self.status(daemon), set(), []
        for path in self.collector.files():
            with open(path, "rb") as file:
                content = file.read()
            twice += [path] * (content in contents)
            contents.add(content)
        self.assertEqual((len(twice), status["sent_bodies"]), (1, len(contents)))
        for path in twice:
            os.unlink(path)
        samples = self.collector.samples()
        self.assertGreaterEqual(self.compare(daemon, samples), AWAY)
        begins = sorted({self.pushed(s) for s in samples})
        self.check_none_is_missing(daemon, begins)
        self.assertGreaterEqual(len(begins), AWAY + 2)
        self.assertEqual((status["dropped"], status["rejected"], status["missed_minutes"]), (0, 0, 0), status)
        if os.environ.get("FLAMED_COLLECTOR_PRINT"):
            print(f"{len(begins)} intervals, {len(samples)} samples, {len(twice)} twice, incomplete {status['incomplete_minutes']}, {memory} KiB")

    @staticmethod
    def memory(daemon: Daemon) -> int:
        """Returns the KiB of anonymous memory of flamed-push, which holds one request at a time."""
        return sum(proc.memory_kib(pid, "RssAnon") for pid in daemon.processes()["flamed-push"])

    def test_20000_stacks(self):
        """Pushes the budget of stacks, and the rest as one, so that the sum is right."""
        self.collector.start()
        daemon = self.flamed(self.target("15", "0", "12"), "every: 1m\n    samples: 15999", "--recorder-hz=999", "--recorder-max-bytes=512M")
        with_others = lambda: [s for s in self.collector.samples() if s["stack"] == ["[other]"] and self.pushed(s, 60) >= self.known]
        proc.wait_until(with_others, 400, "a minute has more stacks than the budget", 2)
        samples = self.collector.samples()
        self.assertGreaterEqual(self.compare(daemon, samples, 60), 1)
        by_time = collections.Counter(s["begin"] for s in samples)
        self.assertLessEqual(max(by_time.values()), 16000)
        for size in map(os.path.getsize, self.collector.files()):
            self.assertLess(size, BODY_MAX)
        if os.environ.get("FLAMED_COLLECTOR_PRINT"):
            minute = self.pushed(with_others()[0], 60)
            own = self.own(daemon, "cpu", minute, minute + 60 * 10**9)
            print(f"{len(own)} stacks, {sum(own.values())} samples, {by_time} sent, {[os.path.getsize(f) for f in self.collector.files()]} bytes")


if __name__ == "__main__":
    unittest.main()
