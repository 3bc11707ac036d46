# SPDX-License-Identifier: Apache-2.0
"""Processes that change under the profiler: an exec in the middle, an exit in the middle, a storm of execs."""
import os
import subprocess
import threading
import time
import unittest

from harness import jvm, native, paths, proc
from harness.daemon import Daemon
from harness.profile import count, ordered

STORM_RATE = 2000


def storm_seconds() -> float:
    return float(os.environ.get("FLAMED_STORM_SECONDS", "10"))


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def java(self, version: int, *arguments: str) -> list[str]:
        return [paths.jdk(version) + "/bin/java", jvm.FRAME_POINTERS, *jvm.spin_options(self.spin), "-Xmx64m", "-cp",
                self.spin.folder, self.spin.main, *arguments]

    def assert_named(self, profile, least: float) -> None:
        stacks = profile.of_thread("spinner")
        text = profile.describe()
        self.assertGreater(count(stacks), 100, text)
        self.assertGreaterEqual(
            profile.share(stacks, lambda s: ordered(s.names, "java.lang.Thread.run", self.spin.run, self.spin.method)),
            least, text)

    def test_exec_in_the_middle(self):
        """A shell that becomes a JVM while it is sampled: the same pid, another process image."""
        for version in (17, 25):
            with self.subTest(jdk=version):
                process = subprocess.Popen(["sh", "-c", 'sleep 1; exec "$@"', "sh", *self.java(version)],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                try:
                    profile = self.daemon.profile(pid=process.pid, seconds=5, hz=199)
                finally:
                    process.kill()
                    process.wait()
                # The first moments of the thread are interpreted, and before the VM is up nothing has a name.
                self.assert_named(profile, 0.90)

    def test_exit_in_the_middle(self):
        for version in (17, 25):
            with self.subTest(jdk=version):
                process = subprocess.Popen(self.java(version, "2000"), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, text=True)
                process.stdout.readline()
                start = time.monotonic()
                profile = self.daemon.profile(pid=process.pid, seconds=4, hz=199)
                took = time.monotonic() - start
                process.communicate()
                self.assertLess(took, 4 + 5)
                self.assert_named(profile, 0.95)

    def test_storm_of_execs(self):
        """2,000 execs a second: others keep their names, flamed's memory stays flat; its CPU is printed."""
        seconds = storm_seconds()
        storm = native.build("execstorm", "-static")
        with jvm.Jvm(paths.jdk(17), *self.java(17)[1:]) as target:
            # One round first, so that what only grows once has grown.
            subprocess.run([storm, str(STORM_RATE), "3"], check=True, stdout=subprocess.DEVNULL)
            self.daemon.profile(pid=target.pid, seconds=1)
            before = self.daemon.cost()
            process = subprocess.Popen([storm, str(STORM_RATE), str(seconds)], stdout=subprocess.PIPE, text=True)
            answers = {}

            def everything():
                answers["node"] = self.daemon.profile(seconds=seconds - 2, hz=99)

            thread = threading.Thread(target=everything)
            thread.start()
            alone = self.daemon.profile(pid=target.pid, seconds=min(8, seconds - 2), hz=199)
            thread.join()
            started = int(process.communicate()[0])
            after = self.daemon.cost()
        print(f"\n{started} execs in {seconds} s, {started / seconds:.0f} a second of {STORM_RATE} wanted")
        for name, now in after.items():
            then = before.get(name, {"cpu_s": 0, "rss_kib": 0})
            print(f"{name}: CPU {now['cpu_s'] - then['cpu_s']:.2f} s, resident {then['rss_kib']} -> {now['rss_kib']} KiB")
            self.assertLess(now["rss_kib"], then["rss_kib"] * 1.10 + 8192, f"memory of {name} under the storm")
        self.assertEqual(before.keys(), after.keys(), "the same processes as before")
        self.assertGreater(started, 0.25 * STORM_RATE * seconds, "the machine is far too slow for this test")
        self.assert_named(alone, 0.95)
        node = answers["node"]
        stacks = node.of_process(target.pid)
        self.assertGreaterEqual(node.share([s for s in stacks if s.thread == "spinner"],
                                           lambda s: self.spin.method in s.names), 0.95, node.describe(stacks))
        names = {s.process for s in node.stacks}
        self.assertTrue(any("execstorm" in n for n in names), names)
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.daemon.get(path).status, 200)
        print(f"node: {node.quality}")

    def test_another_rate_does_not_disturb(self):
        """Two captures of one JVM at different rates at the same time: each is exact."""
        with jvm.Jvm(paths.jdk(17), *self.java(17)[1:]) as target:
            got = {}

            def capture(hz):
                start = proc.cpu_seconds(target.pid)
                profile = self.daemon.profile(pid=target.pid, seconds=5, hz=hz)
                got[hz] = (profile, proc.cpu_seconds(target.pid) - start)

            threads = [threading.Thread(target=capture, args=(hz,)) for hz in (49, 997)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        for hz, (profile, cpu) in got.items():
            expected = hz * cpu
            self.assertAlmostEqual(profile.samples / expected, 1, delta=0.1,
                                   msg=f"{hz} Hz: {profile.samples} samples for {cpu:.2f} s of CPU")
            self.assertEqual(profile.quality["lost"], 0)


