# SPDX-License-Identifier: Apache-2.0
"""flamed runs in a container of its own, with the rights of docs/container/daemonset.yaml and no others. It profiles a JVM in another
container, named from memory, and loads the agent into that JVM and into one of the host. With a ConfigMap and a Secret it serves TLS."""
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from harness import bundle, certs, jvm, paths, proc, receiver
from harness.daemon import Daemon, free_port

DAEMONSET = os.path.join(paths.TREE, "docs/container/daemonset.yaml")
RUN_BUNDLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness/run_bundle.py")


def read_daemonset() -> dict:
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("no python3-yaml on this machine") from None
    with open(DAEMONSET, encoding="utf-8") as f:
        return yaml.safe_load(f)["spec"]["template"]["spec"]


def read_manifests(name: str) -> list[dict]:
    import yaml
    with open(os.path.join(os.path.dirname(DAEMONSET), name), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def bind(source: str, destination: str, *options: str) -> dict:
    return {"destination": destination, "type": "bind", "source": source, "options": ["rbind", "nosuid", "nodev", *options]}


def write_bundle(folder: str, pod: dict) -> None:
    """Writes the pod's only container for runc. In place of an image, its root has the host's programs, read-only."""
    container = pod["containers"][0]
    security = container["securityContext"]
    rootfs = os.path.join(folder, "rootfs")
    shared = ["/usr", "/etc", paths.BUILD]
    volumes = {v["name"]: os.path.join(folder, v["name"]) for v in pod["volumes"] if not v["hostPath"]["path"].startswith("/sys/")}
    mounts = [m for m in container["volumeMounts"] if m["name"] in volumes] # parts of /sys are bound with it
    mounted = [m["mountPath"] for m in mounts]
    for name in (*shared, "/proc", "/sys", "/dev", "/tmp", *mounted):
        os.makedirs(rootfs + name, exist_ok=True)
    for source in volumes.values():
        os.mkdir(source, 0o755)
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink("usr/" + name, os.path.join(rootfs, name))
    namespaces = ["mount", "ipc", "uts", "cgroup", *(["pid"] if not pod["hostPID"] else []),
                  *(["network"] if not pod["hostNetwork"] else [])]
    capabilities = ["CAP_" + name for name in security["capabilities"]["add"]]
    config = {
        "ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": security["readOnlyRootFilesystem"]},
        "process": {
            "terminal": False, "user": {"uid": security["runAsUser"], "gid": 0}, "cwd": "/", "env": ["PATH=/usr/bin:/usr/sbin"],
            "noNewPrivileges": not security["allowPrivilegeEscalation"],
            "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")},
            "args": [],
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
            bind("/sys", "/sys", "ro", "noexec"),
            bind("/tmp", "/tmp", "rw"), # for the socket and the store of the harness
            *(bind(name, name, "ro") for name in shared),
            *(bind(volumes[m["name"]], m["mountPath"], "ro" if m.get("readOnly") else "rw") for m in mounts),
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in namespaces],
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)


