# SPDX-License-Identifier: Apache-2.0
"""The JDK's own `jfr` reads jfr: every sample at its time, in its thread, with its stack."""
import collections
import datetime
import glob
import json
import os
import re
import unittest

import common

# By enum frame_kind; else Native.
TYPES = {1: "JIT compiled", 2: "C1 compiled", 3: "Inlined", 4: "Interpreted", 6: "C++", 8: "Kernel"}
JAVA = ("JIT compiled", "C1 compiled", "Inlined", "Interpreted")


def readers() -> dict[int, str]:
    """Returns feature version -> the jfr of that JDK."""
    found = {}
    for path in sorted(glob.glob("/usr/lib/jvm/*/bin/jfr")):
        path = os.path.realpath(path)
        with open(os.path.join(os.path.dirname(path), "../release")) as release:
            found[int(re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release.read())[1])] = path
    return found


def jfr(version: int, *arguments: str) -> str:
    fast = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC") # it ends too early to gain from C2
    return common.run(readers()[version], *fast, *arguments,
                      env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "JAVA_TOOL_OPTIONS": ""})


def nanoseconds(text: str) -> int:
    """Parses RFC 3339 in the form of `jfr print --json`."""
    head, fraction, zone = re.match(r"([\dT:-]+)(\.\d+)?(Z|[+-]\d\d:\d\d)$", text).groups()
    whole = datetime.datetime.fromisoformat(head + zone.replace("Z", "+00:00")).timestamp()
    return int(whole) * 10**9 + int(((fraction or ".0")[1:] + "000000000")[:9])


def spelled(descriptor: str) -> str:
    """Returns (ILjava/lang/String;)V in the spelling of signature=."""
    names = {"Z": "boolean", "B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short"}
    found = []
    for arrays, letter, name in re.findall(r"(\[*)(?:([ZBCDFIJS])|L([^;]*);)", descriptor[1:descriptor.rindex(")")]):
        found.append((names[letter] if letter else name.replace("/", ".")) + "[]" * len(arrays))
    return "(" + ", ".join(found) + ")"


