# SPDX-License-Identifier: Apache-2.0
"""What a container may do to whoever attaches to it: the attacks of docs/threat-model.md, each by a program that does its
worst (native/fakejvm.c), attached to by the real flamed-broker."""
import contextlib
import errno
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import attach, bundle, cgroup, jvm, native, paths, proc
from harness.daemon import Daemon

# All that flamed-attach may hold while the container can look: nothing, its pipe, its socket, its memory files.
HARMLESS = re.compile(r"^(pipe:\[\d+\]|socket:\[\d+\]|/memfd:flamed-[a-z-]+ \(deleted\)|)$")
USER_NAMESPACES = (True, False)
STREAM_MIB = 18 # STREAM_BYTES
FILES_OF_OWNER = 8 # OWNER_FILES_MAX
KEPT = 2 # KEPT_OF_OWNER
REFUSED = ("start", errno.EDQUOT)
LANDLOCK_CREATE_RULESET = 444 # on every machine
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
        """What came of it, and what the container says of its attempts."""
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
        """Nothing of what the container could take is worth anything."""
        held = [value for key, value in tried.items() if key.startswith("fd ")]
        self.assertEqual([value for value in held if not HARMLESS.match(value)], [], tried)
        self.assertIn(tried.get("root"), ("own", "EACCES", "EPERM"), tried)
        self.assertIn(tried.get("cwd", "own"), ("own",), tried)
        self.assertIn(tried.get("environ bytes", "0"), ("0",), tried)
        for key in ("agent-write", "agent-cut", "stream-cut-cut", "exe-write", "exe-cut"):
            self.assertNotEqual(tried.get(key), "ok", tried)


class Attacks(Fake):
    def test_thief(self):
        """Its user's processes look into the helper while it waits: descriptors, root, memory, environment, agent."""
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
        """Its ids, groups, capabilities, session and files, as the container sees them."""
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
        """Its session, terminal, keyring and cgroup, as the host sees them: none is of whoever started flamed. The cgroup is
        flamed's, so that what it uses is not charged to the container; that its device rules are no use to anybody: Escapes."""
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
        """Container root with CAP_SYS_PTRACE: without a user namespace it reaches the helper, and finds nothing."""
        for user_namespace in USER_NAMESPACES:
            with self.subTest(user_namespace=user_namespace):
                _, tried, c = self.attach("steal", uid=0, capabilities=TRACER, user_namespace=user_namespace)
                self.assertTrue(tried, c.output())
                self.stolen(tried)

    def test_the_program_is_overwritten(self):
        """CVE-2019-5736: by a descriptor kept of /proc/HELPER/exe, when nobody executes it any more."""
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
        """The memory is filled with nonsense, and written on when it is read: bounded, refused, nobody dies."""
        found, tried, _ = self.attach("fill")
        self.assertEqual(tried["stream"], "ok", tried)
        self.assertEqual(tried["filled-past"], "EPERM", tried)
        self.assertLess(int(tried["filled"]), 32 << 20)
        self.assertEqual((tried["grow"], tried["shrink"]), ("EPERM", "EPERM"))
        self.assertEqual(found["poll"], "-74", found.text)
        self.assertIn("not what the agent writes", found["problem"])

    def test_whose_memory_it_is(self):
        """18 MiB that the JVM's side writes are not charged to its container, which may be near its limit."""
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
        """One container that puts all pages of the memory file into pipes, attach after attach."""
        with cgroup.Memory() as flamed:
            c = self.container(mode, uid=0, user_namespace=False, capabilities=bundle.DOCKER_CAPABILITIES)
            found = attach.attach(c.pid, "load", "times=10", wrap=flamed.wrap)
            self.assertEqual(found.text.count("attach: 0\n"), attaches, found.text)
            kept = [int(line.split()[1]) >> 20 for line in c.output().splitlines() if line.startswith("kept: ")]
            print(f"{mode}: kept {kept} MiB, charged to flamed {flamed.used() >> 20} MiB", end=" ")
            self.assertEqual(kept[:FILES_OF_OWNER], [STREAM_MIB] * FILES_OF_OWNER) # then its user may have no more pipes
            self.assertLess(flamed.used() >> 20, FILES_OF_OWNER * STREAM_MIB + 4)
            self.assertGreaterEqual(flamed.used() >> 20, FILES_OF_OWNER * STREAM_MIB, "pipes of less pages than it counted")
            c.stop()
            proc.wait_until(lambda: flamed.used() < 4 << 20, 5, "its end gives it back")

    def test_pages_are_kept(self):
        """What stays charged to flamed has a limit. Above it the container pays itself; where it took pages out, it is refused."""
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self.keep_pages, "pages", 10), pool.submit(self.keep_pages, "pages-cut", FILES_OF_OWNER)]:
                done.result()

    @staticmethod
    def zombies() -> list[int]:
        """Helpers that have ended, were left to us, and are kept from us by a tracer."""
        ended = [pid for pid in proc.children(os.getpid()) if proc.comm(pid) in attach.ORPHANS and not proc.alive(pid)]
        return [pid for pid in ended if os.waitpid(pid, os.WNOHANG)[0] == 0]

    def test_processes_are_kept(self):
        """A tracer that never waits keeps what attached as a zombie in flamed's cgroup: whoever keeps two is not attached to, and holds
        nobody's place."""
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
        """It reads as much as it has room for, and lives to tell."""
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
            for pid in helpers: # held, so that it does not see the JVM's end of the connection go first
                proc.stop(pid)
            subprocess.run(c.runc("kill", c.name, "KILL"), check=True)
            text, _ = probe.communicate(timeout=8)
        self.assertIn("step: killed", text)
        proc.wait_until(lambda: not any(proc.alive(pid) for pid in helpers), 2, "the helper is gone")

    def test_flamed_is_killed_meanwhile(self):
        """While its helper waits, stopped by its own user, for a JVM that never answers: it goes with flamed."""
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
        """Forced reuse: what was found was another process; the new one of this pid is not touched."""
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


