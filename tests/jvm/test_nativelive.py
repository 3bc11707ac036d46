# SPDX-License-Identifier: Apache-2.0
"""Native memory that is not freed (event=nativelive): the leaking place with its bytes, and no other."""
import collections
import os
import re
import statistics
import subprocess
import time
import unittest

from harness import bundle, jdkroot, jvm, mallocs, native, paths, probed, proc
from harness.profile import Profile
from test_calls import await_no_probes
from test_malloc import library

LEAKING = "place_6" # in leaks.c
BLOCKS = 32768 # limit of followed blocks
# Places that other releases of glibc do not show completely. memalign and aligned_alloc use blocks of the thread's own list from 2.41 on.
# aligned_alloc and posix_memalign of 2.43 begin with instructions that allow no probe.
UNKNOWN = {21: ("place_10", "place_14"), 26: ("place_10", "place_12", "place_14", "place_16")}


def sites(profile: Profile) -> dict[str, int]:
    """Returns the bytes of each place of leaks.c in the profile."""
    found: collections.Counter = collections.Counter()
    for stack in profile.stacks:
        found[next((name for name in stack.names if name.startswith("place_")), "other")] += stack.value
    return dict(found)


def methods(profile: Profile) -> dict[str, int]:
    """Returns the same of NativeLeaks.java. Bytes without one of its methods are the VM's own."""
    found: collections.Counter = collections.Counter()
    for stack in profile.stacks:
        for method in {"small", "large", "mapped", "deflater", "cached"}:
            found[method] += stack.value if f"NativeLeaks.{method}" in stack.names else 0
    return dict(found)


class JavaProgram(jvm.Jvm):
    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-cp", folder, "NativeLeaks", stdin=subprocess.PIPE)

    def ask(self, line: str) -> str:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


class Base(mallocs.WithMallocs):
    event = "nativelive"
    sources = ("NativeLeaks.java",)

    def take_all(self, program, line: str, **params) -> tuple[list[int], Profile]:
        """Executes LINE during a capture. Returns the numbers that the program printed, and the profile. The capture goes on for longer
        than the tenth that is left out."""
        capture = self.daemon.capture(pid=program.pid, event="nativelive", **params)
        begun = time.monotonic()
        said = [int(word) for word in program.ask(line).split()]
        time.sleep((time.monotonic() - begun) / 8 + 0.5)
        return said, capture.stop()

    def take(self, program, line: str, **params) -> tuple[int, Profile]:
        """Returns the same for blocks that stayed."""
        (stayed,), profile = self.take_all(program, line, **params)
        return stayed, profile

    def check_places(self, program: native.Obedient, label: str, unknown: tuple[str, ...] = ()) -> None:
        """Each place leaks as often: each byte is counted, except for the places UNKNOWN, which may miss some."""
        program.ask("all 2 100")
        self.prepare(program.pid)
        said, profile = self.unlost(lambda: self.take_all(program, "all 500 50", interval=1, force=1), lambda taken: taken[1])
        truth = {f"place_{n}": bytes for n, bytes in enumerate(said) if bytes}
        found = sites(profile)
        print(f"{label}: {found}, stayed {truth}; {profile.warnings[:2]}", end=" ")
        self.assertEqual(len(truth), 20)
        for place in unknown:
            self.assertLessEqual(found.pop(place, 0), truth.pop(place), (place, profile.describe()))
        self.assertEqual(found, truth, profile.describe())
        self.assertTrue(unknown or not any("were not followed: they" in w for w in profile.warnings), profile.warnings)
        await_no_probes(program.pid)

    def take_whole(self, program, line: str, **params) -> tuple[int, Profile]:
        """Does the same, without lost samples."""
        return self.unlost(lambda: self.take(program, line, **params), lambda taken: taken[1])

    def check_blocks(self, program: native.Obedient, label: str) -> None:
        """Checks each byte of the place that keeps blocks, and none of another. If no place keeps any, there is none."""
        program.ask("run 2 100")
        self.prepare(program.pid)
        stayed, profile = self.take_whole(program, "run 500 100", interval=1, force=1)
        print(f"{label}: {sites(profile)}, stayed {stayed}; {profile.warnings[:2]}", end=" ")
        self.assertGreater(stayed, 0)
        self.assertEqual(sites(profile), {LEAKING: stayed}, profile.describe())
        self.assertFalse([s for s in profile.stacks if s.truncated], profile.describe())
        _, profile = self.take_whole(program, "run 100 1000000", interval=1, force=1)
        self.assertEqual(profile.stacks, [], profile.describe())
        await_no_probes(program.pid)

    def check_jvm(self, program, label: str) -> None:
        program.ask("30")
        self.prepare(program.pid)
        stayed, profile = self.take_whole(program, "600", interval=1, force=1)
        found = methods(profile)
        print(f"{label}: {found}, stayed {stayed}", end=" ")
        self.assertGreater(stayed, 0)
        self.assertAlmostEqual(found.pop("cached", 0), stayed, delta=0.01 * stayed, msg=profile.describe())
        # A method that runs for the first time makes the VM load classes, whose memory stays.
        self.assertLess(sum(found.values()), 0.05 * stayed, (found, profile.describe()))
        self.assertTrue([w for w in profile.warnings if "were freed" in w], profile.warnings)
        await_no_probes(program.pid)


