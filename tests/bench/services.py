# SPDX-License-Identifier: Apache-2.0
"""Services as their users run them, under load: how many stacks are whole and named, native libraries included. Tomcat 10 with its examples
and ZooKeeper are Debian's packages. Spring Boot, Dropwizard and Cassandra come from Maven Central."""
import contextlib
import http.client
import os
import socket
import subprocess
import tempfile
import time
import unittest

import common
from harness import debroot, jvm, paths, proc
from harness.daemon import Daemon, free_port
from harness.maven import copy_dependencies
from harness.profile import count, nameless_stub

SOURCES = os.path.join(common.HERE, "services")
# Main class -> coordinates of its dependencies.
MAVEN = {
    "SpringService": ["org.springframework.boot:spring-boot-starter-web:3.3.5"],
    "StarvedService": ["org.springframework.boot:spring-boot-starter-web:3.3.5", "com.zaxxer:HikariCP:5.1.0",
                       "org.slf4j:slf4j-api:2.0.16"],
    "EndpointService": [f"org.springframework.boot:spring-boot-starter-{what}:3.3.5" for what in ("web", "webflux", "jetty", "jersey")],
    "DropwizardService": ["io.dropwizard:dropwizard-core:4.0.10"],
    "CassandraLoad": ["org.apache.cassandra:cassandra-all:5.0.2"],
}
# The packages that Cassandra's own start script opens to it, as far as this load needs them.
CASSANDRA_OPENS = ("java.base/java.io java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect java.base/java.net "
                   "java.base/java.nio java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic "
                   "java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.misc java.base/jdk.internal.module "
                   "java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.util.jar java.base/sun.nio.ch "
                   "java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry java.rmi/sun.rmi.server "
                   "java.sql/java.sql jdk.management/com.sun.management.internal")