class Tracing(Fake):
    """A container's root takes flamed-attach by ptrace(2), the moment that it may, and has it make a call (native/tracer.c): another
    one each time. In each kind of container all are tried with FLAMED_TRACER_TRIES=35, as in jvm_attacks_each."""
    TRIES, LEAST = 35, 10 # all calls of tracer.c once
    FEW_TRIES, FEW = int(os.environ.get("FLAMED_TRACER_TRIES", "6")), 4
    TALKING = ("readlinkat", "connect", "getsockopt", "seccomp") # its own, until the JVM may look at it
    NAMESPACES = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time", "pid_for_children")
    TRACING = (*bundle.DOCKER_CAPABILITIES, "CAP_SYS_PTRACE")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(native.build("tracer"), cls.classes.folder)

    def disk(self) -> int:
        """The number of a block device of this machine."""
        for path in sorted(glob.glob("/sys/block/*/dev")):
            major, minor = map(int, proc.read(path).split(":"))
            return os.makedev(major, minor)
        self.skipTest("no block device on this machine")

    def make(self, *arguments: str, **options) -> bundle.Container:
        """A container whose root is a tracer."""
        return bundle.Container(paths.jdk(17), self.classes.folder, *arguments, executable="/classes/tracer", uid=0, read_only=False,
                                docker=True, **options)

    def beside(self, *words: str, jvm_mode: str = "pause", **options) -> tuple[bundle.Container, int]:
        """A container with a tracer, and the pid of its JVM."""
        c = self.make("/classes/fakejvm", "/classes/libjvm.so", jvm_mode, str(self.disk()), *words, **options)
        self.addCleanup(c.stop)
        return c, proc.find_jvm(c.pid)

    def caught(self, *words: str, tries: int = FEW_TRIES, wrap: tuple[str, ...] = (), **options) -> tuple[list[dict[str, str]], bundle.Container]:
        """What the tracer says of each process that it took, over all attaches."""
        c, pid = self.beside(*words, **options)
        for _ in range(tries):
            attach.attach(pid, wrap=wrap)
            proc.wait_until(lambda: attach.helpers() == [], 10, "the helper is gone")
        return self.told(c.output(), tries), c

    def told(self, text: str, tries: int) -> list[dict[str, str]]:
        """The lines of a tracer."""
        found = [dict(word.split("=", 1) for word in line.split()[1:] if "=" in word)
                 for line in text.splitlines() if line.startswith("caught ")]
        print(f"caught {len(found)} of {tries}:", " ".join("=".join(list(one.items())[-1]) for one in found if one))
        return found

    def check(self, found: list[dict[str, str]], least: int = FEW, allowed: tuple[str, ...] = (), inside: bool = True) -> None:
        """Nothing that was caught had anything that the container does not have. INSIDE: the tracer is in there."""
        looked_at = [one for one in found if "CapEff" in one]
        self.assertGreaterEqual(len(looked_at), least, "a tracer that catches nothing shows nothing")
        for one in looked_at:
            for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                self.assertEqual(int(one[kind], 16), 0, one)
            call, outcome = list(one.items())[-1]
            if call not in allowed:
                self.assertIn(outcome, ("SIGSYS", "EPERM", "ENOSYS") if call == "clone" else ("SIGSYS",), f"{call}: {one}")
            held = [value for key, value in one.items() if key.startswith("fd")]
            self.assertEqual([value for value in held if not HARMLESS.match(value.replace("_", " "))], [], one)
            self.assertEqual(one["memory"], "own", one)
            if inside:
                for place in (*("ns/" + kind for kind in self.NAMESPACES), "root", "cwd"):
                    self.assertEqual(one[place], "own", one)


