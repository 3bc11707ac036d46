# SPDX-License-Identifier: Apache-2.0
"""flamed on a kernel without newer system calls: a filter refuses the calls. Other lacks of old kernels (BPF helpers, map types) are not
tested here."""
import os
import signal

from harness import attach, bundle, jvm, paths, proc
from harness.daemon import Daemon
from harness.oldkernel import CALLS_OF_5_8, MOUNT_SETATTR, SETNS, lacking
from harness.spinning import WithSpinningJvm


class OldKernel(WithSpinningJvm):
    def container(self, **options) -> bundle.Container:
        return bundle.Container(paths.jdk(17), self.spin.folder, "-Drest=15", "-Xmx64m", "-cp", "/classes", self.spin.main, **options)

    def assert_attached(self, daemon: Daemon, pid: int) -> None:
        profile = daemon.profile(pid=pid, seconds=1, symbols="agent")
        self.assertTrue(profile.answer.headers["X-Flamed-Symbols"].startswith("agent"), str(profile.answer.headers))

    def test_calls_of_5_8(self):
        """It starts, reports that Landlock is missing, attaches, and restarts after a kill -9 of each process."""
        with Daemon(wrap=lacking(*CALLS_OF_5_8)) as daemon, self.container() as c:
            self.assertIn("the kernel has no Landlock", daemon.log())
            self.assert_attached(daemon, self.pid)
            self.assert_attached(daemon, c.pid)
            for name in ("flamed", "flamed-broker"):
                pair = list(proc.children(daemon.top())) # when one ends, the other is ended, too
                os.kill(next(pid for pid in pair if proc.exe(pid) == name), signal.SIGKILL)
                proc.wait_until(lambda: not any(proc.alive(pid) for pid in pair), 10, f"flamed and its broker are gone after {name}")
                daemon.wait_ready()
            self.assert_attached(daemon, c.pid)
            for pid in daemon.pids():
                limit = next(l for l in proc.read(f"/proc/{pid}/limits").splitlines() if l.startswith("Max open files"))
                self.assertLess(len(os.listdir(f"/proc/{pid}/fd")), 200, f"{proc.exe(pid)}: {limit}")

    def test_no_mount_setattr(self):
        """flamed's mounts in containers are read-only there, too."""
        with self.container(tmp="read-only", user_namespace=False, folders=("mnt", "media", "srv")) as c:
            found = attach.attach(c.pid, "mount", "allow", "tmp", wrap=lacking(f"{MOUNT_SETATTR}=ENOSYS"))
            self.assertTrue(found.done, found.text)
            self.assertGreater(found.number("methods"), 5)

    def test_no_setns_by_pidfd(self):
        """Namespaces cannot be entered: flamed does not attach to a container's JVM, with the reason. It attaches to another one."""
        with Daemon(wrap=lacking(f"{SETNS}=EINVAL")) as daemon, self.container() as c:
            self.assert_attached(daemon, self.pid)
            steps = daemon.get(f"/api/v1/jvms/{c.pid}/preflight").text
            self.assertIn("cannot enter by a pidfd", steps)
            self.assertIn("Linux 5.8", steps)
            profile = daemon.profile(pid=c.pid, seconds=1)
            self.assertTrue(profile.answer.headers["X-Flamed-Symbols"].startswith("memory"))

    def test_memory_files_may_not_be_executed(self):
        """The supervisor's filter allows the helper's way out of a file system without a mount point."""
        knob = "/proc/sys/vm/memfd_noexec"
        if not os.path.exists(knob):
            self.skipTest("this kernel has no vm.memfd_noexec")
        script = f'echo 2 >{knob} && echo "level $(cat {knob})" && exec "$@"'
        with Daemon(wrap=["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh"]) as daemon:
            if "level 2" not in daemon.log():
                self.skipTest("vm.memfd_noexec cannot be set here")
            enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
            with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.spin.folder, self.spin.main, wrap=enter) as inside:
                java = next(pid for pid in proc.descendants(inside.pid) if proc.exe(pid) == "java")
                ns_pid = proc.read(f"/proc/{java}/status").split("NSpid:")[1].split("\n")[0].split()[-1]
                self.assert_attached(daemon, int(ns_pid))
