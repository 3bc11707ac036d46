# SPDX-License-Identifier: Apache-2.0
"""As test_endpoints, by agent, JDK, server and collector."""
import calendar
import json
import time
import unittest

from harness import proc
from test_endpoints import FLUX, FLUX_HANDLERS, HANDLERS, ROUNDS, SERVLET, EndpointCase, Service

EDGE_NS = 20_000_000 # a request's edges are so near those of its span
MARGIN_NS = 100_000_000
VIRTUAL = ("-Dspring.threads.virtual.enabled=true",)
KINDS = { # server, options, operations of a tracer and without one
    "Tomcat": ("tomcat", (), SERVLET, HANDLERS), "Jetty": ("jetty", (), SERVLET, HANDLERS), "Netty": ("netty", (), FLUX, FLUX_HANDLERS),
    "virtual threads": ("tomcat", VIRTUAL, SERVLET, HANDLERS), "ZGC": ("tomcat", ("-XX:+UseZGC", "-Xmx150m"), SERVLET, HANDLERS),
}


class EndpointsMatrix(EndpointCase):
    samples = 2000

    def check(self, agent: str, **service) -> None:
        for release in (17, 25):
            for kind, (server, options, operations, handlers) in KINDS.items():
                if options == VIRTUAL and release < 21:
                    continue
                with self.subTest(release=release, kind=kind):
                    started = Service(self, release, agent, server, options, **service)
                    self.judge(started, operations if agent else handlers, bool(agent), f"{agent} {release} {kind} {service}")
                    self.doCleanups()
                    self.setUp()

    def test_opentelemetry(self):
        self.check("otel")

    def test_opentelemetry_without_recorded_traces(self):
        """The client decides that they are not recorded."""
        self.check("otel", sampled="00")

    def test_datadog(self):
        self.check("datadog")

    def test_without_an_agent(self):
        self.check("")

    def captured(self, service: Service) -> tuple[str, dict[str, tuple[int, int]]]:
        """Captures requests, and returns the capture with begin and end of the tracer's own span of each, as its exporter writes them."""
        ready = False # the path existed before the capture
        for _ in range(ROUNDS):
            answer = self.daemon.get("/profile", pid=service.process.pid, seconds=10, hz=499, event="cpu,offcpu", by="trace", format="json")
            start, end = (unix_ns(answer.json()["meta"][edge]) for edge in ("start", "end"))
            time.sleep(2) # until the exporter has written them
            spans = {t: (b, e) for t, (b, e) in self.spans(service).items() if start + MARGIN_NS < b and e < end - MARGIN_NS}
            if ready and len(spans) >= 5 and not answer.late:
                break
            ready = answer.json()["quality"].get("requests", {}).get("named", 0) > 0
        self.assertGreaterEqual(len(spans), 5)
        return answer.headers["X-Flamed-Capture"], spans

    def line_of_time(self, capture: str, trace: str) -> list[tuple[int, int]]:
        """Returns begin and end of what is known of TRACE in each thread, by the clock of the day."""
        found = self.daemon.get(f"/api/v1/captures/{capture}/profile", trace=trace, format="requests").json()["requests"]
        self.assertEqual(len(found), 1, trace)
        start = found[0]["start_unix_ns"]
        return [(start + min(s["at_ns"] for s in thread["stretches"]), start + max(s["at_ns"] + s["ns"] for s in thread["stretches"]))
                for thread in found[0]["threads"]]

    def near(self, what: str, found: tuple[int, int], right: tuple[int, int]) -> None:
        first, last = found[0] - right[0], right[1] - found[1]
        print(f"{what}: {(right[1] - right[0]) / 1e6:.1f} ms, begins {first / 1e6:+.2f} ms late, ends {last / 1e6:+.2f} ms early")
        self.assertLess(max(abs(first), abs(last)), EDGE_NS, what)

    def test_edges_of_a_request(self):
        """A request's line of time begins and ends as the tracer's own span. Each runs, waits, and runs again."""
        service = Service(self, 17, "otel", options=("-Dotel.traces.exporter=logging-otlp",), asked=("/shop/mixed/1",))
        capture, spans = self.captured(service)
        for trace, span in spans.items():
            begins, ends = zip(*self.line_of_time(capture, trace))
            self.near(trace, (min(begins), max(ends)), span)

    def test_edges_in_each_thread(self):
        """Another thread does the middle of each request, and other requests load the service. The line of time has both threads."""
        service = Service(self, 17, "otel", options=("-Dotel.traces.exporter=logging-otlp",), asked=("/shop/hopping/1", "/shop/fast/1"))
        capture, spans = self.captured(service)
        later = time.time_ns() - time.monotonic_ns()
        hopped = {trace: (int(begin) + later, int(end) + later) for trace, method, begin, end in service.lines() if method == "hopped"}
        spans = {trace: span for trace, span in spans.items() if trace in hopped}
        self.assertGreaterEqual(len(spans), 5)
        for trace, span in spans.items():
            threads = sorted(self.line_of_time(capture, trace))
            self.assertEqual(len(threads), 2, trace)
            self.near(trace, threads[0], span)
            begin, end = threads[1] # the tracer's part of the thread begins before the measured method, and ends after it
            print(f"in the other thread begins {(begin - hopped[trace][0]) / 1e6:+.2f} ms late, ends {(hopped[trace][1] - end) / 1e6:+.2f} ms early")
            self.assertLess(span[0] - EDGE_NS, begin, trace)
            self.assertLess(begin, hopped[trace][0] + EDGE_NS, trace)
            self.assertLess(hopped[trace][1] - EDGE_NS, end, trace)
            self.assertLess(end, span[1] + EDGE_NS, trace)

    def spans(self, service: Service) -> dict[str, tuple[int, int]]:
        """Returns trace id -> begin and end of its span of the kind SERVER."""
        found = {}
        for line in proc.read(service.output).splitlines():
            if '{"resource"' in line:
                for scope in json.loads(line[line.index('{"resource"'):])["scopeSpans"]:
                    found.update({s["traceId"]: (int(s["startTimeUnixNano"]), int(s["endTimeUnixNano"])) for s in scope["spans"] if s["kind"] == 2})
        return found


def unix_ns(text: str) -> int:
    """Returns the time in TEXT, RFC 3339 with nanoseconds."""
    seconds, _, rest = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(rest.ljust(9, "0"))


del EndpointCase # otherwise it is run, too

if __name__ == "__main__":
    unittest.main()
