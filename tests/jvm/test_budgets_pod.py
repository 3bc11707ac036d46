# SPDX-License-Identifier: Apache-2.0
"""flamed in the memory of a pod, while several users demand much of it at once: programs with millions of symbols, thousands of processes
and threads, and fake JVMs with 60,000 mappings."""
import contextlib
import os
import subprocess
import tempfile
import unittest

import test_fakes
from harness import cgroup, jvm, largefile, native, paths, proc
from harness.daemon import Daemon
from harness.profile import count

ALICE, BOB, CAROL = 64127, 64128, 64129
SYMBOLS = 2_000_000
NAME = "a_function_with_the_name_of_one_of_templates_%08d" # 110 MB of such names
PROGRAMS = int(os.environ.get("FLAMED_PROGRAMS", "3"))
PROCESSES, THREADS, FAKES, SECONDS = (5000, 10000, 64, 20) if PROGRAMS > 40 else (300, 500, 4, 4)
CROWD_US = 1_000_000 # CPU time in ten seconds, of all processes or threads together
MEMORY = 512 << 20 # limit of flamed's cgroup
RSS_KIB = 384 << 10


class Everything(unittest.TestCase):
    """All at once, of several users, in the memory of a pod: no process of flamed ends, clients are answered, and a JVM that is not
    attacked has all its names."""

    def copies(self, stack: contextlib.ExitStack, number: int) -> list[str]:
        """Makes large files, each on a file system of its own. Their content is stored once."""
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-budgets."))
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "below"))
        largefile.write(os.path.join(folder, "below", "large"), SYMBOLS, NAME)
        made = []
        for i in range(number):
            where = os.path.join(folder, str(i))
            upper, work = where + ".upper", where + ".work"
            for name in (where, upper, work):
                os.mkdir(name)
            subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={folder}/below,upperdir={upper},workdir={work}", where],
                           check=True)
            stack.callback(subprocess.run, ["umount", "-l", where], check=True)
            made.append(os.path.join(where, "large"))
        return made

    def crowd(self, stack: contextlib.ExitStack, user: int, processes: int, threads: int, us: int) -> None:
        program = subprocess.Popen([*proc.ENDS_WITH_US, "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                                    native.build("crowd"), str(processes), str(threads), str(us)], stdout=subprocess.PIPE, text=True)
        stack.callback(program.communicate)
        stack.callback(program.kill)
        self.assertEqual(program.stdout.readline(), "started\n")

    def test_at_once(self):
        paths.need_root()
        paths.need("cc", "setpriv", "mount")
        spin = jvm.make_spin()
        with contextlib.ExitStack() as stack:
            target = stack.enter_context(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", spin.folder, spin.main))
            memory = stack.enter_context(cgroup.Memory())
            memory.limit(MEMORY)
            daemon = stack.enter_context(Daemon(wrap=list(memory.wrap)))
            pid = next(pid for pid in daemon.pids() if "flamed-engine" in proc.threads(pid).values())
            peak = stack.enter_context(proc.PeakMemory(pid))
            daemon.profile(pid=target.pid, seconds=1, hz=199) # its files are read
            asking = stack.enter_context(test_fakes.Asking(daemon, target.pid))
            before = peak.kib
            for path in self.copies(stack, PROGRAMS):
                stack.enter_context(largefile.Runs(path, user=ALICE, rest_ms=50 * PROGRAMS))
            self.crowd(stack, BOB, PROCESSES, 1, CROWD_US // PROCESSES)
            self.crowd(stack, CAROL, 10, THREADS // 10, CROWD_US // THREADS)
            test_fakes.Fakes(stack, FAKES)
            whole = daemon.capture(hz=99)
            spinner = proc.thread_of(target.pid, "spinner")
            with proc.CpuClock(target.pid, spinner) as clock:
                profile = daemon.profile(pid=target.pid, seconds=SECONDS, hz=99)
            answer = daemon.request("POST", whole.path + "/stop")
            asking.__exit__()
            cost = daemon.cost()
            text = (f"{PROGRAMS} programs, {PROCESSES} processes, {THREADS} threads, {FAKES} fakes: {before >> 10} MiB before, at most "
                    f"{peak.kib >> 10} MiB, flamed's cgroup has {memory.used() >> 20} MiB; {'; '.join(map(str, asking.asked))}; "
                    f"an idle server: {asking.idle.worst:.3f} s; "
                    + ", ".join(f"{name} {c['peak_kib'] >> 10} MiB" for name, c in cost.items()))
            print(text)
            self.assertIn(answer.status, (200, 202, 204), text)
            self.assertEqual(memory.kills(), 0, text)
            self.assertLess(peak.kib, RSS_KIB, text)
            self.assertEqual(asking.bad, [], text)
            for asked in asking.asked:
                self.assertLess(asked.most(), asking.idle.limit(test_fakes.ANSWER_S, asked.hops), text)
            stacks = profile.of_thread("spinner")
            due = 99 * clock.between(profile)
            self.assertEqual(profile.quality["lost"], 0, text)
            self.assertAlmostEqual(count(stacks) / due, 1, delta=0.1 + 4 / due ** 0.5, msg=text)
            self.assertGreater(profile.share(stacks, lambda s: spin.method in s.names), 0.99, profile.describe(stacks))


if __name__ == "__main__":
    unittest.main()
