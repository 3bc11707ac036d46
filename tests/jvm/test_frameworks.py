# SPDX-License-Identifier: Apache-2.0
"""Operations without a tracer in real frameworks: what flamed says of each sample in a handler, compared with the requests that the handler has got.
Handlers have their mappings on interfaces and base classes, too, and some of them lie behind generated classes."""
import collections
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from harness import paths, proc
from harness.daemon import Daemon, free_port

sys.path.append(os.path.join(paths.TREE, "tests/bench"))
import services # pylint: disable=wrong-import-position

SOURCES = os.path.join(paths.TREE, "tests/jvm/frameworks")
START_S, CLIENTS = 120, 3
CAPTURE_S, ROUNDS, EACH = 5, 30, 100 # samples of each handler
RESOURCES = (("GET", "/direct/1"), ("DELETE", "/direct"), ("GET", "/api/2"), ("POST", "/sub/3/parts"), ("POST", "/other/4/parts"), ("GET", "/sub/kept/5"),
             ("GET", "/other/kept/6"), ("PUT", "/crud/7"), ("GET", "/located/8/item"))
# A base class with two subclasses, and a sub-resource: these have several routes, or none by themselves.
BY_NAME = {"Base.kept": "shop.Resources$Base.kept()", "Item.one": "shop.Resources$Item.one()"}
MICRONAUT = "4.7.10"
GRPC = "1.68.2"


