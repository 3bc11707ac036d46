# SPDX-License-Identifier: Apache-2.0
"""A JVM in a container, profiled from the host: right names, callers, inlining and lines, and the container notices nothing. Each case is
one kind of container; JDK 17 and 25."""
import os
import subprocess
import tempfile
import unittest

from harness import bundle, jvm, paths, proc, snapshot
from harness.daemon import Daemon
from harness.profile import count, ordered
from harness.spinning import WithSpinAndDaemon

SECONDS = 2
HZ = 397


def capture(daemon: Daemon, host_pid: int, **target):
    """Takes a profile with symbols=auto. Returns it with the CPU seconds that the thread "spinner" used meanwhile, by the kernel's count."""
    tid = next(tid for tid, name in proc.threads(host_pid).items() if name == "spinner")
    with proc.CpuClock(host_pid, tid) as clock:
        profile = daemon.profile(**{"symbols": "auto", **target}, seconds=SECONDS, hz=HZ, timeout=SECONDS + 40)
    return profile, clock.between(profile)


def check_names(test: unittest.TestCase, captured, spin: jvm.Spin, pid: int | None = None) -> None:
    """Checks that at least 95 % of the samples of the thread "spinner" are right, in each respect, and named from memory only."""
    profile, cpu = captured
    test.assertEqual(profile.answer.headers["X-Flamed-Symbols"].split(":")[0], "memory")
    stacks = profile.of_thread("spinner")
    total = count(stacks)
    test.assertGreater(cpu, 0.1, "the machine is too busy for this test")
    # By chance, a tick hits a thread that shares the processor: four standard deviations in addition to the 5 %.
    due = cpu * HZ
    test.assertAlmostEqual(total / due, 1, delta=0.05 + 4 / due ** 0.5, msg=f"{total} samples of {cpu} s: {profile.describe()}")
    text = profile.describe(stacks)

    def share(condition) -> float:
        return profile.share(stacks, condition)

    test.assertGreaterEqual(share(lambda s: spin.method in s.names), 0.95, f"the generated method: {text}")
    test.assertGreaterEqual(share(lambda s: ordered(s.names, "java.lang.Thread.run", spin.run, spin.method)), 0.95,
                            f"callers up to Thread.run: {text}")

    # Allowed successors of each frame, with their lines. Samples in kernel code may interrupt any of them.
    def java(stack):
        return [f for f in stack.frames if f.name in (spin.method, spin.first, spin.second)]

    inlined = [s for s in stacks if len(java(s)) > 1 and java(s)[-2].kind == "c2"]
    test.assertGreaterEqual(count(inlined) / total, 0.95, f"samples within an inlined callee: {text}")

    def right(stack) -> bool:
        outer, inner = java(stack)[-2:]
        first = inner.name == spin.first
        return (outer.name == spin.method and inner.kind == "inlined" and
                outer.line == (spin.call_first if first else spin.call_second) and
                inner.line in (spin.first_lines if first else spin.second_lines))

    test.assertGreaterEqual(profile.share(inlined, right), 0.95,
                            f"lines {spin.call_first}/{spin.call_second}, {spin.first_lines}, {spin.second_lines}: "
                            f"{profile.describe([s for s in inlined if not right(s)])}")
    for callee in (spin.first, spin.second):
        test.assertGreater(profile.share(inlined, lambda s: callee in s.names), 0.15, f"{callee}: {text}")
    test.assertEqual({s.file for st in inlined for s in java(st)}, {spin.main + ".java"}, "source file")
    if pid is not None:
        test.assertEqual(profile.pids, {pid})


class Kinds(WithSpinAndDaemon):
    """Checks in each kind of container, with flamed's defaults. test_containers_more.py has more kinds."""
    options = ()

    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        super().setUpClass()

    def arguments(self, classpath: str = "/classes") -> list[str]:
        return [*jvm.spin_options(self.spin), "-Xmx64m", "-cp", classpath, self.spin.main]

    def check(self, container) -> None:
        """Makes one capture by host pid; the container must not change."""
        before = snapshot.take(container.pid, container.output(), own_root=container.own_root)
        check_names(self, capture(self.daemon, container.pid, pid=container.pid), self.spin, container.pid)
        self.assertEqual(snapshot.differences(before, snapshot.take(container.pid, container.output(),
                                                                       own_root=container.own_root)), [])
        self.assertTrue(proc.alive(container.pid))

        told = self.daemon.get(f"/api/v1/jvms/{container.pid}").json()
        self.assertEqual(told["pid"], container.pid)
        self.assertEqual(told["main"], self.spin.main)
        inner = told["nspid"] if isinstance(told["nspid"], list) else [told["nspid"]]
        self.assertEqual(inner[-1], proc.ns_pids(container.pid)[-1])

    def each(self, **options) -> None:
        def one(version: int) -> None:
            with bundle.Container(paths.jdk(version), self.spin.folder, *self.arguments(), **options) as c:
                self.check(c)
        jvm.side_by_side(self, one, jvm.some(25, 17))


