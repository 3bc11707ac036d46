# SPDX-License-Identifier: Apache-2.0
"""The HTTP contract, sentence by sentence: the resources of /api/v1."""
import json
import os
import re
import time
import urllib.parse

from harness import proc
from harness.contract import FORMATS, TIME, ContractCase, folded

JSON = {"Content-Type": "application/json"}
JVM_FIELDS = {"pid": int, "nspid": list, "start_time": str, "uid": int, "main": str, "args": str, "java_version": str,
              "vm_name": str, "container": (dict, type(None)), "pod": (dict, type(None)), "cgroup": str,
              "cpu_percent": (int, float), "cpu_limit": (int, float, type(None)), "rss": int, "threads": int, "frame_pointers": bool, "debug_non_safepoints": bool,
              "profilable": dict, "service": dict, "signals": list}


class Api(ContractCase):
    def post(self, document, path: str = "/api/v1/captures"):
        return self.daemon.request("POST", path, body=json.dumps(document).encode(), headers=JSON)

    def capture(self, **parameters) -> str:
        answer = self.post(parameters)
        self.assertEqual(answer.status, 201, f"{parameters}: {answer}")
        return answer.json()["id"]

    def finished(self, ident: str) -> dict:
        return proc.wait_until(lambda: (d := self.get(f"/api/v1/captures/{ident}").json())["state"] != "running" and d, 15,
                               f"{ident} ends", 0.05)

    def times(self, document, path: str = "") -> None:
        """Times are RFC 3339 with nanoseconds, durations are seconds, sizes are bytes. Other units are part of the name."""
        if isinstance(document, dict):
            for key, value in document.items():
                if re.search(r"(^|_)(time|start|end|created|started|ended|at|last_run|next_run)$", key) and isinstance(value, str):
                    self.assertRegex(value, TIME, path + "/" + key)
                self.assertNotRegex(key, r"_(ns|us|ms|kb|kib|mib)$", path)
                self.times(value, path + "/" + key)
        elif isinstance(document, list):
            for value in document:
                self.times(value, path)


