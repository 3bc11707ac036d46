# SPDX-License-Identifier: Apache-2.0
"""The broker's rule for places of probes, on real files, compared with a disassembler. A place is never within an instruction. It is always
among the first of a function, at an instruction that the kernel executes in the probe's place."""
import os
import random
import re
import subprocess
import unittest

import test_probe_starts
from harness import jvm, paths

RANDOM = int(os.environ.get("FLAMED_PROBE_PLACES", "0"))
LINE = re.compile(r"^ *([0-9a-f]+):\t(?:[0-9a-f]{2} )+ *\t?(?:(?:notrack|bnd|rex\.W|cs|ds|data16) )*([a-z0-9]+)")
SAFE = re.compile(r"push|nop|nopl|j[a-z]+")


class Places(unittest.TestCase):
    def disassembled(self, path: str) -> tuple[dict[int, str], list[int]]:
        """Returns address -> instruction, of all code of PATH, and the starts of functions."""
        paths.need("objdump", "readelf", "nm")
        found: dict[int, str] = {}
        with subprocess.Popen(["objdump", "-d", "-w", path], stdout=subprocess.PIPE, text=True) as listing:
            for line in listing.stdout:
                if match := LINE.match(line):
                    found[int(match[1], 16)] = match[2]
        symbols = "".join(subprocess.run(["nm", *which, "--defined-only", path], capture_output=True, text=True).stdout for which in (["-D"], []))
        starts = {int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3 and line.split()[1] in "TtWi"}
        return found, sorted(starts)

    def segments(self, path: str) -> list[tuple[int, int, int]]:
        """Returns (address, bytes, offset in the file) of its code."""
        header = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
        fields = [line.split() for line in header.splitlines() if line.split()[:1] == ["LOAD"] and "E" in line[60:]]
        return [(int(f[2], 16), int(f[4], 16), int(f[1], 16)) for f in fields]

    def check(self, path: str, each: bool = False) -> None:
        """Compares the places for probes in the code of PATH with its disassembly. EACH: at each byte of the code, not only at some."""
        path = os.path.realpath(path)
        code, starts = self.disassembled(path)
        chance, ordered = random.Random(RANDOM), sorted(code)
        places = range(ordered[0], ordered[-1]) if each else [*starts, *(chance.randrange(ordered[0], ordered[-1]) for _ in range(RANDOM)),
                                                              *chance.sample(ordered, min(RANDOM, len(ordered)))]
        asked, addresses = [], {} # offset -> address
        for address, size, offset in self.segments(path):
            there = [(place - address + offset, place) for place in places if address <= place < address + size]
            asked += [at for at, _ in there]
            addresses.update(there)
        result = subprocess.run([paths.program("tests/jvm/probe_places"), path], input="\n".join(map(str, asked)), capture_output=True, text=True)
        lines = result.stdout.splitlines()
        self.assertEqual(result.returncode, 0, lines[-1:])
        taken, results = set(), set()
        for line in lines[:-1]:
            offset, place = map(int, line.split()[:2])
            (results if line.endswith("in") else taken).add((addresses[offset], addresses[offset] + place - offset))
        print(f"{os.path.basename(path)}: {len(code)} instructions, asked about {len(asked)} places, {len(taken)} taken, "
              f"{len(results)} within functions, {lines[-1]}", end=" ")
        self.assertEqual([f"{start:x} {place:x}" for start, place in results if not code.get(place, "").startswith("j")], [], "within an instruction")
        within = [f"{start:x} {place:x}" for start, place in taken if start not in code or place not in code]
        self.assertEqual(within, [], "within an instruction")
        unsafe = [f"{start:x} {place:x} {code[place]}" for start, place in taken if not SAFE.fullmatch(code[place])]
        self.assertEqual(unsafe, [], "no such instruction")
        self.assertGreater(len(taken), 20)

    def setUp(self):
        if not RANDOM and "libc" not in self.id():
            self.skipTest("FLAMED_PROBE_PLACES is not set: jvm_probe_places_many runs it")

    def test_libc(self):
        self.check("/lib/x86_64-linux-gnu/libc.so.6", each=RANDOM > 0)

    def test_libjvm(self):
        for version in (17, 25):
            with self.subTest(jdk=version):
                self.check(os.path.join(paths.jdk(version), "lib/server/libjvm.so"))

    def test_go(self):
        paths.need("go")
        self.check(test_probe_starts.go_program())

    def test_node(self):
        paths.need("node")
        self.check(subprocess.run(["which", "node"], capture_output=True, text=True, check=True).stdout.strip())


if __name__ == "__main__":
    unittest.main()
