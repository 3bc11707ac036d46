# SPDX-License-Identifier: Apache-2.0
"""Requests: the operation and trace of each sample of a handler, compared with the log of a service with a tracer's agent."""
import http.client
import itertools
import os
import re
import shutil
import tempfile
import threading
import unittest

from harness import jdkroot, maven, paths, proc
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses

AGENTS = {"otel": ("io.opentelemetry.javaagent", "opentelemetry-javaagent", "2.33.1"), "datadog": ("com.datadoghq", "dd-java-agent", "1.68.1")}
OPTIONS = {
    "otel": ["-Dotel.traces.exporter=none", "-Dotel.metrics.exporter=none", "-Dotel.logs.exporter=none"],
    "datadog": ["-Ddd.trace.methods=Traced[fast,slow]", "-Ddd.trace.agent.url=http://127.0.0.1:1", "-Ddd.instrumentation.telemetry.enabled=false",
                "-Ddd.remote_config.enabled=false", "-Ddd.jmxfetch.enabled=false"],
}
OPERATIONS = {"otel": {"Traced.fast": "GET /fast", "Traced.slow": "GET /slow"}, "datadog": {"Traced.fast": "Traced.fast", "Traced.slow": "Traced.slow"}}
NO_SERVER_SPANS = ("1.16.0", "1.33.6", "2.0.0") # agents of OpenTelemetry that have no spans for the JDK's server, only for methods
METHODS = "-Dotel.instrumentation.methods.include=Traced[fast,slow]"
START_S = 240 # an agent needs seconds of CPU time to start
SAMPLES, ROUNDS = 100, 30


def low(trace: str) -> str:
    """Returns the low half of a trace id. Older agents of Datadog log nothing else, and that as a decimal number."""
    return trace[-16:] if len(trace) == 32 else f"{int(trace):016x}"


class Service:
    """Traced.java with an agent, and clients that send requests all the time."""

    def __init__(self, test: WithClasses, name: str, release: int, *options: str, version: str = ""):
        test.classes.compile("Traced.java", release=8)
        home, classes, wrap = jdkroot.alone(release, test.classes.folder)
        root = wrap[-1] if wrap else "" # the JVM's own, if the machine lacks that JDK
        self.folder = tempfile.mkdtemp(prefix="flamed-traced.", dir=root + "/tmp")
        self.over = threading.Event()
        self.log = self.folder + "/log"
        group, artifact, newest = AGENTS[name]
        agent = shutil.copy(maven.jar(group, artifact, version or newest), self.folder)
        more = [METHODS] if version in NO_SERVER_SPANS else []
        files = [path.removeprefix(root) for path in (self.folder + "/port", self.log)]
        self.process = Jvm(home, "-Xmx200m", *options, "-javaagent:" + agent.removeprefix(root), *OPTIONS[name], *more, "-cp", classes, "Traced", *files,
                           start="", wrap=wrap)
        test.addCleanup(self.stop)
        proc.wait_until(lambda: os.path.exists(self.folder + "/port"), START_S, "the service listens", interval=0.1)
        self.port = int(proc.read(self.folder + "/port"))
        self.clients = [threading.Thread(target=self.ask, args=(n,)) for n in range(3)]
        for client in self.clients:
            client.start()
        proc.wait_until(lambda: len(self.requests()) > 10, START_S, "it answers", interval=0.1)

    def ask(self, first: int) -> None:
        for n in itertools.count(first):
            if self.over.is_set():
                return
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
                connection.request("GET", "/slow" if n % 3 == 0 else "/fast")
                connection.getresponse().read()
                connection.close()
            except OSError:
                self.over.wait(0.2)

    def requests(self) -> dict[str, str]:
        """Returns trace id -> method."""
        lines = [line.split() for line in proc.read(self.log).splitlines()]
        return {line[1]: line[2] for line in lines if len(line) == 5}

    def stop(self) -> None:
        self.over.set()
        self.process.stop()
        for client in getattr(self, "clients", []):
            client.join()


