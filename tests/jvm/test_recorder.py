# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: the work of a JVM that has ended, and how its CPU time was spent."""
import contextlib
import json
import os
import subprocess
import tempfile
import time
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile

BURN = float(os.environ.get("FLAMED_BURN_SECONDS", "6"))
LATER = float(os.environ.get("FLAMED_LATER_SECONDS", "2"))
COUNT = float(os.environ.get("FLAMED_CATEGORY_SECONDS", "8"))
COUNT_HZ = os.environ.get("FLAMED_CATEGORY_HZ", "997")
CATEGORIES = {"java", "interpreter", "jit", "gc", "vm", "native", "kernel"}


ALONE = ["unshare", "-mpf", "--mount-proc", "--kill-child"] # flamed sees no other processes
SHORT = 'for i in 1 2 3 4 5 6 7 8 9 10; do sh -c "while :; do :; done" & sleep 0.12; kill $!; sleep 0.35; done'


def delays(daemon: Daemon) -> tuple[float, float]:
    """Returns how many samples got their names within 50 ms, and how many in all."""
    lines = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line.startswith("flamed_sample_delay_seconds"))
    return float(lines['flamed_sample_delay_seconds_bucket{le="0.05"}']), float(lines["flamed_sample_delay_seconds_count"])


class Recorder(jvm.WithClasses):
    sources = ("Burn.java", "Garbage.java")

    def test_short_programs_are_named_at_once(self):
        """flamed rests for 200 ms without a capture, but the first sample of a process wakes it: the process may soon end."""
        with Daemon("--recorder-hz=19", wrap=ALONE) as daemon:
            enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p"]
            subprocess.run([*enter, "sh", "-c", SHORT], check=False) # their code is known now
            before, soon, count, rounds = delays(daemon), 0.0, 0.0, 0
            while count < 25 and rounds < 12: # a busy machine leaves them little CPU time
                subprocess.run([*enter, "sh", "-c", SHORT], check=False)
                time.sleep(1)
                soon, count = (now - was for now, was in zip(delays(daemon), before))
                rounds += 1
        print(f"{soon:.0f} of {count:.0f} samples within 50 ms")
        self.assertGreater(soon, 0.6 * count)

    def test_of_the_dead(self):
        """No request was made while it lived. Afterwards its hot method is there, with its true share."""
        with Daemon() as daemon:
            time.sleep(0.5)
            burner = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "Burn", str(BURN))
            pid = burner.pid
            with proc.CpuClock(pid) as clock:
                output = burner.process.communicate(timeout=BURN + 60)[0]
            hot, warm = (int(word) for word in output.split())
            time.sleep(LATER)
            self.assertFalse(proc.alive(pid))
            with proc.Standstill() as machine:
                answer = daemon.get("/profile", pid=pid, format="json", threads=1,
                                    **{"from": f"-{BURN + LATER + 60:.0f}s"})
                took = machine.given()
            self.assertEqual(answer.status, 200, answer)
            self.assertLess(took, 2, "it is answered at once")
            profile = Profile(answer)
            main = [s for s in profile.stacks if "Burn.main" in s.names]
            counted = sum(s.samples for s in main)
            share = profile.share(main, lambda s: "Burn.hot" in s.names)
            truth = hot / (hot + warm)
            print(f"{counted} samples, hot {100 * share:.1f} % (truly {100 * truth:.1f} %), answered in {1000 * took:.0f} ms")
            due = 19 * clock.used[-1]
            self.assertAlmostEqual(profile.samples / due, 1, delta=0.1 + 4 / due ** 0.5, msg=profile.describe())
            chance = (truth * (1 - truth) / counted) ** 0.5
            self.assertAlmostEqual(share, truth, delta=0.01 + 4 * chance, msg=profile.describe(main))
            self.assertEqual([w for w in profile.warnings if "lost" in w], [])
            # It is gone from the list, and cannot be sampled.
            self.assertEqual(daemon.get("/profile", pid=pid, seconds=1).status, 404)
            self.assertNotIn(pid, [j["pid"] for j in daemon.get("/api/v1/jvms").json()["jvms"]])

    def test_a_kept_time_outlives_the_recorder(self):
        """A time of the past as a capture: it has the samples that /profile has for that time, also when the recorder has dropped them."""
        def counted(answer):
            self.assertEqual(answer.status, 200, answer)
            return sorted((line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in answer.text.splitlines())
        with tempfile.TemporaryDirectory() as store:
            with Daemon(store=store) as daemon:
                burner = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "Burn", "3")
                burner.process.communicate(timeout=60)
                time.sleep(LATER)
                whole = daemon.get("/profile", pid=burner.pid, format="json", **{"from": "-60s"}).json()["meta"]
                range_ = {"pid": burner.pid, "from": "-60s", "to": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
                before = counted(daemon.get("/profile", format="collapsed", **range_))
                self.assertTrue(any("Burn.hot" in stack for stack, _ in before), before)
                answer = daemon.request("POST", "/api/v1/captures", body=json.dumps(range_).encode(), headers={"Content-Type": "application/json"})
                self.assertEqual(answer.status, 201, answer)
                path = answer.headers["Location"]
                one = proc.wait_until(lambda: (c := daemon.get(path).json())["state"] == "done" and c, 10, "it is stored")
                self.assertEqual({p["pid"] for p in one["processes"]}, {burner.pid})
                self.assertLess(one["seconds"], 70, whole)
            with Daemon("--recorder-hz", "0", store=store) as daemon:
                self.assertEqual(counted(daemon.get(path + "/profile", format="collapsed")), before)
                refused = daemon.request("POST", "/api/v1/captures", body=b'{"from": "-1s"}', headers={"Content-Type": "application/json"})
                self.assertEqual(refused.status, 404, refused)

    def look(self, daemon: Daemon, clock: proc.CpuClock, gc: list[proc.CpuClock]) -> tuple[dict[str, float], float, float, float]:
        """Returns CPU seconds by category from /metrics, those of the process with and without the hypervisor's time, and those of its
        threads GC. They are read when flamed has at most a few samples left to handle: on a busy machine it may be a second behind."""
        end = time.monotonic() + 20
        while True:
            daemon.get("/readyz") # after its answer, the engine takes all samples: at once, not by the time that the lines below take
            used, alone, in_gc = clock.now(), proc.cpu_seconds(clock.pid), sum(one.now() for one in gc)
            lines = [line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#"]
            numbers = {name: float(value) for name, value in lines}
            behind = numbers["flamed_samples_total"] - numbers["flamed_flight_recorder_samples_total"]
            if behind <= 0.002 * float(COUNT_HZ) * COUNT * os.cpu_count():
                break
            self.assertLess(time.monotonic(), end, f"{behind} samples behind")
        found = {name.split('category="')[1].split('"')[0]: value for name, value in numbers.items()
                 if name.startswith(f'flamed_jvm_cpu_seconds_total{{pid="{clock.pid}"')}
        self.assertEqual(set(found), CATEGORIES)
        return found, used, alone, in_gc

    def test_categories_add_up(self):
        """The seconds of all categories are the process's CPU time; those of gc and jit are their threads'."""
        with Daemon("--recorder-hz=" + COUNT_HZ) as daemon:
            target = jvm.Jvm(paths.jdk(17), "-Xmx128m", "-XX:+UseParallelGC", "-cp", self.classes.folder, "Garbage", "3")
            self.addCleanup(target.stop)
            proc.wait_until(lambda: any(f'pid="{target.pid}"' in line for line in daemon.get("/metrics").text.splitlines()), 10, "known")
            time.sleep(2)
            with contextlib.ExitStack() as clocks:
                clock = clocks.enter_context(proc.CpuClock(target.pid))
                gc = [clocks.enter_context(proc.CpuClock(target.pid, tid)) for tid, comm in proc.threads(target.pid).items()
                      if comm.startswith("GC Thread#")]
                before = self.look(daemon, clock, gc)
                time.sleep(COUNT)
                after = self.look(daemon, clock, gc)
        used, alone, in_gc = (after[i] - before[i] for i in (1, 2, 3))
        spent = {name: after[0][name] - before[0][name] for name in CATEGORIES}
        print({name: round(seconds, 2) for name, seconds in spent.items()}, f"in all {sum(spent.values()):.2f} s, by the kernel {used:.2f} s, without stolen time {alone:.2f} s")
        hz = float(COUNT_HZ)
        self.assertGreater(used, 0.25 * COUNT, "the machine is too busy for this test")
        # Allowed error of sampling by a timer: a sample stands for 1/hz seconds, drawn with the share of the process.
        ticks = os.cpu_count() * hz * COUNT
        chance = (used * hz * max(1 - used * hz / ticks, 0.02)) ** 0.5 / hz
        self.assertLess(chance / used, 0.02, "too few samples to tell")
        # Of the hypervisor's time, a timer's samples include short pieces, but not long ones. Without such time the two clocks agree.
        stolen, total, off = max(used - alone, 0), sum(spent.values()), max(0.02 * used, 3 * chance)
        self.assertLessEqual(total, max(used, alone) + off)
        self.assertGreaterEqual(total, min(used, alone) - off)
        self.assertAlmostEqual(spent["gc"], in_gc, delta=0.05 * used + 3 * in_gc ** 0.5 / hz ** 0.5 + stolen)
        self.assertGreater(spent["java"], 0)
