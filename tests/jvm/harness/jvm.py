# SPDX-License-Identifier: Apache-2.0
"""Compiles the workloads and starts JVMs on the host. Classes are compiled once for all tests, and copied into one temporary folder."""
import atexit
import fcntl
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import paths, proc

FRAME_POINTERS = "-XX:+PreserveFramePointer"
# A folder with compiled classes, for machines on which javac would take half a minute (tests/vm).
COMPILED = os.environ.get("FLAMED_CLASSES", "")
KEPT = os.path.join(paths.CACHE, "classes") # a folder for results of javac, by the hash of the sources
LATER = ("CutCode.java", "Handled.java", "SilentUnix.java") # of tests/jvm/java: JDK 8 does not have what they call
EACH = bool(os.environ.get("FLAMED_EACH"))
further_case = unittest.skipUnless(EACH, "one of several cases: the test of the same name with _each, of the label long, runs it")
SPIN_IDENT = "0a0a0a0a" # in the kept Spin: as long as the names that replace it


def javac(into: str, classpath: str, release: int, files: list[str]) -> None:
    """Runs javac without C2: javac ends too early to gain from it."""
    compiler = paths.jdks().get(max(17, release)) or paths.jdk(min(one for one in paths.jdks() if one >= release))
    result = subprocess.run([compiler + "/bin/javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "--release", str(release), "-nowarn",
                             "-Xlint:-options", "-g", "-proc:none", "-cp", classpath, "-sourcepath", paths.JAVA_SOURCES, "-d", into, *files],
                            capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)


