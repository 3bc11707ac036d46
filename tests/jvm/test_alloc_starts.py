# SPDX-License-Identifier: Apache-2.0
"""Starts sampling of allocation again and again, by probes and by an agent, and of live objects, in JVMs under load in each kind of
container. flamed is killed during that. No JVM ends or hangs, and each is unchanged afterwards."""
import contextlib
import dataclasses
import http.client
import os
import queue
import random
import signal
import threading
import time
import unittest

import test_attach
import test_attach_kinds
from harness import attach, bundle, jdkroot, jvm, paths, probed, proc, snapshot
from harness.daemon import Daemon
from harness.events import skip_without

SOURCES = {"probe": {"event": "alloc", "source": "probe"}, "agent": {"event": "alloc", "source": "agent"}, "live": {"event": "live"}}
STARTS = int(os.environ.get("FLAMED_ALLOC_STARTS", "28")) # starts of each source, in all containers together
KILLS = int(os.environ.get("FLAMED_ALLOC_KILLS", "4"))
KINDS, JDKS = 14, 2
LIBJVM, AGENT, STREAM = "/libjvm.so", "/memfd:flamed-agent", "/memfd:flamed-stream"
OPTIONS = ("-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC")
COPIES_KIB = 4 * 24 # a page for each place that may have a probe
MEMORY_KIB = 8 << 10 # memory that a JVM itself may need in addition


def prepare(daemon: Daemon) -> Daemon:
    skip_without(daemon, "alloc")
    return daemon


def begin(daemon: Daemon, pid: int, source: str, deadline: float = 60):
    """Begins a capture with its probe in place."""
    end = time.monotonic() + deadline * proc.PATIENCE
    while True: # the kernel checks a program, or another attach of this second is under way
        try:
            capture = daemon.capture(pid=pid, interval="256k", **SOURCES[source])
            break
        except AssertionError as e:
            if time.monotonic() > end or not any(word in str(e) for word in ("still checking", "another attach", "less than 2 s")):
                raise
            time.sleep(0.2)
    where = LIBJVM if source == "probe" else AGENT
    proc.wait_until(lambda: probed.breakpoints(pid, where) or daemon.get(capture.path).json()["state"] != "running", deadline, "a probe is there")
    return capture


def runs(pid: int) -> bool:
    """Checks that it runs on: one of its threads uses the processor."""
    before = proc.cpu_seconds(pid)
    proc.wait_until(lambda: proc.cpu_seconds(pid) > before or not proc.alive(pid), 20, f"{pid} runs")
    return proc.alive(pid)


@dataclasses.dataclass
class State:
    """Facts that must be the same afterwards."""
    descriptors: int
    copies: dict[str, int]
    memory_kib: int
    shot: snapshot.Snapshot

    @classmethod
    def of(cls, container) -> "State":
        pid = container.pid
        return cls(len(os.listdir(f"/proc/{pid}/fd")), probed.copies(pid, LIBJVM), proc.memory_kib(pid, "RssAnon"),
                   snapshot.take(pid, container.output(), own_root=container.own_root))


class Checks(unittest.TestCase):
    def arguments(self, classpath: str = "/classes") -> list[str]:
        return [*OPTIONS, "-cp", classpath, "Garbage", "1"]

    def compare(self, container, before: State, kib: int, attached: bool = True) -> None:
        """KIB: anonymous memory after a few captures. ATTACHED: also by an agent."""
        pid = container.pid
        probed.await_none(pid, seconds=30)
        # The agent ends as the JVM chooses its next object, or with its lease.
        proc.wait_until(lambda: attach.mappings(pid, STREAM) == 0, 30, "the agent has ended")
        after = State.of(container)
        told = [d for d in snapshot.differences(before.shot, after.shot) if not test_attach.ALLOWED.match(d)]
        self.assertEqual(told, [])
        self.assertLessEqual(attach.mappings(pid, AGENT), 5)
        if attached:
            self.assertEqual(attach.weak_references(pid), 0)
        self.assertLessEqual(after.descriptors, before.descriptors + 1) # the socket for attaching
        self.assertLessEqual(sum(probed.more_copies(before.copies, after.copies).values()), COPIES_KIB)
        self.assertLess(after.memory_kib - kib, MEMORY_KIB)
        self.assertEqual(attach.helpers(pid), [])
        self.assertTrue(runs(pid))

    def start_often(self, container, daemon: Daemon, times: int, sources: tuple[str, ...] = tuple(SOURCES)) -> None:
        pid, samples, kib = container.pid, dict.fromkeys(sources, 0), 0
        before = State.of(container)
        for number in range(times):
            for source in sources:
                capture = begin(daemon, pid, source)
                if number % 10 == 0:
                    proc.wait_until(lambda: daemon.get(capture.path).json()["samples"] or not proc.alive(pid), 30, f"a sample by {source}")
                samples[source] += daemon.get(capture.path).json()["samples"]
                answer = daemon.request("POST", capture.path + "/stop")
                self.assertEqual(answer.status, 200, answer)
                self.assertTrue(proc.alive(pid), container.output())
            if number <= times // 3:
                kib = max(kib, proc.memory_kib(pid, "RssAnon"))
        self.compare(container, before, kib, attached=sources != ("probe",))
        print(f"{self.id().rpartition('.')[2]}: {times} of each; samples {samples}; RssAnon {before.memory_kib} {kib} {proc.memory_kib(pid, 'RssAnon')} KiB")


