# SPDX-License-Identifier: Apache-2.0
"""vm.py itself: it returns the command's exit status and files, and nothing else. Nothing stays, however it ends."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import paths, proc # pylint: disable=wrong-import-position

VM = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "vm.py")]
WORK = os.path.join(paths.CACHE, "vm")
SLOW = 120


class Vm(unittest.TestCase):
    def test_status_and_files(self):
        with tempfile.TemporaryDirectory(prefix="flamed-vm.") as out:
            mark = "/etc/flamed-vm-" + os.path.basename(out)
            got = subprocess.run([*VM, "--out", out, "6.1", "bash", "-c", f"uname -r; touch {mark} && echo written >/out/file; exit 3"],
                                 capture_output=True, text=True)
            if got.returncode == 77:
                self.skipTest(got.stdout)
            self.assertEqual(got.returncode, 3, got)
            self.assertTrue(got.stdout.startswith("6.1."), got)
            self.assertEqual(proc.read(out + "/file"), "written\n")
            self.assertFalse(os.path.exists(mark))

    def test_limit(self):
        got = subprocess.run([*VM, "--limit", "2", "6.1", "sleep", "1000"], capture_output=True, text=True)
        if got.returncode == 77:
            self.skipTest(got.stdout)
        self.assertEqual(got.returncode, 1, got)
        self.assertIn("not done after 2", got.stderr)

    def test_hung(self):
        """A boot that hangs is ended and repeated. Each time vm.py prints what the kernel had written last."""
        got = subprocess.run([*VM, "--silence", "20", "--init", "/usr/bin/tail", "6.1", "true"], capture_output=True, text=True)
        if got.returncode == 77:
            self.skipTest(got.stdout)
        self.assertEqual(got.returncode, 1, got)
        self.assertEqual(got.stderr.count("vm: the boot hung: no word for "), 3, got)
        self.assertGreaterEqual(got.stderr.count("Run /init as init process"), 3, got)

    def test_killed(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how), tempfile.TemporaryDirectory(prefix="flamed-vm.") as tmp, \
                    subprocess.Popen([*VM, "6.1", "sleep", "1000"], stdout=subprocess.PIPE, text=True,
                                     env={**os.environ, "TMPDIR": tmp}) as vm:
                below: list[int] = []

                def booting() -> bool:
                    below[:] = proc.descendants(vm.pid)
                    return vm.poll() is not None or "qemu-system-x86_64" in map(proc.exe, below)

                proc.wait_until(booting, SLOW, "QEMU runs")
                if vm.poll() == 77:
                    self.skipTest(vm.stdout.read())
                self.assertIsNone(vm.poll())
                vm.send_signal(how)
                proc.wait_until(lambda: not any(map(proc.alive, below)), 20, "all processes have ended")
                self.assertEqual(os.listdir(tmp), [])
        self.assertEqual(os.listdir(WORK), [])


if __name__ == "__main__":
    result = unittest.main(verbosity=2, exit=False).result
    sys.exit(77 if result.wasSuccessful() and result.testsRun == len(result.skipped) else not result.wasSuccessful())
