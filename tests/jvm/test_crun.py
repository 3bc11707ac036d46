# SPDX-License-Identifier: Apache-2.0
"""What tests show in containers by runc, in those by crun."""
import os
import unittest
from unittest import mock

import test_access_pretenders
import test_alloc_agent
import test_attach
import test_containers
import test_forged
from harness import bundle, paths, proc


def setUpModule():
    paths.need_root()
    paths.need("crun")
    patch = mock.patch.object(bundle.Container, "runtime", bundle.CRUN)
    patch.start()
    unittest.addModuleCleanup(patch.stop)


class Profiled(test_containers.Kinds):
    def test_a_read_only_root_and_noexec_tmp(self):
        self.each()

    def test_its_id_selects_it(self):
        ident = os.urandom(32).hex()
        with bundle.Container(paths.jdk(17), self.spin.folder, *self.arguments(), cgroups_path=f"/docker/{ident}", cpus=1.5) as c:
            shown = self.daemon.get(f"/api/v1/jvms/{c.pid}").json()
            self.assertEqual(shown["container"]["id"], ident, shown)
            self.assertEqual(shown["cpu_limit"], 1.5, shown)
            test_containers.check_names(self, test_containers.capture(self.daemon, c.pid, container=ident[:12]), self.spin, c.pid)


class Attached(test_attach.Kinds):
    def test_read_only_root_and_noexec_tmp(self):
        self.each(user_namespace=False)

    def test_root_with_dockers_capabilities(self):
        self.each(user_namespace=False, uid=0, docker=True, capabilities=bundle.DOCKER_CAPABILITIES)

    def test_a_user_namespace(self):
        self.each(uid=1000)


class Allocated(test_alloc_agent.Base):
    def test_by_the_agent(self):
        pipe = os.path.join(self.classes.folder, "ask")
        os.mkfifo(pipe)
        os.chmod(pipe, 0o666)
        with bundle.Container(paths.jdk(17), self.classes.folder, "-Xmx256m", "-cp", "/classes", "AllocLoop", "/classes/ask") as c, \
                open(pipe, "w", encoding="ascii") as ask:
            ask.write("1000000000\n")
            ask.flush()
            capture = self.begin(c.pid, interval="64k")
            proc.wait_until(lambda: self.daemon.get(capture.path).json()["samples"] >= test_alloc_agent.SAMPLES, 120, "samples")
            self.compare("crun", capture.stop(), symbols=False)


class Forged(test_forged.Forging):
    def test_a_container_that_nests_many_cgroups(self):
        self.check_nested()


class Pretenders(test_access_pretenders.Pretenders):
    pass


if __name__ == "__main__":
    unittest.main()
