# SPDX-License-Identifier: Apache-2.0
"""What tests of pushing share: a JVM, a flamed with targets, and engines that receive."""
import os
import shutil
import tempfile
import unittest

from . import jvm, paths, receiver
from .daemon import Daemon

OTLP = "/v1development/profiles"


class Pushing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        cls.target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", "-cp", cls.spin.folder, cls.spin.main, wrap=[
            "env", "OTEL_SERVICE_NAME=push;shop", "DD_GIT_REPOSITORY_URL=https://me:secret@host/shop", "DD_GIT_COMMIT_SHA=0a1b2c", "OTEL_RESOURCE_ATTRIBUTES=service.version=2.4,service.namespace=retail,deployment.environment.name=prod"])
        cls.addClassCleanup(cls.target.stop)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="flamed-test.")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def engine(self, *arguments, **more) -> receiver.Receiver:
        engine = receiver.Receiver(*arguments, **more)
        self.addCleanup(engine.stop)
        return engine

    def flamed(self, *targets: str, options: tuple[str, ...] = (), wrap: list[str] | None = None) -> Daemon:
        text = "push:\n" + "".join("  - " + target.strip().replace("\n", "\n    ") + "\n" for target in targets)
        daemon = Daemon("--config", self.write("flamed.yaml", text), "--recorder-hz=99", *options, wrap=wrap)
        self.addCleanup(daemon.stop)
        return daemon

    def arrived_once(self, engine) -> int:
        """Checks that no request came twice. Returns their number."""
        bodies = [request.body for request in engine.taken(OTLP)]
        self.assertEqual(len(bodies), len(set(bodies)))
        return len(bodies)

    def status(self, daemon: Daemon, name: str) -> dict:
        return {target["name"]: target for target in daemon.get("/api/v1/push").json()["targets"]}[name]
