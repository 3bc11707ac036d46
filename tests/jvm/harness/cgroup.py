# SPDX-License-Identifier: Apache-2.0
"""A cgroup for programs of a test, of either version."""
import os
import re
import secrets
import unittest

from . import proc


class Memory:
    """A cgroup that counts memory. WRAP: the prefix of a command line that runs in it."""
    ROOTS = (("/sys/fs/cgroup/memory", "memory.usage_in_bytes"), ("/sys/fs/cgroup", "memory.current"))

    def __init__(self):
        for root, self.file in self.ROOTS:
            self.path = f"{root}/flamed-test-{secrets.token_hex(4)}"
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            if os.path.exists(f"{self.path}/{self.file}"):
                break
            os.rmdir(self.path)
        else:
            raise unittest.SkipTest("no cgroup that counts memory can be made here")
        self.wrap = ("sh", "-c", f"echo $$ >{self.path}/cgroup.procs && exec \"$@\"", "sh")

    def used(self) -> int:
        return int(proc.read(f"{self.path}/{self.file}"))

    def limit(self, bytes_: int | None) -> None:
        """Sets the limit; None: no limit."""
        v2 = self.file == "memory.current"
        with open(f"{self.path}/{'memory.max' if v2 else 'memory.limit_in_bytes'}", "w", encoding="ascii") as f:
            f.write(str(bytes_) if bytes_ else "max" if v2 else "-1")

    def kills(self) -> int:
        """Returns how many processes the kernel killed for lack of memory."""
        text = proc.read(f"{self.path}/{'memory.events' if self.file == 'memory.current' else 'memory.oom_control'}")
        return int(re.search(r"^oom_kill (\d+)", text, re.M)[1])

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_) -> None:
        proc.wait_until(lambda: not proc.read(f"{self.path}/cgroup.procs"), 10, "its programs have ended")
        os.rmdir(self.path)


class Cpu:
    """One that limits its programs to so many CPUs. WRAP goes before a command line that is to run in it."""

    def __init__(self, cpus: float):
        name = f"flamed-test-{secrets.token_hex(4)}"
        quota = int(cpus * 100000)
        # Shares: on a busy machine, too, the limit and not the other programs is what stops them.
        for root, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_quota_us": f"{quota}", "cpu.shares": "65536"}),
                            ("/sys/fs/cgroup", {"cpu.max": f"{quota} 100000", "cpu.weight": "10000"})):
            self.path = f"{root}/{name}"
            try:
                os.mkdir(self.path)
                for file, text in files.items():
                    with open(f"{self.path}/{file}", "w", encoding="ascii") as f:
                        f.write(text)
                break
            except OSError:
                if os.path.isdir(self.path):
                    os.rmdir(self.path)
        else:
            raise unittest.SkipTest("no cgroup that limits CPU time can be made here")
        self.wrap = ("sh", "-c", f"echo $$ >{self.path}/cgroup.procs && exec \"$@\"", "sh")

    def __enter__(self) -> "Cpu":
        return self

    def __exit__(self, *_) -> None:
        proc.wait_until(lambda: not proc.read(f"{self.path}/cgroup.procs"), 10, "its programs have ended")
        os.rmdir(self.path)
