# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system with a server that answers as it is told (native/fuse_file.c)."""
import os
import subprocess
import tempfile
import unittest

from . import native, paths


class File:
    """The content of SOURCE as the file PATH on a file system of its own."""

    def __init__(self, source: str):
        paths.need_root()
        paths.need("cc")
        if not os.path.exists("/dev/fuse"):
            raise unittest.SkipTest("no /dev/fuse here")
        self.folder = tempfile.mkdtemp(prefix="flamed-fuse.")
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "file")
        self.server = subprocess.Popen([native.build("fuse_file"), self.folder, source], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        if self.server.stdout.readline() != "mounted\n":
            self.close()
            raise RuntimeError("FUSE cannot be mounted")

    def silence(self, kinds: str) -> None:
        """Leaves requests of KINDS (letters, see fuse_file.c) unanswered from now on."""
        self.server.stdin.write(kinds)
        self.server.stdin.flush()

    def slow_down(self) -> None:
        """Makes each read wait for 30 ms from now on."""
        self.silence("w")

    def lie(self, kind: str) -> None:
        """Answers with lies of KIND (a capital letter, see fuse_file.c) from now on."""
        self.silence("+" + kind)

    def wait_asked(self) -> str:
        """Waits for a request that gets no answer. Returns its kind."""
        return self.server.stdout.readline().strip()

    def answer(self) -> None:
        """Answers all waiting and future requests."""
        self.silence("-")

    def close(self) -> None:
        self.server.stdin.close()
        self.server.wait(10)
        self.server.stdout.close()
        os.rmdir(self.folder)

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_) -> None:
        self.close()
