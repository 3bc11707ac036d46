# SPDX-License-Identifier: Apache-2.0
"""names=merged: two starts of a program have the same names, though all generated code has other numbers."""
from harness import jvm, paths, proc
from harness.daemon import Daemon


class Merged(jvm.WithClasses):
    sources = ("Generated.java",)

    def setUp(self):
        self.daemon = Daemon("--recorder-hz=0")
        self.addCleanup(self.daemon.stop)

    def capture(self, version: int, others: int) -> str:
        with jvm.Jvm(paths.jdk(version), "-Xmx64m", "-XX:-UseOnStackReplacement", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet",
                     "-XX:-Inline", "-cp", self.classes.folder, "Generated", str(others)) as target:
            proc.wait_until(lambda: proc.cpu_seconds(target.pid) > 1.2, 30, "it has compiled what it runs")
            return self.daemon.get("/profile", pid=target.pid, seconds=1.5, hz=499, format="json", timeout=30).headers["X-Flamed-Capture"]

    def names(self, capture: str, share: float = 0.05, **names) -> set[str]:
        """Returns the names of Java frames with at least SHARE of the samples."""
        document = self.daemon.get(f"/api/v1/captures/{capture}/profile", format="json", **names).json()
        counts: dict[int, int] = {}
        for stack in document["stacks"]:
            for frame in set(stack["frames"]):
                counts[frame] = counts.get(frame, 0) + stack["samples"]
        return {f["name"] for i, f in enumerate(document["frames"]) if f["kind"] in ("c1", "c2", "inlined", "interpreted")
                and counts.get(i, 0) > share * sum(s["samples"] for s in document["stacks"])}

    def test_two_starts(self):
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version):
                first, second = self.capture(version, 0), self.capture(version, 6)
                plain = [self.names(capture) for capture in (first, second)]
                merged, rare = ([self.names(capture, share, names="merged") for capture in (first, second)] for share in (0.05, 0.01))
                self.assertNotEqual(plain[0], plain[1], "the numbers are others")
                self.assertLessEqual(merged[0], rare[1])
                self.assertLessEqual(merged[1], rare[0])
                for wanted in ("Generated.mixed", "jdk.proxy.$Proxy.step", "Generated.lambda$main", "Generated$$Lambda.applyAsLong"):
                    self.assertIn(wanted, merged[0])
                # Comparisons use the same names.
                answer = self.daemon.get("/api/v1/diff", a=first, b=second, names="merged", format="collapsed")
                self.assertEqual(answer.status, 200, answer)
                self.assertNotRegex(answer.text, r"\$Proxy\d|lambda\$main\$\d")
