# SPDX-License-Identifier: Apache-2.0
"""For tests of one event. If this machine lacks it, they are skipped with the reason that flamed gives."""
import os
import typing
import unittest

from . import bundle, jdkroot, jvm, proc
from .daemon import Daemon


def skip_without(daemon: Daemon, name: str) -> None:
    event, = [e for e in daemon.get("/api/v1/events").json()["events"] if e["name"] == name]
    if event["reason"]:
        raise unittest.SkipTest(event["reason"])


def daemon_with(test: type[unittest.TestCase], name: str) -> Daemon:
    """Makes a daemon without flight recorder, which ends with the tests of the class."""
    daemon = Daemon("--recorder-hz", "0")
    test.addClassCleanup(daemon.stop)
    skip_without(daemon, name)
    return daemon


class WithEvent(jvm.WithClasses):
    event = ""
    TRIES = 5

    def unlost(self, take: typing.Callable[[], typing.Any], profile_of=lambda taken: taken):
        """Returns the first result of TAKE() without lost samples: a busy machine reads some too late."""
        for _ in range(self.TRIES):
            taken = take()
            if profile_of(taken).quality["lost"] == 0:
                return taken
        self.skipTest(f"{self.TRIES} times samples were lost: the machine is too busy for this test")
        return None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = daemon_with(cls, cls.event)


class Contained:
    """A program of tests/jvm/java in a container, which reads commands from a pipe. FOLDER: of its classes, on the host."""
    program = ""
    options: tuple[str, ...] = ()

    def __init__(self, version: int, folder: str, *options: str):
        self.pipe = os.path.join(folder, "ask")
        if not os.path.exists(self.pipe):
            os.mkfifo(self.pipe)
            os.chmod(self.pipe, 0o666)
        self.container = bundle.Container("", folder, *self.options, *options, "-cp", "/classes", self.program, "/classes/ask",
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

    def ask(self, line: str) -> None:
        with open(self.pipe, "w", encoding="ascii") as f:
            f.write(line + "\n")
