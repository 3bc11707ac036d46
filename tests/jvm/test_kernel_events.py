# SPDX-License-Identifier: Apache-2.0
"""Events that the kernel counts (page faults, context switches ...): as many as by the kernel's own counters and by perf, at the places of
the program that made them."""
import json
import os
import signal
import subprocess
import unittest
from unittest import mock

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import Profile, ordered

CALLERS = {"touch": ("Kernel.small", "Kernel.large"), "switch": ("Kernel.waits",)}


class Program(jvm.Obedient):
    """Kernel.java, which executes lines."""

    def __init__(self, version: int, folder: str):
        super().__init__(paths.jdk(version), "-Xmx64m", "-XX:MaxDirectMemorySize=2g", "-cp", folder, "Kernel")


class Perf:
    """perf counts an event of a process."""

    def __init__(self, pid: int, event: str, expression: str = ""):
        commands, self.tell = os.pipe()
        self.hear, acks = os.pipe()
        self.process = subprocess.Popen(
            [*proc.ENDS_WITH_US, "perf", "stat", "-x,", "-e", event, *(["--filter", expression] if expression else []), "-p", str(pid), "-D", "-1", f"--control=fd:{commands},{acks}"],
            stderr=subprocess.PIPE, text=True, pass_fds=(commands, acks))
        os.close(commands)
        os.close(acks)

    def say(self, command: str) -> None:
        os.write(self.tell, f"{command}\n".encode())
        if not os.read(self.hear, 16).startswith(b"ack"):
            raise RuntimeError(f"perf does not take {command!r}")

    def count(self) -> int:
        self.say("disable")
        self.process.send_signal(signal.SIGINT)
        return int(self.process.communicate(timeout=20)[1].splitlines()[-1].split(",")[0])

    def __enter__(self) -> "Perf":
        self.say("enable")
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.tell)
        os.close(self.hear)


def kernel_tracepoints() -> str:
    """Returns the kernel's list, without leaving tracefs mounted where flamed could find it."""
    script = "mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; cat /sys/kernel/tracing/available_events"
    return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, check=True, text=True).stdout


