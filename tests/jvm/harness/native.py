# SPDX-License-Identifier: Apache-2.0
"""Compiles the C programs of tests/jvm/native."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

from . import paths


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