def compiled(name: str, coordinates: list[str], *sources: str) -> tuple[str, str]:
    """Returns a folder and the class path of NAME.java, SOURCES and the libraries."""
    folder = services.dependencies(name, coordinates)
    classes = tempfile.mkdtemp(prefix="flamed-frameworks.")
    result = subprocess.run([paths.jdk(17) + "/bin/javac", "-parameters", "-d", classes, "-cp", folder + "/jars/*",
                             *(f"{SOURCES}/{source}.java" for source in (name, "Truth", *sources))], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return classes, f"{classes}:{folder}/jars/*"


def quarkus() -> str:
    """Returns the jar of the application that Quarkus builds. Skips if its libraries are not available."""
    folder = os.path.join(paths.CACHE, "quarkus")
    sources = folder + "/src/main/java/shop"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(sources)
    shutil.copy(f"{SOURCES}/quarkus.xml", folder + "/pom.xml")
    for source in ("Truth", "Resources", "QuarkusResources"):
        shutil.copy(f"{SOURCES}/{source}.java", sources)
    result = subprocess.run(["mvn", "-q", "-B", "-f", folder, "package"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900)
    if result.returncode != 0:
        raise unittest.SkipTest(f"Quarkus cannot be had: {result.stdout[-1000:]}")
    return folder + "/target/quarkus-app/quarkus-run.jar"


class Frameworks(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        paths.need("mvn")
        self.daemon = Daemon()
        self.addCleanup(self.daemon.stop)
        folder = tempfile.TemporaryDirectory(prefix="flamed-frameworks.")
        self.addCleanup(folder.cleanup)
        self.folder, self.truth, self.over = folder.name, folder.name + "/truth", threading.Event()

    def start(self, release: int, listens: str, *command: str) -> None:
        running = services.running([paths.jdk(release) + "/bin/java", "-Xmx200m", f"-Dtruth={self.truth}", *command], self.folder)
        self.process, output = running.__enter__()
        self.addCleanup(running.__exit__, None, None, None)
        proc.wait_until(lambda: listens in proc.read(output) or self.process.poll() is not None, START_S, "the service listens", interval=0.2)
        self.assertIsNone(self.process.poll(), proc.read(output))

    def serve(self, port: int, asked: tuple[tuple[str, str], ...]) -> None:
        """Starts clients that ask one request after another."""
        clients = [threading.Thread(target=self.ask, args=(port, asked[i:] + asked[:i])) for i in range(CLIENTS)]
        for client in clients:
            client.start()
            self.addCleanup(client.join)
        self.addCleanup(self.over.set)

    def ask(self, port: int, asked: tuple[tuple[str, str], ...]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
        while not self.over.is_set():
            for method, path in asked:
                connection.request(method, path)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    print(method, path, answer.status)

    def operations(self) -> dict[str, set[str]]:
        """Returns handler -> what its requests were."""
        found: dict[str, set[str]] = collections.defaultdict(set)
        for line in proc.read(self.truth).splitlines() if os.path.exists(self.truth) else ():
            handler, _, operation = line.partition(" ")
            found[handler].add(operation)
        return found

    def judge(self, handlers: int, by_name: dict[str, str], what: str) -> None:
        """Each sample in a handler has the operation of its requests, or the handler's name where BY_NAME says so."""
        proc.wait_until(lambda: len(self.operations()) == handlers, START_S, "each handler has a request", interval=0.2)
        counts: dict[tuple[str, str], int] = collections.Counter()
        for _ in range(ROUNDS):
            text = self.daemon.get("/profile", pid=self.process.pid, seconds=CAPTURE_S, hz=499, by="operation", format="collapsed").text
            for line in text.splitlines():
                stack, _, count = line.rpartition(" ")
                if found := re.search(r"[.$](\w+\.\w+);(?:shop\.\w+\.burn;)?shop\.Truth\.burn", stack):
                    counts[found[1], stack.partition(";")[0]] += int(count)
            each = [sum(n for (handler, _), n in counts.items() if handler == of) for of in self.operations()]
            if min(each) >= EACH:
                break
        logged = self.operations()
        wrong = {key: n for key, n in counts.items() if {key[1]} != {f"[{by_name[key[0]] if key[0] in by_name else operation}]" for operation in logged[key[0]]}}
        print(f"{what}: {sum(counts.values())} samples of {len(each)} handlers, at least {min(each)} of each, {sum(wrong.values())} wrong")
        self.assertEqual(wrong, {}, (what, logged))
        self.assertGreaterEqual(min(each), EACH, (what, counts))

    def compile(self, name: str, coordinates: list[str], *sources: str) -> str:
        folder, path = compiled(name, coordinates, *sources)
        self.addCleanup(shutil.rmtree, folder)
        return path

    def test_resteasy(self):
        path, port = self.compile("ResteasyService", ["org.jboss.resteasy:resteasy-undertow:6.2.11.Final"], "Resources"), free_port()
        self.start(17, "listens", "-cp", path, "shop.ResteasyService", str(port))
        self.serve(port, RESOURCES)
        self.judge(8, BY_NAME, "RESTEasy")

    def test_quarkus(self):
        jar, port = quarkus(), free_port()
        self.start(17, "started in", f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1", "-jar", jar)
        self.serve(port, (*RESOURCES, ("GET", "/scoped/1"), ("GET", "/woven/2"), ("GET", "/both/3")))
        self.judge(11, BY_NAME, "Quarkus")

    def test_micronaut(self):
        path, port = self.compile("MicronautService", [f"io.micronaut:micronaut-{part}:{MICRONAUT}" for part in (
            "http-server-netty", "inject-java", "runtime", "jackson-databind")]), free_port()
        self.start(17, "listens", f"-Dmicronaut.server.port={port}", "-Dmicronaut.server.host=127.0.0.1", "-cp", path, "shop.MicronautService")
        self.serve(port, (("GET", "/direct/1"), ("POST", "/direct"), ("GET", "/api/2"), ("GET", "/woven/3")))
        self.judge(4, {}, "Micronaut")

    def test_spring(self):
        path, port = self.compile("SpringService", [f"org.springframework.boot:spring-boot-starter-{part}:3.3.5" for part in ("web", "aop")]), free_port()
        self.start(25, "listens", f"-Dserver.port={port}", "-Dserver.address=127.0.0.1", "-cp", path, "shop.SpringService")
        self.serve(port, (("GET", "/api/1"), ("PUT", "/crud/2"), ("GET", "/exchange/3"), ("POST", "/prefixed/parts/4"), ("GET", "/woven/5"),
                          ("POST", "/sub/6/parts"), ("GET", "/sub/kept/7")))
        self.judge(7, {"Base.kept": "shop.SpringService$Base.kept()"}, "Spring")

    def test_grpc(self):
        path = self.compile("GrpcService", [f"io.grpc:grpc-{part}:{GRPC}" for part in ("netty-shaded", "services", "stub")])
        self.start(25, "listens", "-cp", path, "shop.GrpcService")
        self.judge(4, {}, "gRPC")

    def test_kafka(self):
        path = self.compile("KafkaService", ["org.springframework.kafka:spring-kafka:3.2.4"])
        self.start(17, "listens", "-cp", path, "shop.KafkaService")
        self.judge(2, {f"Listeners.{method}": f"shop.KafkaService$Listeners.{method}()" for method in ("orders", "bills")}, "Kafka")


if __name__ == "__main__":
    unittest.main()
