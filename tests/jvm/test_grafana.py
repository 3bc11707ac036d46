# SPDX-License-Identifier: Apache-2.0
"""The dashboards and alert rules of docs/grafana: a real Prometheus that scrapes flamed answers each query, with data.
Its exemplars lead to the profile of their minute."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

from harness import debian, jvm, paths, proc, receiver
from harness.daemon import Daemon
from test_scraping import Prometheus

FOLDER = os.path.join(paths.TREE, "docs/grafana")
DASHBOARDS = ("fleet.json", "service.json")
SERVICE = "grafana-shop"
ADDRESS = "https://node.example:7979"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# A quiet JVM may lack these for a while, and histograms are empty at first.
MAY_BE_EMPTY = ("histogram_quantile", "/ count by", "(flamed_signal)", "(flamed_regression)", "throttled")


def panels(name: str) -> list[dict]:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)["panels"]


def asked(expression: str) -> str:
    return expression.replace("$__rate_interval", "15s").replace("$service", SERVICE)


# A function that was not listed a day ago, and a service that did not run.
HEAVIER = f"""rule_files: ["{FOLDER}/rules.yaml"]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'flamed_function_cpu_seconds_total{{service="shop",function="[other]"}}', values: '0+60x1600'}}
      - {{series: 'flamed_function_cpu_seconds_total{{service="shop",function="old"}}', values: '0+60x1600'}}
      - {{series: 'flamed_function_cpu_seconds_total{{service="shop",function="late"}}', values: '_x1500 0+60x100'}}
      - {{series: 'flamed_function_cpu_seconds_total{{service="new",function="a"}}', values: '_x1500 0+60x100'}}
    alert_rule_test:
      - eval_time: 1580m
        alertname: JvmFunctionHeavier
        exp_alerts:
          - exp_labels: {{severity: warning, service: shop, function: late}}
            exp_annotations:
              summary: "late takes 33.33% of the CPU time of shop, over twice the share of a day ago"
"""


def parsers():
    """Prometheus' own readers in Python, of OpenMetrics and of text 0.0.4."""
    folder = os.path.join(paths.CACHE, "prometheus_client-0.26.0")
    if not glob.glob(folder + "/*.whl"):
        got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "prometheus_client==0.26.0"],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, check=False)
        if got.returncode != 0:
            raise unittest.SkipTest(f"prometheus_client cannot be had: {got.stderr[-300:]}")
    sys.path.append(glob.glob(folder + "/*.whl")[0])
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics # pylint: disable=all
    from prometheus_client.parser import text_string_to_metric_families as text # pylint: disable=all
    return openmetrics, text


