# SPDX-License-Identifier: Apache-2.0
"""protoc decodes otlp by the published numbers. Its tables are complete, and it agrees with collapsed."""
import collections
import re
import unittest

import common

TOKEN = re.compile(r'\s*(?:(\w+) \{|(\})|(\w+): ("(?:[^"\\]|\\.)*"|\S+))')


def text_format(text: str) -> dict:
    """Parses protobuf's text format: field -> list of values; strings unescaped."""
    top: dict = collections.defaultdict(list)
    stack = [top]
    for message, end, field, value in TOKEN.findall(text):
        if message:
            child: dict = collections.defaultdict(list)
            stack[-1][message].append(child)
            stack.append(child)
        elif end:
            stack.pop()
        elif value.startswith('"'):
            raw = value[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")
            stack[-1][field].append(raw.decode("utf-8"))
        else:
            stack[-1][field].append(int(value) if re.match(r"-?\d+$", value) else value)
    assert len(stack) == 1
    return top


def one(message: dict, field: str, default=0):
    values = message.get(field, [])
    assert len(values) <= 1, (field, values)
    return values[0] if values else default


def value_of(any_value: dict):
    return one(any_value, "string_value", None) or one(any_value, "int_value", None)


def counts(sample: dict) -> list[int]:
    """Returns the weight of each observation: a time without a value counts as one."""
    return sample.get("values") or [1] * len(sample.get("timestamps_unix_nano", []))


class Data:
    """A ProfilesData with resolved references."""

    def __init__(self, case: str, *options: str):
        with open(common.write_file(case, "otlp", *options), "rb") as file:
            self.text = common.run("protoc", "--decode=otlp.ProfilesData", f"-I{common.PROTO}", "otlp.proto", stdin=file)
        self.top = text_format(self.text)
        self.dictionary = one(self.top, "dictionary")
        self.strings = self.dictionary["string_table"]

    def table(self, name: str) -> list:
        return self.dictionary[name + "_table"]

    def attributes(self, message: dict) -> dict:
        found = {}
        for index in message.get("attribute_indices", []):
            entry = self.table("attribute")[index]
            key = self.strings[one(entry, "key_strindex")]
            assert index > 0 and key not in found
            found[key] = value_of(one(entry, "value", {}))
        return found

    def names(self, stack: int) -> tuple:
        """Returns names, root first, inlined frames too."""
        found = []
        for index in self.table("stack")[stack]["location_indices"]:
            assert index > 0
            for line in self.table("location")[index]["lines"]:
                function = self.table("function")[one(line, "function_index")]
                found.append(common.clean(self.strings[one(function, "name_strindex")]))
        return tuple(reversed(found))

    def profiles(self):
        for resource in self.top["resource_profiles"]:
            attributes = {one(a, "key"): value_of(one(a, "value", {})) for a in one(resource, "resource", {}).get("attributes", [])}
            for profile in one(resource, "scope_profiles")["profiles"]:
                yield attributes, profile


class Otlp(unittest.TestCase):
    def setUp(self):
        common.need("protoc")

    def test_no_field_is_unknown_and_no_entry_is_doubled(self):
        for case in common.CASES:
            data = Data(case)
            self.assertIsNone(re.search(r"^\s*\d+[: ]", data.text, re.M))  # a field without a name
            self.assertEqual(data.strings[0], "")
            self.assertEqual(len(data.strings), len(set(data.strings)))
            for name in ("mapping", "location", "function", "link", "attribute", "stack"):
                entries = [repr(dict(entry)) for entry in data.table(name)]
                self.assertEqual(entries[0], "{}", name)
                self.assertEqual(len(entries), len(set(entries)), name)

    def test_it_agrees_with_collapsed(self):
        for options in ((), ("threads=1",), ("annotate=1",), ("include=Orders",), ("depth=4",)):
            for case in common.CASES:
                data, got = Data(case, *options), collections.Counter()
                for _, profile in data.profiles():
                    identities = set()
                    for sample in profile.get("samples", []):
                        self.assertEqual(sample.get("values", []), []) # one value for each would be refused: there is a period
                        got[data.names(one(sample, "stack_index"))] += len(sample["timestamps_unix_nano"])
                        identity = (one(sample, "stack_index"), frozenset(sample["attribute_indices"]))
                        self.assertNotIn(identity, identities)
                        identities.add(identity)
                self.assertEqual(got, common.collapsed(case, "inlined=1", *options))

    def test_requests_are_links(self):
        data, got = Data("requests"), collections.Counter()
        links = [(one(link, "trace_id", ""), one(link, "span_id", "")) for link in data.table("link")]
        for _, profile in data.profiles():
            for sample in profile["samples"]:
                trace, span = (text.encode().hex() for text in links[one(sample, "link_index")])
                got[data.attributes(sample).get("flamed.operation", ""), trace, span] += len(sample["timestamps_unix_nano"])
        self.assertEqual(got, collections.Counter(request[:3] for request in common.REQUESTS))
        self.assertEqual(len(links), len(set(links)))

    def test_times_and_threads(self):
        data, got = Data("mixed"), collections.Counter()
        for _, profile in data.profiles():
            begin, duration = one(profile, "time_unix_nano"), one(profile, "duration_nano")
            for sample in profile["samples"]:
                tid = data.attributes(sample)["thread.id"]
                for time in sample["timestamps_unix_nano"]:
                    self.assertTrue(begin <= time < begin + duration)
                    got[time, tid, data.names(one(sample, "stack_index"))] += 1
        wanted = collections.Counter()
        for sample in common.samples("mixed", "inlined=1"):
            wanted[sample.time_ns, sample.tid, tuple(map(common.clean, sample.names))] += sample.count
        self.assertEqual(got, wanted)

    def test_resources(self):
        data = Data("mixed")
        resources = [attributes for attributes, _ in data.profiles()]
        self.assertEqual(resources, [
            {"service.name": "shop", "service.version": "2.4.1", "k8s.namespace.name": "prod", "service.namespace": "prod",
             "service.instance.id": "shop-6f7d", "k8s.pod.name": "shop-6f7d"},
            {"service.name": "Batch"}])
        of_samples = []
        for _, profile in data.profiles():
            found = [data.attributes(sample) for sample in profile["samples"]]
            of_samples.append({(a["process.pid"], a.get("container.id")) for a in found})
            self.assertEqual(data.strings[one(one(profile, "sample_type"), "type_strindex")], "samples")
            self.assertEqual(data.strings[one(one(profile, "period_type"), "unit_strindex")], "nanoseconds")
            self.assertEqual(one(profile, "period"), common.PERIOD)
            self.assertEqual(data.attributes(profile)["flamed.warning.1"], "This profile is made up: believe no number in it")
            self.assertEqual(data.attributes(profile)["flamed.lost"], 7)
        self.assertEqual(of_samples, [{(4242, "0123456789ab")}, {(5151, None)}])

    def test_total_weighs_by_value(self):
        data = Data("single", "total=1")
        for _, profile in data.profiles():
            self.assertEqual(data.strings[one(one(profile, "sample_type"), "unit_strindex")], "nanoseconds")
            self.assertEqual({len(sample["values"]) for sample in profile["samples"]}, {1})
            self.assertEqual(sum(sum(sample["values"]) for sample in profile["samples"]),
                             sum(common.collapsed("single").values()) * common.PERIOD)

    def test_several_events(self):
        """One profile per event, in each process."""
        data, got = Data("events", "total=1"), collections.defaultdict(collections.Counter)
        of_process = collections.Counter()
        for attributes, profile in data.profiles():
            kind = one(profile, "sample_type")
            name = data.strings[one(kind, "type_strindex")], data.strings[one(kind, "unit_strindex")]
            of_process[attributes["service.name"], name] += 1
            for sample in profile["samples"]:
                got[name][data.names(one(sample, "stack_index"))] += sum(sample["values"])
        self.assertEqual(set(got), {("cpu", "nanoseconds"), ("wait", "bytes")})
        self.assertEqual(set(of_process.values()), {1})
        for event, name in enumerate((("cpu", "nanoseconds"), ("wait", "bytes"))):
            self.assertEqual(got[name], common.collapsed("events", "inlined=1", f"event={event}", "total=1"))

    def test_build_ids_and_frame_types(self):
        data = Data("mixed")
        mappings = {data.strings[one(m, "filename_strindex")]: data.attributes(m) for m in data.table("mapping")[1:]}
        self.assertEqual(mappings["/usr/lib/x86_64-linux-gnu/libc.so.6"],
                         {"process.executable.build_id.gnu": "6196744a316dbd57c0fc8968df1680aac482cec4"})
        kinds = {data.attributes(location).get("profile.frame.type") for location in data.table("location")}
        self.assertEqual(kinds, {None, "jvm", "native", "kernel"})

    def test_native_inlined_functions_share_a_location(self):
        """A location has inlined functions innermost first, each with its file and line, and counts as native."""
        data, found = Data("single"), []
        for location in data.table("location")[1:]:
            lines = [(data.strings[one(data.table("function")[one(line, "function_index")], "name_strindex")],
                      data.strings[one(data.table("function")[one(line, "function_index")], "filename_strindex", 0)],
                      one(line, "line", 0)) for line in location["lines"]]
            if lines[0][0].startswith("markWord::is_marked"):
                found.append(lines)
                self.assertEqual(data.attributes(location).get("profile.frame.type"), "native")
        self.assertEqual(found, [[("markWord::is_marked() const", "source.cpp", 221),
                                  ("oopDesc::oop_iterate(OopClosure*)", "source.cpp", 364),
                                  ("G1CMTask::scan_task_entry(G1TaskQueueEntry, std::vector<int, char>)", "source.cpp", 95)]])


if __name__ == "__main__":
    common.main()
