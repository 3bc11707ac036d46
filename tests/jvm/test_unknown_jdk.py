# SPDX-License-Identifier: Apache-2.0
"""An unknown release: a JVM that claims in its memory to be one, and the newest one in Debian. Names are as right as ever, or flamed
reports the check that failed; a warning mentions it."""
import re
import struct
import tempfile
import unittest

import test_containers
import test_stubs
from harness import bundle, debroot, jdkroot, jvm, paths
from harness.daemon import Daemon

KNOWN = 28 # the newest that flamed knows
# Release -> the one that it claims to be. A String of 9 has one field more than one of 8.
CLAIMS = {8: 9, 11: 12, 17: 18, 21: 22, 25: 29, 26: 29, 27: 29, 28: 29}
LACKS_OBJECTS = (9,)


def claim(pid: int, version: int) -> int:
    """Writes VERSION into the memory of a JVM as its release. Returns the former value."""
    at, memory, found = test_stubs.symbols(pid, "-D"), test_stubs.Memory(pid), {}

    def variable(name: str) -> int:
        return memory.words(at[name], 1)[0]
    row, stride = variable("gHotSpotVMStructs"), variable("gHotSpotVMStructEntryArrayStride")
    columns = [variable(f"gHotSpotVMStructEntry{what}Offset") for what in ("TypeName", "FieldName", "Offset", "Address")]
    while True:
        kind, field, offset, address = (memory.words(row + column, 1)[0] for column in columns)
        if not kind:
            break
        found[memory.text(kind), memory.text(field)] = offset, address
        row += stride
    memory.close()
    if ("JDK_Version", "_current") in found: # up to 21
        address, width = found["JDK_Version", "_current"][1] + found["JDK_Version", "_major"][0], 1
    else:
        address, width = found["Abstract_VM_Version", "_vm_major_version"][1], 4
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as f:
        f.seek(address)
        before = f.read(width)
        f.seek(address)
        f.write(struct.pack("<I", version)[:width])
    return int.from_bytes(before, "little")


class Claims(jdkroot.EachJdk, unittest.TestCase):
    def setUp(self):
        bundle.need_runc()

    def look(self, version: int, says: int, spin: jvm.Spin, pid: int) -> None:
        self.assertEqual(claim(pid, says), version)
        with Daemon() as daemon:
            captured = test_containers.capture(daemon, pid, pid=pid)
            listed, = [j for j in daemon.get("/api/v1/jvms").json()["jvms"] if j["pid"] == pid]
        test_containers.check_names(self, captured, spin, pid)
        warnings = [w for w in captured[0].warnings if f"JDK {says} is" in w]
        self.assertEqual(len(warnings), 1, captured[0].warnings)
        print(f"JDK {version}:", warnings[0])
        self.assertIn("newer than this flamed" if says > KNOWN else "unknown to this flamed", warnings[0])
        right, asked = map(int, re.search(r"checked against the process \((\d+) of (\d+)\)", warnings[0]).groups())
        self.assertGreater(asked, 250)
        self.assertGreaterEqual(right, 0.98 * asked)
        self.assertEqual("names of threads and locks are switched off" in warnings[0], says in LACKS_OBJECTS, warnings[0])
        self.assertIn(f"JDK {says} is", listed["profilable"]["reason"])

    def check(self, version: int) -> None:
        spin = jvm.make_spin(version)
        arguments = [*jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main]
        with bundle.Container("", spin.folder, *arguments, root=jdkroot.root(version), executable=jdkroot.java(version)) as c:
            self.look(version, CLAIMS[version], spin, c.pid)

    def check_here(self, version: int) -> None:
        spin = jvm.make_spin(version)
        with jvm.Jvm(paths.jdk(version), *jvm.spin_options(spin), "-Xmx64m", "-cp", spin.folder, spin.main) as program:
            self.look(version, CLAIMS[version], spin, program.pid)

    def test_17(self):
        self.check_here(17)

    def test_25(self):
        self.check_here(25)


class Newest(unittest.TestCase):
    """An early warning: fails once Debian has a release with which flamed does not work."""

    def test_of_debian(self):
        bundle.need_runc()
        with tempfile.TemporaryDirectory() as work:
            listed = debroot.Apt(work, "sid").run("apt-cache", "search", "--names-only", "^openjdk-[0-9]+-jre-headless$")
        version = max(int(number) for number in re.findall(r"^openjdk-(\d+)-jre-headless", listed, re.M))
        self.assertGreaterEqual(version, KNOWN)
        spin = jvm.make_spin(version)
        root = debroot.root(f"jdk-{version}", "sid", [f"openjdk-{version}-jre-headless"], jdkroot.java(version))
        arguments = [*jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main]
        with Daemon() as daemon, bundle.Container("", spin.folder, *arguments, root=root, executable=jdkroot.java(version)) as c:
            captured = test_containers.capture(daemon, c.pid, pid=c.pid)
            test_containers.check_names(self, captured, spin, c.pid)
            warnings = [w for w in captured[0].warnings if "this flamed" in w]
            print(f"JDK {version}:", *warnings)
            self.assertEqual(len(warnings), version > KNOWN)


if __name__ == "__main__":
    unittest.main()
