# SPDX-License-Identifier: Apache-2.0
"""Waits for locks in JDK 8, 11, 21 and 26 in containers, and in 17 and 25: with each collector, and with references and
headers of each width."""
import os
import unittest

from harness import bundle, jdkroot, jvm, proc
from harness.daemon import Daemon
from test_locks import Checks, Program, asked, told

SECONDS = float(os.environ.get("FLAMED_LOCKS_SECONDS", 5))
PLAIN = ("Serial", "Parallel", "G1")
# Collectors and other options, by JDK.
COLLECTORS = {8: (*PLAIN, "ConcMarkSweep"), 11: (*PLAIN, "Z"), 17: (*PLAIN, "Z", "Shenandoah"), 21: (*PLAIN, "Z"), 25: (*PLAIN, "Z", "Shenandoah"),
              26: (*PLAIN, "Z")}
WIDE = ("-XX:-UseCompressedOops",), ("-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers")
COMPACT = (("-XX:+UseCompactObjectHeaders",), ("-XX:+UseCompactObjectHeaders", "-XX:+UseZGC"), ("-XX:+UseCompactObjectHeaders", "-XX:+UseShenandoahGC"))
OTHERS = {8: WIDE, 11: WIDE, 17: WIDE, 21: (*WIDE, ("-XX:+UseZGC", "-XX:+ZGenerational"), ("-XX:LockingMode=2",)), 25: (*WIDE[:1], *COMPACT), 26: (*WIDE[:1], *COMPACT[:2])}


def settings(version: int):
    for collector in COLLECTORS[version]:
        yield f"-XX:+Use{collector}GC",
    yield from OTHERS[version]


class Contained:
    """Locks.java in a container. FOLDER: of its classes, as the host sees it."""

    def __init__(self, version: int, folder: str, *options: str):
        self.pipe = os.path.join(folder, "ask")
        if not os.path.exists(self.pipe):
            os.mkfifo(self.pipe)
            os.chmod(self.pipe, 0o666)
        self.container = bundle.Container("", folder, "-XX:+UnlockExperimentalVMOptions", "-Xmx64m", *options, "-cp", "/classes", "Locks", "/classes/ask",
                                          root=jdkroot.root(version), executable=jdkroot.java(version))

    def __enter__(self):
        self.container.__enter__()
        self.pid = self.container.pid
        proc.wait_until(lambda: "started" in self.said(), 30, "it starts")
        return self

    def __exit__(self, *reason):
        self.container.__exit__(*reason)

    def said(self) -> str:
        return proc.read(self.container.path("out"))

    def waited(self, start: float, end: float):
        before = self.said().count("\n")
        with open(self.pipe, "w", encoding="ascii") as f:
            f.write(asked(start, end))
        proc.wait_until(lambda: self.said().endswith("\n.\n"), 30, "it answers")
        return told(self.said().splitlines()[before:])


class LocksJdks(Checks, jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Locks.java")
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)
        event, = [e for e in cls.daemon.get("/api/v1/events").json()["events"] if e["name"] == "lock"]
        if event["reason"]:
            raise unittest.SkipTest(event["reason"])

    def check(self, version: int) -> None:
        for options in settings(version):
            with self.subTest(jdk=version, options=options), Contained(version, self.classes.folder, *options) as program:
                self.compare((version, *options), program, SECONDS)

    def check_here(self, version: int) -> None:
        for options in settings(version):
            with self.subTest(jdk=version, options=options), Program(version, self.classes.folder, "-XX:+UnlockExperimentalVMOptions", *options) as program:
                self.compare((version, *options), program, SECONDS)

    def test_17(self):
        self.check_here(17)

    def test_25(self):
        self.check_here(25)
