# SPDX-License-Identifier: Apache-2.0
"""docs/container as `kubectl apply -k` applies it: built by kustomize's own code, and read strictly into Kubernetes' own types."""
import os
import shutil
import tempfile
import unittest

import common
import readers

FOLDER = os.path.join(readers.HERE, "../../docs/container")


class Kubernetes(unittest.TestCase):
    def copy(self, name: str, old: str, new: str) -> str:
        """Returns a copy of the folder, with a change in one file."""
        folder = tempfile.mkdtemp(prefix="flamed-test.")
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        with open(os.path.join(folder, name), "r+", encoding="utf-8") as file:
            text = file.read()
            self.assertIn(old, text)
            file.seek(0)
            file.write(text.replace(old, new))
            file.truncate()
        return folder

    def test_the_objects_fit_together(self):
        objects = {one["kind"]: one for one in readers.kustomized(FOLDER)}
        self.assertEqual(set(objects), {"ConfigMap", "DaemonSet", "Namespace", "Secret"})
        namespace = objects.pop("Namespace")["metadata"]
        self.assertEqual({one["metadata"]["namespace"] for one in objects.values()}, {namespace["name"]})
        # The least that lets in a pod of the node's namespaces, with SYS_ADMIN.
        self.assertEqual(namespace["labels"]["pod-security.kubernetes.io/enforce"], "privileged")
        spec = objects["DaemonSet"]["spec"]
        template, pod = spec["template"], spec["template"]["spec"]
        self.assertEqual(spec["selector"]["matchLabels"].items() - template["metadata"]["labels"].items(), set())
        container, = pod["containers"]
        volumes = {one["name"]: one for one in pod["volumes"]}
        mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        self.assertEqual(set(volumes), {"store", "run", "cgroup", "config", "push"})
        self.assertEqual((len(volumes), set(mounts)), (len(pod["volumes"]), set(volumes)))
        self.assertEqual(len(set(mounts.values())), len(mounts))
        self.assertEqual(volumes["config"]["configMap"]["name"], objects["ConfigMap"]["metadata"]["name"])
        self.assertEqual(volumes["push"]["secret"], {"secretName": objects["Secret"]["metadata"]["name"], "defaultMode": 0o400})
        # The patch adds to the DaemonSet, and takes nothing from it.
        self.assertEqual((pod["hostPID"], pod["hostNetwork"], pod["dnsPolicy"]), (True, True, "ClusterFirstWithHostNet"))
        self.assertIn("SYS_PTRACE", container["securityContext"]["capabilities"]["add"])
        self.assertEqual(sum(argument.startswith("--listen=") for argument in container["args"]), 2)
        path = next(argument.partition("=")[2] for argument in container["args"] if argument.startswith("--config="))
        folder, _, name = path.rpartition("/")
        self.assertEqual(folder, mounts["config"])
        config = objects["ConfigMap"]["data"][name]
        for key in objects["Secret"]["stringData"]:
            self.assertIn(f"credentials_file: {mounts['push']}/{key}\n", config)

    def test_a_wrong_key_is_found(self):
        for name, old, new in (("push-patch.yaml", "dnsPolicy:", "dnsPolicies:"), ("daemonset.yaml", "readinessProbe: {httpGet:", "readinessProbe: {httpget:"),
                               ("kustomization.yaml", "push.yaml", "pull.yaml"), ("namespace.yaml", "labels:", "label:")):
            with self.assertRaises(AssertionError, msg=name):
                readers.kustomized(self.copy(name, old, new))


if __name__ == "__main__":
    common.main()
