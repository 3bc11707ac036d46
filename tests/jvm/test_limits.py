# SPDX-License-Identifier: Apache-2.0
"""A machine that refuses a right or a feature: /readyz or a warning in the answer names it and the remedy."""
import contextlib
import unittest

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import count


def without(*capabilities: str) -> list[str]:
    """Returns a wrapper that starts flamed without these capabilities, permanently."""
    return ["setpriv", "--bounding-set", ",".join("-" + c for c in capabilities)]


class Checks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")
        cls.spin = jvm.make_spin()
        cls.jvm = jvm.Jvm(paths.jdk(17), "-Drest=15", "-Xmx64m", "-cp", cls.spin.folder, cls.spin.main)
        cls.addClassCleanup(cls.jvm.stop)

    def said(self, daemon: Daemon, unix: bool = False) -> tuple[str, object]:
        """Returns all sentences of /readyz and of a capture, and the capture's answer."""
        ready = daemon.wait_ready(statuses=(200, 503))
        sentences = daemon.problems()
        answer = daemon.get("/profile", pid=self.jvm.pid, seconds=1, hz=199, format="json", threads=1, timeout=20, unix=unix)
        self.assertIn(answer.status, (200, 503), str(answer))
        if answer.status == 503:
            self.assertEqual(ready.status, 503, "what cannot sample is not ready")
            sentences.append(answer.json()["detail"])
        else:
            sentences += answer.json()["warnings"]
            self.assertEqual(answer.warnings, answer.json()["warnings"], "headers and document say the same")
        return "\n".join(sentences), answer

    def check(self, *words: str, wrap: list[str] | None = None) -> None:
        """Checks that one sentence contains all of WORDS. Uses the Unix socket: without BPF programs all callers over TCP are unknown."""
        with Daemon(wrap=wrap, wait=False) as daemon:
            text, _ = self.said(daemon, unix=True)
            self.assertTrue(any(all(w in line for w in words) for line in text.splitlines()), f"{words} in one of: {text}")


class Limits(Checks):
    def test_programs_that_load_slowly(self):
        """Until the programs are loaded, features without samples work, and the rest answers when to retry. Then all works, also the
        recorder."""
        with Daemon(wrap=["env", "FLAMED_SLOW_LOAD=6"], wait=False) as daemon:
            ready = self.first_answer(daemon)
            self.assertEqual((ready.status, ready.json()["status"]), (503, "loading"), str(ready))
            answer = daemon.get("/profile", pid=self.jvm.pid, seconds=1)
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"), str(answer))
            self.assertIn("still checking the BPF programs", answer.json()["detail"])
            self.assertEqual(daemon.get("/healthz").status, 200)
            self.assertIn(self.jvm.pid, [j["pid"] for j in daemon.get("/api/v1/jvms").json()["jvms"]])
            daemon.wait_ready()
            answer = daemon.get("/profile", pid=self.jvm.pid, seconds=1, hz=499, timeout=20)
            self.assertEqual((answer.status, answer.headers["X-Flamed-Lost"]), (200, "0"), str(answer))
            self.assertGreater(int(answer.headers["X-Flamed-Samples"]), 20)
            past = {"pid": self.jvm.pid, "from": "-60s", "format": "collapsed"}
            proc.wait_until(lambda: int(daemon.get("/profile", **past).headers["X-Flamed-Samples"] or 0) > 0, 20, "the recorder has samples")

    def first_answer(self, daemon: Daemon):
        """Returns the first answer of /readyz once it is served."""
        answers = []

        def served() -> bool:
            with contextlib.suppress(OSError):
                answers.append(daemon.get("/readyz", timeout=20))
            return bool(answers)
        proc.wait_until(served, 20, "flamed serves")
        return answers[0]

    def test_kernel_without_growing_maps(self):
        """The path of kernels before 6.1: as accurate, for fewer processes."""
        with Daemon(wrap=["env", "FLAMED_OLD_KERNEL=preallocate"]) as daemon:
            profile, _, _ = proc.captured(daemon, self.jvm.pid, proc.thread_of(self.jvm.pid, "spinner"), 499, 130)
            self.assertIn("for the stacks of 1024 processes at once", daemon.log())
            self.assertGreater(profile.samples, 100)
            self.assertLess(profile.share(profile.stacks, lambda s: s.truncated), 0.02)

    def test_no_cap_perfmon(self):
        self.check("CAP_PERFMON", wrap=without("sys_admin", "perfmon"))

    def test_no_cap_bpf(self):
        self.check("CAP_BPF", wrap=without("sys_admin", "bpf"))

    def test_no_cap_sys_ptrace(self):
        """Without CAP_SYS_PTRACE flamed cannot find the holder of a TCP connection, so such a caller is unknown."""
        with Daemon(wrap=without("sys_ptrace"), wait=False) as daemon:
            text, _ = self.said(daemon, unix=True)
            self.assertIn("CAP_SYS_PTRACE", text)
            answer = daemon.get("/profile", pid=self.jvm.pid, seconds=1)
            self.assertEqual(answer.status, 403, str(answer))
            self.assertIn("--unix-socket", answer.json()["remedy"])

    def test_no_cap_syslog(self):
        self.check("CAP_SYSLOG", wrap=without("sys_admin", "syslog"))

    def test_no_btf(self):
        self.check("BTF", wrap=["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"])

    def test_nothing_is_missing(self):
        """And if nothing is missing, there is no sentence."""
        with Daemon() as daemon:
            self.assertEqual(daemon.problems(), [])
            # A new flamed must read some files. A slow disk delays that, and flamed reports it.
            daemon.profile(pid=self.jvm.pid, seconds=0.3, hz=199)
            proc.wait_until(lambda: "\nflamed_elf_reading 0\n" in daemon.get("/metrics").text, 20, "what runs has been read")
            profile, *_ = proc.captured(daemon, self.jvm.pid, proc.thread_of(self.jvm.pid, "spinner"), 499, 40)
            self.assertEqual(profile.problems, [])
            self.assertGreater(count(profile.of_thread("spinner")), 20)

    def test_java_names_are_not_wanted(self):
        with Daemon("--recorder-hz=0") as daemon:
            profile = daemon.profile(pid=self.jvm.pid, seconds=1, hz=199, symbols="none")
            names = {n for s in profile.stacks for n in s.names}
            self.assertNotIn(self.spin.method, names)
            self.assertIn("start_thread", names)
            self.assertEqual(profile.answer.headers["X-Flamed-Symbols"].split(":")[0].split()[0], "none")
