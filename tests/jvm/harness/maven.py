# SPDX-License-Identifier: Apache-2.0
"""Libraries by their names in Maven: downloaded once, and kept in the cache between runs."""
import os
import subprocess
import unittest

from . import paths

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>{1}</artifactId>
<version>1</version><dependencies><dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version></dependency></dependencies></project>"""

# Maven ends too early to gain from C2.
BRIEF = {**os.environ, "MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def copy_dependencies(folder: str) -> subprocess.CompletedProcess:
    """Downloads the dependencies of the pom.xml in FOLDER into its folder jars."""
    return subprocess.run(["mvn", "-q", "-B", "-f", folder, "dependency:copy-dependencies", "-DoutputDirectory=" + folder + "/jars"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600, env=BRIEF)


def jar(group: str, artifact: str, version: str) -> str:
    """Returns the library's jar, beside its dependencies. Skips the test if they are not available."""
    folder = os.path.join(paths.CACHE, "agents", f"{artifact}-{version}")
    found = f"{folder}/jars/{artifact}-{version}.jar"
    if not os.path.exists(found):
        paths.need("mvn")
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/pom.xml", "w", encoding="ascii") as f:
            f.write(POM.format(group, artifact, version))
        result = copy_dependencies(folder)
        if result.returncode != 0:
            raise unittest.SkipTest(f"{artifact} {version} cannot be had: {result.stdout[-300:]}")
    return found
