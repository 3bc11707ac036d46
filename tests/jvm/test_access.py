# SPDX-License-Identifier: Apache-2.0
"""The rights of callers: every route of the table, as every kind of user, by the kernel's own facts. No answer shows a user anything of
another user. A route without a row here fails, as does a row without a route."""
import base64
import contextlib
import gzip
import json
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import caller, certs, jvm, paths, proc, rootless
from harness.daemon import Daemon, free_port
from test_forged import in_pod

# TEAMED is in the group of a rule, EVE has a container without root; the last two are groups.
ALICE, BOB, CAROL, MEMBER, FIRST_GROUP, TEAMED, EVE, GROUP, TEAM = proc.free_ids(9)
ROLES = ("health", "view", "profile", "attach", "manage")
WHOLE, OWN, POD, NOBODY = "whole", "own", "pod", "nobody" # what a user sees: everything, ALICE's, the namespace below
POD_NAMESPACE = "team-a"
NONE = "0" * 32

# How to request each route, and its answers to a caller with the role: for the caller's own processes, and for others' if the address names
# a process or capture.
ROUTES = {
    ("get", "/"): ("/", 200, None),
    ("get", "/ui/{file}"): ("/ui/none.js", 404, None),
    ("get", "/login"): ("/login?ticket=none", 403, None),
    ("post", "/logout"): ("/logout", 204, None),
    ("get", "/profile"): ("/profile?pid={pid}&seconds=0.1&format=json", 200, 404),
    ("get", "/top"): ("/top?pid={pid}&once=1&interval=100ms", 200, 404),
    ("get", "/api/v1/jvms"): ("/api/v1/jvms", 200, None),
    ("get", "/api/v1/jvms/{pid}"): ("/api/v1/jvms/{pid}", 200, 404),
    ("get", "/api/v1/jvms/{pid}/preflight"): ("/api/v1/jvms/{pid}/preflight", 200, 404),
    ("get", "/api/v1/jvms/{pid}/heap"): ("/api/v1/jvms/{pid}/heap", 200, 404),
    ("get", "/api/v1/jvms/{pid}/threads"): ("/api/v1/jvms/{pid}/threads", 200, 404),
    ("get", "/api/v1/jvms/{pid}/perf-map"): ("/api/v1/jvms/{pid}/perf-map", 200, 404),
    ("get", "/api/v1/services"): ("/api/v1/services", 200, None),
    ("get", "/api/v1/changes"): ("/api/v1/changes?pid={pid}&a=-50s..-25s&b=-25s..now", 200, 404),
    ("get", "/api/v1/words"): ("/api/v1/words?pid={pid}", 200, 404),
    ("get", "/api/v1/signals"): ("/api/v1/signals?pid={pid}", 200, 404),
    ("get", "/api/v1/push"): ("/api/v1/push", 200, None),
    ("get", "/api/v1/events"): ("/api/v1/events?pid={pid}", 200, 404),
    ("get", "/api/v1/captures"): ("/api/v1/captures", 200, None),
    ("post", "/api/v1/captures"): ("/api/v1/captures", 201, 404),
    ("get", "/api/v1/captures/{id}"): ("/api/v1/captures/{id}", 200, 404),
    ("delete", "/api/v1/captures/{id}"): ("/api/v1/captures/{id}", 204, 404),
    ("get", "/api/v1/captures/{id}/profile"): ("/api/v1/captures/{id}/profile?format=collapsed", 200, 404),
    ("post", "/api/v1/captures/{id}/stop"): ("/api/v1/captures/{id}/stop", 409, 404),
    ("get", "/api/v1/captures/{id}/stream"): ("/api/v1/captures/{id}/stream", 200, 404),
    ("get", "/api/v1/query"): ("/api/v1/query?from=-600s&pid={pid}&format=collapsed", 200, 404),
    ("get", "/api/v1/diff"): ("/api/v1/diff?a={id}&b={id}&format=json", 200, 404),
    ("get", "/api/v1/timeline"): ("/api/v1/timeline?by=jvm&pid={pid}", 200, 404),
    ("get", "/api/v1/schedules"): ("/api/v1/schedules", 200, None),
    ("get", "/api/v1/audit"): ("/api/v1/audit", 200, None),
    ("get", "/api/v1/whoami"): ("/api/v1/whoami", 200, None),
    ("post", "/api/v1/logins"): ("/api/v1/logins", 403, None), # except on the Unix socket
    ("post", "/api/v1/triggers/{name}"): ("/api/v1/triggers/none", 404, None),
    ("post", "/mcp"): ("/mcp", 200, None),
    ("get", "/debug/pprof/"): ("/debug/pprof/", 200, None),
    ("get", "/debug/pprof/profile"): ("/debug/pprof/profile?pid={pid}&seconds=0.1", 200, 404),
    ("get", "/debug/pprof/heap"): ("/debug/pprof/heap", 200, None),
    ("get", "/debug/pprof/allocs"): ("/debug/pprof/allocs", 200, None),
    ("get", "/debug/pprof/block"): ("/debug/pprof/block", 200, None),
    ("get", "/debug/pprof/mutex"): ("/debug/pprof/mutex", 200, None),
    ("get", "/debug/pprof/goroutine"): ("/debug/pprof/goroutine", 200, None),
    ("get", "/sd"): ("/sd", 200, None),
    ("get", "/metrics"): ("/metrics", 200, None),
    ("get", "/healthz"): ("/healthz", 200, None),
    ("get", "/readyz"): ("/readyz", 200, None),
    ("get", "/openapi.json"): ("/openapi.json", 200, None),
}

