# SPDX-License-Identifier: Apache-2.0
"""The leaf in loops: several inlined methods, each with a loop, have the share of CPU time that the program counts itself, with each
collector and compiler."""
from collections import Counter
from dataclasses import dataclass

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile

COLLECTORS = {"serial": "-XX:+UseSerialGC", "parallel": "-XX:+UseParallelGC", "g1": "-XX:+UseG1GC", "z": "-XX:+UseZGC",
              "shenandoah": "-XX:+UseShenandoahGC"}
SECTIONS = "abc"
UNSURE = "[inlined in "
# JDK 8 has no CompileThresholdScaling.
SOON_8 = [f"-XX:Tier{what}={n}" for what, n in (("3InvocationThreshold", 10), ("3MinInvocationThreshold", 5), ("3CompileThreshold", 100),
                                                ("3BackEdgeThreshold", 3000), ("4InvocationThreshold", 250), ("4MinInvocationThreshold", 30),
                                                ("4CompileThreshold", 750), ("4BackEdgeThreshold", 2000))]
SAMPLES = 2500 # samples of the sections: the result is then within a point nine times of ten, and within two points always
SECONDS_MAX = 120
POINTS = 3.0 # allowed error of a section's share
UNSURE_MAX = 5.0 # percent of the samples of all sections
TOLD_MIN = 10.0 # percent of all samples that count as inferred: there is code without loops, too


@dataclass(frozen=True)
class Cell:
    version: int
    collector: str
    compiler: str
    kind: str
    handed: bool = False

    def __str__(self) -> str:
        return f"{self.version} {self.collector} {self.compiler} {self.kind}{' handed' if self.handed else ''}"

    @property
    def program(self) -> list[str]:
        return ["Sections", self.kind, *(["handed"] if self.handed else [])]

    @property
    def options(self) -> list[str]:
        """Returns options by which compilers inline the sections into the calling method, and nothing into the method that starts a clock."""
        c1 = ["-XX:TieredStopAtLevel=1", "-XX:C1MaxInlineSize=400"] if self.compiler == "c1" else []
        return [COLLECTORS[self.collector], "-Xmx256m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:CompileThresholdScaling=0.05", *(SOON_8 if self.version == 8 else ()),
                "-XX:CompileCommand=quiet",
                f"-XX:CompileCommand=inline,Sections${self.kind}.*", f"-XX:CompileCommand=dontinline,Sections${self.kind}.round",
                "-XX:CompileCommand=dontinline,Sections.now", *c1]


class Spends:
    """A program that reports the time of its sections."""

    def spent(self) -> Counter:
        words = self.ask("").split()
        return Counter(dict(zip(words[::2], map(int, words[1::2]))))


class Program(Spends, jvm.Obedient):
    def __init__(self, cell: Cell, folder: str, home: str, *more: str):
        super().__init__(home, *cell.options, *more, "-cp", folder, *cell.program)


@dataclass
class Shares:
    """Shares of all sections, in percent."""
    truth: dict[str, float]
    found: dict[str, float]
    unsure: float
    told: float # percent of the profile that flamed counts as inferred or unsure
    inlined: float # of samples in a section: those in an inlined frame
    samples: int

    def __str__(self) -> str:
        return " ".join(f"{name} {self.found[name]:.1f} for {self.truth[name]:.1f}" for name in SECTIONS) + \
            f", unsure {self.unsure:.1f} of {self.samples}"


def percent(counts: Counter) -> dict[str, float]:
    return {name: 100 * counts[name] / max(1, sum(counts.values())) for name in counts}


