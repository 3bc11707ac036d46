# SPDX-License-Identifier: Apache-2.0
"""Nodes of a fleet, each in a network of its own, push to one real OpenTelemetry Collector, and one Prometheus scrapes them over TLS with a
token. Then each pushes a day of such minutes, one right after another, with the collector away for an hour; and so do more nodes for a few
minutes. Counts what arrives by node, series, bytes, and the cost of pushing. FLAMED_FLEET_NODES, _JVMS and _SERVICES (per node), _MINUTES,
_DAY (minutes), _MORE (nodes): another size. FLAMED_FLEET_PRINT=1 prints the figures of docs/fleet.md."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon
from test_collector import Collector
from test_scraping import Prometheus
from test_tls import Served

sys.path.append(os.path.join(paths.TREE, "tests/formats"))
import readers as readers_of_formats # pylint: disable=wrong-import-position

NODES, JVMS, SERVICES, MINUTES, DAY, MORE = (int(os.environ.get("FLAMED_FLEET_" + name, default)) for name, default in (
    ("NODES", 5), ("JVMS", 3), ("SERVICES", 3), ("MINUTES", 2), ("DAY", 1440), ("MORE", 100))) # services have the same names on each node
AWAY = (DAY // 2, DAY // 2 + 60) # minutes of the day without a collector
FIRST_MINUTE = 29000000 # of the day: push_day.c
EVENTS = ("cpu", "wall", "lock")
NETWORK = "198.51.100." # TEST-NET-2: never a real address
HUB = NETWORK + "254"
PORT = 7979


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


class Node:
    """flamed in namespaces of its own, with JVMs beside it."""

    def __init__(self, test: "Fleet", number: int):
        self.address, space = NETWORK + str(number + 1), f"flamed-{os.getpid()}-{number}"
        link, peer = f"fl{os.getpid() % 100000}.{number}", f"fp{os.getpid() % 100000}.{number}"
        ip("netns", "add", space)
        test.addCleanup(subprocess.run, ["ip", "netns", "del", space], check=False)
        ip("link", "add", link, "type", "veth", "peer", "name", peer, "netns", space)
        ip("link", "set", link, "master", test.bridge, "up")
        ip("-n", space, "addr", "add", self.address + "/24", "dev", peer)
        ip("-n", space, "link", "set", peer, "up")
        ip("-n", space, "link", "set", "lo", "up")
        self.link, self.space = link, space
        inside = ["nsenter", f"--net=/run/netns/{space}", "unshare", "-mpfu", "--mount-proc", "--kill-child",
                  "sh", "-c", f'hostname node-{number} && exec "$@"', "sh"]
        # The test's own requests use the Unix socket: flamed's TCP address is in the namespace.
        self.store = os.path.join(test.scratch.name, f"store-{number}")
        os.mkdir(self.store)
        self.daemon = Daemon("--config", test.config, "--listen", f"{self.address}:{PORT}", wrap=inside, wait=False, store=self.store)
        test.addCleanup(self.stop)
        proc.wait_until(lambda: self.is_ready(), 60, "flamed is ready")
        self.beside = ["nsenter", "-t", str(self.daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
        self.jvms: list[jvm.Jvm] = []
        self.start_jvms(test)

    def start_jvms(self, test: "Fleet") -> None:
        """Starts the node's JVMs, in place of those that run."""
        self.stop_jvms()
        for i in range(JVMS):
            self.jvms.append(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=20", f"-Dotel.service.name=service-{i % SERVICES}", "-cp",
                                     test.spin.folder, test.spin.main, wrap=self.beside))
            test.addCleanup(self.jvms[-1].stop)

    def stop(self) -> None:
        """Stops the node's JVMs and flamed, once."""
        self.stop_jvms()
        if os.path.exists(self.daemon.folder):
            self.daemon.stop()

    def stop_jvms(self) -> None:
        while self.jvms:
            self.jvms.pop().stop()

    def is_ready(self) -> bool:
        try:
            return self.daemon.get("/readyz", unix=True, timeout=5).json()["status"] != "loading"
        except OSError:
            return False

    def status(self) -> dict:
        return self.daemon.get("/api/v1/push", unix=True).json()["targets"][0]

    def wire_bytes(self) -> int:
        """Returns the bytes that have left the node's network."""
        return int(proc.read(f"/sys/class/net/{self.link}/statistics/rx_bytes"))

    def push_seconds(self) -> float:
        """Returns the CPU time of the thread that folds, and of flamed-push."""
        pids, ns = self.daemon.processes(), 0
        for pid in pids["flamed"] + pids["flamed-push"]:
            for task in os.listdir(f"/proc/{pid}/task"):
                if proc.read(f"/proc/{pid}/task/{task}/comm").strip() in ("push", "flamed-push"):
                    ns += int(proc.read(f"/proc/{pid}/task/{task}/schedstat").split()[0])
        return ns / 1e9