class InContainers(Checks, test_attach_kinds.OfProgram, test_attach_kinds.MoreKinds, test_attach.Matrix):
    """The 14 kinds of test_attach, JDK 17 and 25."""
    program = "Garbage"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemons: queue.Queue[Daemon] = queue.Queue() # one per JDK: each starts one attach per second
        for _ in range(JDKS):
            daemon = Daemon("--recorder-hz", "0")
            cls.addClassCleanup(daemon.stop)
            cls.daemons.put(prepare(daemon))

    def check(self, container) -> None:
        daemon = self.daemons.get()
        try:
            self.start_often(container, daemon, -(-STARTS // (KINDS * JDKS)))
        finally:
            self.daemons.put(daemon)


class OtherJdks(Checks, jdkroot.EachJdk):
    """JDK 8, 11, 21 and 26, in one kind of container."""

    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Garbage.java")
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)
        prepare(cls.daemon)

    def check(self, version: int) -> None:
        with bundle.Container("", self.classes.folder, *self.arguments(), root=jdkroot.root(version), executable=jdkroot.java(version)) as c:
            self.start_often(c, self.daemon, -(-STARTS // (KINDS * JDKS)), tuple(SOURCES) if version > 8 else ("probe",))


class Killed(Checks):
    """kill -9 of flamed, its broker, both, or also the supervisor, at any moment of a capture."""

    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        cls.classes.compile("Garbage.java")

    def kill(self, daemon: Daemon, chance: random.Random) -> str:
        """Kills some processes. Returns which."""
        found = daemon.processes()
        top = daemon.top()
        worker, broker = ([pid for pid in found.get(name, []) if pid != top] for name in ("flamed", "flamed-broker"))
        name, pids = chance.choice([("flamed", worker), ("the broker", broker[:1]), ("the broker's children", broker[1:] or broker),
                                    ("both", worker + broker), ("all", [top, *worker, *broker])])
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return name

    def killed_once(self, daemon: Daemon, pids: list[int], chance: random.Random) -> str:
        """Kills during captures of all, which begin, are about to, or end."""
        def one(pid: int, source: str) -> None:
            with contextlib.suppress(OSError, http.client.HTTPException, AssertionError, ValueError): # flamed was killed
                capture = daemon.capture(pid=pid, **SOURCES[source])
                time.sleep(chance.uniform(0, 0.3))
                daemon.request("POST", capture.path + "/stop", timeout=2)
        threads = [threading.Thread(target=one, args=(pid, chance.choice(list(SOURCES))), daemon=True) for pid in pids]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0, 0.4))
        whom = self.kill(daemon, chance)
        for thread in threads:
            thread.join(90)
        return whom

    def ready(self, daemon: Daemon, pid: int) -> None:
        """Loads the program of this event, too: else no probe would exist at the kill."""
        daemon.wait_ready(60)
        begin(daemon, pid, "probe").stop()

    def test_at_any_moment(self):
        chance, whom = random.Random(KILLS), {}
        with contextlib.ExitStack() as stack:
            containers = [stack.enter_context(bundle.Container(paths.jdk(version), self.classes.folder, *self.arguments(), user_namespace=False,
                                                               docker=docker))
                          for version, docker in ((17, True), (25, False))]
            pids = [c.pid for c in containers]
            before = [State.of(c) for c in containers]
            daemon = Daemon("--recorder-hz", "0")
            try:
                kib = [0, 0]
                for number in range(KILLS):
                    self.ready(daemon, pids[number % 2])
                    if number == KILLS // 3:
                        kib = [proc.memory_kib(pid, "RssAnon") for pid in pids]
                    name = self.killed_once(daemon, pids, chance)
                    whom[name] = whom.get(name, 0) + 1
                    for container in containers:
                        self.assertTrue(runs(container.pid), (name, container.output()))
                    probed.await_none(*pids, seconds=30)
                    if daemon.process.poll() is not None:
                        daemon.stop(check=False)
                        daemon = Daemon("--recorder-hz", "0")
                daemon.wait_ready(60)
                for pid in pids: # this removes the rest of an attach that was killed
                    begin(daemon, pid, "agent").stop()
            finally:
                daemon.stop(check=False)
            print(f"killed: {whom}")
            for container, was, memory in zip(containers, before, kib):
                self.compare(container, was, memory)


if __name__ == "__main__":
    unittest.main()
