# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian packages that read flamed's formats in tests, and that should not be installed (prometheus would start a server of its
own). They are unpacked into tests/.cache, and kept between runs."""
import fcntl
import os
import shutil
import subprocess
import tempfile
import unittest

from . import debroot, paths


def unpacked(package: str) -> str:
    """Returns the folder with the package's files. Skips the test if they are not available."""
    folder = os.path.join(paths.CACHE, package)
    if os.path.isdir(folder):
        return folder
    os.makedirs(paths.CACHE, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX) # another test may be unpacking it
        if not os.path.isdir(folder):
            unpack(package, folder)
    return folder


def unpack(package: str, folder: str) -> None:
    work = tempfile.mkdtemp(prefix=package + ".", dir=paths.CACHE)
    try:
        os.chmod(work, 0o755)
        result = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package], cwd=work, capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, timeout=300)
        names = [name for name in os.listdir(work) if name.endswith(".deb")]
        if result.returncode != 0 or len(names) != 1:
            raise unittest.SkipTest(f"{package} cannot be had: {result.stderr.strip()[-300:]}")
        os.mkdir(work + "/root")
        debroot.extract(f"{work}/{names[0]}", work + "/root")
        os.rename(work + "/root", folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def program(package: str, name: str) -> str:
    """Returns a program of the package, from this machine or unpacked."""
    return shutil.which(name) or os.path.join(unpacked(package), "usr/bin", name)
