# SPDX-License-Identifier: Apache-2.0
"""A machine with systemd as pid 1, in which this build and its units are installed. It consists of namespaces of this machine: it shares
the kernel, and the files below an overlay in memory."""
import os
import secrets
import shutil
import subprocess
import tempfile
import time
import unittest

from . import paths, proc

CGROUPS = "/sys/fs/cgroup"
CONTROLLERS = ("systemd", "memory", "pids", "devices", "unified")


def cgroup_parents() -> list[str]:
    """Returns the hierarchies in which a cgroup is made for it."""
    if os.path.exists(f"{CGROUPS}/cgroup.procs"):
        return [CGROUPS]
    return [f"{CGROUPS}/{name}" for name in CONTROLLERS if os.path.exists(f"{CGROUPS}/{name}/cgroup.procs")]


class Machine:
    def __init__(self, upgrade_from: str | None = None):
        """UPGRADE_FROM: a folder that is copied over the installed files before."""
        paths.need_root()
        if not os.path.exists("/usr/lib/systemd/systemd"):
            raise unittest.SkipTest("there is no systemd here")
        self.folder = tempfile.mkdtemp(prefix="flamed-systemd.")
        self.destdir = os.path.join(self.folder, "files")
        self.shared = os.path.join(self.folder, "shared")
        os.makedirs(self.shared)
        self.log_path = os.path.join(self.folder, "log")
        self.cgroup = "flamed-test-" + secrets.token_hex(4)
        self.install()
        self.boot()

    def install(self) -> None:
        subprocess.run(["cmake", "--install", paths.BUILD, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, DESTDIR=self.destdir))
        # What would hide this machine's own: /usr/share/doc and the like are folders there, too.
        lib = os.path.join(self.destdir, "usr/lib")
        for name in ("sysusers.d", "tmpfiles.d", "systemd"):
            assert os.path.isdir(os.path.join(lib, name)), name

    def boot(self) -> None:
        procs = []
        for parent in cgroup_parents():
            path = os.path.join(parent, self.cgroup)
            os.mkdir(path)
            procs.append(os.path.join(path, "cgroup.procs"))
        script = 'for p in $PROCS; do echo $BASHPID >$p || exit 77; done; exec unshare --mount --pid --fork --kill-child --uts --ipc ' \
                 '--net --cgroup --propagation private "$@"'
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                proc.ENDS_WITH_US + ["bash", "-c", script, "bash", os.path.join(os.path.dirname(__file__), "boot_systemd.sh"),
                                     os.path.join(self.folder), self.destdir],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env=dict(os.environ, PROCS=" ".join(procs), TESTS_FOLDER=self.shared))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                text = self.log()
                self.stop()
                if self.process.returncode == 77:
                    raise unittest.SkipTest(f"no systemd can be started here: {text[-300:]}")
                raise RuntimeError(text)
            if self.run("systemctl is-active flamed-test.target", check=False).strip() == "active":
                return
            time.sleep(0.2)
        text = self.log()
        self.stop()
        raise TimeoutError(text)

    @property
    def init(self) -> int:
        """Its pid 1, as this machine sees it."""
        return next(iter(proc.children(self.process.pid)), 0)

    def log(self) -> str:
        return proc.read(self.log_path)

    def run(self, script: str, check: bool = True, user: str | None = None, groups: str | None = None, timeout: float = 60) -> str:
        """Runs SCRIPT in it by sh, as USER (with GROUPS as the only supplementary ones); what it wrote."""
        as_user = []
        if user:
            as_user = ["setpriv", "--reuid", user, "--regid", user, *(["--groups", groups] if groups else ["--clear-groups"]), "--"]
        init = self.init
        if not init:
            return ""
        result = subprocess.run(["nsenter", "-t", str(init), "-m", "-p", "-n", "-u", "-i", *as_user, "sh", "-c", script], text=True,
                                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                timeout=timeout, cwd="/", env={"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8"})
        if check and result.returncode:
            raise RuntimeError(f"{script}: status {result.returncode}:\n{result.stdout}\n"
                               + self.run("journalctl -o cat --no-pager | tail -60", check=False))
        return result.stdout

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill() # unshare: its child goes with it, and all that is in its pid namespace
        self.process.wait()
        for parent in cgroup_parents():
            self.remove_cgroup(os.path.join(parent, self.cgroup))
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def remove_cgroup(top: str) -> None:
        for _ in range(200):
            for path, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    pass # what ended is still being taken out of it, or of one below
            if not os.path.exists(top):
                return
            time.sleep(0.05)

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