class Escapes(Tracing):
    """From each kind of container that runc makes."""

    def test_by_default_rights(self):
        """Docker's default capabilities, device rules and filter: caught while it is dumpable for the JVM."""
        found, c = self.caught(tries=self.TRIES, user_namespace=False, capabilities=bundle.DOCKER_CAPABILITIES)
        tried = self.tried(c)
        self.assertEqual((tried["mknod"], tried["own-open"]), ("ok", "EPERM"), "the device rules bind the container itself")
        self.check(found, self.LEAST)

    def test_with_the_right_to_trace(self):
        """The same and CAP_SYS_PTRACE: caught at its first instruction, dumpable or not."""
        found, _ = self.caught(tries=self.TRIES, user_namespace=False, capabilities=self.TRACING)
        self.check(found, self.LEAST, allowed=self.TALKING)

    def test_the_first_attach_of_a_jvm(self):
        """For which the JVM's status on the host is read: none of it is in the memory that the container sees."""
        for _ in range(self.FEW):
            found, _ = self.caught(tries=1, user_namespace=False, capabilities=self.TRACING)
            self.check(found, 1)

    def test_at_its_first_instruction(self):
        """Its filter still has the call by which it was made, and some of the porter's. Whoever takes it there cannot fork, or open."""
        rights = {"user_namespace": False, "capabilities": self.TRACING}
        found, _ = self.caught("clone", tries=self.TRIES, **rights)
        self.check(found)
        self.assertIn("EPERM", [one.get("clone") for one in found], "it was not taken at its first instruction")
        self.check(self.caught("openat", **rights)[0])

    def test_its_words_have_an_end(self):
        """A tracer that takes the talker while it is dumpable has it write one result and one request, and no more. So no pages charged
        to flamed are put into pipes, or stay in a socket."""
        for call, most in (("say-result", 4000), ("say-request", 256)):
            with self.subTest(call=call), cgroup.Memory() as flamed:
                found, c = self.caught(call, user_namespace=False, capabilities=bundle.DOCKER_CAPABILITIES, wrap=flamed.wrap)
                said = [int(one[call].removeprefix("ok-")) for one in found if call in one]
                print(f"{call}: at most {max(said)} bytes; charged to flamed {flamed.used() >> 10} KiB", end=" ")
                self.assertGreaterEqual(len(said), self.FEW, "a tracer that catches nothing shows nothing")
                self.assertLessEqual(max(said), most)
                self.assertLess(flamed.used() >> 20, 40) # files of two attaches, which the fake JVM does not keep
                c.stop()

    def test_privileged(self):
        """All capabilities and no filter; only the devices are closed. It is not attached to by what is known of the JVM, unless that
        has less than the rest."""
        _, pid = self.beside(user_namespace=False, capabilities=bundle.ALL_CAPABILITIES)
        found = attach.attach(pid, "check")
        self.assertEqual(found["check"], str(-errno.EPERM), found.text)
        self.assertIn("CAP_SYS_ADMIN and CAP_SYS_PTRACE", found["error"])
        self.assertIn("symbols=memory", found["remedy"])
        self.assertEqual(attach.attach(pid)["attach"], str(-errno.EPERM))
        found, _ = self.caught(user_namespace=False, capabilities=bundle.ALL_CAPABILITIES, jvm_mode="pause-less")
        self.check(found, allowed=self.TALKING)

    def test_filters_switched_off(self):
        """The same, and the tracer switches the filters of calls off, as CAP_SYS_ADMIN without one may. A device that is closed to
        the container stays closed, though it is open in flamed's cgroup."""
        if proc.LIBC.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) < 1:
            self.skipTest("this kernel has no Landlock")
        found, c = self.caught("openat!", user_namespace=False, capabilities=bundle.ALL_CAPABILITIES, jvm_mode="pause-less")
        self.assertEqual(self.tried(c)["own-open"], "EPERM", "the device rules bind the container itself")
        off = [one for one in found if one.get("suspend") == "ok"]
        self.assertGreaterEqual(len(off), self.FEW, found)
        self.assertEqual({one["openat"] for one in off}, {"EACCES"}, off)
        found, c = self.caught("mmap!", user_namespace=False, capabilities=bundle.ALL_CAPABILITIES, jvm_mode="pause-less")
        off = [one for one in found if one.get("suspend") == "ok"]
        self.assertGreaterEqual(len(off), self.FEW, found)
        self.assertEqual({one["mmap"] for one in off}, {"ENOMEM"}, off)

    def test_root_of_a_user_namespace(self):
        """As rootless runtimes have it, with all capabilities in there."""
        found, _ = self.caught(user_namespace=True, capabilities=bundle.ALL_CAPABILITIES)
        self.check(found)

    def test_in_the_pid_namespace_of_the_host(self):
        """It sees all of flamed's processes, and can take the last of an attach alone."""
        for user_namespace in USER_NAMESPACES:
            with self.subTest(user_namespace=user_namespace):
                capabilities = self.TRACING if user_namespace else bundle.DOCKER_CAPABILITIES
                found, _ = self.caught("all", str(os.getpid()), user_namespace=user_namespace, capabilities=capabilities,
                                       pid_namespace=False)
                self.check(found)

    def test_who_could_trace_all_of_it(self):
        """In the host's pid namespace with CAP_SYS_PTRACE, and less than flamed-attach begins with: not attached to."""
        _, pid = self.beside("all", "0", user_namespace=False, capabilities=self.TRACING, pid_namespace=False)
        found = attach.attach(pid, "check")
        self.assertEqual(found["check"], str(-errno.EPERM), found.text)
        self.assertIn("CAP_SYS_PTRACE", found["error"])
        self.assertIn("symbols=memory", found["remedy"])
        self.assertEqual(attach.attach(pid)["attach"], str(-errno.EPERM))