# Every way to name more than one process, with the message if none is found.
WIDE = ("/profile?seconds=0.3&format=json&threads=1", "/profile?jvm=.&seconds=0.1&format=collapsed", "/profile?from=-600s&format=json",
        "/profile?from=-600s&jvm=.&format=pprof", "/profile?seconds=0.1&format=html", "/profile?seconds=0.1&format=jfr",
        "/profile?seconds=0.1&format=otlp", "/profile?seconds=0.1&format=heatmap", "/profile?seconds=0.1&format=requests", "/profile?seconds=0.1&format=speedscope",
        "/profile?jvm=NoSuchClass&seconds=0.1", "/profile?container=abcdef&seconds=0.1", "/profile?pod=none&seconds=0.1",
        "/profile?namespace=none&seconds=0.1", "/top?once=1&interval=100ms", "/api/v1/jvms", "/api/v1/jvms/2147483646",
        "/api/v1/services", "/api/v1/signals", "/api/v1/signals?format=text", "/api/v1/changes", "/api/v1/words", "/api/v1/push", "/api/v1/events", "/api/v1/captures?limit=1000", "/api/v1/captures?state=done", "/api/v1/query?from=-600s&format=json",
        "/api/v1/diff?a=-600s..-1s&b=-600s..now&format=json", "/api/v1/timeline?by=jvm", "/api/v1/timeline?by=jvm-category",
        "/api/v1/schedules", "/debug/pprof/profile?seconds=0.2", "/sd", "/metrics", "/readyz", "/openapi.json", "/", "/api/v1/whoami")


class User:
    """A caller and its rights."""

    def __init__(self, name: str, role: str, sees: str, **ask):
        self.name, self.role, self.sees, self.how = name, role, sees, ask

    def may(self, role: str) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


def new_token(name: str, role: str, more: str = "") -> tuple[str, str]:
    """Returns a token of flamed --new-token, and its rule."""
    text = subprocess.run([paths.program("flamed"), "--new-token", name], capture_output=True, text=True, check=True).stdout
    token = next(line for line in text.splitlines() if line.startswith("flamed_"))
    rule = text[text.index("  - name"):].replace("role: view", f"role: {role}{more}")
    if token in rule:
        raise AssertionError(rule)
    return token, rule


PASSWORD = "Authorization: Basic " + base64.b64encode(b"carl:sesame").decode()


def bearer(token: str) -> str:
    return "Authorization: Bearer " + token


