# SPDX-License-Identifier: Apache-2.0
"""Warnings of answers that would mislead: few samples, several JVMs in one profile, objects that no collection has checked, and a past that
is not kept. Every format that can contains the warning, and so does X-Flamed-Warning."""
import concurrent.futures
import subprocess
import time

from harness import events, paths, proc
from harness.daemon import Answer, Daemon
from harness.jvm import Jvm, Obedient, WithClasses, side_by_side, some
from harness.profile import Profile


class Said(WithClasses):
    sources = ("Keeps.java", "Naps.java")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon()
        cls.began = time.monotonic()
        cls.addClassCleanup(cls.daemon.stop)

    def start(self, version: int, *arguments: str, kind=Jvm, **how) -> Jvm:
        jvm = kind(paths.jdk(version), "-Xmx256m", "-XX:+UseSerialGC", "-cp", self.classes.folder, *arguments, **how)
        self.addCleanup(jvm.stop)
        return jvm

    def said(self, text: str, path: str = "/profile", times: int = 1, **parameters) -> Answer:
        """Checks that an answer contains the warning TEXT: in its header, in json, and in other formats of its capture."""
        answer = self.daemon.get(path, timeout=60, format="json", **parameters)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(len([w for w in answer.warnings if text in w]), times, answer.warnings)
        self.assertEqual(len([w for w in answer.json()["warnings"] if text in w]), times)
        for form in ("html", "flat", "summary", "tree") if "X-Flamed-Capture" in answer.headers else ():
            view = self.daemon.get(f"/api/v1/captures/{answer.headers['X-Flamed-Capture']}/profile", format=form)
            self.assertEqual(text in view.text, times > 0, form)
            self.assertEqual(len([w for w in view.warnings if text in w]), times, view.warnings)
        return answer

    def test_few_samples(self):
        """A service that does almost nothing."""
        def check(version: int) -> None:
            jvm = self.start(version, "Naps", stdin=subprocess.PIPE)
            answer = self.said(" few: by chance, a frame that has half of them", pid=jvm.pid, seconds=3, hz=499, event="cpu")
            self.assertIn("X-Flamed-Capture", answer.headers)
            self.assertLess(Profile(answer).samples, 100)
            self.assertIn("event=offcpu", "".join(answer.warnings))
        side_by_side(self, check, some(25, 17))

    def test_several_jvms(self):
        """jvm= selects by a pattern, and the selected JVMs are added up."""
        first, second = (self.start(version, "Naps", stdin=subprocess.PIPE) for version in (17, 25))
        text = "processes, and this profile adds them up: "
        answer = self.said("jvm=^Naps$ chose 2 " + text, jvm="^Naps$", seconds=3, hz=999)
        for jvm in first, second:
            self.assertIn(f"{jvm.pid} (Naps)", "".join(answer.warnings))
        proc.wait_until(lambda: len(self.daemon.get("/profile", jvm="^Naps$", format="json", **{"from": "-60s"}).json()["processes"]) > 1,
                        60, "the recorder has samples of both")
        self.said(text, jvm="^Naps$", **{"from": "-60s"})
        self.said(text, times=0, pid=first.pid, seconds=1, hz=499)
        second.stop()
        self.said(text, times=0, jvm="^Naps$", seconds=1, hz=499)

    def test_no_collection(self):
        """event=live cannot know garbage before a collection has run."""
        events.skip_without(self.daemon, "live")

        def check(version: int) -> None:
            jvm = self.start(version, "-Xmn128m", "Keeps", kind=Obedient)
            text = "no collection has looked at these objects since they were allocated"
            collected = " begun during it. Objects that none has looked at"
            for command, said, other in ("make 1", text, collected), ("collect", collected, text):
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    asked = pool.submit(self.said, said, pid=jvm.pid, event="live", seconds=4, interval="4k")
                    for _ in range(100): # until it is answered: loading the agent takes a moment, or several
                        jvm.do("make 200")
                        jvm.do(command)
                        if concurrent.futures.wait([asked], 0.2).done:
                            break
                answer = asked.result()
                self.assertGreater(Profile(answer).samples, 0)
                self.assertEqual([w for w in answer.warnings if other in w], [])
        side_by_side(self, check, some(17, 25))

    def test_the_past_that_is_not_kept(self):
        """The request asks for more time than flamed has run; the store has one capture. A range that is kept completely has no such
        sentence. Once a minute is in the history, the sentence names the history."""
        jvm = self.start(17, "Naps", stdin=subprocess.PIPE)
        self.said("later than what was asked for: ", **{"from": "-10h"})
        self.said("later than what was asked for: flamed began to ", **{"from": "-10m"})
        asked = self.daemon.get("/api/v1/timeline", pid=jvm.pid, **{"from": "-600s"})
        self.assertIn("later than what was asked for: flamed began to record then", "".join(asked.json()["warnings"]))
        time.sleep(max(0, 5 - (time.monotonic() - self.began)))
        proc.wait_until(lambda: self.daemon.get("/profile", **{"from": "-2s"}).status == 200, 30, "something ran in the last 2 s")
        self.said("than what was asked for", times=0, **{"from": "-2s"})
        self.assertNotIn("than what was asked for", "".join(self.daemon.get("/api/v1/timeline", **{"from": "-2s"}).json()["warnings"]))
        self.said(" few: by chance", pid=jvm.pid, seconds=2, hz=999)
        self.said("1 stored capture, of 2 s together", path="/api/v1/query", pid=jvm.pid, **{"from": "-600s"})
