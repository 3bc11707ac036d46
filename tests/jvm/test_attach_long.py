# SPDX-License-Identifier: Apache-2.0
"""More of test_attach.py: JDKs in root file systems of their own with a newer C library, and a thousand attaches. Also restarts of flamed
during an attach, and a helper that is stopped or gets no answer."""
import os
import re
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import test_attach
import test_attach_kinds
import test_attacks
import test_symbols
from harness import attach, bundle, jdkroot, jvm, paths, proc, snapshot
from harness.daemon import Daemon


class Jdks(jdkroot.EachJdk, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def compiled(self, pid: int, spin: jvm.Spin) -> bool:
        return any(len(code) == 4 and code[3].startswith(spin.method + ":") for code in attach.attach(pid).code)

    def check(self, version: int) -> None:
        """Checks names with inlining and lines, an unchanged container, and that agent and memory agree in a capture."""
        spin = jvm.make_spin(version)
        with bundle.Container("", spin.folder, *jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main,
                              root=jdkroot.root(version), executable=jdkroot.java(version)) as c:
            before = snapshot.take(c.pid, c.output())
            proc.wait_until(lambda: self.compiled(c.pid, spin), 30, "the method is compiled with what it calls", interval=1)
            test_attach.check_named(self, attach.attach(c.pid), spin)
            after = snapshot.take(c.pid, c.output())
            self.assertEqual([d for d in snapshot.differences(before, after) if not test_attach.ALLOWED.match(d)], [])
            profile = self.daemon.profile(pid=c.pid, seconds=3, symbols="agent")
            text = profile.answer.headers["X-Flamed-Symbols"]
            self.assertTrue(text.startswith("agent:"), f"{text} {profile.warnings}")
            same, both = test_symbols.AGREE.search(text).groups()
            self.assertGreater(int(both), 3, text)
            self.assertEqual(same, both, text)
            stacks = profile.of_thread("spinner")
            self.assertGreaterEqual(profile.share(stacks, lambda s: spin.method in s.names), 0.95, profile.describe(stacks))
            print(f"JDK {version}: {text}")
            self.assertLessEqual(attach.mappings(c.pid, "flamed-agent"), 5)
            self.assertTrue(proc.alive(c.pid))

    def test_8_while_code_comes_and_goes(self):
        """A third of a thousand attaches. Churn.test_many_attaches with FLAMED_ATTACHES has the rest."""
        classes = jvm.Classes()
        classes.compile("ChurnBody000000.java", "Churn.java")
        with bundle.Container("", classes.folder, "-Xmx128m", "-XX:ReservedCodeCacheSize=16m", "-cp", "/classes", "Churn", "20", "10",
                              root=jdkroot.root(8), executable=jdkroot.java(8)) as c:
            test_attach.attach_often(self, c.pid, int(os.environ.get("FLAMED_ATTACHES", "999")) // 3)


class Throughput(test_attach_kinds.OfProgram, test_attach_kinds.MoreKinds, test_attach.Matrix):
    """In the same containers: a busy thread does as much work in the ten seconds after an attach as in five seconds before, per time. Only
    time counts in which the JVM let it run: other programs use these processors, too."""
    program = "Rounds"

    def arguments(self, classpath: str = "/classes") -> list[str]:
        return ["-Xmx64m", "-cp", classpath, "Rounds"]

    def rate(self, container, tid: int, seconds: float) -> float:
        """Returns rounds per second of the spinner, without the time in which it waited for a processor."""
        def now() -> tuple[int, float]:
            before = container.output().count("rounds ")
            proc.wait_until(lambda: container.output().count("rounds ") > before, 5, "it tells", interval=0.001)
            waited = int(proc.read(f"/proc/{container.pid}/task/{tid}/schedstat").split()[1]) / 1e9
            return int(re.findall(r"rounds (\d+)\n", container.output())[-1]), time.monotonic() - waited
        first, began = now()
        time.sleep(seconds)
        last, ended = now()
        return (last - first) / (ended - began)

    def check(self, container) -> None:
        """A hypervisor takes time from both processors. A slow result counts only if it occurs three times in a row."""
        tid = proc.wait_until(lambda: proc.thread_of(container.pid, "spinner"), 5, "it spins")
        shares = []
        while len(shares) < 3 and (not shares or shares[-1] <= 0.95):
            before = self.rate(container, tid, 5)
            with ThreadPoolExecutor(1) as pool:
                attached = pool.submit(attach.attach, container.pid)
                after = self.rate(container, tid, 10)
            self.assertTrue(attached.result().done, attached.result().text[:1000])
            shares.append(after / before)
        print(f"{self.id().rpartition('.')[2]}: {' '.join(f'{share:.3f}' for share in shares)}")
        self.assertGreater(shares[-1], 0.95)


class Restarts(unittest.TestCase):
    def test_flamed_is_killed_while_it_is_attached(self):
        """20 times: the same copy of the agent is used, and no memory of flamed stays mapped."""
        classes = jvm.Classes()
        classes.compile("ChurnBody000000.java", "Churn.java")
        for version in (17, 25):
            with self.subTest(jdk=version), jvm.Jvm(paths.jdk(version), "-Xmx128m", "-XX:ReservedCodeCacheSize=16m", "-cp",
                                                    classes.folder, "Churn", "20", "10") as j:
                for number in range(20):
                    holding = attach.Holding(j.pid)
                    self.assertTrue(holding.done, number)
                    time.sleep(0.2) # until flamed renews the lease, the attach's own lease counts
                    holding.kill()
                    self.assertTrue(proc.alive(j.pid), number)
                self.assertLessEqual(attach.mappings(j.pid, "flamed-agent"), 5)
                proc.wait_until(lambda: attach.mappings(j.pid, "flamed-stream") == 0, 7, "the last lease is over")


class OverRestarts(jvm.WithClasses):
    """The whole of flamed attaches and is restarted twenty times. The JVM is alive and named, and does not grow."""
    sources = ("ChurnBody000000.java", "Churn.java")

    def churning(self, version: int) -> jvm.Jvm | bundle.Container:
        """JDK 8 in a root file system of its own, the others on the host."""
        if version != 8:
            return test_attach.churning(version, self.classes)
        return bundle.Container("", self.classes.folder, *test_attach.CHURN_OPTIONS, "-cp", "/classes", "Churn", "20", "10", root=jdkroot.root(8),
                                executable=jdkroot.java(8), environment=test_attach.CHURN_ENVIRONMENT)

    def check(self, version: int) -> None:
        """Each JDK gets a third of FLAMED_RESTART_ATTACHES, and all of FLAMED_RESTARTS."""
        times, restarts = int(os.environ.get("FLAMED_RESTART_ATTACHES", "180")) // 3, int(os.environ.get("FLAMED_RESTARTS", "20"))
        each = -(-times // restarts)
        done = started = 0
        daemon: Daemon | None = None

        def through(pid: int) -> str:
            nonlocal daemon, done, started
            if daemon and done % each == 0:
                daemon.stop()
                daemon = None
            if not daemon:
                daemon = Daemon()
                started += 1
            done += 1
            answer = daemon.get(f"/api/v1/jvms/{pid}/perf-map", symbols="agent", timeout=30)
            while answer.status == 409 and re.search("another attach|less than 2 s ago", answer.text): # one attach per second
                time.sleep(0.2)
                answer = daemon.get(f"/api/v1/jvms/{pid}/perf-map", symbols="agent", timeout=30)
            return "" if answer.status == 200 and "Churn" in answer.text else f"{answer.status} {answer.text[:1000]}"

        with self.churning(version) as j:
            try:
                test_attach.attach_often(self, j.pid, each * restarts, through)
            finally:
                if daemon:
                    daemon.stop()
            print(f"JDK {version}: {done} attaches by {started} flamed after each other")
            self.assertGreaterEqual(started, restarts)
            self.assertLessEqual(attach.mappings(j.pid, "flamed-stream"), 1)

    def test_8(self):
        self.check(8)

    def test_17(self):
        self.check(17)

    def test_25(self):
        self.check(25)


class Stopped(test_attacks.Fake):
    def test_the_helper_is_stopped(self):
        """The JVM's user, who is the helper's, stops the helper. No request waits without end, and the helper is ended at its deadline."""
        c = self.container("stop")
        began = time.monotonic()
        found = attach.attach(c.pid)
        self.assertEqual(self.tried(c)["stop"], "ok", c.output())
        self.assertFalse(found.done, found.text)
        self.assertEqual(found["step"], "killed", found.text)
        self.assertLess(time.monotonic() - began, 35)
        proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")

    def test_never_an_answer(self):
        c = self.container("never")
        began = time.monotonic()
        found = attach.attach(c.pid)
        self.assertFalse(found.done, found.text)
        self.assertEqual(found["step"], "reply", found.text)
        self.assertLess(time.monotonic() - began, 35)


class Elsewhere(unittest.TestCase):
    def test_it_loads_in_musl(self):
        """The agent is loaded by the loader of another C library."""
        paths.need("musl-gcc")
        source = """
            #include <dlfcn.h>
            #include <stdio.h>
            int main(int argc, char **argv)
            {
                void *so = argc == 2 ? dlopen(argv[1], RTLD_NOW) : 0;
                int (*attach)(void *, char *, void *) = so ? (int (*)(void *, char *, void *))dlsym(so, "Agent_OnAttach") : 0;
                if (!attach) { puts(dlerror()); return 1; }
                printf("%d\\n", attach(0, 0, 0)); /* without flamed's file it does nothing */
                return 0;
            }
        """
        classes = jvm.Classes()
        path = classes.folder + "/load.c"
        with open(path, "w", encoding="ascii") as f:
            f.write(source)
        subprocess.run(["musl-gcc", "-o", classes.folder + "/load", path], check=True)
        result = subprocess.run([classes.folder + "/load", paths.program("libflamed-agent.so")], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout.strip()), (0, "0"), result.stdout + result.stderr)
