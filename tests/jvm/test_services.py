# SPDX-License-Identifier: Apache-2.0
"""Services: a JVM's own facts by options and environment, over restarts, in lists, selectors, the past and the store."""
import datetime
import os
import secrets
import tempfile
import time
import unittest
import zipfile

from harness import bundle, jvm, native, paths, proc
from harness.daemon import Daemon

SECRET = "hunter2-of-the-environment"
# The same methods have the same frames in each start.
QUIET = ("-Xmx64m", "-XX:-UseOnStackReplacement", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet", "-XX:-Inline")


class Services(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        cls.daemon = Daemon("--recorder-hz=99")
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, *options: str, **environment: str) -> jvm.Jvm:
        words = [f"{name}={value}" for name, value in environment.items()]
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", *options, "-cp", self.spin.folder, self.spin.main,
                         wrap=["env", "DB_PASSWORD=" + SECRET, *words])
        self.addCleanup(target.stop)
        proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{target.pid}").status == 200, 20, "it is known")
        return target

    def service_of(self, target: jvm.Jvm) -> dict:
        return self.daemon.get(f"/api/v1/jvms/{target.pid}").json()["service"]

    def test_what_it_says_of_itself(self):
        cases = [
            (self.start(OTEL_SERVICE_NAME="shop", OTEL_RESOURCE_ATTRIBUTES="service.version=2.4.1,service.instance.id=a"),
             {"name": "shop", "version": "2.4.1", "environment": None, "instance": "a", "source": "environ"}),
            (self.start("-Ddd.service=basket", "-Ddd.env=prod", DD_SERVICE="no", DD_VERSION="7"),
             {"name": "basket", "version": "7", "environment": "prod", "instance": None, "source": "property"}),
            (self.start(JAVA_TOOL_OPTIONS=f"-Dsecret={SECRET} -Dotel.service.name=tools"),
             {"name": "tools", "version": None, "environment": None, "instance": None, "source": "property"}),
        ]
        for target, service in cases:
            self.assertEqual(self.service_of(target), service)
        for path in ("/api/v1/jvms", "/api/v1/services", "/sd", "/metrics"):
            self.assertNotIn(SECRET, self.daemon.get(path).text, path)
        names = {s["name"]: [j["pid"] for j in s["jvms"]] for s in self.daemon.get("/api/v1/services").json()["services"]}
        for target, service in cases:
            self.assertIn(target.pid, names[service["name"]])
        labels = {e["labels"]["__param_pid"]: e["labels"]["service_name"] for e in self.daemon.get("/sd").json()}
        self.assertEqual(labels[str(cases[0][0].pid)], "shop")

    def publishing(self, attributes: str, **environment: str) -> jvm.Jvm:
        return self.start(LD_PRELOAD=native.build("publishes", "-shared", "-fPIC"), PUBLISHES=attributes, OTEL_SERVICE_NAME="of_environ", DD_VERSION="6",
                          **environment)

    def test_what_its_tracer_publishes(self):
        target = self.publishing("service.name=published,service.version=7,service.instance.id=i,deployment.environment.name=prod,password=" + SECRET)
        self.assertEqual(self.service_of(target),
                         {"name": "published", "version": "7", "environment": "prod", "instance": "i", "source": "context"})
        live = self.daemon.profile(seconds=1, service="published")
        self.assertEqual({p["pid"] for p in live.document["processes"]}, {target.pid}, live.describe())
        self.assertNotIn(SECRET, self.daemon.get("/api/v1/jvms").text)

    def test_what_its_tracer_publishes_later(self):
        with tempfile.TemporaryDirectory(prefix="flamed-publishes.") as folder:
            target = self.publishing("service.name=later,service.version=17.0.15,telemetry.sdk.name=dd-trace-java", PUBLISHES_AFTER=folder + "/now")
            self.assertEqual(self.service_of(target)["source"], "environ")
            with open(os.path.join(folder, "now"), "wb"):
                pass
            proc.wait_until(lambda: self.service_of(target)["source"] == "context", 30, "it is looked for again")
        self.assertEqual(self.service_of(target), {"name": "later", "version": "6", "environment": None, "instance": None, "source": "context"})

    def test_what_is_no_context(self):
        """If the message is too long, or ends within an attribute, the next source names the JVM."""
        for lie in ("0xffffffff", "65537", "20"):
            target = self.publishing("service.name=no", PUBLISHES_BYTES=lie)
            self.assertEqual(self.service_of(target),
                             {"name": "of_environ", "version": "6", "environment": None, "instance": None, "source": "environ"}, lie)

    def with_file(self, content: bytes, **environment: str) -> jvm.Jvm:
        with tempfile.NamedTemporaryFile(prefix="flamed-publishes.") as f:
            f.write(content)
            f.flush()
            return self.start(LD_PRELOAD=native.build("publishes", "-shared", "-fPIC"), PUBLISHES_FILE=f.name, OTEL_SERVICE_NAME="of_environ", **environment)

    def test_the_file_of_datadogs_tracer(self):
        content = b"\x87\xaeschema_version\x02\xacservice_name\xa8checkout\xabservice_env\xa4prod\xafservice_version\xa5" \
                  b"1.2.3\xaaruntime_id\xd9\x03a-1\xactracer_extra\x92\xc0\x81\xa1a\xcb12345678\xa8password\xa7" + SECRET[:7].encode()
        for environment in ({}, {"PUBLISHES": "service.name=no,service.version=17.0.15"}):
            self.assertEqual(self.service_of(self.with_file(content, **environment)),
                             {"name": "checkout", "version": "1.2.3", "environment": "prod", "instance": "a-1", "source": "context"})
        # Attributes that it lacks come from the mapping.
        self.assertEqual(self.service_of(self.with_file(b"\x81\xabservice_env\xa4prod", PUBLISHES="service.name=shop")),
                         {"name": "shop", "version": None, "environment": "prod", "instance": None, "source": "context"})
        for broken in (content[:-1], b"", b"\x81\xacservice_name\xa8checkout" + bytes(20000)):
            self.assertEqual(self.service_of(self.with_file(broken))["name"], "of_environ", broken[:40])

    def jar(self, folder: str, version: str) -> str:
        path = os.path.join(folder, "app.jar")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nMain-Class: {self.spin.main}\nImplementation-Version: {version}\n")
            for name in os.listdir(self.spin.folder):
                if name.endswith(".class"):
                    archive.write(os.path.join(self.spin.folder, name), name)
        return path

    def version_of(self, target: jvm.Jvm | bundle.Container, version: str) -> None:
        self.addCleanup(target.stop)
        proc.wait_until(lambda: self.daemon.get(f"/api/v1/jvms/{target.pid}").status == 200 and self.service_of(target)["version"] == version,
                        20, f"its version is {version}")

    def test_the_version_of_its_jar(self):
        """The manifest of the jar that the JVM has open counts, also once another jar has its name."""
        with tempfile.TemporaryDirectory(prefix="flamed-jar.") as folder:
            path = self.jar(folder, "2.4.1")
            by_jar = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", "-jar", path)
            os.unlink(path)
            self.version_of(by_jar, "2.4.1")
            path = self.jar(folder, "2.4.2")
            self.version_of(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", "-cp", f"/none:{path}:{self.spin.folder}", self.spin.main), "2.4.2")
            self.version_of(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=45", "-jar", path, wrap=["env", "DD_VERSION=7"]), "7")
        self.assertEqual(self.service_of(by_jar)["version"], "2.4.1")

    def test_the_version_of_its_image(self):
        """The tag of its container's image counts more than the manifest of its jar."""
        ident = secrets.token_hex(32)
        with tempfile.TemporaryDirectory(prefix="flamed-jar.") as folder, bundle.runtime_config(ident, {"container-name": "app", "image-name": "shop:prod-7"}):
            os.chmod(folder, 0o755)
            self.jar(folder, "2.4.1")
            self.version_of(bundle.Container(paths.jdk(17), folder, "-Xmx64m", "-Drest=45", "-jar", "/classes/app.jar", cgroups_path=f"/docker/{ident}"), "prod-7")

    def test_nothing_said(self):
        service = self.service_of(self.start())
        self.assertIn(service["source"], ("main", "unit", "container"), service) # this test may run in a container or unit
        self.assertTrue(service["name"])

    def test_over_a_restart(self):
        """The past and the store have both JVMs of a service, and no answer has others."""
        first = self.start(OTEL_SERVICE_NAME="restarted", DD_VERSION="1")
        self.start(OTEL_SERVICE_NAME="other")
        time.sleep(3)
        first.stop()
        second = self.start(OTEL_SERVICE_NAME="restarted", DD_VERSION="2")
        live = self.daemon.profile(seconds=2, service="restarted")
        self.assertEqual({p["pid"] for p in live.document["processes"]}, {second.pid}, live.describe())
        self.assertEqual({p["service"] for p in live.document["processes"]}, {"restarted"})
        # The recorder sampled both; the store has one capture of them.
        for path, pids in (("/profile", {first.pid, second.pid}), ("/api/v1/query", {second.pid})):
            answer = self.daemon.get(path + "?from=-60s&format=json&service=restarted")
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual({p["pid"] for p in answer.json()["processes"]}, pids, path)
        listed = self.daemon.get("/api/v1/captures?service=restarted").json()["captures"]
        self.assertEqual(len(listed), 1, listed)
        self.assertEqual(listed[0]["labels"]["service"], "restarted")
        self.assertEqual(self.daemon.get("/api/v1/captures?service=other").json()["captures"], [])

    def releases(self, name: str, start) -> None:
        """Starts a service four times, in two releases. Compares the second and the third run."""
        started, times = [], []
        for number, release in enumerate((("DD_VERSION=1",), ("DD_VERSION=1",), ("DD_VERSION=2", "ADDED=1"), ("DD_VERSION=2", "ADDED=1"))):
            before = time.time()
            with start(f"OTEL_SERVICE_NAME={name}", f"OTHERS={2 * number}", *release) as target:
                started.append((before - 0.1, time.time(), target.pid))
                for cpu_s in (1.0, 2.5) if number in (1, 2) else (0.5,):
                    proc.wait_until(lambda cpu_s=cpu_s, pid=target.pid: proc.cpu_seconds(pid) > cpu_s, 240, "it has worked")
                    times.append(datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        listed = lambda: [s for s in self.daemon.get("/api/v1/services").json()["services"] if s["name"] == name]
        proc.wait_until(lambda: any(len(s["ended"]) == 4 and s["marks"] for s in listed()), 90, "the history has them all", interval=1)
        [service] = listed()
        self.assertEqual(sorted(service["versions"]), ["1", "2"])
        [mark] = service["marks"]
        self.assertEqual(mark["text"], f"{name} was started again: version 2 after 1.")
        earliest, latest, pid = started[2]
        self.assertEqual(mark["pid"], pid)
        self.assertTrue(earliest < datetime.datetime.fromisoformat(mark["time"].replace("Z", "+00:00")).timestamp() < latest, (mark, started))
        sides = {"service": name, "a": "/".join(times[1:3]), "b": "/".join(times[3:5]), "event": "cpu", "names": "merged"}
        answer = self.daemon.get("/api/v1/diff", **sides, format="collapsed")
        self.assertEqual(answer.status, 200, f"{answer}\n{sides}\n{service}\n" + self.daemon.get(
            "/profile", service=name, format="flat", **{"from": "-600s"}).text[:2000])
        lines = [line.rsplit(" ", 2) for line in answer.text.splitlines()]
        whole = sum(float(after) for _, _, after in lines)
        alone = {stack for stack, *weights in lines if min(map(float, weights)) == 0 and max(map(float, weights)) > 0.05 * whole}
        self.assertTrue(alone, answer.text)
        self.assertEqual({stack.rsplit(";", 1)[1] for stack in alone}, {"Generated.added"}, alone)
        changes = self.daemon.get("/api/v1/diff", **sides, format="json").json()["changes"]
        more = sorted(changes, key=lambda c: -c["delta_self"])
        self.assertEqual((more[0]["name"], more[0]["a"]), ("Generated.added", 0), changes[:5])
        self.assertLess(more[1]["delta_self"], more[0]["delta_self"] / 2, changes[:5])

    def test_two_releases(self):
        """A service that was started four times is one, has one release at its second, and a comparison that shows what is new alone."""
        classes = jvm.Classes()
        classes.compile("Generated.java")
        self.releases("released", lambda *environment: jvm.Jvm(
            paths.jdk(17), *QUIET, "-cp", classes.folder, "Generated", "0", wrap=["env", *environment]))

    def test_two_releases_in_a_container(self):
        """The same holds for a container that is started again."""
        classes, ident = jvm.Classes(), secrets.token_hex(32)
        classes.compile("Generated.java")
        self.releases("contained", lambda *environment: bundle.Container(
            paths.jdk(17), classes.folder, *QUIET, "-cp", "/classes", "Generated", "0", environment=environment, cgroups_path=f"/docker/{ident}"))

    def test_no_such_service(self):
        self.start(OTEL_SERVICE_NAME="there")
        answer = self.daemon.get("/profile?service=nowhere&seconds=1")
        self.assertEqual(answer.status, 404, answer)
        self.assertIn("no JVM belongs to a service 'nowhere'", answer.json()["detail"])
        self.assertIn("there", answer.json()["remedy"])
