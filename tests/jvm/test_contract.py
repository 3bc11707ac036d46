# SPDX-License-Identifier: Apache-2.0
"""The HTTP contract, sentence by sentence, as a stranger reads it: targets, GET /profile, names, formats, /top. test_contract_api.py has
the resources of /api/v1, test_contract_http.py has HTTP and other programs."""
import json
import re
import subprocess
import time

from harness import jvm, paths, proc
from harness.contract import FACTS, FORMATS, ContractCase, Pprof, folded

PROCESS = re.compile(r"^\[.+ pid=(\d+)\]$")
THREAD = re.compile(r"^\[(.+) tid=(\d+)\]$")
SYSTEM_CALL = re.compile(r";([^;]*do_syscall_64|entry_SYSCALL)")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
TABLE_OF_EVENTS = ("wall", "offcpu", "lock", "alloc", "live", "nativemem", "page-faults", "context-switches", "cpu-migrations",
                   "cycles", "instructions", "cache-misses", "branch-misses", "sched:sched_switch", "libc.so.6:malloc",
                   "mem:0x7f0000000000/8:rw")


def first_pids(stacks) -> set[int]:
    """Returns the process ids of the first frames; 0 for a first frame that is no process."""
    return {int(m[1]) if (m := PROCESS.match(stack[0])) else 0 for stack in stacks}


