# SPDX-License-Identifier: Apache-2.0
"""Nothing is injected unless requested, in each kind of container and on each JDK from 8 to 28. A capture without a source of symbols has
right names from memory only. No helper is started, and the container is unchanged."""
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import attach, bundle, jdkroot, jvm, paths, proc, snapshot
from harness.daemon import Daemon
from harness.profile import Profile, count, ordered

KINDS = {
    "noexec /tmp": {"user_namespace": False},
    "writable /tmp": {"user_namespace": False, "tmp": "exec"},
    "no passwd entry": {"user_namespace": False, "passwd": False},
    "root with docker's capabilities": {"user_namespace": False, "uid": 0, "capabilities": bundle.DOCKER_CAPABILITIES},
    "root of a user namespace": {"uid": 0, "capabilities": bundle.DOCKER_CAPABILITIES},
    "uid 1000 of a user namespace": {"uid": 1000},
    "hidepid=2": {"hidepid": 2},
    "hidepid=4": {"hidepid": 4},
    "little memory": {"user_namespace": False, "memory": 128 << 20},
    "seccomp": {"user_namespace": False, "seccomp": True},
    "overlay root": {"user_namespace": False, "overlay": True, "read_only": False},
    "host network": {"user_namespace": False, "network_namespace": False},
    "chroot": {},
    "two pid namespaces": {"nested": True},
}
SECONDS = 1.5 # of the first profile
SAMPLES_MIN = 20 # of a thread that spins
SIDE_BY_SIDE = 3


def patiently(daemon: Daemon, pid: int, seconds: float, hz: int, samples_min: int, thread: str = "") -> Profile:
    """Takes a profile with more than SAMPLES_MIN samples of the threads of that name, or of all. On a busy machine it is longer."""
    while True:
        profile = daemon.profile(pid=pid, seconds=seconds, hz=hz, timeout=seconds + 40)
        if count(profile.of_thread(thread) if thread else profile.stacks) > samples_min or seconds > 30:
            return profile
        seconds *= 3


class Watch:
    """Watches for processes of flamed-attach of this test."""

    def __init__(self):
        self.seen: set[int] = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while not self.ended.wait(0.02):
            self.seen.update(attach.helpers())

    def stop(self) -> set[int]:
        self.ended.set()
        self.thread.join()
        return self.seen


def look(container) -> snapshot.Snapshot:
    """Takes the state of the container, without the link counts of its files and the times of their change: other roots are made of links
    to them."""
    taken = snapshot.take(container.pid, container.output())
    taken.files = {path: told if told[3] == 1 else (*told[:3], *told[4:6]) for path, told in taken.files.items()}
    return taken


class Unasked(jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check_kind(self, version: int, kind: str, spin: jvm.Spin, of: dict) -> None:
        make = bundle.Chroot if kind in ("chroot", "two pid namespaces") else bundle.Container
        home = "" if "root" in of else paths.jdk(version)
        with make(home, spin.folder, *jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main, **KINDS[kind], **of) as c:
            self.assertEqual(len(proc.ns_pids(c.pid)), 3 if kind == "two pid namespaces" else 2)
            before = look(c)
            profile = patiently(self.daemon, c.pid, SECONDS, 199, SAMPLES_MIN, "spinner")
            self.assertEqual(snapshot.differences(before, look(c)), [])
            self.assertEqual(profile.answer.headers["X-Flamed-Symbols"].split(":")[0], "memory")
            stacks = profile.of_thread("spinner")
            self.assertGreater(count(stacks), SAMPLES_MIN, "the machine is too busy for this test")
            named = profile.share(stacks, lambda s: ordered(s.names, "java.lang.Thread.run", spin.run, spin.method))
            self.assertGreaterEqual(named, 0.95, profile.describe(stacks))
            self.assertTrue(proc.alive(c.pid))

    def check(self, version: int) -> None:
        spin, watch = jvm.make_spin(version), Watch()
        of = {"root": jdkroot.root(version), "executable": jdkroot.java(version)} if version in jdkroot.SUITES else {}
        try:
            with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
                running = {kind: pool.submit(self.check_kind, version, kind, spin, of) for kind in KINDS}
            for kind, result in running.items():
                with self.subTest(kind):
                    result.result()
        finally:
            seen = watch.stop()
        self.assertEqual(seen, set(), "flamed-attach was started")
        attaches = [line for line in self.daemon.get("/metrics").text.splitlines() if line.startswith("flamed_attaches")]
        self.assertTrue(attaches)
        self.assertEqual([line for line in attaches if not line.endswith(" 0")], [])
        print(f"JDK {version}: {len(KINDS)} kinds of containers, no attach")

    def test_17(self):
        self.check(17)

    def test_25(self):
        self.check(25)
