# SPDX-License-Identifier: Apache-2.0
"""Builds flamed for aarch64, and runs COMMAND in an emulated aarch64 machine with Debian's kernel, as vm.py does it. The machine's root has
the JDK 17 of this machine's release, and a root of its own below /jdk-VERSION for each --jdk VERSION, one of JDKS. They are kept in
tests/.cache. With --tarball or --package it builds that, too. Returns 77 if that is not possible here. The other options before COMMAND are those of vm.py."""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import debroot, jdkroot, native, paths # pylint: disable=wrong-import-position

import package # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(paths.CACHE, "arm64")
BUILD = os.path.join(paths.TREE, "build/arm64")
TARBALL = "tarball-aarch64" # a preset
NATIVE = os.path.join(BUILD, "native")
JDKS = {8: "sid", 11: "sid", 21: "trixie", 25: "trixie"} # version -> Debian's suite
# Of tests/jvm/native, and the targets of the build.
PROGRAMS = ("fakejvm", "manymaps", "birth", "tracer", "watched")
TARGETS = ("flamed", "flamed-broker", "flamed-attach", "flamed-push", "stacks", "attach_probe")
# Besides the libraries that the build needs: what guest.sh, the harness and JVMs need. No package is configured.
PACKAGES = ("base-files base-passwd bash busybox-static coreutils debianutils findutils gawk grep gzip iproute2 kmod libc-bin libcap2-bin "
            "mount openjdk-17-jdk-headless procps python3 runc sed tar util-linux").split()


def jdk(version: int) -> str:
    """Returns the root of that JDK in the guest."""
    return f"/jdk-{version}"


def java(version: int) -> str:
    """Returns the java of that root, as seen from inside."""
    return jdkroot.java(version, "arm64")


def make_root(versions: list[int]) -> None:
    """Makes ROOT with JDKs of these VERSIONS, as far as it is not there."""
    if not os.path.isdir(ROOT):
        os.makedirs(paths.CACHE, exist_ok=True)
        work = ROOT + ".work"
        shutil.rmtree(work, ignore_errors=True)
        result = subprocess.run(["bash", paths.TREE + "/cmake/packages/sysroot.sh", "arm64", work, *PACKAGES], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True)
        if result.returncode != 0:
            raise unittest.SkipTest(f"no root file system of arm64: {result.stderr.strip()[-300:]}")
        for name, target in (("sh", "bash"), ("awk", "../usr/bin/gawk"), ("which", "../usr/bin/which.debianutils")):
            if not os.path.lexists(f"{work}/bin/{name}"):
                os.symlink(target, f"{work}/bin/{name}")
        for name in ("passwd", "group"):
            shutil.copy(f"{work}/usr/share/base-passwd/{name}.master", f"{work}/etc/{name}")
        os.rename(work, ROOT)
    os.makedirs(ROOT + paths.TREE, exist_ok=True) # where vm.py shows this tree
    for version in versions:
        debroot.root("arm64" + jdk(version), JDKS[version], [f"openjdk-{version}-jre-headless"], java(version), architecture="arm64")
        for folder in ("proc", "tmp", "classes"):
            os.makedirs(ROOT + jdk(version) + "/" + folder, exist_ok=True)


def build() -> None:
    subprocess.run(["cmake", "-G", "Ninja", "-S", paths.TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DBUILD_TESTING=ON",
                    "-DFLAMED_UNIT_TESTS=OFF", "-DCMAKE_TOOLCHAIN_FILE=" + paths.TREE + "/cmake/aarch64.cmake", "-DFLAMED_SYSROOT=" + ROOT],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", *TARGETS], check=True, stdout=subprocess.DEVNULL)
    os.makedirs(NATIVE, exist_ok=True)
    for name in PROGRAMS:
        native.compile_it(f"{NATIVE}/{name}", name, compiler="aarch64-linux-gnu-gcc")


def build_tarball() -> str:
    """Returns its path."""
    for command in ["cmake", "--preset", TARBALL, "-DFLAMED_SYSROOT=" + ROOT], ["cmake", "--build", "--preset", TARBALL]:
        subprocess.run(command, cwd=paths.TREE, check=True, stdout=subprocess.DEVNULL)
    return glob.glob(f"{paths.TREE}/build/{TARBALL}/flamed-*.tar.gz")[0]


def build_package() -> str:
    """Returns its path. Libraries that the linker found as static ones would be missing in its dependencies."""
    built = package.built_package(BUILD + "/package", BUILD)
    package.depends(built)
    return built


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False, add_help=False)
    parser.add_argument("--jdk", type=int, action="append", default=[], choices=JDKS)
    parser.add_argument("--tarball", action="store_true")
    parser.add_argument("--package", action="store_true", help="a Debian package, FLAMED_PACKAGE in the guest")
    options, others = parser.parse_known_args()
    try:
        paths.need_root()
        paths.need("qemu-system-aarch64", "aarch64-linux-gnu-gcc", "mmdebstrap")
        make_root(options.jdk)
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 77
    build()
    told = {"FLAMED_BUILD": BUILD, "FLAMED_JDKS": "/", "FLAMED_NATIVE": NATIVE, "PYTHONDONTWRITEBYTECODE": "1"}
    if options.tarball:
        told["FLAMED_TARBALL"] = build_tarball()
    if options.package:
        told["FLAMED_PACKAGE"] = build_package()
    return subprocess.run([sys.executable, HERE + "/vm.py", "--root", ROOT, *others], env={**os.environ, **told}).returncode


if __name__ == "__main__":
    sys.exit(main())
