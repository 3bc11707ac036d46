# SPDX-License-Identifier: Apache-2.0
"""Containers that a user made without root, like rootless runtimes. They have the user's own user namespace, with a range of ids that no
other user has, and the namespaces of a container in it."""
import json
import os
import subprocess
import tempfile

from . import bundle, paths, proc

IDS = 300000 # the host's ids for ids above 0 of the namespace
# crun refuses a hybrid of both versions of control groups: it sees only version 1.
CRUN = ("read -r _ && exec unshare -m --propagation private sh -ec '[ ! -d /sys/fs/cgroup/unified ] || mount -t tmpfs tmpfs /sys/fs/cgroup/unified; "
        "exec crun --root \"$0/state\" --cgroup-manager=disabled run -b \"$0\" rootless' \"$0\"")
SCRIPT = 'read -r _ && exec unshare -m -p -f --kill-child --mount-proc -i -u setpriv --reuid={0} --regid={0} --clear-groups "$@"'


class Rootless(bundle.Unshared):
    """A JVM in such a container, as user UID of the container; 0: as its root, which is the OWNER on the host."""

    def __init__(self, owner: int, home: str, *arguments: str, uid: int = 1000):
        self.host_uid = owner if uid == 0 else IDS + uid - 1
        self.start(owner, tempfile.mkdtemp(prefix="flamed-rootless."), SCRIPT.format(uid), "sh", home + "/bin/java", *arguments)

    def start(self, owner: int, folder: str, *script: str) -> None:
        """Runs SCRIPT in a user namespace of the OWNER's, with a FOLDER that is removed at the end."""
        paths.need_root()
        paths.need("setpriv")
        self.folder = folder
        command = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups", "unshare", "-U", "--kill-child", "sh", "-ec", *script]
        with open(os.path.join(self.folder, "out"), "wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
        try:
            top = proc.wait_until(self.namespaced, 20, "the user namespace is there", 0.02)
            for name in ("uid_map", "gid_map"): # in the form of newuidmap(1)
                with open(f"/proc/{top}/{name}", "w", encoding="ascii") as f:
                    f.write(f"0 {owner} 1\n1 {IDS} 65536\n")
            self.process.stdin.write(b"\n")
            self.process.stdin.close()
            proc.wait_until(lambda: "started" in self.output(), 30, f"the JVM prints 'started': {self.output()}")
            self.pid = proc.find_jvm(self.process.pid)
        except BaseException:
            self.stop()
            raise

    def namespaced(self) -> int:
        """Returns the process that waits in its user namespace for the maps; 0: not yet."""
        for pid in [self.process.pid, *proc.descendants(self.process.pid)]:
            try:
                if os.stat(f"/proc/{pid}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino:
                    return pid
            except FileNotFoundError:
                pass
        return 0


class Crun(Rootless):
    """The same by a runtime, crun, as podman starts it for a user: without its own control group. NESTED: the container has a user
    namespace inside the user's, so that its root has no user on the host. Otherwise its root is the OWNER."""

    def __init__(self, owner: int, home: str, classes: str, *arguments: str, uid: int = 0, nested: bool = False,
                 capabilities: tuple[str, ...] = bundle.DOCKER_CAPABILITIES, executable: str | None = None):
        paths.need_root()
        paths.need("crun")
        folder = tempfile.mkdtemp(prefix="flamed-crun.")
        wanted = bundle.binds(home, classes)
        os.mkdir(os.path.join(folder, "rootfs"))
        bundle.skeleton(os.path.join(folder, "rootfs"), wanted, tmp=True, passwd_uid=uid)
        config = {
            "ociVersion": "1.0.2", "hostname": "flamed-test", "root": {"path": "rootfs", "readonly": False},
            "process": {"terminal": False, "user": {"uid": uid, "gid": uid}, "cwd": "/", "noNewPrivileges": True, "env": ["PATH=/usr/bin:/bin"],
                        "capabilities": {kind: list(capabilities) for kind in ("bounding", "effective", "permitted")},
                        "args": [executable or home + "/bin/java", *arguments]},
            "mounts": bundle.mounts(wanted),
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network", "cgroup")], **bundle.MASKED,
                      "seccomp": bundle.seccomp_profile(bundle.DOCKER_TRACING)},
        }
        inside = uid + 1 if nested else uid # in the user's own namespace
        self.host_uid = owner if inside == 0 else IDS + inside - 1
        if nested:
            config["linux"]["namespaces"].append({"type": "user"})
            config["linux"]["uidMappings"] = config["linux"]["gidMappings"] = [{"containerID": 0, "hostID": 1, "size": 60000}]
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        subprocess.run(["chown", "-R", f"{owner}:{owner}", folder], check=True)
        os.chmod(folder, 0o755)
        self.start(owner, folder, CRUN, folder)
