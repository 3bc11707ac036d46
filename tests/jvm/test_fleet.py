# SPDX-License-Identifier: Apache-2.0
"""Nodes of a fleet, each in a network of its own, push to one engine, and one Prometheus scrapes them over TLS with a token. Counts the
samples that arrive by node, and the cost of pushing. FLAMED_FLEET_NODES, _JVMS (per node), _MINUTES: another size. FLAMED_FLEET_PRINT=1
prints the figures of docs/fleet.md."""
import collections
import os
import subprocess
import sys
import tempfile
import time
import unittest

from harness import jvm, paths, proc, receiver
from harness.daemon import Daemon
from test_scraping import Prometheus
from test_tls import Served

sys.path.append(os.path.join(paths.TREE, "tests/formats"))
import readers as readers_of_formats # pylint: disable=wrong-import-position

NODES, JVMS, MINUTES = (int(os.environ.get("FLAMED_FLEET_" + name, default)) for name, default in (("NODES", 5), ("JVMS", 3), ("MINUTES", 2)))
SERVICES = 3 # per node, the same names on each
EVENTS = ("cpu", "wall", "lock")
NETWORK = "198.51.100." # TEST-NET-2: never a real address
HUB = NETWORK + "254"
PORT = 7979
OTLP = "/v1development/profiles"


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
        inside = ["nsenter", f"--net=/run/netns/{space}", "unshare", "-mpfu", "--mount-proc", "--kill-child",
                  "sh", "-c", f'hostname node-{number} && exec "$@"', "sh"]
        # The test's own requests use the Unix socket: flamed's TCP address is in the namespace.
        self.daemon = Daemon("--config", test.config, "--listen", f"{self.address}:{PORT}", wrap=inside, wait=False)
        test.addCleanup(self.daemon.stop)
        proc.wait_until(lambda: self.is_ready(), 60, "flamed is ready")
        beside = ["nsenter", "-t", str(self.daemon.top()), "-m", "-p", "setpriv", "--pdeathsig", "KILL"]
        for i in range(JVMS):
            target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-Drest=20", f"-Dotel.service.name=service-{i % SERVICES}", "-cp", test.spin.folder,
                             test.spin.main, wrap=beside)
            test.addCleanup(target.stop)

    def is_ready(self) -> bool:
        try:
            return self.daemon.get("/readyz", unix=True, timeout=5).json()["status"] != "loading"
        except OSError:
            return False

    def status(self) -> dict:
        return self.daemon.get("/api/v1/push", unix=True).json()["targets"][0]

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
        self.engine = receiver.Receiver(address=HUB)
        self.addCleanup(self.engine.stop)
        self.token_text, rule = self.token("prometheus", "view")
        self.config = self.configure(self.tls() + "access:\n" + rule + f"""push:
  - name: engine
    url: {self.engine.url}
    every: 1m
    events: [{", ".join(EVENTS)}]
    link: https://node.example.com:{PORT}
""")

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
        before = [(node.push_seconds(), node.status()["sent_bodies"]) for node in nodes]
        began = time.monotonic()
        proc.wait_until(lambda: all(node.status()["sent_bodies"] >= bodies + MINUTES for node, (_, bodies) in zip(nodes, before)),
                        120 * (MINUTES + 1), "each has pushed so many minutes more", 1)
        seconds = time.monotonic() - began
        share = sum(node.push_seconds() - cpu for node, (cpu, _) in zip(nodes, before)) / seconds / NODES
        by_node = self.arrived()
        self.assertEqual(set(by_node), {f"node-{i}" for i in range(NODES)})
        for node, series in by_node.items():
            self.assertEqual({service for service, _ in series}, {f"service-{i}" for i in range(min(SERVICES, JVMS))}, node)
            self.assertIn("process_cpu:cpu:nanoseconds", {kind for _, kind in series}, node)
        for node in nodes:
            status = node.status()
            self.assertEqual((status["dropped"], status["rejected"], status["missed_minutes"]), (0, 0, 0), status)
        self.assertLess(share, 0.01, "CPUs for pushing, a node")
        up = proc.wait_until(lambda: server.values("sum(up)"), 30, "Prometheus answers")
        self.assertEqual(up[0][1], NODES)
        pushed = server.values("count(flamed_function_cpu_seconds_total{function=\"[other]\",service=~\"service-.*\"})")
        self.assertEqual(pushed[0][1], NODES * min(SERVICES, JVMS))
        self.report(server, by_node, share)

    def arrived(self) -> dict[str, collections.Counter]:
        """Returns node -> service and event -> samples, by the collector's own code."""
        folder = tempfile.TemporaryDirectory(prefix="flamed-test.")
        self.addCleanup(folder.cleanup)
        paths_of = []
        for number, request in enumerate(self.engine.taken(OTLP)):
            paths_of.append(os.path.join(folder.name, f"{number}.pb"))
            with open(paths_of[-1], "wb") as file:
                file.write(request.body)
        by_node: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for samples in readers_of_formats.collector(*paths_of).values():
            for s in samples:
                by_node[s["resource"]["host.name"]][s["resource"]["service.name"], s["pyroscope"]] += sum(s["values"])
        return by_node

    def report(self, server: Prometheus, by_node: dict[str, collections.Counter], share: float) -> None:
        requests = self.engine.taken(OTLP)
        figures = {
            "nodes, JVMs": (NODES, NODES * JVMS), "series in the engine": sum(len(series) for series in by_node.values()),
            "series in Prometheus, a node": server.values("max(scrape_samples_scraped)")[0][1],
            "bytes a request": sum(len(r.raw) for r in requests) / len(requests),
            "MB a node and day": sum(len(r.raw) for r in requests) / len(requests) * 1440 / 1e6,
            "percent of a CPU for pushing, a node": 100 * share}
        if os.environ.get("FLAMED_FLEET_PRINT"):
            for name, value in figures.items():
                print(f"{name}: {value}")


if __name__ == "__main__":
    unittest.main()
