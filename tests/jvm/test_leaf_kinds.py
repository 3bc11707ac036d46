# SPDX-License-Identifier: Apache-2.0
"""The leaf in loops of many kinds, under every collector and both compilers."""
from test_leaf import Cell, WithSections

KINDS = "Leaf", "Sort", "Nest", "Text", "Library", "Streams", "Pure"


class Kinds(WithSections):
    def check_kind(self, kind: str) -> None:
        for compiler in ("c2", "c1"):
            self.check_all(*(Cell(version, collector, compiler, kind) for version in (17, 25) for collector in ("serial", "parallel", "g1")))


def add_test(kind: str) -> None:
    setattr(Kinds, f"test_{kind.lower()}", lambda self: self.check_kind(kind))


for name in KINDS:
    add_test(name)
