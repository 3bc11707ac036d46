# SPDX-License-Identifier: Apache-2.0
"""The Debian package as users install it, or with the argument `tarball` that and its install.sh: in a virtual machine with Debian 12's
kernel, this machine's release of Debian and systemd as pid 1. package.sh has the checks inside."""
import glob
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import certs, debroot, jvm, paths # pylint: disable=wrong-import-position

import test_tarball # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["busybox-static", "ca-certificates", "curl", "dbus", "iproute2", "jq", "openjdk-17-jre-headless", "procps", "systemd", "systemd-sysv"]
MEMORY = "6144" # MiB: half of it is the disk, with room for the history that flamed keeps by default
ADDRESS = "192.0.2.1" # the guest's own address, besides loopback


def names(depends: str) -> list[str]:
    """Returns the packages that a field Depends names."""
    return re.findall(r"([a-z0-9.+-]+)(?: \([^)]*\))?(?:, |$)", depends.strip())


def found_by_hand(sysroot: str, processor: str, build: str) -> list[str]:
    """Returns the packages that depends.sh finds for the programs in the folder BUILD."""
    programs = [os.path.join(build, name) for name in ("flamed", "flamed-broker", "flamed-push")]
    return names(subprocess.run(["bash", paths.TREE + "/cmake/deb/depends.sh", sysroot, processor, *programs], stdout=subprocess.PIPE,
                                text=True, check=True).stdout)


def depends(package: str) -> list[str]:
    """Returns the packages that PACKAGE depends on. They have to be those that depends.sh finds for this machine."""
    said = names(subprocess.run(["dpkg-deb", "--field", package, "Depends"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    own = found_by_hand("/", platform.machine(), paths.BUILD)
    if said != own:
        raise RuntimeError(f"{package} depends on {said}, not on {own}")
    return said


def built_package(folder: str, build: str = paths.BUILD) -> str:
    result = subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=build, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stdout + result.stderr)
    return glob.glob(folder + "/*.deb")[0]


def debian(packages: list[str]) -> str:
    """Returns a root file system of this machine's release with PACKAGES installed. Skips the test if it is not available."""
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    folder = os.path.join(paths.CACHE, f"{suite}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}")
    if os.path.isdir(folder):
        return folder
    work = folder + ".work"
    shutil.rmtree(work, ignore_errors=True)
    result = subprocess.run(["mmdebstrap", "--variant=minbase", "--include=" + ",".join(packages), suite, work,
                             f"deb [signed-by={debroot.KEYRING}] {debroot.mirror()} {suite} main"],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        shutil.rmtree(work, ignore_errors=True)
        raise unittest.SkipTest(f"mmdebstrap: {result.stderr.strip()[-500:]}")
    os.rename(work, folder)
    return folder


def make_certificates(folder: str) -> None:
    """Makes first.pem and second.pem, signed by ca.pem, for the address that package.sh gives the guest, and their keys."""
    os.mkdir(folder)
    ca = certs.Authority(folder, "ca")
    for name in ("first", "second"):
        ca.sign(name, "/CN=" + name, f"IP:{ADDRESS},DNS:node.example.com")


def main() -> int:
    try:
        paths.need_root()
        paths.need("mmdebstrap", "cpack", "openssl")
        with tempfile.TemporaryDirectory(prefix="flamed-package.") as out:
            if sys.argv[1:] == ["tarball"]:
                package = shutil.copy(os.environ.get("FLAMED_TARBALL") or test_tarball.packed(test_tarball.build(paths.TREE)), out)
                root = debian(PACKAGES)
            else:
                package = built_package(out)
                root = debian(PACKAGES + depends(package))
            os.chmod(out, 0o755) # another user's JVM reads its classes there
            spin = jvm.make_spin()
            shutil.copytree(spin.folder, out + "/classes")
            make_certificates(out + "/tls")
            shutil.copy(HERE + "/package.sh", out)
            return subprocess.run([sys.executable, HERE + "/vm.py", "--limit", "850", "--memory", MEMORY, "--root", root, "--init", "/lib/systemd/systemd", "--append",
                                   "systemd.getty_auto=0", "--out", out,
                                   "6.1", "bash", "/out/package.sh", "/out/" + os.path.basename(package), spin.main, ADDRESS]).returncode
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 77


if __name__ == "__main__":
    sys.exit(main())
