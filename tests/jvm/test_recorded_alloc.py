# SPDX-License-Identifier: Apache-2.0
"""Allocations of the flight recorder (recorder_alloc), in the ring and in the history."""
import collections
import os
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import caller, jvm, paths, proc
from harness.daemon import Answer, Daemon
from harness.profile import Profile
from test_alloc import CLASSES, Program, changed_pages, place_of, wait_clean

SIDE_BY_SIDE = True
SECONDS = float(os.environ.get("FLAMED_ALLOC_SECONDS", "12"))
RATE = 20 # samples a second, on average at most
SERVICE = "-Dotel.service.name=recorded"
TINY_BUFFERS = ("-XX:TLABSize=2k", "-XX:MinTLABSize=2k", "-XX:-ResizeTLAB")


class Recorded(jvm.WithClasses):
    sources = ("Alloc.java",)

    def wait_recorded(self, daemon: Daemon, program: Program) -> None:
        def seen() -> bool:
            program.allocate(2e8)
            return daemon.get("/profile", pid=program.pid, event="alloc", format="collapsed", **{"from": "-60s"}).status == 200
        proc.wait_until(seen, 40, "its allocations are recorded", interval=0.5)

    def settled(self, daemon: Daemon, **query) -> Answer:
        """Returns the answer when all samples are read: on a busy machine flamed is seconds behind."""
        before = -1
        while True:
            answer = daemon.get("/profile", event="alloc", format="json", **query)
            self.assertEqual(answer.status, 200, answer)
            if answer.json()["meta"]["value"] == before:
                return answer
            before = answer.json()["meta"]["value"]
            time.sleep(1.5)

    def allocate(self, program: Program) -> collections.Counter:
        """Has it allocate for a while. Returns the bytes of each place."""
        made, end = collections.Counter(), time.monotonic() + SECONDS
        while time.monotonic() < end:
            made += program.allocate(2e8)[0]
            time.sleep(0.05)
        return made

    def check(self, profile: Profile, made: collections.Counter) -> int:
        """Checks the sum and each place within the chance error of the samples, and the classes. Returns the bytes."""
        values, counts, wrong = collections.Counter(), collections.Counter(), collections.Counter()
        for stack in profile.stacks:
            place = place_of(stack.names)
            values[place] += stack.value
            counts[place] += stack.samples
            if place and stack.names[-1] not in CLASSES[place]:
                wrong[f"{place}: {stack.names[-1]}"] += stack.samples
        total, samples = sum(values.values()), sum(counts.values())
        print(f"{samples} samples, {total / made.total():.3f} of {made.total() / 1e9:.1f} GB,",
              " ".join(f"{place} {values[place] / made[place]:.2f}" for place in made))
        self.assertGreater(samples, 100, profile.describe())
        self.assertLess(samples, 2 * RATE * (SECONDS + 3), "the interval follows the rate")
        self.assertAlmostEqual(total / made.total(), 1, delta=5 / samples ** 0.5, msg=profile.describe())
        for place, truth in made.items():
            expected = samples * truth / made.total()
            self.assertAlmostEqual(values[place] / truth, 1, delta=5 / expected ** 0.5, msg=(place, counts, profile.describe()))
        self.assertEqual(wrong, {})
        return total

    def test_ring_and_history(self):
        store = tempfile.TemporaryDirectory(prefix="flamed-test.")
        self.addCleanup(store.cleanup)
        user, = proc.free_ids(1)
        with Program(paths.jdk(17), self.classes.folder, "-Xmx256m", "-XX:+UseParallelGC", SERVICE) as old, \
                Program(paths.jdk(25), self.classes.folder, "-Xmx256m", "-XX:+UseG1GC", SERVICE) as new:
            programs, sums = [old, new], []
            with Daemon("--recorder-alloc", "yes", store=store.name) as daemon:
                self.assertTrue(proc.wait_until(lambda: daemon.get("/readyz").json()["recorder"]["alloc"], 20, "the program is loaded"))
                for program in programs:
                    self.wait_recorded(daemon, program)
                    self.assertGreater(changed_pages(program.pid), 0)
                begin = time.time()
                with ThreadPoolExecutor(2) as pool:
                    made = list(pool.map(self.allocate, programs))
                since = {"from": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(begin)) + f"{begin % 1:.3f}"[1:] + "Z"}
                for program, truth in zip(programs, made):
                    answer = self.settled(daemon, pid=program.pid, **since)
                    self.assertIn("20 times a second", " ".join(answer.warnings))
                    sums.append(self.check(Profile(answer), truth))
                both = Profile(daemon.get("/profile", service="recorded", event="alloc", format="json", **since))
                self.assertEqual(sum(s.value for s in both.stacks), sum(sums))
                for place in (f"pid={old.pid}", "service=recorded"):
                    url = f"http://127.0.0.1:{daemon.port}/profile?{place}&event=alloc&from=-60s&format=collapsed"
                    self.assertEqual(caller.ask(url, uid=user).status, 404)
                whole = daemon.get("/profile", service="recorded", event="alloc", format="json", **{"from": "-10m"}).json()["meta"]["value"]
            for program in programs: # also of a flamed that ends
                wait_clean(program.pid)
            with Daemon(store=store.name) as daemon: # it records no allocations
                time.sleep(7)
                for program in programs:
                    program.allocate(1e8)
                    self.assertEqual(changed_pages(program.pid), 0)
                kept = daemon.get("/profile", service="recorded", event="alloc", format="json", **{"from": "-10m"})
                self.assertEqual(kept.status, 200, kept)
                self.assertAlmostEqual(kept.json()["meta"]["value"] / whole, 1, delta=0.01)
                self.assertIn("comes from the history", " ".join(kept.warnings))
                url = f"http://127.0.0.1:{daemon.port}/profile?service=recorded&event=alloc&from=-10m&format=collapsed"
                self.assertEqual(caller.ask(url, uid=user).status, 404)
                time.sleep(max(0, 3 - time.time() % 60)) # a second before a minute's begin is a part of one that was recorded
                none = daemon.get("/profile", pid=new.pid, event="alloc", **{"from": "-1s"})
                self.assertEqual(none.status, 404, none)
                self.assertIn("recorder_alloc is off", none.json()["remedy"])


