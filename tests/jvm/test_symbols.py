# SPDX-License-Identifier: Apache-2.0
"""Sources of Java names: what `auto` uses, what a request names, and what happens if it is not available. JDK 17 and 25."""
import gzip
import os
import re
import socket
import time

from harness import attach, jvm, paths, proc
from harness.profile import count
from harness.spinning import WithSpinAndDaemon

HZ = 499
ENOUGH = 100 # samples of the busy thread, so that one or two others are less than 5 %
CAPTURES = (1, 2, 4, 8, 16) # seconds: a busy machine takes longer to have as many
AGREE = re.compile(r"; (\d+) of (\d+) places agree with memory")


class Base(WithSpinAndDaemon):
    rest = 0

    def start(self, version: int, *options: str) -> jvm.Jvm:
        j = jvm.Jvm(paths.jdk(version), *options, f"-Drest={self.rest}", *jvm.spin_options(self.spin), "-Xmx64m", "-cp", self.spin.folder, self.spin.main)
        self.addCleanup(j.stop)
        proc.wait_until(lambda: self.age_ok(j.pid), 10, "it is old enough to be attached to", interval=0.2)
        proc.wait_until(self.all_is_read, 20, "its files are read: a slow disk would be warned of")
        return j

    def all_is_read(self) -> bool:
        return "\nflamed_elf_reading 0\n" in self.daemon.get("/metrics").text

    def age_ok(self, pid: int) -> bool:
        answer = self.daemon.get(f"/api/v1/jvms/{pid}/preflight")
        return answer.status == 200 and all(s["ok"] for s in answer.json()["steps"] if s["step"] in ("age", "vm"))

    def profile(self, **parameters):
        """Returns a profile with samples enough for named()."""
        for seconds in CAPTURES:
            profile = self.daemon.profile(seconds=seconds, hz=HZ, **parameters)
            if count(profile.of_thread("spinner")) >= ENOUGH:
                return profile
        self.fail(f"the machine is too busy for this test: {profile.describe()}")

    def named(self, profile) -> None:
        stacks = profile.of_thread("spinner")
        self.assertGreaterEqual(profile.share(stacks, lambda s: self.spin.method in s.names), 0.95, profile.describe(stacks))

    def source(self, profile, wanted: str) -> str:
        text = profile.answer.headers["X-Flamed-Symbols"]
        self.assertEqual(text.split(":")[0], wanted, f"{text} {profile.warnings}")
        return text

    def agree(self, text: str) -> None:
        """Checks that both named places, and gave the same names."""
        match = AGREE.search(text)
        self.assertTrue(match, text)
        self.assertGreater(int(match[2]), 3, text)
        self.assertEqual(match[1], match[2], text)


class Symbols(Base):
    rest = 15

    def test_what_auto_takes(self):
        self.assertEqual(self.daemon.get("/readyz").json()["symbols"], {"auto": "memory", "agent": True})
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                j = self.start(version)
                profile = self.profile(pid=j.pid)
                self.named(profile)
                self.assertEqual([w for w in profile.warnings if "samples are few" not in w], []) # on a busy machine
                self.assertIn("nothing is injected", self.source(profile, "memory"))
                self.assertEqual(attach.mappings(j.pid, "flamed"), 0)
                self.assertFalse(os.path.exists(f"/tmp/.java_pid{j.pid}"), "it was not made to listen")
                # With a class of JVMs, or for captures in the background, nothing is injected.
                other = self.profile(jvm=self.spin.main)
                self.source(other, "memory")
                _, err = j.stop()
                self.assertEqual(err, "")

    def test_agent(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version):
                j = self.start(version)
                profile = self.profile(pid=j.pid, symbols="agent")
                self.agree(self.source(profile, "agent"))
                self.named(profile)
                self.assertEqual(profile.document["meta"]["symbols"]["source"], "agent")
                capture = profile.answer.headers["X-Flamed-Capture"]
                for format in ("html", "flat", "pprof", "jfr", "otlp"): # every format with room for it
                    answer = self.daemon.get(f"/api/v1/captures/{capture}/profile", format=format)
                    self.assertEqual(answer.status, 200, answer)
                    body = gzip.decompress(answer.body) if answer.body[:2] == b"\x1f\x8b" else answer.body
                    self.assertIn(b"asked for", body, format)
        counted = [line for line in self.daemon.get("/metrics").text.splitlines() if line.startswith("flamed_attaches_total")]
        self.assertGreaterEqual(int(counted[0].removeprefix('flamed_attaches_total{result="done"} ')), 2, counted)
        self.assertRegex(self.daemon.get("/metrics").text, r'(?m)^flamed_attach_files_total\{charged="flamed"\} [1-9]')

    def test_a_jvm_that_does_not_answer(self):
        """Its only attach thread waits for another program's request: the answer comes in time, with names from memory."""
        j = self.start(17)
        self.assertTrue(attach.attach(j.pid).done) # the JVM listens
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(f"/tmp/.java_pid{j.pid}")
            time.sleep(1.1) # one attach per second on a node
            with proc.Standstill() as machine:
                profile = self.daemon.profile(pid=j.pid, seconds=3, hz=HZ, symbols="agent")
                took = machine.given()
            self.assertLess(took, 3 + 5)
            self.source(profile, "memory")
            self.assertTrue(any("had not answered" in w for w in profile.warnings), profile.warnings)
            self.named(profile)
        self.assertTrue(proc.alive(j.pid))