class NativeLive(Base):
    def test_each_block(self):
        with native.Obedient("leaks", "-pthread") as program:
            self.check_blocks(program, "glibc")

    def test_each_function(self):
        """Also blocks of calloc, realloc and the functions that align, in several threads."""
        with native.Obedient("leaks", "-pthread") as program:
            self.check_places(program, "glibc")

    def test_by_chance(self):
        """The same with sampled blocks. Some 400 stay, and the interval samples 40 % of them: the tolerance is four sigma."""
        with native.Obedient("leaks", "-pthread") as program:
            program.ask("run 2 100")
            self.prepare(program.pid)
            stayed, profile = self.take_whole(program, "run 2000 20", interval=1000, force=1)
            found = sites(profile)
            print(f"{found}, stayed {stayed}", end=" ")
            self.assertAlmostEqual(found.pop(LEAKING, 0), stayed, delta=0.25 * stayed, msg=profile.describe())
            self.assertEqual(found, {}, profile.describe())

    def test_of_a_jvm(self):
        """Direct buffers that a cache keeps, beside others and deflaters that are freed."""
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), JavaProgram(version, self.classes.folder) as program:
                self.check_jvm(program, f"JDK {version}")

    def test_in_a_container(self):
        """Like a container of Docker."""
        with bundle.Asked(paths.jdk(17), self.classes.folder, "-Xmx64m", "-cp", "/classes", "NativeLeaks", docker=True, overlay=True,
                          user_namespace=False) as program:
            self.check_jvm(program, "container")

    def refused(self, program: native.Obedient, sentence: str) -> None:
        program.do("all 10")
        answers = []
        def known() -> bool:
            answers.append(self.daemon.get("/profile", pid=program.pid, event="nativelive", seconds=0.1, format="json"))
            return answers[-1].status == 409 and "cannot be read" not in answers[-1].text
        proc.wait_until(known, 30, "it is refused")
        self.assertIn(sentence, answers[-1].text)
        await_no_probes(program.pid)

    def test_other_mallocs(self):
        """With a malloc besides glibc's, blocks cannot be followed."""
        for wrap in (("env", "LD_PRELOAD=" + library("libjemalloc.so.2")), ("env", "LD_PRELOAD=" + library("libtcmalloc_minimal.so.4"))):
            with self.subTest(wrap=wrap), native.Obedient("mallocs", "-pthread", wrap=wrap) as program:
                self.refused(program, "another malloc than glibc's")

    def test_musl(self):
        with mallocs.musl_program() as program:
            self.refused(program, "another malloc than glibc's")

    def test_often(self):
        with native.Obedient("mallocs", "-pthread") as program:
            self.check_often(program, "malloc and free")

    def test_of_others(self):
        """Captures share probes and records. Losses of one process are not reported for another."""
        with native.Obedient("leaks", "-pthread") as busy, native.Obedient("leaks", "-pthread") as quiet:
            for one in (busy, quiet):
                one.ask("run 2 100")
                self.prepare(one.pid)
            other = self.daemon.capture(pid=busy.pid, event="nativelive", interval=1, force=1)
            capture = self.daemon.capture(pid=quiet.pid, event="nativelive", interval=1, force=1)
            quiet.ask("cost 500 100")
            busy.ask("remap 50 0") # the new place of a mapping that grew is unknown
            quiet.ask("cost 500 100")
            profile, others = capture.stop(), other.stop()
            print(f"{profile.warnings[:2]}", end=" ")
            self.assertTrue([w for w in others.warnings if "were not followed: they" in w], others.warnings)
            self.assertFalse([w for w in profile.warnings if "were not followed: they" in w], profile.warnings)

    def test_too_often_later(self):
        """A process loses its probes during a capture. Blocks that it frees afterwards do not count as leaks."""
        with native.Obedient("leaks", "-pthread") as program:
            program.ask("run 2 100")
            self.prepare(program.pid)
            capture = self.daemon.capture(pid=program.pid, event="nativelive", interval=1)
            program.ask("hold 400 0")
            time.sleep(2.5) # after that time no capture is refused
            program.ask("cost 50000 100")
            await_no_probes(program.pid)
            program.ask("drop 0 0")
            time.sleep(2)
            profile = capture.stop()
            print(f"{sites(profile)}, {profile.warnings}", end=" ")
            self.assertEqual(sites(profile).get(LEAKING), None, profile.describe())
            self.assertTrue([w for w in profile.warnings if "malloc and free" in w], profile.warnings)
            self.assertTrue([w for w in profile.warnings if "were not followed: they" in w], profile.warnings)

    def test_no_room(self):
        """One process requests more blocks than the limit. Another's blocks have room, and more of them once the first has ended."""
        with native.Obedient("leaks", "-pthread") as greedy, native.Obedient("leaks", "-pthread") as program:
            for one in (greedy, program):
                one.ask("run 2 100")
                self.prepare(one.pid)
            other = self.daemon.capture(pid=greedy.pid, event="nativelive", interval=1, force=1)
            for _ in range(5): # on a busy machine some are lost
                greedy.ask("hold 12000 0")
            stayed, profile = self.take_whole(program, "hold 300 0", interval=1, force=1)
            print(f"{sites(profile)}, {profile.warnings}", end=" ")
            self.assertEqual(sites(profile), {LEAKING: stayed}, profile.describe())
            stayed, profile = self.take_whole(program, "hold 12000 0", interval=1, force=1)
            print(f"then {sites(profile)}, {profile.warnings}", end=" ")
            # A quarter of all, as the other one has half.
            self.assertAlmostEqual(sites(profile)[LEAKING], BLOCKS / 4 * 400, delta=BLOCKS / 100 * 400, msg=profile.describe())
            unfollowed, = [int(m[1]) for m in (re.match("([0-9]+) sampled blocks of memory were not followed", w) for w in profile.warnings) if m]
            self.assertAlmostEqual(unfollowed, 12000 - BLOCKS / 4, delta=BLOCKS / 100)
            self.assertTrue([w for w in profile.warnings if "were not followed: they" in w], profile.warnings)
            greedy.process.kill()
            greedy.process.wait()
            probed.await_none(program.pid)
            program.ask("drop 0 0")
            time.sleep(3) # flamed removes the other one's probes
            stayed, profile = self.take_whole(program, "hold 12000 0", interval=1, force=1)
            print(f"alone: {sites(profile)}", end=" ")
            self.assertEqual(sites(profile), {LEAKING: stayed}, profile.describe())

    def test_exec(self):
        """An exec drops the blocks of the old program. The new one is followed from the start of its own probes on."""
        with native.Obedient("leaks", "-pthread") as program:
            program.ask("run 2 100")
            self.prepare(program.pid)
            def take() -> Profile:
                capture = self.daemon.capture(pid=program.pid, event="nativelive", interval=1, force=1)
                program.ask("hold 300 0")
                program.ask("exec 0 0")
                program.ask("hold 50 0") # by the probes of the old program, which then vanish; rarely by those of the new one
                time.sleep(3)
                program.ask("hold 100 0")
                time.sleep(2)
                self.assertGreaterEqual(capture.samples(), 100, "kept until now")
                return capture.stop()
            profile = self.unlost(take)
            print(f"{sites(profile)}, {profile.warnings}", end=" ")
            self.assertIn(sites(profile).get(LEAKING), range(100 * 400, 150 * 400 + 1, 400), profile.describe())
            replaced, = [int(m[1]) for m in (re.match("([0-9]+) sampled blocks of memory ended when", w) for w in profile.warnings) if m]
            self.assertGreaterEqual(replaced, 300)

    def test_hostile(self):
        """A thread has a fake of glibc's list of free blocks, and false sizes before blocks. That does no harm, and other results stay
        right."""
        with native.Obedient("leaks", "-pthread", "-DHOSTILE") as liar, native.Obedient("leaks", "-pthread") as program:
            for one in (liar, program):
                one.ask("run 2 100")
                self.prepare(one.pid)
            capture = self.daemon.capture(pid=liar.pid, event="nativelive", interval=1, force=1)
            for _ in range(3):
                self.assertTrue(liar.ask("run 20 10").isdigit())
            stayed, profile = self.take_whole(program, "run 50 10", interval=1, force=1)
            print(f"{sites(profile)}, stayed {stayed}", end=" ")
            self.assertEqual(sites(profile), {LEAKING: stayed}, profile.describe())
            lies = capture.stop()
            print(f"lies: {sites(lies)}", end=" ")
            self.assertIsNone(liar.process.poll())
            self.assertEqual(self.daemon.get("/readyz").status, 200)
            await_no_probes(liar.pid, program.pid)

    def test_cost(self):
        """CPU time of a malloc and its free, with and without probes: medians of three pairs."""
        with native.Obedient("leaks", "-pthread") as program:
            program.ask("run 2 100")
            self.prepare(program.pid)
            for size in (100, 5000): # from the thread's own list, or not
                without, within = [], []
                for _ in range(3):
                    without.append(int(program.ask(f"cost 100000 {size}")))
                    capture = self.daemon.capture(pid=program.pid, event="nativelive", interval="64m", force=1)
                    within.append(int(program.ask(f"cost 100000 {size}")))
                    capture.stop()
                print(f"{size} bytes: {statistics.median(without) / 1e5:.0f} ns, {statistics.median(within) / 1e5:.0f} ns", end=" ")
                self.assertLess(statistics.median(within) / 1e5, 50_000)


class Jdks(Base):
    """Other releases of glibc: 2.41 with JDK 21, 2.43 with 26. Not in a plain run."""

    def check(self, version: int) -> None:
        if not os.environ.get("FLAMED_NATIVELIVE_JDKS"):
            self.skipTest("FLAMED_NATIVELIVE_JDKS is not set: jvm_nativelive_jdks runs it")
        libraries = jdkroot.root(version) + "/usr/lib/x86_64-linux-gnu"
        with native.Obedient("leaks", "-pthread", wrap=(libraries + "/ld-linux-x86-64.so.2", "--library-path", libraries)) as program:
            self.check_blocks(program, f"glibc of {version}")
            self.check_places(program, f"glibc of {version}", UNKNOWN[version])
        with bundle.Asked("", self.classes.folder, "-Xmx64m", "-cp", "/classes", "NativeLeaks", root=jdkroot.root(version),
                          executable=jdkroot.java(version)) as program:
            self.check_jvm(program, f"JDK {version}")

    def test_21(self):
        self.check(21)

    def test_26(self):
        self.check(26)


if __name__ == "__main__":
    unittest.main()
