# SPDX-License-Identifier: Apache-2.0
"""Tracers by release, JDK and collector: like test_tracers and test_requests. Prints a row of docs/requests.md for each."""
import unittest

from harness import paths
from test_request_matrix import options, RELEASES, ROWS
from test_requests import Requests as Agents
from test_tracers import Libraries

AGENT_VERSIONS = {"otel": ("1.16.0", "1.33.6", "2.0.0", "2.33.1"), "datadog": ("1.20.0", "1.30.1", "1.43.0", "1.54.0", "1.68.1")}
LIBRARY_VERSIONS = {"brave": ("5.6.0", "5.18.1", "6.3.0"), "brave-inherited": ("5.6.0", "6.3.0"), "skywalking": ("9.4.0",),
                    "logback": ("1.5.18",), "logback-b3": ("1.2.13",), "log4j": ("2.17.1", "2.20.0"), "log4j-arrays": ("2.17.1", "2.20.0", "2.24.3", "2.25.2")}
SINCE_JDK = {"logback": 11} # of the library itself
NEWEST_CLASSES = {"1.16.0": 21, "1.33.6": 22, "2.0.0": 22, "1.20.0": 21, "1.30.1": 21, "1.43.0": 23, "1.54.0": 24} # an agent knows no later JDK
ALL_COLLECTORS = (17, 25) # each collector on these, the default on all


def row(*cells) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


class TracerMatrix(Libraries):
    def test_libraries(self):
        for kind, versions in LIBRARY_VERSIONS.items():
            for version in versions:
                for jdk in paths.jdks():
                    with self.subTest(kind=kind, version=version, jdk=jdk):
                        if jdk >= SINCE_JDK.get(kind, 0):
                            row(kind, version, jdk, "default", *self.check(kind, version, jdk).values())

    def test_collectors(self):
        for jdk in ALL_COLLECTORS:
            for of, name, form in ROWS:
                with self.subTest(jdk=jdk, collector=name, form=form):
                    if of == jdk:
                        row("brave", "6.3.0", jdk, name, form, *self.check("brave", "6.3.0", jdk, *options(jdk, name, form)).values())


class AgentMatrix(Agents):
    test_opentelemetry_on_17 = test_datadog_on_25_with_zgc = test_the_past = None # test_requests has them
    test_a_recorder_without_requests = test_without_a_tracer = test_the_service_of_an_agent = None

    def test_agents(self):
        for name, versions in AGENT_VERSIONS.items():
            for version in versions:
                for jdk in RELEASES:
                    with self.subTest(agent=name, version=version, jdk=jdk):
                        if jdk <= NEWEST_CLASSES.get(version, jdk):
                            row(name, version, jdk, "default", *self.judge(name, jdk, version=version).values())

    def test_collectors(self):
        for jdk in ALL_COLLECTORS:
            for of, collector, form in ROWS:
                for name in AGENT_VERSIONS:
                    with self.subTest(agent=name, jdk=jdk, collector=collector, form=form):
                        if of == jdk:
                            row(name, AGENT_VERSIONS[name][-1], jdk, collector, form, *self.judge(name, jdk, *options(jdk, collector, form)).values())


del Agents, Libraries # otherwise they are run, too

if __name__ == "__main__":
    unittest.main()
