# SPDX-License-Identifier: Apache-2.0
"""Containers by runc, made only of the host's JDK and libraries, bound read-only."""
import contextlib
import glob
import json
import os
import platform
import secrets
import shutil
import subprocess
import tempfile
import unittest

from . import paths, proc

LIBRARIES = ["libc.so.6", "libm.so.6", "libz.so.1", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libstdc++.so.6",
             "libgcc_s.so.1"]
MACHINE = platform.machine()
LOADER = {"x86_64": "/lib64/ld-linux-x86-64.so.2"}.get(MACHINE, f"/lib/ld-linux-{MACHINE}.so.1")
CONFIGS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io" # files of containerd about containers
ID_BASE = 100000 # uid 0 of the test's user namespaces is this uid on the host


def need_runc() -> None:
    paths.need_root()
    paths.need("runc")


def library(name: str) -> str:
    for folder in (f"/lib/{MACHINE}-linux-gnu", f"/usr/lib/{MACHINE}-linux-gnu", "/lib64"):
        if os.path.exists(f"{folder}/{name}"):
            return f"{folder}/{name}"
    raise unittest.SkipTest(f"no {name} on this machine")


def binds(home: str, classes: str | None) -> list[tuple[str, str]]:
    """Returns (source on the host, destination in the container) of all files that a JVM needs."""
    found = [(home, home)]
    found += [(path, path) for path in glob.glob("/etc/java-*-openjdk") if f"java-{feature(home)}-openjdk" in path]
    for name in LIBRARIES:
        path = library(name)
        found.append((os.path.realpath(path), path))
    found.append((os.path.realpath(LOADER), LOADER))
    if classes:
        found.append((classes, "/classes"))
    return found


def feature(home: str) -> int:
    return next((version for version, path in paths.jdks().items() if path == home), 0)


def skeleton(root: str, wanted: list[tuple[str, str]], *, tmp: bool, passwd_uid: int | None) -> None:
    """Makes folders and empty files for everything that will be bound, so that the runtime makes none."""
    for folder in ("proc", "dev", "sys", "etc"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    if tmp:
        os.makedirs(os.path.join(root, "tmp"), exist_ok=True)
        os.chmod(os.path.join(root, "tmp"), 0o1777)
    for source, destination in wanted:
        path = os.path.join(root, destination.lstrip("/"))
        if os.path.isdir(source):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb"):
                pass
    if passwd_uid is not None:
        path = os.path.join(root, "etc/passwd")
        if os.path.exists(path):
            os.unlink(path) # it may link into the cache
        with open(path, "w", encoding="ascii") as f:
            f.write(f"root:x:0:0::/:/bin/sh\napp:x:{passwd_uid}:{passwd_uid}::/:/bin/sh\n")


# Calls that the default profiles of container runtimes forbid to processes without capabilities.
FORBIDDEN_CALLS = ["acct", "add_key", "bpf", "clock_settime", "delete_module", "fanotify_init", "finit_module", "fsconfig",
                   "fsmount", "fsopen", "fspick", "init_module", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "mount",
                   "mount_setattr", "move_mount", "name_to_handle_at", "open_by_handle_at", "open_tree", "perf_event_open",
                   "pidfd_getfd", "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace",
                   "quotactl", "reboot", "request_key", "setdomainname", "sethostname", "setns", "settimeofday", "swapoff",
                   "swapon", "syslog", "umount2", "unshare", "userfaultfd", "vhangup"]


# Docker's default capabilities, its rules for devices, and the calls that its profile allows since Linux 4.8 or with CAP_SYS_PTRACE.
DOCKER_CAPABILITIES = tuple("CAP_" + name for name in (
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP", "NET_BIND_SERVICE",
    "SYS_CHROOT", "KILL", "AUDIT_WRITE"))
ALL_CAPABILITIES = tuple("CAP_" + name for name in (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST "
    "NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE "
    "SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM "
    "BLOCK_SUSPEND AUDIT_READ").split())
DOCKER_DEVICES = [{"allow": False, "access": "rwm"},
                  *({"allow": True, "type": kind, "access": "m"} for kind in "cb"),
                  *({"allow": True, "type": "c", "major": major, "minor": minor, "access": "rwm"}
                    for major, minor in ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2)))]
DOCKER_TRACING = ("ptrace", "process_vm_readv", "process_vm_writev")
DOCKER_TRACING_CAPABLE = ("kcmp", "pidfd_getfd", "process_madvise")


MASKED = {"maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"],
          "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]}


