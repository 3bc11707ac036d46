# SPDX-License-Identifier: Apache-2.0
"""The agent, attached from the host as root to JVMs in containers of every kind. Names are right, with inlining and lines, and the
container sees nothing but the JVM's own socket. JDK 17 and 25."""
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import time
import typing
import unittest

from harness import attach, bundle, jvm, paths, proc, snapshot

DOCKER_CAPABILITIES = tuple("CAP_" + name for name in (
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
    "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"))
# Allowed differences: the JVM's socket and its folder's times, its listener's thread, flamed's mappings, and from JDK 21 on the JVM's own
# warning.
ALLOWED = re.compile(r"^(file /tmp(/\.java_pid\d+)?: |thread new: Attach Listener$|mapping new: \S+ /memfd:flamed-|"
                     r"output: \"?'?WARNING: A \{?JVM ?TI|output: 'WARNING: A Java agent has been loaded|"
                     r"output: 'WARNING: A JVM TI agent has been loaded)")

# Maps a libjvm.so, listens like a JVM, and prints the descriptors that its client holds.
LISTENER = r"""
import mmap, os, signal, socket, struct, tempfile
signal.signal(signal.SIGQUIT, lambda *_: None)
folder = tempfile.mkdtemp()
with open(folder + "/libjvm.so", "w+b") as f:
    f.truncate(4096)
    mapped = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
path = f"/tmp/.java_pid{os.getpid()}"
if os.path.lexists(path):
    os.unlink(path) # a JVM that was killed had this number: a JVM removes that, too, when it starts
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(4)
print("ready", flush=True)
connection, _ = listener.accept()
os.unlink(path)
os.unlink(folder + "/libjvm.so")
os.rmdir(folder)
connection.recv(200)
pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
print(*(os.readlink(f"/proc/{pid}/fd/{fd}").replace(" (deleted)", "") for fd in os.listdir(f"/proc/{pid}/fd")), flush=True)
connection.sendall(b"0\nreturn code: 0\n")
"""

# Maps a libjvm.so and answers SIGQUIT. It has locked memory, or almost as many mappings as allowed.
NEAR_A_LIMIT = r"""
import ctypes, mmap, os, signal, sys, tempfile
signal.signal(signal.SIGQUIT, lambda *_: None)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
with tempfile.TemporaryDirectory() as folder, open(folder + "/libjvm.so", "w+b") as f:
    f.truncate(4096)
    mapped = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
if sys.argv[1] == "locked":
    at = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert libc.mlock(at, 4096) == 0
else:
    most = min(int(open("/proc/sys/vm/max_map_count").read()), 100_000) - 100
    for i in range(most - sum(1 for _ in open("/proc/self/maps"))):
        libc.mmap(None, 4096, i % 2, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
print("ready", flush=True)
sys.stdin.read()
"""


def settle() -> None:
    """Waits: each broker starts one attach per second on a node, and test machines are small."""
    time.sleep(0.2)


def set_limit(path: str, limit: int | str) -> None:
    with open(path, "w", encoding="ascii") as f:
        f.write(str(limit))


def check_named(test: unittest.TestCase, found: attach.Outcome, spin: jvm.Spin) -> None:
    """Checks the generated method with both callees inlined, and lines of each within its source."""
    test.assertTrue(found.done, found.text[:2000])
    test.assertEqual(found["problem"], "", found.text[:2000])
    test.assertEqual(found["agent_dropped"], "0")
    for callee, call, lines in ((spin.first, spin.call_first, spin.first_lines),
                                (spin.second, spin.call_second, spin.second_lines)):
        stacks = [code[2:] for code in found.code
                  if len(code) == 4 and code[2].startswith(callee + ":") and code[3].startswith(spin.method + ":")]
        test.assertTrue(stacks, f"{callee} inlined into {spin.method}: {found.text[:3000]}")
        for inner, outer in stacks:
            test.assertIn(int(inner.rpartition(":")[2]), lines)
            test.assertEqual(int(outer.rpartition(":")[2]), call)


