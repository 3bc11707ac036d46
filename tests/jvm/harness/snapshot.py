# SPDX-License-Identifier: Apache-2.0
"""What a container looks like from the host, so that two moments can be compared."""
import os
import re
from dataclasses import dataclass

from . import proc

# Threads that a JVM starts and ends by itself.
OWN_THREADS = re.compile(r"^(C[12] CompilerThre|Common-Cleaner|GC Thread#|G1 (Conc|Refine|Main|Service)|VM )")


@dataclass
class Snapshot:
    files: dict[str, tuple]
    mounts: list[str]
    threads: set[str]
    mapped: set[str]
    output: str


def take(pid: int, output: str) -> Snapshot:
    """Of the container of PID: every file and its times but those of /proc, /sys and /dev; mounts; names of
    threads; mapped files and anonymous executable memory of names; what the JVM printed."""
    root = f"/proc/{pid}/root"
    files = {}
    for folder, names, leaves in os.walk(root):
        inside = folder[len(root):] or "/"
        names[:] = [n for n in names if not (inside == "/" and n in ("proc", "sys", "dev", "usr", "lib", "lib64"))]
        for name in [".", *leaves]:
            path = os.path.join(folder, name)
            try:
                s = os.lstat(path)
            except FileNotFoundError:
                continue
            # A JVM rewrites its hsperfdata by itself; that it is there and how large is what counts.
            times = () if "hsperfdata" in path else (s.st_mtime_ns, s.st_ctime_ns)
            files[os.path.normpath(os.path.join(inside, name))] = (s.st_mode, s.st_uid, s.st_gid, s.st_nlink, s.st_size, *times)
    mapped = set()
    for line in proc.read(f"/proc/{pid}/maps").splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6:
            mapped.add(f"{fields[1]} {fields[5]}")
    return Snapshot(files, proc.read(f"/proc/{pid}/mountinfo").splitlines(),
                    {name for name in proc.threads(pid).values() if not OWN_THREADS.match(name)}, mapped, output)


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """One line for each thing that is not as it was."""
    found = []
    for path in sorted(before.files.keys() | after.files.keys()):
        if before.files.get(path) != after.files.get(path):
            found.append(f"file {path}: {before.files.get(path)} -> {after.files.get(path)}")
    for what, old, new in (("mount", set(before.mounts), set(after.mounts)), ("thread", before.threads, after.threads),
                           ("mapping", before.mapped, after.mapped)):
        found += [f"{what} gone: {x}" for x in sorted(old - new)] + [f"{what} new: {x}" for x in sorted(new - old)]
    if before.output != after.output:
        found.append(f"output: {after.output[len(before.output):]!r}")
    return found
