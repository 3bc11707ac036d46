# SPDX-License-Identifier: Apache-2.0
"""Like test_limits.py, with settings of the whole machine: no other test may run at the same time."""
import contextlib

from harness.daemon import Daemon
from test_limits import Checks, without


@contextlib.contextmanager
def sysctl(name: str, value: str):
    path = "/proc/sys/" + name.replace(".", "/")
    with open(path, encoding="ascii") as f:
        before = f.read()
    with open(path, "w", encoding="ascii") as f:
        f.write(value)
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as f:
            f.write(before)


class OfTheMachine(Checks):
    def test_kptr_restrict(self):
        with sysctl("kernel.kptr_restrict", "2"):
            self.check("kptr_restrict", "CAP_SYSLOG")

    def test_perf_event_paranoid(self):
        """With the capabilities of flamed-broker it limits nothing; without them it is named."""
        with sysctl("kernel.perf_event_paranoid", "3"):
            with Daemon() as daemon:
                text, answer = self.said(daemon)
                self.assertEqual(answer.status, 200)
                self.assertGreater(answer.json()["quality"]["samples"], 20, text)
            self.check("CAP_PERFMON", "kernel.perf_event_paranoid, here 3,", wrap=without("sys_admin", "perfmon"))
