# SPDX-License-Identifier: Apache-2.0
"""In the guest: on a kernel that cannot run the BPF programs, flamed samples CPU time by perf events, and reports the limits with their
reason."""
import os
import platform
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import Profile, count # pylint: disable=wrong-import-position

SLOW = 30 # limit in seconds, multiplied by the patience of the harness
FLOOR = "5.15"
LOCKDOWN = "/sys/kernel/security/lockdown"
ENOUGH = 100 # samples
SECONDS = 8
JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]


class PerfHome(unittest.TestCase):
    """Uses the Unix socket: without BPF flamed knows no client over TCP."""
    @classmethod
    def setUpClass(cls):
        cls.spin = jvm.make_spin()
        cls.daemon = Daemon(wait=False)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.wait_ready(SLOW)
        os.nice(10)
        cls.jvm = jvm.Jvm(paths.jdk(17), *JAVA, "-cp", cls.spin.folder, cls.spin.main)
        cls.addClassCleanup(cls.jvm.stop)

    def profile(self, **arguments) -> Profile | None:
        """Returns None if it was too slow."""
        answer = self.daemon.get("/profile", unix=True, pid=self.jvm.pid, format="json", lines=1, threads=1, timeout=SLOW, **arguments)
        if "did not finish in time" in answer.text:
            return None
        self.assertEqual(answer.status, 200, answer)
        return Profile(answer)

    def assert_told(self, text: str) -> None:
        """The reason is this kernel, and the remedy a newer one. No sentence asks for a capability."""
        if os.path.exists(LOCKDOWN) and "[confidentiality]" in proc.read(LOCKDOWN):
            self.assertIn("kernel lockdown is 'confidentiality'", text)
        elif not os.environ.get("FLAMED_OLD_KERNEL"):
            self.assertIn(platform.release(), text)
            self.assertIn(f"run Linux {FLOOR} or later", text)
        self.assertIn("event cpu alone is sampled", text)
        self.assertNotIn("CAP_", text)

    def test_it_says_so(self):
        answer = self.daemon.get("/readyz", unix=True)
        self.assertEqual((answer.status, answer.json()["status"]), (200, "ready"), answer)
        told = [p for p in answer.json()["problems"] if p["what"] == "without bpf"]
        self.assertEqual(len(told), 1, answer)
        self.assert_told(told[0]["detail"])
        self.assert_told(self.daemon.log())

    def test_who_asks(self):
        """Linux 5.10 has the fast walk over descriptor tables. Lockdown forbids it."""
        def fast() -> bool:
            self.daemon.get("/metrics") # over TCP
            text = self.daemon.get("/metrics", unix=True).text
            counted = dict(re.findall(r"^flamed_http_caller_(\w+)_total (\d+)$", text, re.M))
            print(counted)
            return int(counted["looks_fast"]) > 0

        if os.environ.get("FLAMED_OLD_KERNEL") or (os.path.exists(LOCKDOWN) and "[confidentiality]" in proc.read(LOCKDOWN)):
            self.skipTest("no fast walk here")
        proc.wait_until(fast, SLOW, "a fast look")

    def test_a_jvm(self):
        """The first captures may come before the rules of native code are read."""
        def whole() -> Profile | None:
            profile = self.profile(seconds=SECONDS, hz=199)
            if not profile:
                return None
            print(f"samples {profile.samples}, {profile.quality}, {profile.warnings}")
            stacks = profile.of_thread("spinner")
            return profile if count(stacks) > ENOUGH and profile.quality["truncated"] < 0.01 * profile.samples else None

        profile = proc.wait_until(whole, SLOW, "stacks are whole")
        stacks = profile.of_thread("spinner")
        named = profile.share(stacks, lambda s: self.spin.method in s.names and "java.lang.Thread.run" in s.names)
        self.assertGreaterEqual(named, 0.95, profile.describe(stacks))
        self.assertEqual(profile.quality["lost"], 0)
        self.assert_told("\n".join(profile.warnings))

    def test_what_needs_bpf(self):
        """Other events and higher rates are refused, with the reason."""
        for arguments in ({"event": "offcpu"}, {"event": "page-faults"}, {"event": "lock"}, {"event": "alloc"}, {"hz": 200}):
            with self.subTest(arguments):
                answer = self.daemon.get("/profile", unix=True, pid=self.jvm.pid, seconds=1, timeout=SLOW, **arguments)
                self.assertEqual(answer.status, 409 if "hz" in arguments else 503, answer)
                self.assertIn("without BPF programs", answer.json()["detail"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
