# SPDX-License-Identifier: Apache-2.0
"""The owner of a JVM: processes of a user who may make cgroups with any name count as no container and no pod."""
import contextlib
import glob
import hashlib
import json
import os
import subprocess
import tempfile
import unittest
import uuid

from harness import bundle, jvm, paths, proc
from harness.daemon import Daemon

USER = 1001
LEVELS = 80 # of nested cgroups
NAMESPACE, POD = "prod", "payments-7d9"
TOKEN = "a token of thirty-two bytes or so" # the configuration has its hash


def hierarchies() -> list[str]:
    """Returns folders of cgroup file systems in which folders of any name can be made, one of each kind."""
    found = [path for path in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids")
             if os.path.exists(path + "/cgroup.procs")]
    return found or ["/sys/fs/cgroup"]


def runtime_config(ident: str, namespace: str = NAMESPACE, pod: str = POD):
    """Makes containerd's file about the container IDENT of the pod."""
    return bundle.runtime_config(ident, {"sandbox-name": pod, "sandbox-namespace": namespace, "container-name": "app"})


def remove(*paths_: str) -> None:
    """Removes the existing ones of these cgroups."""
    for path in reversed(paths_):
        with contextlib.suppress(OSError):
            proc.wait_until(lambda path=path: not proc.read(path + "/cgroup.procs"), 10, "an empty cgroup")
            os.rmdir(path)


def remove_nested(path: str) -> None:
    """Removes the cgroup PATH of each hierarchy, with all below it."""
    for top in glob.glob("/sys/fs/cgroup/*/" + path) + glob.glob("/sys/fs/cgroup/" + path):
        remove(*(folder for folder, _, _ in os.walk(top)))


@contextlib.contextmanager
def folders(*paths_: str):
    """Makes missing folders, and removes them at the end."""
    made = [p for p in paths_ if not os.path.exists(p)]
    for path in made:
        os.mkdir(path)
    try:
        yield
    finally:
        remove(*made)


def below(top: str, *names: str) -> list[str]:
    return [os.path.join(top, *names[:n + 1]) for n in range(len(names))]


def in_pod(stack: contextlib.ExitStack, namespace: str, pod: str) -> list[str]:
    """Returns a wrapper that starts a program as Kubernetes would, in a pod. STACK removes the pod at its end."""
    ident, uid = os.urandom(32).hex(), str(uuid.uuid4())
    stack.enter_context(runtime_config(ident, namespace, pod))
    folder = below(hierarchies()[0], "kubepods.slice", "kubepods-burstable.slice",
                   f"kubepods-burstable-pod{uid.replace('-', '_')}.slice", f"cri-containerd-{ident}.scope")
    stack.enter_context(folders(*folder))
    return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder[-1]]


