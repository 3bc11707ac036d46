# SPDX-License-Identifier: Apache-2.0
"""Readers of flight recordings besides the JDK's: Mission Control's models, async-profiler's converters of two releases, and Pyroscope's
parser. Each has every sample of every event, in its view for that event."""
import collections
import re
import unittest

import common
import readers

KINDS = ("cpu", "wall", "offcpu", "lock", "nativelock", "safepoint", "alloc", "live", "malloc", "nativelive", "nativemem", "page-faults")
CASES = (*common.CASES, "events", "requests", *KINDS, "every")
VIEWS = {"threads": ("threads=1",), "shown": ("lines=1", "annotate=1", "names=simple"), "short": ("depth=3",), "inlined": ("inlined=1", "total=1")}
NO_SAMPLES = {"jdk.ActiveRecording", "jdk.ActiveSetting", "jdk.OSInformation"}
MOMENTS = {"jdk.ClassLoad", "jdk.ClassUnload", "jdk.Compilation", "jdk.ExecuteVMOperation", "jdk.GCPhasePause", "jdk.GarbageCollection",
           "jdk.SafepointBegin", "jdk.SafepointEnd"}
# Mission Control's name of a frame's type, by enum frame_kind; else NATIVE.
TYPES = {1: "JIT Compiled", 2: "C1 COMPILED", 3: "Inlined", 4: "Interpreted", 6: "CPP", 8: "KERNEL"}
JAVA = (1, 2, 3, 4)
WAITS = range(13, 27) # of enum frame_kind
CLASS = 27


def objects(sample) -> int:
    """Returns how many frames at the leaf are no code: the allocated class, or the kind and the object of a wait."""
    kinds = [kind for kind, _, _ in sample.frames[-2:]]
    return 1 if kinds[-1:] == [CLASS] else 2 if len(kinds) == 2 and all(kind in WAITS for kind in kinds) else 0


def code(sample) -> list[tuple[int, int, str]]:
    """Returns the frames that are code, leaf first; for a wait for a lock of Java, from the innermost Java method on."""
    frames = [(kind, line, name) for kind, line, name in reversed(sample.frames[:len(sample.frames) - objects(sample)])
              if kind not in (9, 10) and name != "[truncated]"]
    if objects(sample) == 2 and not sample.names[-1].startswith("0x"):
        while frames[0][0] not in JAVA:
            frames.pop(0)
    return frames


class JfrReaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths = {case: common.write_file(case, "jfr") for case in CASES}
        for name, options in VIEWS.items():
            paths.update({f"{case} {name}": common.write_file(case, "jfr", *options) for case in ("mixed", "every")})
        cls.paths = paths
        cls.names = {case: path.rpartition("/")[2] for case, path in paths.items()}
        cls.java = readers.Recordings(common.folder(), *paths.values())

    def converted(self, case: str, release: str, options: str) -> dict[str, int]:
        return readers.collapsed(self.java.converted[self.names[case], release, options])

    def test_nothing_is_thrown(self):
        self.assertEqual(self.java.failed, [])

    def test_mission_control_has_every_stack(self):
        """In the form of the stack trace view: with types, lines and parameters."""
        for case in ("mixed", *KINDS):
            wanted = collections.Counter()
            for sample in common.samples(case, "inlined=1"):
                frames = [(name.rpartition(".")[2] if kind in JAVA else name, TYPES.get(kind, "NATIVE"), line or -1) for kind, line, name in code(sample)]
                wanted[tuple(frames)] += sample.count if case in ("mixed", "cpu", "page-faults") else 1
            got = collections.Counter()
            for (kind, stack), count in self.java.stacks[self.names[case]].items():
                if kind in NO_SAMPLES:
                    continue
                frames = [re.fullmatch(r"void (.*)\|([^|]+)\|(-?\d+)", frame).groups() for frame in stack.split(";")] if stack else []
                plain = [(name.partition("(")[0].rpartition(".")[2] if kind in ("JIT Compiled", "C1 COMPILED", "Inlined", "Interpreted")
                          else name, kind, int(line)) for name, kind, line in frames]
                got[tuple(plain)] += count
            self.assertEqual(sum(got.values()), sum(wanted.values()), case)
            for stack, count in wanted.items():
                found = [(other, n) for other, n in got.items() if len(other) == len(stack) and all(
                    a[1:] == b[1:] and (a[0] == b[0] or b[0].endswith("." + a[0] + "()")) for a, b in zip(stack, other))]
                self.assertEqual(sum(n for _, n in found), count, (case, stack, found))

    def test_mission_control_shows_every_event_in_its_views(self):
        """The models of the stack trace view and of the flame graph were walked, and have the right weights."""
        for case in self.paths:
            seen = {kind: count for kind, count in self.java.views[self.names[case]].items() if kind not in NO_SAMPLES | MOMENTS}
            self.assertEqual(seen, {kind: sum(n for (other, stack), n in self.java.stacks[self.names[case]].items() if other == kind and stack)
                                    for kind in seen}, case)
            self.assertTrue(seen or case == "empty", case)

    def test_async_profilers_views(self):
        """Each event is in the view of that name, with its values; CPU time and waits are separate."""
        wanted = {"cpu": ("cpu",), "wall": ("wall",), "alloc": ("alloc",), "live": ("live",), "lock": ("lock",), "nativelock": ("nativelock",),
                  "malloc": ("nativemem",)}
        for release in ("4.2", "4.5"):
            for event, (option,) in wanted.items():
                if release == "4.2" and event == "nativelock":
                    continue # it knows no such events
                options = option + ("--total" if option not in ("cpu", "wall") else "")
                values = collections.Counter()
                for sample, value in zip(common.samples(event), self.values(event)):
                    names = [name for _, _, name in reversed(code(sample))] + [sample.names[-1]] * (objects(sample) > 0 and event != "nativelock")
                    if "[notify]" in sample.names:
                        continue # a jdk.JavaMonitorWait, which the converter does not know
                    values[";".join(name for name in names if not name.startswith("[lock of"))] += value
                for case in (event, "every"):
                    got = {re.sub(r"_\[.\]", "", stack).replace("/", "."): n for stack, n in self.converted(case, release, options).items()}
                    self.assertEqual(set(got), set(values), (release, case, option))
                    for stack, value in values.items():
                        # Times are whole periods only, with a sum that is right to one period.
                        self.assertAlmostEqual(got[stack], value, delta=60 if option == "wall" else 0, msg=(release, case, stack))
                    if option == "wall":
                        self.assertAlmostEqual(sum(got.values()), sum(values.values()), delta=1)

    @staticmethod
    def values(event: str) -> list[float]:
        """Returns the values of each sample in the converter's unit: periods, or the event's unit."""
        values = [int(line) for line in common.write(event, "values").split()]
        if event == "cpu":
            return [sample.count for sample in common.samples(event)]
        return [value / 1000000 for value in values] if event == "wall" else values

    def test_async_profilers_pages(self):
        """Names of methods, and threads by the system's ids for them."""
        for release in ("4.2", "4.5"):
            got = self.converted("mixed", release, "threads--lines")
            self.assertEqual(sum(got.values()), sum(common.collapsed("mixed").values()))
            threads = collections.Counter()
            for stack, count in got.items():
                threads[stack.partition(";")[0]] += count
            wanted = collections.Counter()
            for stack, count in common.collapsed("mixed", "threads=1").items():
                name = next(frame for frame in stack if " tid=" in frame)
                wanted[name] += count
            self.assertEqual({name.strip("[]").strip(): n for name, n in threads.items()}, {name.strip("[]").strip(): n for name, n in wanted.items()})
            self.assertIn("com/acme/Orders.find:17_[1]", ";".join(got))
            for kind, frame in (("_[i]", "java/util/HashMap.getNode"), ("_[k]", "tcp_sendmsg"), ("_[j]", "java/lang/Thread.run"),
                                ("_[0]", "java/util/regex/Pattern.compile"), ("", "CompileBroker::compiler_thread_loop()")):
                self.assertRegex(";".join(self.converted("mixed", release, "")), re.escape(frame + kind) + r"(;|$)")
            for case in ("mixed", "hostile", "every"):
                self.assertIn("</html>", self.java.pages[self.names[case], release, ""])

    def test_pyroscope_has_every_event(self):
        try:
            got = readers.pyroscope(*(path for case, path in self.paths.items() if case != "empty"))
        except unittest.SkipTest as skip:
            self.skipTest(str(skip))
        total = lambda case, kind: sum(got[self.names[case], kind].values())
        for event, kinds in {"alloc": ("alloc_sample_bytes",), "malloc": ("malloc_bytes",), "nativelive": ("malloc_bytes",),
                             "lock": ("delay",)}.items():
            wanted = sum(int(value) for value, sample in zip(common.write(event, "values").split(), common.samples(event))
                         if "[notify]" not in sample.names)
            for case in (event, "every")[:1 + (event in ("alloc", "malloc", "lock"))]:
                self.assertEqual(sum(total(case, kind) for kind in kinds), wanted, case)
        for case in ("cpu", "every"):
            self.assertEqual(total(case, "cpu"), 90 * 1000000, case)
        for case in ("live", "every"):
            self.assertEqual(total(case, "live"), 60, case)
        for kind in ("alloc_sample_objects", "malloc_objects"): # its parser may count some of them several times
            self.assertEqual(total("every", kind), 60, kind)
        for event in ("wall", "offcpu", "safepoint"):
            wanted = sum(map(int, common.write(event, "values").split()))
            self.assertAlmostEqual(total(event, "wall"), wanted, delta=1000000)
        stacks = got[self.names["mixed"], "cpu"]
        self.assertEqual(sum(stacks.values()), sum(common.collapsed("mixed").values()) * 1000000)
        self.assertTrue([stack for stack in stacks if stack.endswith(";kernel.tcp_sendmsg")])
        self.assertTrue([stack for stack in stacks if stack.endswith(";com/acme/PriceTable.lookup;java/util/HashMap.getNode")])


