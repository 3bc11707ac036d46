# SPDX-License-Identifier: Apache-2.0
"""The dashboards and alert rules of docs/grafana: a real Prometheus that scrapes flamed answers each query, with data."""
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from harness import debian, jvm, paths, proc, receiver
from harness.daemon import Daemon
from test_scraping import Prometheus

FOLDER = os.path.join(paths.TREE, "docs/grafana")
DASHBOARDS = ("fleet.json", "service.json")
SERVICE = "grafana-shop"
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
            file.write(f"metrics_functions: ['^{cls.spin.main}']\npush:\n  - name: engine\n    url: {engine.url}\n")
        cls.daemon = Daemon("--recorder-hz=99", "--config", config)
        cls.addClassCleanup(cls.daemon.stop)
        cls.server = Prometheus(f"""global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{FOLDER}/rules.yaml"]
scrape_configs:
  - job_name: flamed
    static_configs:
      - targets: ["127.0.0.1:{cls.daemon.port}"]
""")
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