class Targets(ContractCase):
    """"Choosing a target"."""

    def only(self, host_pid: int, **target) -> None:
        """TARGET selects only one process: all threads belong to it."""
        for seconds in (0.3, 2, 8): # until it has had a processor, on a busy machine
            threads = {(t["tid"], d["processes"][t["process"]]["pid"])
                       for d in [self.sample("json", threads=1, seconds=seconds, **target).json()] for t in d["threads"]}
            if threads:
                break
        self.assertTrue(threads, target)
        self.assertEqual({pid for _, pid in threads}, {host_pid}, target)
        self.assertLessEqual({tid for tid, _ in threads}, set(proc.threads(host_pid)), target)

    def firsts(self, pids: set[int], **target) -> set[int]:
        """Returns the first frames of a profile that is long enough for all of PIDS to get a processor on a busy machine."""
        for seconds in (0.3, 2, 8):
            found = first_pids(folded(self.sample(seconds=seconds, **target)))
            if pids <= found:
                break
        return found

    def both(self, pids: set[int], **target) -> None:
        """TARGET selects the processes PIDS: there is a first frame for each."""
        self.assertEqual(self.firsts(pids, **target), pids, target)

    def test_one_process(self):
        w = self.world
        for target in ({"pid": w.host.pid}, {"jvm": "^Contract$"}):
            self.only(w.host.pid, **target)
        for target in ({"container": w.ident}, {"container": w.ident[:9]}, {"container": w.ident[:12], "nspid": 1},
                       {"container": w.ident[:12], "pid": w.inside.pid}, {"pid": w.inside.pid}):
            self.only(w.inside.pid, **target)
        for target in ({"pod": w.pod}, {"container": w.twin_ident[:16]}, {"container": w.twin_name}):
            self.only(w.twin.pid, **target)

    def test_several_processes(self):
        w = self.world
        self.both({w.host.pid, w.inside.pid}, pid=f"{w.host.pid},{w.inside.pid}")
        self.both({w.inside.pid, w.twin.pid}, jvm=w.spin.main)
        for seconds in (0.3, 2, 8): # until one of them has had a processor, on a busy machine
            stacks = folded(self.sample(jvm=w.spin.main, threads=1, seconds=seconds))
            if stacks:
                break
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertRegex(stack[0], PROCESS, "process first")
            self.assertRegex(stack[1], THREAD, "then the thread")

    def test_none_is_the_whole_node(self):
        pids = self.firsts(set(self.world.pids))
        self.assertNotIn(0, pids, "a first frame for each process")
        self.assertLessEqual(set(self.world.pids), pids)

    def test_processes_that_start_while_it_runs_are_taken_in(self):
        w = self.world
        capture = self.daemon.capture(jvm=f"^{w.spin.main}$", hz=199)
        with jvm.Jvm(paths.jdk(17), "-Xmx64m", "-cp", w.spin.folder, w.spin.main) as fresh:
            used = proc.cpu_seconds(fresh.pid)
            proc.wait_until(lambda: proc.cpu_seconds(fresh.pid) > used + 0.5, 60, "it has used some CPU time")
            capture.stop()
            stacks = folded(self.get(capture.path + "/profile?format=collapsed"))
            self.assertEqual(first_pids(stacks), {w.inside.pid, w.twin.pid, fresh.pid})

    def test_nothing_matches(self):
        w = self.world
        self.bad("/profile?seconds=0.2&pid=2147483646", 404, "2147483646")
        self.bad("/profile?seconds=0.2&jvm=Contracd", 404, "Contract")
        wrong = w.ident[:9] + ("0" if w.ident[9] != "0" else "1") + w.ident[10:12]
        self.bad(f"/profile?seconds=0.2&container={wrong}", 404, wrong, w.ident[:9])
        self.bad("/profile?seconds=0.2&container=no-such-name", 404, "no-such-name")
        self.bad(f"/profile?seconds=0.2&pod={w.pod[:-1]}x", 404, w.pod)
        self.bad("/profile?seconds=0.2&namespace=nowhere", 404, "nowhere")
        self.bad(f"/profile?seconds=0.2&container={w.ident[:12]}&nspid=31999", 404, "31999")

    def test_errors(self):
        w = self.world
        tid = next(t for t in proc.threads(w.host.pid) if t != w.host.pid)
        self.bad(f"/profile?pid={tid}", (400, 404), f"is a thread of {w.host.pid}", parameter="pid")
        zombie = subprocess.Popen(["true"])
        proc.wait_until(lambda: proc.stat(zombie.pid)[0] == "Z", 5, "a zombie")
        self.bad(f"/profile?pid={zombie.pid}", (400, 404), "zombie")
        zombie.wait()
        self.bad("/profile?nspid=1", 400, "container", parameter="nspid")
        self.bad(f"/profile?pid={w.host.pid}&container={w.ident[:12]}", (400, 404), str(w.host.pid), w.ident[:12])
        self.bad(f"/profile?container={w.ident[:5]}", (400, 404), w.ident[:5], parameter="container")
        self.bad(f"/profile?container={w.ident[:6]}", (400, 404, 409), w.ident[:12], w.twin_ident[:12])
        for name in ("pid", "container", "nspid", "pod", "namespace", "jvm"):
            self.bad(f"/profile?{name}=", 400, parameter=name)
            self.bad(f"/profile?{name}=1&{name}=1", 400, parameter=name)

    def test_the_same_words_on_every_route(self):
        w = self.world
        for path in ("/top?once=1&interval=300ms&", "/debug/pprof/profile?seconds=0.2&", "/api/v1/query?from=-5s&",
                     "/api/v1/timeline?from=-5s&", "/api/v1/jvms?", "/api/v1/captures?"):
            for target in (f"pid={w.inside.pid}", f"container={w.ident[:12]}&nspid=1", f"pod={w.pod}", f"container={w.twin_name}", f"jvm={w.spin.main}"):
                with self.subTest(path=path + target):
                    self.get(path + target)
            if not path.startswith("/api/v1/captures"): # a filter without a match is no error
                self.bad(path + "jvm=Contracd", 404, "Contract")
            self.bad(path + "nspid=1", 400, parameter="nspid")


