# SPDX-License-Identifier: Apache-2.0
"""Requests of real frameworks, with agents of tracers and without: operation and trace of each sample, compared with the service's own log."""
import collections
import http.client
import os
import random
import re
import sys
import tempfile
import threading
import unittest

from harness import maven, paths, proc
from harness.daemon import Daemon, free_port
from test_requests import AGENTS, OPTIONS, START_S

sys.path.append(os.path.join(paths.TREE, "tests/bench"))
import services # pylint: disable=wrong-import-position

SERVLET_PATHS = ("/shop/fast/1", "/shop/slow/2", "/shop/pooled/3", "/shop/async/4", "/shop/pausing/5", "/orders/6", "/report")
FLUX_PATHS = ("/flux/fast/1", "/flux/chained/2", "/flux/pooled/3")
CLIENTS = 3
# Measured method -> its operation.
SERVLET = {"fast": r"GET /shop/fast/\{id\}", "slow": r"GET /shop/slow/\{id\}", "pooled": r"GET /shop/(pooled|async)/\{id\}",
           "pausing": r"GET /shop/pausing/\{id\}", "mixed": r"GET /shop/mixed/\{id\}", "resource": r"GET /orders/\{id\}", "report": "GET /report"}
FLUX = {"fast": r"GET /flux/fast/\{id\}", "chained": r"GET /flux/chained/\{id\}", "pooled": r"GET /flux/pooled/\{id\}"}
# Without a tracer: routes of annotations, which a servlet does not have; and a pool's thread shows no handler.
HANDLERS = {**SERVLET, "report": r"EndpointService\$Report\.doGet\(\)", "pooled": "no tracer"}
FLUX_HANDLERS = {"fast": FLUX["fast"], "chained": "no tracer", "pooled": "no tracer"}
BY_TRACER = ("pooled", "report", "chained") # methods that only a tracer names so
WITHOUT = ("[no request]", "[request unreadable]", "[unnamed requests]")
SAMPLES, ROUNDS, CAPTURE_S = 400, 20, 5