def shares(kind: str, profile: Profile, spent: Counter) -> Shares:
    """Returns the shares below the method with the sections, without the clock. Samples in no section are unsure or between two."""
    found: Counter = Counter()
    inlined = 0
    for stack in profile.of_thread("sections"):
        if f"Sections${kind}.round" not in stack.names or "Sections.now" in stack.names:
            continue
        sections = {name.rsplit(".", 1)[1]: frame for name, frame in zip(stack.names, stack.frames)
                    if name in [f"Sections${kind}.{section}" for section in SECTIONS]}
        for name, frame in sections.items():
            found[name] += stack.samples
            inlined += stack.samples if frame.kind == "inlined" else 0
        if not sections and stack.names[-1].startswith(UNSURE):
            found[UNSURE] += stack.samples
    told = percent(found)
    sure = sum(found[name] for name in SECTIONS)
    quality = profile.quality
    return Shares(percent(spent), {name: told.get(name, 0.0) for name in SECTIONS}, told.get(UNSURE, 0.0),
                  100 * (quality["inferred"] + quality["unsure"]) / max(1, quality["samples"]), 100 * inlined / max(1, sure),
                  sum(found.values()))


class WithSections(jvm.WithClasses):
    sources = ("Sections.java", "Clears.java")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def known(self, pid: int) -> bool:
        answer = self.daemon.get(f"/api/v1/jvms/{pid}")
        return answer.status == 200 and answer.json()["profilable"]["symbols"] == "memory"

    def start(self, cell: Cell):
        return Program(cell, self.classes.folder, paths.jdk(cell.version))

    def measure(self, cell: Cell) -> Shares:
        """The clock runs while samples are taken, but for some milliseconds at both ends."""
        with self.start(cell) as program:
            proc.wait_until(lambda: self.known(program.pid), 20, "the JVM is known")
            capture = self.daemon.capture(pid=program.pid, event="cpu", hz=1999)
            before = program.spent()
            proc.wait_until(lambda: sum((program.spent() - before).values()) > SAMPLES / 1999 * 1e9, SECONDS_MAX, "time enough")
            proc.wait_until(lambda: capture.samples() >= SAMPLES, SECONDS_MAX, "samples enough") # an emulated machine takes fewer a second
            spent = program.spent() - before
            return shares(cell.kind, capture.stop(), spent)

    def check_cell(self, cell: Cell) -> None:
        self.found = None
        self.found = found = self.measure(cell)
        print(f"{cell}: {found}", flush=True)
        for name in SECTIONS:
            off = found.found[name] - found.truth[name]
            self.assertLess(off, POINTS, f"{cell}: {name}: {found}")
            self.assertLess(-off, POINTS + found.unsure, f"{cell}: {name}: {found}")
        self.assertLess(found.unsure, UNSURE_MAX, f"{cell}: {found}")
        self.assertGreater(found.told, TOLD_MIN, f"{cell}: the answer says that its leaves are inferred: {found}")
        self.assertGreater(found.inlined, 95, f"{cell}: the sections are inlined: {found}")

    def check_all(self, *cells: Cell) -> None:
        for cell in cells:
            with self.subTest(cell=str(cell)):
                self.check_cell(cell)


class Leaf(WithSections):
    def test_sections(self):
        self.check_all(Cell(25, "parallel", "c2", "Leaf"), Cell(17, "serial", "c1", "Leaf")) # test_leaf_kinds has the others

    def test_callers_of_stubs(self):
        """What waits is inlined beside the sections, and calls nanoTime() without a record: none of that is of a section."""
        self.check_all(Cell(17, "serial", "c2", "Lambdas", True))

    def test_a_method_that_calls_nothing(self):
        """Nothing is inlined there: its loop is its own, also where C2 made one that the bytecodes do not have."""
        with jvm.Jvm(paths.jdk(17), "-XX:+UseSerialGC", "-Xmx64m", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Clears.make",
                     "-cp", self.classes.folder, "Clears") as program:
            proc.wait_until(lambda: self.known(program.pid), 20, "the JVM is known")
            answer = self.daemon.get("/profile", pid=program.pid, seconds=2, hz=499, format="collapsed", annotate=1, include=r"Clears\.make")
            self.assertNotIn(f"{UNSURE}Clears.make]", answer.text)
            self.assertRegex(answer.text, r"Clears\.make~_\[j\] \d", "of its loop")
            self.assertGreater(int(answer.headers["X-Flamed-Inferred"]), int(answer.headers["X-Flamed-Samples"]) / 3)
