# SPDX-License-Identifier: Apache-2.0
"""names=merged: two starts of a Spring Boot service, from its first instruction on and under load, differ in no frame only by its name."""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
import zipfile

from harness import paths, proc
from harness.daemon import Daemon, free_port

sys.path.append(os.path.join(paths.TREE, "tests/bench"))
import services # pylint: disable=wrong-import-position

SECONDS, SECONDS_MAX = 15, 120 # at least, and until it has given some answers, which all pass one proxy
ANSWERS = 300
# Code generated at run time.
MADE = re.compile(r"\$\$|\$Proxy|LambdaForm|Accessor|Species|Invoker")


def written(java: str, class_path: str) -> set[str]:
    """Returns the classes in files: of the JDK and of the class path."""
    listed = subprocess.run([os.path.join(os.path.dirname(java), "jimage"), "list", os.path.join(os.path.dirname(java), "../lib/modules")],
                            capture_output=True, text=True, check=True).stdout
    found = {line.strip().removesuffix(".class").replace("/", ".") for line in listed.splitlines() if line.endswith(".class")}
    for part in class_path.split(":"):
        if part.endswith("/*"):
            for name in os.listdir(part[:-2]):
                with zipfile.ZipFile(os.path.join(part[:-2], name)) as jar:
                    found.update(entry.removesuffix(".class").replace("/", ".") for entry in jar.namelist() if entry.endswith(".class"))
        else:
            found.update(name.removesuffix(".class") for name in os.listdir(part))
    return found


class Spring(unittest.TestCase):
    def setUp(self):
        paths.need_root()
        self.class_path = services.maven("SpringService")
        self.java = paths.jdk(17) + "/bin/java"
        self.daemon = Daemon()
        self.addCleanup(self.daemon.stop)

    def capture(self, *options: str) -> str:
        """Captures a whole start and some answers after it. Returns the capture's id."""
        port, answered, over = free_port(), [], threading.Event()

        def ask():
            while not over.is_set():
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                        answered.append(answer.read())
                except OSError:
                    over.wait(0.2)
        with tempfile.TemporaryDirectory() as folder:
            command = [self.java, "-Xmx256m", f"-Dserver.port={port}", *options, "-cp", self.class_path, "SpringService"]
            with services.running(command, folder) as (process, _):
                client = threading.Thread(target=ask)
                client.start()
                try:
                    begun = self.daemon.request("POST", "/api/v1/captures", headers={"Content-Type": "application/json"},
                                                body=json.dumps({"pid": process.pid, "seconds": SECONDS_MAX, "hz": 499}).encode())
                    self.assertEqual(begun.status, 201, begun)
                    where = begun.headers["Location"]
                    time.sleep(SECONDS)
                    proc.wait_until(lambda: len(answered) >= ANSWERS, SECONDS_MAX - SECONDS, "it has answered", interval=0.2)
                    self.assertEqual(self.daemon.request("POST", where + "/stop").status, 200)
                finally:
                    over.set()
                    client.join()
        proc.wait_until(lambda: self.daemon.get(where).json()["state"] == "done", 30, "the capture is done", interval=0.1)
        return where.rpartition("/")[2]

    def names(self, capture: str, **names) -> set[str]:
        document = self.daemon.get(f"/api/v1/captures/{capture}/profile", format="json", **names).json()
        return {f["name"] for f in document["frames"] if f["kind"] in ("c1", "c2", "inlined", "interpreted")}

    def twins(self, first: set[str], second: set[str]) -> list[tuple[str, str]]:
        """Returns names of only one profile if the other has the same name with other numbers. Names that class files contain do not count."""
        def bare(name: str) -> str:
            return re.sub(r"0x[0-9a-f]+|\d+", "", name)
        others = {bare(name): name for name in second - first if name.rpartition(".")[0] not in self.compiled}
        return [(name, others[bare(name)]) for name in sorted(first - second)
                if name.rpartition(".")[0] not in self.compiled and bare(name) in others]

    def test_two_starts(self):
        self.compiled = written(self.java, self.class_path)
        self.assertLessEqual({"java.lang.Thread", "org.springframework.boot.SpringApplication", "SpringService"}, self.compiled)
        # If proxies are made lazily, they come in another order. The proxy that all answers pass then always has another number.
        first, second = self.capture(), self.capture("-Dspring.main.lazy-initialization=true", "-Dproxies=5")
        plain = [self.names(capture) for capture in (first, second)]
        merged = [self.names(capture, names="merged") for capture in (first, second)]
        made = [{name for name in names if MADE.search(name)} for names in merged]
        print(f"{len(plain[0])} and {len(plain[1])} names, {len(made[0])} and {len(made[1])} of generated code when merged; "
              f"{len(self.twins(*plain))} differ by numbers alone, merged {len(self.twins(*merged))}: {self.twins(*plain)[:3]}")
        self.assertGreater(min(map(len, plain)), 1000)
        self.assertGreater(len(made[0] & made[1]), 10)
        proxies = [{name for name in names if re.search(r"\$Proxy\d+\.answer$", name)} for names in plain]
        self.assertEqual([len(names) for names in proxies], [1, 1], "the service has not answered")
        self.assertNotEqual(*proxies)
        self.assertIn((*proxies[0], *proxies[1]), self.twins(*plain), "nothing to merge: the test shows nothing")
        self.assertEqual(self.twins(*merged), [])
        answer = self.daemon.get("/api/v1/diff", a=first, b=second, names="merged", format="collapsed")
        self.assertEqual(answer.status, 200, answer)
        self.assertNotRegex(answer.text, r"\$Proxy\d|\$\$SpringCGLIB\$\$\d|GeneratedMethodAccessor\d|LambdaForm\$[A-Z]+/0x")
