# SPDX-License-Identifier: Apache-2.0
"""Requests of tracing libraries from Maven, compared with the stack."""
import os
import re
import unittest

from harness import maven, paths
from harness.daemon import Daemon
from harness.jvm import Jvm, WithClasses, further_case

SAMPLES, ROUNDS = 150, 20
READY_ROUNDS = 90 # of a second: an agent needs time to start
METHODS = ("Spans.a", "Spans.b", "Spans.outside")
APART = ["-XX:CompileCommand=quiet", *(f"-XX:CompileCommand=dontinline,{name.replace('.', '::')}" for name in METHODS)] # their frames are exact
WITHOUT = ("[request unreadable]", "[unnamed requests]")

# KIND of Spans.java: the library; the frame at the root in a (in b with b in place of a), and outside of requests
LIBRARIES = {
    "brave": ("io.zipkin.brave", "brave", r"\[trace a[0-9a-f]{31}\]", r"\[no request\]"),
    "brave-inherited": ("io.zipkin.brave", "brave", r"\[trace a[0-9a-f]{31}\]", r"\[no request\]"),
    "skywalking": ("org.apache.skywalking", "apm-agent", r"\[GET:/a\]", r"\[no request\]"),
    "logback": ("ch.qos.logback", "logback-classic", r"\[trace a[0-9a-f]{31}\]", r"\[no tracer\]"),
    "logback-b3": ("ch.qos.logback", "logback-classic", r"\[trace 0{16}a[0-9a-f]{15}\]", r"\[no tracer\]"),
    "logback-other": ("ch.qos.logback", "logback-classic", r"\[no tracer\]", r"\[no tracer\]"), # a trace without a span
    "log4j": ("org.apache.logging.log4j", "log4j-core", r"\[trace a[0-9a-f]{31}\]", r"\[no tracer\]"),
    "log4j-slf4j": ("org.apache.logging.log4j", "log4j-slf4j2-impl", r"\[trace a[0-9a-f]{31}\]", r"\[no tracer\]"),
    "log4j-arrays": ("org.apache.logging.log4j", "log4j-core", r"\[trace a[0-9a-f]{31}\]", r"\[no tracer\]"),
    "log4j-in-place": ("org.apache.logging.log4j", "log4j-core", r"\[no tracer\]", r"\[no tracer\]"),
    "log4j-keys": ("org.apache.logging.log4j", "log4j-core", r"\[trace a[0-9a-f]{31}\];\[GET /a\]", r"\[no tracer\];\[no tracer\]"),
    "logback-keys": ("ch.qos.logback", "logback-classic", r"\[trace a[0-9a-f]{31}\];\[GET /a\]", r"\[no tracer\];\[no tracer\]"),
}
BY = {"skywalking": ("operation",), "log4j-keys": ("trace", "operation"), "logback-keys": ("trace", "operation")} # the others: trace
OPTIONS = {"log4j": "-Dlog4j2.is.webapp=true", "log4j-slf4j": "-Dlog4j2.is.webapp=true", # up to 2.23 it is in a map so
           "log4j-in-place": "-Dlog4j2.garbagefree.threadContextMap=true"}


