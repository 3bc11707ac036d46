# SPDX-License-Identifier: Apache-2.0
"""A client for a language model uses flamed by the Model Context Protocol: every tool, as every kind of user; and it finds a fault."""
import contextlib
import json
import os
import subprocess
import tempfile
import unittest

from harness import caller, jvm, paths, proc
from harness.daemon import Daemon
from test_access import bearer, new_token

SIDE_BY_SIDE = True # each class waits most of its time
OWNER, OTHER = proc.free_ids(2)
PACKAGES = {"@modelcontextprotocol/client": "2.4.0", "@modelcontextprotocol/sdk": "1.32.2"}
VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "flamed-test", "version": "1"}}
TOOLS = ["list_services", "signals", "summary", "changes", "top", "tree", "diff", "locks", "capture", "why"]


def node_modules() -> str:
    """Installs the protocol's own clients, once. Skips the calling test if that is not possible."""
    paths.need("node")
    paths.need("npm")
    folder = os.path.join(paths.TREE, "tests", ".cache", "mcp")
    os.makedirs(folder, exist_ok=True)
    wanted = json.dumps({"private": True, "dependencies": PACKAGES})
    script = ('flock 9; cd "$0" && [ "$(cat installed 2>/dev/null)" = "$1" ] || { printf %s "$1" >package.json; '
              'npm install --no-audit --no-fund --ignore-scripts >npm.log 2>&1 && printf %s "$1" >installed; }')
    done = subprocess.run(["bash", "-c", f'exec 9>"$0/lock"; {script}', folder, wanted], check=False)
    if done.returncode:
        raise unittest.SkipTest("the clients of the protocol cannot be installed")
    return os.path.join(folder, "node_modules")


class Model:
    """A client of revision 2026-07-28. OPTIONS: as in caller.Request."""

    def __init__(self, daemon: Daemon, uid: int = 0, **options):
        self.url, self.uid, self.options = f"http://127.0.0.1:{daemon.port}/mcp", uid, options
        self.said: list[tuple[dict, dict]] = [] # the dialogue

    def send(self, method: str, name: str | None = None, **params) -> caller.Reply:
        message = {"jsonrpc": "2.0", "id": len(self.said) + 1, "method": method,
                   "params": {**params, **({"name": name} if name else {}), "_meta": META}}
        headers = (f"MCP-Protocol-Version: {VERSION}", f"Mcp-Method: {method}", *([f"Mcp-Name: {name}"] if name else []),
                   "Accept: application/json, text/event-stream", *self.options.get("headers", ()))
        reply = caller.ask(self.url, uid=self.uid, method="POST", body=json.dumps(message), headers=headers)
        self.said.append((message, reply.json()))
        return reply

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.send("tools/list").json()["result"]["tools"]]

    def call(self, tool: str, **arguments) -> dict:
        """Returns the result of a tool. Repeats the call while the kernel of a busy machine still checks programs."""
        results: list[dict] = []

        def is_final() -> bool:
            results.append(self.once(tool, **arguments))
            return not results[-1]["isError"] or "ask again in a second" not in results[-1]["content"][0]["text"]
        proc.wait_until(is_final, 60, "the programs are loaded", 0.5)
        return results[-1]

    def once(self, tool: str, **arguments) -> dict:
        """Returns the result of a tool. Fails without one."""
        reply = self.send("tools/call", tool, arguments=arguments)
        if reply.status != 200 or "result" not in reply.json():
            raise AssertionError(f"{tool}({arguments}): {reply}")
        result = reply.json()["result"]
        if result["resultType"] != "complete" or any(block["type"] != "text" for block in result["content"]):
            raise AssertionError(f"{tool}({arguments}): {result}")
        return result

    def text(self, tool: str, **arguments) -> str:
        """Returns the text of a result that is no error."""
        result = self.call(tool, **arguments)
        if result["isError"]:
            raise AssertionError(f"{tool}({arguments}): {result}")
        return "\n".join(block["text"] for block in result["content"])


class WithModel(jvm.WithClasses):
    sources = ("Sick.java",)

    def setUp(self):
        paths.need_root()
        paths.need("curl")
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def start(self, how: str, uid: int = 0, service: str = "") -> jvm.Jvm:
        wrap = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        return self.stack.enter_context(jvm.Jvm(paths.jdk(17), "-Xmx64m", "-XX:+UseSerialGC", "-Drest=40", f"-Dotel.service.name={service or how}", "-cp",
                                                self.classes.folder, "Sick", how, wrap=wrap))

    def serve(self, *options: str) -> Daemon:
        daemon = self.stack.enter_context(Daemon(*options))
        os.chmod(daemon.unix, 0o666)
        return daemon

    def configured(self, text: str) -> str:
        path = os.path.join(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="flamed-mcp.")), "flamed.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path