class Jvms(Api):
    def test_every_jvm_and_its_fields(self):
        w = self.world
        document = self.get("/api/v1/jvms").json()
        self.times(document)
        jvms = {row["pid"]: row for row in document["jvms"]}
        self.assertLessEqual(set(w.pids), set(jvms))
        for row in jvms.values():
            for field, kind in JVM_FIELDS.items():
                self.assertIn(field, row)
                self.assertIsInstance(row[field], kind, field)
            self.assertIn(row["profilable"]["symbols"], ("agent", "perfmap", "memory", "none"))
            self.assertIsInstance(row["profilable"]["reason"], str)
        for pid in w.pids:
            self.assertEqual(jvms[pid]["nspid"], proc.ns_pids(pid), "one per nesting level")
            self.assertEqual(jvms[pid]["uid"], os.stat(f"/proc/{pid}").st_uid)
            self.assertAlmostEqual(jvms[pid]["rss"] / 1024, proc.memory_kib(pid), delta=30000)
            self.assertAlmostEqual(jvms[pid]["threads"], len(proc.threads(pid)), delta=3)
            self.assertFalse(jvms[pid]["frame_pointers"])
        host, inside, twin = (jvms[pid] for pid in w.pids)
        self.assertEqual((host["main"], host["container"], host["pod"]), ("Contract", None, None))
        self.assertTrue(host["java_version"].startswith("17."))
        self.assertTrue(host["args"].endswith("Contract first second argument"), host["args"])
        self.assertNotIn("hunter2", json.dumps(document))
        self.assertEqual((inside["container"]["id"], inside["container"]["runtime"]), (w.ident, "docker"))
        self.assertEqual((inside["main"], inside["pod"]), (w.spin.main, None))
        self.assertEqual((twin["container"]["id"], twin["pod"]["uid"]), (w.twin_ident, w.pod))
        self.assertLessEqual({"uid", "name", "namespace"}, set(twin["pod"]))
        self.assertIn(w.ident, inside["cgroup"])

    def test_one(self):
        one = self.get(f"/api/v1/jvms/{self.pid}").json()
        self.assertLessEqual(set(JVM_FIELDS), set(one))
        self.assertEqual(one["pid"], self.pid)
        for pid in (os.getpid(), 2147483646, 0, "abc", -1):
            self.bad(f"/api/v1/jvms/{pid}", (400, 404))

    def test_preflight(self):
        for pid in self.world.pids:
            threads = set(proc.threads(pid).values())
            document = self.get(f"/api/v1/jvms/{pid}/preflight").json()
            steps = next(v for v in document.values() if isinstance(v, list) and v and isinstance(v[0], dict))
            for step in steps:
                text = json.dumps(step)
                self.assertTrue('"ok"' in text or step.get("ok") is True or "reason" in step, step)
            self.assertNotIn("Attach Listener", set(proc.threads(pid).values()) - threads, "touches nothing")
        self.bad(f"/api/v1/jvms/{os.getpid()}/preflight", 404)

    def test_perf_map(self):
        answer = self.get(f"/api/v1/jvms/{self.pid}/perf-map?symbols=memory")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
        lines = answer.text.splitlines()
        self.assertTrue(any("Contract.mix" in line or "Contract::mix" in line for line in lines), lines[:3])
        for line in lines:
            self.assertRegex(line, r"^[0-9a-f]+ [0-9a-f]+ \S.*$")
        unfolded = self.get(f"/api/v1/jvms/{self.world.inside.pid}/perf-map?unfold=1").text.splitlines()
        self.assertTrue(any("->" in line for line in unfolded), "inlined frames")
        self.assertGreater(len(unfolded), len(self.get(f"/api/v1/jvms/{self.world.inside.pid}/perf-map").text.splitlines()) / 2)
        for _ in range(2): # the node begins one attach a second: the second waits for its turn
            self.get(f"/api/v1/jvms/{self.pid}/perf-map?symbols=agent")
        self.bad(f"/api/v1/jvms/{self.pid}/perf-map?symbols=none", 400, parameter="symbols")
        self.bad(f"/api/v1/jvms/{self.pid}/perf-map?unfold=2", 400, parameter="unfold")

    def test_events(self):
        for query in ("", f"?pid={self.pid}"):
            document = self.get("/api/v1/events" + query).json()
            self.assertIn("cpu", [event["name"] for event in document["events"]])
        self.bad("/api/v1/events?pid=2147483646", 404)