class Fleet(Served):
    def setUp(self):
        paths.need("ip", "nsenter")
        self.spin = jvm.make_spin()
        self.bridge = f"fb{os.getpid() % 100000}"
        try:
            ip("link", "add", self.bridge, "type", "bridge")
        except (subprocess.CalledProcessError, OSError) as e:
            raise unittest.SkipTest(f"no network namespaces here: {e}") from e
        self.addCleanup(subprocess.run, ["ip", "link", "del", self.bridge], check=False)
        ip("addr", "add", HUB + "/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        self.scratch = tempfile.TemporaryDirectory(prefix="flamed-test.")
        self.addCleanup(self.scratch.cleanup)
        os.chmod(self.scratch.name, 0o755) # flamed's user has stores there
        self.engine = Collector(self.scratch.name, HUB)
        self.addCleanup(self.engine.stop, hard=True)
        self.engine.start()
        self.read_files: set[str] = set() # of the collector
        self.token_text, rule = self.token("prometheus", "view")
        push = f"""push:
  - name: engine
    url: {self.engine.url}
    every: 1m
    events: [{", ".join(EVENTS)}]
    link: https://node.example.com:{PORT}
"""
        self.config = self.configure(self.tls() + "access:\n" + rule + push)
        self.push_alone = self.configure(push, "push.yaml")

    def scraper(self, nodes: list[Node]) -> Prometheus:
        server = Prometheus(f"""global: {{scrape_interval: 15s, scrape_timeout: 10s}}
scrape_configs:
  - job_name: flamed
    scheme: https
    authorization: {{credentials: {self.token_text}}}
    tls_config: {{ca_file: {self.ca.cert}, server_name: node.example.com}}
    static_configs: [{{targets: [{", ".join(f"'{node.address}:{PORT}'" for node in nodes)}]}}]
""")
        self.addCleanup(server.stop)
        return server

    def test_nodes_push_and_are_scraped(self):
        nodes = [Node(self, i) for i in range(NODES)]
        server = self.scraper(nodes)
        proc.wait_until(lambda: all(node.status()["sent_bodies"] for node in nodes), 240, "each node has pushed", 1)
        self.push_for_minutes(nodes, server)
        self.restart_jvms(nodes, server)
        recorded = []
        for node in nodes:
            status = node.status()
            self.assertEqual((status["dropped"], status["rejected"], status["missed_minutes"]), (0, 0, 0), status)
            node.stop()
            recorded.append(node.store)
        self.arrived() # what has come until now is counted
        self.push_a_day(nodes, recorded)
        self.push_from_more(recorded[0])

    def push_for_minutes(self, nodes: list[Node], server: Prometheus) -> None:
        before = [(node.push_seconds(), node.status(), node.wire_bytes()) for node in nodes]
        began = time.monotonic()
        proc.wait_until(lambda: all(node.status()["sent_bodies"] >= status["sent_bodies"] + MINUTES for node, (_, status, _) in zip(nodes, before)),
                        120 * (MINUTES + 1), "each has pushed so many minutes more", 1)
        seconds = time.monotonic() - began
        share = sum(node.push_seconds() - cpu for node, (cpu, _, _) in zip(nodes, before)) / seconds / NODES
        wire = sum(node.wire_bytes() - sent for node, (_, _, sent) in zip(nodes, before)) / seconds / NODES
        bodies, pushed = (sum(node.status()[name] - status[name] for node, (_, status, _) in zip(nodes, before)) for name in ("sent_bodies", "sent_bytes"))
        by_node = self.arrived()
        self.check(by_node, [f"node-{i}" for i in range(NODES)])
        self.assertLess(share, 0.01, "CPUs for pushing, a node")
        self.assertEqual(number(server, "sum(up)"), NODES)
        functions = "count(flamed_function_cpu_seconds_total{function=\"[other]\",service=~\"service-.*\"})"
        proc.wait_until(lambda: number(server, functions) == NODES * min(SERVICES, JVMS), 60, "all services have function metrics", 1)
        self.report({"nodes, JVMs": (NODES, NODES * JVMS), "series in the engine": series_of(by_node),
                     "series in Prometheus, a node": number(server, "max(scrape_samples_scraped)"), "bytes a request": pushed / bodies,
                     "MB a node and day": pushed / seconds / NODES * 86400 / 1e6, "MB a node and day that leave it, scrapes included": wire * 86400 / 1e6,
                     "percent of a CPU for pushing, a node": 100 * share})

    def restart_jvms(self, nodes: list[Node], server: Prometheus) -> None:
        """A restart makes no series in the engine. In Prometheus it makes those of each JVM."""
        kept = "count(last_over_time({job=\"flamed\"}[30m]))"
        before = number(server, kept)
        for node in nodes:
            node.start_jvms(self)
        sent = [node.status()["sent_bodies"] for node in nodes]
        proc.wait_until(lambda: all(node.status()["sent_bodies"] >= bodies + 2 for node, bodies in zip(nodes, sent)), 360, "two minutes more", 1)
        by_node = self.arrived()
        self.check(by_node, [f"node-{i}" for i in range(NODES)])
        self.report({"series in the engine after a restart of all JVMs": series_of(by_node), "series in Prometheus before it": before,
                     "and with those of the new JVMs": number(server, kept)})

    def push_a_day(self, nodes: list[Node], recorded: list[str]) -> None:
        """Each node pushes a day of its recorded minutes. All arrive once, but for those that are too old after an hour."""
        spools, figures = [], []
        for number in range(NODES):
            spools.append(os.path.join(self.scratch.name, f"spool-{number}"))
            os.mkdir(spools[-1])
        for first, end in ((0, AWAY[0]), AWAY, (AWAY[1], DAY)):
            away = (first, end) == AWAY
            if away:
                self.engine.stop()
            parts = [self.part(f"node-{i}", recorded[i], spools[i], first, end - first, away, node.space) for i, node in enumerate(nodes)]
            figures.append([finished(part) for part in parts])
            if away:
                self.engine.start()
        by_node = self.arrived()
        self.check(by_node, [f"node-{i}" for i in range(NODES)])
        total = {name: [sum(part[name] for part in of_node) for of_node in zip(*figures)] for name in figures[0][0] if name != "last_error"}
        for i in range(NODES):
            minutes = sorted(collections.Counter(minute for series in by_node[f"node-{i}"].values() for minute in series))
            lost = sum(part[i]["dropped"] for part in figures)
            self.assertLessEqual(lost, 2)
            self.assertEqual(len(minutes) + lost, DAY)
            self.assertEqual((total["requests"][i], total["rejected"][i], total["missed"][i]), (DAY - lost, 0, 0), figures)
            self.assertLessEqual(minutes[-1] - minutes[0], DAY - 1)
        self.assertGreater(sum(part["failures"] for part in figures[1]), 0)
        self.report({"the day: minutes recorded of each node": [part["recorded_minutes"] for part in figures[0]], "series": series_of(by_node),
                     "requests": sum(total["requests"]), "dropped": sum(total["dropped"]), "refused connections": sum(total["failures"]),
                     "bytes a request": sum(total["bytes"]) / sum(total["requests"]), "MB a node and day": sum(total["bytes"]) / NODES / 1e6,
                     "ms of CPU a push": 1000 * (sum(total["cpu"]) + sum(total["cpu_flamed_push"])) / NODES / DAY,
                     "percent of a CPU, a node": 100 * (sum(total["cpu"]) + sum(total["cpu_flamed_push"])) / NODES / DAY / 60})

    def push_from_more(self, recorded: str) -> None:
        """More nodes push three minutes each, which the first one has recorded."""
        began, names = time.monotonic(), [f"ip-10-0-{i // 250}-{i % 250}" for i in range(MORE)]
        for i, name in enumerate(names):
            spool = os.path.join(self.scratch.name, f"spool-of-{i}")
            os.mkdir(spool)
            finished(self.part(name, recorded, spool, 0, 3, False))
        by_node = self.arrived()
        self.check(by_node, names)
        self.report({"more nodes": len(by_node), "series of those": series_of(by_node), "seconds": time.monotonic() - began})

    def part(self, node: str, recorded: str, spool: str, first: int, minutes: int, away: bool, space: str = "") -> subprocess.Popen:
        inside = ["nsenter", f"--net=/run/netns/{space}"] if space else []
        return subprocess.Popen([*inside, paths.program("tests/bench/push_day"), self.push_alone, paths.program("flamed-push"), recorded, spool, node,
                                 str(first), str(minutes), "away" if away else "here"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def check(self, by_node: dict, names: list[str]) -> None:
        """Checks that each node has pushed each service."""
        self.assertEqual(set(by_node), set(names))
        for node, series in by_node.items():
            self.assertEqual({service for service, _ in series}, {f"service-{i}" for i in range(min(SERVICES, JVMS))}, node)
            self.assertIn("process_cpu:cpu:nanoseconds", {kind for _, kind in series}, node)

    def arrived(self) -> dict[str, dict[tuple, set[int]]]:
        """Returns node -> service and event -> minutes, by the collector's own code, of what has come since the last call."""
        by_node: dict[str, dict[tuple, set[int]]] = collections.defaultdict(lambda: collections.defaultdict(set))
        files = sorted(set(self.engine.files()) - self.read_files)
        self.read_files.update(files)
        for i in range(0, len(files), 50):
            for samples in readers_of_formats.collector(*files[i:i + 50]).values():
                for s in samples:
                    by_node[s["resource"]["host.name"]][s["resource"]["service.name"], s["pyroscope"]].add(s["begin"] // 60_000_000_000)
        return by_node

    @staticmethod
    def report(figures: dict) -> None:
        if os.environ.get("FLAMED_FLEET_PRINT"):
            for name, value in figures.items():
                print(f"{name}: {value}", flush=True)


def number(server: Prometheus, query: str) -> float:
    return proc.wait_until(lambda: server.values(query), 60, f"Prometheus answers {query}")[0][1]


def series_of(by_node: dict) -> int:
    return sum(len(series) for series in by_node.values())


def finished(part: subprocess.Popen) -> dict:
    """Returns what push_day prints at its end."""
    out, errors = part.communicate(timeout=1500)
    if part.returncode:
        raise AssertionError(f"push_day: {part.returncode} {errors}")
    return json.loads(out)


if __name__ == "__main__":
    unittest.main()
