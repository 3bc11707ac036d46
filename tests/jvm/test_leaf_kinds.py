# SPDX-License-Identifier: Apache-2.0
"""The leaf in loops of ten kinds, under every collector and both compilers: test_KIND_COLLECTOR has four cells. With
FLAMED_LEAF_RESULTS=FILE each cell gets a row there, and a cell whose row says that it passed is not run again."""
import os

from harness import bundle, jdkroot, proc
from test_leaf import COLLECTORS, Cell, Spends, WithSections

KINDS = "Leaf", "Sort", "Nest", "Text", "Library", "Streams", "Pure", "Equal", "Requests", "Lambdas"
HANDED = "Lambdas" # to a thread of a pool, round by round
RESULTS = os.environ.get("FLAMED_LEAF_RESULTS", "")


class Kept(WithSections):
    def check_kept(self, cell: Cell) -> None:
        rows = proc.read(RESULTS) if os.path.exists(RESULTS) else ""
        if f"| {cell} | passes |" in rows:
            return
        verdict = "fails"
        try:
            self.check_cell(cell)
            verdict = "passes"
        finally:
            if RESULTS:
                with open(RESULTS, "a", encoding="utf-8") as f:
                    f.write(f"| {cell} | {verdict} | {self.found} |\n")


class Kinds(Kept):
    def check_kind(self, kind: str, collector: str) -> None:
        for cell in (Cell(version, collector, compiler, kind, kind == HANDED) for compiler in ("c2", "c1") for version in (17, 25)):
            with self.subTest(cell=str(cell)):
                self.check_kept(cell)


class Contained(Spends, bundle.Asked):
    def __init__(self, cell: Cell, folder: str):
        super().__init__("", folder, *cell.options, "-cp", "/classes", *cell.program, root=jdkroot.root(cell.version),
                         executable=jdkroot.java(cell.version))


class KindsJdks(jdkroot.EachJdk, Kept):
    """A few cells of the JDKs that this machine's release has not."""

    def start(self, cell: Cell):
        bundle.need_runc()
        return Contained(cell, self.classes.folder)

    def check(self, version: int) -> None:
        for cell in (Cell(version, collector, compiler, kind) for kind in ("Leaf", "Requests") for collector, compiler in
                     (("serial", "c2"), ("parallel", "c2"), ("serial", "c1"))):
            with self.subTest(cell=str(cell)):
                self.check_kept(cell)


def add_test(kind: str, collector: str) -> None:
    setattr(Kinds, f"test_{kind.lower()}_{collector}", lambda self: self.check_kind(kind, collector))


for name in KINDS:
    for way in COLLECTORS:
        add_test(name, way)
