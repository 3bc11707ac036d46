# SPDX-License-Identifier: Apache-2.0
"""Debian packages unpacked into a folder of their own, without changing the machine. Kept in tests/.cache between runs."""
import os
import platform
import shutil
import subprocess
import sys
import unittest

from . import paths

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# A mirror that does not answer is asked again by apt itself. An apt that has not ended in time is ended, and started once more.
PATIENT = [word for option in ("Acquire::http::Timeout=20", "Acquire::https::Timeout=20", "Acquire::Retries=2") for word in ("-o", option)]
APT_SECONDS = 180
APT_TRIES = 2


def mirror() -> str:
    """Returns the Debian mirror that this machine uses."""
    text = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "main" and "security" not in words[0]:
            return words[0]
    raise unittest.SkipTest("apt knows no Debian mirror here")


class Apt:
    """apt with its own lists, state and cache in the folder WORK. It knows only SUITE of this machine's mirror, and no installed package.
    Skips the test if a download fails."""

    def __init__(self, work: str, suite: str, architecture: str = "amd64"):
        for part in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(work, part))
        with open(work + "/sources.list", "w", encoding="ascii") as f:
            f.write(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
        open(work + "/status", "wb").close()
        self.options = ["-q", "-o", f"Dir::Etc::sourcelist={work}/sources.list", "-o", "Dir::Etc::sourceparts=-", "-o",
                        "Dir::Etc::preferencesparts=-", "-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::State::status={work}/status",
                        "-o", f"Dir::Cache={work}/cache", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none", "-o",
                        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}"]
        self.work = work
        self.get("update")

    def get(self, *arguments: str) -> str:
        """Runs apt-get in the folder WORK. Returns its output."""
        return self.run("apt-get", *arguments)

    def run(self, program: str, *arguments: str) -> str:
        text = " ".join((program, *arguments))
        for _ in range(APT_TRIES):
            try:
                result = subprocess.run([program, *PATIENT, *self.options, *arguments], cwd=self.work, capture_output=True, text=True,
                                        stdin=subprocess.DEVNULL, timeout=APT_SECONDS)
            except subprocess.TimeoutExpired as ended:
                print(f"{text}: not done after {APT_SECONDS} s: {(ended.stdout or b'')[-300:].decode(errors='replace')}", file=sys.stderr, flush=True)
                continue
            if result.returncode != 0:
                raise unittest.SkipTest(f"{text}: apt cannot get this: {result.stderr.strip()[-300:]}")
            return result.stdout
        raise TimeoutError(f"{text}: not done in {APT_TRIES} times {APT_SECONDS} s")


class OwnApt(Apt):
    """apt with the lists and the state of this machine. It downloads into the folder WORK."""

    def __init__(self, work: str): # pylint: disable=super-init-not-called
        self.work, self.options = work, ["-q", "-o", "APT::Sandbox::User=root"]


def own_suite(architecture: str) -> str:
    """Returns the suite of this machine, or "" if its packages are not for ARCHITECTURE."""
    own = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "") if own == architecture else ""


def root(name: str, suite: str, packages: list[str], proof: str, leave_out: tuple[str, ...] = (), architecture: str = "amd64") -> str:
    """Returns the folder tests/.cache/NAME with PACKAGES of SUITE and their dependencies, except packages with a name that begins with one
    of LEAVE_OUT. It contains the file PROOF. Skips the test if they are not available."""
    folder = os.path.join(paths.CACHE, name)
    if os.path.lexists(folder + proof):
        return folder
    work = folder + ".work"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work + "/root")
    try:
        apt = Apt(work, suite, architecture)
        apt.get("install", "-y", "--no-install-recommends", "--download-only", *packages)
    except unittest.SkipTest:
        shutil.rmtree(work, ignore_errors=True)
        raise
    for part in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(f"{work}/root/usr/{part}")
        os.symlink("usr/" + part, f"{work}/root/{part}")
    for package in sorted(os.listdir(work + "/cache/archives")):
        if package.endswith(".deb") and not package.startswith(leave_out):
            extract(f"{work}/cache/archives/{package}", work + "/root")
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(work + "/root", folder)
    shutil.rmtree(work, ignore_errors=True)
    if not os.path.lexists(folder + proof):
        raise RuntimeError(f"{packages} hold no {proof}")
    return folder


def extract(package: str, folder: str) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", folder], stdin=tar.stdout, check=True)
    if tar.returncode != 0:
        raise RuntimeError(f"dpkg-deb cannot read {package}")


def own_links(folder: str) -> None:
    """Makes links to absolute paths lead into FOLDER, for programs that run without a chroot."""
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            if os.path.islink(path) and os.readlink(path).startswith("/") and not os.readlink(path).startswith(folder):
                target = folder + os.readlink(path)
                if os.path.lexists(target):
                    os.unlink(path)
                    os.symlink(target, path)