class KernelEvents(jvm.WithClasses):
    sources = ("Kernel.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        paths.need_root()
        cls.daemon = Daemon("--recorder-hz", "0")
        cls.addClassCleanup(cls.daemon.stop)

    def meanwhile(self, program: Program, what: str, **parameters) -> Profile:
        """Returns the profile of a capture during which the program did WHAT."""
        answer = self.daemon.request("POST", "/api/v1/captures", headers={"Content-Type": "application/json"},
                                     body=json.dumps({"pid": program.pid, "seconds": 60, **parameters}).encode())
        self.assertEqual(answer.status, 201, answer)
        path = "/api/v1/captures/" + answer.json()["id"]
        program.do(what)
        self.assertEqual(self.daemon.request("POST", path + "/stop").status, 200)
        proc.wait_until(lambda: self.daemon.get(path).json()["state"] == "done", 10, "it is stored")
        return Profile(self.daemon.get(path + "/profile", format="json"))

    def asked(self, **parameters):
        """Returns the answer of /profile. At the first capture of an event the kernel checks a program, which takes long on a busy machine."""
        answers = []
        def in_time() -> bool:
            answers.append(self.daemon.get("/profile", **parameters))
            return b"did not finish in time" not in answers[-1].body[:1000]
        proc.wait_until(in_time, 60, "the program is loaded")
        return answers[-1]

    def check(self, profile: Profile, what: str, interval: int) -> int:
        """Checks the values of the program's sites. Returns the value of all."""
        whole = sum(s.value for s in profile.stacks)
        self.assertEqual(profile.quality["lost"], 0, profile.describe())
        self.assertEqual(whole, interval * profile.samples, profile.describe())
        self.assertEqual(profile.document["meta"]["period"], interval)
        by_site = [sum(s.value for s in profile.stacks if ordered(s.names, "Kernel.main", site)) for site in CALLERS[what]]
        self.assertGreater(sum(by_site), 0.9 * whole, profile.describe())
        if what == "touch":
            self.assertAlmostEqual(by_site[1] / by_site[0], 3, delta=0.03, msg=profile.describe())
        truncated = sum(s.value for s in profile.stacks if s.truncated)
        self.assertLess(truncated, 0.002 * whole + interval, profile.describe())
        return whole

    def test_as_the_kernel_counts(self):
        """Page faults of two sites, and switches, by the process's own counters."""
        def faults(pid: int) -> int:
            return int(proc.stat(pid)[7])

        def switches(pid: int) -> int:
            return sum(int(line.split()[1]) for tid in proc.threads(pid) for line in proc.read(f"/proc/{pid}/task/{tid}/status").splitlines()
                       if "ctxt_switches" in line)

        for version in jvm.some(17, 25):
            with Program(version, self.classes.folder) as program:
                for event, what, interval, counter in (("page-faults", "touch", 16, faults), ("minor-faults", "touch", 16, faults),
                                                       ("context-switches", "switch", 4, switches)):
                    with self.subTest(jdk=version, event=event):
                        program.do(what) # costs that occur the first time only
                        before = counter(program.pid)
                        profile = self.meanwhile(program, what, event=event, interval=interval)
                        truth = counter(program.pid) - before
                        whole = self.check(profile, what, interval)
                        print(f"{version} {event}: {whole} of {truth}", end=" ")
                        self.assertAlmostEqual(whole / truth, 1, delta=0.02, msg=profile.describe())

    def test_at_a_rate(self):
        """hz= of events that count: there are fewer samples than events, each with the value that it stands for. Their sum is that of the
        exact counter."""
        def faults(pid: int) -> int:
            return int(proc.stat(pid)[7])

        def bytes_touched(pid: int) -> int:
            return faults(pid) * os.sysconf("SC_PAGESIZE")

        def switches(pid: int) -> int:
            return sum(int(line.split()[1]) for tid in proc.threads(pid) for line in proc.read(f"/proc/{pid}/task/{tid}/status").splitlines()
                       if "ctxt_switches" in line)

        with Program(17, self.classes.folder) as program:
            for event, what, hz, counter in (("page-faults", "touch", 5000, faults), ("nativemem", "touch", 5000, bytes_touched),
                                             ("context-switches", "switch", 1000, switches), ("sched:sched_switch", "switch", 1000, switches)):
                if ":s" in event and not os.path.isdir("/sys/kernel/tracing/events/" + event.replace(":", "/")):
                    print(f"no tracepoint {event} here", end=" ")
                    continue
                with self.subTest(event=event):
                    program.do(what) # costs that occur the first time only
                    self.daemon.get("/profile", pid=program.pid, seconds=0.1, event=event) # its program is loaded by then
                    before = counter(program.pid)
                    profile = self.meanwhile(program, what, event=event, hz=hz)
                    truth = counter(program.pid) - before
                    whole = sum(s.value for s in profile.stacks)
                    meta = profile.document["meta"]
                    print(f"{event}: {whole} of {truth} by {profile.samples} samples", end=" ")
                    self.assertEqual(profile.quality["lost"], 0, profile.describe())
                    self.assertAlmostEqual(whole / truth, 1, delta=0.03, msg=profile.describe())
                    self.assertEqual(meta["period"], whole // profile.samples, profile.describe())
                    if what == "touch": # a page every few microseconds
                        self.assertGreater(meta["period"], 1)
                        by_site = [sum(s.value for s in profile.stacks if ordered(s.names, "Kernel.main", site)) for site in CALLERS[what]]
                        self.assertAlmostEqual(by_site[1] / by_site[0], 3, delta=0.3, msg=profile.describe())

    def test_at_a_rate_among_others(self):
        """Event alloc accepts no rate. Beside CPU time, hz= means that of CPU time."""
        with Program(17, self.classes.folder) as program:
            answer = self.daemon.get("/profile", pid=program.pid, event="page-faults,alloc", hz=99)
            self.assertEqual((answer.status, answer.json()["parameter"]), (400, "hz"), answer)
            self.assertIn("event=alloc has no rate", answer.json()["detail"])
            answer = self.daemon.get("/profile", pid=program.pid, event="page-faults,cpu", hz=99, seconds=0.1, format="json")
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.json()["meta"]["period"], 32, answer)

    def test_native_memory(self):
        """Direct buffers of two sites, in bytes."""
        huge = "[always]" in proc.read("/sys/kernel/mm/transparent_hugepage/enabled")
        for version in jvm.some(25, 17):
            with self.subTest(jdk=version), Program(version, self.classes.folder) as program:
                program.do("touch")
                profile = self.meanwhile(program, "touch", event="nativemem", interval="64k")
                if huge: # each takes one fault, and the profile says so
                    self.assertIn("huge pages came into use", profile.describe() + str(profile.document))
                    continue
                self.check(profile, "touch", 65536)
                meta = profile.document["meta"]
                self.assertEqual((meta["event"], meta["unit"], meta["weight"]), ("nativemem", "bytes", "value"))
                for site, truth in zip(CALLERS["touch"], (32 << 20, 96 << 20)):
                    value = sum(s.value for s in profile.stacks if ordered(s.names, "Kernel.main", site))
                    print(f"{version} {site}: {value} of {truth}", end=" ")
                    self.assertAlmostEqual(value / truth, 1, delta=0.01, msg=profile.describe())

    def test_as_perf_counts(self):
        paths.need("perf")
        with Program(17, self.classes.folder) as program:
            for event, what in (("page-faults", "touch"), ("context-switches", "switch"), ("cpu-migrations", "switch"), ("page-faults:u", "touch"),
                                ("sched:sched_switch", "switch"), ("syscalls:sys_enter_futex", "switch")):
                if ":s" in event and not os.path.isdir("/sys/kernel/tracing/events/" + event.replace(":", "/")):
                    print(f"no tracepoint {event} here", end=" ")
                    continue
                with self.subTest(event=event):
                    program.do(what)
                    self.daemon.get("/profile", pid=program.pid, seconds=0.1, event=event) # its program is loaded by then
                    with Perf(program.pid, event) as perf:
                        profile = self.meanwhile(program, what, event=event, interval=8 if event != "cpu-migrations" else 1)
                        truth = perf.count()
                    whole = sum(s.value for s in profile.stacks)
                    print(f"{event}: {whole} of {truth}", end=" ")
                    self.assertAlmostEqual(whole, truth, delta=0.02 * truth + 8, msg=profile.describe())

    def test_filters_as_perf_counts(self):
        """filter= of tracepoints, with an interval, at a rate, weighed by value: as many events as perf counts with the same filter."""
        paths.need("perf")
        if not os.path.isdir("/sys/kernel/tracing/events/sched/sched_switch"):
            self.skipTest("no tracepoints here")
        waits = 'prev_state & 1 && prev_comm == "java"'
        with Program(17, self.classes.folder) as program:
            for event, expression, parameters in (
                    ("sched:sched_switch", "prev_state == 1", {"interval": 8}), ("sched:sched_switch", waits, {"hz": 1000, "total": 1}),
                    ("sched:sched_switch", 'common_pid != 0 && (next_comm ~ "swapper*" || next_prio >= -1)', {"interval": 1}),
                    ("sched:sched_switch", '!(prev_comm ~ "j?va") || next_prio < 0x80 && next_prio > 0100 && cpu < 4096', {"interval": 1}),
                    ("sched:sched_switch", "prev_prio > 9999 || prev_pid <= -1", {}),
                    ("syscalls:sys_enter_futex", "op == 137", {"interval": 8}), ("syscalls:sys_enter_futex", "op != 0x89", {})):
                if not os.path.isdir("/sys/kernel/tracing/events/" + event.replace(":", "/")):
                    print(f"no tracepoint {event} here", end=" ")
                    continue
                with self.subTest(event=event, expression=expression):
                    program.do("switch")
                    self.daemon.get("/profile", pid=program.pid, seconds=0.1, event=event) # its program is loaded by then
                    with Perf(program.pid, event, expression) as perf:
                        profile = self.meanwhile(program, "switch", event=event, filter=expression, **parameters)
                        truth = perf.count()
                    whole = sum(s.value for s in profile.stacks)
                    print(f"{expression}: {whole} of {truth}", end=" ")
                    self.assertEqual(profile.quality["lost"], 0, profile.describe())
                    self.assertEqual(profile.document["meta"]["event"], f"{event}{{{expression}}}")
                    self.assertAlmostEqual(whole, truth, delta=0.02 * truth + 16, msg=profile.describe())
                    self.assertTrue(truth > 4000 if ("== 1" in expression or expression == waits) else True, truth)
                    if "9999" in expression:
                        self.assertEqual(whole, 0, profile.describe())

    def test_filters_that_are_none(self):
        """Invalid filters are refused with a sentence that shows the right form. Hostile ones do no harm."""
        def ask(**parameters) -> tuple[int, dict]:
            answer = self.daemon.get("/profile", pid=program.pid, seconds=0.1, **parameters)
            return answer.status, answer.json() if answer.status != 200 else {}

        with Program(17, self.classes.folder) as program:
            for event, expression in (("cpu", "cpu == 1"), ("page-faults", "x"), ("sched:sched_switch", ""), ("sched:sched_switch", "x" * 181),
                                      ("sched:sched_switch", "a{b"), ("sched:sched_switch", "a == 1\n"), ("sched:sched_switch", "caf\u00e9 == 1"),
                                      ("sched:sched_switch,sched:sched_waking", "prev_pid == 1"), ("sched:sched_switch{prev_pid == 1}", "prev_pid == 1")):
                status, problem = ask(event=event, filter=expression)
                self.assertEqual((status, problem.get("parameter")), (400, "filter"), (event, expression, problem))
            if not os.path.isdir("/sys/kernel/tracing/events/sched/sched_switch"):
                self.skipTest("no tracepoints here")
            for expression, sentence in (("nothing == 1", "no field nothing; its fields are prev_comm, prev_pid"), ("prev_pid", "ends where"), ("prev_pid == java", "a number"),
                                         ("prev_pid == 1 &&", "the name of a field"), ("(prev_pid == 1", "&&, || or )"), ("prev_pid == 1)", "&& or ||"),
                                         ("prev_pid ~ 1", "is a number"), ('prev_comm < "a"', "is a text"), ("prev_comm == java", "in quotes"),
                                         ("prev_pid == 99999999999999999999", "no number"), ("((((((((((prev_pid == 1))))))))))", "parentheses"),
                                         ("||".join(["cpu==1"] * 17), "at most 16 comparisons"), ("||".join(['comm=="a"'] * 5), "at most 4 texts"),
                                         ("prev_pid == 1; rm -rf /", "'; rm -rf /'"), ("</script><script>alert(1)</script>", "the name of a field")):
                status, problem = ask(event="sched:sched_switch", filter=expression)
                self.assertEqual((status, problem.get("parameter")), (400, "filter"), (expression, problem))
                self.assertIn(sentence, problem["detail"] + problem.get("remedy", ""))
            self.assertEqual(ask(event="page-faults,sched:sched_switch{prev_pid == 1, 2}")[1].get("parameter"), "filter")
            hostile = 'prev_comm != "</script><script>alert(1)</script>" && prev_comm != "\x27,;%s$(id)"'
            for name in ("html", "svg", "collapsed", "flat", "tree", "json", "pprof", "speedscope", "jfr", "otlp", "heatmap"):
                answer = self.asked(pid=program.pid, seconds=0.2, event="sched:sched_switch", filter=hostile, format=name)
                self.assertEqual(answer.status, 200, answer)
                if name in ("html", "svg", "heatmap"):
                    self.assertNotIn("<script>alert", answer.text)
            listed = self.daemon.get("/api/v1/captures", limit=1).json()["captures"][0]["events"]
            self.assertEqual([e["name"] for e in listed], [f"sched:sched_switch{{{hostile}}}"])

    def test_several_at_once(self):
        """One capture of three events: each is as if alone. Shown by event=, in formats that hold all, and in the past."""
        with Program(17, self.classes.folder) as program:
            program.do("touch")
            before = int(proc.stat(program.pid)[7])
            shown = self.meanwhile(program, "touch", event="page-faults,cpu,context-switches", interval="16,1ms,1")
            truth = int(proc.stat(program.pid)[7]) - before
            one = self.daemon.get("/api/v1/captures", limit=1).json()["captures"][0]["id"]
            path = "/api/v1/captures/" + one
            whole = self.check(shown, "touch", 16)
            self.assertAlmostEqual(whole / truth, 1, delta=0.02, msg=shown.describe())
            facts = self.daemon.get(path).json()
            self.assertEqual(facts["event"], "page-faults,cpu,context-switches")
            self.assertEqual([(e["name"], e["unit"], e["period"]) for e in facts["events"]],
                             [("page-faults", "count", 16), ("cpu", "nanoseconds", 1000000), ("context-switches", "count", 1)])
            cpu = Profile(self.daemon.get(path + "/profile", format="json", event="cpu"))
            self.assertEqual((cpu.document["meta"]["event"], cpu.document["meta"]["period"]), ("cpu", 1000000))
            self.assertGreater(sum(s.value for s in cpu.stacks if "Kernel.main" in s.names), 20_000_000, cpu.describe())
            answer = self.daemon.get(path + "/profile", format="json", event="branches")
            self.assertEqual((answer.status, answer.json()["parameter"]), (400, "event"), answer)
            self.assertIn("page-faults,cpu,context-switches", answer.json()["detail"])
            for name in ("pprof", "speedscope", "otlp", "jfr"):
                self.assertEqual(self.daemon.get(path + "/profile", format=name).status, 200)
            diff = self.daemon.get("/api/v1/diff", a=one, b=one, event="cpu", format="json").json()
            self.assertEqual((diff["a"]["event"], diff["a"]["weight"]), ("cpu", cpu.samples))
            answer = self.daemon.get("/api/v1/query", pid=program.pid, **{"from": "-60s"}, event="cpu,page-faults", format="json")
            self.assertEqual(answer.status, 200, answer)
            past = Profile(answer)
            self.assertEqual((past.document["meta"]["event"], past.samples), ("cpu", cpu.samples))
            self.assertEqual(self.daemon.get("/api/v1/captures", event="cpu", limit=1).json()["captures"][0]["id"], one)
            self.assertEqual(self.daemon.get("/api/v1/captures", event="cpu,page-faults").status, 400)

    def test_what_cannot_be_had(self):
        """An unavailable event is listed with the reason, and refused with it."""
        events = {e["name"]: e for e in self.daemon.get("/api/v1/events").json()["events"]}
        self.assertTrue(events["page-faults"]["available"])
        self.assertEqual((events["page-faults"]["unit"], events["page-faults"]["default_interval"]), ("count", 32))
        with Program(17, self.classes.folder) as program:
            for name, event in events.items():
                answer = self.asked(pid=program.pid, seconds=0.1, event=name)
                self.assertEqual(answer.status, 200 if event["available"] else 503, answer)
                if not event["available"]:
                    self.assertIn(event["reason"].split("; ")[0], answer.json()["detail"])
                    self.assertGreater(len(answer.json()["remedy"]), 20)
            for parameters in ({"hz": 0}, {"interval": "10ms"}, {"interval": 0}, {"interval": "1.5"}, {"interval": "2000000m"}):
                answer = self.daemon.get("/profile", pid=program.pid, event="page-faults", **parameters)
                self.assertEqual((answer.status, answer.json()["parameter"]), (400, next(iter(parameters))), answer)
            self.assertEqual(self.daemon.get("/profile", pid=program.pid, event="cpu", interval=32).status, 400)

    def test_of_a_process(self):
        """For a process that is no JVM, events of JVMs are listed as unavailable."""
        with Program(17, self.classes.folder) as program:
            listed = {e["name"]: e for e in self.daemon.get("/api/v1/events", pid=program.pid).json()["events"]}
            everywhere = {e["name"]: e for e in self.daemon.get("/api/v1/events").json()["events"]}
            self.assertEqual(listed, everywhere)
            for event in listed.values():
                self.assertTrue(event["unit"] and event["default_interval"] > 0 and event["cost"] and event["description"], event)
                self.assertEqual(event["available"], not event["reason"], event)

        def of_none() -> dict:
            return {e["name"]: e["reason"] for e in self.daemon.get("/api/v1/events", pid=os.getpid()).json()["events"]}
        proc.wait_until(lambda: "is no JVM" in of_none()["alloc"], 10, "this process is known")
        reasons = of_none()
        self.assertEqual({name for name, reason in reasons.items() if "is no JVM" in reason}, {"alloc", "live", "lock", "safepoint"}, reasons)
        self.assertEqual(self.daemon.get("/api/v1/events", pid=2147483646).status, 404)
        self.assertEqual(self.daemon.get("/api/v1/events", pid=f"{os.getpid()},1").status, 400)

    def test_names_of_other_events(self):
        """Raw events, events of caches and PMUs, tracepoints, modifiers: refused with the reason, and mistakes with the right form."""
        with Program(17, self.classes.folder) as program:
            for name, status, sentence in (("r01c2", 503, "r01c2"), ("LLC-load-misses:u", 503, "LLC-load-misses:u"),
                                           ("cpu/event=0x3c,umask=1/", 503, "PMU"), ("uprobe/config1=4096,config2=16/", 503, "no counter"),
                                           ("sched:no_such_thing", 503, "no tracepoint"), ("cycles:zz", 400, "modifiers"),
                                           ("sched:sched_switch:u", 400, "modifiers"), ("cpu/event=q/", 400, "term"), ("cyclez", 400, "'cycles'?")):
                answer = self.daemon.get("/profile", pid=program.pid, seconds=0.1, event=name)
                if answer.status == 200 and status == 503: # a machine with this event
                    continue
                self.assertEqual((answer.status, answer.json().get("parameter", "event")), (status, "event"), answer)
                if sentence != "no tracepoint" or os.path.isdir("/sys/kernel/tracing/events"):
                    self.assertIn(sentence, answer.json()["detail"])
            self.assertEqual(self.daemon.get("/profile", pid=program.pid, seconds=0.3, event="cpu:u,page-faults:k").status, 200)
            [one] = self.daemon.get("/api/v1/captures", event="page-faults:k", limit=1).json()["captures"]
            self.assertEqual([e["name"] for e in one["events"]], ["cpu:u", "page-faults:k"])
        names = {e["name"] for e in self.daemon.get("/api/v1/events").json()["events"]}
        self.assertLessEqual({"cpu", "LLC-loads", "dTLB-load-misses"}, names)

    def test_search(self):
        """Search by a part of the name or the description, or by a pattern; also finds tracepoints."""
        def found(match: str) -> tuple[dict, dict]:
            answer = self.daemon.get("/api/v1/events", match=match)
            self.assertEqual(answer.status, 200, answer)
            return {e["name"]: e for e in answer.json()["events"]}, answer.json()

        events, document = found("HUGE ones")
        self.assertEqual((list(events), document["left_out"]), (["nativemem"], 0)) # found by its description
        events, document = found("*-FAULTS")
        self.assertEqual(list(events), ["page-faults", "minor-faults", "major-faults"])
        self.assertEqual(found("no such thing")[0], {})
        self.assertNotIn("left_out", self.daemon.get("/api/v1/events").json())
        self.assertEqual(self.daemon.get("/api/v1/events", match="x" * 300).status, 400)
        events, document = found("sched:sched_*switch")
        if document["tracepoints_reason"]:
            self.assertIn("mount", document["tracepoints_reason"])
            self.skipTest(document["tracepoints_reason"])
        event = events["sched:sched_switch"]
        self.assertEqual((event["available"], event["reason"], event["default_interval"]), (True, "", 1))
        everything = {line for line in kernel_tracepoints().splitlines() if len(line) < 64}
        events, document = found("*:*")
        tracepoints = set(events) & everything
        self.assertEqual((len(tracepoints), len(tracepoints) + document["left_out"]), (min(200, len(everything)), len(everything)))
        self.assertFalse([name for name in set(events) - tracepoints if ":" in name]) # the others match by their description

    def test_without_tracefs(self):
        """Where tracefs is not mounted and the kernel mounts none in no folder: a sentence says what to do."""
        if os.path.isdir("/sys/kernel/tracing/events") or os.path.isdir("/sys/kernel/debug/tracing/events"):
            self.skipTest("tracefs is mounted here")
        with mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "tracefs"}), Daemon("--recorder-hz=0") as daemon:
            answer = daemon.get("/profile", seconds=0.2, event="sched:sched_switch")
            self.assertEqual(answer.status, 503, answer)
            self.assertIn("mount -t tracefs nodev /sys/kernel/tracing", answer.text)
            self.assertIn("mount", daemon.get("/api/v1/events", match="sched:*").json()["tracepoints_reason"])

    def test_formats(self):
        """Each format names the event's unit; a capture's own list has it, too."""
        with Program(17, self.classes.folder) as program:
            for name in ("html", "svg", "collapsed", "summary", "flat", "traces", "tree", "json", "pprof", "speedscope", "jfr", "otlp", "heatmap"):
                answer = self.daemon.get("/profile", pid=program.pid, seconds=0.2, event="context-switches", interval=1, format=name)
                self.assertEqual(answer.status, 200, answer)
                if name in ("summary", "json"):
                    self.assertIn("context-switches", answer.text)
            [one] = [c for c in self.daemon.get("/api/v1/captures", event="context-switches", limit=1).json()["captures"]]
            self.assertEqual((one["event"], one["hz"], one["period"], one["unit"]), ("context-switches", 0, 1, "count"))
            text = self.daemon.get("/top", pid=program.pid, event="context-switches", once=1, interval="500ms").text
            self.assertNotIn("CPUs", text)


if __name__ == "__main__":
    unittest.main()
