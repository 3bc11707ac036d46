# SPDX-License-Identifier: Apache-2.0
"""In the guest, with control groups of the version in the argument: flamed reports a container's name and CPU limit. It does not attach to
a JVM that has reached a limit of its container."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jvm"))

from harness import attach, bundle, jvm, paths, proc # pylint: disable=wrong-import-position
from harness.daemon import Daemon # pylint: disable=wrong-import-position

# Version -> the types of file system mounted for it.
MOUNTED = {"v1": {"cgroup"}, "hybrid": {"cgroup", "cgroup2"}, "v2": {"cgroup2"}}
CPUS = 1.5


class Cgroups(unittest.TestCase):
    version = ""

    @classmethod
    def setUpClass(cls):
        spin = jvm.make_spin()
        cls.ident = os.urandom(32).hex()
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        os.nice(10)
        cls.container = bundle.Container(paths.jdk(17), spin.folder, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-cp",
                                         "/classes", spin.main, cgroups_path=f"/docker/{cls.ident}", cpus=CPUS)
        cls.addClassCleanup(cls.container.stop)

    def test_the_node_is_of_that_version(self):
        types = {line.split(" - ")[1].split()[0] for line in proc.read("/proc/self/mountinfo").splitlines()}
        self.assertEqual(types & {"cgroup", "cgroup2"}, MOUNTED[self.version])

    def test_its_name_and_its_cpu_limit(self):
        told = self.daemon.get(f"/api/v1/jvms/{self.container.pid}").json()
        self.assertEqual((told["container"]["id"], told["container"]["runtime"]), (self.ident, "docker"))
        self.assertEqual(told["cpu_limit"], CPUS)

    def check_limit(self, controller: str, limits: tuple[str, ...], value: str, reason: str) -> None:
        """With one of LIMITS at VALUE, flamed does not attach, with that REASON."""
        path = bundle.cgroup_file(self.container.pid, controller, *limits)
        before = proc.read(path)
        with open(path, "w", encoding="ascii") as f:
            f.write(value)
        found = attach.attach(self.container.pid, "check")
        self.assertIn(reason, found["error"], found.text)
        with open(path, "w", encoding="ascii") as f:
            f.write(before)
        self.assertNotIn(reason, attach.attach(self.container.pid, "check").text)

    def test_no_room_for_a_thread(self):
        now = proc.read(bundle.cgroup_file(self.container.pid, "pids", "pids.current"))
        self.check_limit("pids", ("pids.max",), now, "limit of processes")

    def test_no_room_for_memory(self):
        """Files that the container read first are charged to it, and count as free: the kernel can drop them."""
        stat = dict(line.split() for line in proc.read(bundle.cgroup_file(self.container.pid, "memory", "memory.stat")).splitlines())
        kept = ("slab_reclaimable", "active_file", "inactive_file")
        files = sum(int(stat.get("total_" + key, stat.get(key, 0))) for key in kept)
        now = bundle.memory_used(self.container.pid) - files + (2 << 20)
        self.check_limit("memory", ("memory.max", "memory.limit_in_bytes"), str(now), "limit of memory")


if __name__ == "__main__":
    Cgroups.version = sys.argv.pop(1)
    unittest.main(verbosity=2)
