# SPDX-License-Identifier: Apache-2.0
"""Debian root file systems with a JDK that this machine's release has not. Their C library is newer than the host's: no
such JDK would start on the host."""
from . import debroot

# Feature version -> suite that has it.
SUITES = {8: "sid", 11: "sid", 21: "trixie", 26: "sid", 27: "sid", 28: "sid"}


def java(version: int) -> str:
    """The java of such a root, as seen from inside."""
    home = f"/usr/lib/jvm/java-{version}-openjdk-amd64"
    return home + ("/jre" if version == 8 else "") + "/bin/java"


def root(version: int) -> str:
    """The folder of a root with that JDK; skips the test where it cannot be had."""
    return debroot.root(f"jdk-{version}", SUITES[version], [f"openjdk-{version}-jre-headless"], java(version))


class EachJdk:
    """For a TestCase: self.check(version) for each of these."""

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
