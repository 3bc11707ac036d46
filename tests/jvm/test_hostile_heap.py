# SPDX-License-Identifier: Apache-2.0
"""A JVM that writes false words over its tracer's objects, and a JVM of another user beside it: only the first has false requests, and nobody
sees those of others."""
import contextlib
import gzip
import os
import re

from harness import caller, jvm, paths, proc
from harness.daemon import Daemon
from test_request_events import APART, RIGHT, SOURCES, TRACER, WITHOUT, handler

ALICE, BOB = proc.free_ids(2)
OWN = "c" * 32 # the trace of Scribbles.java
SAMPLES, ROUNDS = 300, 40
NAME_CHARACTERS_MAX = 130 # 128 bytes, in brackets
OPERATIONS_MAX = 1003 # 1,000, and those of samples without a name
# No collector follows the false references, and no profile for C2 keeps the class of an object that has a false one.
HOSTILE = ("-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable", "-Xmx200m")


def as_user(uid: int) -> list[str]:
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


class HostileHeap(jvm.WithClasses):
    sources = SOURCES

    @classmethod
    def setUpClass(cls):
        paths.need("setpriv")
        super().setUpClass()
        cls.classes.compile(os.path.join(TRACER, "Scribbles.java"), release=17)
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.daemon = stack.enter_context(Daemon("--recorder-hz=19"))
        os.chmod(cls.daemon.unix, 0o666)
        cls.honest = stack.enter_context(jvm.Jvm(paths.jdk(17), "-Xmx100m", "-XX:CompileCommand=quiet", *APART, "-cp", cls.classes.folder, "Requests", "2",
                                                 wrap=as_user(BOB)))

    def rows(self, capture: str, **view) -> list[tuple[list[str], int]]:
        """Returns stacks without the frame of the process, and their values."""
        text = self.daemon.get(f"/api/v1/captures/{capture}/profile", format="collapsed", **view).text
        return [(line.rpartition(" ")[0].split(";")[1:], int(line.rpartition(" ")[2])) for line in text.split("\n") if line]

    def judge(self, capture: str, event: str, counts: dict[str, int]) -> None:
        """The other JVM's samples have the right request. Those of the hostile one have any, within bounds. Counts those of CPU time."""
        roots = set()
        for stack, value in self.rows(capture, by="operation", event=event):
            method = handler(stack)
            if method and stack[0] not in WITHOUT:
                self.assertEqual(stack[0], RIGHT[method], stack)
                counts["right"] += value if event == "cpu" else 0
            if any(frame.startswith("Scribbles.") for frame in stack):
                roots.add(stack[0])
                counts["true" if stack[0] == "[GET /hostile]" else "false"] += value if event == "cpu" else 0
        self.assertLessEqual(len(roots), OPERATIONS_MAX)
        self.assertEqual([root for root in roots if len(root) > NAME_CHARACTERS_MAX or not root.isprintable()], [])

    def check(self, *options: str) -> None:
        """Samples both JVMs until the hostile one had true and false requests."""
        processes = self.daemon.processes()
        total = {"right": 0, "true": 0, "false": 0}
        with jvm.Jvm(paths.jdk(17), *HOSTILE, *options, "-cp", self.classes.folder, "Scribbles", "6", wrap=as_user(ALICE)) as hostile:
            for _ in range(ROUNDS):
                answer = self.daemon.taken(pid=f"{hostile.pid},{self.honest.pid}", seconds=1.5, hz=499, by="operation", event="cpu,wall", format="json")
                self.assertEqual(answer.status, 200, answer.text)
                for event in ("cpu", "wall"):
                    self.judge(answer.headers["X-Flamed-Capture"], event, total)
                if min(total.values()) >= SAMPLES:
                    break
            print(total)
            self.assertGreaterEqual(min(total.values()), SAMPLES, total)
            self.assertIsNone(hostile.process.poll(), "flamed writes nothing into its memory")
            self.assertEqual(self.daemon.processes(), processes, "none of flamed's processes had to begin again")
            self.others(hostile.pid, answer.headers["X-Flamed-Capture"])

    def others(self, pid: int, capture: str) -> None:
        """The hostile JVM's owner sees its trace, and none of the other user's, by each way to ask for requests."""
        foreign = {match[1] for stack, _ in self.rows(capture, by="trace", event="cpu") if (match := re.fullmatch(r"\[trace ([ab][0-9a-f]{31})\]", stack[0]))
                   and handler(stack)}
        self.assertGreater(len(foreign), 3)
        one = min(foreign)
        tcp = f"http://127.0.0.1:{self.daemon.port}"
        asked = [f"/profile?seconds=1&hz=499&{view}" for view in ("by=trace&format=collapsed", "by=trace,operation&format=json&spans=1", "format=requests",
                                                          f"trace={one}&format=requests", "by=span&format=pprof&spans=1", "by=trace&format=jfr")]
        asked += [f"/profile?from=-60s&{view}" for view in ("by=trace&format=collapsed", f"trace={one}&format=requests", "format=requests")]
        asked += [f"/api/v1/captures/{capture}/profile?by=trace&format=collapsed", "/top?once=1&interval=200ms&by=operation", "/metrics"]
        replies = [gzip.decompress(r.body) if r.body[:2] == b"\x1f\x8b" else r.body for r in caller.ask_all([caller.Request(tcp + path) for path in asked], uid=ALICE, at_once=3)]
        for i in (0, 2, 6): # live, single requests, the past
            self.assertIn(OWN.encode(), replies[i], f"his own is there: {asked[i]}")
        for path, body in zip(asked, replies):
            found = [trace for trace in foreign if trace.encode() in body or bytes.fromhex(trace) in body]
            self.assertEqual(found, [], path)
            self.assertNotRegex(body, rb"GET /[ab]\b", path)

    def test_compressed_references(self):
        self.check()

    @jvm.further_case
    def test_full_references(self):
        self.check("-XX:-UseCompressedOops")


if __name__ == "__main__":
    jvm.unittest.main()