class Taking(ContractCase):
    """"Taking a profile"."""

    def test_seconds(self):
        machine = self.world.machine
        start = machine.given()
        self.get("/profile?seconds=0.1&seconds=30&format=collapsed", pid=self.pid)
        self.assertLess(machine.given() - start, 5, "repeated: the first counts")
        for value in ("0.09", "3600.1", "0", "-1", "", "x", "1e9"):
            self.bad(f"/profile?pid={self.pid}&seconds={value}", 400, parameter="seconds")
        stood = machine.seconds
        document = self.sample("json", pid=self.pid, seconds="0.55").json()
        self.assertAlmostEqual(document["meta"]["seconds"], 0.55, delta=0.3 + machine.seconds - stood)

    def test_past(self):
        w = self.world
        self.assertFalse(proc.alive(w.short.pid))
        start = w.machine.given()
        since = f"-{time.time() - w.began + 1:.0f}s" # covers this test, however long the tests before took
        stacks = folded(self.get(f"/profile?from={since}&format=collapsed", pid=w.short.pid))
        self.assertLess(w.machine.given() - start, 5, "at once")
        self.assertTrue(any(w.spin.method in stack for stack in stacks), f"of a dead JVM: {list(stacks)[:3]}")
        for target in ({"container": w.ident[:12], "nspid": 1}, {"container": w.ident[:9]}, {"container": w.twin_name}, {"pod": w.pod}, {"jvm": w.spin.main}):
            stacks = folded(self.get("/profile?from=-20s&format=collapsed", **target))
            self.assertTrue(any(w.spin.method in stack for stack in stacks), f"{target}: {list(stacks)[:3]}")
            self.assertFalse(any("Contract.mix" in stack for stack in stacks), target)
        self.bad(f"/profile?from=-20s&container={w.ident[:6]}", (400, 404, 409), w.ident[:12], w.twin_ident[:12])
        self.bad("/profile?from=-20s&jvm=Contracd", 404, "Contract")
        warnings = self.get("/profile?from=-20s&event=cpu,alloc&format=json", pid=self.pid).json()["warnings"]
        self.assertTrue(any("event=alloc" in text for text in warnings), warnings)
        self.bad(f"/profile?from=-20s&container={w.ident[:12]}&nspid=31999", 404, "31999")
        now = time.time()

        def text(seconds: float, zone: str = "Z") -> str:
            hours = 2 if zone != "Z" else 0
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds + 3600 * hours)) + ".5" + zone

        for first, last in (("-20s", "-1s"), ("-20s", None), (text(now - 20), text(now - 1)), ("-1m", text(now)),
                            (text(now - 20, "+02:00"), "-0.5s"), ("-1h", None), ("-2d", None)):
            with self.subTest(first=first, last=last):
                answer = self.get("/profile", pid=self.pid, format="json", **{"from": first}, **({"to": last} if last else {}))
                meta = answer.json()["meta"]
                self.assertGreater(self.facts(answer)["X-Flamed-Samples"], 0)
                self.assertLess(meta["seconds"], time.time() - w.began + 5)
        for query in ("from=-60s&seconds=1", "from=-1s&to=-2s", "from=2001-01-01T00:00:00Z&to=2001-01-01T01:00:00Z",
                      "from=", "from=60", "from=yesterday", "from=-1x", "from=2026-13-01T00:00:00Z", "from=-5s&from=-5s",
                      "from=2026-01-01", "from=-1s&to=nonsense", "from=2100-01-01T00:00:00Z"):
            self.bad(f"/profile?pid={self.pid}&{query}", (400, 404, 409))

    def test_events(self):
        self.sample(pid=self.pid, event="cpu")
        listed = [e["name"] for e in self.get("/api/v1/events", pid=self.pid).json()["events"]]
        self.assertIn("cpu", listed)
        for event in TABLE_OF_EVENTS:
            if event not in listed: # a tracepoint is listed if the request names it, and if tracefs is mounted
                found = self.get("/api/v1/events", pid=self.pid, match=event).json()["events"]
                if any(e["name"] == event and e["available"] for e in found):
                    self.get("/profile", pid=self.pid, event=event, seconds=0.2, format="summary")
                    continue
                if event.startswith(("libc.so.6:", "mem:")) and self.daemon.get("/profile", pid=self.pid, event=event, seconds=0.2).status == 200:
                    continue # no list has these forms: they work unless they are refused with a reason
                self.bad(f"/profile?pid={self.pid}&seconds=0.2&event={event}", (400, 409, 503), event, parameter="event")
        self.bad(f"/profile?pid={self.pid}&event=nonsense", 400, "nonsense", "cpu", parameter="event")

    def test_symbols(self):
        answer = self.sample(pid=self.pid)
        self.assertRegex(answer.headers["X-Flamed-Symbols"], r"^(agent|memory|perfmap|none)\b.{5,}", "the choice and its reason")
        for seconds in (0.3, 2, 8): # until its thread has had a processor, on a busy machine
            answer = self.sample(pid=self.pid, symbols="memory", seconds=seconds)
            self.assertTrue(answer.headers["X-Flamed-Symbols"].startswith("memory"))
            if "Contract.mix" in answer.text:
                break
        self.assertIn("Contract.mix", answer.text)
        answer = self.sample(pid=self.pid, symbols="none", seconds=seconds)
        self.assertTrue(answer.headers["X-Flamed-Symbols"].startswith("none"))
        self.assertNotIn("Contract.mix", answer.text)
        self.bad(f"/profile?pid={self.pid}&symbols=magic", 400, "magic", "memory", parameter="symbols")

    def test_rate(self):
        for parameters, hz in (({}, 99), ({"hz": "499"}, 499), ({"interval": "10ms"}, 100), ({"interval": "5000us"}, 200),
                               ({"interval": "0.5s"}, 2)):
            with self.subTest(**parameters):
                answer = self.get("/profile", pid=self.pid, seconds=0.2, format="json", **parameters)
                self.assertAlmostEqual(answer.json()["meta"]["hz"], hz, delta=0.5)
        for query in ("hz=99&interval=10ms", "interval=512k", "interval=2m", "interval=1000", "interval=10xs", "hz=0",
                      "hz=99&hz=99", "hz=", "interval=", "interval=10ms&interval=10ms"):
            self.bad(f"/profile?pid={self.pid}&seconds=0.1&{query}", 400)

    def test_accept(self):
        url = f"/profile?pid={self.pid}&from=-30s"
        for accept, kind in ((None, "text/html"), ("*/*", "text/html"), (BROWSER, "text/html"), ("", "text/html"),
                             ("application/json", "application/json"), ("image/svg+xml", "image/svg+xml"),
                             ("text/plain", "text/plain"), ("application/octet-stream", "application/octet-stream"),
                             ("application/x-protobuf", "application/x-protobuf"),
                             ("text/html;q=0.1, application/json", "application/json"),
                             ("application/json;q=0, */*", "text/html"), ("application/*", "application/"),
                             ("APPLICATION/JSON", "application/json")):
            with self.subTest(accept=accept):
                answer = self.get(url, headers={"Accept": accept} if accept is not None else {})
                self.assertTrue(answer.headers["Content-Type"].startswith(kind), answer.headers["Content-Type"])
        answer = self.daemon.get(url, headers={"Accept": "application/pdf"})
        self.assertIn(answer.status, (200, 406), answer)
        answer = self.get(url + "&format=json", headers={"Accept": "text/html"})
        self.assertEqual(answer.headers["Content-Type"].split(";")[0], "application/json", "format= is the stronger")
        started = self.daemon.get(f"/profile?pid={self.pid}&seconds=0.5", headers={"Accept": "text/event-stream"})
        self.assertTrue(started.headers["Content-Type"].startswith("text/event-stream"))
        self.assertRegex(started.text, r"/api/v1/captures/[\w-]+/profile", "progress, then the link")

    def test_bad_values(self):
        for name, values in {
            "format": ("pdf", "", "HTML5"), "threads": ("2", "yes", ""), "user": ("2", ""), "kernel": ("x", ""), "lines": ("2",),
            "annotate": ("j",), "total": ("2",), "reverse": ("up",), "inverted": ("2",), "names": ("long", ""),
            "depth": ("0", "-1", "x", ""), "top": ("0", "-1", "x", ""), "minwidth": ("-1", "x"), "width": ("0", "x", "-5"),
            "include": ("(", "[", ""), "exclude": ("*", ""),
        }.items():
            for value in values:
                self.bad(f"/profile?pid={self.pid}&seconds=0.1&{name}={value}", 400, parameter=name)
            if name not in ("include", "exclude"):
                good = {"format": "json", "names": "full", "depth": "9", "top": "9", "minwidth": "1", "width": "900"}.get(name, "1")
                self.bad(f"/profile?pid={self.pid}&seconds=0.1&{name}={good}&{name}={good}", 400, parameter=name)
        self.bad(f"/profile?pid={self.pid}&secs=1", 400, "secs", parameter="secs")


