# SPDX-License-Identifier: Apache-2.0
"""A JVM's allocation with each collector: JDK 8, 11, 21 and 26 to 28 in containers, 17 and 25 on the host."""
import os
import unittest

from harness import bundle, jdkroot, paths, proc
from test_allocated import Checks, Program

COLLECTORS = {8: ("Serial", "Parallel", "ConcMarkSweep", "G1"), 11: ("Serial", "Parallel", "G1", "Z"), 17: ("Serial", "Parallel", "G1", "Z", "Shenandoah"),
              21: ("Serial", "Parallel", "G1", "Z"), 25: ("Serial", "Parallel", "G1", "Z", "Shenandoah"), 26: ("Serial", "Parallel", "G1", "Z"),
              27: ("Serial", "Parallel", "G1", "Z", "Shenandoah"), 28: ("Serial", "Parallel", "G1", "Z", "Shenandoah")}
OTHERS = {21: (("-XX:+UseZGC", "-XX:+ZGenerational"),), 17: (("-XX:-UseTLAB",), ("-Xint",))}


class Contained:
    """The same in a container."""

    def __init__(self, version: int, folder: str, *options: str):
        pipe = os.path.join(folder, "ask")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
            os.chmod(pipe, 0o666)
        self.ask = os.open(pipe, os.O_RDWR)
        self.made = 0
        self.container = bundle.Container("", folder, *options, "-cp", "/classes", "AllocLoop", "/classes/ask", memory=1 << 30,
                                          root=jdkroot.root(version), executable=jdkroot.java(version))

    def __enter__(self):
        self.container.__enter__()
        self.pid = self.container.pid
        proc.wait_until(lambda: "started" in proc.read(self.container.path("out")), 60, "it starts")
        return self

    def __exit__(self, *reason):
        self.container.__exit__(*reason)
        os.close(self.ask)

    def do(self, rounds: int) -> None:
        os.write(self.ask, f"{rounds}\n".encode())
        self.made += 1
        proc.wait_until(lambda: proc.read(self.container.path("out")).count("done") == self.made, 300, "it has allocated")


class AllocatedJdks(jdkroot.EachJdk, Checks):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        super().setUpClass()

    def check(self, version: int) -> None:
        for options in (*((f"-XX:+Use{collector}GC",) for collector in COLLECTORS[version]), *OTHERS.get(version, ())):
            options = ("-Xmx128m", "-XX:+UnlockExperimentalVMOptions", *options)
            with self.subTest(jdk=version, options=options):
                print(version, *options[2:], end=": ", flush=True)
                program = Program(paths.jdk(version), self.classes.folder, *options) if version in (17, 25) \
                    else Contained(version, self.classes.folder, *options)
                with program:
                    self.compare(program, 20_000 if "-Xint" in options else 100_000)

    def test_17(self):
        self.check(17)

    def test_25(self):
        self.check(25)


if __name__ == "__main__":
    unittest.main()
