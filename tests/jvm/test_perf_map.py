# SPDX-License-Identifier: Apache-2.0
"""Preflight and the JVM's map over HTTP, for JVMs in containers. The three sources agree, and plain perf on the host names a container's
Java frames with the map."""
import os
import re
import subprocess
import tempfile
import time

from harness import attach, bundle, jvm, paths, proc
from harness.daemon import Daemon
from harness.spinning import WithSpinAndDaemon

LINE = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) (\S.*)$")


def entries(text: str) -> dict[tuple[int, int], str]:
    """Returns (start, size) -> name. Every line must have that form."""
    found = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            raise AssertionError(f"no line of a perf map: {line!r}")
        found[int(match[1], 16), int(match[2], 16)] = match[3]
    return found


class PerfMap(WithSpinAndDaemon):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        super().setUpClass()

    def container(self, version: int, *options: str) -> bundle.Container:
        c = bundle.Container(paths.jdk(version), self.spin.folder, *options, *jvm.spin_options(self.spin), "-Drest=45", "-Xmx64m", "-cp",
                             "/classes", self.spin.main)
        self.addCleanup(c.stop)
        proc.wait_until(lambda: self.steps(c.pid).get("age", {}).get("ok"), 10, "it is old enough")
        return c

    def preflight(self, pid: int) -> dict:
        answer = self.daemon.get(f"/api/v1/jvms/{pid}/preflight")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def steps(self, pid: int) -> dict[str, dict]:
        return {step["step"]: step for step in self.preflight(pid)["steps"]}

    def get(self, pid: int, **parameters):
        return self.daemon.get(f"/api/v1/jvms/{pid}/perf-map", **parameters)

    def test_a_agent_and_memory_agree(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version):
                c = self.container(version)
                told = self.preflight(c.pid)
                self.assertTrue(all(step["ok"] for step in told["steps"]), told)
                self.assertEqual(told["symbols"], {"agent": True, "memory": True, "perfmap": version >= 22})
                self.assertEqual(told["auto"].split(":")[0], "memory")
                before = c.output()
                memory = self.get(c.pid, symbols="memory")
                self.assertEqual(memory.status, 200, memory)
                self.assertEqual(c.output(), before)
                self.assertEqual(attach.mappings(c.pid, "flamed"), 0)
                agent = self.get(c.pid, symbols="agent")
                self.assertEqual(agent.status, 200, agent)
                first, second = entries(memory.text), entries(agent.text)
                self.assertIn(self.spin.method, first.values())
                self.assertIn(self.spin.method, second.values())
                both = first.keys() & second.keys()
                self.assertGreater(len(both), 5)
                # Intrinsics of method handles share a jmethodID: the JVM's own answer is wrong there.
                different = {k: (first[k], second[k]) for k in both
                             if first[k] != second[k] and "MethodHandle" not in first[k] and "." in second[k]}
                self.assertEqual(different, {})
                # An agent that has reported all code ends at once: only its own code stays.
                self.assertEqual(attach.mappings(c.pid, "flamed-stream"), 0)

    def of_spin(self, pid: int, **source) -> dict:
        """Returns unfolded lines of the generated method's code. An attach right after another waits for its turn."""
        answer = self.get(pid, unfold=1, **source)
        self.assertEqual(answer.status, 200, answer)
        return {k: v for k, v in entries(answer.text).items() if v.startswith(self.spin.method)}

    def inlined(self, found: dict) -> bool:
        return all(f"{self.spin.method}->{callee}" in found.values() for callee in (self.spin.first, self.spin.second))

    def test_b_unfolded(self):
        c = self.container(17)
        before = c.output()
        for source in ({"symbols": "memory"}, {}):
            proc.wait_until(lambda s=source: self.inlined(self.of_spin(c.pid, **s)), 20, f"both callees are told: {source}")
        self.assertEqual((c.output(), attach.mappings(c.pid, "flamed")), (before, 0), "nothing was touched")

        def agree() -> bool:
            """Checks the same ranges of the same code, unless it was compiled again in between."""
            agent, memory = self.of_spin(c.pid, symbols="agent"), self.of_spin(c.pid, symbols="memory")
            both = agent.keys() & memory.keys()
            self.assertEqual({k: agent[k] for k in both}, {k: memory[k] for k in both})
            return self.inlined(agent) and len(both) > 2
        proc.wait_until(agree, 20, "agent and memory tell the same ranges")

    def test_c_the_jvms_own(self):
        c = self.container(25, "-XX:-EnableDynamicAgentLoading")
        answer = self.get(c.pid, symbols="agent")
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("EnableDynamicAgentLoading", answer.text)
        answer = self.get(c.pid, symbols="perfmap")
        self.assertEqual(answer.status, 200, answer)
        self.assertIn(self.spin.method, " ".join(entries(answer.text).values()))
        self.assertNotIn("WARNING", c.output())
        proc.wait_until(lambda: self.inlined(self.of_spin(c.pid)), 20, "both callees are told by memory")
        answer = self.get(c.pid, symbols="perfmap", unfold=1)
        self.assertEqual((answer.status, answer.json()["parameter"]), (409, "unfold"), answer)
        answer = self.get(self.container(17).pid, symbols="perfmap")
        self.assertEqual(answer.status, 409, answer)

    def test_d_attach_is_disabled(self):
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                c = self.container(version, "-XX:+DisableAttachMechanism")
                step = self.steps(c.pid)["attach mechanism"]
                self.assertFalse(step["ok"], step)
                self.assertIn("DisableAttachMechanism", step["reason"])
                for source in ("agent", "perfmap"):
                    answer = self.get(c.pid, symbols=source)
                    self.assertEqual(answer.status, 409, answer)
                    self.assertEqual(answer.json()["step"], "attach mechanism", answer)
                    self.assertIn("remedy", answer.json())
                self.assertEqual(self.get(c.pid).status, 200)
                self.assertNotIn("Full thread dump", c.output())

    def test_e_the_configuration_forbids_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("symbols: memory\n")
            f.flush()
            os.chmod(f.name, 0o644)
            with Daemon("--config", f.name, "--recorder-hz=0") as daemon:
                c = self.container(17)
                answer = daemon.get(f"/api/v1/jvms/{c.pid}/perf-map", symbols="agent")
                self.assertEqual(answer.status, 409, answer)
                self.assertEqual(daemon.get(f"/api/v1/jvms/{c.pid}/perf-map").status, 200)

    def test_f_plain_perf(self):
        paths.need("perf")
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version), tempfile.TemporaryDirectory() as folder:
                c = self.container(version)
                pid, data = c.pid, os.path.join(folder, "perf.data")
                record = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "-p", str(pid), "-o", data, "--",
                                         "sleep", "2"], capture_output=True, text=True)
                if record.returncode != 0:
                    self.skipTest(f"perf cannot record here: {record.stderr[-300:]}")
                text = self.get(pid).text
                c.stop() # perf then looks on the host
                path = f"/tmp/perf-{pid}.map"
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                self.addCleanup(lambda p: os.path.exists(p) and os.unlink(p), path)
                # Samples of the thread that spins: with few processors, the compiler's and other threads use much of the JVM's first
                # seconds.
                report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "symbol", "--comms", "spinner", "--percentage",
                                         "relative"], capture_output=True, text=True, env=dict(os.environ, HOME=folder))
                match = re.search(r"([\d.]+)%\s+\[\.\] " + re.escape(self.spin.method), report.stdout)
                self.assertTrue(match, report.stdout[:2000] + report.stderr[-500:])
                self.assertGreater(float(match[1]), 80)

    def test_g_no_jvm(self):
        for path in ("preflight", "perf-map"):
            answer = self.daemon.get(f"/api/v1/jvms/{os.getpid()}/{path}")
            self.assertEqual(answer.status, 404, answer)
        self.assertEqual(self.daemon.get(f"/api/v1/jvms/{os.getpid()}/perf-map", symbols="none").status, 400)
