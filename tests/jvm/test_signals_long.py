# SPDX-License-Identifier: Apache-2.0
"""Twelve services, each with one fault, by hand and in a container: each has its own signal and no other that matters, and its cause is
found by curl alone and by a language model's client. Two controls have no signal, for FLAMED_CONTROL_SECONDS."""
import contextlib
import math
import os
import re
import subprocess
import tempfile
import time
import unittest
import urllib.parse
from typing import NamedTuple

from harness import bundle, cgroup, jvm, paths, proc
from harness.daemon import Daemon
from test_mcp import Model
from test_signals import Signals

CONTROL_S = float(os.environ.get("FLAMED_CONTROL_SECONDS", "60"))
SWAP_BYTES = 512 << 20


class Fault(NamedTuple):
    signal: str
    options: tuple[str, ...] = () # of the JVM
    how: str = "" # of Sick, if not the fault's name
    cpus: float = 0 # its limit; 0: none
    memory: int = 0


# All that `swapped` keeps is made at once, without collections that would touch it. It needs swap, so it comes last: `killed` has to have none.
FAULTS = {
    "convoy": Fault("lock-contention"),
    "garbage": Fault("gc-pauses", ("-Drest=5",)),
    "limited": Fault("cpu-limit", how="busy", cpus=0.1),
    "starved": Fault("pool-exhausted"),
    "straggler": Fault("safepoint-late"),
    "storm": Fault("deoptimization"),
    # Half of the heap is in use before: else what stays looks like garbage that no old collection has met yet.
    "leak": Fault("heap-growing", ("-Xmx160m", "-Xmn16m", "-Dbytes=4096", "-Dkept=85")),
    "threads": Fault("threads-growing", ("-Drest=1500",)),
    "descriptors": Fault("descriptors", ("-Drest=400",)),
    "killed": Fault("ended", ("-Xmx400m", "-Drest=2", "-Dbytes=1000000"), how="leak", memory=96 << 20),
    "swapped": Fault("swapping", ("-Xmx300m", "-Xmn16m", "-XX:PretenureSizeThreshold=32768"), memory=128 << 20),
}
WITHIN_S = 60 # from the fault to its signal
YOUNG_S = 190 # up to this age, growth is not looked for
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
    "limited": ("Sick.busy", ""),
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

    def start_fault(self, name: str, place: str) -> tuple[jvm.Jvm | bundle.Container, str]:
        """Returns the service, which is idle, and the file that makes its fault begin."""
        fault, file = FAULTS[name], f"begin-{name}-{place.split()[-1]}"
        options = (*fault.options, f"-Dbegin={'/classes' if place == PLACES[1] else self.classes.folder}/{file}")
        limits: dict = {key: limit for key, limit in (("cpus", fault.cpus), ("memory", fault.memory)) if limit}
        if place == PLACES[1]:
            return self.contain(fault.how or name, *options, service=name, **limits), os.path.join(self.classes.folder, file)
        wrap = self.stack.enter_context(cgroup.Cpu(fault.cpus)).wrap if fault.cpus else ()
        if fault.memory:
            group = self.stack.enter_context(cgroup.Memory())
            group.limit(fault.memory)
            wrap = group.wrap
        return self.start(fault.how or name, *options, service=name, wrap=wrap), os.path.join(self.classes.folder, file)

    def begin_fault(self, name: str, program, file: str) -> float:
        """Returns how many seconds after the fault began its signal was on. There is no other then that matters."""
        with open(file, "wb"):
            began = time.monotonic()
        signal = self.await_signal(FAULTS[name].signal, program.pid, WITHIN_S)
        took = time.monotonic() - began
        print(f"\n{name}: {took:.0f} s: {signal['signal']} {signal['severity']}: {signal['sentence']}", flush=True)
        self.check_alone(program.pid, signal["signal"])
        if name in CAUSES:
            self.check_cause(name, signal)
            self.check_alone(program.pid, signal["signal"])
        else:
            self.assertIn("the kernel ended it (SIGKILL): its container was out of memory", signal["sentence"])
        return took

    def test_each_in_turn(self):
        """One fault begins after the other, in services that have been idle for some minutes."""
        names = os.environ.get("FLAMED_FAULTS", " ".join(FAULTS)).split()
        waiting = {(name, place): self.start_fault(name, place) for name in names for place in PLACES}
        time.sleep(YOUNG_S)
        took = {}
        for (name, place), (program, file) in list(waiting.items()):
            if name == "swapped" and place == PLACES[0]:
                self.stack.enter_context(swap())
            for idle, _ in waiting.values():
                self.check_alone(idle.pid)
            del waiting[name, place]
            with self.subTest(fault=name, place=place):
                took[name, place] = self.begin_fault(name, program, file)
            program.stop()
        for name in names:
            print(f"| `{name}` | `{FAULTS[name].signal}` | " + " | ".join(f"{took.get((name, place), math.nan):.0f} s" for place in PLACES) + " |")
        self.assertEqual({which: seconds for which, seconds in took.items() if seconds > WITHIN_S * proc.PATIENCE}, {})

    def test_deploys(self):
        """A release with regular expressions that backtrack."""
        # It has to reach back to the old release, on a node with many threads, too.
        self.daemon = self.stack.enter_context(Daemon("--recorder-hz", "99", "--recorder-max-bytes", "512M", "--recorder-seconds", "1800"))
        for place, start in zip(PLACES, (self.start, self.contain)):
            with self.subTest(place=place):
                # A release takes the name of the container before it.
                same = {"name": f"flamed-test-rules-{os.getpid()}"} if place == PLACES[1] else {}
                self.compare_releases(start, "rules-" + place.split()[-1], **same)

    def compare_releases(self, start, service: str, samples: int = 340, **same) -> None:
        """The service has one release for a while, then the next: the changes since then name what is new in that."""
        def run(release: str, *options: str):
            return start("rules", f"-Dotel.resource.attributes=service.version={release}", "-Drest=9", *options, service=service, **same)

        def seen() -> int:
            found = re.search(r"Total samples *: (\d+)", self.daemon.get("/profile?from=-15m&format=flat", service=service).text)
            return int(found[1]) if found else 0
        begun = time.monotonic()
        old = run("2.4.0")
        proc.wait_until(lambda: seen() >= samples, 300, f"there are {samples} samples", 1)
        old.stop()
        run("2.4.1", "-Dtenant=true")
        began = time.monotonic()

        answer: dict = {}

        def found() -> list[str]:
            answer.update(self.daemon.get("/api/v1/changes", service=service).json())
            sentences = answer.get("sentences", [])
            return sentences if any("matchTenant" in one for one in sentences) else []
        try:
            first = proc.wait_until(found, 300, "a change is found", 1)[:2]
        except TimeoutError:
            self.fail(f"no change is found: {answer}")
        self.assertTrue(any(one.startswith("Sick$Rules.matchTenant takes ") for one in first), first)
        print(f"\n{service}: after {time.monotonic() - began:.0f} s: {first}")
        later = 2 * (began - begun) + 20 # then the release is older than what was recorded before it
        time.sleep(max(began + later - time.monotonic(), 0))
        self.assertTrue(found(), answer)

    def test_young(self):
        """flamed begins three minutes before a release. When its recorder does not reach back that far any more, the few minutes of the
        history are compared, and the answer says so."""
        self.daemon = self.stack.enter_context(Daemon("--recorder-hz", "99", "--recorder-seconds", "60"))

        def run(release: str, *options: str):
            return self.start("rules", f"-Dotel.resource.attributes=service.version={release}", "-Drest=9", *options, service="young")
        old = run("2.4.0")
        time.sleep(200)
        old.stop()
        run("2.4.1", "-Dtenant=true")
        answer: dict = {}

        def found() -> list[str]:
            answer.update(self.daemon.get("/api/v1/changes", service="young").json())
            return [one for one in answer["sentences"] if "known" in one and "matchTenant" in one]
        try:
            sentence = proc.wait_until(found, 600, "a change is found", 5)[0]
        except TimeoutError:
            self.fail(f"no change is found: {answer}")
        print(f"\n{sentence}")
        self.assertRegex(sentence, r"^Sick\$Rules\.matchTenant takes .*; only [234]\.0 minutes before are known$")
        self.assertTrue(any("varies by itself is taken from the time after" in one for one in answer["sentences"]), answer)
        self.assertLess(answer["minutes"]["a"], 5)

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
