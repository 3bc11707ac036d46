# SPDX-License-Identifier: Apache-2.0
"""Root of a container with the host's network tries all means that its capabilities allow. It always counts as unknown.
FLAMED_PRETENDER_TRIES: tries of each means."""
import contextlib
import os
import secrets
import shutil
import subprocess
import unittest

from harness import bundle, jvm, native, paths, proc
from harness.daemon import Daemon

TRIES = int(os.environ.get("FLAMED_PRETENDER_TRIES", "10"))
AT_ONCE = 50 # connections of a container that ends
FOLDERS = 16 # levels of a cgroup's path,
NAME = "n" * 250 # each with this name


def hierarchies() -> list[str]:
    """Returns the folders of those hierarchies of version 1 that do not limit a cgroup by default."""
    found = [line.split()[4] for line in proc.read("/proc/self/mountinfo").splitlines() if " - cgroup " in line and "cpuset" not in line]
    return list({os.stat(folder).st_dev: folder for folder in found}.values())


def move(pid: int, cgroup: str) -> None:
    with open(cgroup + "/cgroup.procs", "w", encoding="ascii") as f:
        f.write(str(pid))


class Pretenders(unittest.TestCase):
    """A container made by hand: root, docker's capabilities and filter, no user namespace, the host's network, and a cgroup with a
    meaningless name."""
    @classmethod
    def setUpClass(cls):
        bundle.need_runc()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        process = subprocess.Popen(["sleep", "1000"])
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)
        cls.root_s = process.pid

    def setUp(self):
        self.classes = jvm.Classes()
        shutil.copy(native.build("pretender"), self.classes.folder)

    def container(self, *arguments: str, cgroups_path: str = "") -> bundle.Container:
        return bundle.Container(paths.jdk(17), self.classes.folder, *arguments, executable="/classes/pretender", uid=0,
                                user_namespace=False, network_namespace=False, docker=True, capabilities=bundle.DOCKER_CAPABILITIES,
                                cgroups_path=cgroups_path or "/test-" + secrets.token_hex(4))

    def check_statuses(self, container: bundle.Container) -> None:
        proc.wait_until(lambda: "done\n" in container.output(), 60 + TRIES, f"it has asked: {container.output()}")
        statuses = [line for line in container.output().splitlines() if line.startswith("status")]
        self.assertEqual(statuses, [f"status 403: {TRIES}"])

    def test_many_groups(self):
        with self.container("groups", str(self.daemon.port), str(TRIES)) as container:
            self.assertGreater(len(proc.read(f"/proc/{container.pid}/status")), 1 << 19)
            self.check_statuses(container)

    def test_long_cgroups(self):
        with self.container("waits", str(self.daemon.port), str(TRIES)) as container:
            self.nest(container.pid)
            if len(proc.read(f"/proc/{container.pid}/cgroup")) < 1 << 14:
                self.skipTest("not enough hierarchies of version 1")
            with open(self.classes.folder + "/go", "wb"):
                pass
            self.check_statuses(container)

    def nest(self, pid: int) -> None:
        """Puts the container into a cgroup with a long path in each hierarchy."""
        for top in hierarchies():
            made, at = [], os.open(top, os.O_RDONLY | os.O_DIRECTORY)
            self.addCleanup(os.close, at)
            for _ in range(FOLDERS - 1):
                os.mkdir(NAME, dir_fd=at)
                made.append(at)
                at = os.open(NAME, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
                self.addCleanup(os.close, at)
            for folder in made:
                self.addCleanup(lambda folder=folder: os.rmdir(NAME, dir_fd=folder))
            move(pid, f"/proc/self/fd/{at}")

    @contextlib.contextmanager
    def beside_a_program_of_the_host(self):
        """Runs a program of the host in a new cgroup of version 2. Containers that start meanwhile are in that cgroup, too, like the child of
        a service in a pid namespace. So other containers of this machine do not matter. (Where runc makes such cgroups, they are not.)"""
        tops = [line.split()[4] for line in proc.read("/proc/self/mountinfo").splitlines() if " - cgroup2 " in line]
        if not tops:
            yield
            return
        ours = next(line[3:] for line in proc.read("/proc/self/cgroup").splitlines() if line.startswith("0::"))
        folder = f"{tops[0]}/test-{secrets.token_hex(4)}"
        os.mkdir(folder)
        try:
            move(os.getpid(), folder)
            process = subprocess.Popen(["sleep", "1000"])
            try:
                yield
            finally:
                move(os.getpid(), tops[0] + ours)
                process.kill()
                process.wait()
        finally:
            os.rmdir(folder)

    def check_dying(self, mode: str, cgroup: str) -> None:
        """Requests to delete a capture of root's, by containers that have ended by the time that flamed reads the request."""
        answer = self.daemon.request("POST", "/api/v1/captures", body=f'{{"pid": {self.root_s}}}'.encode(), unix=True,
                                     headers={"Content-Type": "application/json"})
        self.assertEqual(answer.status, 201, answer)
        where = "/api/v1/captures/" + answer.json()["id"]
        self.addCleanup(self.daemon.request, "DELETE", where, unix=True)
        first = self.requests()
        for count in range(AT_ONCE, TRIES + AT_ONCE, AT_ONCE):
            before = self.requests()
            with self.beside_a_program_of_the_host():
                with self.container(mode, str(self.daemon.port), str(AT_ONCE), "DELETE " + where,
                                    cgroups_path=cgroup and "/docker/" + secrets.token_hex(32)) as container:
                    proc.wait_until(lambda: not proc.alive(container.pid), 20, "it has ended")
                proc.wait_until(lambda: self.requests() > before + AT_ONCE / 2 or self.connections() <= 1, 20,
                                "flamed has read what it asked for, or has seen that the connections are gone")
            self.assertEqual(self.daemon.get(where, unix=True).status, 200, "root's capture is there still")
        asked = self.requests() - first
        print(f"{mode}: {asked:.0f} requests read of {count} connections")
        self.assertGreater(asked, count / 4)
        lines = self.daemon.get("/api/v1/audit", limit=1000, unix=True).json()["audit"]
        acts = [line for line in lines if line["via"] == "TCP" and line["action"] != "refusal"]
        self.assertEqual(acts, [])
        self.assertEqual({line["subject"] for line in lines if line["via"] == "TCP"} - {"nobody"}, set())

    def requests(self) -> float:
        """Returns the answered requests for one capture, and those whose client flamed has seen leave."""
        counted = ('flamed_http_requests_total{route="/api/v1/captures/{id}"', "flamed_http_clients_left_total ")
        lines = self.daemon.get("/metrics", unix=True).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(counted))

    def connections(self) -> float:
        """Returns the open connections, including the one that asks."""
        text = self.daemon.get("/metrics", unix=True).text
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith("flamed_http_connections "))

    def test_paced(self):
        self.check_dying("paced", "")

    def test_paced_with_docker_s_name(self):
        self.check_dying("paced", "docker")

    def test_ends_at_once(self):
        self.check_dying("ends", "")


if __name__ == "__main__":
    unittest.main()