class Containers(Kinds):
    def test_a_read_only_root_and_noexec_tmp(self):
        self.each()

    def test_c_no_tmp_at_all(self):
        self.each(tmp="none")

    def test_d_chroot(self):
        def one(version: int) -> None:
            with bundle.Chroot(paths.jdk(version), self.spin.folder, *self.arguments()) as c:
                self.check(c)
        jvm.side_by_side(self, one, jvm.some(17, 25))

    def test_e_two_pid_namespaces(self):
        def one(version: int) -> None:
            with bundle.NestedPids(paths.jdk(version), self.spin.folder, *self.arguments(".")) as c:
                self.check(c)
        jvm.side_by_side(self, one, jvm.some(25, 17))

    def test_h_container_and_nspid_select_it(self):
        home = paths.jdk(17)
        ident = os.urandom(32).hex()
        with bundle.Container(home, self.spin.folder, *self.arguments(), cgroups_path=f"/docker/{ident}", cpus=1.5) as c:
            told = self.daemon.get(f"/api/v1/jvms/{c.pid}").json()
            self.assertEqual(told["container"]["id"], ident, told)
            self.assertEqual(told["cpu_limit"], 1.5, told)
            check_names(self, capture(self.daemon, c.pid, container=ident[:12], nspid=1), self.spin, c.pid)
            answer = self.daemon.get("/profile", container=ident[:12], pid=os.getpid(), seconds=1)
            self.assertIn(answer.status, (400, 404), f"pid and container that disagree: {answer}")
            self.assertEqual(answer.headers["Content-Type"], "application/problem+json")

    def test_j_main_class_selects_it(self):
        home = paths.jdk(17)
        with bundle.Container(home, self.spin.folder, *self.arguments()) as c:
            proc.wait_until(lambda: self.daemon.get("/api/v1/jvms", jvm=self.spin.main).status == 200, 10, "the JVM is listed")
            check_names(self, capture(self.daemon, c.pid, jvm=self.spin.main), self.spin, c.pid)


class InsidePidNamespace(unittest.TestCase):
    """(f) flamed itself runs in a pid namespace, with the JVM: pids are those of that namespace."""

    def check(self, version: int) -> None:
        home, spin = paths.jdk(version), jvm.make_spin()
        java = [home + "/bin/java", *jvm.spin_options(spin), "-Xmx64m", "-cp", spin.folder, spin.main]
        # The script is pid 1 inside, and the parent of flamed and the JVM.
        script = """
            out=$1 n=$2; shift 2; java=
            while [ "$n" -gt 0 ]; do java="$java $1"; shift; n=$((n - 1)); done
            $java >"$out" 2>&1 </dev/null &
            "$@"
            """
        with tempfile.TemporaryDirectory(prefix="flamed-inside.") as folder:
            out = os.path.join(folder, "out")
            wrap = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script, "sh", out,
                    str(len(java)), *java]
            with Daemon(wrap=wrap) as daemon:
                host_pid = proc.find_jvm(daemon.process.pid)
                proc.wait_until(lambda: "started" in proc.read(out), 20, "the JVM prints 'started'")
                inside = proc.ns_pids(host_pid)[1]
                self.assertNotEqual(inside, host_pid)
                check_names(self, capture(daemon, host_pid, pid=inside), spin, inside)
                pids = [j["pid"] for j in daemon.get("/api/v1/jvms").json()["jvms"]]
                self.assertEqual(pids, [inside])
                self.check_outside(daemon)

    def check_outside(self, daemon: Daemon) -> None:
        """Processes outside flamed's namespace are reported as invisible, and not counted as lost."""
        outside = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        try:
            answer = daemon.get("/profile?seconds=1&format=json")
        finally:
            outside.kill()
            outside.wait()
        self.assertTrue(any("pid namespace" in w for w in answer.warnings), answer.headers)
        self.assertEqual(answer.headers["X-Flamed-Lost"], "0")

    @jvm.further_case
    def test_jdk_17(self):
        paths.need_root()
        self.check(17)

    def test_jdk_25(self):
        paths.need_root()
        self.check(25)
