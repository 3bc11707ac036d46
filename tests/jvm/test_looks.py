# SPDX-License-Identifier: Apache-2.0
"""Where threads waited in the last minutes, out of the flight recorder: by looking, without a capture."""
import os
import subprocess
import time
import unittest
from unittest import mock

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile
import test_wall

SECONDS = float(os.environ.get("FLAMED_LOOKS_SECONDS", 5))
BY_LOOKING = "waits are estimated"
WAITS = test_wall.IdleServices.WAITS
# HotSpot wakes a thread that waits for a monitor from time to time: looks meet it by chance.
RESTLESS = {"enters"}
# JVMs beside would have their share of the looks.
ALONE = ["unshare", "-mpf", "--mount-proc", "--kill-child"]


class Looks(jvm.WithClasses):
    sources = ("Alike.java", "IdleService.java", "Naps.java", "Ways.java")

    def service(self, beside: Daemon | None = None) -> jvm.Jvm:
        enter = ["nsenter", "-t", str(beside.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"] if beside else None
        return jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "IdleService", stdin=subprocess.PIPE, wrap=enter)

    def test_known_waits(self):
        """Each thread is where it waits, with its whole stack, for all of the time; and so are the views of it."""
        with Daemon(wrap=ALONE) as daemon, self.service(daemon) as program:
            java = next(pid for pid in [program.pid, *proc.descendants(program.pid)] if proc.exe(pid) == "java")
            pid = int(proc.read(f"/proc/{java}/status").split("NSpid:")[1].split("\n")[0].split()[-1])
            ask = lambda back, event="wall", **more: Profile(daemon.get(
                "/profile", pid=pid, event=event, threads=1, format="json", **{"from": f"-{back:.0f}s"}, **more))
            found = lambda p: {thread for thread in WAITS if any(
                WAITS[thread][0] in s.names and not s.truncated for s in p.of_thread(thread))}
            known = lambda: daemon.get("/profile", pid=pid, event="offcpu", **{"from": "-60s"}).status == 200
            proc.wait_until(lambda: known() and found(ask(60)) == set(WAITS), 60, "whole stacks of all threads")
            begin = time.monotonic()
            time.sleep(SECONDS)
            profile = ask(time.monotonic() - begin)
            length = (profile.end - profile.start)
            self.assertTrue(any(BY_LOOKING in w for w in profile.warnings), profile.warnings)
            for thread in WAITS.keys() - RESTLESS:
                call, wait = WAITS[thread]
                stacks = profile.of_thread(thread)
                there = sum(s.value for s in stacks if (s.state, s.wait) == ("blocked", wait) and call in s.names) / 1e9
                self.assertGreater(there, 0.95 * sum(s.value for s in stacks) / 1e9, profile.describe(stacks))
                # The last look is up to 1.5 s old, and more on a busy machine.
                self.assertLessEqual(there, length + 0.1, profile.describe(stacks))
                self.assertGreater(there, 0.3 * length, profile.describe(stacks))
            busy = ask(SECONDS, idle=0)
            names = {s.thread for s in busy.stacks if s.state == "blocked"}
            self.assertLessEqual({"waits-4", "sleeps-4", "locks"}, names)
            self.assertFalse([n for n in names if n.startswith("pool-") or n.startswith("ForkJoinPool-")], names)
            self.assertEqual({s.state for s in ask(SECONDS, state="blocked").stacks}, {"blocked"})
            self.assertFalse([s for s in ask(SECONDS, event="offcpu").stacks if s.state == "running"])
            locks = lambda: ask(60, event="lock")
            held = {"locks": "java.util.concurrent.locks.ReentrantLock$NonfairSync", "enters": "java.util.concurrent.locks.ReentrantLock"}
            proc.wait_until(lambda: set(held) <= {s.thread for s in locks().stacks}, 60, "the locks are known")
            for thread, name in held.items():
                stack = max(locks().of_thread(thread), key=lambda s: s.value)
                self.assertEqual((stack.names[-1], stack.owner), (name, "main"), stack.names)
            for form in ("collapsed", "pprof", "html"):
                answer = daemon.get("/profile", pid=pid, event="wall", format=form, **{"from": f"-{SECONDS:.0f}s"})
                self.assertEqual(answer.status, 200, answer)
                self.assertTrue(any(BY_LOOKING in w for w in answer.warnings), answer.warnings)
            self.assertEqual(daemon.get("/readyz").json()["recorder"], {"cpu": True, "waits": True, "alloc": False})
            metrics = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics").text.splitlines() if line[0] != "#")
            self.assertGreater(float(metrics["flamed_looks_total"]), 2)
            self.assertEqual(float(metrics["flamed_looks_left_out_total"]), 0)

    def test_brief_waits(self):
        """Threads that soon run on have whole stacks, however many: each is walked right after its registers were taken."""
        with Daemon(wrap=ALONE) as daemon:
            enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
            with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", self.classes.folder, "Naps", "20", "10", stdin=subprocess.PIPE, wrap=enter):
                stacks = lambda: [s for s in Profile(daemon.get("/profile", jvm="Naps", event="offcpu", threads=1, format="json", **{"from": "-60s"})).stacks
                                  if s.thread.startswith(("sleeps-", "parks-"))]
                known = lambda: daemon.get("/profile", jvm="Naps", event="offcpu", **{"from": "-60s"}).status == 200
                proc.wait_until(lambda: known() and sum(s.samples for s in stacks() if not s.truncated) > 400, 60, "some are whole")
                found = stacks()
                cut = sum(s.samples for s in found if s.truncated)
                self.assertLess(cut, 0.15 * sum(s.samples for s in found))

    def test_alike(self):
        """A thread that waits with the registers of its last place is taken to be there, and found soon where it is."""
        with Daemon(wrap=ALONE) as daemon:
            enter = ["nsenter", "-t", str(daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
            with jvm.Jvm(paths.jdk(17), "-Xint", "-Xmx64m", "-cp", self.classes.folder, "Alike", stdin=subprocess.PIPE, wrap=enter) as program:
                def share(method: str) -> float:
                    answer = daemon.get("/profile", jvm="Alike", event="offcpu", threads=1, format="json", **{"from": "-10s"})
                    stacks = [s for s in Profile(answer).stacks if s.thread.startswith("alike-")] if answer.status == 200 else []
                    there = sum(s.value for s in stacks if any(name.endswith(method) for name in s.names))
                    return there / max(sum(s.value for s in stacks), 1)
                alike = lambda: next(float(line.split()[1]) for line in daemon.get("/metrics").text.splitlines()
                                     if line.startswith("flamed_looks_alike_total "))
                proc.wait_until(lambda: share("first") > 0.9 and alike() > 20, 60, "all sleep in first(), and few are walked")
                program.process.stdin.write("\n")
                program.process.stdin.flush()
                proc.wait_until(lambda: share("second") > 0.9, 60, "all sleep in second()")

    def assert_without(self, daemon: Daemon, pid: int) -> None:
        answer = daemon.get("/profile", pid=pid, event="wall", **{"from": "-60s"})
        self.assertEqual(answer.status, 404, answer)
        self.assertIn("does not look at threads that wait", answer.text)
        self.assertEqual(daemon.get("/readyz").json()["recorder"], {"cpu": True, "waits": False, "alloc": False})

    def test_without(self):
        """A kernel without iterators over threads, and the switch: CPU time is recorded, and the answer says what is not."""
        with self.service() as program:
            with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "task_iterator"}), Daemon() as daemon:
                why = lambda: [p["detail"] for p in daemon.get("/readyz").json().get("problems", []) if p["what"] == "waits"]
                self.assertIn("no BPF iterator over threads", proc.wait_until(why, 30, "the problem is told")[0])
                self.assert_without(daemon, program.pid)
            with Daemon("--recorder-waits=no") as daemon:
                self.assert_without(daemon, program.pid)
                self.assertFalse([p for p in daemon.get("/readyz").json()["problems"] if p["what"] == "waits"])


if __name__ == "__main__":
    unittest.main()
