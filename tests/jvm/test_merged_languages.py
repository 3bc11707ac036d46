# SPDX-License-Identifier: Apache-2.0
"""names=merged: two starts of a program in code that Byte Buddy, CGLIB and Groovy generate, of Kotlin and of Scala, differ in no name."""
import os
import re
import subprocess
import unittest

import test_merged_names
from harness import jvm, paths, proc
from harness.daemon import Daemon

SOURCES = os.path.join(paths.TREE, "tests/jvm/languages")
FOLDER = os.path.join(paths.CACHE, "languages")
# With a program's own numbers, and without. Each is of a part that the load always works in.
MERGED = {"Languages$Cart$ByteBuddy.total", "Languages$Cart$$EnhancerByCGLIB.total", "Script$_run_closure1.doCall", "Loader.load",
          "KotlinNames.applyAsLong$lambda", "ScalaNames.$anonfun$applyAsLong", "Sum.++"}


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=300)


def compiled() -> str:
    """The class path of the load; skips where its libraries cannot be had."""
    java, jars, classes = paths.jdk(17) + "/bin/java", FOLDER + "/jars/*", FOLDER + "/classes"
    if not os.path.exists(FOLDER + "/complete"):
        result = subprocess.run(["mvn", "-q", "-B", "-f", SOURCES + "/pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={FOLDER}/jars"],
                                capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
        if result.returncode != 0:
            raise unittest.SkipTest(f"the libraries cannot be had: {result.stdout[-300:]}")
        with open(FOLDER + "/complete", "w", encoding="ascii"):
            pass
    os.makedirs(classes, exist_ok=True)
    everything = ":".join([classes, *(f"{FOLDER}/jars/{name}" for name in sorted(os.listdir(FOLDER + "/jars")))])
    run(paths.jdk(17) + "/bin/javac", "-d", classes, "-cp", jars, SOURCES + "/Languages.java")
    run(java, "-cp", jars, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-jdk-home", paths.jdk(17), "-cp", everything,
        "-d", classes, SOURCES + "/KotlinNames.kt")
    run(java, "-cp", jars, "scala.tools.nsc.Main", "-cp", everything, "-d", classes, SOURCES + "/ScalaNames.scala")
    return everything


class Languages(test_merged_names.Merged):
    @classmethod
    def setUpClass(cls):
        unittest.TestCase.setUpClass()
        paths.need_root()
        paths.need("mvn")
        cls.class_path = compiled()

    def capture(self, version: int, others: int) -> str:
        with jvm.Jvm(paths.jdk(version), "-Xmx96m", "-XX:-UseOnStackReplacement", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet",
                     "-XX:-Inline", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", self.class_path, "Languages", str(others)) as target:
            proc.wait_until(lambda: proc.cpu_seconds(target.pid) > 8, 60, "it has compiled what it runs")
            return self.daemon.get("/profile", pid=target.pid, seconds=3, hz=499, format="json", timeout=40).headers["X-Flamed-Capture"]

    def test_two_starts(self):
        first, second = self.capture(17, 0), self.capture(17, 6)
        plain = [self.names(capture, 0.03) for capture in (first, second)]
        merged, rare = ([self.names(capture, share, names="merged") for capture in (first, second)] for share in (0.03, 0.01))
        print(f"{len(plain[0] ^ plain[1])} names differ: {sorted(plain[0] ^ plain[1])}")
        for pattern in (r"Languages\$Cart\$ByteBuddy\$", r"Script\d+\$_run_closure1"):
            self.assertTrue(any(re.match(pattern, name) for name in plain[0] ^ plain[1]), pattern)
        for names in merged:
            self.assertLessEqual(MERGED, names, sorted(names))
        self.assertLessEqual(merged[0], rare[1])
        self.assertLessEqual(merged[1], rare[0])
        answer = self.daemon.get("/api/v1/diff", a=first, b=second, names="merged", format="collapsed")
        self.assertEqual(answer.status, 200, answer)
        self.assertNotRegex(answer.text, r"\$ByteBuddy\$|Script\d|EnhancerByCGLIB\$\$[0-9a-f]|suspendImpl|\$plus|lambda\$\d|\$anonfun\$\w+\$\d")