class Maps(unittest.TestCase):
    def test_more_mappings_than_anyone_needs(self):
        """65,000 of them with long names: read with a limit, and what burns is still named."""
        classes = jvm.Classes()
        name = os.path.join(classes.folder, "x" * 200)
        with open(name, "wb") as f:
            f.write(bytes(4096))
        program = native.build("manymaps")
        with Daemon() as daemon, jvm.Jvm("", name, executable=program, start="") as j:
            line = j.process.stdout.readline()
            self.assertGreater(int(line.split()[1]), 30000, line)
            with proc.Standstill() as machine:
                profile = daemon.profile(pid=j.pid, seconds=2)
                took = machine.given()
            self.assertLess(took, 2 + 5)
            self.assertGreater(profile.share(profile.stacks, lambda s: "burn_here" in s.names), 0.9, profile.describe())


class Bound(Fake):
    def test_the_talker_is_stopped_at_its_birth(self):
        """And its parent ended, as the JVM's user may on the host or in its pid namespace: nothing tells it of that end. It goes
        with the attach, and does not stay in flamed's cgroup."""
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
        """flamed-launcher is killed: the next attach but one works, without a restart of anything else."""
        classes = jvm.Classes()
        classes.compile("Idle.java")
        with Daemon() as daemon, jvm.Jvm(paths.jdk(17), "-Xmx32m", "-cp", classes.folder, "Idle", "1") as j:
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
            # What it and its attaches cost is told: as the kernel counts it, with those that have ended.
            told = float(re.search(r'^flamed_cpu_seconds_total\{process="flamed-launcher"\} (\S+)$', daemon.get("/metrics").text, re.M)[1])
            counted = sum(sum(map(int, proc.stat(p)[11:15])) for p in launchers()) / 100
            self.assertAlmostEqual(told, counted, delta=0.1)


