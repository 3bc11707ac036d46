# SPDX-License-Identifier: Apache-2.0
"""With the option attach_mount, a file that cannot reach a JVM in another way is mounted in its container during the load. The mount is
over an empty folder, or over a read-only /tmp. No mount stays, even if one of flamed's processes is killed."""
import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import test_attach
import test_attacks
from harness import attach, bundle, fuse, jvm, paths, proc, snapshot
from harness.daemon import Daemon

FOLDERS = ("mnt", "media", "srv")

# Runs argv[2:] in the mount namespace of process argv[1]. It may call mount() and umount2() of the C library.
INSIDE = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
root = os.open(f"/proc/{sys.argv[1]}/root", os.O_PATH)
call("setns", os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY), 0x20000)
os.fchdir(root)
os.chroot(".")
exec(sys.argv[2])
"""


def our_mounts(pid: int) -> list[str]:
    return [line for line in proc.read(f"/proc/{pid}/mountinfo").splitlines() if " - tmpfs flamed-" in line]


def inside(pid: int, code: str) -> None:
    result = subprocess.run([sys.executable, "-c", INSIDE, str(pid), code], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr)


def settle() -> None:
    """Waits only for the helper's end, since each broker is a new one."""
    proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")


# Maps a libjvm.so, catches SIGQUIT, and then takes the folder argv[1] as its root.
WITHIN = r"""
import mmap, os, signal, sys, tempfile
signal.signal(signal.SIGQUIT, lambda *_: None)
with tempfile.TemporaryDirectory() as folder, open(folder + "/libjvm.so", "w+b") as f:
    f.truncate(4096)
    mapped = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
os.chroot(sys.argv[1])
os.chdir("/")
print("ready", flush=True)
sys.stdin.read()
"""


