# SPDX-License-Identifier: Apache-2.0
"""CPU time of functions and waits for locks by service in /metrics equal those of the history for the same minutes, to the nanosecond."""
import collections
import contextlib
import os
import re
import subprocess
import tempfile
import time
import unittest

from harness import caller, debian, jvm, paths, proc
from harness.daemon import Daemon

HZ = 99
SERVICE = 'shop "eu"\\{}' # labels need escaping
FAMILIES = {"flamed_function_cpu_seconds_total": "function", "flamed_function_calls_cpu_seconds_total": "function",
            "flamed_lock_wait_seconds_total": "class"}
LINE = re.compile(r'(flamed_\w+)\{service="((?:\\.|[^"\\])*)",namespace="",(\w+)="((?:\\.|[^"\\])*)"\} (\d+)\.(\d{9})')


def parse(text: str, service: str) -> dict[str, dict[str, int]]:
    """Family -> name -> nanoseconds."""
    found: dict[str, dict[str, int]] = {family: {} for family in FAMILIES}
    plain = lambda value: re.sub(r"\\(.)", r"\1", value)
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        if match and match[1] in found and plain(match[2]) == service:
            name = plain(match[4])
            assert match[3] == FAMILIES[match[1]] and name not in found[match[1]], line
            found[match[1]][name] = int(match[5] + match[6])
    return found


class FunctionMetrics(unittest.TestCase):
    def history(self, daemon: Daemon, **more) -> list[tuple[list[str], int]]:
        """Returns stacks, root first, and their values, of all written minutes."""
        answer = daemon.get("/profile", service=SERVICE, format="collapsed", names="merged", annotate=1, **{"from": "-20m"}, **more)
        self.assertEqual(answer.status, 200, answer)
        stacks = []
        for line in answer.text.splitlines():
            stack, _, value = line.rpartition(" ")
            frames = ["[kernel]" if frame.endswith("_[k]") else re.sub(r"~?_\[.\]$", "", frame) for frame in stack.split(";")[1:]]
            stacks.append((frames, int(value))) # without the process
        return stacks

    def test_they_equal_the_history(self):
        paths.need_root()
        spin = jvm.make_spin()
        classes = jvm.Classes()
        classes.compile("Locks.java")
        folder = tempfile.TemporaryDirectory(prefix="flamed-test.")
        self.addCleanup(folder.cleanup)
        options = ("--metrics-heaviest=3", f"--metrics-functions=^{spin.run}$")
        daemon = Daemon(f"--recorder-hz={HZ}", *options, store=folder.name)
        stopped = contextlib.ExitStack()
        self.addCleanup(stopped.close)
        stopped.callback(daemon.stop, check=False)
        # The counters use a service's name at the end of the minute. The history renames minutes that it has written.
        proc.wait_until(lambda: time.time() % 60 < 40, 30, "the minute is young")
        for target in (jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=15", *jvm.spin_options(spin), "-cp", spin.folder, spin.main, wrap=["env", "OTEL_SERVICE_NAME=" + SERVICE]),
                       jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", classes.folder, "Locks", start="", stdin=subprocess.PIPE,
                               wrap=["env", "OTEL_SERVICE_NAME=" + SERVICE])):
            self.addCleanup(target.stop)
        told = lambda: parse(daemon.get("/metrics").text, SERVICE)
        proc.wait_until(lambda: told()["flamed_function_cpu_seconds_total"].get(spin.first)
                        and told()["flamed_function_calls_cpu_seconds_total"].get(spin.run)
                        and "Locks$LockA" in told()["flamed_lock_wait_seconds_total"], 150, "whole minutes were counted", 1)
        text = daemon.get("/metrics").text
        found = parse(text, SERVICE)
        self.check_who_sees_it(daemon, text)
        daemon.process.kill() # only written minutes remain
        stopped.close()
        with Daemon(*options, "--recorder-hz=1", store=folder.name) as daemon:
            self.check_cpu(found, self.history(daemon), spin)
            waits: collections.Counter = collections.Counter()
            for stack, value in self.history(daemon, event="lock", total=1):
                if stack[-2] in ("[monitor]", "[lock]"):
                    waits[stack[-1]] += value
            self.check_sums(found["flamed_lock_wait_seconds_total"], waits)

    def check_sums(self, found: dict[str, int], wanted: collections.Counter) -> None:
        self.assertEqual(sum(found.values()), sum(wanted.values()))
        for name, ns in found.items():
            if name != "[other]":
                self.assertLessEqual(ns, wanted[name], name) # a later name began at 0

    def check_cpu(self, found: dict[str, dict[str, int]], stacks: list[tuple[list[str], int]], spin: jvm.Spin) -> None:
        period = int(1e9 / HZ)
        own: collections.Counter = collections.Counter()
        calls = 0
        for stack, count in stacks:
            own[stack[-1]] += count * period
            calls += count * period if spin.run in stack else 0
        self.check_sums(found["flamed_function_cpu_seconds_total"], own)
        self.assertEqual(len(found["flamed_function_cpu_seconds_total"].keys() - {"[other]", spin.run}), 3)
        (name, ns), = found["flamed_function_calls_cpu_seconds_total"].items()
        self.assertEqual(name, spin.run)
        self.assertLessEqual(ns, calls)

    def check_who_sees_it(self, daemon: Daemon, text: str) -> None:
        result = subprocess.run([debian.program("prometheus", "promtool"), "check", "metrics"], input=text.encode(), capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        theirs = caller.ask(f"http://127.0.0.1:{daemon.port}/metrics", uid=proc.free_ids(1)[0]).body.decode()
        self.assertEqual({family: parse(theirs, SERVICE)[family] for family in FAMILIES}, {family: {} for family in FAMILIES})
        self.assertNotIn("[other services]", theirs)