class Turns(unittest.TestCase):
    """JVMs that never answer hold what starts attaches: their one attach thread waits for somebody else's request."""
    PLACES, OF_ONE, PROCESSES = 4, 2, 3 # LAUNCHER_RUNNING_MAX, TURNS_PER_OWNER, and of each attach

    def start(self, user: int) -> jvm.Jvm:
        j = jvm.Jvm(paths.jdk(17), "-Xmx32m", "-cp", self.classes.folder, "Idle", "1",
                    wrap=["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"])
        self.addCleanup(j.stop)
        return j

    def keep_silent(self, pid: int) -> None:
        self.assertTrue(attach.attach(pid).done) # it listens
        silent = socket.socket(socket.AF_UNIX)
        self.addCleanup(silent.close)
        silent.connect(f"/tmp/.java_pid{pid}")

    def hold(self, daemon: Daemon, processes: list[jvm.Jvm]) -> None:
        """A capture of each, which attaches to it."""
        for j in processes:
            body = json.dumps({"pid": j.pid, "seconds": 40, "symbols": "agent"}).encode()
            answer = daemon.request("POST", "/api/v1/captures", body=body, headers={"Content-Type": "application/json"})
            self.assertEqual(answer.status, 201, answer)

    def running(self) -> int:
        return len(attach.helpers()) // self.PROCESSES

    def test_nobody_holds_all(self):
        """One user has half of the places. Where others have the rest, whoever has waited longest leaves for a newcomer."""
        paths.need_root()
        self.classes = jvm.Classes()
        self.classes.compile("Idle.java")
        with Daemon() as daemon:
            other, *silent = [self.start(user) for user in (0, 1001, 1001, 1001, 1002, 1003)]
            for j in silent:
                self.keep_silent(j.pid)
            time.sleep(2) # none is attached to in its first two seconds
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
    """Memory of flamed's cgroup ends while an attach waits for a JVM, and the kernel ends one of the three processes that attach."""
    PART = ("guard", "porter", "talker")
    test_nobody_holds_all = None

    def choose(self, victim: int) -> None:
        """Has the kernel end it before what uses the memory up, which is larger than all else."""
        with open(f"/proc/{victim}/oom_score_adj", "w", encoding="ascii") as f:
            f.write("1000")

    def use_up(self, flamed: cgroup.Memory) -> None:
        """More than there is: it ends by that."""
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
            time.sleep(2) # none is attached to in its first two seconds
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


# Listens as a JVM does once it gets SIGQUIT, and closes each connection.
LISTENS_AT_SIGQUIT = """
import os, signal, socket
def listen(*_):
    global listener
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/tmp/.java_pid{os.getpid()}")
    listener.listen(4)
listener = None
signal.signal(signal.SIGQUIT, listen)
print(flush=True)
while not listener:
    signal.pause()
while True:
    listener.accept()[0].close()
"""


class Helper(unittest.TestCase):
    """flamed-attach by itself, without the broker and what that looks at before."""

    def start_helper(self, pid: int) -> tuple[int, int]:
        """Its pid, and the pipe that it tells its result into."""
        job, none = os.memfd_create("job"), os.memfd_create("none")
        os.pwrite(job, struct.pack("<8I", 0x54414c46, 1, 0, 0, 0, pid, 0, 20000), 0) # struct attach_job of helper/job.h
        result, told = os.pipe()
        given = [told, os.pidfd_open(pid), none, none, os.open("/", os.O_PATH), os.open(f"/proc/{pid}/status", os.O_RDONLY), job]
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 30) for fd in given] # out of the way of 3 to 9
        child = os.fork()
        if child == 0:
            for number, fd in enumerate(high, 3):
                os.dup2(fd, number)
            os.execve(paths.program("flamed-attach"), ["flamed-attach"], {})
        for fd in {*given, *high}:
            os.close(fd)
        return child, result

    def result_of(self, child: int, result: int) -> tuple[int, int, int]:
        """Its step, errno, and whether it sent SIGQUIT."""
        os.waitpid(child, 0)
        with os.fdopen(result, "rb") as f:
            text = f.read()
        self.assertGreater(len(text), 20)
        _, _, step, error, started = struct.unpack("<5I", text[:20])
        return step, error, started

    def run_helper(self, pid: int) -> tuple[int, int, int]:
        return self.result_of(*self.start_helper(pid))

    def test_no_new_privileges(self):
        """Whoever started it: of its processes, while it waits for the JVM. Of the third: test_the_helper_is_nobody."""
        paths.need_root()
        program = "import signal, time; signal.signal(signal.SIGQUIT, lambda *_: None); print(flush=True); time.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as p:
            try:
                p.stdout.readline()
                child, result = self.start_helper(p.pid)
                proc.wait_until(lambda: os.path.exists(f"/tmp/.attach_pid{p.pid}"), 10, "it makes the JVM listen")
                outside = proc.descendants(child)
                self.assertEqual(len(outside), 2, "the guard and the porter; the talker comes when somebody listens")
                for pid in outside:
                    self.assertIn("\nNoNewPrivs:\t1\n", proc.read(f"/proc/{pid}/status"))
            finally:
                p.kill()
        listener = 12 # ATTACH_STEP_LISTENER: it ended
        self.assertEqual(self.result_of(child, result), (listener, errno.ESRCH, 1))

    def test_what_a_killed_one_left(self):
        """Its file goes with the next attach, and does not keep that from telling the JVM to listen."""
        paths.need_root()
        with subprocess.Popen([sys.executable, "-c", LISTENS_AT_SIGQUIT], stdout=subprocess.PIPE) as p:
            left = f"/tmp/.attach_pid{p.pid}"
            try:
                p.stdout.readline()
                connected = 16, 17 # ATTACH_STEP_SEND, ATTACH_STEP_REPLY: it closes the connection
                for number, asked in enumerate((1, 0)):
                    with open(left, "wb"):
                        os.utime(left, (0, 0))
                    step, _, started = self.run_helper(p.pid)
                    self.assertEqual((started, os.path.exists(left)), (asked, False), number)
                    self.assertIn(step, connected, number)
            finally:
                p.kill()
                for name in (f"/tmp/.java_pid{p.pid}", left):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name)

    def test_who_does_not_catch_sigquit(self):
        """A JVM that stopped to catch it after the broker had looked: the helper's own look keeps it from being ended."""
        paths.need_root()
        with subprocess.Popen(["sleep", "60"]) as p:
            try:
                state = 9 # ATTACH_STEP_STATE
                self.assertEqual(self.run_helper(p.pid), (state, errno.ENOTSUP, 0))
                self.assertFalse(os.path.exists(f"/tmp/.attach_pid{p.pid}"))
                proc.stop(p.pid)
                self.assertEqual(self.run_helper(p.pid), (state, errno.EBUSY, 0))
                os.kill(p.pid, signal.SIGCONT)
                time.sleep(0.2)
                self.assertTrue(proc.alive(p.pid))
            finally:
                p.kill()