class HangingRoot(unittest.TestCase):
    HELD = 4 # seconds that the launcher waits for a mounter that is held

    def test_a_root_that_does_not_answer(self):
        """The root holds a mounter in the kernel, and the launcher for a moment. flamed does not attach to an owner that holds two until
        they are gone."""
        def mounters() -> list[int]:
            return [pid for pid in proc.descendants(os.getpid())[1:] if proc.comm(pid) == "flamed-mounter" and proc.alive(pid)]

        def started(out) -> list[str]:
            return re.findall(r"^step: (\S+)\nerrno: (\d+)$", proc.read(out.name), re.M)

        root = fuse.File("/etc/passwd")
        self.addCleanup(root.close)
        with subprocess.Popen(["unshare", "-m", sys.executable, "-c", WITHIN, root.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as fake, tempfile.NamedTemporaryFile("r", prefix="flamed-out.") as out:
            self.assertEqual(fake.stdout.readline(), "ready\n")
            root.silence("l")
            with subprocess.Popen([*attach.programs(), str(fake.pid), "mount", "0", "allow", "times=1000"], stdout=out) as probe:
                try:
                    refused = ("start", str(errno.EDQUOT))
                    with proc.Standstill() as machine:
                        proc.wait_until(lambda: refused in started(out), 60, "one is refused", 0.1)
                        took = machine.given()
                    print(f"{took:.1f} s", end=" ")
                    self.assertLess(took, 2 * (self.HELD + 1) + 10) # one attach begins per second
                    self.assertEqual(started(out)[:3], [("start", str(errno.ETIMEDOUT))] * 2 + [refused])
                    self.assertEqual(len(mounters()), 2)
                    root.answer()
                    proc.wait_until(lambda: started(out)[-1][0] == "mount", 20, "its folders are looked at again", 0.1)
                    self.assertLessEqual(len(mounters()), 1)
                finally:
                    root.answer()
                    probe.kill()
                    fake.stdin.close()


class Mounted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.spin = jvm.make_spin()

    def container(self, version: int, **options) -> bundle.Container:
        return bundle.Container(paths.jdk(version), self.spin.folder, *jvm.spin_options(self.spin), "-Xmx64m", "-cp", "/classes",
                                self.spin.main, **{"user_namespace": False, "folders": FOLDERS, **options})

    def unmount_proc(self, c: bundle.Container) -> None:
        """Unmounts /proc: the container then has no descriptor of another process."""
        inside(c.pid, 'call("umount2", b"/proc", 2)')

    def check(self, c: bundle.Container, *words: str, mode: str = "mount") -> None:
        """Checks that the agent is loaded and named, that nothing else changed, and that another attach uses the same copy."""
        before = snapshot.take(c.pid, c.output())
        for _ in range(2):
            found = attach.attach(c.pid, mode, "allow", *words)
            test_attach.check_named(self, found, self.spin)
            proc.wait_until(lambda: our_mounts(c.pid) == [] and attach.helpers(c.pid) == [], 2, "it is taken away")
        after = snapshot.take(c.pid, c.output())
        self.assertEqual([d for d in snapshot.differences(before, after)
                          if not test_attach.ALLOWED.match(d) and "/flamed-agent-1.so" not in d and "/flamed-stream" not in d], [])
        self.assertLessEqual(attach.mappings(c.pid, "flamed-agent"), 5)
        self.assertLessEqual(attach.mappings(c.pid, "flamed-stream"), 1)
        self.assertTrue(proc.alive(c.pid))

    def test_no_proc(self):
        """Neither a descriptor of flamed nor, with noexec, a copy can be loaded."""
        def one(version: int) -> None:
            with self.container(version) as c:
                self.unmount_proc(c)
                self.assertIn("was not loaded", attach.attach(c.pid)["error"])
                self.check(c)
        jvm.side_by_side(self, one)


    def test_read_only_tmp(self):
        """There is no place for a socket. With a mount over /tmp, attaching works again and again."""
        def one(version: int) -> None:
            with self.container(version, tmp="read-only") as c:
                found = attach.attach(c.pid, "load", "allow")
                self.assertEqual((found["step"], found["errno"]), ("trigger", str(errno.EROFS)), found.text)
                self.check(c, "tmp", mode="load")
                self.assertNotIn("Full thread dump", c.output())
        jvm.side_by_side(self, one)

    def test_read_only_tmp_and_no_proc(self):
        def one(version: int) -> None:
            with self.container(version, tmp="read-only", user_namespace=True, uid=1000) as c:
                self.unmount_proc(c)
                self.check(c, "tmp")
        jvm.side_by_side(self, one)

    def test_root_of_a_user_namespace(self):
        def one(version: int) -> None:
            with self.container(version, user_namespace=True, uid=0, capabilities=test_attach.DOCKER_CAPABILITIES) as c:
                self.unmount_proc(c)
                self.check(c)
        jvm.side_by_side(self, one)

    def test_not_allowed(self):
        """The starter of the broker forbids mounts: whatever flamed requests, nothing is mounted."""
        with self.container(17, tmp="read-only") as c:
            for mode, words in (("mount", ()), ("mount", ("tmp",)), ("load", ("tmp",)), ("perfmap", ("tmp",))):
                found = attach.attach(c.pid, mode, *words)
                self.assertIn("may not mount", found["error"], found.text)
                self.assertIn("--attach-mount", found["remedy"])

    def test_folders_that_are_left_alone(self):
        """Refused folders: a link, a mount, one that is not empty or writable by others, and one with mounts that propagate."""
        with self.container(17, folders=()) as c:
            self.unmount_proc(c)
            def refused(why: str) -> None:
                before = proc.read(f"/proc/{c.pid}/mountinfo")
                found = attach.attach(c.pid, "mount", "allow")
                self.assertEqual((found["step"], found["errno"]), ("mount", str(getattr(errno, why))), found.text)
                self.assertIn("/mnt", found["remedy"])
                self.assertEqual(proc.read(f"/proc/{c.pid}/mountinfo"), before)
                settle()
            path = c.rootfs + "/mnt"
            refused("ENOENT")
            os.symlink("/work", path)
            os.mkdir(c.rootfs + "/work")
            os.symlink("/tmp", c.rootfs + "/media")
            os.symlink("../../../..", c.rootfs + "/srv")
            refused("ENOTDIR")
            for name in FOLDERS:
                os.unlink(f"{c.rootfs}/{name}")
            os.mkdir(path)
            open(path + "/file", "wb").close()
            refused("ENOENT") # the reason of the last folder is reported
            os.unlink(path + "/file")
            os.rename(path, c.rootfs + "/srv")
            os.chmod(c.rootfs + "/srv", 0o775)
            refused("EPERM")
            os.chmod(c.rootfs + "/srv", 0o755)
            inside(c.pid, 'call("mount", b"x", b"/srv", b"tmpfs", 0, None)')
            refused("EXDEV")
            inside(c.pid, 'call("umount2", b"/srv", 2)')
            inside(c.pid, 'call("mount", None, b"/", None, 1 << 20, None)') # makes it shared
            refused("EXDEV")
            inside(c.pid, 'call("mount", None, b"/", None, 1 << 18, None)') # makes it private
            test_attach.check_named(self, attach.attach(c.pid, "mount", "allow"), self.spin)
            proc.wait_until(lambda: our_mounts(c.pid) == [], 2, "it is taken away")

    def test_a_tmp_that_is_left_alone(self):
        """Refused /tmp: a writable one, a non-empty one, or one that is no folder."""
        def refused(c: bundle.Container, why: int) -> None:
            before = proc.read(f"/proc/{c.pid}/mountinfo")
            found = attach.attach(c.pid, "load", "allow", "tmp")
            self.assertEqual((found["step"], found["errno"]), ("tmp", str(why)), found.text)
            self.assertIn("emptyDir", found["remedy"])
            self.assertEqual(proc.read(f"/proc/{c.pid}/mountinfo"), before)
            settle()
        with self.container(17) as c:
            refused(c, errno.EXDEV)
        with self.container(17, tmp="read-only", read_only=False, passwd=False) as c: # without hsperfdata
            refused(c, errno.EPERM)
        with self.container(17, tmp="none") as c:
            refused(c, errno.ENOENT)
            os.symlink("/mnt", c.rootfs + "/tmp")
            refused(c, errno.ENOTDIR)
            os.unlink(c.rootfs + "/tmp")
            os.mkdir(c.rootfs + "/tmp")
            os.mkdir(c.rootfs + "/tmp/something")
            refused(c, errno.ENOTEMPTY)


class Killed(test_attacks.Fake):
    """Killed during an attach to a JVM that never answers: no mount stays."""

    def begin(self, **options) -> tuple[bundle.Container, subprocess.Popen]:
        c = self.container("never", folders=FOLDERS, user_namespace=False, **options)
        probe = subprocess.Popen([*attach.programs(), str(c.pid), "mount", "0", "allow"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(probe.stdout.close)
        self.addCleanup(probe.wait)
        self.addCleanup(probe.kill)
        proc.wait_until(lambda: "helper: " in c.output(), 5, "the helper waits")
        self.assertEqual(len(our_mounts(c.pid)), 2)
        return c, probe

    def named(self, name: str) -> list[int]:
        attach.helpers() # reaps ended processes
        return [p for p in proc.descendants(os.getpid())[1:] if proc.alive(p) and proc.read(f"/proc/{p}/comm").strip() == name]

    def gone(self, c: bundle.Container) -> None:
        proc.wait_until(lambda: our_mounts(c.pid) == [], 3, "it is taken away")
        self.assertTrue(proc.alive(c.pid))

    def test_what_is_seen_of_it(self):
        """No mounted file may be written, or both executed and written. Only the JVM's user can open it."""
        c, _ = self.begin()
        root = f"/proc/{c.pid}/root/mnt"
        inside(c.pid, """
import errno
for path, why in (("/mnt/new", errno.EROFS), ("/mnt/stream/new", errno.EACCES)):
    os.setresuid(103, 103, 0)
    try:
        os.open(path, os.O_WRONLY | os.O_CREAT)
    except OSError as e:
        assert e.errno == why, (path, e)
    else:
        raise AssertionError(path)
    os.setresuid(0, 0, 0)
try:
    os.setresuid(104, 104, 0)
    os.open("/mnt/stream/flamed-stream", os.O_RDONLY)
except PermissionError:
    pass
else:
    raise AssertionError("another user")
""")
        options = {line.split()[4]: line.split()[5] for line in our_mounts(c.pid)}
        self.assertEqual(set(options), {"/mnt", "/mnt/stream"})
        self.assertLessEqual({"ro", "nosuid", "nodev"}, set(options["/mnt"].split(",")))
        self.assertLessEqual({"noexec", "nosuid", "nodev"}, set(options["/mnt/stream"].split(",")))
        self.assertEqual(os.stat(root + "/stream/flamed-stream").st_uid, c.host_uid)
        helper, = attach.helpers(c.pid)
        self.assertEqual(int(re.search(r"^CapEff:\s+(\w+)$", proc.read(f"/proc/{helper}/status"), re.M)[1], 16), 0)

    def test_the_helper(self):
        c, probe = self.begin()
        os.kill(attach.helpers(c.pid)[0], signal.SIGKILL)
        self.assertIn("step: killed", probe.communicate(timeout=8)[0])
        self.gone(c)

    def test_the_mounter(self):
        """The mounter is killed: another process removes the mount when the attach ends."""
        c, probe = self.begin()
        mounter, = self.named("flamed-mounter")
        os.kill(mounter, signal.SIGKILL)
        os.kill(attach.helpers(c.pid)[0], signal.SIGKILL)
        probe.communicate(timeout=8)
        self.gone(c)

    def test_the_launcher(self):
        c, _ = self.begin()
        for pid in self.named("flamed-launcher"):
            os.kill(pid, signal.SIGKILL)
        self.gone(c)

    def test_flamed(self):
        """The broker is killed, and its children end with it. The mounter lives as long as needed."""
        c, probe = self.begin()
        probe.kill()
        self.gone(c)
        proc.wait_until(lambda: attach.helpers() == [] and self.named("flamed-mounter") == [], 2, "all of it is gone")

    def test_all_at_once(self):
        """The mounter is killed first: the next start removes the mount, or else the next attach does."""
        c, probe = self.begin()
        for name in ("flamed-mounter", "flamed-launcher", "flamed-broker"):
            for pid in self.named(name):
                os.kill(pid, signal.SIGKILL)
        probe.kill()
        proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")
        self.assertEqual(len(our_mounts(c.pid)), 2)
        attach.attach(c.pid, "check")
        self.assertEqual(len(our_mounts(c.pid)), 2, "one that may not mount leaves it")
        attach.attach(c.pid, "check", "allow")
        self.gone(c)

    def test_the_container(self):
        c, probe = self.begin()
        subprocess.run(c.runc("kill", c.name, "KILL"), check=True)
        probe.communicate(timeout=8)
        proc.wait_until(lambda: self.named("flamed-mounter") == [], 3, "it ends with it")

    def test_swapped(self):
        """The folder below the mount can be renamed and replaced by a link: the mount is still removed."""
        c, probe = self.begin(read_only=False)
        inside(c.pid, 'os.rename("/media", "/other")')
        inside(c.pid, """
try:
    os.rename("/mnt", "/elsewhere")
except OSError:
    pass # the kernel keeps what is mounted over in its place
else:
    os.symlink("/other", "/mnt")
""")
        os.kill(attach.helpers(c.pid)[0], signal.SIGKILL)
        probe.communicate(timeout=8)
        self.gone(c)


class Whole(Mounted):
    """The whole of flamed. Without the option it does not attach, gives the reason and the remedy, and names from memory."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        attach.leave_orphans()
        cls.without = Daemon()
        cls.addClassCleanup(cls.without.stop)
        cls.allowed = Daemon("--attach-mount=yes")
        cls.addClassCleanup(cls.allowed.stop)

    def ways(self, name: str, **options) -> None:
        def one(version: int) -> None:
            with self.container(version, **options) as c:
                if name != "tmp":
                    self.unmount_proc(c)
                self.refused(c)
                self.done(c, name)
        jvm.side_by_side(self, one)

    def way(self, daemon: Daemon, pid: int) -> dict:
        proc.wait_until(lambda: all(s["ok"] for s in daemon.get(f"/api/v1/jvms/{pid}/preflight").json().get("steps", [])
                                    if s["step"] == "age"), 10, "it is old enough", interval=0.2)
        return next(s for s in daemon.get(f"/api/v1/jvms/{pid}/preflight").json()["steps"] if s["step"] == "way")

    def refused(self, c: bundle.Container) -> None:
        before = proc.read(f"/proc/{c.pid}/mountinfo")
        step = self.way(self.without, c.pid)
        self.assertFalse(step["ok"], step)
        self.assertIn("attach_mount", step["remedy"])
        profile = self.without.profile(pid=c.pid, seconds=2, symbols="agent")
        self.assertTrue(profile.answer.headers["X-Flamed-Symbols"].startswith("memory: an agent could not be used"))
        self.assertIn("attach_mount", " ".join(profile.warnings))
        self.assertGreaterEqual(profile.share(profile.of_thread("spinner"), lambda s: self.spin.method in s.names), 0.9)
        self.assertEqual(attach.mappings(c.pid, "flamed-stream"), 0)
        self.assertEqual(proc.read(f"/proc/{c.pid}/mountinfo"), before)

    def perf_map(self, pid: int):
        """Requests the map until it is this JVM's turn: one attach per second on a node."""
        while True:
            answer = self.allowed.get(f"/api/v1/jvms/{pid}/perf-map", symbols="agent")
            if answer.status != 409 or "another attach" not in answer.text:
                return answer

    def done(self, c: bundle.Container, name: str) -> None:
        mapped = attach.mappings(c.pid, "flamed-agent") # if the other way failed, a copy may have been loaded
        step = self.way(self.allowed, c.pid)
        self.assertTrue(step["ok"], step)
        self.assertIn("attach_mount", step["reason"])
        answer = self.perf_map(c.pid)
        self.assertEqual(answer.status, 200, answer)
        self.assertIn(self.spin.method, answer.text)
        profile = self.allowed.profile(pid=c.pid, seconds=3, symbols="agent")
        text = profile.answer.headers["X-Flamed-Symbols"]
        self.assertIn({"tmp": "with a /tmp that was mounted", "agent": "with an agent that was mounted",
                       "both": "with an agent and a /tmp that were mounted"}[name], text)
        stacks = profile.of_thread("spinner")
        self.assertGreaterEqual(profile.share(stacks, lambda s: self.spin.method in s.names), 0.95, profile.describe(stacks))
        proc.wait_until(lambda: our_mounts(c.pid) == [], 2, "it is taken away")
        self.assertLessEqual(attach.mappings(c.pid, "flamed-agent"), mapped + 5)
        self.assertTrue(proc.alive(c.pid))

    def test_no_proc(self):
        self.ways("agent")

    def test_no_proc_and_a_tmp_for_a_copy(self):
        """The agent can be loaded from there, but its memory cannot be opened."""
        self.ways("agent", tmp="exec")

    def test_read_only_tmp(self):
        self.ways("tmp", tmp="read-only")

    def test_read_only_tmp_and_no_proc(self):
        self.ways("both", tmp="read-only")

    test_root_of_a_user_namespace = test_not_allowed = None
    test_folders_that_are_left_alone = test_a_tmp_that_is_left_alone = None
