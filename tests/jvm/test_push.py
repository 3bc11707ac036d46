# SPDX-License-Identifier: Apache-2.0
"""Minutes are pushed to engines: complete sums by service, with secrets from files, whatever errors an engine makes."""
import base64
import collections
import contextlib
import itertools
import os
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
from harness.pushing import OTLP, Pushing
from test_alloc import Program
from test_forged import in_pod

sys.path.append(os.path.join(paths.TREE, "tests/formats"))
import readers as readers_of_formats # pylint: disable=wrong-import-position

SIDE_BY_SIDE = True # each class waits most of its time
SECRET = "hunter2"
PUSHER = "/push.v1.PusherService/Push"


class WithSamples(Pushing):
    @staticmethod
    def pushed(sample: dict) -> int:
        """Returns when the interval of five seconds began. The clocks differ by less than a millisecond."""
        return (sample["begin"] + 10**6) // (5 * 10**9) * 5

    def read(self, engine: receiver.Receiver, path: str, reader) -> list[list[dict]]:
        """Returns the samples of each request to PATH that READER finds."""
        bodies = []
        for number, request in enumerate(engine.taken(path)):
            bodies.append(os.path.join(self.folder, f"{number}{path.replace('/', '-')}.pb"))
            with open(bodies[-1], "wb") as file:
                file.write(request.body)
        taken = reader(*bodies) if bodies else {}
        return [taken[os.path.basename(path)] for path in bodies]

    def samples(self, engine: receiver.Receiver) -> list[dict]:
        """Returns all received samples, by the collector's own code."""
        return [sample for one in self.read(engine, OTLP, readers_of_formats.collector) for sample in one]

    def series(self, engine: receiver.Receiver) -> list[list[dict]]:
        """Returns the samples of each request to Pyroscope, by its own types."""
        return self.read(engine, PUSHER, readers_of_formats.pushed)

    @staticmethod
    def pushers(daemon: Daemon) -> list[int]:
        return [pid for pid in proc.descendants(daemon.process.pid) if proc.read(f"/proc/{pid}/comm").strip() == "flamed-push"]


class Push(WithSamples):
    def test_it_is_not_probed(self):
        """flamed-push knows the secrets of targets. Like all of flamed's processes it gets no probe."""
        daemon = self.flamed(f"name: otlp\nurl: {self.engine().url}")
        pids = self.pushers(daemon)
        self.assertEqual(len(pids), 2, pids)
        for pid in pids:
            answer = daemon.taken(pid=pid, event="libc.so.6:malloc", seconds=0.1, format="json")
            self.assertEqual(answer.status, 409, answer)
            self.assertIn("is flamed itself", answer.json()["detail"])

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
        proc.wait_until(lambda: len(engine.taken(OTLP)) >= 3 and len(engine.taken(PUSHER)) >= 2, 60, "both get two intervals that are whole")
        for request in engine.taken(OTLP):
            self.assertEqual(request.headers["Authorization"], "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode())
            self.assertEqual(request.headers["X-Scope-OrgID"], "team-a")
            self.assertEqual(request.headers["OTLP-Profiles-Development-Version"], "1")
        for request in engine.taken(PUSHER):
            self.assertEqual((request.headers["Authorization"], request.headers["Content-Type"]), ("Bearer " + SECRET, "application/proto"))
        series = self.series(engine)
        for labels, kind in {(tuple(sorted(s["labels"].items())), s["type"]) for one in series for s in one}:
            labels = dict(labels)
            self.assertEqual({name: labels[name] for name in ("__name__", "service_name", "service_version", "service_repository", "service_git_ref")},
                             {"__name__": "process_cpu", "service_name": "push;shop", "service_version": "2.4",
                              "service_repository": "https://host/shop", "service_git_ref": "0a1b2c"})
            self.assertIn(kind, ("samples:count", "cpu:nanoseconds"))
        samples = self.samples(engine) # fails if Pyroscope would refuse a profile
        self.assertEqual({tuple(sorted(s["resource"].items())) for s in samples}, {tuple(sorted({
            "service.name": "push;shop", "service.version": "2.4", "service.namespace": "retail", "deployment.environment.name": "prod",
            "vcs.repository.url.full": "https://host/shop", "vcs.ref.head.revision": "0a1b2c",
            "host.name": os.uname().nodename}.items()))})
        self.assertEqual({s["pyroscope"] for s in samples}, {"process_cpu:cpu:nanoseconds"})
        proc.wait_until(lambda: self.status(daemon, "otlp")["queued_bodies"] == 0, 20, "nothing waits")
        status = self.status(daemon, "otlp")
        counted = sum(sum(s["values"]) for s in samples)
        self.assertLessEqual(counted, status["samples"])
        begins = sorted({self.pushed(s) for s in samples})[1:] # flamed began within the first one
        got, recorded = self.pushed_and_recorded(daemon, samples, begins)
        intervals = collections.defaultdict(collections.Counter)
        for s in samples:
            intervals[s["begin"]][tuple(s["stack"])] += sum(s["values"])
        for one in series[:2]: # by both protocols each stack of an interval has the same count
            counts, times = (collections.Counter(), collections.Counter())
            for s in one:
                (counts if s["type"] == "samples:count" else times)[tuple(s["stack"])] += s["value"]
            self.assertIn(counts, intervals.values())
            self.assertEqual(times, {stack: count * one[0]["period"] for stack, count in counts.items()})
        if got != recorded: # a sample at the border of an interval may be in one or the other: then the next interval is the same
            print("pushed alone:", got - recorded, "recorded alone:", recorded - got)
            more = lambda: [b for b in sorted({self.pushed(s) for s in self.samples(engine)}) if b > begins[-1]]
            following = proc.wait_until(more, 30, "the next interval arrives", 1)[:1]
            got, recorded = self.pushed_and_recorded(daemon, self.samples(engine), following)
        self.assertEqual(got, recorded)
        self.assertGreater(sum(got.values()), 3)
        self.assertEqual(self.status(daemon, "pyroscope")["missing_events"], "lock") # the recorder does not sample waits
        self.assertNotIn(SECRET, daemon.get("/api/v1/push").text + daemon.log())
        self.assertIn('flamed_push_bytes_total{target="otlp"}', daemon.get("/metrics").text)

    def pushed_and_recorded(self, daemon: Daemon, samples: list[dict], begins: list[int]) -> tuple[collections.Counter, collections.Counter]:
        """Returns the samples of each stack that came for the intervals that begin at BEGINS, and those that flamed has recorded."""
        got, recorded = collections.Counter(), collections.Counter()
        for s in samples:
            if self.pushed(s) in begins:
                got[";".join(name.replace(";", "_") for name in s["stack"])] += sum(s["values"])
        stamp = lambda s: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(s))
        answer = daemon.get("/api/v1/query", service="push;shop", format="collapsed", **{"from": stamp(begins[0]), "to": stamp(begins[-1] + 5)})
        self.assertEqual(answer.status, 200, answer)
        for line in answer.text.splitlines():
            stack, _, count = line.rpartition(" ")
            recorded[stack.partition(";")[2]] += int(count) # without the process
        return got, recorded

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

    def test_a_pod(self):
        """A service of Kubernetes has the name of its workload and its namespace, and no name of a pod: each restart would be a new series."""
        engine = self.engine()
        with contextlib.ExitStack() as stack:
            target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", "-cp", self.spin.folder, self.spin.main,
                             wrap=in_pod(stack, "retail", "checkout-7d9f8b6c5d-x2x4z"))
            stack.callback(target.stop)
            target_of = lambda name, more: f"name: {name}\nurl: {engine.url}\nevery: 5s\nmatch: 'namespace=\"retail\"'\n{more}"
            self.flamed(target_of("otlp", ""), target_of("pyroscope", "protocol: pyroscope"))
            proc.wait_until(lambda: engine.taken(OTLP) and engine.taken(PUSHER), 60, "both get an interval")
        self.assertEqual({tuple(sorted(s["resource"].items())) for s in self.samples(engine)}, {
            (("host.name", os.uname().nodename), ("k8s.namespace.name", "retail"), ("service.name", "checkout"), ("service.namespace", "retail"))})
        labels = {tuple(sorted(s["labels"].items())) for one in self.series(engine) for s in one}
        self.assertEqual({name: value for name, value in dict(labels.pop()).items() if name in ("service_name", "namespace", "hostname")},
                         {"service_name": "checkout", "namespace": "retail", "hostname": os.uname().nodename})
        self.assertFalse([one for one in labels if "x2x4z" in str(one)])

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


