# SPDX-License-Identifier: Apache-2.0
"""Compiles the C programs of tests/jvm/native."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

from . import paths, proc

BUILT = os.environ.get("FLAMED_NATIVE", "") # a folder with such programs, for machines without a compiler (tests/vm)


@functools.cache
def folder() -> str:
    made = tempfile.mkdtemp(prefix="flamed-native.")
    os.chmod(made, 0o755)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def compile_it(out: str, name: str, *options: str, compiler: str = "cc") -> None:
    subprocess.run([compiler, "-O2", "-g", "-fno-omit-frame-pointer", "-Wall", "-Werror", "-o", out,
                    os.path.join(paths.NATIVE_SOURCES, name + ".c"), *options], check=True)


@functools.cache
def build(name: str, *options: str) -> str:
    """Returns the program made from NAME.c."""
    if BUILT and not options and os.path.exists(os.path.join(BUILT, name)):
        return os.path.join(BUILT, name)
    out = os.path.join(folder(), name + "".join(option for option in options if option.startswith("-D") or option == "-s"))
    compile_it(out, name, *options)
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