class Mcp(WithModel):
    def test_it_is_off_by_default(self):
        daemon = self.serve()
        reply = caller.ask(f"http://127.0.0.1:{daemon.port}/mcp", method="POST", body='{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        self.assertEqual(reply.status, 404, str(reply))
        self.assertIn("mcp: yes", reply.json()["remedy"])

    def test_a_model_finds_a_convoy(self):
        """Acts like a language model: what is wrong, where, and since when. Each step uses the result of the one before."""
        shop = f"shop-{os.getpid()}"
        sick, model = self.start("convoy", service=shop), Model(self.serve("--mcp", "yes"))
        found = model.send("server/discover").json()["result"]
        self.assertEqual((found["supportedVersions"][0], "tools" in found["capabilities"]), (VERSION, True))
        self.assertEqual(model.tools(), TOOLS)
        services = {s["name"]: s for s in model.call("list_services")["structuredContent"]["services"]}
        self.assertEqual([j["pid"] for j in services[shop]["jvms"]], [sick.pid])
        signal = proc.wait_until(lambda: next(iter(model.call("signals", service=shop)["structuredContent"]["signals"]), None), 120,
                                 "there is a signal", 1)
        self.assertEqual((signal["signal"], signal["pid"]), ("lock-contention", sick.pid), signal)
        locks = model.text("locks", pid=signal["pid"], **{"from": "-1m"})
        self.assertIn("Sick$Price.load", locks)
        self.assertIn("[monitor]", locks)
        self.assertRegex(locks, r"Graph: http://127\.0\.0\.1:\d+/profile\?format=html&pid=\d+&event=lock&idle=0&from=20")
        self.assertIn("Sick$Price.load", model.text("tree", service=shop, event="wall", include=["Sick"]))
        self.assertIn("[lock]", model.text("top", service=shop, event="wall"))
        taken = model.text("capture", service=shop, event="lock", seconds=1)
        ident = next(line for line in taken.splitlines() if line.startswith("Capture: ")).split()[1]
        self.assertIn(f"/#/capture/{ident}", taken)
        proc.wait_until(lambda: not model.call("why", capture=ident)["isError"], 20, "it is stored", 0.2)
        self.assertIn("Sick$Price.load", model.text("locks", capture=ident))
        self.assertEqual(model.call("why", capture=ident)["structuredContent"]["id"], ident)
        self.assertTrue(model.call("why", pid=str(sick.pid))["structuredContent"]["steps"])
        self.assertIn("Samples: ", model.text("diff", a=ident, b=ident, event="lock"))
        self.assertIn("sentences", model.call("changes", pid=sick.pid)["structuredContent"])
        # What the owner does is not said while it queues itself.
        proc.wait_until(lambda: "Sick$Price.load" in json.dumps(model.call("summary", pid=sick.pid)["structuredContent"]["sentences"]), 120,
                        "the summary says what the owner does", 2)
        self.assertEqual({message["params"].get("name") for message, _ in model.said} - {None}, set(TOOLS), "every tool was called")
        longest = max(len(json.dumps(reply)) for _, reply in model.said)
        print(f"\n{len(model.said)} messages, the longest reply has {longest} bytes")

    def test_each_has_the_rights_that_it_has_elsewhere(self):
        reader, reads = new_token("reader", "view")
        taker, takes = new_token("taker", "profile")
        daemon = self.serve("--config", self.configured(f"mcp: yes\naccess:\n{reads}{takes}"))
        sick, other = self.start("convoy", OWNER), self.start("busy", OTHER)
        known = lambda: {j["pid"] for s in daemon.get("/api/v1/services").json()["services"] for j in s["jvms"]}
        proc.wait_until(lambda: {sick.pid, other.pid} <= known(), 20, "flamed knows both")

        def refused(model: Model, tool: str, **arguments) -> str:
            result = model.call(tool, **arguments)
            self.assertTrue(result["isError"], result)
            return result["content"][0]["text"]
        with self.subTest("an unknown one"):
            reply = Model(daemon, uid=65534).send("tools/list")
            self.assertEqual(reply.status, 401, str(reply))
        with self.subTest("a reader"):
            model = Model(daemon, uid=65534, headers=(bearer(reader),))
            self.assertEqual(model.tools(), [tool for tool in TOOLS if tool != "capture"])
            self.assertIn("it takes the role 'profile'", refused(model, "capture", pid=sick.pid, seconds=0.2))
            proc.wait_until(lambda: not model.call("locks", pid=sick.pid)["isError"], 30, "it reads what is recorded", 0.5)
            self.assertIn("/api/v1/query?", model.text("locks", pid=sick.pid))
        with self.subTest("one that profiles"):
            model = Model(daemon, uid=65534, headers=(bearer(taker),))
            self.assertEqual(model.tools(), TOOLS)
            self.assertIn("Capture: ", model.text("capture", pid=other.pid, seconds=0.2))
            self.assertIn("it takes the role 'attach'", refused(model, "capture", pid=sick.pid, seconds=0.2, event="live"))
        with self.subTest("a user sees what is his own"):
            model = Model(daemon, uid=OWNER)
            self.assertEqual(model.tools(), TOOLS)
            self.assertIn("Capture: ", model.text("capture", pid=sick.pid, seconds=0.2))
            for tool, arguments in (("capture", {"seconds": 0.2}), ("top", {}), ("tree", {}), ("locks", {}), ("why", {}), ("signals", {}),
                                    ("changes", {}), ("summary", {})):
                there = refused(model, tool, pid=str(other.pid), **arguments)
                none = refused(model, tool, pid="2147483646", **arguments)
                self.assertEqual(there.replace(str(other.pid), "N"), none.replace("2147483646", "N"), tool)
            for tool, arguments in (("list_services", {}), ("signals", {}), ("top", {"event": "wall"}), ("tree", {}),
                                    ("capture", {"seconds": 0.3, "event": "wall"})):
                text = json.dumps(model.call(tool, **arguments))
                self.assertNotIn("busy", text, tool)
                self.assertNotIn(str(other.pid), text, tool)
        audit = [line for line in daemon.get("/api/v1/audit", unix=True).json()["audit"] if line.get("tool")]
        self.assertEqual({(line["tool"], line["route"]) for line in audit}, {("capture", "/profile")})
        self.assertEqual({line["action"] for line in audit}, {"capture", "refusal"})
        self.assertEqual({line["subject"] for line in audit}, {"token reader", "token taker", f"user {OWNER}"})


class Clients(WithModel):
    def test_the_protocol_s_own_clients(self):
        """They check each reply against the schema of its revision."""
        modules, daemon, sick = node_modules(), self.serve("--mcp", "yes"), self.start("convoy")
        recorded = lambda event, **when: daemon.get("/profile", pid=sick.pid, event=event, format="flat", **when).status == 200
        proc.wait_until(lambda: recorded("lock", **{"from": "-1m"}) and recorded("wall", **{"from": "-24s", "to": "-12s"}), 120,
                        "both are recorded", 0.5) # on a busy machine there is a look every 6 s
        pid = str(sick.pid)
        daemon.taken(pid=pid, seconds=0.1, event="wall") # its programs are loaded
        calls = [{"name": name, "arguments": arguments} for name, arguments in (
            ("list_services", {}), ("signals", {}), ("summary", {"pid": pid}), ("changes", {"pid": pid}), ("top", {"pid": pid, "event": "wall"}), ("tree", {"pid": pid, "event": "wall"}),
            ("diff", {"pid": pid, "a": "-24s..-12s", "b": "-12s..now", "event": "wall"}), ("locks", {"pid": pid}),
            ("capture", {"pid": pid, "seconds": 0.3, "event": "wall"}), ("why", {"pid": pid}), ("top", {"pid": "2147483646"}), ("none", {}))]
        done = subprocess.run(["node", os.path.join(os.path.dirname(__file__), "harness", "mcp_client.mjs"), modules,
                               f"http://127.0.0.1:{daemon.port}/mcp", json.dumps(calls)], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        for client, dialogue in json.loads(done.stdout).items():
            with self.subTest(client):
                self.assertEqual((dialogue["server"], dialogue["tools"]), ("flamed", TOOLS))
                results = dialogue["results"]
                for call, result in zip(calls[:10], results):
                    self.assertFalse(result.get("isError", True), (call, result))
                self.assertTrue(results[10]["isError"])
                self.assertIn("there is no tool 'none'", results[11]["error"])


if __name__ == "__main__":
    unittest.main()
