# SPDX-License-Identifier: Apache-2.0
"""More of test_symbols.py: unavailable sources, several at once, JVMs that end."""
import concurrent.futures
import os
import tempfile
import time
import unittest

import test_symbols
from harness import attach, jvm, paths, proc
from harness.daemon import Daemon


class More(test_symbols.Base):
    def test_perfmap(self):
        profile = self.daemon.profile(pid=self.start(17).pid, seconds=0.5, symbols="perfmap")
        self.source(profile, "memory")
        self.assertTrue(any("of a given name" in w for w in profile.warnings), profile.warnings)
        j = self.start(25, "-XX:-EnableDynamicAgentLoading")
        profile = self.daemon.profile(pid=j.pid, seconds=2, symbols="perfmap")
        self.agree(self.source(profile, "perfmap"))
        self.named(profile)
        _, err = j.stop()
        self.assertEqual(err, "", "nothing in the application's log")

    def test_falls_back_with_a_warning(self):
        for option, reason in (("-Xrs", "SIGQUIT"), ("-XX:+DisableAttachMechanism", "DisableAttachMechanism"),
                               ("-XX:-EnableDynamicAgentLoading", "EnableDynamicAgentLoading")):
            with self.subTest(option=option):
                j = self.start(17, option)
                for symbols in ("agent", "auto"):
                    profile = self.daemon.profile(pid=j.pid, seconds=0.6, symbols=symbols)
                    self.source(profile, "memory")
                    self.assertEqual(any(reason in w for w in profile.warnings), symbols == "agent", profile.warnings)
                    self.named(profile)
                self.assertTrue(proc.alive(j.pid))
                out, err = j.stop()
                self.assertEqual((out, err), ("", ""))

    def test_several_at_once_and_the_map_beside_them(self):
        j = self.start(17)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            futures = [pool.submit(self.daemon.profile, pid=j.pid, seconds=3, symbols=s) for s in ("agent", "auto", "agent")]
            time.sleep(2)
            answer = self.daemon.get(f"/api/v1/jvms/{j.pid}/perf-map", symbols="agent")
            self.assertEqual(answer.status, 200, answer)
            self.assertIn(self.spin.method, answer.text)
            for future, wanted in zip(futures, ("agent", "memory", "agent")):
                text = self.source(future.result(), wanted)
                if wanted == "agent":
                    self.agree(text)
        self.assertLessEqual(attach.mappings(j.pid, "flamed-stream"), 1)

    def test_it_ends_in_the_middle(self):
        j = self.start(17)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            future = pool.submit(self.daemon.profile, pid=j.pid, seconds=3, symbols="agent")
            time.sleep(1.5)
            j.stop()
            began = time.monotonic()
            profile = future.result()
            self.assertLess(time.monotonic() - began, 1.5 + 5)
        self.named(profile)

    def test_young(self):
        """A JVM in its first moments: flamed waits for it."""
        j = jvm.Jvm(paths.jdk(17), *jvm.spin_options(self.spin), "-Xmx64m", "-cp", self.spin.folder, self.spin.main)
        self.addCleanup(j.stop)
        profile = self.daemon.profile(pid=j.pid, seconds=2.5, symbols="agent")
        self.source(profile, "agent")
        self.named(profile)

    def test_what_cannot_be(self):
        self.start(17)
        self.start(17)
        for symbols in ("agent", "perfmap"):
            answer = self.daemon.get("/profile", jvm=self.spin.main, symbols=symbols, seconds=0.2)
            self.assertEqual(answer.status, 409, answer)
            self.assertEqual(answer.json()["parameter"], "symbols")
            self.assertIn("pid=", answer.json()["remedy"])
        answer = self.daemon.get("/profile", pid=os.getpid(), symbols="agent", seconds=0.2)
        self.assertEqual(answer.status, 200, answer)
        self.assertTrue(any("no JVM" in w for w in answer.warnings), answer.warnings)

    def test_the_configuration_forbids_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("symbols: memory\n")
            f.flush()
            os.chmod(f.name, 0o644)
            j = self.start(17)
            with Daemon("--config", f.name) as daemon:
                self.assertEqual(daemon.get("/readyz").json()["symbols"], {"auto": "memory", "agent": False})
                profile = daemon.profile(pid=j.pid, seconds=0.6, symbols="agent")
                self.source(profile, "memory")
                self.assertTrue(any("symbols: memory" in w for w in profile.warnings), profile.warnings)
                self.assertEqual(attach.mappings(j.pid, "flamed"), 0)


class Gone(unittest.TestCase):
    """After a JVM crashed with flamed's agent inside, flamed never attaches to a similar one. It does after one that was stopped."""

    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.classes = jvm.Classes()
        cls.classes.compile("Idle.java")
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def history(self, *, signal: int, reaped: bool = True) -> dict:
        """Returns the step for a JVM similar to one that SIGNAL ended a second after an attach. Not REAPED: its parent, this program, has
        not reaped it yet."""
        j = self.start()
        answer = self.daemon.get(f"/api/v1/jvms/{j.pid}/perf-map", symbols="agent")
        self.assertEqual(answer.status, 200, answer)
        time.sleep(1)
        j.process.send_signal(signal)
        if reaped:
            j.process.wait()
        time.sleep(2.5) # an ended process is dropped after two seconds
        other = self.start()
        return next(s for s in self.daemon.get(f"/api/v1/jvms/{other.pid}/preflight").json()["steps"] if s["step"] == "history")

    def start(self) -> jvm.Jvm:
        j = jvm.Jvm(paths.jdk(17), "-XX:ErrorFile=/dev/null", "-Xmx32m", "-cp", self.classes.folder, "Idle", "1",
                    wrap=["prlimit", "--core=0"])
        self.addCleanup(j.stop)
        proc.wait_until(lambda: all(s["ok"] for s in self.daemon.get(f"/api/v1/jvms/{j.pid}/preflight").json().get("steps", [])
                                    if s["step"] in ("age", "vm")), 10, "it is old enough", interval=0.2)
        return j

    def test_crashed_or_stopped(self):
        for signal in (15, 9):
            step = self.history(signal=signal)
            self.assertTrue(step["ok"], f"signal {signal}: {step}")
        step = self.history(signal=9, reaped=False)
        self.assertTrue(step["ok"], f"how a zombie ended is known: {step}")
        step = self.history(signal=11)
        self.assertFalse(step["ok"], step)
        self.assertRegex(step["reason"], "signal 6|status 1")
