# SPDX-License-Identifier: Apache-2.0
"""Whole stacks of virtual threads that returned from a wait, with each collector, on other JDKs, while objects move."""
import subprocess
import time

from harness import jdkroot, proc
from test_virtual_threads import Joined

COLLECTORS = (["-XX:+UseG1GC"], ["-XX:+UseSerialGC"], ["-XX:+UseParallelGC"])
GARBAGE = "300" # MB a second


class VirtualThreadsJdks(Joined):
    def check(self, version: int, *options: str, share: float = 0.999):
        """Of some thousand samples, SHARE have whole stacks, with and without a collection running. So do most samples of other events."""
        home, classes, wrap = jdkroot.alone(version, self.classes.folder)
        for arguments in ([], [GARBAGE]):
            with self.subTest(jdk=version, options=options, arguments=arguments):
                command = [*proc.ENDS_WITH_US, *wrap, f"{home}/bin/java", "-Xmx512m", *options, "-cp", classes, "Resumes", *arguments]
                jvm = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                try:
                    self.assertEqual(jvm.stdout.readline(), "started\n")
                    time.sleep(2) # until it is compiled
                    count = self.check_whole(jvm.pid, share, 1000, seconds=8, hz=499)
                    self.check_whole(jvm.pid, min(share, 0.99), 5, seconds=4, event="offcpu", interval="1ms")
                    self.check_whole(jvm.pid, min(share, 0.99), 100, seconds=3, event="alloc")
                    print(f"{version} {options} {arguments}: {count} samples", flush=True)
                finally:
                    jvm.kill()
                    jvm.communicate()

    def test_21(self):
        for options in COLLECTORS:
            self.check(21, *options)
        self.check(21, "-XX:+UseZGC", "-XX:+ZGenerational")

    def test_21_zgc(self):
        """Without generations: its forwarding is not followed, so stacks are cut while it moves objects."""
        self.check(21, "-XX:+UseZGC", share=0.9)

    def test_25(self):
        for options in (*COLLECTORS, ["-XX:+UseZGC"], ["-XX:+UseShenandoahGC"], ["-XX:+UseCompactObjectHeaders"], ["-Xint"]):
            self.check(25, *options)

    def test_26(self):
        self.check(26)

    def test_27(self):
        self.check(27)