class Kinds(unittest.TestCase):
    """Checks in each kind of container. test_attach_kinds.py has more kinds."""

    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.spin = jvm.make_spin()

    def arguments(self, classpath: str = "/classes") -> list[str]:
        return [*jvm.spin_options(self.spin), "-Drest=200", "-Xmx64m", "-cp", classpath, self.spin.main]

    def check(self, container) -> None:
        before = snapshot.take(container.pid, container.output())
        found = attach.attach(container.pid)
        check_named(self, found, self.spin)
        self.assertTrue(proc.alive(container.pid))
        proc.wait_until(lambda: attach.helpers(container.pid) == [], 2, "the helper is gone")
        after = snapshot.take(container.pid, container.output())
        self.assertEqual([d for d in snapshot.differences(before, after) if not ALLOWED.match(d)], [])
        self.assertLessEqual(attach.mappings(container.pid, "flamed-agent"), 5)
        self.assertIn(f"/tmp/.java_pid{proc.ns_pids(container.pid)[-1]}", after.files)
        self.assertFalse([f for f in after.files if ".attach_pid" in f])
        # By another broker, as after a restart: the same copy of the agent.
        again = attach.attach(container.pid)
        check_named(self, again, self.spin)
        self.assertEqual(again["started"], "0")
        self.assertLessEqual(attach.mappings(container.pid, "flamed-agent"), 5)
        self.assertLessEqual(attach.mappings(container.pid, "flamed-stream"), 1)
        self.assertLessEqual(container.output().count("WARNING"), 4, container.output())

    def each(self, **options) -> None:
        def one(version: int) -> None:
            with bundle.Container(paths.jdk(version), self.spin.folder, *self.arguments(), **options) as c:
                self.check(c)
        jvm.side_by_side(self, one, jvm.some(25, 17))


class Matrix(Kinds):
    def test_read_only_root_and_noexec_tmp(self):
        self.each(user_namespace=False)

    def test_root_with_dockers_capabilities(self):
        self.each(user_namespace=False, uid=0, capabilities=DOCKER_CAPABILITIES)

    def test_uid_1000_of_a_user_namespace(self):
        self.each(uid=1000)

    def test_hidepid_2(self):
        self.each(hidepid=2)

    @jvm.further_case
    def test_overlay_root(self):
        self.each(user_namespace=False, overlay=True, read_only=False)

    def test_little_memory(self):
        self.each(user_namespace=False, memory=128 << 20)

    def test_two_pid_namespaces(self):
        def one(version: int) -> None:
            with bundle.NestedPids(paths.jdk(version), self.spin.folder, *self.arguments(".")) as c:
                check_named(self, attach.attach(c.pid), self.spin)
                self.assertTrue(proc.alive(c.pid))
        jvm.side_by_side(self, one, jvm.some(17, 25))

    def test_a_time_namespace(self):
        """Its clock is a day ahead. The helper computes its deadline by this clock once it has joined the namespace."""
        with jvm.Jvm(paths.jdk(17), *self.arguments(self.spin.folder),
                     wrap=["unshare", "--time", "--monotonic", "86400", "--boottime", "86400", "--fork", "--kill-child"]) as j:
            pid = proc.find_jvm(j.pid)
            self.assertNotEqual(os.stat(f"/proc/{pid}/ns/time").st_ino, os.stat("/proc/self/ns/time").st_ino)
            found = attach.attach(pid)
            check_named(self, found, self.spin)
            self.assertLess(found.number("helper_us"), 10_000_000, found.text[:500])

    def test_a_copy_of_the_agent(self):
        """Memory files may not be loaded, so the agent lies in the container's /tmp for a moment. Another attach uses the same copy. If
        /tmp forbids execution, the JVM reports it. A file of another user in its place stays untouched."""
        def one(version: int) -> None:
            with bundle.Container(paths.jdk(version), self.spin.folder, *self.arguments(), user_namespace=False, tmp="exec") as c:
                before = snapshot.take(c.pid, c.output())
                check_named(self, attach.attach(c.pid, "copy"), self.spin)
                check_named(self, attach.attach(c.pid, "copy"), self.spin)
                after = snapshot.take(c.pid, c.output())
                self.assertEqual([d for d in snapshot.differences(before, after)
                                  if not ALLOWED.match(d) and ".flamed-agent-1.so (deleted)" not in d], [])
                self.assertLessEqual(attach.mappings(c.pid, "flamed-agent"), 5)
                path = f"/proc/{c.pid}/root/tmp/.flamed-agent-1.so"
                open(path, "wb").close() # of root, in a sticky folder
                found = attach.attach(c.pid, "copy")
                self.assertEqual(found["step"], "copy", found.text)
                self.assertTrue(os.path.exists(path))
        jvm.side_by_side(self, one, jvm.some(25, 17))
        with bundle.Container(paths.jdk(17), self.spin.folder, *self.arguments(), user_namespace=False) as c:
            found = attach.attach(c.pid, "copy")
            self.assertIn("was not loaded", found["error"], found.text)
            self.assertFalse([f for f in snapshot.take(c.pid, "").files if "flamed" in f])

    def test_the_proc_of_another_namespace(self):
        """A JVM in a pid namespace with the /proc of the namespace above. It sees the helper's number in that one."""
        def one(version: int) -> None:
            with bundle.NestedPids(paths.jdk(version), self.spin.folder, *self.arguments("."), own_proc=False) as c:
                check_named(self, attach.attach(c.pid), self.spin)
        jvm.side_by_side(self, one, jvm.some(17, 25))

    def test_what_another_pid_1_left_in_the_same_tmp(self):
        """A file of another user: HotSpot cannot put its own socket there. A file of the same user: it can, and attaching works."""
        for uid, done in ((65534, False), (103, True)):
            with self.subTest(uid=uid), \
                    bundle.NestedPids(paths.jdk(17), self.spin.folder, *self.arguments(".")) as c:
                path = c.tmp + "/.java_pid1"
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(path)
                os.chown(path, uid, uid)
                found = attach.attach(c.pid)
                self.assertEqual(found.done, done, found.text)
                if not done:
                    self.assertEqual((found["step"], found["started"]), ("socket", "0"), found.text)
                    self.assertIn("another user", found["error"])
                    self.assertIn("remove it", found["remedy"])
                self.assertTrue(proc.alive(c.pid))
                self.assertNotIn("Full thread dump", c.output())


