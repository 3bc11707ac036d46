# SPDX-License-Identifier: Apache-2.0
"""Attacks of a container on a process that attaches to it: those of docs/threat-model.md, each by a program that does its worst
(native/fakejvm.c), with the real flamed-broker."""
import errno
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from harness import attach, bundle, cgroup, jvm, native, paths, proc
from harness.daemon import Answer, Daemon

# All that flamed-attach may hold while the container can inspect it: nothing, its pipe, its socket, its memory files.
HARMLESS = re.compile(r"^(pipe:\[\d+\]|socket:\[\d+\]|/memfd:flamed-[a-z-]+ \(deleted\)|)$")
USER_NAMESPACES = (True, False)
STREAM_MIB = 18 # STREAM_BYTES
FILES_OF_OWNER = 8 # OWNER_FILES_MAX
PAID_OF_OWNER = 4 # half of OWNER_FILES_PAID_MAX
KEPT = 2 # KEPT_OF_OWNER
REFUSED = ("start", errno.EDQUOT)
TRACER = ("CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE", "CAP_KILL")


class Fake(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.classes = jvm.Classes()
        shutil.copy(native.build("fakejvm"), cls.classes.folder)
        shutil.copy("/usr/bin/env", cls.classes.folder + "/libjvm.so")

    def container(self, mode: str, **options) -> bundle.Container:
        c = bundle.Container(paths.jdk(17), self.classes.folder, "/classes/libjvm.so", mode, executable="/classes/fakejvm", **options)
        self.addCleanup(c.stop)
        return c

    def attach(self, mode: str, groups: tuple[int, ...] = (), **options) -> tuple[attach.Outcome, dict[str, str], bundle.Container]:
        """Attaches. Returns the outcome, and the container's report about its attempts."""
        c = self.container(mode, **options)
        with proc.Standstill() as machine:
            found = attach.attach(c.pid, groups=groups)
            took = machine.given()
        self.assertLess(took, 10, found.text)
        proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")
        return found, self.tried(c), c

    def tried(self, c: bundle.Container) -> dict[str, str]:
        return dict(line.split(": ", 1) for line in c.output().splitlines() if ": " in line)

    def stolen(self, tried: dict[str, str]) -> None:
        """Checks that the container gained nothing of worth."""
        held = [value for key, value in tried.items() if key.startswith("fd ")]
        self.assertEqual([value for value in held if not HARMLESS.match(value)], [], tried)
        self.assertIn(tried.get("root"), ("own", "EACCES", "EPERM"), tried)
        self.assertIn(tried.get("cwd", "own"), ("own",), tried)
        self.assertIn(tried.get("environ bytes", "0"), ("0",), tried)
        for key in ("agent-write", "agent-cut", "stream-cut-cut", "exe-write", "exe-cut"):
            self.assertNotEqual(tried.get(key), "ok", tried)


class Attacks(Fake):
    def test_thief(self):
        """Its user's processes inspect the helper while it waits: descriptors, root, memory, environment, agent."""
        for user_namespace in USER_NAMESPACES:
            with self.subTest(user_namespace=user_namespace):
                found, tried, _ = self.attach("steal", user_namespace=user_namespace)
                self.assertTrue(found.done, found.text)
                self.assertEqual(tried["fds"], "ok", "it had to be dumpable for the JVM, too")
                self.stolen(tried)
                self.assertEqual(tried["root"], "own")
                for kind in ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time"):
                    self.assertEqual(tried["ns " + kind], "own", f"no way out to the host's: {tried}")

    def test_the_helper_is_nobody(self):
        """The helper's ids, groups, capabilities, session and files, as the container sees them."""
        _, tried, c = self.attach("steal", groups=(4, 42), uid=103, user_namespace=False)
        status = dict(line[len("status> "):].split(":\t", 1) for line in c.output().splitlines()
                      if line.startswith("status> ") and ":\t" in line)
        self.assertEqual(status["Uid"].split(), ["103"] * 4)
        self.assertEqual(status["Gid"].split(), ["103"] * 4)
        self.assertEqual(status["Groups"].strip(), "")
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        self.assertGreater(int(status.get("Seccomp_filters", "2")), 1, "its own calls alone, besides what its parent had forbidden")
        self.assertEqual(status["Umask"], "0077")
        self.stolen(tried) # no descriptor of a file of the host, not even of /dev/null

    def test_nothing_of_who_started_it(self):
        """The helper's session, terminal, keyring and cgroup, as the host sees them: none is that of flamed's starter. The cgroup is
        flamed's, so that the container does not pay for it. Escapes shows that its device rules are of no use to a container."""
        def of(pid: int, what: str) -> str:
            return proc.read(f"/proc/{pid}/{what}")

        def keyrings() -> set[str]:
            return {line.split()[0] for line in proc.read("/proc/keys").splitlines() if " keyring " in line and " _ses" in line}

        c = self.container("never", user_namespace=False)
        before = keyrings()
        with subprocess.Popen([*attach.programs(), str(c.pid), "load"], stdout=subprocess.DEVNULL) as probe:
            proc.wait_until(lambda: "helper: " in c.output(), 20, "the helper waits")
            helper, = attach.helpers(c.pid)
            session, terminal = proc.stat(helper)[3:5]
            guard = int(proc.stat(int(proc.stat(helper)[1]))[1])
            self.assertEqual(int(session), guard, "that of its own first process")
            self.assertEqual(int(terminal), 0)
            self.assertEqual(of(helper, "cgroup"), of(probe.pid, "cgroup"))
            self.assertNotEqual(of(helper, "cgroup"), of(c.pid, "cgroup"))
            self.assertNotEqual(keyrings() - before, set(), "a session keyring of its own")
            probe.kill()
        proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")

    def test_root_that_may_trace(self):
        """Container root with CAP_SYS_PTRACE and without a user namespace reaches the helper, and finds nothing."""
        for user_namespace in USER_NAMESPACES:
            with self.subTest(user_namespace=user_namespace):
                _, tried, c = self.attach("steal", uid=0, capabilities=TRACER, user_namespace=user_namespace)
                self.assertTrue(tried, c.output())
                self.stolen(tried)

    def test_the_program_is_overwritten(self):
        """CVE-2019-5736: through a kept descriptor of /proc/HELPER/exe, when no process executes it any more."""
        for uid, capabilities in ((103, ()), (0, TRACER)):
            with self.subTest(uid=uid):
                c = self.container("overwrite", uid=uid, capabilities=capabilities, user_namespace=False)
                self.assertTrue(attach.attach(c.pid).done)
                proc.wait_until(lambda: "late-exe" in c.output(), 12, "it tried")
                tried = self.tried(c)
                self.assertEqual(tried["exe-path"], "ok", tried)
                self.assertNotEqual(tried.get("late-exe-write"), "ok", tried)
                self.assertNotEqual(tried.get("late-exe-cut"), "ok", tried)
                self.assertTrue(attach.attach(c.pid).done, "the program is as it was")

    def test_garbage_without_end(self):
        """The memory is filled with nonsense, and written while it is read: the reading is bounded and refused, and no process ends."""
        found, tried, _ = self.attach("fill")
        self.assertEqual(tried["stream"], "ok", tried)
        self.assertEqual(tried["filled-past"], "EPERM", tried)
        self.assertLess(int(tried["filled"]), 32 << 20)
        self.assertEqual((tried["grow"], tried["shrink"]), ("EPERM", "EPERM"))
        self.assertEqual(found["poll"], "-74", found.text)
        self.assertIn("overwritten the agent's memory", found["problem"])

    def test_whose_memory_it_is(self):
        """The JVM's side writes 18 MiB. They are not charged to its container, which may be near its limit."""
        c = self.container("fill", user_namespace=False, memory=256 << 20)
        before = most = bundle.memory_used(c.pid)
        with ThreadPoolExecutor(1) as pool:
            attached = pool.submit(attach.attach, c.pid)
            while not attached.done():
                most = max(most, bundle.memory_used(c.pid))
        tried = self.tried(c)
        self.assertGreater(int(tried["filled"]), 16 << 20, tried)
        self.assertLess(most - before, 6 << 20)

    def keep_pages(self, mode: str, attaches: int) -> None:
        """A container that puts all pages of the memory file into pipes, attach after attach."""
        with cgroup.Memory() as flamed:
            c = self.container(mode, uid=0, user_namespace=False, capabilities=bundle.DOCKER_CAPABILITIES)
            found = attach.attach(c.pid, "load", "times=10", wrap=flamed.wrap)
            self.assertEqual(found.text.count("attach: 0\n"), attaches, found.text)
            kept = [int(line.split()[1]) >> 20 for line in c.output().splitlines() if line.startswith("kept: ")]
            print(f"{mode}: kept {kept} MiB, charged to flamed {flamed.used() >> 20} MiB", end=" ")
            self.assertEqual(kept[:PAID_OF_OWNER], [STREAM_MIB] * PAID_OF_OWNER) # then its user may have no more pipes
            self.assertLess(flamed.used() >> 20, PAID_OF_OWNER * STREAM_MIB + 4)
            self.assertGreaterEqual(flamed.used() >> 20, PAID_OF_OWNER * STREAM_MIB, "pipes of less pages than it counted")
            c.stop()
            proc.wait_until(lambda: flamed.used() < 4 << 20, 5, "its end gives it back")

    def test_pages_are_kept(self):
        """The memory that stays charged to flamed has a limit. Above it the container pays itself; if it took pages out, it is refused."""
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self.keep_pages, "pages", 10), pool.submit(self.keep_pages, "pages-cut", FILES_OF_OWNER)]:
                done.result()

    @staticmethod
    def zombies() -> list[int]:
        """Returns ended helpers that are orphans of this test and that a tracer does not reap."""
        ended = [pid for pid in proc.children(os.getpid()) if proc.comm(pid) in attach.ORPHANS and not proc.alive(pid)]
        return [pid for pid in ended if os.waitpid(pid, os.WNOHANG)[0] == 0]

    def test_processes_are_kept(self):
        """A tracer that never reaps keeps ended helpers as zombies in flamed's cgroup. flamed does not attach to an owner that keeps two,
        and no other owner loses a slot."""
        c = self.container("zombie", user_namespace=False)
        with tempfile.NamedTemporaryFile("r", prefix="flamed-out.") as out:
            def steps() -> list[tuple[str, int]]:
                return [(step, int(code)) for step, code in re.findall(r"^step: (\S+)\nerrno: (\d+)$", proc.read(out.name), re.M)]

            with subprocess.Popen([*attach.programs(), str(c.pid), "load", "0", "times=1000"], stdout=out) as probe:
                try:
                    proc.wait_until(lambda: REFUSED in steps(), 40, "one is refused")
                    before = steps()[:steps().index(REFUSED)]
                    self.assertEqual(len(re.findall(r"^tracer: [1-9]", c.output(), re.M)), KEPT, c.output())
                    self.assertEqual(len(self.zombies()), KEPT)
                    self.assertEqual(set(before), {("done", 0)})
                    for pid in proc.children(c.pid):
                        os.kill(pid, signal.SIGKILL)
                    proc.wait_until(lambda: not attach.helpers() and not self.zombies(), 20, "with the tracer they go")
                    proc.wait_until(lambda: steps().count(("done", 0)) > len(before), 20, "it is attached to again")
                finally:
                    probe.kill()
            self.assertIn("symbols=memory", proc.read(out.name))

    def test_an_answer_without_end(self):
        """The helper reads as much as it has room for, and reports the rest."""
        found, tried, _ = self.attach("endless")
        self.assertFalse(found.done, found.text)
        self.assertEqual(found["step"], "done", found.text)
        self.assertLess(len(found["error"]), 400)

    def test_it_ends_at_each_step(self):
        for mode in ("die-signal", "die-accept", "die-request", "die-reply"):
            with self.subTest(mode=mode):
                found, _, _ = self.attach(mode)
                self.assertFalse(found.done, found.text)
                self.assertNotEqual(found["error"], "", found.text)

    def test_the_container_is_killed_meanwhile(self):
        c = self.container("never")
        with subprocess.Popen([*attach.programs(), str(c.pid), "load"], stdout=subprocess.PIPE, text=True) as probe:
            proc.wait_until(lambda: "helper: " in c.output(), 20, "the helper waits")
            helpers = attach.helpers(c.pid)
            self.assertNotEqual(helpers, [])
            for pid in helpers: # held, so that it does not see the JVM close the connection first
                proc.stop(pid)
            subprocess.run(c.runc("kill", c.name, "KILL"), check=True)
            text, _ = probe.communicate(timeout=8)
        self.assertIn("step: killed", text)
        proc.wait_until(lambda: not any(proc.alive(pid) for pid in helpers), 2, "the helper is gone")

    def test_flamed_is_killed_meanwhile(self):
        """flamed is killed while its helper, stopped by its own user, waits for a JVM that never answers: the helper ends with flamed."""
        for user_namespace in USER_NAMESPACES:
            with self.subTest(user_namespace=user_namespace):
                c = self.container("stop", user_namespace=user_namespace)
                with subprocess.Popen([*attach.programs(), str(c.pid), "load"], stdout=subprocess.DEVNULL) as probe:
                    proc.wait_until(lambda: "stop: ok" in c.output(), 20, "the helper is stopped")
                    self.assertEqual(len(attach.helpers(c.pid)), 1)
                    probe.kill()
                proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")
                self.assertTrue(proc.alive(c.pid))

    def test_the_helper_is_killed(self):
        found, tried, _ = self.attach("kill")
        self.assertEqual(tried["kill"], "ok")
        self.assertEqual(found["step"], "killed", found.text)

    def test_the_pid_is_another_process(self):
        """A forced reuse of the pid: the found process was another one, and the new one is not touched."""
        classes = jvm.Classes()
        classes.compile("Idle.java")
        java = [paths.jdk(17) + "/bin/java", "-Xmx32m", "-cp", classes.folder, "Idle", "1"]
        script = """
            "$@" >/dev/null & first=$!
            start=$(cut -d' ' -f22 /proc/$first/stat)
            kill -9 $first; wait $first
            i=0; sleep 0.1
            while [ $i -lt 20 ]; do
                echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
                "$@" >"$OUT" & second=$!
                [ $second = $first ] && break
                kill -9 $second; wait $second; i=$((i + 1))
            done
            i=0; while [ $i -lt 200 ] && ! grep -q started "$OUT"; do sleep 0.1; i=$((i + 1)); done; sleep 1
            echo "reused: $([ $second = $first ] && echo yes)"
            $PROBE $second load 0 start=$start
            kill -0 $second && echo alive: yes
            ls -a /tmp | grep -c "java_pid$second\\$" | sed 's/^/sockets: /'
            kill -9 $second
        """
        with tempfile.NamedTemporaryFile(prefix="flamed-out.") as out:
            result = subprocess.run(["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh", *java],
                                    env=dict(os.environ, PROBE=" ".join(attach.programs()), OUT=out.name), capture_output=True,
                                    text=True, timeout=60)
        found = attach.Outcome.of(result.stdout + result.stderr)
        if found["reused"] != "yes":
            self.skipTest(f"the pid could not be had again: {found.text[-500:]}")
        self.assertEqual(found["attach"], "1", found.text) # PROC_GONE
        self.assertEqual(found["alive"], "yes", found.text)
        self.assertEqual(found["sockets"], "0", found.text)