def kept(make, *texts: str) -> str:
    """Returns the folder of classes that make(folder) compiles from TEXTS and the files of tests/jvm/java."""
    key = hashlib.sha256()
    sources = (proc.read(os.path.join(paths.JAVA_SOURCES, name)) for name in sorted(os.listdir(paths.JAVA_SOURCES)))
    for text in (str(paths.jdks()), *texts, *sources):
        key.update(f"{len(text)} {text}".encode())
    folder = os.path.join(KEPT, key.hexdigest())
    if os.path.isdir(folder):
        return folder
    os.makedirs(KEPT, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX) # another test may be making it
        if os.path.isdir(folder):
            return folder
        made = tempfile.mkdtemp(dir=KEPT)
        try:
            make(made)
            os.chmod(made, 0o755)
            os.rename(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return folder


def compile_folder(into: str) -> None:
    """Compiles tests/jvm/java in one run, which takes two or three times as long as a single class."""
    names = sorted(name for name in os.listdir(paths.JAVA_SOURCES) if name.endswith(".java") and name not in LATER)
    try:
        javac(into, into, 8, [os.path.join(paths.JAVA_SOURCES, name) for name in names])
    except RuntimeError as error:
        raise RuntimeError(f"not all of tests/jvm/java compiles for JDK 8, so no test has classes; if a source needs a later JDK, add it to LATER "
                           f"in {os.path.relpath(__file__, paths.TREE)}:\n{error}") from error


class Classes:
    """A folder of compiled classes, world-readable, removed when the tests end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="flamed-classes.")
        os.chmod(self.folder, 0o755)
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)

    def compile(self, *sources: str, release: int = 8) -> None:
        """Compiles SOURCES: file names in tests/jvm/java, or absolute paths. The folder gets other classes of tests/jvm/java, too. The result
        runs on every JDK from RELEASE up."""
        if COMPILED and all(os.path.exists(os.path.join(COMPILED, os.path.basename(s).replace(".java", ".class"))) for s in sources):
            shutil.copytree(COMPILED, self.folder, dirs_exist_ok=True)
            return
        files = [s if os.path.isabs(s) else os.path.join(paths.JAVA_SOURCES, s) for s in sources]
        if not all(file.startswith(paths.TREE + "/") for file in files): # made for this test
            javac(self.folder, self.folder, release, files)
            return
        if release == 8 and all(os.path.dirname(file) == paths.JAVA_SOURCES for file in files):
            found = kept(compile_folder)
        else:
            before = sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names)
            found = kept(lambda into: javac(into, self.folder, release, files), str(release), *(proc.read(file) for file in [*before, *files]))
        shutil.copytree(found, self.folder, dirs_exist_ok=True)


def some(*cases):
    """Returns the first of CASES, for ./test. The tests jvm_*_each of the label long set FLAMED_EACH and get all of them. Of versions it is
    the first with a JDK here: the guest of tests/vm/arm64.py has only 17."""
    here = [case for case in cases if not isinstance(case, int) or case in paths.jdks()]
    return cases if EACH else (*here, *cases)[:1]


def side_by_side(test: unittest.TestCase, check, versions: tuple[int, ...] = (17, 25)) -> None:
    """Runs check(version) for all VERSIONS at the same time. Each failure is reported separately."""
    with ThreadPoolExecutor(len(versions)) as pool:
        running = {version: pool.submit(check, version) for version in versions}
    for version, result in running.items():
        with test.subTest(jdk=version):
            result.result()


class WithClasses(unittest.TestCase):
    """Tests that need root and SOURCES, which are compiled once, into cls.classes."""
    sources: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.classes = Classes()
        cls.classes.compile(*cls.sources)


@dataclass(frozen=True)
class Spin:
    """The workload Spin with names that are unique to this run, and the lines of its source that matter."""
    folder: str
    main: str
    method: str
    first: str
    second: str
    call_first: int
    call_second: int
    first_lines: range
    second_lines: range

    @property
    def run(self) -> str:
        return f"{self.main}.run"


def make_spin(jdk: int = 17) -> Spin:
    """Compiles Spin with a class and a method that never had a name before. If a loop counts in ints, the compiler of JDK 8 keeps no
    safepoint in it, and no usable debug information. For JDK 8, loops count in longs."""
    ident = SPIN_IDENT if COMPILED else secrets.token_hex(4)
    text = proc.read(os.path.join(paths.JAVA_SOURCES, "Spin.java.in"))
    main, method = f"Spin{ident}", f"hot{ident}"
    text = text.replace("@CLASS@", f"Spin{SPIN_IDENT}").replace("@METHOD@", f"hot{SPIN_IDENT}").replace("@ID@", SPIN_IDENT)
    text = text.replace("@INDEX@", "long" if jdk == 8 else "int")
    lines = text.splitlines()

    def line(mark: str) -> int:
        return next(i for i, l in enumerate(lines, 1) if l.endswith("// " + mark))

    def compile_it(into: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, f"Spin{SPIN_IDENT}.java")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            javac(into, folder, 8, [source])

    classes = Classes()
    found = COMPILED if os.path.exists(os.path.join(COMPILED, main + ".class")) else kept(compile_it, text)
    with open(os.path.join(found, f"Spin{SPIN_IDENT}.class"), "rb") as template, open(os.path.join(classes.folder, main + ".class"), "wb") as f:
        f.write(template.read().replace(SPIN_IDENT.encode(), ident.encode()))
    return Spin(classes.folder, main, f"{main}.{method}", f"{main}.first{ident}", f"{main}.second{ident}",
                line("CALL-FIRST"), line("CALL-SECOND"), range(line("FIRST-BEGIN"), line("FIRST-END") + 1),
                range(line("SECOND-BEGIN"), line("SECOND-END") + 1))


def spin_options(spin: Spin) -> list[str]:
    """Returns JVM arguments that make the compiler inline both callees, and no other methods, independent of its heuristics."""
    simple = spin.method.rsplit(".", 1)
    return ["-XX:CompileCommand=quiet",
            f"-XX:CompileCommand=dontinline,{simple[0]}::{simple[1]}",
            f"-XX:CompileCommand=inline,{spin.main}::{spin.first.rsplit('.', 1)[1]}",
            f"-XX:CompileCommand=inline,{spin.main}::{spin.second.rsplit('.', 1)[1]}"]


class Jvm:
    """A JVM on the host. Waits until it prints "started"."""

    def __init__(self, home: str, *arguments: str, wrap: list[str] | None = None, executable: str | None = None,
                 start: str = "started", cwd: str = "/", stdin: int = subprocess.DEVNULL):
        command = proc.ENDS_WITH_US + (wrap or []) + [executable or home + "/bin/java", *arguments]
        self.process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, cwd=cwd, errors="replace")
        if start:
            line = self.process.stdout.readline()
            while "[warning][perf,memops]" in line: # another JVM has the same pid in another pid namespace, and the same /tmp
                line = self.process.stdout.readline()
            if line.strip() != start:
                self.process.kill()
                raise RuntimeError(f"{command}: printed {line!r}, then: {self.process.communicate()}")

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> tuple[str, str]:
        """Returns its output to stdout and stderr since then."""
        self.process.kill()
        return self.process.communicate()

    def __enter__(self) -> "Jvm":
        return self

    def __exit__(self, *_) -> None:
        self.stop()


class Obedient(proc.Obeys, Jvm):
    """A JVM with a program that executes each line of its input."""

    def __init__(self, home: str, *arguments: str, **how):
        super().__init__(home, *arguments, stdin=subprocess.PIPE, **how)
