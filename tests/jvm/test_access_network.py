# SPDX-License-Identifier: Apache-2.0
"""Containers with the host's network, and pods beside them: the owners of their connections, by the kernel's own facts."""
import ast
import contextlib
import http.client
import json
import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from harness import bundle, caller, jvm, paths, proc
from harness.daemon import Daemon
from test_hanging_files import container_cgroup, running_in

[ALICE] = proc.free_ids(1)
NODE, POD = "10.99.0.1", "10.99.0.2" # addresses in networks that the test makes


@contextlib.contextmanager
def descriptors(count: int):
    """Starts processes with COUNT descriptors in total, and with higher pids than this one: /proc is read from the newest down."""
    each = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 16
    script = ("import os, resource, sys\nhard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
              "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\nfor _ in range(int(sys.argv[1])): os.dup(0)\n"
              "print('ready', flush=True)\nsys.stdin.read()\n")
    with contextlib.ExitStack() as stack:
        while count > 0:
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
                f.write(str(os.getpid()))
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", script, str(min(count, each))], stdin=subprocess.PIPE,
                                                           stdout=subprocess.PIPE, text=True))
            assert process.stdout.readline() == "ready\n"
            count -= each
        yield


ATTACK = """
import os, socket, sys, threading
with open(sys.argv[2] + "/cgroup.procs", "w") as f:
    f.write(str(os.getpid()))
counts = {}
def loop():
    while True:
        try:
            with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30) as s:
                s.sendall(b"GET /api/v1/jvms HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
                status = s.recv(4096)[9:12].decode()
        except OSError:
            continue
        counts[status] = counts.get(status, 0) + 1
        if sum(counts.values()) % 100 == 0:
            print(counts, flush=True)
for _ in range(int(sys.argv[3])):
    threading.Thread(target=loop, daemon=True).start()
sys.stdin.read()
"""