class Rendering(ContractCase):
    """Names, filters and formats, on one capture rendered many times."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for seconds in (2.5, 10, 40): # until there are enough samples, also of rare kinds: one in sixty or so is in a system call
            cls.capture(seconds)
            answer = cls.daemon.get(cls.path + "/profile", format="collapsed")
            if int(answer.headers["X-Flamed-Samples"]) > 100 and SYSTEM_CALL.search(answer.text):
                break

    @classmethod
    def capture(cls, seconds: float) -> None:
        w = cls.world
        body = {"pid": f"{w.host.pid},{w.inside.pid}", "seconds": seconds, "hz": 499}
        answer = cls.daemon.request("POST", "/api/v1/captures", body=json.dumps(body).encode(),
                                    headers={"Content-Type": "application/json"})
        assert answer.status == 201, answer
        cls.path = f"/api/v1/captures/{answer.json()['id']}"
        proc.wait_until(lambda: cls.daemon.get(cls.path).json()["state"] == "done", seconds + 10, "the capture is done", 0.1)

    def render(self, form: str = "collapsed", **parameters):
        return self.get(self.path + "/profile", format=form, **parameters)

    def stacks(self, **parameters) -> dict[tuple[str, ...], int]:
        return folded(self.render(**parameters))

    def names(self, **parameters) -> set[str]:
        return {frame for stack in self.stacks(**parameters) for frame in stack}

    def test_names(self):
        w = self.world
        plain = self.names()
        self.assertLessEqual({"java.lang.Thread.run", "Contract.mix", "Contract.stir", "Contract.slow", w.spin.method}, plain)
        self.assertLessEqual({"Thread.run", "Contract.mix"}, self.names(names="simple"))
        self.assertNotIn("java.lang.Thread.run", self.names(names="simple"))
        self.assertLessEqual({"Contract.mix(int, java.lang.String)", "java.lang.Thread.run()"}, self.names(names="signature"))
        lined = self.names(lines=1)
        self.assertTrue(any(re.match(r"^Contract\.mix:\d+$", n) for n in lined), sorted(lined)[:40])
        self.assertFalse(any(re.match(r"^Contract\.mix$", n) for n in lined))
        for name in plain:
            self.assertRegex(name, r"^[^;\n\r]+$")
            if "+0x" in name:
                self.assertRegex(name, r"^[^/]+\+0x[0-9a-f]+$")
        self.assertTrue(any(SYSTEM_CALL.match(";" + n) for n in plain), "the kernel's")

    def test_processes_and_threads(self):
        w = self.world
        for stack in self.stacks(threads=1):
            process = PROCESS.match(stack[0])
            self.assertIsNotNone(process, stack[:3])
            pid = int(process[1])
            self.assertEqual(stack[0], f"[{'Contract' if pid == w.host.pid else w.spin.main} pid={pid}]")
            thread = THREAD.match(stack[1])
            self.assertIsNotNone(thread, stack[:3])
            self.assertIn(int(thread[2]), proc.threads(pid), "the host's tid")
        firsts = {stack[1] for stack in self.stacks(threads=1)}
        self.assertTrue(any(re.match(r"^\[worker-0 tid=\d+\]$", f) for f in firsts), firsts)
        self.assertTrue(any(re.match(r"^\[semi_colon tid=\d+\]$", f) for f in firsts), "; becomes _")
        document = self.render("json", threads=1).json()
        self.assertIn("semi;colon", {t.get("name") for t in document["threads"]})
        tid = next(t for t, name in proc.threads(w.host.pid).items() if name == "worker-0")
        self.assertIn(f"[worker-0 tid={tid}]", firsts)

    def test_annotate(self):
        names = self.names(annotate=1)
        for suffix, part in (("_[j]", "Contract.mix"), ("_[i]", "Contract.stir"), ("_[0]", "Contract.slow"), ("_[s]", "call_stub"), ("_[k]", "")):
            self.assertTrue(any(n.endswith(suffix) and part in n for n in names), f"{part}{suffix}: {sorted(names)[:60]}")
        self.assertFalse(any(n.endswith(("_[j]", "_[1]", "_[i]", "_[0]", "_[s]", "_[k]")) for n in self.names()))
        self.assertTrue(any(re.match(r"^Contract\.stir:\d+~?_\[i\]$", n) for n in self.names(annotate=1, lines=1)))

    def test_annotate_marks_what_is_inferred(self):
        """Only Java frames that the answer counts as inferred have a tilde: before the suffix, behind the line, at most one per sample."""
        for lines in (0, 1):
            answer = self.render(annotate=1, lines=lines)
            place = r":\d+~_\[[j1i]\]$" if lines else r"~_\[[j1i]\]$"
            marked = sum(n * sum(bool(re.search(place, frame)) for frame in stack) for stack, n in folded(answer).items())
            self.assertGreater(marked, 0, "stir() is a loop of arithmetic")
            self.assertEqual(marked, int(answer.headers["X-Flamed-Inferred"]))
            self.assertEqual({re.sub(r"~?_\[[j10iks]\]$", "", name) for name in self.names(annotate=1, lines=lines)},
                             {re.sub(r"_\[[j10iks]\]$", "", name) for name in self.names(lines=lines)}, "no name is another for it")

    def test_truncated(self):
        answer = self.render(threads=1)
        stacks = folded(answer)
        cut = {s: n for s, n in stacks.items() if "[truncated]" in s}
        self.assertTrue(cut, "3,000 frames are more than the kernel keeps")
        for stack in cut:
            self.assertEqual(stack.index("[truncated]"), 2, "at the root, after process and thread")
        self.assertEqual(self.facts(answer)["X-Flamed-Truncated"], sum(cut.values()))

    def test_filters_add_up(self):
        whole = sum(self.stacks().values())
        self.assertGreater(whole, 100)
        for one, other in (({"user": 0}, {"kernel": 0}), ({"include": "^Contract\\.mix$"}, {"exclude": "^Contract\\.mix$"}),
                           ({"include": ["^Contract\\.slow$", "^Contract\\.mix$"]},
                            {"exclude": ["^Contract\\.slow$", "^Contract\\.mix$"]})):
            with self.subTest(one=one):
                a, b = self.render(**one), self.render(**other)
                self.assertGreater(sum(folded(a).values()), 0)
                self.assertGreater(sum(folded(b).values()), 0)
                self.assertEqual(sum(folded(a).values()) + sum(folded(b).values()), whole)
                self.assertEqual(self.facts(a)["X-Flamed-Samples"], sum(folded(a).values()), "of this answer")
        self.assertTrue(all("Contract.mix" in s for s in self.stacks(include="^Contract\\.mix$")))

    def test_depth(self):
        for stack in self.stacks(depth=6, threads=1):
            self.assertLessEqual(len(stack), 6 + 3, stack)
        deep = [s for s in self.stacks(depth=6) if "Contract.down" in s]
        self.assertTrue(any("[…]" in s and s.index("[…]") not in (0, len(s) - 1) for s in deep), deep[:3])
        self.assertEqual(sum(self.stacks(depth=6).values()), sum(self.stacks().values()))

    def test_top_and_total(self):
        rows = [l for l in self.render("flat", top=3).text.splitlines() if re.search(r"^\s*[\d.]+%?\s.*%", l)]
        self.assertGreaterEqual(len(rows), 3)
        self.assertLessEqual(len(rows), 5, "3 rows, and what is left")
        self.assertLess(len(self.render("traces", top=2).text), len(self.render("traces", top=20).text))
        nanoseconds, samples = sum(self.stacks(total=1).values()), sum(self.stacks().values())
        self.assertAlmostEqual(nanoseconds / (samples * 1e9 / 499), 1, delta=0.1)

    def test_every_format(self):
        """Checks type, headers and the facts in the body."""
        counts = self.facts(self.render())
        for form, kind in FORMATS.items():
            with self.subTest(format=form):
                answer = self.render(form, title="A title")
                self.assertEqual(answer.headers["Content-Type"].split(";")[0], kind)
                self.assertEqual(self.facts(answer), counts, "the same in each format")
                self.assertEqual(answer.headers["X-Flamed-Capture"], self.path.rsplit("/", 1)[1])
                self.assertRegex(answer.headers["X-Flamed-Symbols"], r"^\w+\W.+")
                self.assertRegex(answer.headers["Content-Disposition"], r'^inline; filename="[\w.+-]+"$')
                self.assertEqual(int(answer.headers["Content-Length"]), len(answer.body))
        with self.subTest(format="tree as html"):
            answer = self.get(self.path + "/profile?format=tree", headers={"Accept": "text/html"})
            self.assertTrue(answer.headers["Content-Type"].startswith("text/html"), answer.headers["Content-Type"])
        document = self.render("json").json()["quality"]
        self.assertEqual([document[k] for k in ("samples", "lost", "unknown", "truncated")], [counts[f] for f in FACTS])
        for text in (self.render("html").text, self.render("flat").text, " ".join(Pprof(self.render("pprof").body).comments)):
            self.assertIn("truncated", text)
            self.assertRegex(text.replace(",", ""), rf"\b{counts['X-Flamed-Samples']}\b")
        html = self.render("html", title="A <title>").text
        self.assertIn("A &lt;title&gt;", html)
        self.assertNotRegex(html, r"(?i)<(?:script|link|img)[^>]+(?:src|href)=[\"']?(?:https?:)?//", "self-contained")
        self.assertEqual(Pprof(self.render("pprof").body).counts, counts["X-Flamed-Samples"])

    def test_a_new_profile_has_the_same_headers(self):
        answer = self.sample("flat", pid=self.pid)
        counts = self.facts(answer)
        self.assertGreater(counts["X-Flamed-Samples"], 0)
        self.assertRegex(answer.headers["Content-Disposition"], r'^inline; filename="[\w.+-]+"$')
        again = self.get(f"/api/v1/captures/{answer.headers['X-Flamed-Capture']}/profile?format=flat")
        self.assertEqual(self.facts(again), counts, "its id in the store")

    def test_warnings_are_headers(self):
        answer = self.sample(pid=self.pid, symbols="none")
        inside = self.get(f"/api/v1/captures/{answer.headers['X-Flamed-Capture']}/profile?format=json").json()["warnings"]
        self.assertEqual(len(answer.warnings), len(inside))


class Live(ContractCase):
    """"Live: GET /top"."""

    def test_once(self):
        for interval in ("500ms", "2s", "8s"): # until it has had a processor, on a busy machine
            text = self.get("/top?once=1", pid=self.pid, interval=interval, timeout=20).text
            if "Contract." in text:
                break
        for word in ("self", "total", "kind", "name", "Contract."):
            self.assertIn(word, text.lower() if word.islower() else text)
        self.assertRegex(text, r"\d+\.\d+\s*%?\s")
        self.assertNotIn("\x1b", text, "a table, no drawing")
        start, given = time.monotonic(), self.world.machine.given()
        self.get("/top?once=1", pid=self.pid)
        self.assertGreater(time.monotonic() - start, 2 - 1.2, "every 2 s where nothing is said")
        self.assertLess(self.world.machine.given() - given, 2 + 1.2)

    def events(self, path: str, accept: str, mark: bytes, until: int, timeout: float = 8) -> bytes:
        """Returns the text received until MARK has come UNTIL times."""
        connection = self.daemon.connection(timeout)
        try:
            connection.request("GET", path, headers={"Accept": accept})
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            self.kind = response.headers["Content-Type"]
            got = b""
            while len(re.findall(mark, got)) < until and (chunk := response.read1(65536)):
                got += chunk
            return got
        finally:
            connection.close()

    def test_redraws_until_the_client_leaves(self):
        before = self.daemon.perf_events()
        text = self.events(f"/top?pid={self.pid}&interval=0.3s", "*/*", rb"\bmethods?\b|self", 3)
        self.assertIn(b"\x1b[", text, "in place")
        self.assertGreaterEqual(text.lower().count(b"self"), 3)
        proc.wait_until(lambda: self.daemon.perf_events() <= before, 5, "its sampling ended with it")

    def test_server_sent_events(self):
        got = self.events(f"/top?pid={self.pid}&interval=300ms", "text/event-stream", rb"data:.*\n", 2)
        self.assertTrue(self.kind.startswith("text/event-stream"))
        data = [json.loads(l[5:]) for l in got.decode().splitlines() if l.startswith("data:") and l.endswith("}")]
        self.assertTrue(len(data) >= 2 and all(isinstance(d, dict) for d in data), got[:300])

    def test_refused(self):
        for query in ("interval=0", "interval=", "interval=x", "once=2", "pid=2147483646", "seconds=1", "format=json"):
            self.bad(f"/top?{query}", (400, 404))


def load_tests(loader, tests, _):
    """Loads the other two files, too: all share one flamed and its JVMs."""
    tests.addTests(loader.loadTestsFromNames(["test_contract_api", "test_contract_http"]))
    return tests
