# SPDX-License-Identifier: Apache-2.0
"""Minutes are pushed to engines: complete sums by service, with secrets from files, whatever errors an engine makes."""
import base64
import collections
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from harness import jvm, paths, proc, receiver
from harness.daemon import Daemon

sys.path.append(os.path.join(paths.TREE, "tests/formats"))
import readers as readers_of_formats # pylint: disable=wrong-import-position

SECRET = "hunter2"
PROTO = os.path.join(paths.TREE, "daemon/render/proto")
OTLP = "/v1development/profiles"
PUSHER = "/push.v1.PusherService/Push"


class Pushing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        cls.target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", "-cp", cls.spin.folder, cls.spin.main, wrap=[
            "env", "OTEL_SERVICE_NAME=push;shop", "OTEL_RESOURCE_ATTRIBUTES=service.version=2.4,service.namespace=retail,deployment.environment.name=prod"])
        cls.addClassCleanup(cls.target.stop)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="flamed-test.")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def engine(self, *arguments, **more) -> receiver.Receiver:
        engine = receiver.Receiver(*arguments, **more)
        self.addCleanup(engine.stop)
        return engine

    def flamed(self, *targets: str, options: tuple[str, ...] = ()) -> Daemon:
        text = "push:\n" + "".join("  - " + target.strip().replace("\n", "\n    ") + "\n" for target in targets)
        daemon = Daemon("--config", self.write("flamed.yaml", text), "--recorder-hz=99", *options)
        self.addCleanup(daemon.stop)
        return daemon

    def status(self, daemon: Daemon, name: str) -> dict:
        return {target["name"]: target for target in daemon.get("/api/v1/push").json()["targets"]}[name]

    def test_sums_and_names_arrive(self):
        """Twice in a row, by both protocols: the same as flamed itself answers for that time, to the sample."""
        self.write("secret", SECRET + "\n")
        engine = self.engine()
        daemon = self.flamed(f"""name: otlp
url: {engine.url}
every: 5s
events: [cpu]
match: '{{service="push;shop"}}'
headers: {{ X-Scope-OrgID: team-a }}
link: https://node.example
basic_auth:
  username: me
  password_file: secret""", f"""name: pyroscope
url: {engine.url}/
protocol: pyroscope
every: 5s
match: '{{service="push;shop"}}'
events: [cpu, lock]
authorization:
  credentials_file: secret""", options=("--recorder-waits=no",))
        proc.wait_until(lambda: len(engine.taken(OTLP)) >= 2 and len(engine.taken(PUSHER)) >= 2, 60, "both get two minutes")
        for request in engine.taken(OTLP):
            self.assertEqual(request.headers["Authorization"], "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode())
            self.assertEqual(request.headers["X-Scope-OrgID"], "team-a")
        for request in engine.taken(PUSHER):
            self.assertEqual((request.headers["Authorization"], request.headers["Content-Type"]), ("Bearer " + SECRET, "application/proto"))
            text = subprocess.run(["protoc", "--decode=push.PushRequest", f"-I{PROTO}", "push.proto"], input=request.body,
                                  capture_output=True, check=True).stdout.decode()
            labels = dict(re.findall(r'name: "(\w+)"\s+value: "([^"]*)"', text))
            self.assertEqual({name: labels[name] for name in ("__name__", "service_name", "service_version")},
                             {"__name__": "process_cpu", "service_name": "push;shop", "service_version": "2.4"})
        samples = self.samples(engine) # fails if Pyroscope would refuse a profile
        self.assertEqual({tuple(sorted(s["resource"].items())) for s in samples}, {tuple(sorted({
            "service.name": "push;shop", "service.version": "2.4", "service.namespace": "retail", "deployment.environment.name": "prod",
            "host.name": os.uname().nodename}.items()))})
        self.assertEqual({s["pyroscope"] for s in samples}, {"process_cpu:cpu:nanoseconds"})
        proc.wait_until(lambda: self.status(daemon, "otlp")["queued_bodies"] == 0, 20, "nothing waits")
        status = self.status(daemon, "otlp")
        counted = sum(sum(s["values"]) for s in samples)
        self.assertLessEqual(counted, status["samples"])
        got = collections.Counter()
        for s in samples:
            got[";".join(name.replace(";", "_") for name in s["stack"])] += sum(s["values"])
        text = daemon.get("/api/v1/query", service="push;shop", **{"from": "-120s"}, format="collapsed").text
        recorded = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in text.splitlines()}
        hottest = max(got, key=got.get)
        self.assertTrue([stack for stack in recorded if stack.endswith(hottest) and recorded[stack] >= got[hottest]], (hottest, text[:2000]))
        self.assertEqual(self.status(daemon, "pyroscope")["missing_events"], "lock") # the recorder does not sample waits
        self.assertNotIn(SECRET, daemon.get("/api/v1/push").text + daemon.log())
        self.assertIn('flamed_push_bytes_total{target="otlp"}', daemon.get("/metrics").text)

    def test_an_engine_that_fails(self):
        """An engine that is away, answers 429 or 500, gives half an answer, or has wrong TLS: counted and limited. flamed answers
        meanwhile, and delivers later."""
        answers = {"busy": lambda request: (429, {"Retry-After": "3600"}, b"slow down"), "broken": lambda request: (500, {}, b"poison"),
                   "half": lambda request: None, "refuses": lambda request: (400, {}, b"bad \x1b[31m body"),
                   "partly": lambda request: (200, {}, b"\x0a\x06\x08\x03\x12\x02no")}
        engines = {name: self.engine(answer) for name, answer in answers.items()}
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        urls = {name: engine.url for name, engine in engines.items()}
        urls["away"] = f"http://127.0.0.1:{port}"
        urls["tls"] = engines["busy"].url.replace("http:", "https:")
        daemon = self.flamed(*(f"name: {name}\nurl: {url}\nevery: 5s" for name, url in urls.items()))

        def settled() -> bool:
            self.assertEqual(daemon.get("/healthz", timeout=10).status, 200)
            now = {name: self.status(daemon, name) for name in urls}
            return all(now[name]["last_error"] for name in urls) and now["broken"]["rejected"] and now["refuses"]["rejected"]

        proc.wait_until(settled, 90, "each has failed in its way")
        errors = {name: self.status(daemon, name) for name in urls}
        self.assertIn("429", errors["busy"]["last_error"])
        self.assertEqual(len([r for r in engines["busy"].taken() if r.path == OTLP]), 1) # flamed obeys Retry-After
        self.assertIn("bad  [31m body", errors["refuses"]["last_error"])
        self.assertGreaterEqual(errors["partly"]["rejected"], 3)
        self.assertGreater(errors["partly"]["sent_bodies"], 0)
        for name in ("busy", "half", "away", "tls"):
            self.assertGreater(errors[name]["queued_bodies"], 0, name)
            self.assertIsNone(errors[name]["last_success"], name)
            self.assertIsNotNone(errors[name]["failing_since"], name)
        spooled = errors["away"]
        self.assertAlmostEqual(spooled["queued_minutes"], round(spooled["queued_minutes"] * 12) * 5 / 60, 6)
        self.assertLessEqual(spooled["queued_minutes"], 5 / 60 * spooled["queued_bodies"] + 1e-6)
        metrics = daemon.get("/metrics").text
        self.assertIn('flamed_push_queued_seconds{target="away"}', metrics)
        self.assertNotIn("_minutes", metrics, "Prometheus counts in seconds")
        back = self.engine(port=port)
        proc.wait_until(lambda: back.taken(OTLP), 60, "what has waited arrives")
        proc.wait_until(lambda: self.status(daemon, "away")["failing_since"] is None, 20, "it fails no more")

    def test_an_engine_that_attacks(self):
        """Answers and headers without an end, slow ones, redirects to files and to another engine, an excessive wait: limited, and not
        followed."""
        def without_end(head: bytes, piece: bytes, seconds: float):
            def answer(_):
                yield head
                while True:
                    time.sleep(seconds)
                    yield piece
            return answer

        elsewhere = self.engine()
        places = itertools.cycle(("file:///etc/passwd", elsewhere.url + OTLP))
        ok, mib = b"HTTP/1.1 200 OK\r\n", 1 << 20
        answers = {
            "body": without_end(ok + b"\r\n", b"x" * mib, 0), "headers": without_end(ok, b"X-Y: " + b"z" * 60000 + b"\r\n", 0),
            "hints": without_end(b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 100, 0),
            "chunks": without_end(ok + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 50000 + b"\r\nx\r\n", 0),
            "slow": without_end(ok, b"X", 1), "redirects": lambda _: (307, {"Location": next(places)}, b""),
            "ages": lambda _: (503, {"Retry-After": "9" * 12}, b"\x1b]0;x\x07 \xe2\x80\xae{}\"</script>"),
            "cookies": lambda _: (200, {"Set-Cookie": "a=b; Domain=127.0.0.1", "Alt-Svc": f'h2="127.0.0.1:{elsewhere.port}"'}, b"")}
        engines = {name: self.engine(answer) for name, answer in answers.items()}
        daemon = self.flamed(*(f"name: {name}\nurl: {engine.url}\nevery: 5s" for name, engine in engines.items()))
        most = 0

        def settled() -> bool:
            nonlocal most
            most = max([most, *(proc.memory_kib(pid, "VmHWM") for pid in self.pushers(daemon))])
            self.assertEqual(daemon.get("/healthz", timeout=10).status, 200)
            return len(engines["cookies"].taken(OTLP)) > 1 and all(engines[name].ended for name in ("body", "headers", "chunks", "hints", "slow"))

        proc.wait_until(settled, 150, "each has attacked")
        self.assertLess(most, 64 << 10, "KiB of flamed-push")
        self.assertEqual(elsewhere.taken(), [])
        self.assertEqual([r.headers["Cookie"] for r in engines["cookies"].taken() if r.headers["Cookie"]], [])
        self.assertEqual(len(engines["ages"].taken(OTLP)), 1)
        self.assertEqual(len(self.pushers(daemon)), 2)
        for name in engines:
            status = self.status(daemon, name)
            self.assertTrue((status["last_error"] or "").isprintable(), status)
            self.assertEqual(status["last_success"] is not None, name == "cookies", status)
        self.assertGreater(len(engines["redirects"].taken(OTLP)), 1)
        self.assertIn("is longer than flamed-push reads", self.status(daemon, "chunks")["last_error"])
        for name in ("body", "headers", "chunks", "hints"): # the bytes read, and those that sockets buffer
            self.assertLess(engines[name].written / engines[name].ended, 16 * mib, name)

    def test_a_minute_from_before_a_restart(self):
        """Samples that flamed recorded before a restart come from the history; each sample once."""
        folder, engine = tempfile.mkdtemp(prefix="flamed-test."), self.engine()
        self.addCleanup(shutil.rmtree, folder)
        options = ("--config", self.write("flamed.yaml", f"push:\n  - name: engine\n    url: {engine.url}\n"), "--recorder-hz=99")
        gone = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=15", "-Dotel.service.name=gone", "-cp", self.spin.folder, self.spin.main)
        self.addCleanup(gone.stop)
        with Daemon(*options, store=folder) as daemon:
            recorded = lambda: daemon.get("/profile", pid=gone.pid, format="collapsed", **{"from": "-60s"})
            proc.wait_until(lambda: recorded().status == 200 and recorded().text.count("\n") > 1, 30, "it is recorded")
            time.sleep(3)
            gone.stop()
        daemon = Daemon(*options, store=folder)
        self.addCleanup(daemon.stop)
        text = daemon.get("/profile", service="gone", format="collapsed", **{"from": "-20m"}).text
        recorded = sum(int(line.rpartition(" ")[2]) for line in text.splitlines())
        counted = lambda: sum(sum(s["values"]) for s in self.samples(engine) if s["resource"]["service.name"] == "gone")
        proc.wait_until(lambda: counted() == recorded, 200, "the minute, or two, arrives", 1)
        self.assertGreater(recorded, 3)

    def samples(self, engine: receiver.Receiver) -> list[dict]:
        """Returns all received samples, by the collector's own code."""
        bodies = []
        for number, request in enumerate(engine.taken(OTLP)):
            bodies.append(os.path.join(self.folder, f"{number}.otlp.pb"))
            with open(bodies[-1], "wb") as file:
                file.write(request.body)
        taken = readers_of_formats.collector(*bodies) if bodies else {}
        return [sample for path in bodies for sample in taken[os.path.basename(path)]]

    def test_its_process(self):
        """It has no rights. After a kill it is started again, and the body under way is sent again. Without `push` it does not exist."""
        engine = self.engine()
        daemon = self.flamed(f"name: a\nurl: {engine.url}\nevery: 5s")
        found = self.pushers(daemon)
        self.assertEqual(len(found), 2, found) # the one that starts the other
        for pid in found:
            status = dict(line.split(":\t", 1) for line in proc.read(f"/proc/{pid}/status").splitlines())
            self.assertEqual((int(status["CapEff"], 16), int(status["CapPrm"], 16), status["NoNewPrivs"], status["Seccomp"]), (0, 0, "1", "2"))
            self.assertNotIn("0", status["Uid"].split())
            self.assertEqual(status["Groups"].split(), [])
            self.assertEqual(proc.read(f"/proc/{pid}/cmdline").split("\0")[1:-1], [engine.url.rpartition(":")[2]]) # the port that it may connect to
        os.kill(max(found), signal.SIGKILL)
        proc.wait_until(lambda: len(self.pushers(daemon)) == 2 and max(found) not in self.pushers(daemon), 20, "it is started again")
        proc.wait_until(lambda: engine.taken(OTLP), 60, "a minute arrives")
        without = Daemon()
        self.addCleanup(without.stop)
        self.assertEqual(self.pushers(without), [])
        self.assertEqual(without.get("/api/v1/push").json(), {"targets": []})

    @staticmethod
    def pushers(daemon: Daemon) -> list[int]:
        return [pid for pid in proc.descendants(daemon.process.pid) if proc.read(f"/proc/{pid}/comm").strip() == "flamed-push"]

    def test_what_a_rule_hides_is_not_sent(self):
        engine = self.engine()
        text = f"""access:
  - name: others
    token_sha256: {"0" * 64}
    role: view
    match: 'namespace="none"'
push:
  - name: limited
    url: {engine.url}
    every: 5s
    access: others
  - name: all
    url: {engine.url}/all
    every: 5s
"""
        daemon = Daemon("--config", self.write("flamed.yaml", text), "--recorder-hz=99")
        self.addCleanup(daemon.stop)
        proc.wait_until(lambda: len(engine.taken("/all" + OTLP)) >= 2, 60, "the other target gets two minutes")
        self.assertEqual([r.path for r in engine.taken() if not r.path.startswith("/all")], [])
        self.assertEqual(self.status(daemon, "limited")["missed_minutes"], 0)
        with subprocess.Popen([paths.program("flamed"), "--check-config", "--config",
                               self.write("wrong.yaml", text.replace("access: others", "access: none"))], stderr=subprocess.PIPE) as check:
            self.assertIn(b"there is no rule 'none'", check.communicate()[1])
