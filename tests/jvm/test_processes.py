# SPDX-License-Identifier: Apache-2.0
"""Processes that change during a capture: an exec, an exit, another capture beside it."""
import subprocess
import threading
import time

from harness import jvm, paths, proc
from harness.spinning import WithSpinAndDaemon


class Processes(WithSpinAndDaemon):
    def java(self, version: int, *arguments: str) -> list[str]:
        return [paths.jdk(version) + "/bin/java", *jvm.spin_options(self.spin), "-Xmx64m", "-cp",
                self.spin.folder, self.spin.main, *arguments]

    def test_exec_in_the_middle(self):
        """A shell that becomes a JVM while it is sampled: the same pid, another process image."""
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version):
                process = subprocess.Popen(["sh", "-c", 'sleep 1; exec "$@"', "sh", *self.java(version)],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                try:
                    capture = self.daemon.capture(pid=process.pid, hz=199)
                    tid = proc.wait_until(lambda: proc.thread_of(process.pid, "spinner"), 40, "the JVM's thread runs")
                    with proc.CpuClock(process.pid, tid) as clock:
                        # flamed reads a JVM that starts 20 times a second: its first 0.1 s of Java has no names yet.
                        proc.wait_until(lambda: clock.used and clock.used[-1] > 4, 60, "it used some CPU")
                        profile = capture.stop()
                finally:
                    process.kill()
                    process.wait()
                self.assert_named(profile, 199 * clock.at(profile.end))

    def kill_after(self, target: jvm.Jvm, cpu_seconds: float, quiet: int) -> None:
        """Ends a JVM during a capture, which has begun once there are more than QUIET events. It ends the JVM when that has used this much
        CPU since, and after 6 s at the latest."""
        proc.wait_until(lambda: self.daemon.perf_events() > quiet, 30, "it is sampled")
        before, end = proc.cpu_seconds(target.pid), time.monotonic() + 6
        while time.monotonic() < end and proc.cpu_seconds(target.pid) - before < cpu_seconds:
            time.sleep(0.02)
        target.process.kill()

    def test_exit_in_the_middle(self):
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                with jvm.Jvm(paths.jdk(version), *self.java(version)[1:]) as target:
                    killer = threading.Thread(target=self.kill_after, args=(target, 1.0, self.daemon.perf_events()))
                    tid = proc.thread_of(target.pid, "spinner")
                    with proc.CpuClock(target.pid) as clock, proc.CpuClock(target.pid, tid) as of_thread:
                        killer.start()
                        profile = self.daemon.profile(pid=target.pid, seconds=8, hz=499, timeout=40)
                    killer.join()
                self.assertFalse(proc.alive(target.pid))
                due = 499 * clock.between(profile)
                self.assertAlmostEqual(profile.samples / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())
                self.assert_named(profile, 499 * of_thread.between(profile))

    def test_another_rate_does_not_disturb(self):
        """Two captures of one JVM at different rates at the same time: each is exact."""
        with jvm.Jvm(paths.jdk(17), *self.java(17)[1:]) as target:
            got = {}

            def capture(hz):
                got[hz] = self.daemon.profile(pid=target.pid, seconds=5, hz=hz, timeout=60)

            threads = [threading.Thread(target=capture, args=(hz,)) for hz in (49, 997)]
            with proc.CpuClock(target.pid) as clock:
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
        for hz, profile in got.items():
            cpu = clock.between(profile)
            expected = hz * cpu
            self.assertAlmostEqual(profile.samples / expected, 1, delta=0.05 + 4 / expected ** 0.5,
                                   msg=f"{hz} Hz: {profile.samples} samples for {cpu:.2f} s of CPU")
            self.assertEqual(profile.quality["lost"], 0)


