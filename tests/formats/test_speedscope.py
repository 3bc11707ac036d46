# SPDX-License-Identifier: Apache-2.0
"""speedscope's JSON matches its schema, and has the same stacks as collapsed; jq reads it, too."""
import collections
import json
import subprocess
import unittest

import common

UNITS = ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")


def stacks(file: dict, part: int = common.PERIOD) -> collections.Counter:
    """Returns stacks, root first, and their samples. Each sample weighs PART."""
    names = [frame["name"] for frame in file["shared"]["frames"]]
    found = collections.Counter()
    for profile in file["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            found[tuple(common.clean(names[i]) for i in stack)] += weight // part
    return found


class Speedscope(unittest.TestCase):
    def check(self, file: dict):
        """Checks against speedscope's file-format-schema.json, and that nothing else is in it."""
        self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
        self.assertLessEqual(set(file), {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"})
        frames = file["shared"]["frames"]
        for frame in frames:
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})
            self.assertIsInstance(frame["name"], str)
            self.assertIsInstance(frame.get("file", ""), str)
            self.assertIsInstance(frame.get("line", 1), int)
        self.assertGreaterEqual(len(file["profiles"]), 1)
        self.assertIn(file["activeProfileIndex"], range(len(file["profiles"])))
        for profile in file["profiles"]:
            self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
            self.assertEqual(profile["type"], "sampled")
            self.assertIn(profile["unit"], UNITS)
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(profile["endValue"] - profile["startValue"], sum(profile["weights"]))
            for stack in profile["samples"]:
                self.assertTrue(all(isinstance(i, int) and 0 <= i < len(frames) for i in stack))

    def test_one_profile_agrees_with_collapsed(self):
        for options in ((), ("lines=1",), ("annotate=1", "names=signature"), ("depth=4",), ("include=Orders",)):
            for case in common.CASES:
                file = json.loads(common.write(case, "speedscope", *options))
                self.check(file)
                self.assertEqual(len(file["profiles"]), 1)
                self.assertEqual(stacks(file), common.collapsed(case, *options))

    def test_a_profile_for_each_thread_in_the_order_of_time(self):
        file = json.loads(common.write("mixed", "speedscope", "threads=1"))
        self.check(file)
        self.assertEqual(stacks(file), common.collapsed("mixed", "threads=1"))
        names = [frame["name"] for frame in file["shared"]["frames"]]
        wanted = collections.defaultdict(list)
        for sample in common.samples("mixed", "threads=1"):
            wanted[sample.tid].append((sample.names, sample.count * common.PERIOD))
        got = {int(profile["name"].split("tid=")[1].split(",")[0]):
               [(tuple(names[i] for i in stack), weight)
                for stack, weight in zip(profile["samples"], profile["weights"])] for profile in file["profiles"]}
        self.assertEqual(got, dict(wanted))

    def test_several_events(self):
        for options in ((), ("threads=1",)):
            file = json.loads(common.write("events", "speedscope", *options))
            self.check(file)
            for event, (name, unit, part) in enumerate((("cpu", "nanoseconds", common.PERIOD), ("wait", "bytes", 1))):
                of_it = [p for p in file["profiles"] if p["name"].endswith(" \u00b7 " + name)]
                self.assertEqual({p["unit"] for p in of_it}, {unit})
                wanted = common.collapsed("events", f"event={event}", *options, *(["total=1"] if event else []))
                self.assertEqual(stacks({**file, "profiles": of_it}, part), wanted)
            self.assertEqual(len([p for p in file["profiles"] if " \u00b7 " in p["name"]]), len(file["profiles"]))

    def test_files_and_lines(self):
        file = json.loads(common.write("mixed", "speedscope", "lines=1"))
        self.assertIn({"name": "com.acme.Orders.find:17", "file": "Source.java", "line": 17}, file["shared"]["frames"])
        file = json.loads(common.write("mixed", "speedscope"))
        names = [(frame["name"], frame.get("file")) for frame in file["shared"]["frames"]]
        self.assertEqual(len(names), len(set(names)))  # so that one method is one row

    def test_jq_reads_it(self):
        common.need("jq")
        for case in common.CASES:
            total = subprocess.run(["jq", "[.profiles[].endValue] | add"], input=common.write(case, "speedscope"),
                                   check=True, capture_output=True).stdout
            self.assertEqual(int(total), sum(common.collapsed(case).values()) * common.PERIOD)


if __name__ == "__main__":
    common.main()
