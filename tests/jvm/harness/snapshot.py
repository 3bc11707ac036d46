# SPDX-License-Identifier: Apache-2.0
"""A container's state as seen from the host, to compare two moments."""
import os
import re
from dataclasses import dataclass

from . import proc

# Threads that a JVM starts and ends on its own.
OWN_THREADS = re.compile(r"^(C[12] CompilerThre|Common-Cleaner|GC Thread#|G1 (Conc|Refine|Main|Service)|VM )")


@dataclass
class Snapshot:
    files: dict[str, tuple]
    mounts: list[str]
    threads: set[str]
    mapped: set[str]
    output: str


def all_files(root: str):
    """Returns every path below ROOT, except those of /proc, /sys, /dev and those bound from the host."""
    for folder, names, leaves in os.walk(root):
        if folder == root:
            names[:] = [n for n in names if n not in ("proc", "sys", "dev", "usr", "lib", "lib64")]
        yield from (os.path.join(folder, name) for name in [".", *leaves])


def own_files(pid: int, root: str):
    """Returns its files in places where others write, too: the folder of the process, and files with one of its numbers in shared folders
    (.attach_pid7, .java_pid7, perf-7.map)."""
    yield from all_files(f"/proc/{pid}/cwd/")
    numbers = re.compile("(?<![0-9])(" + "|".join(map(str, proc.ns_pids(pid))) + ")(?![0-9])")
    for folder in ("/tmp", "/var/tmp", "/run"):
        for name in os.listdir(root + folder):
            if re.search(r"pid|perf|java|hsperf", name) and numbers.search(name):
                yield os.path.join(root + folder, name)


def take(pid: int, output: str, own_root: bool = True) -> Snapshot:
    """Takes the state of the container of PID: every file and its times, mounts, names of threads, mapped files and named anonymous
    executable memory, and the JVM's output. OWN_ROOT: no other process writes to its root."""
    root = f"/proc/{pid}/root"
    files = {}
    for path in all_files(root) if own_root else own_files(pid, root):
        try:
            s = os.lstat(path)
        except FileNotFoundError:
            continue
        # A JVM rewrites its hsperfdata on its own; only its existence and size count.
        times = () if "hsperfdata" in path else (s.st_mtime_ns, s.st_ctime_ns)
        files[os.path.normpath(path.removeprefix(root))] = (s.st_mode, s.st_uid, s.st_gid, s.st_nlink, s.st_size, *times)
    mapped = set()
    for line in proc.read(f"/proc/{pid}/maps").splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6:
            mapped.add(f"{fields[1]} {fields[5]}")
    return Snapshot(files, proc.read(f"/proc/{pid}/mountinfo").splitlines(),
                    {name for name in proc.threads(pid).values() if not OWN_THREADS.match(name)}, mapped, output)


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """Returns one line per difference."""
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
