# SPDX-License-Identifier: Apache-2.0
"""Containers that a user made without root, as rootless runtimes have them: a user namespace of the user's own, with a range of ids
that belong to nobody else, and in it the namespaces of a container."""
import os
import shutil
import subprocess
import tempfile

from . import bundle, jvm, paths, proc

IDS = 300000 # on the host: where the ids above 0 of the namespace are
SCRIPT = 'read -r _ && exec unshare -m -p -f --kill-child --mount-proc -i -u setpriv --reuid={0} --regid={0} --clear-groups "$@"'


class Rootless:
    """A JVM in one, as user UID of the container; 0: as its root, who is the OWNER on the host."""

    def __init__(self, owner: int, home: str, *arguments: str, uid: int = 1000):
        paths.need_root()
        paths.need("setpriv")
        self.folder = tempfile.mkdtemp(prefix="flamed-rootless.")
        self.host_uid = owner if uid == 0 else IDS + uid - 1
        command = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups", "unshare", "-U", "--kill-child", "sh", "-ec",
                   SCRIPT.format(uid), "sh", home + "/bin/java", *arguments]
        with open(os.path.join(self.folder, "out"), "wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
        try:
            top = proc.wait_until(self.namespaced, 20, "the user namespace is there", 0.02)
            for name in ("uid_map", "gid_map"): # as newuidmap(1) writes them
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
        """The process that waits in its user namespace for the maps; 0: not yet."""
        for pid in [self.process.pid, *proc.descendants(self.process.pid)]:
            try:
                if os.stat(f"/proc/{pid}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino:
                    return pid
            except FileNotFoundError:
                pass
        return 0

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

    def __enter__(self) -> "Rootless":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
