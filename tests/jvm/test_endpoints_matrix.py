# SPDX-License-Identifier: Apache-2.0
"""As test_endpoints, by agent, JDK, server and collector."""
import unittest

from test_endpoints import FLUX, FLUX_HANDLERS, HANDLERS, SERVLET, EndpointCase, Service

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


del EndpointCase # otherwise it is run, too

if __name__ == "__main__":
    unittest.main()
