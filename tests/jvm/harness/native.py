# SPDX-License-Identifier: Apache-2.0
"""Compiles the C programs of tests/jvm/native."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

from . import paths, proc


@functools.cache
def folder() -> str:
    made = tempfile.mkdtemp(prefix="flamed-native.")
    os.chmod(made, 0o755)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def build(name: str, *options: str) -> str:
    """The program made of NAME.c."""
    out = os.path.join(folder(), name)
    subprocess.run(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-Wall", "-Werror", "-o", out,
                    os.path.join(paths.NATIVE_SOURCES, name + ".c"), *options], check=True)
    return out


class Obedient:
    """The program made of NAME.c, which does what each line says and then writes the line back."""

    def __init__(self, name: str, *options: str, wrap: tuple[str, ...] = ()):
        self.process = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, build(name, *options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid

    def ask(self, line: str) -> str:
        """What it answers to a line of its input."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def do(self, line: str) -> None:
        if self.ask(line) != line:
            raise RuntimeError(line)

    def __enter__(self) -> "Obedient":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()
