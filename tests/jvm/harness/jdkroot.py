# SPDX-License-Identifier: Apache-2.0
"""Debian root file systems with a JDK that this machine's release lacks. Their C library is newer than the host's, so such a JDK cannot
start on the host."""
import functools
import os
import platform
import shutil
import subprocess
import unittest

from . import debroot, paths

# Feature version -> suite that has it.
SUITES = {8: "sid", 11: "sid", 21: "trixie", 26: "sid", 27: "sid", 28: "sid"}


MADE = os.environ.get("FLAMED_JDKS", "") # a folder with such roots, for machines that can make none (tests/vm)
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def java(version: int, machine: str = MACHINES[platform.machine()]) -> str:
    """The java of such a root, as seen from inside. MACHINE: Debian's name."""
    home = f"/usr/lib/jvm/java-{version}-openjdk-{machine}"
    return home + ("/jre" if version == 8 else "") + "/bin/java"


def root(version: int) -> str:
    """Returns the folder of a root with that JDK. Skips the test if it is not available."""
    return debroot.root(f"jdk-{version}", SUITES[version], [f"openjdk-{version}-jre-headless"], java(version))


ALONE = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' # in a mount namespace of its own


@functools.cache
def alone(version: int, classes: str) -> tuple[str, str, list[str]]:
    """Returns the places of a JDK and of CLASSES, as seen by a program that is started by the returned command. A JDK that the machine
    lacks gets a root in CLASSES."""
    if version in paths.jdks():
        return paths.jdk(version), classes, []
    if MADE:
        new = os.path.join(MADE, f"jdk-{version}")
        if not os.path.exists(new + java(version)):
            raise unittest.SkipTest(f"no JDK {version}")
        if not os.listdir(new + "/classes"):
            subprocess.run(["mount", "--bind", classes, new + "/classes"], check=True)
        return java(version).removesuffix("/bin/java"), "/classes", ["unshare", "--mount", "sh", "-c", ALONE, new]
    new = os.path.join(classes, f"root-{version}")
    subprocess.run(["cp", "-al", root(version), new], check=True)
    shutil.copytree(classes, new + "/classes", ignore=shutil.ignore_patterns("root-*"))
    for folder in "proc", "tmp":
        os.makedirs(os.path.join(new, folder), exist_ok=True)
    return java(version).removesuffix("/bin/java"), "/classes", ["unshare", "--mount", "sh", "-c", ALONE, new]


class EachJdk:
    """For a TestCase: calls self.check(version) for each of these."""

    def test_8(self):
        self.check(8)

    def test_11(self):
        self.check(11)

    def test_21(self):
        self.check(21)

    def test_26(self):
        self.check(26)

    def test_27(self):
        self.check(27)

    def test_28(self):
        self.check(28)