class Maps(unittest.TestCase):
    def test_more_mappings_than_anyone_needs(self):
        """65,000 mappings with long names: the reading has a limit, and busy code is still named."""
        classes = jvm.Classes()
        name = os.path.join(classes.folder, "x" * 200)
        with open(name, "wb") as f:
            f.write(bytes(4096))
        program = native.build("manymaps")
        with Daemon("--recorder-hz=0") as daemon, jvm.Jvm("", name, executable=program, start="") as j:
            line = j.process.stdout.readline()
            self.assertGreater(int(line.split()[1]), 30000, line)
            with proc.Standstill() as machine:
                profile = daemon.profile(pid=j.pid, seconds=2)
                took = machine.given()
            self.assertLess(took, 2 + 5)
            self.assertGreater(profile.share(profile.stacks, lambda s: "burn_here" in s.names), 0.9, profile.describe())


class Bound(Fake):
    def test_the_talker_is_stopped_at_its_birth(self):
        """And its parent is ended, as the JVM's user may do on the host or in its pid namespace. The talker gets no signal of that end. It
        ends with the attach, and does not stay in flamed's cgroup."""
        c = self.container("pause")
        with subprocess.Popen([native.build("birth"), *attach.programs(), str(c.pid), "load"], stdout=subprocess.PIPE,
                              text=True) as tracer:
            line = next((line for line in tracer.stdout if line.startswith("stopped ")), "")
            self.assertTrue(line, "no talker was born")
            talker = int(line.split()[1])
            try:
                proc.wait_until(lambda: not proc.alive(talker), 3, "the talker is gone")
            finally:
                tracer.kill()
                if proc.alive(talker):
                    os.kill(talker, signal.SIGKILL)


