# SPDX-License-Identifier: Apache-2.0
"""Pushing to engines that are slow, without an address, or behind TLS that is wrong: what can arrive does, once."""
import os
import shutil
import socket
import ssl
import time
import unittest

from harness import certs, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile
from harness.pushing import OTLP, Pushing

EVERY = 5
AWAY_SECONDS = int(os.environ.get("FLAMED_AWAY_SECONDS", 0))


def serves(pair: tuple[str, str], clients: str = "") -> ssl.SSLContext:
    """Returns how a server shows PAIR, and requires certificates of CLIENTS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Engines(Pushing):
    def test_slow_ones_and_those_without_an_address(self):
        """A slow engine gets each interval once. A name without an address is tried again, and nothing else waits for either."""
        def slow(_):
            time.sleep(EVERY + 2)
            return 200, {}, b""

        engine, quick = self.engine(slow), self.engine()
        daemon = self.flamed(f"name: slow\nurl: {engine.url}\nevery: {EVERY}s", f"name: quick\nurl: {quick.url}\nevery: {EVERY}s",
                             f"name: lost\nurl: http://engine.invalid:4318\nevery: {EVERY}s")
        longest = 0.0

        def settled() -> bool:
            nonlocal longest
            began = time.monotonic()
            self.assertEqual(daemon.get("/healthz", timeout=10).status, 200)
            longest = max(longest, time.monotonic() - began)
            lost = self.status(daemon, "lost")
            return self.status(daemon, "slow")["sent_bodies"] >= 2 and lost["queued_bodies"] >= 3 and lost["last_error"]

        proc.wait_until(settled, 90, "the slow one has taken two, and the lost one has failed", 0.2)
        self.assertLess(longest, 2 * proc.PATIENCE, "seconds for /healthz")
        self.assertGreater(len(quick.taken(OTLP)), self.status(daemon, "slow")["sent_bodies"])
        self.assertGreaterEqual(self.arrived_once(engine), 2)
        for name in ("slow", "quick"):
            status = self.status(daemon, name)
            self.assertEqual((status["last_error"], status["dropped"], status["rejected"]), (None, 0, 0), status)
        lost = self.status(daemon, "lost")
        self.assertRegex(lost["last_error"], r"engine\.invalid|Resolving timed out") # a slow resolver's error has no name
        self.assertEqual((lost["dropped"], lost["rejected"], lost["last_success"]), (0, 0, None))

    def test_a_proxy(self):
        """Requests go to the proxy, which alone knows the engine's address, except for those that no_proxy names."""
        proxy, direct = self.engine(), self.engine()
        daemon = self.flamed(f"name: proxied\nurl: http://engine.invalid:4318\nevery: {EVERY}s\nproxy_url: {proxy.url}",
                             f"name: direct\nurl: {direct.url}\nevery: {EVERY}s\nproxy_url: {proxy.url}\nno_proxy: 127.0.0.1")
        proc.wait_until(lambda: self.status(daemon, "proxied")["sent_bodies"] and self.status(daemon, "direct")["sent_bodies"], 60, "both arrive")
        self.assertEqual({request.path for request in proxy.taken()}, {"http://engine.invalid:4318" + OTLP})
        self.assertEqual({request.path for request in direct.taken()}, {OTLP})

    def test_tls(self):
        """An engine that another authority signed, or for another name, gets nothing until that is mended. With a client's certificate flamed
        reaches one that requires it, and without one it does not."""
        paths.need("openssl")
        ours, theirs = certs.Authority(self.folder, "ours"), certs.Authority(self.folder, "theirs")
        good = ours.sign("good", "/CN=engine", "IP:127.0.0.1")
        client = ours.sign("client", "/CN=flamed", usage="clientAuth")
        engines = {"mutual": self.engine(context=serves(good, ours.cert)), "anonymous": self.engine(context=serves(good, ours.cert)),
                   "other": self.engine(context=serves(good)),
                   "name": self.engine(context=serves(ours.sign("elsewhere", "/CN=engine", "DNS:engine.example")))}
        trust = shutil.copy(theirs.cert, os.path.join(self.folder, "trust.pem"))
        of_client = f"\n  cert_file: {client[0]}\n  key_file: {client[1]}"
        daemon = self.flamed(*(f"name: {name}\nurl: {engine.url.replace('http:', 'https:')}\nevery: {EVERY}s\ntls_config:\n  ca_file: "
                               + (trust if name == "other" else ours.cert) + (of_client if name == "mutual" else "")
                               for name, engine in engines.items()))
        proc.wait_until(lambda: engines["mutual"].taken(OTLP) and all(self.status(daemon, name)["last_error"] for name in engines if name != "mutual"),
                        60, "one has arrived, and the others have failed")
        for name in ("anonymous", "other", "name"):
            status = self.status(daemon, name)
            self.assertEqual((engines[name].taken(), status["last_success"], status["rejected"]), ([], None, 0), status)
            self.assertGreater(status["queued_bodies"], 0, name)
        waiting = self.status(daemon, "other")
        self.assertIn("certificate", waiting["last_error"])
        self.assertIsNone(self.status(daemon, "mutual")["last_error"])
        shutil.copy(ours.cert, trust)
        proc.wait_until(lambda: self.status(daemon, "other")["sent_bodies"] and not self.status(daemon, "other")["queued_bodies"], 90,
                        "what has waited arrives")
        self.assertGreaterEqual(self.arrived_once(engines["other"]), waiting["queued_bodies"])


