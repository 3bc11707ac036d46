# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels, unpacked from their packages into tests/.cache and kept there between runs. To get the newest ones, remove
tests/.cache/kernel-*."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import debroot, paths # pylint: disable=wrong-import-position

# Kernel -> its suite.
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "bookworm-backports", "newest": "sid", "6.1-arm64": "bookworm",
          "6.12-16k-arm64": "trixie"} # the last has pages of 16 KB
# Depends on the newest kernel of its suite. That one's packages change their names with each ABI, and the old ones vanish.
META = "linux-image-"
PARTS = re.compile(r"^linux-(?:image|binary|modules)-[0-9]\S*-(?:cloud-amd64|cloud-arm64|arm64-16k)$", re.M)


def architecture(name: str) -> str:
    """Returns Debian's name of the architecture of the kernel NAME."""
    return "arm64" if name.endswith("-arm64") else "amd64"


def flavour(name: str) -> str:
    """Returns the end of the names of the kernel's packages."""
    return "arm64-16k" if name.endswith("-16k-arm64") else "cloud-" + architecture(name)


class Kernel:
    """The kernel NAME, a key of SUITES. Skips the test if it is not available."""

    def __init__(self, name: str):
        self.folder = os.path.join(paths.CACHE, "kernel-" + name)
        if not os.path.isdir(self.folder):
            unpack(SUITES[name], architecture(name), META + flavour(name), self.folder)
        self.modules = glob.glob(self.folder + "/lib/modules/*")[0]
        self.release = os.path.basename(self.modules)
        self.image = next(path for path in (f"{self.folder}/boot/vmlinuz-{self.release}", self.modules + "/vmlinuz")
                          if os.path.exists(path))

    def files_of(self, *modules: str) -> list[str]:
        """Returns the files of MODULES and their dependencies, in the order of loading. Built-in modules have none."""
        files: dict[str, None] = {}
        for module in modules:
            result = subprocess.run(["modprobe", "-d", self.folder, "-S", self.release, "--show-depends", module],
                                    capture_output=True, text=True)
            files.update(dict.fromkeys(re.findall(r"^insmod (\S+)", result.stdout, re.M)))
        return list(files)


def download(suite: str, processor: str, meta: str, work: str) -> None:
    """Downloads the packages of the newest kernel META of SUITE into the folder WORK. Uses the lists of this machine if they are of SUITE:
    other lists take apt longer than all else."""
    print(f"vm: downloads {meta} of {suite}", file=sys.stderr, flush=True)
    if suite == debroot.own_suite(processor):
        apt = debroot.OwnApt(work)
    else:
        apt = debroot.Apt(work, suite, processor)
    packages = PARTS.findall(apt.run("apt-cache", "depends", "--recurse", meta))
    if not packages:
        raise unittest.SkipTest(f"{meta} of {suite} names no kernel")
    apt.get("download", *packages)


def unpack(suite: str, processor: str, meta: str, folder: str) -> None:
    os.makedirs(paths.CACHE, exist_ok=True)
    work = tempfile.mkdtemp(prefix=os.path.basename(folder) + ".", dir=paths.CACHE)
    try:
        download(suite, processor, meta, work)
        os.makedirs(work + "/root/usr/lib")
        os.symlink("usr/lib", work + "/root/lib")
        for package in glob.glob(work + "/*.deb"):
            debroot.extract(package, work + "/root")
        subprocess.run(["depmod", "-b", work + "/root", os.listdir(work + "/root/lib/modules")[0]], check=True,
                       capture_output=True)
        os.rename(work + "/root", folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
