# SPDX-License-Identifier: Apache-2.0
"""One real profile in every format, each read by another project's program: all give the same result."""
import base64
import collections
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

from harness import jvm, paths, proc
from harness.contract import FORMATS
from harness.daemon import Daemon

sys.path.append(os.path.join(paths.TREE, "tests/formats"))
import readers as readers_of_formats # pylint: disable=wrong-import-position

SAMPLES_OF_EVENTS = ("jdk.ExecutionSample", "profiler.WallClockSample", "jdk.ObjectAllocationSample", "profiler.LiveObject", "profiler.Malloc",
                     "jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark", "profiler.NativeLock")
LEAST_SAMPLES = 3000
HZ = 499
KINDS = ("c2", "inlined", "interpreted", "native", "kernel", "jvm")
PROTO = os.path.join(paths.TREE, "daemon/render/proto")
FLAMEGRAPHS = (os.environ.get("FLAMED_FLAMEGRAPH", ""), "/usr/share/perl5/Devel/NYTProf/flamegraph.pl")


def flamegraph() -> str:
    found = next((path for path in FLAMEGRAPHS if os.path.exists(path)), shutil.which("flamegraph.pl"))
    if not found:
        raise unittest.SkipTest("no flamegraph.pl on this machine")
    return found


def run(*command: str, data: bytes | None = None, **more) -> str:
    done = subprocess.run(command, input=data, capture_output=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} gave {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode()


def clean(name: str) -> str:
    return re.sub(r" (\d+(\.\d*)?)$", r"_\1", re.sub("[;\r\n]", "_", name))


def collapsed_stacks(text: str) -> collections.Counter:
    found = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


def json_stacks(document: dict) -> collections.Counter:
    names = [clean(frame["name"]) for frame in document["frames"]]
    found = collections.Counter()
    for stack in document["stacks"]:
        found[tuple(names[i] for i in stack["frames"])] += stack["samples"]
    return found


def speedscope_stacks(document: dict, period: int) -> collections.Counter:
    names = [clean(frame["name"]) for frame in document["shared"]["frames"]]
    found = collections.Counter()
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            found[tuple(names[i] for i in stack)] += weight // period
    return found


def decoded(text: str) -> list:
    """Parses protoc's text to [(key, value)]; messages are nested lists."""
    root: list = []
    open_lists = [root]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner: list = []
            open_lists[-1].append((line[:-1].strip(), inner))
            open_lists.append(inner)
        elif line == "}":
            open_lists.pop()
        else:
            key, _, value = line.partition(": ")
            open_lists[-1].append((key, value))
    return root


def all_of(message: list, key: str) -> list:
    return [value for name, value in message if name == key]


def one(message: list, key: str, default="0"):
    return next((value for name, value in message if name == key), default)


def unquoted(text: str) -> str:
    """Returns a string of protoc's text."""
    octets = bytearray()
    for match in re.finditer(rb'\\([0-7]{1,3})|\\(.)|(.)', text[1:-1].encode(), re.S):
        octal, escaped, plain = match.groups()
        octets += bytes([int(octal, 8)]) if octal else {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(escaped, escaped) \
            if escaped else plain
    return octets.decode()


def pprof_stacks(data: bytes) -> collections.Counter:
    """Returns the stacks that protoc finds in the profile."""
    profile = decoded(run("protoc", "--decode=pprof.Profile", "-I", PROTO, "pprof.proto", data=gzip.decompress(data)))
    strings = [unquoted(text) for text in all_of(profile, "string_table")]
    functions = {one(f, "id"): clean(strings[int(one(f, "name"))]) for f in all_of(profile, "function")}
    lines = {one(l, "id"): [functions[one(line, "function_id")] for line in all_of(l, "line")]
             for l in all_of(profile, "location")}
    found = collections.Counter()
    for sample in all_of(profile, "sample"):
        leaf_first = [name for location in all_of(sample, "location_id") for name in lines[location]]
        found[tuple(reversed(leaf_first))] += int(all_of(sample, "value")[0])
    return found


def kinds_of_names(text: str) -> dict[str, set[str]]:
    """Returns name without its suffix -> the suffixes that it has. "::" stands for a C++ name, "" for no suffix."""
    found = collections.defaultdict(set)
    for stack in collapsed_stacks(text):
        for name in stack:
            suffix = (re.search(r"_\[(.)\]$", name) or [None, "::" if "::" in name else ""])[1]
            found[re.sub(r"_\[.\]$", "", name)].add(suffix)
    return found


def palette(fill: str) -> str:
    """Returns which of flamegraph.pl's palettes contains the colour."""
    red, green, blue = (int(n) for n in re.findall(r"\d+", fill))
    if blue == 0:
        return "orange"
    if red == blue:
        return "green"
    if green == blue:
        return "aqua" if red < green else "red"
    return "yellow" if red == green else fill


def readers() -> dict[int, str]:
    """Returns feature version -> the jfr of that JDK."""
    return {version: home + "/bin/jfr" for version, home in paths.jdks().items() if os.path.exists(home + "/bin/jfr")}


def jfr(version: int, *arguments: str) -> str:
    fast = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC") # these runs end too early to gain from C2
    return run(readers()[version], *fast, *arguments, env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "JAVA_TOOL_OPTIONS": ""})


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.folder = tempfile.mkdtemp(prefix="flamed-formats.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        classes = jvm.Classes()
        classes.compile(os.path.join(paths.TREE, "tests/bench/Mixed.java"))
        target = jvm.Jvm(paths.jdk(17), "-Xmx512m", "-cp", classes.folder, "Mixed", "3600", start="")
        cls.target = target
        cls.addClassCleanup(target.stop)
        cls.capture()
        proc.stop(target.pid) # its fourteen threads would take the processors from the readers

    @classmethod
    def capture(cls) -> None:
        """Takes six seconds or more, until there are enough samples on a busy machine."""
        running = cls.daemon.capture(pid=cls.target.pid, hz=HZ)
        time.sleep(6)
        proc.wait_until(lambda: cls.daemon.get(running.path).json()["samples"] >= LEAST_SAMPLES, 80, "the samples", 0.2)
        running.stop()
        answer = cls.daemon.get(running.path + "/profile", format="json")
        assert answer.status == 200, answer
        cls.document = answer.json()
        cls.id = answer.headers["X-Flamed-Capture"]
        cls.samples = cls.document["quality"]["samples"]
        cls.period = cls.document["meta"]["period"]

    def render(self, form: str, headers: dict | None = None, **parameters):
        answer = self.daemon.get(f"/api/v1/captures/{self.id}/profile", format=form, headers=headers, **parameters)
        self.assertEqual(answer.status, 200, (form, answer))
        return answer

    def write(self, form: str, name: str, **parameters) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(self.render(form, **parameters).body)
        return path

    def stacks(self, **parameters) -> collections.Counter:
        return collapsed_stacks(self.render("collapsed", **parameters).text)

    # ---- what the profile is ----

    def test_it_is_a_real_one(self):
        self.assertGreaterEqual(self.samples, LEAST_SAMPLES)
        ran = {self.document["frames"][i]["kind"] for stack in self.document["stacks"] for i in stack["frames"]}
        self.assertLessEqual(set(KINDS), ran)

    def test_every_format_on_every_route(self):
        for form, content_type in FORMATS.items():
            for path, parameters in ((f"/api/v1/captures/{self.id}/profile", {}), ("/profile", {"pid": self.target.pid, "from": "-10m"}),
                                     ("/api/v1/query", {"pid": self.target.pid, "from": "-10m"})):
                answer = self.daemon.get(path, format=form, **parameters)
                self.assertEqual(answer.status, 200, (path, form, answer))
                self.assertEqual(answer.headers["Content-Type"].partition(";")[0], content_type, path)
                self.assertTrue(answer.body, (path, form))
        answer = self.daemon.get("/profile", format="gif")
        self.assertEqual(answer.status, 400)
        self.assertTrue(all(form in answer.text for form in FORMATS), answer.text)

    def test_tree_is_a_page_for_browsers(self):
        for accept, wanted in (("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"), ("*/*", "text/plain"),
                               ("text/plain", "text/plain"), ("text/html;q=0.1, text/plain", "text/plain")):
            answer = self.render("tree", headers={"Accept": accept})
            self.assertEqual(answer.headers["Content-Type"].partition(";")[0], wanted, accept)
            self.assertIn("Accept", answer.headers["Vary"])

    # ---- round trips ----

    def test_the_same_stacks_in_each(self):
        for parameters in ({}, {"lines": 1, "names": "signature"}, {"include": "Mixed", "exclude": "GC"}, {"depth": 6}):
            wanted = self.stacks(**parameters)
            self.assertTrue(wanted)
            self.assertEqual(json_stacks(self.render("json", **parameters).json()), wanted)
            self.assertEqual(speedscope_stacks(self.render("speedscope", **parameters).json(), self.period), wanted)
            self.assertEqual(speedscope_stacks(self.render("speedscope", threads=1, **parameters).json(), self.period),
                             self.stacks(threads=1, **parameters))
            self.assertEqual(pprof_stacks(self.render("pprof", **parameters).body), wanted)
        self.assertEqual(sum(self.stacks().values()), self.samples)

    def test_go_reads_pprof(self):
        paths.need("go")
        text = run("go", "tool", "pprof", "-symbolize=none", "-raw", self.write("pprof", "p.pb.gz"),
                   env={**os.environ, "PPROF_TMPDIR": self.folder, "GOFLAGS": "-mod=mod"})
        self.assertEqual(sum(int(line.split()[0]) for line in re.findall(r"^ +\d+ +\d+:.*$", text, re.M)), self.samples)

    def test_jfr(self):
        path = self.write("jfr", "p.jfr")
        if not readers():
            self.skipTest("no JDK with a jfr on this machine")
        for version in jvm.some(*sorted(readers())): # formats_jfr has the newest
            summary = jfr(version, "summary", path)
            self.assertEqual(int(re.search(r"jdk\.ExecutionSample\s+(\d+)", summary)[1]), self.samples, version)
            text = jfr(version, "print", "--stack-depth", "2048", "--events", "jdk.ExecutionSample", path)
            self.assertEqual(len(re.findall(r"^jdk\.ExecutionSample \{", text, re.M)), self.samples, version)
            if version >= 21:
                view = jfr(version, "view", "--width", "300", "--truncate", "end", "hot-methods", path)
                self.assertRegex(view, r"Mixed[.$]", view)
        self.check_jfr_stacks(path)

    def check_jfr_stacks(self, path: str) -> None:
        """Compares leaves and depths with collapsed. jfr prefixes native names with their file."""
        events = json.loads(jfr(max(readers()), "print", "--json", "--stack-depth", "2048", "--events", "jdk.ExecutionSample",
                                path))["recording"]["events"]
        got, wanted = collections.Counter(), collections.Counter()
        for event in events:
            trace = event["values"]["stackTrace"]
            frames = trace["frames"] if trace else []
            method = frames[0]["method"]["name"] if frames else ""
            got[(len(frames), method)] += 1
        for stack in self.document["stacks"]:
            frames = [self.document["frames"][i] for i in stack["frames"]]
            # A gap in the middle, "[...]", is a frame in both formats. jfr has no frame for a missing root.
            frames = [f for f in frames if f["kind"] not in ("process", "thread") and f["name"] != "[truncated]"]
            leaf = frames[-1] if frames else {"name": "", "kind": ""}
            java = leaf["kind"] in ("c1", "c2", "inlined", "interpreted") and not leaf.get("unsure") # "[inlined in a.B.c]" is not a method
            name = leaf["name"].rpartition(".")[2] if java else leaf["name"]
            wanted[(len(frames), name)] += stack["samples"]
        self.assertEqual((got - wanted, wanted - got), (collections.Counter(), collections.Counter()))

    @unittest.skipUnless("FLAMED_FORMAT_READERS" in os.environ, "FLAMED_FORMAT_READERS is not set: jvm_formats_readers runs it")
    def test_readers_of_recordings_have_all_events(self):
        """Mission Control's models, async-profiler's converters and Pyroscope's parser read a real JVM's profile, with the same result as
        otlp."""
        os.kill(self.target.pid, signal.SIGCONT)
        self.addCleanup(os.kill, self.target.pid, signal.SIGSTOP)
        folder, paths_of, counts, exports = self.folder, {}, {}, {}
        for events in ("cpu,wall,alloc", "offcpu,lock,nativelock", "safepoint,nativemem", "live", "malloc", "nativelive"):
            answer = self.daemon.taken(pid=self.target.pid, seconds=0.8, event=events, format="jfr", force=1, timeout=60)
            self.assertEqual(answer.status, 200, (events, answer.body[:300]))
            paths_of[events] = f"{folder}/{events.replace(',', '.')}.jfr"
            counts[events] = int(answer.headers["X-Flamed-Samples"])
            with open(paths_of[events], "wb") as file:
                file.write(answer.body)
            export = self.daemon.get(f"/api/v1/captures/{answer.headers['X-Flamed-Capture']}/profile", format="otlp")
            exports[events] = f"{folder}/{events.replace(',', '.')}.otlp.pb"
            with open(exports[events], "wb") as file:
                file.write(export.body)
        os.kill(self.target.pid, signal.SIGSTOP)
        found = readers_of_formats.Recordings(folder, *paths_of.values())
        self.assertEqual(found.failed, [])
        for events, path in paths_of.items():
            seen = collections.Counter()
            for (kind, _), count in found.stacks[os.path.basename(path)].items():
                seen[kind] += count
            if counts[events]:
                self.assertGreater(sum(seen[kind] for kind in SAMPLES_OF_EVENTS), 0, (events, seen))
            for kind in SAMPLES_OF_EVENTS:
                self.assertEqual(found.views[os.path.basename(path)].get(kind, 0), sum(
                    n for (other, stack), n in found.stacks[os.path.basename(path)].items() if other == kind and stack), (events, kind))
        several = found.stacks["cpu.wall.alloc.jfr"]
        for kind in ("jdk.ExecutionSample", "profiler.WallClockSample", "jdk.ObjectAllocationSample"):
            self.assertTrue([stack for other, stack in several if other == kind and "Mixed" in stack], kind)
        for release in ("4.2", "4.5"):
            for options in ("cpu", "wall", "alloc--total"):
                self.assertIn("Mixed", found.converted["cpu.wall.alloc.jfr", release, options], (release, options))
        stored = readers_of_formats.pyroscope(*paths_of.values())
        self.assertGreater(sum(stored["cpu.wall.alloc.jfr", "alloc_sample_bytes"].values()), 0)
        self.assertGreater(sum(stored["cpu.wall.alloc.jfr", "cpu"].values()), 0)
        taken = readers_of_formats.collector(*exports.values()) # fails if Pyroscope refuses a profile
        self.assertEqual({sample["pyroscope"] for sample in taken["cpu.wall.alloc.otlp.pb"]},
                         {"process_cpu:cpu:nanoseconds", "wall:wall:nanoseconds", "alloc_space:alloc_space:bytes"})
        self.assertIn("off_cpu:off_cpu:nanoseconds", {sample["pyroscope"] for sample in taken["offcpu.lock.nativelock.otlp.pb"]})

    # ---- readers ----

    def test_flamegraph_pl(self):
        script = flamegraph()
        text = self.render("collapsed", annotate=1).text
        svg = run("perl", script, "--color=java", "--hash", "--minwidth=0", data=text.encode())
        picture = xml.dom.minidom.parseString(svg)
        kinds = kinds_of_names(text)
        seen = collections.defaultdict(set)
        for g in picture.getElementsByTagName("g"):
            if g.getElementsByTagName("title") and g.getElementsByTagName("rect"):
                name = g.getElementsByTagName("title")[0].firstChild.data.rpartition(" (")[0]
                suffixes = kinds[re.sub(r"_\[.\]$", "", name)]  # newer versions do not show them
                if len(suffixes) == 1:
                    seen[next(iter(suffixes))].add(palette(g.getElementsByTagName("rect")[0].getAttribute("fill")))
        with open(script, encoding="utf-8") as file:
            knows_suffixes = r"_\[j\]" in file.read() # FlameGraph's since 2017; Debian's copy is older
        wanted = {"j": "green", "i": "aqua", "k": "orange"} if knows_suffixes else {}
        for suffix, colour in {**wanted, "::": "yellow"}.items():
            self.assertEqual(seen[suffix], {colour}, suffix)
        self.assertEqual(int(re.search(r"<title>all \(([\d,]+) samples", svg)[1].replace(",", "")), self.samples)

    def test_protoc_reads_otlp(self):
        paths.need("protoc")
        text = run("protoc", "--decode=otlp.ProfilesData", "-I", PROTO, "otlp.proto", data=self.render("otlp").body)
        data = decoded(text)
        total = sum(len(all_of(sample, "timestamps_unix_nano")) for resource in all_of(data, "resource_profiles")
                    for scope in all_of(resource, "scope_profiles") for profile in all_of(scope, "profiles")
                    for sample in all_of(profile, "samples"))
        self.assertEqual(total, self.samples)

    def test_text_for_people(self):
        for form in ("summary", "flat", "traces", "tree"):
            self.assertIn(f"Total samples       : {self.samples}\n", self.render(form).text)

    def test_in_chromium(self):
        """Every page and picture, and speedscope, opened from files, offline."""
        for form, name in (("html", "p.html"), ("svg", "p.svg"), ("heatmap", "heat.html")):
            self.write(form, name)
        with open(os.path.join(self.folder, "tree.html"), "wb") as file:
            file.write(self.render("tree", headers={"Accept": "text/html"}).body)
        for form in ("html", "svg"):
            answer = self.daemon.get("/api/v1/diff", a=self.id, b=self.id, format=form)
            self.assertEqual(answer.status, 200, answer)
            with open(os.path.join(self.folder, "diff." + form), "wb") as file:
                file.write(answer.body)
        document = self.render("speedscope", threads=1)
        with open(os.path.join(self.folder, "speedscope.js"), "w", encoding="ascii") as file:
            file.write('speedscope.loadFileFromBase64("p.speedscope.json", "%s")' % base64.b64encode(document.body).decode())
        with open(os.path.join(self.folder, "expected.json"), "w", encoding="utf-8") as file:
            json.dump({"samples": self.samples, "profiles": [p["name"] for p in document.json()["profiles"]]}, file)
        done = subprocess.run([os.path.join(paths.TREE, "tests/web/browser.sh"), "readers.spec.mjs", self.folder],
                              capture_output=True, text=True, timeout=400)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])

    # ---- filters and progress ----

    def test_a_pattern_that_explodes_is_refused(self):
        for name in ("include", "exclude"):
            answer = self.daemon.get(f"/api/v1/captures/{self.id}/profile", format="svg", **{name: "^(([A-Za-z.]+)+)+[0-9]{9}$"})
            self.assertEqual(answer.status, 400, answer)
            self.assertEqual(answer.json()["parameter"], name)

    def test_progress_and_then_the_link(self):
        os.kill(self.target.pid, signal.SIGCONT)
        self.addCleanup(os.kill, self.target.pid, signal.SIGSTOP)
        answer = self.daemon.get("/profile", pid=self.target.pid, seconds=3, hz=99, format="svg", width=900,
                                 headers={"Accept": "text/event-stream"})
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        events = re.findall(r"^event: (\w+)\ndata: (.*)$", answer.text, re.M)
        self.assertGreaterEqual([name for name, _ in events].count("progress"), 2)
        parts = [json.loads(data)["progress"] for name, data in events]
        self.assertEqual(parts, sorted(parts))
        done = json.loads(events[-1][1])
        self.assertEqual((events[-1][0], done["state"]), ("done", "done"))
        link = self.daemon.get(done["link"])
        self.assertEqual(link.headers["Content-Type"], "image/svg+xml")
        self.assertIn('width="900"', link.text)


if __name__ == "__main__":
    unittest.main()