class Rules(unittest.TestCase):
    def test_a_function_that_was_not_listed_a_day_ago_is_heavier(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(HEAVIER)
            file.flush()
            told = subprocess.run([debian.program("prometheus", "promtool"), "test", "rules", file.name], capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)


class Grafana(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.spin = jvm.make_spin()
        target = jvm.Jvm(paths.jdk(17), "-Drest=45", "-Xmx64m", "-cp", cls.spin.folder, cls.spin.main, wrap=["env", "OTEL_SERVICE_NAME=" + SERVICE])
        cls.addClassCleanup(target.stop)
        engine = receiver.Receiver()
        cls.addClassCleanup(engine.stop)
        folder = tempfile.TemporaryDirectory(prefix="flamed-test.")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        config = os.path.join(folder.name, "flamed.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"external_url: {ADDRESS}\nmetrics_functions: ['^{cls.spin.main}']\npush:\n  - name: engine\n    url: {engine.url}\n")
        cls.daemon = Daemon("--recorder-hz=99", "--config", config)
        cls.addClassCleanup(cls.daemon.stop)
        cls.server = Prometheus(f"""global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{FOLDER}/rules.yaml"]
scrape_configs:
  - job_name: flamed
    static_configs:
      - targets: ["127.0.0.1:{cls.daemon.port}"]
""", "--enable-feature=exemplar-storage")
        cls.addClassCleanup(cls.server.stop)
        proc.wait_until(lambda: cls.server.values(f'count_over_time(flamed_jvm_cpu_seconds_total{{service="{SERVICE}",category="java"}}[1m]) > 3'),
                        90, "it has scraped the service several times", 0.5)

    def names(self) -> set[str]:
        return set(re.findall(r"^# TYPE (\w+)", self.daemon.get("/metrics").text, re.M))

    def check_names(self, expression: str, known: set[str]) -> None:
        found = set(re.findall(r"\bflamed_\w+", expression))
        self.assertTrue(found, expression)
        for name in found:
            self.assertIn(re.sub("_bucket$", "", name), known, expression)

    def test_each_panel_has_an_answer(self):
        known = self.names()
        for name in DASHBOARDS:
            for panel in panels(name):
                for target in panel["targets"]:
                    expression = asked(target["expr"])
                    self.check_names(expression, known)
                    data = self.server.api("query", query=expression)
                    self.assertIsNotNone(data, expression) # otherwise Prometheus answered with an error
                    self.assertNotIn("$", expression)
                    if not any(text in expression for text in MAY_BE_EMPTY):
                        proc.wait_until(lambda e=expression: self.server.values(e), 120, expression, 0.5) # some values come once a minute

    def test_the_rules_are_evaluated(self):
        known = self.names()
        deadline = time.monotonic() + 60
        while True:
            groups = self.server.api("rules")["groups"]
            rules = [rule for group in groups for rule in group["rules"]]
            if all(rule["health"] == "ok" for rule in rules) or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        with open(os.path.join(FOLDER, "rules.yaml"), encoding="utf-8") as file:
            self.assertEqual(len(rules), file.read().count("- alert:"))
        for rule in rules:
            self.assertEqual(rule["health"], "ok", rule)
            self.check_names(rule["query"], known)

    def test_exemplars_lead_to_their_minute(self):
        """The counters of a minute are what the profile has to which their exemplars lead."""
        def exemplars() -> dict[float, dict[str, tuple[float, str]]]:
            """Time -> function -> value and address."""
            now, found = time.time(), {}
            for row in self.server.api("query_exemplars", query=f'flamed_function_cpu_seconds_total{{service="{SERVICE}"}}', start=now - 900, end=now + 90) or []:
                for one in row["exemplars"]:
                    found.setdefault(float(one["timestamp"]), {})[row["seriesLabels"]["function"]] = (float(one["value"]), one["labels"]["flamed_url"])
            return found

        proc.wait_until(lambda: len(exemplars()) >= 2, 200, "there are exemplars of two minutes", 1)
        at, functions = sorted(exemplars().items())[1] # the first minute may have begun before flamed, or the JVM
        links = {link for _, link in functions.values()}
        self.assertEqual(len(links), 1)
        link = links.pop()
        self.assertTrue(link.startswith(f"{ADDRESS}/profile?service={SERVICE}&from="), link)
        self.assertLessEqual(len("flamed_url" + link), 128)
        text = self.daemon.get(link.removeprefix(ADDRESS) + "&format=collapsed").text
        profile = sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) / 99
        counted = sum(value for value, _ in functions.values()) # a minute of the history ends within a second of the clock's
        self.assertAlmostEqual(counted, profile, delta=0.05 * profile, msg=f"{at} {functions} {text}")

    def test_openmetrics_has_the_same_series(self):
        openmetrics, text = parsers()

        def series(parse, body: str) -> set[tuple]:
            return {(sample.name, *sorted(sample.labels.items())) for family in parse(body) for sample in family.samples}

        def same() -> bool:
            answer = self.daemon.get("/metrics", headers={"Accept": OPENMETRICS})
            self.assertEqual(answer.headers["Content-Type"], OPENMETRICS + "; charset=utf-8")
            return series(openmetrics, answer.text) == series(text, self.daemon.get("/metrics").text)

        proc.wait_until(same, 120, "both forms have the same series, as processes come and go")