class Access(unittest.TestCase):
    @classmethod
    def configure(cls) -> str:
        """Writes rules of every kind. Returns the file."""
        match = f"\n    match: 'namespace=\"{POD_NAMESPACE}\"'"
        rules = f"  - {{name: teamed, group: flamed-test-team, role: profile, match: 'namespace=\"{POD_NAMESPACE}\"'}}\n"
        cls.tokens = {}
        for role in ROLES:
            cls.tokens[role], rule = new_token("all-" + role, role)
            rules += rule
        for role in ("view", "attach"):
            cls.tokens["team " + role], rule = new_token("team-" + role, role, match)
            rules += rule
        rules += "  - {name: by-password, basic: carl, role: profile}\n"
        rules += "  - {name: by-certificate, certificate: scraper.example.com, role: view}\n"
        rules += f"  - name: team-certificate\n    certificate: team.example.com\n    role: attach{match}\n"
        ca = certs.Authority(cls.folder, "ca")
        os.chmod(ca.cert, 0o644)
        cert, key = ca.sign("server", "/CN=flamed", "DNS:localhost")
        cls.certificates = {}
        for name in ("scraper", "team"):
            pair = ca.sign(name, "/CN=x", f"DNS:{name}.example.com", usage="clientAuth")
            os.chmod(pair[1], 0o644) # curl runs as another user
            cls.certificates[name] = (*pair, ca.cert)
        with open(f"{cls.folder}/flamed.yaml", "w", encoding="utf-8") as f:
            f.write(f"mcp: yes\naccess:\n{rules}basic_auth_users:\n  carl: {certs.bcrypt('sesame', 5)}\ntls_server_config:\n  cert_file: {cert}\n"
                    f"  key_file: {key}\n  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: {ca.cert}\n")
        return f.name

    @classmethod
    def setUpClass(cls):
        paths.need_root()
        paths.need("setpriv")
        paths.need("curl")
        cls.folder = tempfile.mkdtemp(prefix="flamed-access.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.chmod(cls.folder, 0o755)
        cls.tls = f"https://localhost:{(tls_port := free_port())}"
        cls.daemon = Daemon("--config", cls.configure(), "--listen", f"https://127.0.0.1:{tls_port}", wrap=cls.with_group())
        cls.addClassCleanup(cls.daemon.stop)
        os.chmod(cls.daemon.unix, 0o666) # every user may connect: the file's rights are tested elsewhere
        home = paths.jdk(17)
        cls.jvms: dict[int, jvm.Jvm] = {}
        cls.spins: dict[int, jvm.Spin] = {}
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        for uid in (ALICE, BOB, POD):
            cls.spins[uid] = jvm.make_spin()
            cls.jvms[uid] = jvm.Jvm(home, f"-Dargument-of-{uid}=1", "-Drest=45", "-Xmx64m", "-cp", cls.spins[uid].folder, cls.spins[uid].main,
                                    wrap=in_pod(stack, POD_NAMESPACE, "shop-1") if uid == POD else
                                    ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"])
            cls.addClassCleanup(cls.jvms[uid].stop)
        cls.spins[EVE] = jvm.make_spin()
        cls.jvms[EVE] = rootless.Rootless(EVE, home, f"-Dargument-of-{EVE}=1", "-Drest=45", "-Xmx64m", "-cp", cls.spins[EVE].folder, cls.spins[EVE].main)
        cls.addClassCleanup(cls.jvms[EVE].stop)
        tcp, unix = f"http://127.0.0.1:{cls.daemon.port}", cls.daemon.unix
        cls.tcp, cls.unix = tcp, unix
        cls.users = [
            User("root over TCP", "attach", WHOLE, uid=0),
            User("root over IPv4 of an IPv6 socket", "attach", WHOLE, uid=0, headers=("X-Forwarded-For: 10.0.0.1",)),
            User("root over the Unix socket", "manage", WHOLE, uid=0, unix=unix),
            User("a member of the group over TCP", "attach", WHOLE, uid=MEMBER),
            User("one whose first group it is over TCP", "attach", WHOLE, uid=FIRST_GROUP),
            User("one with the group over the Unix socket", "manage", WHOLE, uid=CAROL, groups=(GROUP,), unix=unix),
            User("one with the group as his first over the Unix socket", "manage", WHOLE, uid=CAROL, gid=GROUP, unix=unix),
            User("the owner over TCP", "profile", OWN, uid=ALICE),
            User("the owner over the Unix socket", "profile", OWN, uid=ALICE, unix=unix),
            User("the owner who says that he is root", "profile", OWN, uid=ALICE,
                 headers=("X-Forwarded-User: root", "Forwarded: for=127.0.0.1;by=root", "X-Remote-User: root", "X-Real-IP: 127.0.0.1")),
            User("another user", "profile", OWN, uid=CAROL),
            User("a rootless container's owner over TCP", "profile", OWN, uid=EVE),
            User("a rootless container's owner over the Unix socket", "profile", OWN, uid=EVE, unix=unix),
            User("the user of a rootless container's ids", "profile", OWN, uid=cls.jvms[EVE].host_uid),
            User("the user without a name", "health", NOBODY, uid=65534, unknown=True),
            User("one in the group of a rule, over TCP", "profile", POD, uid=TEAMED),
            User("one with the group of a rule, over the Unix socket", "profile", POD, uid=CAROL, groups=(TEAM,), unix=unix),
            *(User("a token for " + name, name.split()[-1], POD if name.startswith("team") else WHOLE, uid=65534, headers=(bearer(token),))
              for name, token in cls.tokens.items()),
            User("who shows a password", "profile", WHOLE, uid=65534, headers=(PASSWORD,)),
            User("who shows a password over TLS, beside a certificate", "profile", WHOLE, uid=65534, headers=(PASSWORD,),
                 certificate=cls.certificates["team"]),
            User("who shows a certificate", "view", WHOLE, uid=65534, certificate=cls.certificates["scraper"]),
            User("who shows a team's certificate", "attach", POD, uid=65534, certificate=cls.certificates["team"]),
            User("another user by a cookie of root", "manage", WHOLE, uid=CAROL,
                 headers=(caller.log_in(cls.daemon, CAROL), "Sec-Fetch-Site: same-origin")),
            User("who has stolen a cookie of root", "profile", OWN, uid=CAROL,
                 headers=(caller.log_in(cls.daemon, BOB), "Sec-Fetch-Site: same-origin")),
            User("a user without a name by a cookie of root", "manage", WHOLE, uid=65534,
                 headers=(caller.log_in(cls.daemon, 65534), "Sec-Fetch-Site: none")),
        ]
        proc.wait_until(lambda: all(proc.cpu_seconds(j.pid) > 0.6 for j in cls.jvms.values()), 30, "all JVMs were busy")
        proc.wait_until(lambda: len(cls.daemon.get("/api/v1/jvms", jvm="|".join(s.main for s in cls.spins.values())).json().get("jvms", [])) == 4,
                        20, "flamed knows all")

    @classmethod
    def with_group(cls) -> list[str]:
        """Returns a wrapper that starts flamed on a machine with a group `flamed` with members."""
        with open("/etc/group", encoding="utf-8") as f:
            lines = [line for line in f if not line.startswith("flamed:")]
        with open(f"{cls.folder}/group", "w", encoding="utf-8") as f:
            f.writelines([*lines, f"flamed:x:{GROUP}:flamed-test-member\n", f"flamed-test-team:x:{TEAM}:flamed-test-teamed\n"])
        with open("/etc/passwd", encoding="utf-8") as f:
            lines = f.readlines()
        with open(f"{cls.folder}/passwd", "w", encoding="utf-8") as f:
            f.writelines([*lines, f"flamed-test-member:x:{MEMBER}:{MEMBER}::/:/bin/false\n",
                          f"flamed-test-teamed:x:{TEAMED}:{TEAMED}::/:/bin/false\n",
                          f"flamed-test-first:x:{FIRST_GROUP}:{GROUP}::/:/bin/false\n"])
        script = f'mount --bind {cls.folder}/group /etc/group && mount --bind {cls.folder}/passwd /etc/passwd && exec "$@"'
        return ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"]

    def ask(self, user: User, asked: list[tuple[str, str, str | None]]) -> list[caller.Reply]:
        """ASKED: (method, path, body) of each request."""
        how = dict(user.how)
        how.pop("unknown", None)
        more = {name: how.pop(name) for name in ("unix", "certificate") if name in how}
        headers = how.pop("headers", ())
        host = "http://localhost" if "unix" in more else self.tls if "certificate" in more else self.tcp
        if "IPv6 socket" in user.name:
            host = f"http://[::ffff:127.0.0.1]:{self.daemon.port}"
            headers = (*headers, "Host: localhost")
        return caller.ask_all([caller.Request(host + path, method=method, body=body, headers=headers, **more)
                               for method, path, body in asked], **how)

    def capture(self, uid: int, pid: int, headers: tuple[str, ...] = ()) -> str:
        """Makes a stored capture as UID."""
        reply = caller.ask(self.tcp + "/api/v1/captures", uid=uid, method="POST", headers=headers,
                           body=json.dumps({"pid": pid, "seconds": 0.3}))
        self.assertEqual(reply.status, 201, str(reply))
        ident = reply.json()["id"]
        proc.wait_until(lambda: self.state(ident) == "done", 20, "it is stored", 0.1)
        return ident

    def state(self, ident: str) -> str:
        """Returns the state of a capture, as root sees it."""
        answer = self.daemon.get(f"/api/v1/captures/{ident}")
        self.assertEqual(answer.status, 200, str(answer))
        return answer.json()["state"]

    def roles(self) -> dict[tuple[str, str], str]:
        document = self.daemon.get("/openapi.json").json()
        return {(method, path): operation["x-flamed-role"] for path, operations in document["paths"].items()
                for method, operation in operations.items() if method in ("get", "post", "delete")}

    def test_every_route_as_everybody(self):
        roles = self.roles()
        self.assertEqual(set(roles), set(ROUTES), "a row for each route")
        captures = {uid: self.capture(uid, self.jvms[uid].pid) for uid in (ALICE, BOB, EVE)}
        captures[POD] = self.capture(65534, self.jvms[POD].pid, (bearer(self.tokens["team attach"]),))
        began = time.monotonic()
        with ThreadPoolExecutor(6) as pool:
            rows = list(pool.map(lambda user: self.as_user(user, roles, captures), self.users))
        for user, path, expected, reply in [one for row in rows for one in row]:
            with self.subTest(user=user.name, path=path):
                self.assertEqual(reply.status, expected, str(reply))
                if expected in (401, 403):
                    problem = reply.json()
                    self.assertGreater(len(problem["remedy"]), 20, problem)
                if path == "/readyz" and user.sees != WHOLE:
                    self.assertNotIn("configuration", json.dumps(reply.json()))
        print(f"\n{sum(map(len, rows))} requests of {len(self.users)} kinds of users, {len(ROUTES)} routes, "
              f"{time.monotonic() - began:.0f} s")

    def as_user(self, user: User, roles: dict, captures: dict) -> list[tuple[User, str, int, caller.Reply]]:
        """Requests each route as USER, for its own processes and for others', and compares with the expected answer."""
        rows, asked = [], []
        own = POD if user.sees == POD else EVE if user.how["uid"] == EVE else ALICE
        for (method, path), (address, fine, foreign) in ROUTES.items():
            things = [(self.jvms[own].pid, captures[own], fine)]
            others = (BOB,)
            if ("token" in user.name or "shows" in user.name) and user.sees == WHOLE:
                others = ()
            elif user.name == "the owner over TCP":
                others = (BOB, POD, EVE)
            things += [(self.jvms[other].pid, captures[other], foreign if user.sees != WHOLE else fine) for other in others]
            if user.how["uid"] in (CAROL, self.jvms[EVE].host_uid) and user.sees == OWN: # CAROL has no process
                things = [(pid, ident, foreign) for pid, ident, _ in things]
                things[0] = (*things[0][:2], foreign or fine)
            for pid, ident, expected in things:
                if expected is None:
                    continue
                if user.sees == WHOLE and not user.may("manage") and (method == "delete" or path.endswith("/stop")):
                    expected = 403 # another user's capture
                elif method == "delete" and (user.sees == WHOLE or expected == 204):
                    ident = NONE # other users still need the existing one
                    expected = 404
                if path == "/api/v1/logins" and user.how.get("unix"):
                    expected = 201
                if not user.may(roles[method, path]):
                    expected = 401 if user.how.get("unknown") else 403 # the configuration has tokens: the caller is asked for one
                if path == "/logout" and user.how.get("headers", ("",))[0].startswith("Cookie"):
                    continue # the requests of others continue by it: test_login
                body = json.dumps({"pid": pid, "seconds": 0.1}) if (method, path) == ("post", "/api/v1/captures") else None
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) if path == "/mcp" else body
                where = address.format(pid=pid, id=ident)
                rows.append((user, f"{method} {where}", expected))
                asked.append((method.upper(), where, body))
        return [(*row, reply) for row, reply in zip(rows, self.ask(user, asked), strict=True)]

    def test_what_is_taken_may_be_removed_by_its_owner(self):
        ident = self.capture(ALICE, self.jvms[ALICE].pid)
        path = f"/api/v1/captures/{ident}"
        self.assertEqual(caller.ask(self.tcp + path, uid=BOB, method="DELETE").status, 404)
        self.assertEqual(caller.ask(self.tcp + path, uid=ALICE).status, 200)
        self.assertEqual(caller.ask(self.tcp + path, uid=ALICE, method="DELETE").status, 204)
        self.assertEqual(caller.ask(self.tcp + path, uid=ALICE).status, 404)

    def test_a_kept_past_is_its_owner_s(self):
        """A kept time of the past contains what its caller may see, and callers with other rights do not see it."""
        own, others = self.jvms[ALICE].pid, self.jvms[BOB].pid
        def keep(body):
            return caller.ask(self.tcp + "/api/v1/captures", uid=ALICE, method="POST", body=json.dumps({"from": "-60s", **body}))
        proc.wait_until(lambda: keep({"pid": own}).status == 201, 20, "the recorder has some of it", 0.5)
        self.assertEqual(keep({"pid": others}).status, 404)
        reply = keep({})
        self.assertEqual(reply.status, 201, str(reply))
        path = f"{self.tcp}/api/v1/captures/{reply.json()['id']}"
        proc.wait_until(lambda: caller.ask(path, uid=ALICE).json()["state"] == "done", 20, "it is stored", 0.1)
        self.assertNotIn(others, [p["pid"] for p in caller.ask(path, uid=ALICE).json()["processes"]])
        self.assertEqual(caller.ask(path + "/profile?format=json", uid=BOB).status, 404)

    def test_what_root_took_is_not_its_owner_s(self):
        ident = self.capture(0, self.jvms[ALICE].pid)
        self.assertEqual(caller.ask(f"{self.tcp}/api/v1/captures/{ident}", uid=ALICE).status, 404)
        self.assertNotIn(ident.encode(), caller.ask(self.tcp + "/api/v1/captures?limit=1000", uid=ALICE).body)

    def test_a_capture_that_runs_is_its_owner_s(self):
        reply = caller.ask(self.tcp + "/api/v1/captures", uid=ALICE, method="POST", body=json.dumps({"seconds": 60}))
        self.assertEqual(reply.status, 201, str(reply))
        path = f"{self.tcp}/api/v1/captures/{reply.json()['id']}"
        for tail in ("", "/profile?format=json", "/stream"):
            self.assertEqual(caller.ask(path + tail, uid=BOB).status, 404, tail)
        self.assertEqual(caller.ask(path + "/stop", uid=BOB, method="POST").status, 404)
        self.assertEqual(caller.ask(path, uid=BOB, method="DELETE").status, 404)
        self.assertEqual(caller.ask(path, uid=ALICE).json()["state"], "running")
        self.assertEqual(caller.ask(path + "/stop", uid=ALICE, method="POST").status, 200)

    def test_neither_learns_anything_of_the_other(self):
        ids = {uid: self.capture(uid, self.jvms[uid].pid) for uid in (ALICE, BOB, EVE)}
        time.sleep(1)
        for uid, other in ((ALICE, BOB), (BOB, EVE), (EVE, ALICE)):
            spin, pid = self.spins[other], self.jvms[other].pid
            secret = [spin.main, spin.method, f"argument-of-{other}", ids[other], f"pid={pid}", f'"pid": {pid}', f'pid="{pid}"']
            number = re.compile(rb"(?<![\d.])%d(?![\d.])" % pid)
            own = self.spins[uid].main.encode()
            seen = 0
            over_tcp = caller.ask_all([caller.Request(self.tcp + path) for path in WIDE], uid=uid, at_once=6)
            over_unix = caller.ask_all([caller.Request("http://localhost" + path, unix=self.unix) for path in WIDE], uid=uid, at_once=6)
            for path, *replies in zip(WIDE, over_tcp, over_unix):
                for reply in replies:
                    text = gzip.decompress(reply.body) if reply.body[:2] == b"\x1f\x8b" else reply.body
                    seen += own in text
                    for word in secret:
                        self.assertNotIn(word.encode(), text, f"{path}: {reply.status}")
                    if b"json" in path.encode() or "/api/" in path or path in ("/sd", "/metrics"):
                        self.assertIsNone(number.search(text), f"{path}: {reply.status} {text[:400]!r}")
            self.assertGreater(seen, 30, "what is his own is there")

    def test_a_team_learns_nothing_of_others(self):
        """A rule shows matching processes: by a token and by its group, as a user and as an unknown one."""
        token = (bearer(self.tokens["team attach"]),)
        ids = {uid: self.capture(uid, self.jvms[uid].pid) for uid in (ALICE, BOB)}
        own = self.capture(65534, self.jvms[POD].pid, token)
        secret = [word for uid in (ALICE, BOB) for word in (self.spins[uid].main, self.spins[uid].method, f"argument-of-{uid}", ids[uid],
                                                           f"pid={self.jvms[uid].pid}", f'pid="{self.jvms[uid].pid}"')]
        number = re.compile(rb"(?<![\d.])(%d|%d)(?![\d.])" % (self.jvms[ALICE].pid, self.jvms[BOB].pid))
        time.sleep(1)
        for how in ({"uid": 65534, "headers": token}, {"uid": TEAMED}):
            replies = caller.ask_all([caller.Request(self.tcp + path, headers=how.get("headers", ())) for path in WIDE], uid=how["uid"],
                                     at_once=6)
            seen = 0
            for path, reply in zip(WIDE, replies):
                text = gzip.decompress(reply.body) if reply.body[:2] == b"\x1f\x8b" else reply.body
                seen += self.spins[POD].main.encode() in text
                for word in secret:
                    self.assertNotIn(word.encode(), text, f"{path}: {reply.status}")
                if b"json" in path.encode() or "/api/" in path or path in ("/sd", "/metrics"):
                    self.assertIsNone(number.search(text), f"{path}: {reply.status} {text[:400]!r}")
            self.assertGreater(seen, 15, f"what it sees is there: {how}")
        self.assertIn(own.encode(), caller.ask(self.tcp + "/api/v1/captures", uid=TEAMED).body, "who sees the same sees its captures")
        who = caller.ask(self.tcp + "/api/v1/whoami", uid=TEAMED).json()
        self.assertEqual((who["sees"], who["match"], who["role"]), ("match", f'{{namespace="{POD_NAMESPACE}"}}', "profile"))
        there, none = self.jvms[BOB].pid, 2147483646
        for path in ("/profile?pid={}&seconds=0.1", "/api/v1/jvms/{}", "/api/v1/jvms/{}/preflight", "/profile?from=-60s&pid={}"):
            one, two = (caller.ask(self.tcp + path.format(pid), uid=TEAMED) for pid in (there, none))
            self.assertEqual((one.status, one.body.replace(b"%d" % there, b"N")), (two.status, two.body.replace(b"%d" % none, b"N")), path)

    def test_the_other_s_process_is_not_told_from_none(self):
        there, none = self.jvms[BOB].pid, 2147483646
        for path in ("/profile?pid={}&seconds=0.1", "/api/v1/jvms/{}", "/api/v1/jvms/{}/preflight", "/api/v1/events?pid={}",
                     "/api/v1/jvms/{}/perf-map", "/profile?from=-60s&pid={}", "/api/v1/query?from=-60s&pid={}",
                     "/api/v1/timeline?pid={}", "/top?once=1&interval=100ms&pid={}"):
            one, two = (caller.ask(self.tcp + path.format(pid), uid=ALICE) for pid in (there, none))
            self.assertEqual((one.status, one.body.replace(b"%d" % there, b"N")), (two.status, two.body.replace(b"%d" % none, b"N")), path)
            self.assertEqual(one.status, 404)

    def test_a_page_of_a_list_tells_no_number_of_others(self):
        for _ in range(2):
            self.capture(ALICE, self.jvms[ALICE].pid)
        page = caller.ask(self.tcp + "/api/v1/captures?limit=1&state=done", uid=ALICE).json()
        self.assertRegex(page["next"], rf"^\d{{19}}\.{page['captures'][0]['id']}$", "what it knows of its own")
        second = caller.ask(f"{self.tcp}/api/v1/captures?limit=1&cursor={page['next']}", uid=ALICE).json()["captures"][0]
        self.assertNotEqual(second["id"], page["captures"][0]["id"])
        running = [caller.ask(self.tcp + "/api/v1/captures", uid=ALICE, method="POST", body='{"seconds": 60}').json()["id"] for _ in range(2)]
        page = caller.ask(self.tcp + "/api/v1/captures?limit=1", uid=ALICE).json()
        self.assertRegex(page["next"], rf"^\d{{19}}\.{page['captures'][0]['id']}$")
        second = caller.ask(f"{self.tcp}/api/v1/captures?limit=1&cursor={page['next']}", uid=ALICE).json()["captures"][0]
        self.assertEqual([page["captures"][0]["id"], second["id"]], running[::-1])
        for ident in running:
            self.assertEqual(caller.ask(f"{self.tcp}/api/v1/captures/{ident}", uid=ALICE, method="DELETE").status, 204)

    def test_no_kernel_function_is_shown(self):
        whole = self.daemon.get("/profile", pid=self.jvms[ALICE].pid, seconds=1, hz=999, format="collapsed", annotate=1).text
        if "_[k]" not in whole:
            self.skipTest("the kernel tells nobody its functions here")
        for form in ("collapsed", "json", "flat", "html", "speedscope"):
            text = caller.ask(f"{self.tcp}/profile?pid={self.jvms[ALICE].pid}&seconds=1&hz=999&format={form}&annotate=1", uid=ALICE).body
            names = {name for name in re.findall(r"([A-Za-z0-9_.]+)_\[k\]", whole) if len(name) > 12}
            self.assertTrue(names)
            for name in names:
                self.assertNotIn(name.encode(), text, form)

    def test_entering_a_jvm_takes_more(self):
        pid = self.jvms[ALICE].pid
        for path in (f"/profile?pid={pid}&symbols=agent&seconds=0.1", f"/profile?pid={pid}&symbols=perfmap&seconds=0.1",
                     f"/api/v1/jvms/{pid}/perf-map?symbols=agent"):
            reply = caller.ask(self.tcp + path, uid=ALICE)
            self.assertEqual(reply.status, 403, str(reply))
            self.assertIn("attach", reply.json()["detail"])
        reply = caller.ask(self.tcp + "/api/v1/captures", uid=ALICE, method="POST",
                           body=json.dumps({"pid": pid, "symbols": "agent", "seconds": 0.1}))
        self.assertEqual(reply.status, 403, str(reply))
        self.assertNotIn("flamed-agent", proc.read(f"/proc/{pid}/maps"))

    def test_events_that_cost_others_take_more(self):
        """A probe changes a JVM and delays all forks; a tracepoint costs all processes time. So they need a higher role. Any caller may ask
        which events were sampled."""
        pid = self.jvms[ALICE].pid
        for event, words in (("alloc", "'attach'"), ("cpu,alloc", "'attach'"), ("safepoint", "'attach'"), ("libc.so.6:malloc", "'attach'"),
                             ("sched:sched_switch", "sees all of them"),
                             ("page-faults,kmem:kmalloc", "sees all of them"), ("mem:0x7f0000000000", "sees all of them")):
            with self.subTest(event=event):
                body = json.dumps({"pid": pid, "event": event, "seconds": 0.1})
                for reply in (caller.ask(f"{self.tcp}/profile?pid={pid}&event={event}&seconds=0.1", uid=ALICE),
                              caller.ask(f"{self.tcp}/top?pid={pid}&event={event}&once=1", uid=ALICE),
                              caller.ask(self.tcp + "/api/v1/captures", uid=ALICE, method="POST", body=body)):
                    self.assertEqual(reply.status, 403, str(reply))
                    self.assertIn(words, reply.json()["detail"])
                past = caller.ask(f"{self.tcp}/api/v1/query?from=-600s&pid={pid}&format=collapsed&event={event.split(',')[0]}", uid=ALICE)
                self.assertNotEqual(past.status, 403, str(past))
                self.assertNotEqual(caller.ask(f"{self.tcp}/profile?pid={pid}&event={event}&seconds=0.1", uid=0).status, 403)
        for event in "offcpu", "cpu,wall", "lock":
            for uid, refused in (ALICE, True), (0, False):
                reply = caller.ask(f"{self.tcp}/profile?pid={pid}&event={event}&source=probe&seconds=0.1", uid=uid)
                self.assertEqual(reply.status == 403 and "'attach'" in reply.json()["detail"], refused, str(reply))
            self.assertNotEqual(caller.ask(f"{self.tcp}/profile?pid={pid}&event={event}&seconds=0.1", uid=ALICE).status, 403)
        for kind in ("allocs", "heap"):
            warning = subprocess.run(["setpriv", "--reuid", str(ALICE), "--clear-groups", "curl", "-s", "-o", "/dev/null", "-w",
                                      "%{http_code} %header{x-flamed-warning}", f"{self.tcp}/debug/pprof/{kind}?pid={pid}&seconds=0.1"],
                                     capture_output=True, text=True, check=True).stdout
            self.assertRegex(warning, "^200 .*'attach'", "an empty one, that says why")

    def test_who_did_what_is_told(self):
        pid, secret = self.jvms[ALICE].pid, "Authorization: Other " + secrets.token_hex(16)
        reply = caller.ask(f"{self.tcp}/profile?pid={pid}&seconds=0.1&format=json", uid=ALICE, headers=(secret,))
        self.assertEqual(reply.status, 200)
        ident = self.capture(ALICE, pid)
        self.assertEqual(caller.ask(f"{self.tcp}/api/v1/captures/{ident}", uid=ALICE, method="DELETE").status, 204)
        self.assertEqual(caller.ask(self.tcp + "/api/v1/triggers/x", uid=ALICE, method="POST", headers=(secret,)).status, 403)
        self.assertEqual(caller.ask(f"{self.tcp}/profile?pid={pid}&symbols=agent&seconds=0.1", uid=BOB).status, 403)
        lines = [line for line in self.daemon.get("/api/v1/audit", limit=1000, unix=True).json()["audit"] if line.get("uid") in (ALICE, BOB)]
        deleted = next(line for line in lines if line["action"] == "delete" and line.get("capture") == ident)
        self.assertEqual((deleted["subject"], deleted["via"], deleted["status"], deleted["route"]),
                         (f"user {ALICE}", "TCP", 204, "/api/v1/captures/{id}"))
        taken = next(line for line in lines if line["action"] == "capture" and line.get("capture") == ident)
        self.assertEqual((taken["target"]["pid"], taken["status"]), ([pid], 201))
        self.assertEqual((taken["target"]["uid"], taken["target"]["main"]), (ALICE, self.spins[ALICE].main), "what it was")
        profile = next(line for line in lines if line["route"] == "/profile" and line.get("uid") == ALICE and line["action"] == "capture"
                       and line["target"].get("main"))
        self.assertEqual((profile["target"]["main"], profile["symbols"][:6]), (self.spins[ALICE].main, "memory"))
        self.assertTrue(any(line["action"] == "refusal" and line["route"] == "/api/v1/triggers/{name}" for line in lines))
        self.assertTrue(any(line["action"] == "refusal" and line.get("uid") == BOB and "attach" in line["problem"] for line in lines))
        self.assertEqual(lines, sorted(lines, key=lambda line: line["time"], reverse=True), "the newest first")
        self.assertIn(f'"capture":"{ident}"', self.daemon.log(), "the log has it, too")
        self.assertNotIn(secret.split()[-1], self.daemon.log() + json.dumps(lines))
        self.assertRegex(self.daemon.get("/metrics").text, r'flamed_audit_total\{action="delete"\} [1-9]')

    def test_who_does_not_wait_is_noted(self):
        pid = self.jvms[ALICE].pid
        before = self.daemon.get("/api/v1/audit", limit=1000, unix=True).json()["audit"]
        url = f"{self.tcp}/profile?pid={pid}&seconds=20&title=hung-up"
        subprocess.run(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "curl", "-s", "-m", "1", url],
                       stdout=subprocess.DEVNULL, check=False)

        def noted() -> list[dict]:
            lines = self.daemon.get("/api/v1/audit", limit=1000, unix=True).json()["audit"]
            return [line for line in lines if line not in before and line["status"] == 499]

        proc.wait_until(lambda: bool(noted()), 10, "a line of it", 0.1)
        self.assertEqual((noted()[0]["action"], noted()[0].get("uid"), noted()[0]["target"]["pid"]), ("capture", ALICE, [pid]))

    def test_methods_and_paths_open_no_other_way(self):
        """Another spelling of a path is the same route, or no route."""
        pid = self.jvms[BOB].pid
        for path in (f"/api/v1/jvms/{pid}/", f"//api/v1/jvms/{pid}", f"/api/v1/./jvms/{pid}", f"/api/v1/x/../jvms/{pid}",
                     f"/api/v1/jvms/%3{str(pid)[0]}{str(pid)[1:]}", f"/API/v1/jvms/{pid}", f"/api/v1/jvms/0{pid}", f"/api/v1/jvms/+{pid}"):
            for method in ("GET", "HEAD", "POST", "OPTIONS", "PUT", "TRACE"):
                reply = caller.ask(self.tcp + path, uid=ALICE, method=method)
                self.assertIn(reply.status, (400, 404, 405, 501), f"{method} {path}")
        self.assertEqual(caller.ask(self.tcp + f"/profile?pid={pid}", uid=ALICE, method="HEAD").status, 404)


if __name__ == "__main__":
    unittest.main()
