# SPDX-License-Identifier: Apache-2.0
"""summary, flat, traces and tree have the same sums as collapsed."""
import collections
import json
import os
import re
import subprocess
import unittest

import common

FLAMEGRAPH = os.environ.get("FLAMED_FLAMEGRAPH", "/usr/share/perl5/Devel/NYTProf/flamegraph.pl")


def rows(text: str, title: str) -> dict[str, tuple[int, float, int]]:
    """Returns the table under TITLE: name -> (value, percent, samples)."""
    table = text.split(f"samples  {title}\n", 1)[1].split("\n\n", 1)[0]
    found = {}
    for line in table.splitlines()[1:]:
        value, percent, count, name = line.split(None, 3)
        found[name] = (int(value), float(percent.rstrip("%")), int(count))
    return found


class Text(unittest.TestCase):
    def test_flat_is_the_leaves_hottest_first(self):
        wanted = collections.Counter()
        for stack, count in common.collapsed("mixed").items():
            wanted[stack[-1]] += count
        got = rows(common.write("mixed", "flat").decode(), "top")
        self.assertEqual({name: row[2] for name, row in got.items()}, dict(wanted))
        counts = [row[2] for row in got.values()]
        self.assertEqual(counts, sorted(counts, reverse=True))
        for name, (value, percent, count) in got.items():
            self.assertEqual(value, count * common.PERIOD)
            self.assertAlmostEqual(percent, 100 * count / sum(counts), delta=0.006, msg=name)

    def test_top_cuts_and_says_what_is_cut(self):
        text = common.write("mixed", "flat", "top=3").decode()
        got = rows(text, "top")
        self.assertEqual(len(got), 4)
        self.assertEqual(sum(row[2] for row in got.values()), sum(common.collapsed("mixed").values()))
        self.assertRegex(text, r"\[\d+ more methods\]\n$")

    def test_traces_are_the_stacks_leaf_first(self):
        text = common.write("mixed", "traces").decode()
        got = {}
        for head, *frames in (block.splitlines() for block in text.split("\n\n")[1:]):
            count = int(re.match(r"--- \d+ ns \([\d.]+%\), (\d+) samples?$", head)[1])
            self.assertEqual([int(frame[3:5]) for frame in frames], list(range(len(frames))))
            got[tuple(frame[7:] for frame in reversed(frames))] = count
        self.assertEqual(got, dict(common.collapsed("mixed")))
        self.assertEqual(list(got.values()), sorted(got.values(), reverse=True))
        self.assertEqual(common.write("mixed", "traces", "top=2").decode().count("\n--- "), 3)

    def tree(self, *options):
        """Returns paths, from the top of the tree, with their samples."""
        text, path, got = common.write("mixed", "tree", *options).decode(), [], {}
        for line in text.split("  -----\n", 1)[1].splitlines():
            match = re.match(r"\s*([\d.]+)%\s+([\d.]+)%\s+(\d+)  ((?:  )*)\[(\d+)\] (.*)$", line)
            level = int(match[5])
            self.assertEqual(len(match[4]), 2 * level)
            path[level:] = [match[6]]
            got[tuple(path)] = int(match[3])
        return got

    def test_tree_adds_up(self):
        for options, step in (((), 1), (("reverse=1",), -1)):
            wanted = collections.Counter()
            for stack, count in common.collapsed("mixed").items():
                stack = stack[::step]
                for n in range(1, len(stack) + 1):
                    wanted[stack[:n]] += count
            self.assertEqual(self.tree("top=100000", *options), dict(wanted))

    def test_tree_of_the_heaviest(self):
        text = common.write("mixed", "tree", "top=5").decode()
        self.assertRegex(text, r"\[\d+ lighter frames are left out: top=5\]\n$")
        self.assertEqual(text.count("%"), 2 + 2 * 5)

    def test_json_has_requests(self):
        """With spans=1, stacks are separate by request and span; without it they are not."""
        self.assertEqual(len(json.loads(common.write("requests", "json"))["stacks"]), 1)
        self.assertNotIn("requests", json.loads(common.write("requests", "json")))
        made, got = json.loads(common.write("requests", "json", "spans=1")), collections.Counter()
        for stack in made["stacks"]:
            request = made["requests"][stack["request"]] if "request" in stack else {}
            got[tuple(request.get(key, "") for key in ("operation", "trace", "span", "root"))] += stack["samples"]
        self.assertEqual(got, collections.Counter(common.REQUESTS))

    def test_requests_in_time(self):
        """Each request has its samples, thread by thread, at their times, and lasts from the first to the last."""
        made, samples = json.loads(common.write("requests", "requests")), common.samples("requests")
        wanted: dict[str, list] = collections.defaultdict(list)
        for sample, (operation, trace, span, _) in zip(samples, common.REQUESTS):
            if trace:
                wanted[trace].append((sample.time_ns, sample.tid, operation, span))
        self.assertEqual([r["ns"] for r in made["requests"]], sorted((r["ns"] for r in made["requests"]), reverse=True))
        self.assertEqual(made["left_out"], {"requests": 0, "samples": 0})
        for request in made["requests"]:
            start, got = request["start_unix_ns"], []
            for thread in request["threads"]:
                for stretch in thread["stretches"]:
                    self.assertEqual([made["frames"][f] for f in stretch["frames"]], ["java.lang.Thread.run", "com.acme.Orders.find"])
                    self.assertEqual((stretch["samples"], stretch["ns"], stretch["event"]), (1, 0, "cpu"))
                    got.append((start + stretch["at_ns"], thread["tid"], request["operation"], stretch["span"]))
            self.assertEqual(sorted(got), sorted(wanted.pop(request["trace"])))
            self.assertEqual(request["ns"], max(got)[0] - min(got)[0])
        self.assertFalse(wanted)

    def test_requests_are_roots(self):
        for by, wanted in (("operation", lambda r: f"[{r[0]}]" if r[0] else "[unnamed requests]" if r[1] else "[no request]"),
                           ("trace", lambda r: f"[trace {r[1]}]" if r[1] else "[ids not kept]" if r[0] else "[no request]"),
                           ("span", lambda r: f"[span {r[2]}]" if r[1] else "[ids not kept]" if r[0] else "[no request]")):
            got = collections.Counter()
            for stack, count in common.collapsed("requests", f"by={by}").items():
                got[stack[0]] += count
            self.assertEqual(got, collections.Counter(map(wanted, common.REQUESTS)), by)

    def test_summary(self):
        text = common.write("mixed", "summary").decode()
        total = sum(common.collapsed("mixed").values())
        self.assertIn(f"Total samples       : {total}\n", text)
        for title in ("work", "processes", "threads"):
            self.assertEqual(sum(row[2] for row in rows(text + "\n\n", title).values()), total)
        self.assertEqual(rows(text + "\n\n", "threads")["main tid=5151"][2],
                         sum(s.count for s in common.samples("mixed") if s.tid == 5151))
        self.assertIn("no_rule             : 15 (0.45%): ", text)

    def test_native_inlined_frames_fold_where_lines_are_not_asked_for(self):
        """Without lines=1 a function includes the samples of functions inlined into it."""
        plain, lines = common.collapsed("mixed"), common.collapsed("mixed", "lines=1")
        scan = "G1CMTask::scan_task_entry(G1TaskQueueEntry, std::vector<int, char>)"
        mark = ("oopDesc::oop_iterate(OopClosure*):364", "markWord::is_marked() const:221")
        folded = sum(count for stack, count in plain.items() if stack[-1] == scan)
        self.assertGreater(folded, 0)
        self.assertEqual(sum(count for stack, count in lines.items() if stack[-3:] == (scan + ":95", *mark)), folded)
        self.assertFalse([stack for stack in plain if any("markWord" in name for name in stack)])
        for form in ("summary", "flat", "traces", "tree", "svg"):
            self.assertNotIn("markWord", common.write("mixed", form).decode(), form)
        for form in ("flat", "traces", "tree", "svg"):
            self.assertIn("markWord::is_marked() const:221", common.write("mixed", form, "lines=1").decode(), form)
        annotated = common.collapsed("mixed", "lines=1", "annotate=1")
        self.assertTrue([stack for stack in annotated if stack[-1] == mark[1] + "_[i]"])

    def test_flamegraph_pl_takes_no_name_for_a_count(self):
        """A leaf that ends in a blank and a number would make flamegraph.pl draw a differential graph, with differences in titles."""
        lines = common.write("hostile", "collapsed").decode().splitlines()
        self.assertIn("%s%n%d;[unknown];_5;x 12_34 14", lines) # other blanks stay
        for line in lines:
            self.assertNotRegex(line.rpartition(" ")[0], r"\s\d+(\.\d*)?$")
        for case in ("hostile", "numbers"):
            for options in ((), ("threads=1",), ("names=signature",)):
                text = common.write(case, "collapsed", *options)
                if not os.path.exists(FLAMEGRAPH):
                    self.skipTest("no flamegraph.pl on this machine")
                done = subprocess.run(["perl", FLAMEGRAPH, "--minwidth=0"], input=text, check=True, capture_output=True)
                self.assertNotRegex(done.stdout.decode(), r"<title>[^<]*; [+-]?\d+\.\d+%\)")
                total = sum(int(line.rpartition(" ")[2]) for line in text.decode().splitlines())
                self.assertIn(f"all ({total:,} samples, 100%)", done.stdout.decode())

    def test_names_cannot_move_the_cursor(self):
        for form in ("summary", "flat", "traces", "tree"):
            text = common.write("hostile", form).decode()
            self.assertIsNone(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), form)

    def test_empty(self):
        for form in ("summary", "flat", "traces", "tree"):
            self.assertIn("Total samples       : 0\n", common.write("empty", form).decode())


if __name__ == "__main__":
    common.main()