class SharedNetwork(unittest.TestCase):
    """Containers with the host's network. Their users have the same numbers as the host's, but are not those users."""

    def test_root_in_a_container_is_not_root(self):
        """The first container of the machine, from its first moment on. Also on kernels that do not report a socket's cgroup."""
        paths.need_root()
        bundle.need_runc()
        classes = jvm.Classes()
        classes.compile("Fetch.java")
        for old in ("", "sock_diag"):
            with self.subTest(old_kernel=old), mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": old} if old else {}):
                self.check_root_in_a_container(classes)

    def check_root_in_a_container(self, classes: jvm.Classes) -> None:
        home = paths.jdk(17)
        spin = jvm.make_spin()
        shutil.copy(os.path.join(classes.folder, "Fetch.class"), spin.folder)
        ident = secrets.token_hex(32)
        with contextlib.ExitStack() as stack:
            daemon = stack.enter_context(Daemon("--recorder-hz=0"))
            urls = [f"http://127.0.0.1:{daemon.port}{path}" for path in ("/healthz", "/readyz", "/api/v1/jvms", "/metrics", "/sd")]
            with ThreadPoolExecutor() as pool: # results from before the container existed must not count
                asked = pool.submit(lambda: [caller.ask(urls[2]).status for _ in range(20)])
                container = stack.enter_context(bundle.Container(home, spin.folder, "-Drest=200", "-Xmx64m", "-cp", "/classes", spin.main, uid=0,
                                                                 user_namespace=False, network_namespace=False,
                                                                 cgroups_path=f"/docker/{ident}"))
            for user in ("0:0", f"{ALICE}:{ALICE}"):
                result = subprocess.run(container.runc("exec", "--user", user, container.name, home + "/bin/java", "-Xmx64m", "-cp",
                                                       "/classes", "Fetch", *urls), capture_output=True, text=True, timeout=60)
                self.assertEqual(result.stdout.split(), ["200", "200", "403", "403", "403"], user + result.stderr)
            self.assertEqual(asked.result(), [200] * 20, "the host's root while the container starts")
            self.assertEqual(caller.ask(urls[2]).status, 200, "the host's root while it runs")
            jvms = caller.ask(urls[2]).json()["jvms"]
            self.assertIn(container.pid, [one["pid"] for one in jvms])
            self.assertEqual(caller.ask(urls[2], uid=ALICE).json()["jvms"], [])

    def test_many_descriptors(self):
        """flamed looks for the owner of a connection among all descriptors of the machine."""
        paths.need_root()
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "sock_diag"}))
            daemon = stack.enter_context(Daemon("--recorder-hz=0"))
            stack.enter_context(running_in(stack.enter_context(container_cgroup())))
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
            stack.callback(connection.close)
            connection.connect() # the holder is older than the processes with the descriptors
            stack.enter_context(descriptors(100_000))
            connection.request("GET", "/api/v1/jvms")
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200, answer.read())

    def test_a_kernel_that_cannot_tell_who_holds_a_socket(self):
        """All callers over TCP are unknown, get told at once, and can use the Unix socket."""
        paths.need_root()
        for old in ("task_file", "sock_diag,task_file"):
            with self.subTest(old_kernel=old), mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": old}), Daemon("--recorder-hz=0") as daemon:
                for uid in (0, ALICE):
                    answer = caller.ask(f"http://127.0.0.1:{daemon.port}/api/v1/jvms", uid=uid)
                    self.assertEqual(answer.status, 403, str(answer))
                    self.assertIn("this kernel cannot list the processes that hold", answer.json()["detail"])
                self.assertEqual(caller.ask(f"http://127.0.0.1:{daemon.port}/healthz").status, 200)
                self.assertEqual(daemon.get("/api/v1/jvms", unix=True).status, 200)
                self.assertIn("clients over TCP cannot be identified", daemon.log())

    def test_root_that_may_trace_nobody(self):
        """As in a container with the host's network and processes: root only by its number."""
        paths.need_root()
        paths.need("setpriv")
        with Daemon("--recorder-hz=0") as daemon:
            for bounds, status in (("-net_raw", "200"), ("-sys_ptrace", "403"), ("-all", "403")):
                asked = subprocess.run(["setpriv", "--bounding-set", bounds, "curl", "-s", "-m", "30", "-o", "/dev/null", "-w", "%{http_code}",
                                        f"http://127.0.0.1:{daemon.port}/api/v1/jvms"], capture_output=True, text=True, check=False)
                self.assertEqual(asked.stdout, status, bounds)

    def test_multipath_tcp(self):
        """The socket that a program holds differs from the one of the network: the kernel has a TCP socket below it."""
        paths.need_root()
        try:
            socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP).close()
        except OSError:
            self.skipTest("no Multipath TCP here")
        for old in ("", "sock_diag"):
            with self.subTest(old_kernel=old), mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": old} if old else {}), Daemon("--recorder-hz=0") as daemon, \
                    socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as client:
                client.settimeout(30)
                client.connect(("127.0.0.1", daemon.port))
                client.sendall(b"GET /api/v1/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                self.assertIn(b'"user 0"', b"".join(iter(lambda: client.recv(65536), b"")))

    def beside_a_container(self, stack: contextlib.ExitStack) -> tuple[Daemon, str]:
        """Makes a daemon to which the kernel reports no cgroup, so that any process may have made a socket, and the cgroup of a container."""
        stack.enter_context(mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "sock_diag"}))
        daemon = stack.enter_context(Daemon("--recorder-hz=0"))
        cgroup = stack.enter_context(container_cgroup())
        inside = stack.enter_context(subprocess.Popen(["sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec sleep 600', cgroup]))
        stack.callback(inside.kill)
        proc.wait_until(lambda: str(inside.pid) in proc.read(f"{cgroup}/cgroup.procs").split(), 5, "it is in its cgroup")
        return daemon, cgroup

    def test_a_broker_that_stands_still(self):
        """Requests that wait for a look get a 503 in time, later ones at once, and no other request waits."""
        paths.need_root()
        with contextlib.ExitStack() as stack:
            daemon, _ = self.beside_a_container(stack)
            self.assertEqual(daemon.get("/api/v1/jvms").status, 200)
            for told in (self.are_told, self.are_told_at_once):
                proc.wait_until(lambda told=told: self.beside_a_stopped_broker(daemon, told), 90, told.__doc__)

    def beside_a_stopped_broker(self, daemon: Daemon, check) -> bool:
        """Returns true if CHECK(daemon) ended before flamed gave up the broker, which it does after 10 s."""
        proc.wait_until(lambda: daemon.get("/api/v1/jvms").status == 200, 20, "it is known again")
        broker = next(pid for pid in proc.children(daemon.top()) if proc.exe(pid) == "flamed-broker")
        stopped = time.monotonic()
        proc.stop(broker)
        try:
            check(daemon)
        except AssertionError:
            if time.monotonic() - stopped < 9:
                raise
            return False # a busy machine
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(broker, signal.SIGCONT)
        return True

    def are_told(self, daemon: Daemon) -> None:
        """Requests that wait for a look get a 503 in time."""
        with ThreadPoolExecutor(12) as pool, proc.Standstill() as machine:
            asked = [pool.submit(daemon.get, "/api/v1/jvms") for _ in range(12)]
            while not all(one.done() for one in asked):
                self.assertEqual(daemon.get("/healthz").status, 200)
                time.sleep(0.1)
            answers = [one.result() for one in asked]
            self.assertLess(machine.given(), 8.5)
        self.assertEqual([(one.status, one.headers["Retry-After"]) for one in answers], [(503, "1")] * 12)

    def are_told_at_once(self, daemon: Daemon) -> None:
        """While one request waits for a look, others are answered at once."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(daemon.get, "/api/v1/jvms")
            for _ in range(3): # waiting requests are answered after 5 s
                with proc.Standstill() as machine:
                    self.assertEqual(daemon.get("/api/v1/jvms").status, 503)
                    took = machine.given()
                if took < 1:
                    break
            self.assertLess(took, 1)
            self.assertEqual(daemon.get("/healthz").status, 200)

    def test_a_container_that_connects_in_a_loop(self):
        """The container uses up nothing that root of the host or another user needs."""
        paths.need_root()
        with contextlib.ExitStack() as stack:
            daemon, cgroup = self.beside_a_container(stack)
            attack = stack.enter_context(subprocess.Popen([sys.executable, "-c", ATTACK, str(daemon.port), cgroup, "16"],
                                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            stack.callback(attack.kill)
            for _ in range(12):
                counts = ast.literal_eval(attack.stdout.readline())
            self.assertEqual(set(counts), {"403"}, counts)
            url = f"http://127.0.0.1:{daemon.port}/api/v1/jvms"
            for uid in (0, 0, 0, ALICE) * 3:
                answer = caller.ask(url, uid=uid)
                self.assertEqual(answer.status, 200, f"user {uid}: {answer}")

    def test_a_socket_that_both_hold(self):
        """A program of the host has also taken a container's socket: it counts as the container's."""
        paths.need_root()
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, {"FLAMED_OLD_KERNEL": "sock_diag"}))
            daemon = stack.enter_context(Daemon("--recorder-hz=0"))
            cgroup = stack.enter_context(container_cgroup())
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
            stack.callback(connection.close)
            connection.connect()
            pid = os.fork() # the child holds the socket like this process; older and newer processes of the host hold it, too
            if not pid:
                try:
                    with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(str(os.getpid()))
                    signal.pause()
                finally:
                    os._exit(1)
            try:
                proc.wait_until(lambda: str(pid) in proc.read(f"{cgroup}/cgroup.procs").split(), 5, "it is in its cgroup")
                newer = stack.enter_context(subprocess.Popen(["sleep", "60"], pass_fds=[connection.sock.fileno()]))
                stack.callback(newer.kill)
                connection.request("GET", "/api/v1/jvms")
                answer = connection.getresponse()
                self.assertEqual(answer.status, 403, answer.read())
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def test_each_request_is_judged(self):
        """On one connection: for each request, the user of its socket and the holders are looked up again. An act does not rely on an
        earlier look."""
        paths.need_root()
        with Daemon("--recorder-hz=0") as daemon:
            for change, subject in ((lambda fd: os.fchown(fd, ALICE, -1), None), (lambda _: os.setresuid(ALICE, ALICE, ALICE), None),
                                    (lambda _: os.setresuid(ALICE, 0, 0), None), # like a set-user-ID program
                                    (lambda _: None, "user 0")):
                said, say = os.pipe()
                pid = os.fork()
                if not pid:
                    try:
                        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
                        for method, path in (("GET", "/api/v1/whoami"), ("POST", "/api/v1/captures")):
                            connection.request(method, path, body=b'{"pid": 2147483646}' if method == "POST" else None,
                                               headers={"Content-Type": "application/json"})
                            answer = connection.getresponse()
                            os.write(say, f"{answer.status} {json.loads(answer.read()).get('subject')}\n".encode())
                            change(connection.sock.fileno())
                    finally:
                        os._exit(1)
                os.waitpid(pid, 0)
                os.close(say)
                with os.fdopen(said) as lines:
                    first, second = lines.read().splitlines()
                self.assertEqual(first, "200 user 0")
                self.assertEqual(second.split()[0], "404" if subject else "403", "no such process" if subject else "it is another user now")

    def test_a_user_s_number_in_a_container_owns_nothing_of_it(self):
        """A JVM in a container of root's has a user with alice's number. It is not hers."""
        paths.need_root()
        bundle.need_runc()
        spin = jvm.make_spin()
        with Daemon("--recorder-hz=0") as daemon, bundle.Container(paths.jdk(17), spin.folder, "-Drest=200", "-Xmx64m", "-cp", "/classes", spin.main, uid=ALICE,
                                                  user_namespace=False, cgroups_path=f"/docker/{secrets.token_hex(32)}") as container:
            url = f"http://127.0.0.1:{daemon.port}/api/v1/jvms"
            proc.wait_until(lambda: container.pid in [one["pid"] for one in caller.ask(url).json()["jvms"]], 20, "root sees it")
            self.assertEqual(caller.ask(url, uid=ALICE).json()["jvms"], [])
            self.assertEqual(caller.ask(f"{url}/{container.pid}", uid=ALICE).status, 404)


class NeighbourPod(unittest.TestCase):
    """A pod with a network of its own on flamed's node. Where kube-proxy has set route_localnet, it reaches the node's own 127.0.0.1."""

    def setUp(self):
        paths.need_root()
        paths.need("ip", "nsenter", "unshare")
        self.node, self.pod = self.network(), self.network()
        subprocess.run(["ip", "link", "add", "eth0", "netns", self.node, "type", "veth", "peer", "name", "eth0", "netns", self.pod],
                       check=True)
        for pid, address in ((self.node, NODE), (self.pod, POD)):
            self.inside(pid, "ip", "link", "set", "lo", "up")
            self.inside(pid, "ip", "addr", "add", address + "/24", "dev", "eth0")
            self.inside(pid, "ip", "link", "set", "eth0", "up")
            self.inside(pid, "sh", "-c", "echo 1 | tee /proc/sys/net/ipv4/conf/all/route_localnet")
        self.inside(self.pod, "ip", "addr", "del", "127.0.0.1/8", "dev", "lo")
        self.inside(self.pod, "ip", "route", "add", "127.0.0.0/8", "via", NODE, "dev", "eth0", "src", POD)

    def network(self) -> str:
        """Makes a network. Returns the pid of a process in it."""
        process = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return str(process.pid)

    @staticmethod
    def inside(pid: str, *command: str) -> None:
        subprocess.run(["nsenter", "-t", pid, "-n", *command], check=True, stdout=subprocess.DEVNULL)

    def test_it_is_nobody(self):
        """Its root and its users, whose numbers are those of the node's users, may ask for health only."""
        daemon = Daemon("--recorder-hz=0", wrap=["nsenter", "-t", self.node, "-n", "--"], wait=False)
        self.addCleanup(daemon.stop)

        def ready() -> bool:
            with contextlib.suppress(OSError):
                return daemon.get("/readyz", unix=True).status == 200
            return False
        proc.wait_until(ready, 60, "flamed is ready")

        def statuses(pid: str, uid: int) -> list[int]:
            return [caller.ask(f"http://127.0.0.1:{daemon.port}{path}", uid=uid, wrap=("nsenter", "-t", pid, "-n")).status
                    for path in ("/healthz", "/api/v1/jvms", "/metrics", "/profile?seconds=1", "/api/v1/captures")]
        self.assertEqual(statuses(self.node, 0), [200] * 5, "root of the node")
        for uid in (0, ALICE):
            self.assertEqual(statuses(self.pod, uid), [200, 403, 403, 403, 403], uid)
        self.assertIn(f'"address":"{POD}"', daemon.log())


if __name__ == "__main__":
    unittest.main()