class Attacks(WithSamples):
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


@unittest.skipUnless("FLAMED_PUSH_RESTART" in os.environ, "FLAMED_PUSH_RESTART is not set: jvm_push_restart runs it")
class Restart(WithSamples):
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


class Allocations(WithSamples):
    def test_allocated_bytes(self):
        """The bytes of each interval by both protocols are those that flamed itself answers."""
        classes = jvm.Classes()
        classes.compile("Alloc.java")
        engine = self.engine()
        target = "url: {}\nevery: 5s\nevents: [alloc]\nmatch: '{{service=\"allocates\"}}'".format(engine.url)
        daemon = self.flamed(f"name: otlp\n{target}", f"name: pyroscope\nprotocol: pyroscope\n{target}", options=("--recorder-alloc=yes",))
        with Program(paths.jdk(17), classes.folder, "-Xmx128m", "-Dotel.service.name=allocates") as program:
            def arrived() -> bool:
                program.allocate(2e8)
                return min(len(engine.taken(OTLP)), len(engine.taken(PUSHER))) >= 2
            proc.wait_until(arrived, 60, "both get two intervals")
        samples, series = self.samples(engine), [s for one in self.series(engine) for s in one]
        self.assertEqual({s["pyroscope"] for s in samples}, {"alloc_space:alloc_space:bytes"})
        self.assertEqual({(s["labels"]["__name__"], s["labels"]["service_name"]) for s in series}, {("memory", "allocates")})
        self.assertEqual({s["type"] for s in series}, {"samples:count", "alloc_space:bytes"})
        of_stacks = collections.Counter()
        for s in series:
            of_stacks[s["type"]] += s["value"]
        intervals = collections.Counter()
        for s in samples:
            intervals[self.pushed(s)] += sum(s["values"])
        print(intervals, of_stacks)
        begin = max(intervals, key=intervals.get) # the first one may have begun in the middle
        stamp = lambda s: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(s))
        answer = daemon.get("/profile", service="allocates", event="alloc", format="json", **{"from": stamp(begin), "to": stamp(begin + 5)})
        self.assertEqual(answer.json()["meta"]["value"], intervals[begin])
        self.assertGreater(intervals[begin], 2e8)
        counts = [sum(s["value"] for s in one if s["type"] == "alloc_space:bytes") for one in self.series(engine)]
        self.assertEqual(counts[:2], [intervals[begin] for begin in sorted(intervals)][:2])
