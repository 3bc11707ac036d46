# SPDX-License-Identifier: Apache-2.0
"""Shared by the checks of the HTTP contract: one flamed, a JVM on the host, two in containers, and one that ended."""
import atexit
import gzip
import json
import os
import random
import re
import secrets
import time
import traceback
import unittest

from . import bundle, jvm, paths, proc
from .daemon import Answer, Daemon

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
FACTS = ("X-Flamed-Samples", "X-Flamed-Lost", "X-Flamed-Unknown", "X-Flamed-Truncated")
# name -> content type, without charset: of every row of the table, and of formats that clients rely on even if the table lacks them.
with open(os.path.join(paths.TREE, "daemon/render/formats.def"), encoding="ascii") as table:
    TABLE = dict(re.findall(r'^FORMAT\((\w+), "([^;"]+)', table.read(), re.M))
FORMATS = TABLE | {
    "html": "text/html", "svg": "image/svg+xml", "collapsed": "text/plain", "summary": "text/plain", "flat": "text/plain",
    "traces": "text/plain", "tree": "text/plain", "json": "application/json", "pprof": "application/octet-stream",
    "speedscope": "application/json", "jfr": "application/octet-stream", "otlp": "application/x-protobuf", "requests": "application/json", "heatmap": "text/html"}


class World:
    """Started by the first test of this process that needs it, stopped at the process's end."""
    _instance: "World | None" = None
    _failed = "" # why making it failed, so that no other test tries again

    @classmethod
    def get(cls) -> "World":
        bundle.need_runc()
        if cls._instance is None:
            if cls._failed:
                raise RuntimeError(cls._failed)
            try:
                cls._instance = cls()
            except Exception as e:
                cls._failed = str(e)
                raise
            atexit.register(cls._instance.end)
        return cls._instance

    def end(self) -> None:
        try:
            self.stop()
        except Exception: # flamed ended badly: atexit alone would not make the test fail
            traceback.print_exc()
            os._exit(1)

    def __init__(self):
        self.stops = []
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self) -> None:
        self.machine = proc.Standstill()
        self.machine.__enter__()
        self.stops.append(self.machine.__exit__)
        classes = jvm.Classes()
        classes.compile("Contract.java")
        self.spin = jvm.make_spin()
        self.daemon = Daemon()
        self.stops.append(self.daemon.stop)
        self.began = time.time()
        home = paths.jdk(17)
        self.short = jvm.Jvm(home, "-Xmx64m", "-cp", self.spin.folder, self.spin.main)
        self.stops.append(self.short.stop)
        self.host = jvm.Jvm(home, "-Xmx64m", "-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Contract::slow",
                            "-XX:CompileCommand=dontinline,Contract::mix", "-XX:CompileCommand=inline,Contract::stir",
                            "-Dpassword=hunter2", "-cp", classes.folder, "Contract", "first", "second argument")
        self.stops.append(self.host.stop)
        alike = secrets.token_hex(4)  # both ids share eight digits, and differ in the ninth
        self.ident, self.twin_ident = (alike + ninth + secrets.token_hex(28)[1:]
                                       for ninth in random.sample("0123456789abcdef", 2))
        self.pod = "12345678-1234-1234-1234-" + secrets.token_hex(6)
        arguments = ["-Drest=45", "-Xmx64m", "-cp", "/classes", self.spin.main] # they leave most of the processors to other tests
        self.inside = bundle.Container(home, self.spin.folder, *arguments, cgroups_path=f"/docker/{self.ident}")
        self.stops.append(self.inside.stop)
        self.twin_name = "contract-" + secrets.token_hex(4) # the runtime names only this container
        named = bundle.runtime_config(self.twin_ident, {"container-name": self.twin_name})
        named.__enter__()
        self.stops.append(lambda: named.__exit__(None, None, None))
        newest = paths.jdks().get(25, home)
        self.twin = bundle.Container(newest, self.spin.folder, *arguments,
                                     cgroups_path=f"/kubepods/burstable/pod{self.pod}/{self.twin_ident}")
        self.stops.append(self.twin.stop)
        proc.wait_until(lambda: proc.cpu_seconds(self.short.pid) > 1, 20, "the JVM that will die was busy for a while")
        proc.wait_until(self.short_is_recorded, 20, "the flight recorder has it", 0.2)
        self.short.stop()

    def short_is_recorded(self) -> bool:
        return self.spin.method in self.daemon.get("/profile?from=-60s&format=collapsed", pid=self.short.pid).text

    def stop(self) -> None:
        for stop in reversed(self.stops):
            stop()

    @property
    def pids(self) -> list[int]:
        return [self.host.pid, self.inside.pid, self.twin.pid]


class ContractCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World.get()
        cls.daemon = cls.world.daemon
        cls.pid = cls.world.host.pid

    def get(self, path: str, status: int = 200, **arguments) -> Answer:
        answer = self.daemon.get(path, **arguments)
        self.assertEqual(answer.status, status, f"{path} {arguments}: {answer}")
        return answer

    def sample(self, form: str = "collapsed", path: str = "/profile", **parameters) -> Answer:
        return self.get(path, **{"seconds": 0.3, "hz": 199, "format": form, **parameters})

    def problem(self, answer: Answer, status: int | tuple[int, ...], *words: str, parameter: str | None = None) -> dict:
        """Checks ANSWER against RFC 9457 and the contract. Returns the document."""
        self.assertIn(answer.status, (status,) if isinstance(status, int) else status, str(answer))
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json", str(answer))
        document = answer.json()
        for member, kind in (("type", str), ("title", str), ("status", int), ("detail", str)):
            self.assertIsInstance(document.get(member), kind, document)
        self.assertEqual(document["status"], answer.status)
        self.assertGreater(len(document["detail"]), 15, document)
        text = json.dumps(document, ensure_ascii=False)
        for word in words:
            self.assertIn(word, text)
        if parameter:
            self.assertEqual(document.get("parameter"), parameter, document)
        return document

    def bad(self, path: str, status: int | tuple[int, ...], *words: str, parameter: str | None = None,
            headers: dict | None = None, method: str = "GET", body: bytes | None = None) -> dict:
        start = self.world.machine.given()
        answer = self.daemon.request(method, path, headers=headers, body=body)
        took = self.world.machine.given() - start
        with self.subTest(method=method, path=path, headers=headers, body=body and body[:80]):
            document = self.problem(answer, status, *words, parameter=parameter)
            self.assertLess(took, 3, "refused at once")
            return document

    def facts(self, answer: Answer) -> dict[str, int]:
        """Returns the headers that every profile has, as numbers."""
        for name in FACTS:
            self.assertRegex(answer.headers.get(name, ""), r"^\d+$", f"{name}: {answer.headers.items()}")
        return {name: int(answer.headers[name]) for name in FACTS}


def folded(answer: Answer) -> dict[tuple[str, ...], int]:
    """Returns the stacks of a collapsed profile, root first."""
    found = {}
    for line in answer.text.splitlines():
        stack, _, number = line.rpartition(" ")
        found[tuple(stack.split(";"))] = found.get(tuple(stack.split(";")), 0) + int(number)
    return found


def protobuf(data: bytes) -> list[tuple[int, int | bytes]]:
    """Returns the fields of a message as (number, value). A value is a number or bytes."""
    def varint(i: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = data[i]
            value |= (byte & 127) << shift
            i, shift = i + 1, shift + 7
            if byte < 128:
                return value, i

    fields: list[tuple[int, int | bytes]] = []
    i = 0
    while i < len(data):
        key, i = varint(i)
        kind = key & 7
        if kind == 0:
            value, i = varint(i)
        else:
            size, i = varint(i) if kind == 2 else (8 if kind == 1 else 4, i)
            if kind not in (1, 2, 5) or i + size > len(data):
                raise ValueError(f"field {key >> 3} of kind {kind} at {i}")
            value, i = data[i:i + size], i + size
        fields.append((key >> 3, value))
    return fields


class Pprof:
    """The parts of profile.proto that the contract names."""

    def __init__(self, body: bytes):
        fields = protobuf(gzip.decompress(body))
        self.strings = [value.decode() for number, value in fields if number == 6]
        self.types = [tuple(self.strings[dict(protobuf(value)).get(n, 0)] for n in (1, 2)) for number, value in fields if number == 1]
        self.samples = [dict(protobuf(value)) for number, value in fields if number == 2]
        self.comments = [self.strings[value] for number, value in fields if number == 13 and isinstance(value, int)]
        for number, value in fields:
            if number == 13 and isinstance(value, bytes): # packed
                self.comments += [self.strings[n] for n in packed(value)]
        self.period_type = [protobuf(value) for number, value in fields if number == 11]
        self.time_nanos, self.duration_nanos = (dict(fields).get(n, 0) for n in (9, 10))

    @property
    def counts(self) -> int:
        """Returns the sum of the first value of each sample."""
        return sum(packed(sample[2])[0] if isinstance(sample[2], bytes) else sample[2] for sample in self.samples)


def packed(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def exposition(text: str) -> dict[str, dict[str, float]]:
    """Parses Prometheus text strictly: metric -> labels as text -> value."""
    label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
    line = re.compile(rf"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({label}(?:,{label})*,?)?\}})? (\S+)$")
    found: dict[str, dict[str, float]] = {}
    kinds: dict[str, str] = {}
    ended: set[str] = set()
    current = ""
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for number, row in enumerate(text.splitlines(), 1):
        if row.startswith("# TYPE "):
            _, _, name, kind = row.split(" ")
            if name in kinds or kind not in ("counter", "gauge", "histogram", "summary", "untyped"):
                raise ValueError(f"line {number}: {row}")
            kinds[name] = kind
        elif row.startswith("#") or not row:
            continue
        else:
            match = line.match(row)
            if not match:
                raise ValueError(f"line {number}: {row}")
            name, labels, value = match[1], match[2] or "", float(match[3])
            family = re.sub(r"_(bucket|sum|count)$", "", name) if name not in kinds else name
            if family not in kinds:
                raise ValueError(f"line {number}: no TYPE before {row}")
            if family != current:
                if family in ended:
                    raise ValueError(f"line {number}: {family} is in two places")
                ended.add(current)
                current = family
            if labels in found.setdefault(name, {}):
                raise ValueError(f"line {number}: twice: {row}")
            found[name][labels] = value
    return found