class Nowhere(unittest.TestCase):
    def test_no_place_for_a_socket(self):
        """No /tmp, or one that cannot be written: HotSpot's socket can be nowhere else. Told with the remedy, nothing is touched."""
        bundle.need_runc()
        spin = jvm.make_spin()
        for tmp in ("none", "read-only"):
            with self.subTest(tmp=tmp), bundle.Container(paths.jdk(17), spin.folder, "-Drest=200", "-Xmx64m", "-cp", "/classes", spin.main, tmp=tmp,
                                                         user_namespace=False) as c:
                found = attach.attach(c.pid)
                self.assertFalse(found.done, found.text)
                self.assertEqual(found["step"], "trigger", found.text)
                self.assertIn("/tmp", found["remedy"])
                self.assertTrue(proc.alive(c.pid))
                self.assertNotIn("Full thread dump", c.output())


class ByMemory(unittest.TestCase):
    """Where memory files may not be executed (vm.memfd_noexec=2): the helper comes from a file system that is nowhere."""

    def test_memory_files_may_not_be_executed(self):
        if not os.path.exists("/proc/sys/vm/memfd_noexec"):
            self.skipTest("this kernel has no vm.memfd_noexec")
        classes = jvm.Classes()
        classes.compile("Idle.java")
        for version in (17, 25):
            with self.subTest(jdk=version):
                java = [paths.jdk(version) + "/bin/java", "-Xmx32m", "-cp", classes.folder, "Idle", "1"]
                script = """
                    echo 2 >/proc/sys/vm/memfd_noexec && cat /proc/sys/vm/memfd_noexec | sed 's/^/level: /'
                    "$@" >"$OUT" & while kill -0 $! && ! grep -q started "$OUT"; do sleep 0.1; done; sleep 1.5
                    $PROBE $! load
                    kill -0 $! && echo alive: yes
                    kill -9 $!
                """
                with tempfile.NamedTemporaryFile(prefix="flamed-out.") as out:
                    result = subprocess.run(["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh", *java],
                                            env=dict(os.environ, PROBE=" ".join(attach.programs()), OUT=out.name),
                                            capture_output=True, text=True, timeout=60)
                found = attach.Outcome.of(result.stdout + result.stderr)
                if found["level"] != "2":
                    self.skipTest(f"vm.memfd_noexec cannot be set here: {found.text[-300:]}")
                self.assertTrue(found.done, found.text[-2000:])
                self.assertGreater(found.number("methods"), 5)
                self.assertEqual(found["alive"], "yes", found.text)
