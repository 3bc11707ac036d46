# SPDX-License-Identifier: Apache-2.0
"""A tracer in the container takes flamed-attach at each moment that it may. It gains nothing."""
import errno
import glob
import os
import shutil

import test_attacks
from harness import attach, bundle, cgroup, native, paths, proc

LANDLOCK_CREATE_RULESET = 444 # the same number on every machine


class Tracing(test_attacks.Fake):
    """A container's root takes flamed-attach by ptrace(2) as early as possible, and makes it do a system call (native/tracer.c), another
    one each time. In each kind of container all calls are tried with FLAMED_TRACER_TRIES=35, as in jvm_attacks_each."""
    TRIES, LEAST = 35, 10 # all calls of tracer.c once
    FEW_TRIES, FEW = int(os.environ.get("FLAMED_TRACER_TRIES", "6")), 4
    TALKING = ("readlinkat", "connect", "getsockopt", "seccomp") # calls made before the JVM may inspect the helper
    NAMESPACES = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time", "pid_for_children")
    TRACING = (*bundle.DOCKER_CAPABILITIES, "CAP_SYS_PTRACE")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(native.build("tracer"), cls.classes.folder)

    def disk(self) -> int:
        """Returns the number of a block device of this machine."""
        for path in sorted(glob.glob("/sys/block/*/dev")):
            major, minor = map(int, proc.read(path).split(":"))
            return os.makedev(major, minor)
        self.skipTest("no block device on this machine")

    def make(self, *arguments: str, **options) -> bundle.Container:
        """Starts a container with a tracer as root."""
        return bundle.Container(paths.jdk(17), self.classes.folder, *arguments, executable="/classes/tracer", uid=0, read_only=False,
                                docker=True, **options)

    def beside(self, *words: str, jvm_mode: str = "pause", **options) -> tuple[bundle.Container, int]:
        """Starts a container with a tracer. Returns it with the pid of its JVM."""
        c = self.make("/classes/fakejvm", "/classes/libjvm.so", jvm_mode, str(self.disk()), *words, **options)
        self.addCleanup(c.stop)
        return c, proc.find_jvm(c.pid)

    def caught(self, *words: str, tries: int = FEW_TRIES, wrap: tuple[str, ...] = (), **options) -> tuple[list[dict[str, str]], bundle.Container]:
        """Returns the tracer's report about each process that it took, over all attaches."""
        c, pid = self.beside(*words, **options)
        for _ in range(tries):
            attach.attach(pid, wrap=wrap)
            proc.wait_until(lambda: attach.helpers() == [], 10, "the helper is gone")
        return self.told(c.output(), tries), c

    def told(self, text: str, tries: int) -> list[dict[str, str]]:
        """Returns the lines of a tracer."""
        found = [dict(word.split("=", 1) for word in line.split()[1:] if "=" in word)
                 for line in text.splitlines() if line.startswith("caught ")]
        print(f"caught {len(found)} of {tries}:", " ".join("=".join(list(one.items())[-1]) for one in found if one))
        return found

    def check(self, found: list[dict[str, str]], least: int = FEW, allowed: tuple[str, ...] = (), inside: bool = True) -> None:
        """Checks that no caught process had anything that the container lacks. INSIDE: the tracer is inside."""
        looked_at = [one for one in found if "CapEff" in one]
        self.assertGreaterEqual(len(looked_at), least, "a tracer that catches nothing shows nothing")
        for one in looked_at:
            for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                self.assertEqual(int(one[kind], 16), 0, one)
            call, outcome = list(one.items())[-1]
            if call not in allowed:
                self.assertIn(outcome, ("SIGSYS", "EPERM", "ENOSYS") if call == "clone" else ("SIGSYS",), f"{call}: {one}")
            held = [value for key, value in one.items() if key.startswith("fd")]
            self.assertEqual([value for value in held if not test_attacks.HARMLESS.match(value.replace("_", " "))], [], one)
            self.assertEqual(one["memory"], "own", one)
            if inside:
                for place in (*("ns/" + kind for kind in self.NAMESPACES), "root", "cwd"):
                    self.assertEqual(one[place], "own", one)


class Escapes(Tracing):
    """From each kind of container that runc makes."""

    def test_by_default_rights(self):
        """Docker's default capabilities, device rules and filter: the helper is caught while it is dumpable for the JVM."""
        found, c = self.caught(tries=self.TRIES, user_namespace=False, capabilities=bundle.DOCKER_CAPABILITIES)
        tried = self.tried(c)
        self.assertEqual((tried["mknod"], tried["own-open"]), ("ok", "EPERM"), "the device rules bind the container itself")
        self.check(found, self.LEAST)

    def test_with_the_right_to_trace(self):
        """The same with CAP_SYS_PTRACE: it is caught at its first instruction, dumpable or not."""
        found, _ = self.caught(tries=self.TRIES, user_namespace=False, capabilities=self.TRACING)
        self.check(found, self.LEAST, allowed=self.TALKING)

    def test_the_first_attach_of_a_jvm(self):
        """The first attach of a JVM: its status on the host is read. The memory that the container sees contains none of it."""
        for _ in range(self.FEW):
            found, _ = self.caught(tries=1, user_namespace=False, capabilities=self.TRACING)
            self.check(found, 1)

    def test_at_its_first_instruction(self):
        """At the first instruction its filter still allows the call that created it, and some of the porter's. A tracer that stops it there
        cannot make it fork or open a file."""
        rights = {"user_namespace": False, "capabilities": self.TRACING}
        found, _ = self.caught("clone", tries=self.TRIES, **rights)
        self.check(found)
        self.assertIn("EPERM", [one.get("clone") for one in found], "it was not taken at its first instruction")
        self.check(self.caught("openat", **rights)[0])

    def test_its_words_have_an_end(self):
        """A tracer takes the talker while it is dumpable, and makes it write. It can write one result and one request, and no more. So no
        pages charged to flamed get into pipes or stay in a socket."""
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
        """All capabilities and no filter; only the devices are closed. flamed does not attach, by the facts about the JVM, unless the JVM
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
        """The same, and the tracer disables the filters of calls, which CAP_SYS_ADMIN without a filter allows. A device that is closed to
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
        """Like a rootless runtime, with all capabilities inside."""
        found, _ = self.caught(user_namespace=True, capabilities=bundle.ALL_CAPABILITIES)
        self.check(found)

    def test_in_the_pid_namespace_of_the_host(self):
        """The container sees all of flamed's processes, and can only take the last one of an attach."""
        for user_namespace in test_attacks.USER_NAMESPACES:
            with self.subTest(user_namespace=user_namespace):
                capabilities = self.TRACING if user_namespace else bundle.DOCKER_CAPABILITIES
                found, _ = self.caught("all", str(os.getpid()), user_namespace=user_namespace, capabilities=capabilities,
                                       pid_namespace=False)
                self.check(found)

    def test_who_could_trace_all_of_it(self):
        """In the host's pid namespace with CAP_SYS_PTRACE, and with fewer rights than flamed-attach begins with: flamed does not attach."""
        _, pid = self.beside("all", "0", user_namespace=False, capabilities=self.TRACING, pid_namespace=False)
        found = attach.attach(pid, "check")
        self.assertEqual(found["check"], str(-errno.EPERM), found.text)
        self.assertIn("CAP_SYS_PTRACE", found["error"])
        self.assertIn("symbols=memory", found["remedy"])
        self.assertEqual(attach.attach(pid)["attach"], str(-errno.EPERM))