CASSANDRA_YAML = """cluster_name: bench
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
commitlog_sync: periodic
commitlog_sync_period: 10000ms
endpoint_snitch: SimpleSnitch
listen_address: 127.0.0.1
storage_port: {storage}
rpc_address: 127.0.0.1
native_transport_port: {port}
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "127.0.0.1:{storage}"}}]
"""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>bench</groupId>
<artifactId>{name}</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"""


def debian() -> str:
    root = debroot.root("services", "bookworm", ["tomcat10", "tomcat10-examples", "zookeeper", "wrk"], "/usr/bin/wrk",
                        ("openjdk-", "libc6_", "libx11", "libgl", "mesa"))
    debroot.own_links(root)
    return root


def jars(root: str, *names: str) -> str:
    found = [f"{root}/usr/share/java/{name}.jar" for name in names]
    return ":".join(path for path in found if os.path.exists(path))


def dependencies(name: str, coordinates: list[str]) -> str:
    """Returns a folder of the cache for NAME, with its libraries in the folder jars. Skips if they are not available."""
    folder = os.path.join(paths.CACHE, name)
    complete = folder + "/complete" # all its jars are there
    if not os.path.exists(complete):
        os.makedirs(folder, exist_ok=True)
        words = [dependency.split(":") for dependency in coordinates]
        with open(folder + "/pom.xml", "w", encoding="ascii") as f:
            f.write(POM.format(name=name, dependencies="".join(
                f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>" for g, a, v in words)))
        result = copy_dependencies(folder)
        if result.returncode != 0:
            raise unittest.SkipTest(f"{coordinates} cannot be had: {result.stdout[-300:]}")
        with open(complete, "w", encoding="ascii"):
            pass
    return folder


def maven(name: str) -> str:
    """Returns the class path of a service made of NAME.java and its dependencies. Skips if they are not available."""
    folder, source = dependencies(name, MAVEN[name]), f"{SOURCES}/{name}.java"
    made = folder + f"/classes/{name}.class"
    if not os.path.exists(made) or os.path.getmtime(made) < os.path.getmtime(source):
        os.makedirs(folder + "/classes", exist_ok=True)
        subprocess.run([paths.jdk(17) + "/bin/javac", "-parameters", "-d", folder + "/classes", "-cp", folder + "/jars/*", source], check=True)
    return f"{folder}/classes:{folder}/jars/*"


def feature(java: str) -> int:
    """Returns the feature version of the JDK that JAVA belongs to."""
    return next(version for version, home in paths.jdks().items() if java.startswith(home + "/"))


def wait_for(port: int, path: str, process: subprocess.Popen, log: str) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        time.sleep(0.3)
    raise RuntimeError(f"no answer from {path}:\n{proc.read(log)[-3000:]}")


def wait_for_port(port: int, process: subprocess.Popen, log: str) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.3)
    raise RuntimeError(f"nobody listens on {port}:\n{proc.read(log)[-3000:]}")


@contextlib.contextmanager
def running(command: list[str], folder: str):
    log = os.path.join(folder, "log")
    with open(log, "ab") as out, subprocess.Popen(proc.ENDS_WITH_US + command, stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=subprocess.STDOUT, cwd=folder) as process:
        try:
            yield process, log
        finally:
            process.kill()


@contextlib.contextmanager
def wrk(*urls: str):
    root = debian()
    with contextlib.ExitStack() as stack:
        for url in urls:
            process = stack.enter_context(subprocess.Popen(
                [root + "/usr/bin/wrk", "-t1", "-c4", "-d3600", url], stdout=subprocess.DEVNULL,
                env={**os.environ, "LD_LIBRARY_PATH": root + "/usr/lib/x86_64-linux-gnu"}))
            stack.callback(process.kill)
        yield


@contextlib.contextmanager
def tomcat(java: str, folder: str, options: list[str]):
    home, port = debian() + "/usr/share/tomcat10", free_port()
    os.makedirs(folder + "/temp")
    os.makedirs(folder + "/webapps")
    subprocess.run(["cp", "-r", home + "/etc", folder + "/conf"], check=True)
    os.symlink(debian() + "/usr/share/tomcat10-examples/examples", folder + "/webapps/examples")
    with open(folder + "/conf/server.xml", "r+", encoding="utf-8") as f:
        text = f.read().replace('port="8080"', f'port="{port}"')
        f.seek(0)
        f.write(text)
        f.truncate()
    command = [java, *options, "-Xmx256m", f"-Dcatalina.home={home}", f"-Dcatalina.base={folder}", f"-Djava.io.tmpdir={folder}/temp",
               "-cp", f"{home}/bin/bootstrap.jar:{home}/bin/tomcat-juli.jar", "org.apache.catalina.startup.Bootstrap", "start"]
    at = f"http://127.0.0.1:{port}/examples"
    with running(command, folder) as (process, log):
        wait_for(port, "/examples/jsp/jsp2/el/basic-arithmetic.jsp", process, log)
        yield process.pid, [at + "/jsp/jsp2/el/basic-arithmetic.jsp", at + "/servlets/servlet/RequestInfoExample"]


@contextlib.contextmanager
def zookeeper(java: str, folder: str, options: list[str]):
    root, port = debian(), free_port()
    path = jars(root, "zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-nop", "snappy-java", "metrics-core", "commons-cli", "netty-all",
                "netty-common", "netty-buffer", "netty-transport", "netty-handler", "netty-resolver", "netty-codec")
    with open(folder + "/zoo.cfg", "w", encoding="ascii") as f:
        f.write(f"tickTime=2000\ndataDir={folder}/data\nclientPort={port}\nadmin.enableServer=false\nmaxClientCnxns=0\n")
    subprocess.run([paths.jdk(17) + "/bin/javac", "-d", folder, "-cp", path, SOURCES + "/ZooKeeperLoad.java"], check=True)
    with running([java, *options, "-Xmx256m", "-cp", path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder + "/zoo.cfg"],
                 folder) as (process, _):
        time.sleep(3)
        with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", f"{folder}:{path}", "ZooKeeperLoad", f"127.0.0.1:{port}", "4"):
            yield process.pid, []


@contextlib.contextmanager
def spring(java: str, folder: str, options: list[str]):
    port = free_port()
    with running([java, *options, "-Xmx256m", "-cp", maven("SpringService"), "SpringService", f"--server.port={port}"],
                 folder) as (process, log):
        wait_for(port, "/", process, log)
        yield process.pid, [f"http://127.0.0.1:{port}/"]


@contextlib.contextmanager
def dropwizard(java: str, folder: str, options: list[str]):
    port = free_port()
    with open(folder + "/service.yml", "w", encoding="ascii") as f:
        f.write("server:\n  type: simple\n  applicationContextPath: /\n  adminContextPath: /admin\n"
                f"  connector: {{type: http, port: {port}}}\n  requestLog: {{appenders: []}}\nlogging: {{level: WARN}}\n")
    with running([java, *options, "-Xmx256m", "-cp", maven("DropwizardService"), "DropwizardService", "server", folder + "/service.yml"],
                 folder) as (process, log):
        wait_for(port, "/", process, log)
        yield process.pid, [f"http://127.0.0.1:{port}/?below=5000"]


@contextlib.contextmanager
def cassandra(java: str, folder: str, options: list[str]):
    path, port, storage = maven("CassandraLoad"), free_port(), free_port()
    jamm, manager = f"{path.split(':')[1][:-1]}jamm-0.4.0.jar", ["-Djava.security.manager=allow"]
    if feature(java) >= 24: # newer JDKs have none
        replaced, manager = folder + "/replaced", []
        subprocess.run([paths.jdk(17) + "/bin/javac", "--release", "17", "-d", replaced, SOURCES + "/ThreadAwareSecurityManager.java"],
                       check=True)
        path = f"{replaced}:{path}"
    with open(folder + "/cassandra.yaml", "w", encoding="ascii") as f:
        f.write(CASSANDRA_YAML.format(port=port, storage=storage))
    with open(folder + "/logback.xml", "w", encoding="ascii") as f:
        f.write("<configuration><root level='OFF'/></configuration>")
    opened = [f"--add-{kind}={module}=ALL-UNNAMED" for module in CASSANDRA_OPENS.split() for kind in ("exports", "opens")]
    logging = f"-Dlogback.configurationFile={folder}/logback.xml"
    command = [java, *options, *opened, "-Xmx512m", f"-Dcassandra.config=file://{folder}/cassandra.yaml",
               f"-Dcassandra.storagedir={folder}", logging, "-Djdk.attach.allowAttachSelf=true", *manager,
               "-Dcassandra-foreground=yes", f"-javaagent:{jamm}", "-cp", path,
               "org.apache.cassandra.service.CassandraDaemon"]
    with running(command, folder) as (process, log):
        wait_for_port(port, process, log)
        with jvm.Jvm(paths.jdk(17), "-Xmx128m", logging, "-cp", path, "CassandraLoad", str(port), "4"):
            yield process.pid, []


SERVICES = {"tomcat": tomcat, "zookeeper": zookeeper, "spring": spring, "dropwizard": dropwizard, "cassandra": cassandra}


def examine(name: str, pid: int, daemon: Daemon, options, aims: common.Aims) -> None:
    profile = daemon.profile(pid=pid, seconds=options.seconds, hz=options.hz, symbols=options.symbols)
    cut = [s for s in profile.stacks if s.truncated]
    nameless = [s for s in profile.stacks if any(f.kind == "unknown" for f in s.frames)]
    total, whole = profile.samples, profile.samples - count(cut)
    stubs = [s for s in profile.stacks if any(nameless_stub(f) for f in s.frames)]
    skipped = count([s for s in profile.stacks if "[...]" in s.names])
    print(f"{name}: {total} samples, {100 * whole / max(1, total):.3f} % whole, {100 * count(nameless) / max(1, total):.3f} % with a "
          f"frame without a name, {100 * count(stubs) / max(1, total):.3f} % with a stub called by what it lies in, {skipped} with frames skipped; quality {profile.quality}", flush=True)
    (exact, callers), (leaf, others) = map(common.stacks(pid, 5, options.hz)[0].get, ("exact", "leaf"))
    print(f"{name}: {100 * exact / max(1, callers):.2f} % of {callers} callers at an exact PcDesc, {leaf} of the other {others} called "
          "the stub above them", flush=True)
    for label, stacks in (("cut", cut), ("nameless", nameless), ("nameless stubs", stubs)):
        if stacks:
            print(f"  {label}:\n{profile.describe(stacks, 4)}")
    aims.aim(f"{name}: 99.5 % whole", total > 0 and whole / total >= 0.995)
    aims.aim(f"{name}: under 0.5 % unknown", total > 0 and count(nameless) / total < 0.005)
    aims.aim(f"{name}: under 0.05 % nameless stubs", total > 0 and count(stubs) / total < 0.0005)


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=10.0, hz=499, warm=8.0, services=" ".join(SERVICES), symbols="auto")
    aims = common.Aims(options.check)
    java = paths.jdk(options.jdk) + "/bin/java"
    with Daemon() as daemon:
        for name in options.services.split():
            with tempfile.TemporaryDirectory(prefix=f"flamed-{name}.", ignore_cleanup_errors=True) as folder:
                try:
                    with SERVICES[name](java, folder, options.java_option) as (pid, urls), wrk(*urls):
                        time.sleep(options.warm)
                        examine(name, pid, daemon, options, aims)
                except unittest.SkipTest as e:
                    print(f"{name}: skipped: {e}")
    aims.exit()


if __name__ == "__main__":
    main()
