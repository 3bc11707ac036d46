# SPDX-License-Identifier: Apache-2.0
"""Waits for locks in JDK 8, 11, 21 and 26 to 28 in containers, and in 17 and 25: with each collector, and with references and
headers of each width."""
import os
import unittest

from harness import bundle, events, jdkroot, jvm, proc
from test_locks import BRIEF, Checks, Program, asked, told

SECONDS = float(os.environ.get("FLAMED_LOCKS_SECONDS", 5))
PLAIN = ("Serial", "Parallel", "G1")
# Collectors and other options, by JDK.
COLLECTORS = {8: (*PLAIN, "ConcMarkSweep"), 11: (*PLAIN, "Z"), 17: (*PLAIN, "Z", "Shenandoah"), 21: (*PLAIN, "Z"), 25: (*PLAIN, "Z", "Shenandoah"),
              26: (*PLAIN, "Z"), 27: (*PLAIN, "Z", "Shenandoah"), 28: (*PLAIN, "Z", "Shenandoah")}
WIDE = ("-XX:-UseCompressedOops",), ("-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers")
COMPACT = (("-XX:+UseCompactObjectHeaders",), ("-XX:+UseCompactObjectHeaders", "-XX:+UseZGC"), ("-XX:+UseCompactObjectHeaders", "-XX:+UseShenandoahGC"))
# From 27 on a JVM has compact headers by default, and the class word has no third form.
NOT_COMPACT = tuple(("-XX:-UseCompactObjectHeaders", option) for option in ("-XX:+UseG1GC", "-XX:-UseCompressedOops", "-XX:+UseZGC"))
LATEST = (*WIDE[:1], *NOT_COMPACT, ("-XX:+UseEpsilonGC",), ("-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"))
OTHERS = {8: WIDE, 11: WIDE, 17: WIDE, 21: (*WIDE, ("-XX:+UseZGC", "-XX:+ZGenerational"), ("-XX:LockingMode=2",)), 25: (*WIDE[:1], *COMPACT), 26: (*WIDE[:1], *COMPACT[:2]),
          27: LATEST, 28: LATEST}


def settings(version: int):
    for collector in COLLECTORS[version]:
        yield f"-XX:+Use{collector}GC",
    yield from OTHERS[version]


class Contained(events.Contained):
    program = "Locks"
    options = "-XX:+UnlockExperimentalVMOptions", "-Xmx64m"

    def waited(self, start: float, end: float):
        before = self.said().count("\n")
        self.ask(asked(start, end))
        proc.wait_until(lambda: self.said().endswith("\n.\n"), 30, "it answers")
        return told(self.said().splitlines()[before:])


class Brief(Contained):
    program = "BriefLocks"


class LocksJdks(Checks, jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Locks.java", "BriefLocks.java")
        cls.daemon = events.daemon_with(cls, "lock")

    def check(self, version: int) -> None:
        for options in settings(version):
            with self.subTest(jdk=version, options=options), Contained(version, self.classes.folder, *options) as program:
                self.compare((version, *options), program, SECONDS)
        with self.subTest(jdk=version, brief=True), Brief(version, self.classes.folder) as program:
            self.compare((version, "brief"), program, SECONDS, BRIEF, least_known=0.5)

    def check_here(self, version: int) -> None:
        for options in settings(version):
            with self.subTest(jdk=version, options=options), Program(version, self.classes.folder, "-XX:+UnlockExperimentalVMOptions", *options) as program:
                self.compare((version, *options), program, SECONDS)

    def test_17(self):
        self.check_here(17)

    def test_25(self):
        self.check_here(25)
