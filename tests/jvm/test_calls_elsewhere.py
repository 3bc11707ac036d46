# SPDX-License-Identifier: Apache-2.0
"""Calls of native functions (event=LIB:SYMBOL, LIB:SYMBOL+off) in a container, of a program with musl, and of one in Go: each call is
sampled."""
import os
import shutil
import subprocess

import test_calls
from harness import jvm, native, paths, proc
from harness.daemon import Daemon
from test_malloc import JNI, Contained

N = 500


class Made(native.Obedient):
    """A program at PATH that executes lines."""

    def __init__(self, path: str):
        super().__init__("calls", "-pthread", wrap=("sh", "-c", f"exec {path}"))


class Elsewhere(jvm.WithClasses):
    sources = ("Mallocs.java",)
    prepare, refused = test_calls.Calls.prepare, test_calls.Calls.refused

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        paths.need_root()
        shutil.copy(native.build("jnimalloc", "-shared", "-fPIC"), os.path.join(cls.classes.folder, JNI))
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        event, = [e for e in self.daemon.get("/api/v1/events").json()["events"] if e["name"] == "alloc"]
        if event["reason"]:
            self.skipTest(event["reason"])

    def check(self, pid: int, event: str, do, *frames: str) -> None:
        """do() makes N calls: each is sampled, below FRAMES."""
        file = event.removeprefix("./").split(":")[0]
        self.prepare(pid, event)
        capture = self.daemon.capture(pid=pid, event=event, interval=1)
        self.assertGreater(test_calls.probes(pid, file), 0)
        do()
        profile = capture.stop()
        found = test_calls.value(profile, *frames) + profile.quality["lost"]
        print(f"{event}: {found} of {N}", end=" ")
        self.assertEqual(found, N, profile.describe())
        proc.wait_until(lambda: test_calls.probes(pid, file) == 0, 10, "no probe is left")

    def test_in_a_container(self):
        """Like a container of Docker: the files are on an overlay that only the container sees."""
        with Contained(17, self.classes.folder, docker=True, overlay=True, user_namespace=False) as program:
            for event in (f"{JNI}:Java_Mallocs_ask", f"{JNI}:Java_Mallocs_ask+0"):
                self.check(program.pid, event, lambda: program.do(N), "Mallocs.ask", "Java_Mallocs_ask")
            self.check(program.pid, "libc.so.6:malloc", lambda: program.do(N), "Mallocs.ask", "Java_Mallocs_ask", "malloc")
            self.refused(program.pid, f"{JNI}:Java_Mallocs_ask+1", 409, "no function begins at offset")

    def test_musl(self):
        paths.need("musl-gcc")
        out = native.folder() + "/calls-musl"
        subprocess.run(["musl-gcc", "-O2", "-fno-omit-frame-pointer", "-Wl,--eh-frame-hdr", "-o", out, paths.NATIVE_SOURCES + "/calls.c"], check=True)
        with Made(out) as program:
            program.do("malloc 10")
            for event in ("./calls-musl:counted", "./calls-musl:counted+0"):
                self.check(program.pid, event, lambda: program.do(f"counted {N}"), "main", "counted")
            self.check(program.pid, "libc.so:malloc", lambda: program.do(f"malloc {N}"), "allocates")
            self.refused(program.pid, "./calls-musl:counted+1", 409, "no function begins at offset")

    def test_go(self):
        """Its C functions can be sampled. Those of Go are in no table that flamed trusts, and are refused."""
        paths.need("go")
        out = native.folder() + "/calls-go"
        subprocess.run(["go", "build", "-o", out, paths.NATIVE_SOURCES + "/calls.go"], check=True,
                       env={**os.environ, "GOCACHE": native.folder() + "/go", "GO111MODULE": "off", "CGO_ENABLED": "1"})
        with Made(out) as program:
            program.do("counted 10")
            for event in ("./calls-go:counted", "./calls-go:counted+0"):
                self.check(program.pid, event, lambda: program.do(f"counted {N}"), "counted")
            self.refused(program.pid, "./calls-go:main.inGo", 409, "no function begins at offset")
            program.do("counted 10")
