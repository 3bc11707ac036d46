# SPDX-License-Identifier: Apache-2.0
"""Other projects' programs that read formats, downloaded once into tests/.cache. A test is skipped if they are not available."""
import collections
import fcntl
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
CACHE = os.path.join(HERE, "../.cache")
JAR = re.compile(r"\.jfr-converter-([\d.]+)\.jar\.")


def digest(*paths: str) -> str:
    """Returns a digest of the files' bytes: results made from them are made again when they change."""
    found = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()[:12]


def once(kind: str, sources: list[str], make) -> str:
    """Returns the folder with the result of MAKE for the sources. MAKE returns the process that made it."""
    folder = os.path.realpath(os.path.join(CACHE, f"{kind}-{digest(*sources)}"))
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX) # other tests may want the same
        if not os.path.exists(folder + "/complete"):
            done = make(folder)
            if done.returncode != 0:
                raise unittest.SkipTest(f"the readers cannot be had: {(done.stdout + done.stderr)[-300:]}")
            with open(folder + "/complete", "w", encoding="ascii"):
                pass
    return folder


def quiet(*command: str, seconds: float = 300, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds, **more)


# ---- JDK Mission Control and async-profiler's converters ----

def java_home() -> str:
    """Returns a JDK that can run Mission Control's classes."""
    for javac in sorted(glob.glob("/usr/lib/jvm/*/bin/javac"), reverse=True):
        home = os.path.dirname(os.path.dirname(os.path.realpath(javac)))
        with open(home + "/release", encoding="utf-8") as release:
            version = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release.read())
        if version and int(version[1]) >= 17:
            return home
    raise unittest.SkipTest("no JDK from 17 on under /usr/lib/jvm")


@functools.cache
def java_readers() -> str:
    sources = [HERE + "/java/pom.xml", HERE + "/java/Readers.java"]
    if not shutil.which("mvn"):
        raise unittest.SkipTest("no mvn on this machine")

    def make(folder: str) -> subprocess.CompletedProcess:
        got = quiet("mvn", "-q", "-B", "-f", sources[0], "dependency:copy-dependencies", "dependency:copy", f"-DoutputDirectory={folder}/jars",
                    env={**os.environ, "MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}) # it ends too early to gain from C2
        if got.returncode == 0:
            subprocess.run([java_home() + "/bin/javac", "-d", folder + "/classes", "-cp", folder + "/jars/*", sources[1]], check=True)
        return got

    return once("jfr-readers", sources, make)


class Recordings:
    """Results of both for recordings: `stacks` is recording -> (type, stack) -> events, `views` recording -> type -> events with walked
    stacks, `converted` (recording, release, options) -> collapsed text, and `pages` the same for pages. `failed` has their exceptions."""

    def __init__(self, folder: str, *paths: str):
        made, home = java_readers(), java_home()
        jars = ",".join(sorted(glob.glob(made + "/jars/jfr-converter-*.jar")))
        fast = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8")
        done = quiet(home + "/bin/java", *fast, "-cp", f"{made}/jars/*:{made}/classes", "Readers", folder, jars, *paths, encoding="utf-8",
                     env={**os.environ, "LC_ALL": "C.UTF-8", "JAVA_TOOL_OPTIONS": ""})
        if done.returncode != 0:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])
        self.stacks = collections.defaultdict(collections.Counter)
        self.views = collections.defaultdict(dict)
        self.converted, self.pages, self.failed = {}, {}, []
        for line in done.stdout.splitlines():
            what, recording, *rest = line.split("\t")
            if what == "jmc":
                self.stacks[recording][rest[0], rest[2] if len(rest) > 2 else ""] += int(rest[1])
            elif what == "views":
                self.views[recording][rest[0]] = int(rest[1])
            elif what == "failed":
                self.failed.append(line)
            else:
                self.take(folder, recording, rest[1])

    def take(self, folder: str, recording: str, name: str) -> None:
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            text = file.read()
        release = JAR.search(name)[1]
        form, options = name[JAR.search(name).end():].partition("--")[::2]
        kept = self.pages if form == "html" else self.converted
        kept[recording, release, options] = text


def collapsed(text: str) -> dict[str, int]:
    """Returns stack -> weight."""
    return {stack: int(weight) for stack, _, weight in (line.rpartition(" ") for line in text.splitlines())}


# ---- Pyroscope's parser, the OpenTelemetry Collector, and Kubernetes' types ----

@functools.cache
def go_reader(name: str, module: str = HERE + "/go", package: str | None = None, seconds: float = 300) -> str:
    """Returns the path of the built program: tests/formats/go/NAME, or PACKAGE of another module."""
    if not shutil.which("go"):
        raise unittest.SkipTest("no go on this machine")
    package = name if package is None else package
    folder = once("go-" + name, [module + "/go.mod", module + "/go.sum", *sorted(glob.glob(f"{module}/{package}/*.go"))], lambda folder: quiet(
        "go", "build", "-o", folder + "/" + name, "./" + package, cwd=module, seconds=seconds,
        env={**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false"}))
    return folder + "/" + name


def real_collector() -> str:
    """Returns the path of a built OpenTelemetry Collector that writes to files what it receives. Building takes some 100 s of CPU time."""
    return go_reader("collector", HERE + "/collector", "", seconds=1500)


def kustomized(folder: str) -> list[dict]:
    """Returns the objects of a folder as `kubectl apply -k` makes them, read strictly into Kubernetes' own types."""
    done = quiet(go_reader("kubernetes", HERE + "/kubernetes", "", seconds=1500), folder, encoding="utf-8")
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def pyroscope(*paths: str) -> dict[tuple[str, str], dict[str, int]]:
    """Returns (recording, type of sample) -> stack -> sum, as Pyroscope stores a pushed jfr."""
    done = quiet(go_reader("jfr"), *paths, encoding="utf-8")
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    found = collections.defaultdict(collections.Counter)
    for line in done.stdout.splitlines():
        recording, _, kind, value, stack = line.split("\t")
        found[recording, kind][stack] += int(value)
    return found


def samples_of(reader: str, *paths: str) -> dict[str, list[dict]]:
    """Returns file -> what the program tests/formats/go/READER prints of it, a sample a line."""
    done = quiet(go_reader(reader), *paths, encoding="utf-8")
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        sample = json.loads(line)
        found[sample["file"]].append(sample)
    return found


def pushed(*paths: str) -> dict[str, list[dict]]:
    """Returns file -> samples of its profiles, as Pyroscope's own types read bodies of push.v1.PusherService/Push."""
    return samples_of("push", *paths)


def collector(*paths: str) -> dict[str, list[dict]]:
    """Returns file -> samples of its profiles, by the collector's own code. Fails if Pyroscope refuses one."""
    return samples_of("otlp", *paths)
