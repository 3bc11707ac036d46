# SPDX-License-Identifier: Apache-2.0
"""A cgroup for programs of a test, of either version."""
import os
import secrets
import unittest

from . import proc


class Memory:
    """One that counts memory. WRAP goes before a command line that is to run in it."""
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

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_) -> None:
        proc.wait_until(lambda: not proc.read(f"{self.path}/cgroup.procs"), 10, "its programs have ended")
        os.rmdir(self.path)
