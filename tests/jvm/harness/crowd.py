# SPDX-License-Identifier: Apache-2.0
"""A user of the machine who demands more of flamed than a share. crowd.py PORT COUNT METHOD PATH [BODY] opens COUNT connections over
loopback TCP and sends the same request on each. It prints one line of JSON: the number of answers by status. "open" counts those without
a body within three seconds. It keeps the connections until its input ends."""
import collections
import json
import selectors
import socket
import sys
import time

PATIENCE = 3.0 # seconds without another answer


def request(method: str, path: str, body: str) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def main() -> None:
    port, count, method, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    data = request(method, path, sys.argv[5] if len(sys.argv) > 5 else "")
    selector = selectors.DefaultSelector()
    statuses: dict[socket.socket, str] = {}
    for _ in range(count):
        s = socket.create_connection(("127.0.0.1", port), timeout=10)
        s.sendall(data)
        statuses[s] = "open"
        selector.register(s, selectors.EVENT_READ)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and "open" in statuses.values():
        for key, _ in selector.select(0.1):
            got = key.fileobj.recv(65536)
            if statuses[key.fileobj] == "open":
                statuses[key.fileobj] = got[9:12].decode() or "closed"
                end = time.monotonic() + PATIENCE
            if not got:
                selector.unregister(key.fileobj)
    print(json.dumps(collections.Counter(statuses.values())), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