class DaemonSet(unittest.TestCase):
    def test_it_profiles_another_container(self):
        bundle.need_runc()
        pod, home, spin = read_daemonset(), paths.jdk(17), jvm.make_spin()
        arguments = ["-Drest=15", *jvm.spin_options(spin), "-Xmx64m", "-cp", "/classes", spin.main]
        folder = tempfile.mkdtemp(prefix="flamed-daemonset.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        write_bundle(folder, pod)
        on_host = jvm.Jvm(home, "-Drest=45", *jvm.spin_options(spin), "-Xmx64m", "-cp", spin.folder, spin.main)
        with bundle.Container(home, spin.folder, *arguments) as target, on_host, \
                Daemon(wrap=[sys.executable, RUN_BUNDLE, folder]) as daemon:
            self.assertEqual(daemon.problems(), [])
            profile = daemon.profile(pid=target.pid, seconds=3, hz=199)
            stacks = profile.of_thread("spinner")
            self.assertGreater(len(stacks), 0, profile.describe())
            named = profile.share(stacks, lambda s: spin.method in s.names and "java.lang.Thread.run" in s.names)
            self.assertGreaterEqual(named, 0.95, profile.describe(stacks))
            for pid in (target.pid, on_host.pid):
                told = daemon.get(f"/api/v1/jvms/{pid}/perf-map", symbols="agent")
                self.assertEqual(told.status, 200, told)
                self.assertIn(spin.method, told.text)

    def test_it_pushes(self):
        """With docs/container/push.yaml and its patch, except for the engine's address and the interval. Uses the token of the Secret."""
        bundle.need_runc()
        folder, engine = tempfile.mkdtemp(prefix="flamed-daemonset."), receiver.Receiver()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(engine.stop)
        pod, (config, secret), (patch,) = read_daemonset(), read_manifests("push.yaml"), read_manifests("push-patch.yaml")
        patch = patch["spec"]["template"]["spec"]
        self.assertEqual([v["name"] for v in patch["volumes"]], ["config", "push"])
        pod["volumes"] += [{"name": v["name"], "hostPath": {"path": "/" + v["name"]}} for v in patch["volumes"]]
        pod["containers"][0]["volumeMounts"] += patch["containers"][0]["volumeMounts"]
        write_bundle(folder, pod)
        text = re.sub(r"url: .*", "url: " + engine.url, config["data"]["flamed.yaml"]).replace("every: 1m", "every: 5s")
        publish(folder + "/config", "1", {"flamed.yaml": text})
        publish(folder + "/push", "1", secret["stringData"])
        options = [o for o in patch["containers"][0]["args"] if not o.startswith("--listen")]
        spin = jvm.make_spin()
        with jvm.Jvm(paths.jdk(17), "-Drest=45", "-Xmx64m", "-cp", spin.folder, spin.main), \
                Daemon(*options, wrap=[sys.executable, RUN_BUNDLE, folder]):
            taken = lambda: [r for r in engine.taken("/v1development/profiles") if spin.method.encode() in r.body]
            self.assertEqual(proc.wait_until(taken, 60, "the JVM arrives")[0].headers["Authorization"], "Bearer change-me")

    def test_tls_of_a_secret(self):
        """As docs/access.md describes: the key is read in the container, and a new Secret is used without a restart."""
        bundle.need_runc()
        paths.need("openssl")
        pod, folder, port = read_daemonset(), tempfile.mkdtemp(prefix="flamed-daemonset."), free_port()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name in ("config", "tls"):
            pod["volumes"].append({"name": name, "hostPath": {"path": "/" + name}})
            pod["containers"][0]["volumeMounts"].append({"name": name, "mountPath": "/flamed-" + name, "readOnly": True})
        write_bundle(folder, pod)
        made = os.path.join(folder, "made")
        os.mkdir(made)
        ca = certs.Authority(made, "ca")
        first, second = (ca.sign(name, "/CN=flamed", "DNS:localhost,IP:127.0.0.1") for name in ("first", "second"))
        said = subprocess.run([paths.program("flamed"), "--new-token", "scraper"], capture_output=True, text=True, check=True).stdout
        publish(folder + "/config", "1", {"flamed.yaml": "tls_server_config:\n  cert_file: /flamed-tls/tls.crt\n  key_file: /flamed-tls/tls.key\n"
                                          + said[said.index("access:"):]})
        publish(folder + "/tls", "1", pair_of(first))
        with Daemon("--config=/flamed-config/flamed.yaml", f"--listen=https://127.0.0.1:{port}",
                    wrap=[sys.executable, RUN_BUNDLE, folder]) as daemon:
            self.assertEqual(served(port), digest(first))
            context = ssl.create_default_context(cafile=ca.cert)
            for token, status in ((re.search(r"^flamed_\w+$", said, re.M)[0], 200), ("flamed_no", 401)):
                request = urllib.request.Request(f"https://localhost:{port}/metrics", headers={"Authorization": "Bearer " + token})
                try:
                    got = urllib.request.urlopen(request, timeout=20, context=context).status
                except urllib.error.HTTPError as e:
                    got = e.code
                self.assertEqual(got, status, daemon.log())
            publish(folder + "/tls", "2", pair_of(second))
            proc.wait_until(lambda: served(port) == digest(second), 30, "the new certificate is served", 0.2)
            self.assertNotIn("cannot be used", daemon.log())


def publish(folder: str, version: str, files: dict[str, str]) -> None:
    """Writes FILES like kubelet: the names are links into a folder that is replaced for all of them at once."""
    os.mkdir(f"{folder}/..{version}")
    for name, text in files.items():
        with open(f"{folder}/..{version}/{name}", "w", encoding="ascii") as f:
            f.write(text)
        if not os.path.lexists(f"{folder}/{name}"):
            os.symlink("..data/" + name, f"{folder}/{name}")
    os.symlink(".." + version, folder + "/..data_tmp")
    os.rename(folder + "/..data_tmp", folder + "/..data")


def pair_of(pair: tuple[str, str]) -> dict[str, str]:
    return {"tls.crt": proc.read(pair[0]), "tls.key": proc.read(pair[1])}


def digest(pair: tuple[str, str]) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(proc.read(pair[0]))).hexdigest()


def served(port: int) -> str:
    """Returns the served certificate."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port), timeout=20))).hexdigest()


if __name__ == "__main__":
    unittest.main()
