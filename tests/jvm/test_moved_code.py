# SPDX-License-Identifier: Apache-2.0
"""Code that HotSpot moves to its heap of hot code (JDK-8326205), and code and classes from an AOT cache (JEP 483, 514, 515): names,
callers, inlining and lines stay right."""
import re
import signal
import subprocess
import time
import unittest

import test_containers
from harness import jdkroot, jvm, paths, proc
from harness.daemon import Daemon

HOT = ("-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions", "-XX:+HotCodeHeap", "-XX:+NMethodRelocation", "-XX:HotCodeHeapSize=8m",
       "-XX:HotCodeStartupDelaySeconds=1", "-XX:HotCodeIntervalSeconds=1", "-XX:HotCodeSampleSeconds=1", "-XX:+PrintCodeCache")
ROUNDS = 12 # seconds until the hot method has moved, on a busy machine
CACHED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AOTAdapterCaching", "-XX:+AOTStubCaching")
ASSEMBLY = 120 # seconds


class MovedCode(unittest.TestCase):
    def setUp(self):
        paths.need_root()

    def look(self, spin: jvm.Spin, pid: int) -> None:
        with Daemon() as daemon:
            captured = test_containers.capture(daemon, pid, pid=pid)
        test_containers.check_names(self, captured, spin, pid)

    def start(self, version: int, spin: jvm.Spin, *options: str) -> jvm.Jvm:
        home, classes, inside = jdkroot.alone(version, spin.folder)
        return jvm.Jvm(home, *jvm.spin_options(spin), "-Xmx64m", *options, "-cp", classes + "/spin.jar", spin.main, wrap=inside)

    def ask_to_end(self, program: jvm.Jvm) -> str:
        program.process.send_signal(signal.SIGTERM)
        return program.process.communicate(timeout=ASSEMBLY)[0]

    def spin(self, version: int) -> jvm.Spin:
        """Makes a program in a jar: caches contain only jars."""
        spin = jvm.make_spin(version)
        subprocess.run(["jar", "--create", "--file", spin.folder + "/spin.jar", "-C", spin.folder, "."], check=True)
        return spin

    def check_hot(self, version: int) -> None:
        spin = self.spin(version)
        with self.start(version, spin, *HOT) as program:
            time.sleep(ROUNDS)
            self.look(spin, program.pid)
            said = self.ask_to_end(program)
        moved = re.search(r"CodeHeap 'hot nmethods'.*\n.*\n *blobs=\d+, nmethods=(\d+)", said)
        self.assertGreater(int(moved[1]), 0, said)

    def check_cache(self, version: int) -> None:
        spin = self.spin(version)
        made = (spin.folder if version in paths.jdks() else "/classes") + "/spin.aot"
        with self.start(version, spin, "-XX:AOTCacheOutput=" + made, *CACHED) as program:
            time.sleep(3)
            self.assertIn("AOTCache creation is complete", self.ask_to_end(program))
        with self.start(version, spin, "-XX:AOTCache=" + made, "-XX:AOTMode=on", *CACHED) as program:
            self.assertIn("spin.aot", proc.read(f"/proc/{program.pid}/maps"))
            self.look(spin, program.pid)

    def test_hot_28(self):
        self.check_hot(28)

    def test_hot_27(self):
        self.check_hot(27)

    def test_cache_25(self):
        self.check_cache(25)

    def test_cache_26(self):
        self.check_cache(26)

    def test_cache_27(self):
        self.check_cache(27)

    def test_cache_28(self):
        self.check_cache(28)
