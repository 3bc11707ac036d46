# SPDX-License-Identifier: Apache-2.0
"""In the guest: a processor goes offline and comes back while threads run and wait, twice. None of their time is lost."""
import faulthandler
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import native, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position
from harness.profile import Profile # pylint: disable=wrong-import-position

SLOW = 60 # limit of a step in seconds, multiplied by the patience of the harness
ONLINE = "/sys/devices/system/cpu/cpu1/online"


def switch(on: bool) -> None:
    with open(ONLINE, "w", encoding="ascii") as f:
        f.write("1" if on else "0")


class Hotplug(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        faulthandler.dump_traceback_later(800, exit=True)
        cls.daemon = Daemon("--recorder-hz", "0", wait=False)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.wait_ready(SLOW)

    def setUp(self):
        self.program = native.Obedient("waiters", "-pthread", wrap=("nice", "-n", "19"))
        self.addCleanup(self.program.__exit__)
        for line in ("blocks 2", "naps 4", "computes 2"):
            self.program.do(line)
        self.addCleanup(switch, True)

    def profile(self, event: str, seconds: float) -> Profile | None:
        answer = self.daemon.get("/profile", pid=self.program.pid, seconds=seconds, event=event, threads=1, format="json", timeout=SLOW)
        return Profile(answer) if answer.status == 200 else None # else emulation was too slow

    def computed(self) -> dict[str, float]:
        """Returns the CPU seconds of the computing threads, by the kernel's count."""
        return {name: sum(map(int, proc.stat(self.program.pid, tid)[11:13])) / os.sysconf("SC_CLK_TCK")
                for tid, name in proc.threads(self.program.pid).items() if name.startswith("computes-")}

    def test_cpu(self):
        """A processor that is back is sampled again. Emulated machines lose ticks; without its samples two fifths of the time would lack."""
        proc.wait_until(lambda: self.profile("cpu", 0.5), SLOW, "the programs are loaded")
        capture = self.daemon.capture(pid=self.program.pid, event="cpu", hz=199, seconds=600)
        before = self.computed()
        for online in (False, True, False, True):
            time.sleep(1)
            switch(online)
        time.sleep(4)
        after = self.computed()
        profile = capture.stop()
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        seen = sum(s.value for name in after for s in profile.of_thread(name)) / 1e9
        spent = sum(after.values()) - sum(before.values())
        print(f"cpu: {seen:.2f} of {spent:.2f} s, {profile.quality} {profile.warnings}")
        self.assertAlmostEqual(seen, spent, delta=0.25 * spent, msg=profile.describe())

    def test_off_and_on(self):
        for event in ("offcpu", "wall"):
            with self.subTest(event=event):
                proc.wait_until(lambda: self.profile(event, 0.5), SLOW, "the programs are loaded")
                capture = self.daemon.capture(pid=self.program.pid, event=event, seconds=600)
                for online in (False, True, False, True):
                    time.sleep(1)
                    switch(online)
                    self.assertEqual(proc.read(ONLINE).strip(), str(int(online)))
                time.sleep(4) # until flamed has seen the processor again
                profile = capture.stop()
                length = profile.end - profile.start
                print(f"{event}: {length:.1f} s, {profile.quality} {profile.warnings}")
                self.assertEqual(profile.quality["lost"], 0, profile.describe())
                for name in ("computes-6", "computes-7") if event == "wall" else ():
                    self.assertAlmostEqual(sum(s.value for s in profile.of_thread(name)) / 1e9, length, delta=0.1 * length, msg=profile.describe())
                for name in ("blocks-0", "blocks-1"):
                    self.assertAlmostEqual(sum(s.value for s in profile.of_thread(name)) / 1e9, length, delta=0.01 * length, msg=profile.describe())
                for name in (f"naps-{i}" for i in range(2, 6)): # they run hardly ever
                    off = sum(s.value for s in profile.of_thread(name) if s.state != "running") / 1e9
                    self.assertAlmostEqual(off, length, delta=0.3 * length, msg=profile.describe())


if __name__ == "__main__":
    unittest.main(verbosity=2)