class Costly(jvm.WithClasses):
    sources = ("Alloc.java",)

    def test_costly_probes_are_removed(self):
        """Each buffer of 2 KB hits a probe. The JVM loses its probes, and flamed says so. A capture still has them."""
        with Program(paths.jdk(17), self.classes.folder, "-Xmx128m", *TINY_BUFFERS) as program, Daemon("--recorder-alloc", "yes") as daemon:
            def said() -> str:
                program.allocate(2e8)
                return next((text for text in daemon.problems("allocations") if "and the limit is 10000" in text), "")
            self.assertIn("hit", proc.wait_until(said, 60, "the hits are too many"))
            wait_clean(program.pid)
            program.allocate(1e8)
            self.assertEqual(changed_pages(program.pid), 0)
            capture = daemon.capture(pid=program.pid, event="alloc")
            program.allocate(2e8)
            self.assertGreater(capture.stop().samples, 20)
            past = daemon.get("/profile", pid=program.pid, event="alloc", format="json", **{"from": "-60s"})
            self.assertIn(f"allocations of {program.pid} are not recorded now", " ".join(past.warnings) + past.text)
            just = daemon.get("/profile", pid=program.pid, event="alloc", **{"from": "-1s"})
            self.assertIn("its probes were hit", " ".join(just.warnings) + just.text) # no sample, or the history's of a whole minute
            earlier = daemon.get("/profile", pid=program.pid, event="alloc", **{"from": "-20m", "to": "-15m"})
            self.assertEqual(earlier.status, 404, earlier)
            self.assertNotIn("its probes were hit", earlier.text) # which says nothing of that time


@unittest.skipUnless(os.environ.get("FLAMED_ALLOC_CHANGES"), "takes two minutes: FLAMED_ALLOC_CHANGES=1")
class Changed(jvm.WithClasses):
    sources = ("AllocMore.java",)

    def test_a_place_that_allocates_more(self):
        with Daemon("--recorder-alloc=yes", "--recorder-hz=99") as daemon, \
                jvm.Obedient(paths.jdk(17), "-Xmx128m", "-cp", self.classes.folder, "AllocMore") as program:
            asked = {"pid": program.pid, "event": "alloc", "format": "collapsed", "from": "-5s"}
            proc.wait_until(lambda: daemon.get("/profile", **asked).status == 200, 40, "its allocations are recorded", 0.5)
            begin = time.time()
            time.sleep(61)
            program.ask("more")
            middle = time.time()
            time.sleep(62)
            stamp = lambda at: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f"{at % 1:.3f}"[1:] + "Z"
            answer = daemon.get("/api/v1/changes", pid=program.pid, a=f"{stamp(begin)}..{stamp(middle)}", b=f"{stamp(middle)}..{stamp(middle + 60)}").json()
            print(answer["sentences"])
            found = [c for c in answer["changes"] if c["kind"] == "allocation"]
            self.assertEqual([c["name"] for c in found], ["long[] in AllocMore.added"], answer)
            one, = found
            self.assertIn("Allocation of long[] in AllocMore.added takes", one["sentence"])
            self.assertIn("of the allocated bytes of before", one["sentence"])
            self.assertGreater(one["difference"], 25) # half as much again, but it also takes CPU time, which counts as work
            self.assertLess(one["difference"], 60)
            self.assertLessEqual(one["before"], 0.1)
            diff = daemon.get(one["diff"])
            self.assertEqual(diff.status, 200, diff)
            self.assertIn("AllocMore.added", diff.text)