class Requests(WithClasses):
    sources = ("Burn.java",)

    def setUp(self):
        paths.need_root()
        self.daemon = Daemon()
        self.addCleanup(self.daemon.stop)

    def rows(self, capture: str, **view) -> list[tuple[list[str], int]]:
        text = self.daemon.get(f"/api/v1/captures/{capture}/profile", format="collapsed", **view).text
        return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]

    def judge(self, name: str, release: int, *options: str, version: str = "") -> dict[str, int]:
        """Samples with a burning method in their stack have its operation, and a trace id that the service has logged with this method."""
        service = Service(self, name, release, *options, version=version)
        operations = OPERATIONS["datadog" if version in NO_SERVER_SPANS else name]
        right = wrong = missing = 0
        found = False # the path existed before the capture: at the first request the tracer loads its classes
        for _ in range(ROUNDS):
            answer = self.daemon.get("/profile", pid=service.process.pid, seconds=2, hz=499, by="operation", format="json")
            capture, quality = answer.headers["X-Flamed-Capture"], answer.json()["quality"]["requests"]
            if found: # before, flamed may not have looked since the agent loaded its classes
                self.assertEqual(quality["no_tracer"], 0)
            for stack, count in self.rows(capture, by="operation"):
                method = self.burning(stack)
                if not method:
                    continue
                right += count * (stack[0] == f"[{operations[method]}]")
                missing += count * (stack[0] in ("[no request]", "[request unreadable]", "[unnamed requests]"))
                # Until the tracer is found, a sample has the method that the server calls, such as [Traced.lambda$serve$0()].
                if stack[0].startswith(("[GET", "[Traced")) and stack[0] != f"[{operations[method]}]" and (found or not stack[0].endswith("()]")):
                    wrong += count
                    print("wrong:", count, quality, ";".join(stack))
            if found and right >= SAMPLES:
                break
            if not found:
                found, right, missing = right > 0, 0, 0
        self.assertGreaterEqual(right, SAMPLES)
        self.assertEqual(wrong, 0)
        self.assertLessEqual(missing, right // 1000)
        self.trace_ids(service, capture)
        service.stop()
        return {"right": right, "wrong": wrong, "without": missing}

    def judge_past(self, daemon: Daemon, what: str, **target) -> None:
        """The recorder's samples of the last minutes, or those of the history: in measured code each has its operation."""
        def rows() -> list[tuple[list[str], int]]:
            text = daemon.get("/profile", **target, by="operation", format="collapsed", **{"from": "-10m"}).text
            all_rows = [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]
            return [(stack, count) for stack, count in all_rows if self.burning(stack)]

        def right(of: list[tuple[list[str], int]]) -> int:
            return sum(count for stack, count in of if stack[0] == f"[{OPERATIONS['otel'][self.burning(stack)]}]")

        proc.wait_until(lambda: right(rows()) >= SAMPLES, START_S, what, interval=1)
        of = rows()
        others = {stack[0] for stack, _ in of if stack[0] not in ("[GET /fast]", "[GET /slow]") and not stack[0].endswith("()]")}
        self.assertLessEqual(others, {"[request unreadable]", "[no tracer]"}) # before its tracer was ready
        self.assertEqual(sum(count for stack, count in of if stack[0].startswith("[GET")), right(of))

    def burning(self, stack: list[str]) -> str:
        """Returns the method with the request that the stack belongs to; "" outside of measured code."""
        return next((f for f in stack if f in OPERATIONS["otel"]), "") if "Traced.burn" in stack else ""

    def trace_ids(self, service: Service, capture: str) -> None:
        """Returns the trace ids of the last capture: each is logged with its method. One of them is requested alone."""
        traces: dict[str, set[str]] = {}
        for stack, _ in self.rows(capture, by="trace"):
            if (match := re.fullmatch(r"\[trace ([0-9a-f]{32})\]", stack[0])) and self.burning(stack):
                traces.setdefault(match[1], set()).add(self.burning(stack))
        def logged() -> dict[str, str]:
            return {low(t): method for t, method in service.requests().items()}

        proc.wait_until(lambda: all(low(t) in logged() for t in traces), START_S, "requests are logged", interval=0.1)
        methods = logged()
        self.assertTrue(traces)
        self.assertEqual({t: {methods[low(t)]} for t in traces}, traces)
        one, = (t for t in itertools.islice(traces, 1))
        kept = self.rows(capture, by="trace", trace=one)
        self.assertEqual({stack[0] for stack, _ in kept}, {f"[trace {one}]"})
        self.assertFalse(self.rows(capture, trace="1" * 32))
        slow = self.rows(capture, operation="slow$")
        self.assertTrue(slow)
        self.assertFalse([stack for stack, _ in slow if "Traced.fast" in stack])

    def test_opentelemetry_on_17(self):
        self.judge("otel", 17)

    def test_datadog_on_25_with_zgc(self):
        self.judge("datadog", 25, "-XX:+UseZGC")

    def test_the_service_of_an_agent(self):
        """Only the agent knows its service: from a file. flamed finds what the agent has decided in the heap."""
        with tempfile.NamedTemporaryFile("w", prefix="flamed-otel.", suffix=".properties") as f:
            f.write("otel.service.name=of_a_file\notel.resource.attributes=service.version=3.1,deployment.environment.name=prod\n")
            f.flush()
            pid = Service(self, "otel", 17, "-Dotel.javaagent.configuration-file=" + f.name).process.pid
            def service() -> dict:
                return self.daemon.get(f"/api/v1/jvms/{pid}").json()["service"]
            proc.wait_until(lambda: service()["name"] == "of_a_file", START_S, "its service is known", interval=1)
            known = service()
            self.assertEqual([known[key] for key in ("version", "environment", "source")], ["3.1", "prod", "context"])
            self.assertRegex(known["instance"], "^[0-9a-f-]{36}$") # made by the agent itself

    def test_the_past(self):
        """Without any capture: the recorder reads requests, including those of waits, and the history keeps their operations, without ids."""
        with tempfile.TemporaryDirectory(prefix="flamed-test.") as folder:
            with Daemon("--recorder-hz=99", store=folder) as daemon:
                service = Service(self, "otel", 17)
                pid = service.process.pid
                self.judge_past(daemon, "requests are recorded", pid=pid)
                trace = next(t for t in reversed(service.requests()))
                daemon.get("/profile", pid=pid, by="trace", trace=trace, format="collapsed", **{"from": "-10m"})
                waits = daemon.get("/profile", pid=pid, event="offcpu", by="operation", format="collapsed", **{"from": "-10m"}).text
                self.assertIn("[no request];", waits)
                self.counted(daemon, pid)
            service.stop() # a stop of flamed writes the unfinished minute
            with Daemon("--recorder-hz=99", store=folder) as daemon:
                self.judge_past(daemon, "the history has them", pid=pid)
                traces = daemon.get("/profile", pid=pid, by="trace", format="collapsed", **{"from": "-10m"}).text
                self.assertIn("[ids not kept];", traces)
                self.assertNotIn("[trace ", traces)
                one = daemon.get("/profile", pid=pid, trace=trace, format="collapsed", **{"from": "-10m"})
                self.assertTrue([w for w in one.warnings if "neither traces nor spans" in w], one)

    def counted(self, daemon: Daemon, pid: int) -> None:
        """/metrics has both operations of the JVM; slow ones are not part of fast ones."""
        def seconds() -> dict[str, float]:
            lines = [line for line in daemon.get("/metrics").text.splitlines() if line.startswith(f'flamed_jvm_operation_cpu_seconds_total{{pid="{pid}"')]
            return {re.search('operation="([^"]*)"', line)[1]: float(line.rpartition(" ")[2]) for line in lines}

        proc.wait_until(lambda: {"GET /fast", "GET /slow"} <= set(seconds()), START_S, "slices of the recorder finish", interval=1)
        self.assertGreater(seconds()["GET /slow"], 0.2)
        self.assertFalse([name for name in seconds() if re.search("[0-9a-f]{16}", name)])

    def test_a_recorder_without_requests(self):
        with Daemon("--recorder-hz=99", "--recorder-requests=no") as daemon, Jvm(paths.jdk(17), "-cp", self.classes.folder, "Burn", "600") as java:
            def rows() -> str:
                return daemon.get("/profile", pid=java.pid, by="operation", format="collapsed", **{"from": "-60s"}).text
            proc.wait_until(lambda: "Burn" in rows(), START_S, "it is recorded")
            self.assertTrue(all(line.startswith("[request not read];") for line in rows().splitlines()))

    def test_without_a_tracer(self):
        with Jvm(paths.jdk(17), "-cp", self.classes.folder, "Burn", "600") as java:
            for _ in range(ROUNDS): # until the JVM is known to have no tracer
                quality = self.daemon.get("/profile", pid=java.pid, seconds=1, by="operation", format="json").json()["quality"].get("requests", {})
                if 0 < sum(quality.values()) == quality["no_tracer"]:
                    break
            self.assertGreater(quality["no_tracer"], 0)
            self.assertEqual(sum(quality.values()), quality["no_tracer"])
            self.assertNotIn("requests", self.daemon.get("/profile", pid=java.pid, seconds=0.5, format="json").json()["quality"])


if __name__ == "__main__":
    unittest.main()
