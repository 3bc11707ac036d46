# SPDX-License-Identifier: Apache-2.0
"""Scrapers over TLS: Debian's Prometheus by a token, a password and a certificate; Go's pprof client."""
import os
import subprocess
import tempfile
import unittest

from harness import certs, jvm, paths, proc
from test_scraping import Prometheus
from test_tls import Served


class Scrapers(Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.ca.sign("client", "/CN=x", "DNS:prometheus.example.com", usage="clientAuth")

    def everything(self) -> tuple[str, str]:
        """Returns a configuration with all three ways, and the token."""
        token, rule = self.token("by-token", "view")
        return token, (self.tls(more=f"  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: {self.ca.cert}\n") + "access:\n" + rule +
                       "  - {name: by-password, basic: alice, role: profile}\n"
                       "  - {name: by-certificate, certificate: prometheus.example.com, role: profile}\n"
                       f"basic_auth_users:\n  alice: {certs.bcrypt('sesame', 10)}\n")

    def test_prometheus(self):
        """Without any of the three it counts as no known user."""
        token, config = self.everything()
        _, port = self.serve(config)
        ways = {"token": f"authorization: {{credentials: {token}}}", "password": "basic_auth: {username: alice, password: sesame}",
                "certificate": "", "wrong": "basic_auth: {username: alice, password: wrong}"}
        jobs = "".join(f"""
  - job_name: {name}
    scheme: https
    {way}
    tls_config:
      ca_file: {self.ca.cert}
      server_name: node.example.com
""" + (f"      cert_file: {self.client[0]}\n      key_file: {self.client[1]}\n" if name == "certificate" else "") +
                       f"    static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n" for name, way in ways.items())
        server = Prometheus("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:" + jobs)
        self.addCleanup(server.stop)

        def up() -> dict[str, float]:
            return {metric["job"]: value for metric, value in server.values("up")}

        proc.wait_until(lambda: len(up()) == 4 and sum(up().values()) == 3, 60, "three of four are up", 0.3)
        self.assertEqual(up(), {"token": 1, "password": 1, "certificate": 1, "wrong": 0})
        proc.wait_until(lambda: server.values('count_over_time(up{job="password"}[30s]) > 8'), 60, "it goes on each second", 0.5)
        self.assertEqual(up()["password"], 1)

    def test_go_tool_pprof(self):
        paths.need("go")
        _, config = self.everything()
        _, port = self.serve(config)
        spin = jvm.make_spin()
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", *jvm.spin_options(spin), "-cp", spin.folder, spin.main)
        self.addCleanup(target.stop)
        path = f"/debug/pprof/profile?pid={target.pid}&seconds=1"
        # Go's own client has no certificates, and uses the system's CAs.
        for ca, user, code in ((self.ca, "alice:sesame@", 0), (self.ca, "alice:wrong@", 2), (self.other_ca, "alice:sesame@", 2)):
            with tempfile.TemporaryDirectory() as folder:
                result = subprocess.run(["go", "tool", "pprof", "-raw", f"https://{user}localhost:{port}{path}"], capture_output=True,
                                        text=True, timeout=120, check=False,
                                        env={**os.environ, "PPROF_TMPDIR": folder, "SSL_CERT_FILE": ca.cert})
            self.assertEqual(result.returncode, code, result.stderr)
            if code == 0:
                self.assertIn(spin.method.rsplit(".", 1)[1], result.stdout)


if __name__ == "__main__":
    unittest.main()
