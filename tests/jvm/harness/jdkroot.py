# SPDX-License-Identifier: Apache-2.0
"""Debian root file systems with a JDK that this machine's release has not, made by apt into a folder of their own and
kept in tests/.cache between runs. Their C library is newer than the host's: no such JDK would start on the host."""
import os
import shutil
import subprocess
import unittest

from . import paths

# Feature version -> suite that has it.
SUITES = {8: "sid", 11: "sid", 21: "trixie"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def java(version: int) -> str:
    """The java of such a root, as seen from inside."""
    home = f"/usr/lib/jvm/java-{version}-openjdk-amd64"
    return home + ("/jre" if version == 8 else "") + "/bin/java"


def mirror() -> str:
    """The Debian mirror that this machine uses."""
    text = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "main" and "security" not in words[0]:
            return words[0]
    raise unittest.SkipTest("apt knows no Debian mirror here")


def root(version: int) -> str:
    """The folder of a root with that JDK; skips the test where it cannot be had."""
    folder = os.path.join(paths.CACHE, f"jdk-{version}")
    if os.path.exists(folder + java(version)):
        return folder
    work = folder + ".work"
    shutil.rmtree(work, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial", "root"):
        os.makedirs(os.path.join(work, name))
    with open(work + "/sources.list", "w", encoding="ascii") as f:
        f.write(f"deb [signed-by={KEYRING}] {mirror()} {SUITES[version]} main\n")
    open(work + "/status", "wb").close()
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={work}/sources.list", "-o", "Dir::Etc::sourceparts=-", "-o",
           "Dir::Etc::preferencesparts=-", "-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::State::status={work}/status",
           "-o", f"Dir::Cache={work}/cache", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none"]
    package = f"openjdk-{version}-jre-headless"
    for command in ([*apt, "update"], [*apt, "install", "-y", "--no-install-recommends", "--download-only", package]):
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
        if result.returncode != 0:
            shutil.rmtree(work, ignore_errors=True)
            raise unittest.SkipTest(f"JDK {version} cannot be had: {result.stderr.strip()[-300:]}")
    for name in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(f"{work}/root/usr/{name}")
        os.symlink("usr/" + name, f"{work}/root/{name}")
    for name in sorted(os.listdir(work + "/cache/archives")):
        if name.endswith(".deb"):
            extract(f"{work}/cache/archives/{name}", work + "/root")
    os.rename(work + "/root", folder)
    shutil.rmtree(work, ignore_errors=True)
    if not os.path.exists(folder + java(version)):
        raise RuntimeError(f"{package} holds no {java(version)}")
    return folder


def extract(package: str, folder: str) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", folder], stdin=tar.stdout, check=True)
    if tar.returncode != 0:
        raise RuntimeError(f"dpkg-deb cannot read {package}")