@unittest.skipUnless(AWAY_SECONDS, "FLAMED_AWAY_SECONDS: for how long")
class Away(Pushing):
    def test_nothing_waits_for_engines_that_are_away(self):
        """Two engines are away for long: nobody listens for one, the other takes connections and never answers. The recorder has all CPU time
        of the JVM, flamed answers at once, and holds as much memory, files and threads as a flamed beside it that does not push."""
        mute = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(mute.close)
        alone = Daemon("--recorder-hz=99")
        self.addCleanup(alone.stop)
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0)) # and does not listen
            daemon = self.flamed(*(f"name: {name}\nurl: http://127.0.0.1:{port}\nevery: {EVERY}s\nevents: [cpu, wall]" for name, port in (
                ("refused", unheard.getsockname()[1]), ("mute", mute.getsockname()[1]))))
            proc.wait_until(lambda: all(self.status(daemon, name)["queued_bodies"] >= 3 for name in ("refused", "mute")), 60, "requests wait")
            longest, more, cpu, began = 0.0, [], proc.cpu_seconds(self.target.pid), time.time()
            while time.time() < began + AWAY_SECONDS:
                asked = time.monotonic()
                self.assertEqual(daemon.get("/healthz", timeout=10).status, 200)
                longest = max(longest, time.monotonic() - asked)
                more.append([mine - others for mine, others in zip(self.held(daemon), self.held(alone))])
                time.sleep(1)
            cpu, ended = proc.cpu_seconds(self.target.pid) - cpu, time.time()
            stamp = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
            sampled = Profile(daemon.get("/profile", pid=self.target.pid, format="json", **{"from": stamp(began), "to": stamp(ended)})).samples / 99
        third = len(more) // 3
        grown = [sorted(at[i] for at in more[-third:])[third // 2] - sorted(at[i] for at in more[:third])[third // 2] for i in range(3)]
        print(f"{ended - began:.0f} s: /healthz within {1000 * longest:.0f} ms, {sampled:.1f} s of the JVM's {cpu:.1f} s are sampled; from the first third to "
              f"the last {grown[0]} KiB, {grown[1]} files, {grown[2]} threads; {self.status(daemon, 'mute')['queued_bodies']} requests wait")
        self.assertLess(longest, 2 * proc.PATIENCE, "seconds for /healthz")
        self.assertAlmostEqual(sampled / cpu, 1, delta=0.1)
        self.assertLess(grown[0], 4096, "KiB")
        self.assertLessEqual(grown[1], 2, "files")
        self.assertLessEqual(grown[2], 0, "threads")
        for name in ("refused", "mute"):
            status = self.status(daemon, name)
            self.assertEqual((status["dropped"], status["sent_bodies"], status["missed_minutes"], status["in_memory"]), (0, 0, 0, False), status)
            self.assertGreaterEqual(status["queued_bodies"], AWAY_SECONDS / EVERY - 1)

    @staticmethod
    def held(daemon) -> tuple[int, int, int]:
        """Returns the KiB of anonymous memory, the open files, and the threads of all of flamed."""
        pids = daemon.pids()
        return (sum(proc.memory_kib(pid, "RssAnon") for pid in pids), sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),
                sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids))


if __name__ == "__main__":
    unittest.main()