class Service:
    """EndpointService.java, and clients that send requests all the time. Each has a trace id of its own."""

    def __init__(self, test: unittest.TestCase, release: int, agent: str = "", server: str = "tomcat", options: tuple[str, ...] = (),
                 version: str = "", sampled: str = "01", asked: tuple[str, ...] = ()):
        folder = tempfile.TemporaryDirectory(prefix="flamed-endpoints.")
        test.addCleanup(folder.cleanup)
        self.log, self.port, self.over, self.sampled = folder.name + "/requests", free_port(), threading.Event(), sampled
        with_agent = []
        if agent:
            group, artifact, newest = AGENTS[agent]
            with_agent = ["-javaagent:" + maven.jar(group, artifact, version or newest), *OPTIONS[agent]]
        command = [paths.jdk(release) + "/bin/java", "-Xmx256m", *with_agent, *options, f"-Dserver={server}", f"-Dserver.port={self.port}",
                   "-Dserver.address=127.0.0.1", "-cp", services.maven("EndpointService"), "EndpointService", self.log]
        running = services.running(command, folder.name)
        self.process, self.output = running.__enter__()
        test.addCleanup(running.__exit__, None, None, None)
        self.asked = asked or (FLUX_PATHS if server == "netty" else SERVLET_PATHS)
        proc.wait_until(lambda: "Started EndpointService" in proc.read(self.output), START_S, "the service listens", interval=0.2)
        self.clients = [threading.Thread(target=self.ask) for _ in range(CLIENTS)]
        test.addCleanup(self.stop)
        for client in self.clients:
            client.start()
        proc.wait_until(lambda: len(set(self.requests().values())) >= min(3, len(self.asked)), START_S, "it answers", interval=0.1)

    def ask(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        while not self.over.is_set():
            parent = f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-{self.sampled}"
            try:
                connection.request("GET", random.choice(self.asked), headers={"traceparent": parent})
                connection.getresponse().read()
            except OSError:
                connection.close()
            self.over.wait(random.expovariate(100))

    def lines(self) -> list[list[str]]:
        """Returns [trace, method, begin, end] for each stretch of a request."""
        return [line.split() for line in proc.read(self.log).splitlines() if len(line.split()) == 4]

    def requests(self) -> dict[str, str]:
        """Returns trace id -> method."""
        return {line[0]: line[1] for line in self.lines()}

    def stop(self) -> None:
        self.over.set()
        for client in self.clients:
            client.join()


class EndpointCase(unittest.TestCase):
    samples = SAMPLES

    def setUp(self):
        paths.need_root()
        self.daemon = Daemon("--recorder-hz=0")
        self.addCleanup(self.daemon.stop)

    def rows(self, capture: str, **view):
        """Yields (measured method or "", root frame, samples)."""
        for line in self.daemon.get(f"/api/v1/captures/{capture}/profile", format="collapsed", **view).text.splitlines():
            stack, _, count = line.rpartition(" ")
            found = re.search(r";EndpointService\.(" + "|".join({**SERVLET, **FLUX}) + r")(?=;)", stack)
            yield found[1] if found else "", stack.partition(";")[0], int(count)

    def judge(self, service: Service, operations: dict[str, str], traces: bool, what: str) -> dict[str, int]:
        """Samples in measured methods have their operation, and a trace id that the service has logged with this method."""
        total: dict[str, int] = collections.Counter()
        ready = False # the path to the tracer's context existed before the capture: it named what no annotation does
        for _ in range(ROUNDS):
            counts: dict[str, int] = collections.Counter()
            answer = self.daemon.get("/profile", pid=service.process.pid, seconds=CAPTURE_S, hz=499, by="operation", format="json")
            self.assertEqual(answer.status, 200, answer)
            capture = answer.headers["X-Flamed-Capture"]
            for method, root, count in self.rows(capture, by="operation"):
                if not method:
                    continue
                right = re.fullmatch(rf"\[{operations[method]}\]", root)
                result = "right" if right else "without" if root in WITHOUT or root in ("[GET]", "[GET /*]", "[GET /**]") else "wrong"
                counts[result] += count
                counts["by a tracer"] += count if right and method in BY_TRACER else 0
                if not right:
                    print(what, result, method, root, count)
            if traces:
                self.traces(service, capture, counts)
            if ready:
                total.update(counts)
                if total["right"] >= self.samples:
                    break
            ready = ready or counts["by a tracer" if traces else "right"] > 0
        print(f"{what}: {dict(total)}")
        self.assertGreaterEqual(total["right"], self.samples, (what, total))
        self.assertEqual(total["wrong"] + total["wrong id"], 0, (what, total))
        self.assertLessEqual(total["without"], total["right"] // 200 + 1, (what, total))
        return total

    def traces(self, service: Service, capture: str, counts: dict[str, int]) -> None:
        found = [(method, match[1], count) for method, root, count in self.rows(capture, by="trace")
                 if method and (match := re.fullmatch(r"\[trace ([0-9a-f]{32})\]", root))]
        proc.wait_until(lambda: {trace for _, trace, _ in found} <= set(service.requests()), START_S, "requests are logged", interval=0.2)
        logged = service.requests()
        for method, trace, count in found:
            counts["right id" if logged[trace] == method else "wrong id"] += count
            if logged[trace] != method:
                print("wrong id:", method, trace, logged[trace])


class Endpoints(EndpointCase):
    @unittest.skipUnless("FLAMED_ENDPOINT_AGENTS" in os.environ, "FLAMED_ENDPOINT_AGENTS is not set: jvm_endpoints_agents runs it")
    def test_opentelemetry_that_records_few_traces(self):
        """A tenth of the traces is recorded, as is usual. The others have their requests, too."""
        service = Service(self, 17, "otel", options=("-Dotel.traces.sampler=traceidratio", "-Dotel.traces.sampler.arg=0.1"))
        self.judge(service, SERVLET, True, "otel, few traces, 17, Tomcat")

    def test_without_an_agent(self):
        self.judge(Service(self, 25), HANDLERS, False, "no agent, 25, Tomcat")


if __name__ == "__main__":
    unittest.main()