class OtlpReaders(unittest.TestCase):
    """The OpenTelemetry Collector's own code, and Pyroscope's rules, on all events."""

    @classmethod
    def setUpClass(cls):
        cls.paths = {case: common.write_file(case, "otlp") for case in (*CASES, "single")}
        for name, options in {**VIEWS, "counted": ("total=0",)}.items():
            cls.paths.update({f"{case} {name}": common.write_file(case, "otlp", *options) for case in ("mixed", "every", "offcpu")})
        found = readers.collector(*cls.paths.values())
        cls.samples = {case: found[path.rpartition("/")[2]] for case, path in cls.paths.items()}

    def test_the_collector_has_every_stack(self):
        for case in ("mixed", "single", "hostile"):
            got = collections.Counter()
            for sample in self.samples[case]:
                got[tuple(common.clean(name) for name in sample["stack"])] += len(sample["times"])
            self.assertEqual(got, common.collapsed(case, "inlined=1"), case)

    def test_the_collector_has_every_request(self):
        got = collections.Counter()
        for sample in self.samples["requests"]:
            got[sample["attributes"].get("flamed.operation", ""), sample["trace"], sample["span"]] += len(sample["times"])
        self.assertEqual(got, collections.Counter(request[:3] for request in common.REQUESTS))

    def test_each_event_has_its_value_in_pyroscope(self):
        """By Pyroscope's names for them. Off-CPU time has the time of each wait, too."""
        names = {"cpu": "process_cpu:cpu:nanoseconds", "offcpu": "off_cpu:off_cpu:nanoseconds", "page-faults": "page-faults:samples:count",
                 "nativemem": "nativemem:nativemem:bytes",
                 "alloc": "alloc_space:alloc_space:bytes", "live": "inuse_space:inuse_space:bytes"}
        units = {"malloc": "bytes", "nativelive": "bytes"}
        for event in KINDS:
            total = sum(map(int, common.write(event, "values").split()))
            wanted = {names.get(event, f"{event}:{event}:{units.get(event, 'nanoseconds')}"):
                      total // 1000000 if event == "page-faults" else total}
            got = collections.Counter()
            for sample in self.samples[event]:
                got[sample["pyroscope"]] += sample["sum"]
            self.assertEqual(got, wanted)
            for sample in self.samples["every"]:
                self.assertIn(sample["pyroscope"].partition(":")[0], {*KINDS, "process_cpu", "alloc_space", "inuse_space"})
        self.assertEqual({(sample["type"], sample["period"]) for sample in self.samples["offcpu"]}, {("off_cpu:nanoseconds", "")})
        times = [time for sample in self.samples["offcpu"] for time in sample["times"]]
        self.assertEqual(sorted(times), sorted(sample.time_ns for sample in common.samples("offcpu")))
        self.assertEqual({len(sample["values"]) == len(sample["times"]) for sample in self.samples["offcpu"]}, {True})

    def test_all_samples_of_a_profile_have_one_shape(self):
        for case, samples in self.samples.items():
            shapes = collections.defaultdict(set)
            for sample in samples:
                shapes[sample["type"], sample["period"]].add((bool(sample["values"]), bool(sample["times"])))
            self.assertTrue(all(len(found) == 1 for found in shapes.values()), (case, shapes))

    def test_counted(self):
        """total=0: events with values of their own are samples, too."""
        self.assertEqual({(s["type"], s["period"]) for s in self.samples["offcpu counted"]}, {("samples:count", "off_cpu:nanoseconds")})
        self.assertEqual(sum(s["sum"] for s in self.samples["offcpu counted"]), len(common.samples("offcpu")))


if __name__ == "__main__":
    common.main()