def mounts(wanted: list[tuple[str, str]], tmp: str = "noexec", hidepid: int = 0) -> list[dict]:
    """Returns the mounts of a container's configuration. TMP: as in Container."""
    return [
        {"destination": "/proc", "type": "proc", "source": "proc",
         "options": ["nosuid", "noexec", "nodev"] + ([f"hidepid={hidepid}"] if hidepid else [])},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
        *([{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
            "options": ["nosuid", "nodev", tmp, "mode=1777", "size=64m"]}] if tmp in ("exec", "noexec") else []),
        *({"destination": destination, "type": "bind", "source": source, "options": ["rbind", "ro", "nosuid", "nodev"]}
          for source, destination in wanted)]


def seccomp_profile(allowed: tuple[str, ...] = ()) -> dict:
    names = [name for name in FORBIDDEN_CALLS if name not in allowed]
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [f"SCMP_ARCH_{MACHINE.upper()}"] + ["SCMP_ARCH_X86"] * (MACHINE == "x86_64"),
            "syscalls": [{"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}


# crun refuses a hybrid of both versions of control groups: it sees only version 1.
CRUN = ("unshare", "-m", "--propagation", "private", "sh", "-ec",
        "[ ! -d /sys/fs/cgroup/unified ] || umount /sys/fs/cgroup/unified; exec crun \"$@\"", "sh")


class Container:
    """A running container with one JVM, started by `runc run -d`, or by another runtime with the same arguments."""
    own_root = True # no other process writes there
    runtime: tuple[str, ...] = ("runc",)

    def __init__(self, home: str, classes: str, *arguments: str, uid: int = 103, user_namespace: bool = True,
                 read_only: bool = True, tmp: str = "noexec", hidepid: int = 0, passwd: bool = True,
                 network_namespace: bool = True, capabilities: tuple[str, ...] = (), memory: int = 512 << 20, cpus: float = 0,
                 cgroups_path: str = "", root: str | None = None, executable: str | None = None, seccomp: bool = False,
                 overlay: bool = False, environment: tuple[str, ...] = (),
                 folders: tuple[str, ...] = (), docker: bool = False, pid_namespace: bool = True, cgroups: bool = False,
                 name: str = ""):
        """TMP: "noexec", "exec", "read-only" (a folder of the root), "none" (no /tmp at all). ROOT: a whole root file system to use
        unchanged, with its own JDK, in place of the host's JDK bound into an empty one. SECCOMP: with a filter like that of container
        runtimes. OVERLAY: the root is an overlay over the folder. FOLDERS: empty ones right below the root. CPUS: a limit; 0: none.
        DOCKER: with Docker's device rules, and with its filter if the container lacks CAP_SYS_ADMIN. PID_NAMESPACE: false: shares the
        host's. CGROUPS: it may write its own cgroups. NAME: another container of this name must have ended."""
        need_runc()
        self.folder = tempfile.mkdtemp(prefix="flamed-runc.")
        os.chmod(self.folder, 0o755)
        self.name = name or "flamed-test-" + secrets.token_hex(4)
        self.rootfs = os.path.join(self.folder, "rootfs")
        wanted = [(classes, "/classes")] if root else binds(home, classes)
        os.mkdir(self.rootfs, 0o755)
        if root:
            subprocess.run(["cp", "-al", root + "/.", self.rootfs], check=True) # links: no file of it is written
        skeleton(self.rootfs, wanted, tmp=tmp != "none", passwd_uid=uid if passwd else None)
        for folder in folders:
            os.mkdir(os.path.join(self.rootfs, folder), 0o755)
        config = {
            "ociVersion": "1.0.2", "hostname": "flamed-test", "root": {"path": "rootfs", "readonly": read_only},
            "process": {
                "terminal": False, "user": {"uid": uid, "gid": uid}, "cwd": "/", "noNewPrivileges": True,
                "env": ["PATH=/usr/bin:/bin", *environment],
                "capabilities": {kind: list(capabilities) for kind in ("bounding", "effective", "permitted")},
                "args": [executable or home + "/bin/java", *arguments],
            },
            "mounts": mounts(wanted, tmp, hidepid),
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "cgroup")],
                "resources": {"memory": {"limit": memory}, "devices": [{"allow": False, "access": "rwm"}]},
                **MASKED,
            },
        }
        if cpus:
            # Shares of CPU: on a busy machine, too, its limit must stop it, and not other programs.
            config["linux"]["resources"]["cpu"] = {"quota": int(cpus * 100000), "period": 100000, "shares": 65536}
        if network_namespace:
            config["linux"]["namespaces"].append({"type": "network"})
        if seccomp:
            config["linux"]["seccomp"] = seccomp_profile()
        if docker:
            config["linux"]["resources"]["devices"] = DOCKER_DEVICES
        if docker and "CAP_SYS_ADMIN" not in capabilities:
            tracing = DOCKER_TRACING_CAPABLE if "CAP_SYS_PTRACE" in capabilities else ()
            config["linux"]["seccomp"] = seccomp_profile((*DOCKER_TRACING, *tracing))
        if not pid_namespace:
            config["linux"]["namespaces"].remove({"type": "pid"})
        if not pid_namespace and user_namespace: # it may not mount the host's
            config["mounts"][0] = {"destination": "/proc", "type": "bind", "source": "/proc", "options": ["rbind"]}
        self.overlaid = os.path.join(self.folder, "merged") if overlay else ""
        if overlay:
            for name in ("merged", "upper", "work"):
                os.mkdir(self.path(name), 0o755)
            subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={self.rootfs},upperdir={self.path('upper')},"
                            f"workdir={self.path('work')}", self.overlaid], check=True)
            config["root"]["path"] = "merged"
        if user_namespace:
            mapping = [{"containerID": 0, "hostID": ID_BASE, "size": 65536}]
            config["linux"]["namespaces"].append({"type": "user"})
            config["linux"]["uidMappings"] = config["linux"]["gidMappings"] = mapping
        if cgroups:
            config["mounts"].append({"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["rw"]})
        if cgroups_path:
            config["linux"]["cgroupsPath"] = cgroups_path
        with open(os.path.join(self.folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        self.host_uid = uid + (ID_BASE if user_namespace else 0)
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            result = subprocess.run(self.runc("run", "-d", "--pid-file", self.path("pid"), "-b", self.folder, self.name),
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            if result.returncode != 0:
                raise RuntimeError(f"{self.runtime}: {self.output()}")
            self.pid = int(proc.read(self.path("pid")))
            proc.wait_until(lambda: "started\n" in self.output(), 20, f"the JVM prints 'started': {self.output()}")
        except BaseException:
            self.stop()
            raise

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def runc(self, *arguments: str) -> list[str]:
        return [*self.runtime, "--root", self.path("state"), *arguments]

    def output(self) -> str:
        """Returns all output of the JVM so far, stdout and stderr."""
        return proc.read(self.path("out")) + proc.read(self.path("err"))

    def stop(self) -> None:
        subprocess.run(self.runc("delete", "-f", self.name), capture_output=True)
        if self.overlaid:
            subprocess.run(["umount", self.overlaid], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Container":
        return self

    def __exit__(self, *_) -> None:
        self.stop()


class Asked(Container):
    """A container with a program that takes a file as its last argument, reads lines from it, and answers each by a line."""

    def __init__(self, home: str, classes: str, *arguments: str, **kind):
        pipe = os.path.join(classes, "asked")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
            os.chmod(pipe, 0o666)
        self.pipe = os.open(pipe, os.O_RDWR)
        self.lines = 1 # lines written so far: "started"
        super().__init__(home, classes, *arguments, "/classes/asked", **kind)

    def ask(self, line: str, seconds: float = 60) -> str:
        """Returns the answer to a line, within SECONDS."""
        os.write(self.pipe, f"{line}\n".encode())
        self.lines += 1
        proc.wait_until(lambda: proc.read(self.path("out")).count("\n") >= self.lines, seconds, f"it answers {line}")
        return proc.read(self.path("out")).splitlines()[self.lines - 1]

    def stop(self) -> None:
        super().stop()
        os.close(self.pipe)


@contextlib.contextmanager
def runtime_config(ident: str, annotations: dict[str, str]):
    """Makes containerd's file about the container IDENT, with annotations of Kubernetes."""
    folder = os.path.join(CONFIGS, ident)
    made = [p for p in [CONFIGS.rsplit("/", n)[0] for n in (3, 2, 1)] + [CONFIGS, folder] if not os.path.exists(p)]
    os.makedirs(folder)
    try:
        with open(folder + "/config.json", "w", encoding="ascii") as f:
            json.dump({"annotations": {"io.kubernetes.cri." + name: value for name, value in annotations.items()}}, f)
        yield
    finally:
        os.unlink(folder + "/config.json")
        for path in reversed(made):
            with contextlib.suppress(OSError): # another test's file is there
                os.rmdir(path)


def cgroup_file(pid: int, controller: str, *names: str) -> str:
    """Returns the path of the first existing file of NAMES in the cgroup of a process that CONTROLLER counts, of either version. Skips the
    test if none exists."""
    for line in proc.read(f"/proc/{pid}/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        for folder in (f"/sys/fs/cgroup/{controller}{path}" if controller in controllers.split(",") else "",
                       f"/sys/fs/cgroup{path}" if number == "0" else ""):
            for name in names:
                if folder and os.path.exists(f"{folder}/{name}"):
                    return f"{folder}/{name}"
    raise unittest.SkipTest(f"{controller} is not counted here")


def memory_used(pid: int) -> int:
    """Returns the bytes charged to the memory cgroup of a process."""
    return int(proc.read(cgroup_file(pid, "memory", "memory.usage_in_bytes", "memory.current")))


class Unshared:
    """A JVM below a process that made its namespaces. It writes to the file "out" of a folder that is removed at the end."""
    process: subprocess.Popen
    folder: str

    def output(self) -> str:
        return proc.read(os.path.join(self.folder, "out"))

    def stop(self) -> None:
        for pid in [*reversed(proc.descendants(self.process.pid)), self.process.pid]:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Unshared":
        return self

    def __exit__(self, *_) -> None:
        self.stop()


class Chroot(Unshared):
    """A JVM chroot'ed by `unshare --root` in its own namespaces: its root is not its mount namespace's."""
    own_root = True

    def __init__(self, home: str, classes: str, *arguments: str, uid: int = 103, root: str | None = None, executable: str | None = None,
                 nested: bool = False):
        """ROOT, EXECUTABLE: as in Container. NESTED: two pid namespaces below the host."""
        paths.need_root()
        self.folder = tempfile.mkdtemp(prefix="flamed-chroot.")
        os.chmod(self.folder, 0o755)
        source_root, root = root, os.path.join(self.folder, "rootfs")
        os.mkdir(root, 0o755)
        if source_root:
            subprocess.run(["cp", "-al", source_root + "/.", root], check=True) # links: no file of it is written
        wanted = [(classes, "/classes")] if source_root else binds(home, classes)
        skeleton(root, wanted, tmp=True, passwd_uid=uid)
        script = ["set -e", f"mount -t tmpfs -o mode=1777,size=64m tmpfs {root}/tmp"]
        script += [f"mount --bind {source} {root}{destination}" for source, destination in wanted]
        script.append(f"exec {'unshare -pf --kill-child ' if nested else ''}sh -c 'mount -t proc proc {root}/proc; "
                      f"exec unshare --root={root} --setuid {uid} --setgid {uid} \"$@\"' sh \"$@\"")
        with open(os.path.join(self.folder, "out"), "wb") as out:
            self.process = subprocess.Popen(
                ["unshare", "-mpfuin", "--kill-child", "sh", "-c", "\n".join(script), "sh", executable or home + "/bin/java",
                 *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            proc.wait_until(lambda: "started\n" in self.output(), 20, f"the JVM prints 'started': {self.output()}")
            self.pid = proc.find_jvm(self.process.pid)
        except BaseException:
            self.stop()
            raise


class NestedPids(Chroot):
    """A JVM two pid namespaces below the host: NSpid has three numbers. Its root is the host's, except for /tmp. Its pid is 1, like that of
    JVMs that left files in the host's /tmp. Classes are in /tmp/classes."""
    own_root = False

    def __init__(self, home: str, classes: str, *arguments: str, uid: int = 103, own_proc: bool = True):
        paths.need_root()
        self.folder = tempfile.mkdtemp(prefix="flamed-nested.")
        os.chmod(self.folder, 0o755)
        self.tmp = os.path.join(self.folder, "tmp")
        os.makedirs(os.path.join(self.tmp, "classes"))
        os.chmod(self.tmp, 0o1777)
        # Mounts of other tests are copied, too, and vanish with their folders: unmount them now.
        script = ("for other in $(awk '$5 ~ \"^/tmp/\" { print $5 }' /proc/self/mountinfo | sort -r); do umount -l $other || :; done; "
                  f"mount --bind {classes} {self.tmp}/classes && mount --rbind {self.tmp} /tmp && cd /tmp/classes && exec \"$@\"")
        with open(os.path.join(self.folder, "out"), "wb") as out:
            self.process = subprocess.Popen(
                ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-ec", script, "sh",
                 "unshare", "-p", "-f", "--kill-child", *(["--mount-proc"] if own_proc else []),
                 "setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups",
                 home + "/bin/java", *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            proc.wait_until(lambda: "started\n" in self.output(), 20, f"the JVM prints 'started': {self.output()}")
            self.pid = proc.find_jvm(self.process.pid)
        except BaseException:
            self.stop()
            raise