class Libraries(WithClasses):
    sources = ("Spans.java",)
    options_of_flamed: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0", *cls.options_of_flamed)
        cls.addClassCleanup(cls.daemon.stop)

    def options(self, kind: str, version: str) -> list[str]:
        group, artifact, _, _ = LIBRARIES[kind]
        jar = maven.jar(group, artifact, version)
        if kind == "skywalking":
            folder = os.path.dirname(jar) + "/config" # an agent without it does not start
            os.makedirs(folder, exist_ok=True)
            for name in ("plugins", "activations"):
                os.makedirs(os.path.join(os.path.dirname(jar), name), exist_ok=True)
            with open(folder + "/agent.config", "w", encoding="ascii") as f:
                f.write("agent.service_name=spans\nagent.keep_tracing=true\ncollector.backend_service=127.0.0.1:1\nlogging.output=CONSOLE\nlogging.level=OFF\n")
            return [f"-javaagent:{jar}", "-cp", self.classes.folder]
        return [*OPTIONS.get(kind, "").split(), "-cp", ":".join([self.classes.folder, os.path.dirname(jar) + "/*"])]

    def samples(self, pid: int, by: tuple[str, ...]) -> list[tuple[str, str, int]]:
        """Returns (method, frames at the root, samples) for a known method."""
        text = self.daemon.get("/profile", pid=pid, seconds=1, hz=499, by=by, format="collapsed").text
        found = []
        for line in text.splitlines():
            stack, _, count = line.rpartition(" ")
            frames = stack.split(";")
            if method := next((f for f in frames if f in METHODS), ""):
                found.append((method, ";".join(frames[:len(by)]), int(count)))
        return found

    def check(self, kind: str, version: str, release: int, *options: str) -> dict[str, int]:
        """Counts right samples. They count once a path exists: before that there is no request."""
        _, _, inside, outside = LIBRARIES[kind]
        by = BY.get(kind, ("trace",))
        right = {"Spans.a": inside, "Spans.b": re.sub(r"([ }/])a", r"\1b", inside), "Spans.outside": outside}
        counts = {"right": 0, "wrong": 0, "without": 0}
        with Jvm(paths.jdk(release), "-Xmx100m", *APART, *options, *self.options(kind, version), "Spans", kind,
                 start="" if kind == "skywalking" else "started") as java: # that agent writes to stdout before it reads its configuration
            for _ in range(READY_ROUNDS):
                if any(re.fullmatch(right[method], root) for method, root, _ in self.samples(java.pid, by) if method != "Spans.outside"):
                    break
            for _ in range(ROUNDS):
                for method, root, count in self.samples(java.pid, by):
                    found = "right" if re.fullmatch(right[method], root) else "without" if root in WITHOUT else "wrong"
                    counts[found] += count
                    if found != "right":
                        print(found, kind, version, method, root, count)
                if counts["right"] >= SAMPLES:
                    break
        print(f"{kind} {version} on {release} {' '.join(options)}: {counts}")
        self.assertGreaterEqual(counts["right"], SAMPLES, (kind, version, release, counts))
        self.assertEqual(counts["wrong"], 0, (kind, version, release, counts))
        self.assertLessEqual(counts["without"], counts["right"] // 50, (kind, version, release, counts))
        return counts


class Tracers(Libraries):
    def test_brave(self):
        self.check("brave", "6.3.0", 25)

    @further_case
    def test_brave_with_its_own_default(self):
        self.check("brave-inherited", "6.3.0", 17)

    def test_skywalking(self):
        self.check("skywalking", "9.4.0", 17)

    def test_the_context_of_a_log(self):
        self.check("logback", "1.5.18", 25)

    @further_case
    def test_slf4j_above_log4j(self):
        self.check("log4j-slf4j", "2.20.0", 17)

    def test_a_log_in_two_arrays(self):
        self.check("log4j-arrays", "2.20.0", 25)

    @further_case
    def test_a_log_in_one_array(self):
        self.check("log4j-arrays", "2.25.2", 17)

    def test_a_log_that_is_not_read(self):
        """It has no tracer, as without the library."""
        self.check("log4j-in-place", "2.25.2", 17)

    @further_case
    def test_a_log_of_another_kind(self):
        self.check("logback-other", "1.5.18", 17)


class Keys(Libraries):
    options_of_flamed = ("--mdc-keys", "trace=requestId, operation=endpoint")

    def test_keys_of_the_configuration(self):
        self.check("logback-keys", "1.2.13", 17)

    @further_case
    def test_keys_in_an_array(self):
        self.check("log4j-keys", "2.25.2", 25)


if __name__ == "__main__":
    unittest.main()
