# SPDX-License-Identifier: Apache-2.0
"""`go tool pprof` reads pprof, and agrees with collapsed to the sample; protoc knows every field."""
import collections
import gzip
import os
import re
import subprocess
import unittest

import common


def pprof(*arguments: str) -> str:
    common.need("go")
    return common.run("go", "tool", "pprof", "-symbolize=none", *arguments,
                      env={**os.environ, "PPROF_TMPDIR": common.folder(), "GOFLAGS": "-mod=mod"})


def traces(path: str, values: str = "samples") -> collections.Counter:
    """Returns stacks, root first, as -traces prints them, by values of that type."""
    found: collections.Counter = collections.Counter()
    for block in pprof("-traces", f"-sample_index={values}", "-unit=bytes", path).split("-----------+" + "-" * 55 + "\n")[1:]:
        stack, count = [], 0
        for line in block.splitlines():
            if re.match(r"^\s*[\w ]+:  ", line):  # a label
                continue
            if not stack:
                count, name = line.split(None, 1)
                count = int(re.match(r"\d+", count)[0])
            else:
                name = line.strip()
            stack.append(name.removesuffix(" (inline)").strip())
        if stack:
            found[tuple(reversed(stack))] += count
    return found


class Pprof(unittest.TestCase):
    def test_traces_agree_with_collapsed(self):
        for options in ((), ("annotate=1",), ("threads=1",), ("names=signature",), ("depth=4",),
                        ("include=Orders|tcp",), ("exclude=Orders",)):
            for case in ("mixed", "single"):
                with self.subTest(case=case, options=options):
                    self.assertEqual(traces(common.write_file(case, "pprof", *options)),
                                     common.collapsed(case, "inlined=1", *options))

    def test_several_events(self):
        """Each event has two types of values, with the same sums as in a capture of the event alone."""
        path = common.write_file("events", "pprof")
        types = re.search(r"^Samples:\n(.*)$", pprof("-raw", path), re.M)[1].split()
        self.assertEqual([t.removesuffix("[dflt]") for t in types], ["cpu_samples/count", "cpu/nanoseconds", "wait_samples/count", "wait/bytes"])
        for event, name in enumerate(("cpu", "wait")):
            with self.subTest(name):
                self.assertEqual(traces(path, name + "_samples"), common.collapsed("events", "inlined=1", f"event={event}", "total=0"))
        self.assertEqual(traces(path, "wait"), common.collapsed("events", "inlined=1", "event=1", "total=1"))

    def test_top_agrees_with_collapsed(self):
        flat, cum = collections.Counter(), collections.Counter()
        for stack, count in common.collapsed("mixed", "inlined=1").items():
            flat[stack[-1]] += count
            for name in set(stack):
                cum[name] += count
        text = pprof("-top", "-sample_index=samples", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0",
                     common.write_file("mixed", "pprof"))
        rows = {}
        for line in text.split("cum%\n", 1)[1].splitlines():
            own, _, _, total, _, name = line.split(None, 5)
            rows[name.removesuffix(" (inline)").removesuffix(" (partial-inline)")] = (int(own), int(total))
        self.assertEqual(rows, {name: (flat[name], total) for name, total in cum.items()})
        self.assertGreater(len(rows), 20)

    def test_peek_names_the_callers(self):
        text = pprof("-peek", r"^com\.acme\.PriceTable\.lookup$", "-sample_index=samples",
                     common.write_file("mixed", "pprof"))
        wanted = collections.Counter()
        for stack, count in common.collapsed("mixed", "inlined=1").items():
            for caller, name in zip(stack, stack[1:]):
                if name == "com.acme.PriceTable.lookup":
                    wanted[caller] += count
        for caller, count in wanted.items():
            self.assertRegex(text, rf"\n\s+{count}\s+100%\s+\|\s+{re.escape(caller)}")
        self.assertTrue(wanted)

    def test_raw_has_everything(self):
        raw = pprof("-raw", common.write_file("mixed", "pprof"))
        for wanted in ("samples/count cpu/nanoseconds[dflt]", f"Period: {common.PERIOD}", "PeriodType: cpu nanoseconds",
                       "Time: 2025-11-21 01:26:54.123456789", "container:[0123456789ab]", "namespace:[prod]",
                       "pod:[shop-6f7d]", "thread:[http-1]", "pid:[4242] tid:[4250]",
                       "6196744a316dbd57c0fc8968df1680aac482cec4", "libjvm.so", "Source.java:568",
                       "Comment: warning: This profile is made up: believe no number in it",
                       "Comment: quality: 3350 samples, 31 unknown, 22 truncated, 7 lost"):
            self.assertIn(wanted, raw)

    def test_inlined_frames_share_their_caller_s_location(self):
        raw = pprof("-raw", common.write_file("single", "pprof", "names=signature"))
        self.assertRegex(raw, r"\d+: 0x0 M=\d+ java\.util\.HashMap\.getNode\(java\.lang\.Object\) Source\.java:568:0 s=0\(\)\n"
                              r"\s+com\.acme\.PriceTable\.lookup\(long\) Source\.java:88:0 s=0\(\)\n"
                              r"\s+com\.acme\.Orders\.find\(int\) Source\.java:17:0 s=0\(\)\n")

    def test_native_inlined_frames_too(self):
        raw = pprof("-raw", common.write_file("single", "pprof"))
        self.assertRegex(raw, r"\d+: 0x0 M=(\d+) markWord::is_marked\(\) const source\.cpp:221:0 s=0\(\)\n"
                              r"\s+oopDesc::oop_iterate\(OopClosure\*\) source\.cpp:364:0 s=0\(\)\n"
                              r"\s+G1CMTask::scan_task_entry\(.*\) source\.cpp:95:0 s=0\(\)\n")

    def test_empty_and_hostile(self):
        self.assertIn("samples/count cpu/nanoseconds[dflt]", pprof("-raw", common.write_file("empty", "pprof")))
        pprof("-top", common.write_file("empty", "pprof"))
        self.assertEqual(sum(traces(common.write_file("hostile", "pprof")).values()),
                         sum(common.collapsed("hostile").values()))

    def labels(self, *options: str) -> collections.Counter:
        """Returns the labels of requests, and how many samples have them."""
        found: collections.Counter = collections.Counter()
        for count, labels in re.findall(r"^\s+(\d+)\s+\d+: [\d ]+\n((?:\s+.*:\[.*\n)*)", pprof("-raw", common.write_file("requests", "pprof", *options)), re.M):
            found[frozenset((key.strip(), value) for key, value in re.findall(r"([a-z_ ]+):\[(.*?)\]", labels)
                            if key.strip() not in ("thread", "pid", "tid"))] += int(count)
        return found

    def test_operations_are_labels(self):
        """Ids only with spans=1: otherwise each request would have samples of its own."""
        wanted = collections.Counter(frozenset({("operation", r[0])} if r[0] else ()) for r in common.REQUESTS)
        self.assertEqual(self.labels(), wanted)

    def test_spans_have_the_labels_of_pyroscope_and_datadog(self):
        wanted = collections.Counter(frozenset(
            ({("operation", operation)} if operation else set()) |
            ({("span_name", operation), ("trace endpoint", operation)} if operation and trace else set()) |
            ({("trace_id", trace), ("span_id", root), ("span id", str(int(span, 16))), ("local root span id", str(int(root, 16)))} if trace else set()))
            for operation, trace, span, root in common.REQUESTS)
        self.assertEqual(self.labels("spans=1"), wanted)

    def test_protoc_decodes_it_without_unknown_fields(self):
        common.need("protoc")
        for case in common.CASES:
            data = gzip.decompress(common.write(case, "pprof"))
            with open(common.write_file(case, "pprof") + ".raw", "w+b") as file:
                file.write(data)
                file.seek(0)
                text = common.run("protoc", "--decode=pprof.Profile", f"-I{common.PROTO}", "pprof.proto", stdin=file)
            self.assertIsNone(re.search(r"^\s*\d+[: ]", text, re.M))  # a field without a name
            self.assertEqual(text.count("string_table: \"\"\n"), 1)

    def test_it_is_the_same_each_time(self):
        again = subprocess.run([common.WRITE, "mixed", "pprof"], check=True, capture_output=True).stdout
        self.assertEqual(again, common.write("mixed", "pprof"))


if __name__ == "__main__":
    common.main()