class Forging(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        paths.need("setpriv")
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.ident, self.pod_uid = os.urandom(32).hex(), str(uuid.uuid4())
        self.stack.enter_context(runtime_config(self.ident))
        self.spin = jvm.make_spin()

    def pod_names(self) -> tuple[str, ...]:
        slice_ = "kubepods-burstable-pod" + self.pod_uid.replace("-", "_") + ".slice"
        return "kubepods.slice", "kubepods-burstable.slice", slice_, f"cri-containerd-{self.ident}.scope"

    def start_in(self, folder: str) -> int:
        user = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder,
                "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        return self.stack.enter_context(jvm.Jvm(paths.jdk(17), "-Drest=15", "-Xmx32m", "-cp", self.spin.folder, self.spin.main, wrap=user)).pid

    def forged(self, top: str) -> int:
        """Starts alice's JVM, in cgroups that she made below her own manager's."""
        mine = below(top, "user.slice", f"user-{USER}.slice", f"user@{USER}.service")
        self.stack.enter_context(folders(*mine))
        os.chown(mine[-1], USER, USER)
        names = below(mine[-1], "x", *self.pod_names())
        subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "mkdir", "-p", names[-1]], check=True)
        self.stack.callback(lambda: [os.rmdir(p) for p in reversed(names)])
        return self.start_in(names[-1])

    def inside(self, top: str, outer: str) -> int:
        """Starts a JVM of root's in the container OUTER, which has its own cgroup namespace and may write its cgroup file system. There it
        has made a cgroup with the id of a pod's container."""
        version = top.rsplit("/", 1)[1]
        mount = {"pids": "-t cgroup -o pids", "systemd": "-t cgroup -o none,name=systemd"}.get(version, "-t cgroup2")
        mine = below(top, "docker", outer)
        self.stack.enter_context(folders(*mine))
        names = below(mine[-1], *self.pod_names())
        self.stack.callback(remove, *names)
        script = f"""
            echo $$ >"$0/cgroup.procs" && exec unshare -C -m -p -f --kill-child --mount-proc sh -ec '
                mount -t tmpfs tmpfs /mnt && mkdir /mnt/cg && mount {mount} none /mnt/cg
                mkdir -p "/mnt/cg/$0" && echo $$ >"/mnt/cg/$0/cgroup.procs"
                exec "$@"' "$@"
        """
        return self.stack.enter_context(jvm.Jvm(paths.jdk(17), "-Drest=15", "-Xmx32m", "-cp", self.spin.folder, self.spin.main,
                                                wrap=["sh", "-ec", script, mine[-1], "/".join(self.pod_names())])).pid

    def check_nested(self) -> None:
        """Checks it for a cgroup that is more levels deep than any runtime makes."""
        outer, classes = os.urandom(32).hex(), jvm.Classes()
        classes.compile("Nests.java")
        self.stack.enter_context(runtime_config(outer, "attackers", "attacker-1"))
        real = below(hierarchies()[0], *self.pod_names())
        self.stack.enter_context(folders(*real))
        honest = self.start_in(real[-1])
        deep = "/".join([*("n" * LEVELS), *self.pod_names()])
        self.stack.callback(remove_nested, "docker/" + outer)
        other = self.stack.enter_context(bundle.Container(
            paths.jdk(17), classes.folder, "-Xmx32m", "-cp", "/classes", "Nests", deep, uid=0, user_namespace=False, read_only=False,
            cgroups_path=f"/docker/{outer}", cgroups=True, capabilities=bundle.DOCKER_CAPABILITIES)).pid
        self.assertIn(f"/docker/{outer}/{deep}\n", proc.read(f"/proc/{other}/cgroup"))
        daemon = self.stack.enter_context(Daemon("--config", self.configuration(), "--recorder-hz=0"))
        self.check_inside(daemon, honest, other)

    def check_inside(self, daemon: Daemon, honest: int, other: int) -> None:
        """Checks that the pod has HONEST only, and not OTHER, which a container moved into a cgroup with the pod's id."""
        jvms = {j["pid"]: j for j in daemon.get("/api/v1/jvms").json()["jvms"]}
        self.assertEqual(jvms[honest]["pod"]["name"], POD, jvms[honest])
        text = json.dumps({k: v for k, v in jvms[other].items() if k != "cgroup"})
        self.assertNotIn(POD, text)
        self.assertNotIn(f'"{NAMESPACE}"', text)
        for wanted in ({"pod": POD}, {"namespace": NAMESPACE}, {"container": "app"}):
            self.assertEqual(self.listed(daemon, honest, other, **wanted), [honest], wanted)
        seen = {"headers": {"Authorization": "Bearer " + TOKEN}}
        self.assertEqual(self.listed(daemon, honest, other, **seen), [honest], "who may see the pod")
        self.assertEqual(daemon.get("/profile", pid=other, seconds=0.1, **seen).status, 404)

    def configuration(self) -> str:
        """Writes rules by which a client with TOKEN sees the pod's namespace."""
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-forged."))
        with open(folder + "/flamed.yaml", "w", encoding="ascii") as f:
            f.write(f"access:\n  - name: team\n    token_sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}\n    role: profile\n"
                    f"    match: ['namespace=\"{NAMESPACE}\"']\n")
        return f.name

    def listed(self, daemon: Daemon, *pids: int, **asked) -> list[int]:
        """Returns which of PIDS are in the list for the request ASKED."""
        return [j["pid"] for j in daemon.get("/api/v1/jvms", **asked).json()["jvms"] if j["pid"] in pids]

    def check(self, daemon: Daemon, honest: int, alice: int) -> None:
        jvms = {j["pid"]: j for j in daemon.get("/api/v1/jvms").json()["jvms"]}
        pod = jvms[honest]["pod"]
        self.assertEqual((pod["name"], pod["namespace"], pod["uid"]), (POD, NAMESPACE, self.pod_uid), jvms[honest])
        self.assertIn(alice, jvms)
        for value in (POD, NAMESPACE, self.ident, self.pod_uid):
            text = json.dumps({k: v for k, v in jvms[alice].items() if k != "cgroup"})
            self.assertNotIn(value, text)
        for wanted in ({"pod": POD}, {"pod": self.pod_uid}, {"namespace": NAMESPACE}, {"container": self.ident}, {"container": "app"}):
            with self.subTest(**wanted):
                listed = [j["pid"] for j in daemon.get("/api/v1/jvms", **wanted).json()["jvms"]]
                self.assertEqual([pid for pid in listed if pid in (honest, alice)], [honest])
                self.assertNotIn(alice, self.sampled(daemon, {honest}, **wanted))
        self.assertIn(alice, self.sampled(daemon, {honest, alice}, pid=f"{honest},{alice}"), "or nothing would have been seen of it")

    def sampled(self, daemon: Daemon, wanted: set[int], **target) -> set[int]:
        """Returns the processes in a profile that is long enough for WANTED to get a processor on a busy machine."""
        for seconds in (0.3, 2, 8):
            found = daemon.profile(seconds=seconds, hz=199, **target).pids
            if wanted <= found:
                break
        self.assertLessEqual(wanted, found)
        return found


class Forged(Forging):
    def test_a_pod(self):
        for top in hierarchies():
            with self.subTest(hierarchy=top), contextlib.ExitStack() as stack:
                self.stack = stack
                real = below(top, *self.pod_names())
                stack.enter_context(folders(*real))
                honest = self.start_in(real[-1])
                alice = self.forged(top)
                daemon = stack.enter_context(Daemon("--recorder-hz=0"))
                self.check(daemon, honest, alice)

    def test_a_container_that_writes_cgroups(self):
        """The JVM gets at most another id: neither a name of the pod nor its rights. A viewer of the pod does not see it. A hanging file
        system of the JVM does not delay the pod's."""
        outer = os.urandom(32).hex()
        self.stack.enter_context(runtime_config(outer, "attackers", "attacker-1"))
        for top in hierarchies():
            with self.subTest(hierarchy=top), contextlib.ExitStack() as stack:
                self.stack = stack
                real = below(top, *self.pod_names())
                stack.enter_context(folders(*real))
                honest = self.start_in(real[-1])
                other = proc.find_jvm(self.inside(top, outer))
                self.assertIn(f"{outer}/{'/'.join(self.pod_names())}\n", proc.read(f"/proc/{other}/cgroup"))
                daemon = stack.enter_context(Daemon("--config", self.configuration(), "--recorder-hz=0"))
                self.check_inside(daemon, honest, other)

    def test_a_container_that_nests_many_cgroups(self):
        self.check_nested()


if __name__ == "__main__":
    unittest.main()