class Launcher(unittest.TestCase):
    def test_it_is_started_again(self):
        """flamed-launcher is killed: the attach after the next one works, without a restart of any other process."""
        classes = jvm.Classes()
        classes.compile("Idle.java")
        with Daemon("--recorder-hz=0") as daemon, jvm.Jvm(paths.jdk(17), "-Xmx32m", "-cp", classes.folder, "Idle", "1") as j:
            def launchers() -> list[int]:
                return [p for p in proc.descendants(daemon.process.pid) if proc.comm(p) == "flamed-launcher"]

            def works() -> bool:
                return daemon.get(f"/api/v1/jvms/{j.pid}/perf-map", symbols="agent").status == 200

            proc.wait_until(works, 15, "an attach", interval=1.1)
            broker = daemon.processes()["flamed-broker"]
            worker = next(p for p in launchers() if int(proc.stat(p)[1]) in launchers())
            os.kill(worker, signal.SIGKILL)
            proc.wait_until(lambda: len(launchers()) == 2 and worker not in launchers(), 5, "it is there again")
            proc.wait_until(works, 10, "an attach", interval=1.1)
            self.assertLessEqual(set(broker) - {worker}, set(daemon.processes()["flamed-broker"]), "nothing else was started again")
            # Its cost and that of its attaches are reported as the kernel counts them, with ended processes.
            told = float(re.search(r'^flamed_cpu_seconds_total\{process="flamed-launcher"\} (\S+)$', daemon.get("/metrics").text, re.M)[1])
            counted = sum(sum(map(int, proc.stat(p)[11:15])) for p in launchers()) / 100
            self.assertAlmostEqual(told, counted, delta=0.1)
            self.late(daemon, classes, next(p for p in launchers() if int(proc.stat(p)[1]) in launchers()), works)
            self.gone(daemon, j.pid, next(p for p in launchers() if int(proc.stat(p)[1]) not in launchers()))

    def gone(self, daemon: Daemon, pid: int, keeper: int) -> None:
        """It is killed with the process that starts it again: attaches are refused with the remedy, the log has it once, and profiles go on."""
        def refused() -> str | None:
            answer = daemon.get(f"/api/v1/jvms/{pid}/perf-map", symbols="agent")
            return answer.text if answer.status not in (200, 404) and "less than 2 s ago" not in answer.text else None

        os.kill(keeper, signal.SIGKILL)
        self.assertIn("is gone", proc.wait_until(refused, 15, "a refusal", interval=1.1))
        self.assertIn("restart flamed-broker", proc.wait_until(refused, 15, "a refusal", interval=1.1))
        self.assertEqual(daemon.log().count("the launcher is gone"), 1, daemon.log())
        self.assertEqual(daemon.get("/profile", pid=pid, seconds=1).status, 200)

    def late(self, daemon: Daemon, classes: jvm.Classes, worker: int, works: Callable[[], bool]) -> None:
        """It does not answer in time: the attach fails, and does not begin later."""
        with jvm.Jvm(paths.jdk(17), "-Xmx32m", "-cp", classes.folder, "Idle", "1") as j:
            def refused() -> Answer | None:
                answer = daemon.get(f"/api/v1/jvms/{j.pid}/perf-map", symbols="agent")
                return None if answer.status == 404 or "less than 2 s ago" in answer.text else answer

            os.kill(worker, signal.SIGSTOP)
            try:
                answer = proc.wait_until(refused, 15, "an answer")
            finally:
                os.kill(worker, signal.SIGCONT)
            self.assertNotEqual(answer.status, 200)
            self.assertIn("does not answer", answer.text)
            proc.wait_until(works, 15, "the next attach", interval=1.1)
            threads = [proc.read(path) for path in glob.glob(f"/proc/{j.pid}/task/*/comm")]
            self.assertNotIn("Attach Listener\n", threads, "HotSpot starts it when a program attaches")


