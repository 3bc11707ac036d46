# SPDX-License-Identifier: Apache-2.0
"""Programs that pull from flamed: promtool and a real Prometheus (/metrics, /sd), `go tool pprof` (/debug/pprof), fifty scrapers at once,
and the examples of docs/scraping.md."""
import collections
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

from harness import debian, gopprof, jvm, paths, proc
from harness.contract import Pprof
from harness.daemon import Daemon, free_port


def examples() -> dict[str, str]:
    """Returns heading -> first code block under it, of docs/scraping.md."""
    with open(os.path.join(paths.TREE, "docs/scraping.md"), encoding="utf-8") as f:
        return {title: block for title, block in re.findall(r"^## (.+?)\n.*?^```\w+\n(.*?)^```", f.read(), re.M | re.S)}


class Prometheus:
    """A Prometheus on loopback, in its own folder, with the given configuration."""

    def __init__(self, config: str, *options: str):
        self.folder = tempfile.TemporaryDirectory(prefix="flamed-prometheus.")
        path = os.path.join(self.folder.name, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(config)
        self.port = free_port()
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [*proc.ENDS_WITH_US, debian.program("prometheus", "prometheus"), "--config.file=" + path,
             "--storage.tsdb.path=" + self.folder.name + "/data", f"--web.listen-address=127.0.0.1:{self.port}",
             "--web.console.templates=" + self.folder.name, "--web.console.libraries=" + self.folder.name, *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)

    def api(self, path: str, **parameters):
        """Returns the data of an answer; None until Prometheus is up."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def values(self, query: str) -> list[tuple[dict, float]]:
        data = self.api("query", query=query)
        return [(row["metric"], float(row["value"][1])) for row in data["result"]] if data else []

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()


class Scraping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        cls.jvm = jvm.Jvm(paths.jdk(17), "-Drest=15", "-Xmx64m", *jvm.spin_options(cls.spin), "-cp", cls.spin.folder, cls.spin.main)
        cls.addClassCleanup(cls.jvm.stop)
        cls.pid = cls.jvm.pid
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def promtool(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([debian.program("prometheus", "promtool"), *arguments], input=text, capture_output=True, text=True,
                              timeout=60)

    def test_metrics_please_promtool(self):
        self.daemon.profile(pid=self.pid, seconds=0.2)
        self.daemon.get("/no/such/route")
        answer = self.daemon.get("/metrics")
        result = self.promtool("check", "metrics", text=answer.text)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        labels = set(re.findall(r'[{,](\w+)="', answer.text))
        self.assertLessEqual(labels, {"version", "process", "reason", "pid", "main", "container", "pod", "namespace", "service", "category", "operation",
                                      "route", "status", "code", "action", "method", "le", "quantile", "result", "set", "format",
                                      "quota", "pool", "collector", "area", "kind", "tier", "signal", "target", "function", "class", "charged"})
        others = re.sub(r"^flamed_function_.*", "", answer.text, flags=re.M)
        self.assertNotIn(self.spin.method.rsplit(".", 1)[1], others, "a method in a label that has no bound")
        self.assertNotIn("spinner", answer.text, "no thread in a label")

    def test_prometheus_scrapes_and_follows(self):
        """It has the series of /metrics, by the example of the documentation. From /sd it learns which JVMs start and end."""
        config = examples()["Prometheus"].replace("localhost:7979", f"127.0.0.1:{self.daemon.port}")
        config += f"""
  - job_name: jvms
    http_sd_configs:
      - url: http://127.0.0.1:{self.daemon.port}/sd
        refresh_interval: 2s
    relabel_configs:
      - source_labels: [__param_pid]
        target_label: pid
      - action: labeldrop
        regex: __param_pid
"""
        server = Prometheus("global: {scrape_interval: 1s, scrape_timeout: 1s}\n" + config)
        self.addCleanup(server.stop)

        def targets() -> dict[str, dict]:
            data = server.api("targets", state="active") or {"activeTargets": []}
            return {t["labels"].get("pid", ""): t for t in data["activeTargets"] if t["labels"]["job"] == "jvms"}

        def java() -> float:
            found = server.values(f'sum(flamed_jvm_cpu_seconds_total{{job="flamed",pid="{self.pid}",category="java"}})')
            return found[0][1] if found else 0.0

        proc.wait_until(lambda: server.values('up{job="flamed"} == 1'), 30, "it has scraped /metrics", 0.2)
        proc.wait_until(lambda: str(self.pid) in targets(), 30, "it has learnt of the JVM", 0.2)
        entry = targets()[str(self.pid)]
        self.assertEqual(entry["discoveredLabels"]["__meta_flamed_pid"], str(self.pid))
        self.assertEqual(entry["labels"]["service_name"], self.spin.main)
        self.assertEqual(entry["labels"]["main"], self.spin.main)
        proc.wait_until(lambda: targets()[str(self.pid)]["health"] == "up", 30, "it has scraped by what it learnt", 0.2)
        another = jvm.Jvm(paths.jdk(17), "-Drest=15", "-Xmx64m", "-cp", self.spin.folder, self.spin.main)
        self.addCleanup(another.stop)
        proc.wait_until(lambda: str(another.pid) in targets(), 30, "one that came", 0.2)
        first = java()
        another.stop()
        proc.wait_until(lambda: str(another.pid) not in targets(), 30, "one that went", 0.2)
        proc.wait_until(lambda: java() > max(first, 0.1), 30, "its CPU seconds rise", 0.2)
        server.log.seek(0)
        levels = collections.Counter(re.findall(r"\blevel=(\w+)", server.log.read().lower()))
        self.assertGreater(levels["info"], 0, "it says the level of each line")
        self.assertEqual(levels["error"], 0)

    def test_go_tool_pprof_agrees_with_collapsed(self):
        """All views of one capture agree, to the sample."""
        paths.need("go")
        running = self.daemon.capture(pid=self.pid, hz=499)
        used = proc.cpu_seconds(self.pid)
        proc.wait_until(lambda: proc.cpu_seconds(self.pid) > used + 0.5, 60, "it has used some CPU time")
        running.stop()
        capture = running.path
        with tempfile.NamedTemporaryFile(suffix=".pb.gz") as f:
            f.write(self.daemon.get(capture + "/profile", format="pprof").body)
            f.flush()
            ours = gopprof.collapsed(self.daemon.get(capture + "/profile", format="collapsed").text)
            self.assertGreater(sum(ours.values()), 100)
            self.assertEqual(gopprof.traces(f.name), ours)
            own: collections.Counter = collections.Counter()
            total: collections.Counter = collections.Counter()
            for stack, count in ours.items():
                own[stack[-1]] += count
                for name in set(stack):
                    total[name] += count
            self.assertEqual(gopprof.top(f.name), {name: (own[name], count) for name, count in total.items()})
            callers: collections.Counter = collections.Counter()
            callees: collections.Counter = collections.Counter()
            for stack, count in ours.items():
                for caller, name in zip(stack, stack[1:]):
                    if name == self.spin.method:
                        callers[caller] += count
                    if caller == self.spin.method:
                        callees[name] += count
            self.assertEqual(gopprof.peek(f.name, self.spin.method), (callers, callees))
            self.assertIn(self.spin.run, callers)
        raw = gopprof.tool("-raw", f"http://127.0.0.1:{self.daemon.port}/debug/pprof/profile?pid={self.pid}&seconds=2&hz=199")
        for wanted in ("samples/count cpu/nanoseconds", self.spin.method, "thread:[spinner]", "Comment:", "libjvm.so"):
            self.assertIn(wanted, raw)

    def test_fifty_scrapes_are_one_session(self):
        quiet, sets = self.daemon.perf_events(), self.metric("flamed_sampling_sets")
        self.assertEqual(sets, 1, "the flight recorder's")

        def scrape(seconds: int, answers: list) -> None: # like Parca and Alloy, which may send seconds twice
            answers.append(self.daemon.get("/debug/pprof/profile", seconds=[seconds, seconds], pid=self.pid))

        def are_running() -> bool:
            return self.metric("flamed_captures_running") == 50

        def fifty(seconds: int) -> tuple[bool, float, int, list]:
            """Returns whether all ran at the same time, the sets and events during that, and the answers."""
            answers: list = []
            threads = [threading.Thread(target=scrape, args=(seconds, answers)) for _ in range(50)]
            end = time.monotonic() + seconds
            for thread in threads:
                thread.start()
            while not are_running() and time.monotonic() < end:
                time.sleep(0.02)
            during, events = self.metric("flamed_sampling_sets"), self.daemon.perf_events()
            together = are_running()
            for thread in threads:
                thread.join()
            return together, during, events, answers

        with proc.CpuClock(self.pid) as clock:
            for seconds in (4, 15): # long enough for a busy machine to begin all before the first one ends
                together, during, events, answers = fifty(seconds)
                if together:
                    break
        self.assertTrue(together, "all are running")
        self.assertEqual(during, 2)
        self.assertLessEqual(events - quiet, os.cpu_count(), "one event for each CPU")
        self.assertEqual([a.status for a in answers], [200] * 50)
        self.assertEqual({a.headers["Content-Type"] for a in answers}, {"application/octet-stream"})
        self.assertEqual({a.headers["X-Flamed-Symbols"].split(":")[0] for a in answers}, {"memory"}, "who scrapes injects nothing")
        for a in answers:
            profile, samples = Pprof(a.body), int(a.headers["X-Flamed-Samples"])
            start = profile.time_nanos / 1e9
            due = 99 * (clock.at(start + profile.duration_nanos / 1e9) - clock.at(start))
            self.assertAlmostEqual(samples / due, 1, delta=0.1 + 4 / due ** 0.5, msg="each has all of its time")
            self.assertEqual(profile.counts, samples)
        proc.wait_until(lambda: self.daemon.perf_events() == quiet, 5, "the session ends with them")
        self.assertEqual(self.metric("flamed_sampling_sets"), 1)

    def metric(self, name: str) -> float:
        return float(next(line for line in self.daemon.get("/metrics").text.splitlines() if line.startswith(name + " ")).split()[1])

    def test_examples_are_right(self):
        """Checks the examples by promtool, as far as it knows them: Parca's file is Prometheus's except for profiling_config."""
        found = examples()
        parca = re.sub(r"\n    profiling_config:\n(      .*\n)+", "\n", found["Parca"])
        self.assertNotEqual(parca, found["Parca"])
        for name, text in (("Prometheus", found["Prometheus"]), ("Parca", parca)):
            with self.subTest(example=name), tempfile.NamedTemporaryFile("w", suffix=".yml") as f:
                f.write(text)
                f.flush()
                result = self.promtool("check", "config", f.name)
                self.assertEqual(result.returncode, 0, result)
        query = re.search(r"```promql\n(.*?)```", open(os.path.join(paths.TREE, "docs/scraping.md"), encoding="utf-8").read(), re.S)[1]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as f:
            json.dump({"groups": [{"name": "g", "rules": [{"record": "r", "expr": query}]}]}, f)
            f.flush()
            result = self.promtool("check", "rules", f.name)
            self.assertEqual(result.returncode, 0, result)
        # The paths in their profiling_config exist, with an accepted answer.
        for path in re.findall(r"path: (/\S+)", found["Parca"]):
            self.assertEqual(self.daemon.get(path, pid=self.pid, seconds=0.2).status, 200)
        self.assertEqual(found["Grafana Alloy, to Pyroscope"].count("{"), found["Grafana Alloy, to Pyroscope"].count("}"))
