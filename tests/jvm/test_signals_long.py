# SPDX-License-Identifier: Apache-2.0
"""Twelve services, each with one fault, by hand and in a container: each has its own signal and no other that matters, and its cause is
found by curl alone and by a language model's client. Two controls have no signal, for FLAMED_CONTROL_SECONDS."""
import contextlib
import os
import re
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from harness import cgroup, paths, proc
from harness.daemon import Daemon
from test_mcp import Model
from test_signals import Signals

CONTROL_S = float(os.environ.get("FLAMED_CONTROL_SECONDS", "60"))
SWAP_BYTES = 512 << 20
# Fault -> its signal, and the JVM's options. Of what grows, they make it slow enough to live through the first minutes, in which growth
# is not looked for.
QUICK = {
    "convoy": ("lock-contention", ()),
    "garbage": ("gc-pauses", ("-Drest=5",)),
    "starved": ("pool-exhausted", ()),
    "storm": ("deoptimization", ()),
    "straggler": ("safepoint-late", ()),
}
GROWING = {
    "leak": ("heap-growing", ("-Xmx160m", "-Dbytes=8192")),
    "threads": ("threads-growing", ("-Drest=1500",)),
    "descriptors": ("descriptors", ("-Drest=400",)),
}
FIRST_S = 60  # in which code is compiled, and pages are read, that are needed once
YOUNG_S = 180 # Only faults that take minutes are here.
# All that the program keeps is made at once, without collections that would touch it.
SWAPPED = ("-Xmx300m", "-Xmn16m", "-XX:PretenureSizeThreshold=32768")
SWAPPED_LIMIT = 128 << 20
PLACES = ("by hand", "contained")
# Fault -> the code that is its cause, and what shows it where the evidence is no profile: the link of the remedy.
CAUSES = {
    "convoy": ("Sick$Price.load", ""),
    "garbage": ("Sick.garbage", "/profile?pid={pid}&event=alloc&seconds=5"),
    "starved": ("Sick$Carrier.fetch", ""),
    "storm": ("Sick$Script.call", ""),
    "straggler": ("Sick$Report.sum", ""),
    "leak": ("Sick.leak", "/profile?pid={pid}&event=live&seconds=20"),
    "threads": ("Sick.lambda$threads", ""),
    "descriptors": ("Sick$Files.open", ""),
    "busy": ("Sick.busy", ""),
    "swapped": ("Sick$Sessions.lookup", ""),
}
ANSWER_BYTES = 33 << 10 # of a tool


@contextlib.contextmanager
def swap():
    """Room for SWAP_BYTES that the machine may swap out."""
    if proc.read("/proc/swaps").count("\n") > 1:
        yield
        return
    with tempfile.NamedTemporaryFile(prefix="flamed-swap.") as file:
        os.posix_fallocate(file.fileno(), 0, SWAP_BYTES)
        for command in (["mkswap", file.name], ["swapon", file.name]):
            paths.need(command[0])
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise unittest.SkipTest(f"no swap file here: {done.stderr}")
        try:
            yield
        finally:
            subprocess.run(["swapoff", file.name], check=True)