class Turns(unittest.TestCase):
    """JVMs that never answer occupy the attach slots: their only attach thread waits for the request of another program."""
    PLACES, OF_ONE, PROCESSES = 4, 2, 3 # LAUNCHER_RUNNING_MAX, TURNS_PER_OWNER, and of each attach

    def start(self, user: int) -> jvm.Jvm:
        j = jvm.Jvm(paths.jdk(17), "-Xmx32m", "-cp", self.classes.folder, "Idle", "1",
                    wrap=["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"])
        self.addCleanup(j.stop)
        return j

    def keep_silent(self, pid: int) -> None:
        proc.wait_until(lambda: attach.attach(pid).done, 60, "the JVM listens") # an attach has a time limit, which a busy machine may need
        silent = socket.socket(socket.AF_UNIX)
        self.addCleanup(silent.close)
        silent.connect(f"/tmp/.java_pid{pid}")

    def hold(self, daemon: Daemon, processes: list[jvm.Jvm]) -> None:
        """Starts a capture of each, which attaches to it."""
        for j in processes:
            body = json.dumps({"pid": j.pid, "seconds": 40, "symbols": "agent"}).encode()
            answer = daemon.request("POST", "/api/v1/captures", body=body, headers={"Content-Type": "application/json"})
            self.assertEqual(answer.status, 201, answer)

    def running(self) -> int:
        return len(attach.helpers()) // self.PROCESSES

    def test_nobody_holds_all(self):
        """One user gets half of the slots. If others have the rest, the longest attach ends for a newcomer."""
        paths.need_root()
        self.classes = jvm.Classes()
        self.classes.compile("Idle.java")
        with Daemon("--recorder-hz=0") as daemon:
            other, *silent = [self.start(user) for user in (0, 1001, 1001, 1001, 1002, 1003)]
            for j in silent:
                self.keep_silent(j.pid)
            time.sleep(2) # flamed does not attach to a JVM in its first two seconds
            self.hold(daemon, silent[:3])
            proc.wait_until(lambda: self.running() == self.OF_ONE, 10, "one user's are waited for")
            time.sleep(2.5) # one attach begins per second
            self.assertEqual(self.running(), self.OF_ONE)
            self.hold(daemon, silent[3:])
            proc.wait_until(lambda: self.running() == self.PLACES, 10, "all places are taken")
            with proc.Standstill() as machine:
                proc.wait_until(lambda: daemon.get(f"/api/v1/jvms/{other.pid}/perf-map", symbols="agent").status == 200, 40,
                                "the attach to another's JVM", interval=0.1)
                took = machine.given()
            print(f"{took:.1f} s", end=" ")
            self.assertLess(took, 5)