class Captures(Api):
    def test_life(self):
        answer = self.post({"pid": self.pid, "seconds": 0.5, "hz": 199})
        self.assertEqual(answer.status, 201, answer)
        document = answer.json()
        self.assertIn(document["state"], ("running", "done"))
        where = answer.headers["Location"]
        self.assertEqual(urllib.parse.urlparse(where).path, f"/api/v1/captures/{document['id']}")
        shown = self.get(where).json()
        for field, kind in (("id", str), ("state", str), ("progress", (int, float)), ("samples", int), ("warnings", list)):
            self.assertIsInstance(shown[field], kind, field)
        done = self.finished(document["id"])
        self.assertEqual((done["state"], done["progress"]), ("done", 1))
        self.assertEqual(done["hz"], 199)
        self.assertEqual(done["labels"], {"main": "Contract", "service": "Contract"})
        self.times(done)
        collapsed = folded(self.get(where + "/profile?format=collapsed"))
        self.assertEqual(sum(collapsed.values()), done["samples"])
        for _ in range(2):
            self.assertEqual(folded(self.get(where + "/profile?format=collapsed")), collapsed, "any number of times")
        for form, kind in FORMATS.items():
            with self.subTest(format=form):
                self.assertTrue(self.get(where + "/profile", format=form).headers["Content-Type"].startswith(kind))
        self.assertEqual(self.daemon.request("DELETE", where).status // 100, 2)
        for path in (where, where + "/profile", where + "/stream"):
            self.bad(path, 404)
        self.bad(where, 404, method="DELETE")
        self.bad(where + "/stop", 404, method="POST")

    def test_bodies(self):
        w = self.world
        for body in ({"pid": self.pid}, {"pid": str(self.pid)}, {"pid": f"{w.host.pid},{w.inside.pid}"},
                     {"pid": [w.host.pid, w.inside.pid]}, {"container": w.ident[:12], "nspid": 1}, {"jvm": w.spin.main},
                     {"pid": self.pid, "hz": 99, "threads": 1, "kernel": 0, "title": "x", "lines": 1, "include": ["a", "b"]},
                     {"pid": self.pid, "interval": "5ms", "event": "cpu", "symbols": "memory", "format": "json"},
                     {"pid": self.pid, "seconds": "0.2"}, {"pid": self.pid, "threads": True}):
            with self.subTest(body=body):
                ident = self.capture(**{"seconds": 0.2, **body})
                self.assertEqual(self.finished(ident)["state"], "done")
        for body, words in ((b"", ""), (b"{", ""), (b"[]", ""), (b"null", ""), (b'{"pid":1e30}', "pid"), (b'{"pid":{}}', "pid"),
                            (b'{"nonsense":1}', "nonsense"), (b'{"seconds":-1}', "seconds"), (b'{"seconds":4000}', "seconds"),
                            (b'{"hz":99,"interval":"10ms"}', "interval"), (b'{"pid":1,"pid":2}', "pid"),
                            (b'{"pid":""}', "pid"), (b"\xff\xfe", ""), (b'{"event":"nonsense"}', "nonsense")):
            self.bad("/api/v1/captures", 400, words, method="POST", body=body, headers=JSON)
        self.bad("/api/v1/captures", 404, method="POST", body=b'{"pid":2147483646}', headers=JSON)
        self.bad("/api/v1/captures", 413, method="POST", body=b'{"title":"' + b"x" * 3_000_000 + b'"}', headers=JSON)

    def test_until_stopped(self):
        ident = self.capture(pid=self.pid)
        path = f"/api/v1/captures/{ident}"
        time.sleep(0.5)
        shown = self.get(path).json()
        self.assertEqual(shown["state"], "running")
        for query, listed in (("limit=1", True), (f"pid={self.pid}", True), ("jvm=Contract&from=-5s", True), ("state=done", False),
                              (f"pid={self.world.twin.pid}", False), ("to=-60s", False), ("state=running", True)):
            found = [c["id"] for c in self.get("/api/v1/captures?" + query).json()["captures"]]
            self.assertEqual(ident in found, listed, query)
            self.assertLessEqual(len(found), 1 if query == "limit=1" else 1000)
        self.bad(path + "/stop", 405, method="GET")
        answer = self.daemon.request("POST", path + "/stop")
        self.assertEqual(answer.status // 100, 2, answer)
        done = self.finished(ident)
        self.assertEqual(done["state"], "done", "ended early and kept")
        self.assertGreater(done["samples"], 0)
        self.get(path + "/profile?format=flat")
        self.bad(path + "/stop", 409, method="POST")

    def test_a_running_one_is_deleted(self):
        ident = self.capture(pid=self.pid, seconds=60)
        self.assertEqual(self.daemon.request("DELETE", f"/api/v1/captures/{ident}").status // 100, 2)
        self.bad(f"/api/v1/captures/{ident}", 404)

    def test_list(self):
        # Long enough for samples on a busy machine: without samples, no process counts as having run.
        made = [self.capture(pid=pid, seconds=0.4, hz=499) for pid in (self.pid, self.pid, self.world.inside.pid)]
        for ident in made:
            self.finished(ident)
        document = self.get("/api/v1/captures?limit=1000").json()
        self.assertIn("next", document)
        self.times(document)
        idents = [c["id"] for c in document["captures"]]
        self.assertEqual([i for i in idents if i in made], made[::-1], "newest first")
        walked, cursor = [], None
        while len(walked) < len(idents):
            page = self.get("/api/v1/captures", limit=2, **({"cursor": cursor} if cursor else {})).json()
            self.assertLessEqual(len(page["captures"]), 2)
            walked += [c["id"] for c in page["captures"]]
            cursor = page["next"]
            if not cursor:
                break
        self.assertEqual(walked, idents, "the cursor walks the same list")
        w = self.world
        for target in ({"pid": w.inside.pid}, {"container": w.ident[:12], "nspid": 1}, {"pid": f"{w.inside.pid},2147483646"},
                       {"container": w.ident[:9]}):
            mine = [c["id"] for c in self.get("/api/v1/captures", limit=1000, **target).json()["captures"]]
            self.assertIn(made[2], mine, target)
            self.assertFalse(set(made[:2]) & set(mine), target)
        mine = [c["id"] for c in self.get("/api/v1/captures", limit=1000, jvm="^Contract$").json()["captures"]]
        self.assertLessEqual(set(made[:2]), set(mine))
        self.assertNotIn(made[2], mine)
        recent = [c["id"] for c in self.get("/api/v1/captures?from=-30s&limit=1000").json()["captures"]]
        self.assertLessEqual(set(made), set(recent))
        old = self.get("/api/v1/captures?from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z").json()
        self.assertEqual(old["captures"], [])
        for query in ("limit=0", "limit=x", "limit=", "cursor=nonsense", "state=odd", "from=x"):
            self.bad("/api/v1/captures?" + query, 400)

    def test_list_while_captures_begin(self):
        """A capture that begins between two pages changes no position in the list of running ones."""
        running = [self.capture(pid=self.pid, seconds=60, hz=99) for _ in range(2)]
        self.addCleanup(lambda: [self.daemon.request("DELETE", f"/api/v1/captures/{ident}") for ident in running])
        first = self.get("/api/v1/captures?limit=1").json()
        self.assertEqual([(c["id"], c["hz"]) for c in first["captures"]], [(running[1], 99)])
        running.append(self.capture(pid=self.pid, seconds=60))
        second = self.get("/api/v1/captures", limit=1, cursor=first["next"]).json()
        self.assertEqual([c["id"] for c in second["captures"]], [running[0]])
        short = self.capture(pid=self.pid, seconds=0.4)
        self.finished(short)
        newest = self.get("/api/v1/captures?limit=3").json()
        self.assertEqual([c["id"] for c in newest["captures"]], [short, running[2], running[1]], "one order for those that run and those that ended")
        later = self.get("/api/v1/captures", limit=1, cursor=newest["next"]).json()
        self.assertEqual([c["id"] for c in later["captures"]], [running[0]])

    def test_stream(self):
        ident = self.capture(pid=self.pid, seconds=2.3, hz=199)
        answer = self.get(f"/api/v1/captures/{ident}/stream", timeout=10)
        self.assertTrue(answer.headers["Content-Type"].startswith("text/event-stream"))
        data = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
        progress = [d["progress"] for d in data if "progress" in d]
        self.assertGreaterEqual(len(progress), 2)
        self.assertEqual(progress, sorted(progress))
        self.assertIn("Contract.", answer.text, "live top")
        self.get(f"/api/v1/captures/{ident}/stream", timeout=5) # a finished one: ends at once

    def test_renderings_of_what_is_not_there(self):
        for ident in ("nonsense", "0", "../jvms", "%2e%2e", "x" * 300, "0" * 26):
            self.bad(f"/api/v1/captures/{ident}/profile", (400, 404))
        unknown = f"/api/v1/captures/{'0' * 32}" # over TCP, where root may not change captures of others
        for method, path in (("GET", "/profile"), ("GET", "/stream"), ("POST", "/stop"), ("DELETE", "")):
            self.bad(unknown + path, 404, method=method)
        ident = self.capture(pid=self.pid, seconds=0.1)
        self.finished(ident)
        for query in ("seconds=1", "hz=99", "pid=1", "nonsense=1", "format=x"):
            self.bad(f"/api/v1/captures/{ident}/profile?{query}", 400, parameter=query.split("=")[0])


class Past(Api):
    def test_query(self):
        answer = self.get("/api/v1/query?from=-20s&format=collapsed", pid=self.pid)
        stacks = folded(answer)
        self.assertTrue(any("Contract.mix" in s for s in stacks))
        self.assertEqual(self.facts(answer)["X-Flamed-Samples"], sum(stacks.values()))
        several = folded(self.get("/api/v1/query?from=-20s&to=-0.5s&format=collapsed"))
        self.assertTrue(all(re.match(r"^\[.* pid=\d+\]$", s[0]) for s in several))
        for form, kind in FORMATS.items():
            with self.subTest(format=form):
                one = self.get("/api/v1/query?from=-20s", pid=self.pid, format=form)
                self.assertTrue(one.headers["Content-Type"].startswith(kind))
        meta = self.get("/api/v1/query?from=-20s&format=json", jvm="^Contract$").json()["meta"]
        self.assertEqual(meta["target"], "jvm ^Contract$")
        self.assertIn("recorder_alloc is off", self.bad("/api/v1/query?from=-20s&event=alloc", 404)["remedy"])
        other = self.bad("/api/v1/query?from=-20s&event=page-faults", 404)
        self.assertIn("only event=cpu, offcpu, wall, lock and alloc", other["remedy"], "why there is none")
        self.bad("/api/v1/query?from=-1s&to=-9s", 400)
        self.bad("/api/v1/query?from=-20s&seconds=1", 400, parameter="seconds")

    def test_diff(self):
        pair = [self.capture(pid=self.pid, seconds=0.5, hz=199, symbols=symbols) for symbols in ("memory", "none")]
        for ident in pair:
            self.finished(ident)
        for form in ("html", "svg", "collapsed", "json"):
            with self.subTest(format=form):
                answer = self.get("/api/v1/diff", a=pair[0], b=pair[1], format=form)
                self.assertTrue(answer.headers["Content-Type"].startswith(FORMATS[form]), answer)
        lines = self.get("/api/v1/diff", a=pair[0], b=pair[1], format="collapsed").text.splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^.+ \d+ \d+$", "as difffolded.pl")
        text = self.get("/api/v1/diff", a=pair[0], b=pair[1], format="text").text
        self.assertRegex(text, r"\A.*\nA: 0\.\d s, \d+ samples\n(   warning: \d+ samples are few.*\n)?B: 0\.\d s, \d+ samples\n(?s:.*)CHANGE  FUNCTION\n")
        self.get("/api/v1/diff", a=pair[0], b=pair[1], normalize=0, format="json")
        self.get("/api/v1/diff", a="-20s..-5s", b="-5s..-0s", pid=self.pid, format="json")
        now = time.time()
        a, b = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - ago)) for ago in (10, 1))
        self.get("/api/v1/diff", a=f"{a}..{b}", b=pair[0], pid=self.pid, format="collapsed")
        for query in ("a=" + pair[0], "b=" + pair[0], "", f"a={pair[0]}&b=", f"a={pair[0]}&b=nonsense",
                      f"a={pair[0]}&b=-1s..-5s", f"a={pair[0]}&b={pair[1]}&normalize=2", f"a={pair[0]}&b={pair[1]}&format=jfr",
                      f"a={pair[0]}&a={pair[0]}&b={pair[1]}"):
            self.bad("/api/v1/diff?" + query, (400, 404))

    def test_timeline(self):
        for query in ("", f"pid={self.pid}&"):
            document = self.get(f"/api/v1/timeline?{query}from=-20s").json()
            self.times(document)
            self.assertTrue(document["series"])
            self.assertEqual({len(s["samples"]) for s in document["series"]}, {60}, "per time bucket")
            self.assertTrue(any(s["pid"] == self.pid and s["jvm"] == "Contract" for s in document["series"]))
            by = self.get(f"/api/v1/timeline?{query}from=-20s&by=category&buckets=7").json()
            self.assertIn("java", {s["category"] for s in by["series"]})
            self.assertEqual({len(s["samples"]) for s in by["series"]}, {7})
        self.bad("/api/v1/timeline?from=-1s&to=-9s", 400)


class Configured(Api):
    def test_schedules(self):
        self.assertEqual(self.get("/api/v1/schedules").json()["schedules"], [])

    def test_triggers(self):
        answer = self.daemon.request("POST", "/api/v1/triggers/nonsense", unix=True)
        self.problem(answer, 404, "nonsense")
        document = self.bad("/api/v1/triggers/nonsense", 403, "over TCP", "manage", method="POST")
        self.assertIn("--unix-socket", document["remedy"])
        self.bad("/api/v1/triggers/nonsense", 405, method="GET")
