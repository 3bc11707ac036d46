# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of events with probes at the functions of malloc: EVENT as a request names it, and native/mallocs.c."""
from __future__ import annotations

import contextlib
import subprocess
from typing import Iterator

from . import native, paths, probed, proc
from .events import WithEvent


@contextlib.contextmanager
def musl_program() -> Iterator[native.Obedient]:
    """Returns mallocs.c with musl's malloc. Its file has a symbol for each function, and no table of function starts."""
    paths.need("musl-gcc")
    out = native.folder() + "/mallocs-musl"
    subprocess.run(["musl-gcc", "-O2", "-fno-omit-frame-pointer", "-o", out, paths.NATIVE_SOURCES + "/mallocs.c"], check=True)
    with native.Obedient("mallocs", "-pthread", wrap=("sh", "-c", "exec " + out)) as program:
        yield program


class WithMallocs(WithEvent):
    def prepare(self, pid: int) -> None:
        """Waits until the symbols are read: the next capture gets calls from the first one on."""
        def ready() -> bool:
            answer = self.daemon.get("/profile", pid=pid, event=self.event, seconds=0.1, format="json")
            if answer.status == 409 and "cannot be read" in answer.text: # not yet, on a busy machine
                return False
            self.assertEqual(answer.status, 200, (answer.text, answer))
            return not any("being read" in warning for warning in answer.warnings)
        proc.wait_until(ready, 30, "the symbols are read")

    def check_often(self, program: native.Obedient, functions: str) -> None:
        """Checks that a process that calls FUNCTIONS too often loses its probes after at most a second, unless the request has force=1."""
        program.do("all 1")
        self.prepare(program.pid)
        program.do("storm 1")
        answer = self.daemon.get("/profile", pid=program.pid, event=self.event, seconds=30, format="json")
        self.assertEqual(answer.status, 409, answer)
        self.assertIn(f"probes of {functions} were hit", answer.json()["detail"])
        self.assertIn("times a second", answer.json()["detail"])
        self.assertIn("force=1", answer.json()["remedy"])
        probed.await_none(program.pid)
        answer = self.daemon.get("/profile", pid=program.pid, event=self.event, force=1, seconds=2, format="json")
        self.assertEqual(answer.status, 200, answer)
        self.assertTrue([w for w in answer.warnings if f"it hit probes of {functions} some" in w], answer.warnings)