class OutOfMemory(Turns):
    """flamed's cgroup runs out of memory while an attach waits for a JVM. The kernel ends one of the three processes of the attach."""
    PART = ("guard", "porter", "talker")
    test_nobody_holds_all = None

    def choose(self, victim: int) -> None:
        """Makes the kernel end it before the process that uses up the memory, which is larger than all others."""
        with open(f"/proc/{victim}/oom_score_adj", "w", encoding="ascii") as f:
            f.write("1000")

    def use_up(self, flamed: cgroup.Memory) -> None:
        """Allocates more memory than there is, until it ends."""
        result = subprocess.run([*flamed.wrap, sys.executable, "-c", "b = bytearray(1 << 30)"], timeout=60)
        self.assertEqual(result.returncode, -signal.SIGKILL)

    def test_it_ends_one_of_those_that_attach(self):
        paths.need_root()
        self.classes = jvm.Classes()
        self.classes.compile("Idle.java")
        with cgroup.Memory() as flamed, Daemon("--recorder-hz=0", wrap=list(flamed.wrap)) as daemon:
            before = daemon.pids()
            other, *silent = [self.start(user) for user in (0, 1001, 1002, 1003)]
            for j in silent:
                self.keep_silent(j.pid)
            time.sleep(2) # flamed does not attach to a JVM in its first two seconds
            for part, (name, j) in enumerate(zip(self.PART, silent)):
                with self.subTest(part=name), ThreadPoolExecutor(1) as pool:
                    asked = pool.submit(daemon.get, f"/api/v1/jvms/{j.pid}/perf-map", symbols="agent", timeout=40)
                    proc.wait_until(lambda: len(attach.helpers()) == self.PROCESSES, 10, "it waits for the JVM")
                    helpers = sorted(attach.helpers(), key=lambda pid: len(proc.descendants(pid)), reverse=True)
                    self.choose(helpers[part])
                    kills = flamed.kills()
                    flamed.limit(flamed.used() + (64 << 20))
                    self.use_up(flamed)
                    flamed.limit(None)
                    self.assertEqual(flamed.kills() - kills, 2, "it, and what used the memory up")
                    answer = asked.result()
                    self.assertEqual(answer.status, 409, str(answer))
                    proc.wait_until(lambda: attach.helpers() == [], 40, "the others go")
                    self.assertTrue(proc.alive(j.pid))
                    proc.wait_until(lambda: daemon.get(f"/api/v1/jvms/{other.pid}/perf-map", symbols="agent").status == 200, 40,
                                    "another JVM is attached to")
            self.assertEqual(daemon.pids(), before)