class Jfr(unittest.TestCase):
    def each(self):
        """Returns the newest JDK, which has all commands; all of them in formats_jfr_each. A failure names the path."""
        if not readers():
            self.skipTest("no JDK with a jfr on this machine")
        return readers() if os.environ.get("FLAMED_EACH") else [max(readers())]

    def test_summary_counts_the_samples(self):
        for version in self.each():
            for case in common.CASES:
                text = jfr(version, "summary", common.write_file(case, "jfr"))
                count = int(re.search(r"jdk\.ExecutionSample\s+(\d+)", text)[1])
                self.assertEqual(count, sum(common.collapsed(case).values()))
                self.assertIn("Start: 2025-11-21 01:26:54 (UTC)", text)

    def test_several_events(self):
        """CPU time is in the JDK's own event. The others are samples of a type of flamed's, each with name, value and unit."""
        for version in self.each():
            path = common.write_file("events", "jfr")
            count = int(re.search(r"jdk\.ExecutionSample\s+(\d+)", jfr(version, "summary", path))[1])
            self.assertEqual(count, sum(common.collapsed("events", "event=0").values()))
            text = jfr(version, "print", "--json", "--stack-depth", "64", "--events", "flamed.EventSample", path)
            samples = [event["values"] for event in json.loads(text)["recording"]["events"]]
            self.assertEqual({(s["event"], s["unit"]) for s in samples}, {("wait", "bytes")})
            self.assertEqual(sum(s["value"] for s in samples), sum(common.collapsed("events", "event=1", "total=1").values()))
            got, wanted = collections.Counter(), collections.Counter()
            for s in samples:
                got[nanoseconds(s["startTime"]), s["sampledThread"]["osThreadId"], len(s["stackTrace"]["frames"])] += 1
            for s in common.samples("events", "inlined=1", "event=1"):
                frames = sum(kind not in (9, 10) and name != "[truncated]" for kind, _, name in s.frames)
                wanted[s.time_ns, s.tid, frames] += 1
            self.assertEqual(got, wanted)

    def test_each_event_is_the_one_that_the_jdk_has(self):
        """Classes have the JDK's spelling, and waits end at the time of the sample."""
        wanted = {"alloc": ("jdk.ObjectAllocationSample", "objectClass", {"[[B", "[Ljava/lang/String;", "a/Thing$1", None}),
                  "live": ("profiler.LiveObject", "objectClass", {"[I", "a/Node"}),
                  "lock": ("jdk.JavaMonitorEnter,jdk.JavaMonitorWait,jdk.ThreadPark", "",
                           {"a/Door", "[Ljava/lang/Object;", "java/util/concurrent/locks/Condition", None}),
                  "nativelock": ("profiler.NativeLock", "address", {0x7f00deadbee0}), "malloc": ("profiler.Malloc", "address", {0}),
                  "wall": ("profiler.WallClockSample", "state", {"STATE_RUNNABLE", "STATE_SLEEPING"})}
        for version in self.each():
            for event, (types, field, objects) in wanted.items():
                text = jfr(version, "print", "--json", "--stack-depth", "64", "--events", types, common.write_file(event, "jfr"))
                got, names = [event["values"] for event in json.loads(text)["recording"]["events"]], set()
                samples = common.samples(event)
                for values in got:
                    name = values[field or ("monitorClass" if "monitorClass" in values else "parkedClass")]
                    names.add(name["name"].replace(".", "/") if isinstance(name, dict) else name)
                self.assertEqual(names, objects, (version, event))
                self.assertEqual(len(got), len(samples))
                if "duration" in got[0]:
                    ends = sorted(nanoseconds(v["startTime"]) + round(float(re.fullmatch(r"PT([\d.]+)S", v["duration"])[1]) * 1e9) for v in got)
                    self.assertEqual(ends, sorted(sample.time_ns for sample in samples))
                if event == "wall": # whole periods; the rest goes to the next one
                    total = sum(map(int, common.write(event, "values").split()))
                    self.assertEqual(sum(v["samples"] for v in got), total // 1000000)

    def test_moments(self):
        """Moments of JVMs are the JDK's own events for them, each with its time and duration."""
        wanted = [("SafepointBegin", 1000000, 200000, "", ""), ("SafepointEnd", 1800000, 0, "", ""),
                  ("ExecuteVMOperation", 1200000, 600000, "ThreadDump", ""), ("GarbageCollection", 2000000, 3000000, "PS MarkSweep", ""),
                  ("GCPhasePause", 2000000, 3000000, "PS MarkSweep", ""),
                  ("Compilation", 5000000, 1234567, "com/acme/Orders.find", "C2 CompilerThread0"),
                  ("Compilation", 7000000, 1000, "Batch.main", "C1 CompilerThread0"),
                  ("Compilation", 7100000, 1000, "com/acme/Longest.name...", "C1 CompilerThread0"),
                  ("ClassLoad", 8000000, 0, "com/acme/Orders$1", "main"), ("ClassUnload", 9000000, 0, "com/acme/Orders$2", "VM Thread")]
        begin = nanoseconds("2025-11-21T01:26:54.123456789Z")
        for version in self.each():
            path = common.write_file("events", "jfr")
            text = jfr(version, "print", "--json", "--events", ",".join({f"jdk.{kind}" for kind, *_ in wanted}), path)
            got = []
            for event in json.loads(text)["recording"]["events"]:
                values = event["values"]
                method, loaded = values.get("method"), values.get("loadedClass") or values.get("unloadedClass")
                name = method["type"]["name"].replace(".", "/") + "." + method["name"] if method else loaded["name"].replace(".", "/") if loaded \
                    else values.get("operation") or values.get("name", "")
                length = re.fullmatch(r"PT(?:([\d.]+)S)", values["duration"])[1]
                got.append((event["type"].replace("jdk.", ""), nanoseconds(values["startTime"]) - begin, round(float(length) * 1e9),
                            name, values.get("thread", "")))
            self.assertEqual(sorted(got), sorted(wanted))
            if version >= 21:
                self.assertRegex(jfr(version, "view", "vm-operations", path), r"ThreadDump +0\.600 ms +0\.600 ms +1 ")
                self.assertRegex(jfr(version, "view", "gc-pauses", path), r"Total Pause Time: 3\.00 ms")

    def test_requests(self):
        """One event per stretch of samples of a thread in one span or operation, from its first sample to its last."""
        wanted, before = [], None
        samples = common.samples("requests")
        for sample, request in zip(samples, common.REQUESTS):
            if any(request) and (sample.tid, request) == before:
                wanted[-1][1] = sample.time_ns
                wanted[-1][-1] += 1
            elif any(request):
                wanted.append([sample.time_ns, sample.time_ns, sample.tid, *request, 1])
            before = (sample.tid, request)
        for version in self.each():
            got = []
            for event in json.loads(jfr(version, "print", "--json", "--events", "flamed.Request", common.write_file("requests", "jfr")))["recording"]["events"]:
                values = event["values"]
                start, length = nanoseconds(values["startTime"]), re.fullmatch(r"PT([\d.]+)S", values["duration"])[1]
                got.append([start, start + round(float(length) * 1e9), values["eventThread"]["osThreadId"],
                            *(values[key] or "" for key in ("operation", "traceId", "spanId", "localRootSpanId")), values["samples"]])
            self.assertEqual(sorted(got), sorted(wanted))
            self.assertEqual(len(got), 48)

    def test_print_has_every_sample(self):
        wanted = collections.Counter()
        for sample in common.samples("mixed", "inlined=1", "names=signature"):
            frames, truncated = [], False
            for kind, line, name in reversed(sample.frames):
                if name == "[truncated]":
                    truncated = True
                elif kind not in (9, 10):  # thread, process
                    frames.append((TYPES.get(kind, "Native"), line or -1, name))
            wanted[sample.time_ns, sample.tid, truncated, tuple(frames)] += sample.count
        for version in self.each():
            text = jfr(version, "print", "--json", "--stack-depth", "64", "--events", "jdk.ExecutionSample",
                       common.write_file("mixed", "jfr"))
            got = collections.Counter()
            for event in json.loads(text)["recording"]["events"]:
                values = event["values"]
                frames = []
                for frame in values["stackTrace"]["frames"]:
                    method = frame["method"]
                    name = method["name"]
                    if frame["type"] in JAVA:
                        name = method["type"]["name"].replace("/", ".") + "." + name + spelled(method["descriptor"])
                    self.assertEqual(frame["bytecodeIndex"], -1)
                    frames.append((frame["type"], frame["lineNumber"], name))
                self.assertEqual(values["state"], "STATE_DEFAULT") # like async-profiler for CPU time
                got[nanoseconds(values["startTime"]), values["sampledThread"]["osThreadId"],
                    values["stackTrace"]["truncated"], tuple(frames)] += 1
            self.assertEqual(got, wanted)
            self.assertGreater(len(got), 2000)

    def test_threads_and_modules(self):
        for version in self.each():
            text = jfr(version, "print", "--stack-depth", "64", "--events", "jdk.ExecutionSample",
                       common.write_file("mixed", "jfr"))
            for wanted in ('sampledThread = "http-1" (osThreadId = 4250)', "kernel.tcp_sendmsg()",
                           "libjvm.so.Thread::call_run()", "java.lang.Thread.run() line: 833",
                           "com.acme.Health.check(long[][], Kind$Inner, boolean) line: 3"):
                self.assertIn(wanted, text)
            group = jfr(version, "print", "--json", "--events", "jdk.ExecutionSample", common.write_file("mixed", "jfr"))
            self.assertIn("[Batch pid=5151]", group)

    def test_view_hot_methods(self):
        for version in self.each():
            if version < 21:
                continue
            text = jfr(version, "view", "--truncate", "end", "--width", "200", "hot-methods",
                       common.write_file("mixed", "jfr"))
            self.assertRegex(text, r"com\.acme\.Orders\.find\(int\)\s+934\s+27\.88%")

    def test_view_allocations_and_contention(self):
        """The JDK's views of both, by the methods that allocate and wait."""
        for version in self.each():
            if version < 21:
                continue
            wide = ("view", "--truncate", "end", "--width", "200")
            path = common.write_file("every", "jfr")
            self.assertRegex(jfr(version, *wide, "allocation-by-class", path), r"java\.lang\.String\[\] +29\.01%")
            self.assertRegex(jfr(version, *wide, "allocation-by-site", path), r"a\.Alloc\.object\(\) +25\.07%")
            self.assertRegex(jfr(version, *wide, "contention-by-class", path), r"a\.Door +15 +2\.02 ms")
            self.assertRegex(jfr(version, *wide, "contention-by-site", path), r"a\.Lock\.enter\(\) +15 +2\.02 ms")

    def test_facts_are_settings(self):
        for version in self.each():
            text = jfr(version, "print", "--events", "jdk.ActiveSetting,jdk.ActiveRecording,jdk.OSInformation",
                       common.write_file("mixed", "jfr"))
            for wanted in ('"warning"', "This profile is made up: believe no number in it", '"10101010 ns"',
                           "cpu \u00b7 com.acme.shop.Application (pid 4242)", '"Linux"'):
                self.assertIn(wanted, text)

    def test_each_event_is_enabled_under_its_type(self):
        """Viewers read there whether a recording has such events."""
        for version in self.each():
            text = jfr(version, "print", "--json", "--events", "jdk.ActiveSetting", common.write_file("every", "jfr"))
            settings = [event["values"] for event in json.loads(text)["recording"]["events"]]
            of = {s["id"]: s["value"] for s in settings if s["name"] == "event"}
            self.assertEqual(sorted(of.values()), ["alloc", "cpu", "live", "lock", "malloc", "nativelock", "page-faults", "wall"])
            self.assertEqual({s["id"] for s in settings if s["name"] == "enabled"}, set(of))
            self.assertEqual([s["value"] for s in settings if s["name"] == "event"][0], "wall")
            for event in ("wall", "alloc"):
                alone = jfr(version, "print", "--json", "--events", "jdk.ActiveSetting", common.write_file(event, "jfr"))
                self.assertEqual({s["id"] for s in (e["values"] for e in json.loads(alone)["recording"]["events"]) if s["name"] == "enabled"},
                                 {number for number, name in of.items() if name == event})

    def test_empty_and_hostile(self):
        for version in self.each():
            self.assertEqual(jfr(version, "print", "--events", "jdk.ExecutionSample",
                                 common.write_file("empty", "jfr")).strip(), "")
            json.loads(jfr(version, "print", "--json", "--stack-depth", "64", common.write_file("hostile", "jfr")))
            jfr(version, "metadata", common.write_file("hostile", "jfr"))


if __name__ == "__main__":
    common.main()
