# SPDX-License-Identifier: Apache-2.0
"""Containers that crun made for a user without root: profiled, named and attached to like others, without anything to gain from it."""
import os
import subprocess
import unittest

import test_attach
import test_attack_traces
from harness import attach, bundle, jvm, native, paths, proc, rootless
from harness.daemon import Daemon

OWNER = 64113 # a user that no machine has


class Profiled(unittest.TestCase):
    def test_names_and_attach(self):
        """From memory and by the agent. Its root is its owner on the host, or an unmapped user."""
        spin = jvm.make_spin()
        with Daemon() as daemon:
            for uid, nested in ((0, False), (103, False), (0, True)):
                with self.subTest(uid=uid, nested=nested), \
                        rootless.Crun(OWNER, paths.jdk(17), spin.folder, *jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main,
                                      uid=uid, nested=nested) as c:
                    self.assertEqual(os.stat(f"/proc/{c.pid}").st_uid, c.host_uid)
                    profile = daemon.profile(pid=c.pid, seconds=2, symbols="memory")
                    stacks = profile.of_thread("spinner")
                    self.assertGreaterEqual(profile.share(stacks, lambda s: spin.method in s.names), 0.95, profile.describe(stacks))
                    test_attach.check_named(self, attach.attach(c.pid), spin)
                    self.assertTrue(proc.alive(c.pid))
                    proc.wait_until(lambda: attach.helpers() == [], 2, "the helper is gone")


class Escapes(test_attack_traces.Tracing):
    """What its root, and its owner on the host, can gain from processes that attach."""

    def make(self, *arguments: str, **options) -> rootless.Crun:
        return rootless.Crun(OWNER, paths.jdk(17), self.classes.folder, *arguments, executable="/classes/tracer", **options)

    def test_its_root(self):
        for nested in (False, True):
            for capabilities in (bundle.DOCKER_CAPABILITIES, bundle.ALL_CAPABILITIES):
                with self.subTest(nested=nested, capabilities=len(capabilities)):
                    found, _ = self.caught(nested=nested, capabilities=capabilities)
                    self.check(found)

    def test_its_owner(self):
        """A process of the owner's on the host, who has all rights over the user namespace: it can only take the last one of an attach."""
        c = rootless.Crun(OWNER, paths.jdk(17), self.classes.folder, "/classes/libjvm.so", "pause", executable="/classes/fakejvm")
        self.addCleanup(c.stop)
        nothing = ("/bin/true", "", "", "0") # the JVM is in the container
        with subprocess.Popen(["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", native.build("tracer"), *nothing,
                               "all", str(os.getpid())], stdout=subprocess.PIPE, text=True) as tracer:
            try:
                self.assertIn("mknod", tracer.stdout.readline())
                for _ in range(self.FEW_TRIES):
                    attach.attach(c.pid)
                    proc.wait_until(lambda: attach.helpers() == [], 10, "the helper is gone")
            finally:
                tracer.kill()
            found = self.told(tracer.stdout.read(), self.FEW_TRIES)
        self.check(found, inside=False)
        self.assertLessEqual(len(found), self.FEW_TRIES, "one of each attach")
        own = {kind: "own" if os.path.samefile(f"/proc/{c.pid}/ns/{kind}", f"/proc/self/ns/{kind}") else "other"
               for kind in ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time")}
        for one in found: # none of the host's except those that the container has
            self.assertEqual({kind: one["ns/" + kind] for kind in own}, own)
            self.assertEqual((one["root"], one["cwd"]), ("other", "other"))