class Care(jvm.WithClasses):
    """JVMs that flamed must not touch, or that do not answer: no JVM ends or prints anything, and flamed gives the reason."""
    sources = ("Idle.java",)

    def start(self, version: int, *options: str) -> jvm.Jvm:
        j = jvm.Jvm(paths.jdk(version), *options, "-Xmx32m", "-cp", self.classes.folder, "Idle", "1")
        self.addCleanup(j.stop)
        return j

    def refused(self, j: jvm.Jvm, *reasons: str, modes: tuple[str, ...] = ("check", "load")) -> None:
        for mode in modes:
            began = time.monotonic()
            found = attach.attach(j.pid, mode)
            self.assertLess(time.monotonic() - began, 35)
            self.assertFalse(found.done or found["check"] == "0", found.text)
            self.assertTrue(any(reason in found["error"] for reason in reasons), found.text)
            self.assertNotEqual(found["remedy"], "", found.text)
        self.assertTrue(proc.alive(j.pid))
        proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")

    def unharmed(self, j: jvm.Jvm) -> None:
        self.assertTrue(proc.alive(j.pid))
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{j.pid}"))
        out, err = j.stop()
        self.assertEqual(out.replace("started", "").strip(), "", "nothing was printed")
        self.assertEqual(err.strip(), "")

    def test_reduced_signals(self):
        for version in jvm.some(17, 25):
            with self.subTest(jdk=version):
                j = self.start(version, "-Xrs")
                self.refused(j, "SIGQUIT")
                self.unharmed(j)

    def test_stopped(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version):
                j = self.start(version)
                proc.stop(j.pid)
                self.refused(j, "stopped")
                os.kill(j.pid, signal.SIGCONT)
                time.sleep(0.5)
                self.unharmed(j)

    def test_no_dynamic_agents(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version):
                j = self.start(version, "-XX:-EnableDynamicAgentLoading")
                self.refused(j, "EnableDynamicAgentLoading", modes=("load",))
                if version == 25: # the JVM's own map needs no agent
                    found = attach.attach(j.pid, "perfmap")
                    self.assertTrue(found.done, found.text)
                    self.assertIn("0x", found.text)
                self.unharmed(j)

    def test_young(self):
        """A JVM that is attached to within milliseconds of its start is either skipped or runs on unchanged."""
        for version in jvm.some(17, 25):
            for delay in (0, 0.005, 0.02, 0.05):
                with self.subTest(jdk=version, delay=delay):
                    j = jvm.Jvm(paths.jdk(version), "-Xmx32m", "-cp", self.classes.folder, "Idle", "1", start="")
                    self.addCleanup(j.stop)
                    time.sleep(delay)
                    attach.attach(j.pid)
                    self.assertEqual(j.process.stdout.readline().strip(), "started")
                    self.assertTrue(proc.alive(j.pid))
                    out, _ = j.stop()
                    self.assertNotIn("Full thread dump", out)

    def test_frozen(self):
        bundle.need_runc()
        spin = jvm.make_spin()
        with bundle.Container(paths.jdk(17), spin.folder, *jvm.spin_options(spin), "-Drest=200", "-Xmx64m", "-cp", "/classes",
                              spin.main) as c:
            subprocess.run(c.runc("pause", c.name), check=True)
            try:
                found = attach.attach(c.pid, "check")
                self.assertIn("frozen", found["error"], found.text)
                self.assertFalse(attach.attach(c.pid).done)
            finally:
                subprocess.run(c.runc("resume", c.name), check=True)
            time.sleep(0.3)
            self.assertTrue(proc.alive(c.pid))
            self.assertNotIn("Full thread dump", c.output())

    def test_no_room_for_a_thread(self):
        """A JVM that cannot start its listener's thread ends itself. So flamed does not attach if its container has reached its limit of
        processes."""
        bundle.need_runc()
        spin = jvm.make_spin()
        with bundle.Container(paths.jdk(17), spin.folder, *jvm.spin_options(spin), "-Drest=200", "-Xmx64m", "-cp", "/classes",
                              spin.main) as c:
            most = bundle.cgroup_file(c.pid, "pids", "pids.max")
            set_limit(most, proc.read(bundle.cgroup_file(c.pid, "pids", "pids.current")))
            found = attach.attach(c.pid, "check")
            self.assertIn("limit of processes", found["error"], found.text)
            self.assertFalse(attach.attach(c.pid).done)
            time.sleep(0.3)
            self.assertTrue(proc.alive(c.pid), c.output())
            self.assertNotIn("unable to create native thread", c.output())
            set_limit(most, "max")
            settle()
            self.assertTrue(attach.attach(c.pid).done)

    def test_no_room_for_its_stack(self):
        """The same if its own limits leave no memory for that thread's stack."""
        for limit, field, reason in ((resource.RLIMIT_AS, "VmSize", "address space"), (resource.RLIMIT_DATA, "VmData", "limit of data")):
            with self.subTest(limit=reason):
                j = self.start(17)
                used = int(re.search(field + r":\s+(\d+) kB", proc.read(f"/proc/{j.pid}/status"))[1]) << 10
                resource.prlimit(j.pid, limit, (used + (64 << 10), resource.RLIM_INFINITY))
                self.refused(j, reason)
                resource.prlimit(j.pid, limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                self.assertTrue(attach.attach(j.pid).done)
                self.unharmed(j)

    def test_no_room_in_its_container(self):
        bundle.need_runc()
        with bundle.Container(paths.jdk(17), self.classes.folder, "-Xmx32m", "-cp", "/classes", "Idle", "1") as c:
            most = bundle.cgroup_file(c.pid, "memory", "memory.max", "memory.limit_in_bytes")
            before = proc.read(most)
            set_limit(most, bundle.memory_used(c.pid) + (2 << 20))
            for mode in ("check", "load"):
                found = attach.attach(c.pid, mode)
                self.assertIn("limit of memory", found["error"], found.text)
            self.assertTrue(proc.alive(c.pid), c.output())
            set_limit(most, before)
            self.assertTrue(attach.attach(c.pid).done)

    def test_no_room_by_other_limits(self):
        """By its locked memory and its mappings, in a process that does nothing else."""
        for what, reason in (("locked", "limit of locked memory"), ("mappings", "limit of mappings")):
            with self.subTest(limit=what), subprocess.Popen([sys.executable, "-c", NEAR_A_LIMIT, what], stdin=subprocess.PIPE,
                                                            stdout=subprocess.PIPE, text=True) as p:
                self.assertEqual(p.stdout.readline(), "ready\n")
                if what == "locked":
                    resource.prlimit(p.pid, resource.RLIMIT_MEMLOCK, (1 << 20, 1 << 20))
                found = attach.attach(p.pid, "check")
                self.assertIn(reason, found["error"], found.text)
                p.stdin.close()

    def test_another_listens_in_its_place(self):
        """A socket with the right name and user belongs to another process: it gets no request."""
        j = self.start(17)
        path = f"/tmp/.java_pid{j.pid}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
            listener.listen(4)
            listener.settimeout(5)
            found = attach.attach(j.pid)
            self.assertEqual(found["step"], "peer", found.text)
            connection, _ = listener.accept()
            with connection:
                self.assertEqual(connection.recv(100), b"", "no byte was sent to it")
        os.unlink(path)
        self.unharmed(j)

    def test_what_is_no_socket_in_its_place(self):
        for kind in ("file", "link", "fifo"):
            with self.subTest(kind=kind):
                j = self.start(17)
                path = f"/tmp/.java_pid{j.pid}"
                if kind == "file":
                    open(path, "wb").close()
                elif kind == "link":
                    os.symlink("/etc/passwd", path)
                else:
                    os.mkfifo(path)
                try:
                    self.refused(j, "not a socket", "another user", modes=("load",))
                finally:
                    os.unlink(path)
                self.unharmed(j)

    def test_what_can_be_had_of_the_helper(self):
        """Processes with the JVM's user may inspect the helper while it waits: it holds no file of the host."""
        listener = subprocess.Popen([sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        self.assertEqual(listener.stdout.readline(), "ready\n")
        found = attach.attach(listener.pid)
        self.assertEqual(found["step"], "done", found.text)
        links = listener.stdout.readline().split()
        listener.stdout.close()
        self.assertIn("/memfd:flamed-agent", " ".join(links))
        for link in links:
            self.assertTrue(link.startswith(("/memfd:flamed-", "pipe:", "socket:")), links)

    def test_a_user_without_a_name(self):
        """A user namespace without mapped users has no user to become: the helper enters nothing."""
        j = jvm.Jvm(paths.jdk(17), "-Xmx32m", "-cp", self.classes.folder, "Idle", "1", wrap=["unshare", "--user"])
        self.addCleanup(j.stop)
        self.refused(j, "no name in its own user namespace")
        self.unharmed(j)

    def test_no_jvm(self):
        with subprocess.Popen(["sleep", "60"]) as p:
            found = attach.attach(p.pid)
            self.assertIn("libjvm", found["error"])
            p.kill()

    def test_it_ends_while_being_attached_to(self):
        for version in jvm.some(25, 17):
            for delay in (0.0, 0.01, 0.03, 0.06, 0.1):
                with self.subTest(jdk=version, delay=delay):
                    j = self.start(version)
                    probe = subprocess.Popen([*attach.programs(), str(j.pid), "load"], stdout=subprocess.PIPE, text=True)
                    time.sleep(delay)
                    j.process.kill()
                    text, _ = probe.communicate(timeout=40)
                    self.assertIn("error:", text)
                    proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")


# The whole heap is allocated at the start, and memory of the C library is freed.
CHURN_OPTIONS = ("-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:ReservedCodeCacheSize=16m")
CHURN_ENVIRONMENT = ("MALLOC_ARENA_MAX=1", "MALLOC_TRIM_THRESHOLD_=65536")


def churning(version: int, classes: jvm.Classes) -> jvm.Jvm:
    """A JVM that compiles and drops code all the time."""
    return jvm.Jvm(paths.jdk(version), *CHURN_OPTIONS, "-cp", classes.folder, "Churn", "20", "10", wrap=["env", *CHURN_ENVIRONMENT])


class Lease(jvm.WithClasses):
    """After a kill of flamed, no process of it runs on."""
    sources = ("ChurnBody000000.java", "Churn.java")

    def test_killed_while_streaming(self):
        def one(version: int) -> None:
            with churning(version, self.classes) as j:
                holding = attach.Holding(j.pid)
                self.assertTrue(holding.done)
                self.assertEqual(attach.mappings(j.pid, "flamed-stream"), 1)
                time.sleep(1)
                with proc.Standstill() as machine:
                    holding.kill()
                    # The first event after the lease unmaps the memory; no further event is delivered.
                    proc.wait_until(lambda: attach.mappings(j.pid, "flamed-stream") == 0, 20, "the agent ends")
                    took = machine.given()
                self.assertLess(took, 7)
                self.assertTrue(proc.alive(j.pid))
        jvm.side_by_side(self, one, jvm.some(25, 17))

    def test_code_comes_and_goes(self):
        """Code compiled and dropped during the stream is reported, with unloads."""
        with jvm.Jvm(paths.jdk(17), "-Xmx128m", "-cp", self.classes.folder, "Churn", "20", "10", wrap=["env", "MALLOC_ARENA_MAX=1", "MALLOC_TRIM_THRESHOLD_=65536"]) as j:
            found = attach.attach(j.pid, seconds=4)
            self.assertTrue(found.done, found.text[:1000])
            self.assertGreater(found.number("unloads"), 5, found.text[:1000])
            self.assertGreater(found.number("events"), found.number("replayed"))


def probed(pid: int) -> str:
    """Attaches by a broker of its own, as after a restart of flamed. Returns the error."""
    found = attach.attach(pid)
    return "" if found.done and not found["problem"] else found.text[:1000]


def attach_often(test: unittest.TestCase, pid: int, times: int, one: typing.Callable[[int], str] = probed) -> None:
    """The JVM lives on, and repeated attaches do not make it grow. After a third of them it has the memory for its own work. It may once
    grow later on its own (a compiler's memory, which it keeps). A leak would grow again. Then two thirds more are compared."""
    lines, memory, third = [], [], -(-times // 3)

    def some_more(count: int) -> tuple[float, float]:
        """Returns medians, since a collection may free memory at any moment."""
        for _ in range(count):
            test.assertEqual(one(pid), "", f"attach {len(lines)}")
            test.assertTrue(proc.alive(pid), f"after attach {len(lines)}")
            lines.append(len(proc.read(f"/proc/{pid}/maps").splitlines()))
            memory.append(proc.memory_kib(pid, "RssAnon"))
        return statistics.median(memory[-count:]), statistics.median(lines[-count:])

    some_more(third)
    for _ in range(2):
        (then_kib, then_mappings), (kib, mappings) = some_more(third), some_more(third)
        print(f"{len(lines)} attaches: {then_kib:.0f} KiB and {then_mappings:.0f} mappings in the last third but one, {kib:.0f} KiB and "
              f"{mappings:.0f} in the last")
        if kib - then_kib < 8 << 10:
            break
    test.assertLess(kib - then_kib, 8 << 10)
    test.assertLess(mappings, then_mappings + 30)
    test.assertLessEqual(attach.mappings(pid, "flamed-agent"), 5)


class Churn(jvm.WithClasses):
    """Attaches again and again while code is compiled and dropped all the time."""
    sources = ("ChurnBody000000.java", "Churn.java")

    def test_many_attaches(self):
        total = int(os.environ.get("FLAMED_ATTACHES", "30"))
        versions = jvm.some(17, 25)

        def one(version: int) -> None:
            with churning(version, self.classes) as j:
                attach_often(self, j.pid, total // len(versions))
        jvm.side_by_side(self, one, versions)
