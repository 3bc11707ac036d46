# SPDX-License-Identifier: Apache-2.0
"""Names are complete from memory alone, in each kind of container and on each JDK from 8 to 28. A load of stubs, interpreted and compiled
code is sampled while it still compiles. Every frame has its name, and nothing is injected."""
import threading
from concurrent.futures import ThreadPoolExecutor

import test_stubs
import test_unasked
from harness import bundle, jdkroot, jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Frame, count, nameless_stub

OPTIONS = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Stubs$Interpreted::work", "-Xmx48m"]
SECONDS = 3 # of the first profile
SAMPLES_MIN = 100 # of a container, on a busy machine
JAVA = ("c1", "c2", "inlined", "interpreted")


def nameless(frame: Frame) -> bool:
    """Returns true for the JVM's own code, or a method, without a name. Code of a library without symbols has the library's name."""
    return nameless_stub(frame) or frame.kind in JAVA and "[unknown]" in frame.name or frame.kind == "unknown" and not frame.module


class Names(jdkroot.EachJdk, jvm.WithClasses):
    sources = ("Stubs.java",)

    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        super().setUpClass()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def check_kind(self, version: int, kind: str, of: dict, totals: dict[str, int], lock: threading.Lock) -> None:
        make = bundle.Chroot if kind in ("chroot", "two pid namespaces") else bundle.Container
        home = "" if "root" in of else paths.jdk(version)
        with make(home, self.classes.folder, *OPTIONS, "-cp", "/classes", "Stubs", **test_unasked.KINDS[kind], **of) as c:
            proc.wait_until(lambda: proc.cpu_seconds(c.pid) > 1.5, 60, "the load runs", interval=0.1)
            profile = test_unasked.patiently(self.daemon, c.pid, SECONDS, 999, SAMPLES_MIN)
        self.assertEqual(profile.answer.headers["X-Flamed-Symbols"].split(":")[0], "memory")
        self.assertGreater(profile.samples, SAMPLES_MIN, "the machine is too busy for this test")
        without = [s for s in profile.stacks if any(map(nameless, s.frames))]
        java = [s for s in profile.stacks if any(f.kind in JAVA for f in s.frames)]
        with lock:
            totals["samples"] += profile.samples
            totals["without"] += count(without)
            totals["stubs"] += count([s for s in profile.stacks if s.frames and s.frames[-1].kind == "stub"])
        if without:
            print(f"JDK {version}, {kind}:\n{profile.describe(without)}", flush=True)
        self.assertGreater(count(java), profile.samples / 4, profile.describe(profile.stacks))
        self.assertGreater(profile.share(java, lambda s: "call_stub" in s.names), 0.95, profile.describe(java))

    def check(self, version: int) -> None:
        of = {"root": jdkroot.root(version), "executable": jdkroot.java(version)} if version in jdkroot.SUITES else {}
        totals, lock, watch = {"samples": 0, "without": 0, "stubs": 0}, threading.Lock(), test_unasked.Watch()
        try:
            with ThreadPoolExecutor(test_unasked.SIDE_BY_SIDE) as pool:
                running = {kind: pool.submit(self.check_kind, version, kind, of, totals, lock) for kind in test_unasked.KINDS}
            for kind, result in running.items():
                with self.subTest(kind):
                    result.result()
        finally:
            seen = watch.stop()
        print(f"JDK {version}: {len(running)} kinds of containers, {totals['samples']} samples, {totals['stubs']} end in a stub, "
              f"{totals['without']} have a frame without a name")
        self.assertLessEqual(totals["without"], test_stubs.SHARE_MAX * totals["samples"])
        self.assertGreater(totals["stubs"], 0.05 * totals["samples"], "a load without stubs shows nothing")
        self.assertEqual(seen, set(), "flamed-attach was started")

    def test_17(self):
        self.check(17)

    def test_25(self):
        self.check(25)
