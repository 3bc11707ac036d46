# SPDX-License-Identifier: Apache-2.0
"""The places of things: the build under test, the JDKs of this machine, the cache between runs."""
import functools
import glob
import os
import re
import subprocess
import unittest

TREE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.path.realpath(os.environ.get("FLAMED_BUILD", os.path.join(TREE, "build/release")))
JAVA_SOURCES = os.path.join(TREE, "tests/jvm/java")
NATIVE_SOURCES = os.path.join(TREE, "tests/jvm/native")
CACHE = os.path.join(TREE, "tests/.cache")


def program(name: str) -> str:
    """Returns the path of the built program NAME."""
    path = os.path.join(BUILD, name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is not built")
    return path


def version(home: str) -> str:
    """Returns the version as `java -version` prints it. Most JDKs have a file with it, so no JVM has to start."""
    try:
        with open(home + "/release", encoding="utf-8") as f:
            return next(line.replace("JAVA_VERSION=", "version ") for line in f if line.startswith("JAVA_VERSION="))
    except (OSError, StopIteration):
        return subprocess.run([home + "/bin/java", "-version"], capture_output=True, text=True).stderr


@functools.cache
def jdks() -> dict[int, str]:
    """Returns feature version -> home, of the JDKs (with javac) installed under /usr/lib/jvm."""
    found = {}
    for javac in sorted(glob.glob("/usr/lib/jvm/*/bin/javac")):
        home = os.path.realpath(os.path.dirname(os.path.dirname(javac)))
        if match := re.search(r'version "(?:1\.)?(\d+)', version(home)):
            found[int(match[1])] = home
    return found


def jdk(version: int) -> str:
    """Returns the home of a JDK. Skips the calling test if the machine has none of that version."""
    if version not in jdks():
        raise unittest.SkipTest(f"no JDK {version} under /usr/lib/jvm")
    return jdks()[version]


def need_root() -> None:
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")


def need(*commands: str) -> None:
    """Skips the calling test if a command is missing."""
    for command in commands:
        if subprocess.run(["which", command], capture_output=True).returncode != 0:
            raise unittest.SkipTest(f"no {command} on this machine")
