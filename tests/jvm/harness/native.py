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
    """Returns the program made from NAME.c."""
    out = os.path.join(folder(), name + "".join(option for option in options if option.startswith("-D") or option == "-s"))
    subprocess.run(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-Wall", "-Werror", "-o", out,
                    os.path.join(paths.NATIVE_SOURCES, name + ".c"), *options], check=True)
    return out


class Obedient(proc.Obeys):
    """Runs the program made from NAME.c."""

    def __init__(self, name: str, *options: str, wrap: tuple[str, ...] = (), arguments: tuple[str, ...] = ()):
        self.process = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, build(name, *options), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid

    def __enter__(self) -> "Obedient":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()