class Twelve(Signals):
    options = ("--mcp", "yes")

    def setUp(self):
        super().setUp()
        self.model = Model(self.daemon)

    def check_cause(self, how: str, signal: dict) -> None:
        """The link to follow has the cause in its first rows, and a model that takes it as arguments of a tool reads it, too."""
        cause, remedy = CAUSES[how]
        link = remedy.format(pid=signal["pid"]) or signal["evidence"]
        self.assertIn(remedy.format(pid=signal["pid"]).partition("&seconds")[0], signal["remedy"])
        self.assertEqual(self.daemon.get(signal["evidence"]).status, 200, signal)
        self.assertRegex(self.daemon.get("/api/v1/signals?format=text").text, rf"(?m)^\d +{signal['signal']} .*, pid {signal['pid']}: ")
        shown = self.daemon.get(link + "&format=flat").text
        self.assertIn(cause, "\n".join(shown.partition("percent")[2].splitlines()[:8]), (link, shown))
        found = self.model.call("signals", pid=str(signal["pid"]))["structuredContent"]["signals"]
        self.assertIn(signal["signal"], [one["signal"] for one in found])
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(link).query))
        tool = "capture" if "seconds" in query else "locks" if query.get("event") == "lock" else "top"
        arguments = {key: float(text) if key == "seconds" else text for key, text in query.items() if key in ("pid", "event", "from", "to", "seconds")
                     and (tool, key) != ("locks", "event")}
        text = self.model.text(tool, **arguments)
        self.assertIn(cause, text, (tool, arguments))
        self.assertIn(f"http://127.0.0.1:{self.daemon.port}/", text)
        self.assertLess(len(text), ANSWER_BYTES)

    def run_each(self, faults: dict[str, tuple[str, tuple[str, ...]]], seconds: float) -> None:
        """Within SECONDS each has its own, and no other that matters then."""
        began = time.monotonic()
        running = {(how, place): start(how, *options) for how, (_, options) in faults.items()
                   for place, start in zip(PLACES, (self.start, self.contain))}
        for (how, place), program in running.items():
            name = faults[how][0]
            with self.subTest(how=how, place=place):
                signal = self.await_signal(name, program.pid, seconds)
                print(f"\n{how}, {place}: {time.monotonic() - began:.0f} s: {name} {signal['severity']}: {signal['sentence']}")
                self.check_alone(program.pid, name)
                self.check_cause(how, signal)

    def test_quick_ones(self):
        self.run_each(QUICK, FIRST_S + 60)

    def test_what_grows(self):
        self.run_each(GROWING, YOUNG_S + 60)

    def test_limited(self):
        group = self.stack.enter_context(cgroup.Cpu(0.1))
        for place, program in zip(PLACES, (self.start("busy", wrap=group.wrap), self.contain("busy", cpus=0.1))):
            with self.subTest(place=place):
                signal = self.await_signal("cpu-limit", program.pid)
                print(f"\nlimited, {place}: {signal['sentence']}")
                self.check_alone(program.pid, "cpu-limit")
                self.check_cause("busy", signal)

    def test_swapped(self):
        self.stack.enter_context(swap())
        group = self.stack.enter_context(cgroup.Memory())
        group.limit(SWAPPED_LIMIT)
        programs = self.start("swapped", *SWAPPED, wrap=group.wrap), self.contain("swapped", *SWAPPED, memory=SWAPPED_LIMIT)
        for place, program in zip(PLACES, programs):
            with self.subTest(place=place):
                signal = self.await_signal("swapping", program.pid, FIRST_S + 60)
                print(f"\nswapped, {place}: {signal['sentence']}")
                self.check_alone(program.pid, "swapping")
                self.check_cause("swapped", signal)

    def test_deploys(self):
        """A release with regular expressions that backtrack."""
        self.daemon = self.stack.enter_context(Daemon("--recorder-hz", "99"))
        for place, start in zip(PLACES, (self.start, self.contain)):
            with self.subTest(place=place):
                self.compare_releases(start, "rules-" + place.split()[-1])

    def compare_releases(self, start, service: str, samples: int = 340) -> None:
        """The service has one release for a while, then the next: the changes since then name what is new in that."""
        def run(release: str, *options: str):
            return start("rules", f"-Dotel.resource.attributes=service.version={release}", "-Drest=9", *options, service=service)

        def seen() -> int:
            found = re.search(r"Total samples *: (\d+)", self.daemon.get("/profile?from=-2m&format=flat", service=service).text)
            return int(found[1]) if found else 0
        begun = time.monotonic()
        old = run("2.4.0")
        proc.wait_until(lambda: seen() >= samples, 150, f"there are {samples} samples", 1)
        old.stop()
        run("2.4.1", "-Dtenant=true")
        began = time.monotonic()

        def found() -> list[str]:
            sentences = self.daemon.get("/api/v1/changes", service=service).json().get("sentences", [])
            return sentences if any("matchTenant" in one for one in sentences) else []
        first = proc.wait_until(found, 150, "a change is found", 1)[:2]
        self.assertTrue(any(one.startswith("Sick$Rules.matchTenant takes ") for one in first), first)
        print(f"\n{service}: after {time.monotonic() - began:.0f} s: {first}")
        later = 2 * (began - begun) + 20 # then the release is older than what was recorded before it
        time.sleep(max(began + later - time.monotonic(), 0))
        self.assertTrue(found(), self.daemon.get("/api/v1/changes", service=service).json())

    def test_pauses(self):
        """A release that throws away more: the first of what changed are its pauses, with their number and length."""
        self.daemon = self.stack.enter_context(Daemon("--recorder-hz", "99"))

        def run(release: str, rest: int):
            return self.start("rules", f"-Dotel.resource.attributes=service.version={release}", "-Drest=9", f"-Dgarbage={rest}", service="pauses")
        old = run("2.4.0", 400)
        time.sleep(60)
        old.stop()
        run("2.4.1", 15)

        def found() -> dict:
            changes = self.daemon.get("/api/v1/changes", service="pauses").json().get("changes", [])
            return next((c for c in changes if c["kind"] == "pause"), {})
        change = proc.wait_until(found, 120, "pauses changed", 2)
        print(f"\n{change['sentence']}")
        self.assertEqual((change["name"], change["unit"]), ("garbage collection", "percent"))
        self.assertRegex(change["sentence"], r"^Pauses for garbage collection take \d+\.\d % of the time more than before \(.*\): \d\.\d %, now .* a minute of ")
        timeline = self.daemon.get(change["diff"])
        self.assertEqual(timeline.status, 200, change["diff"])
        self.assertTrue(any(m["kind"] == "gc" for m in timeline.json()["moments"]), change["diff"])

    def test_regression(self):
        """Two services get their next release after 9 minutes. That of one is slower: 14 minutes later it alone has the signal, and the
        links lead to its code."""
        self.daemon = self.stack.enter_context(Daemon("--recorder-hz", "99"))
        services = {"slower": ("-Dtenant=true",), "same": ()}

        def run(service: str, release: str, *options: str):
            return self.start("rules", f"-Dotel.resource.attributes=service.version={release}", "-Drest=9", *options, service=service)
        old = [run(service, "2.4.0") for service in services]
        time.sleep(9.5 * 60)
        for program in old:
            program.stop()
        new = {service: run(service, "2.4.1", *options) for service, options in services.items()}
        time.sleep(13 * 60)
        self.assertNotIn("regression", self.signals(new["slower"].pid)) # it is compared once the history has its minutes
        signal = self.await_signal("regression", new["slower"].pid, 180)
        print(f"\n{signal['severity']}: {signal['sentence']}")
        self.assertRegex(signal["sentence"], r"^since 2\.4\.1: \+.* % CPU, Sick\$Rules\.matchTenant")
        self.assertGreater(signal["value"], 3)
        self.assertEqual(signal["evidence"], "/api/v1/changes?service=slower")
        self.assertIn(f"({signal['evidence']})", signal["remedy"])
        change = next(c for c in self.daemon.get(signal["evidence"]).json()["changes"] if "matchTenant" in c["name"])
        self.assertIn("matchTenant", self.daemon.get(change["diff"] + "&format=collapsed").text)
        self.check_alone(new["slower"].pid, "regression")
        proc.wait_until(lambda: 'flamed_regression{service="same"' in self.daemon.get("/metrics").text, 180, "the other is compared, too", 2)
        self.assertNotIn("regression", self.signals(new["same"].pid))

    def test_controls(self):
        """One that is idle, by hand and contained, and one that works all the time."""
        controls = [self.start("idle"), self.contain("idle"), self.start("busy")]
        end = time.monotonic() + CONTROL_S
        while time.monotonic() < end:
            for control in controls:
                self.check_alone(control.pid)
            time.sleep(5)
        print(f"\nno signal that matters in {CONTROL_S:.0f} s")

    # What test_signals.py has, and needs no longer form.
    test_each_has_its_own = None
    test_how_it_ended = None


del Signals

if __name__ == "__main__":
    unittest.main()
