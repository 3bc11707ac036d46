# SPDX-License-Identifier: Apache-2.0
"""The owners of locks in the dump of threads: which thread holds what another one waits for, while the collector moves all objects."""
import re

import test_threads
from harness import jvm, proc

KINDS = {"fast": ("monitor", "Owners$Fast"), "heavy": ("monitor", "Owners$Heavy"), "lock": ("lock", "ReentrantLock")}


class LockOwners(test_threads.Threads):
    sources = ("Owners.java",)
    test_25 = test_17 = test_untracked = test_crowd = None

    def check_owners(self, version: int, *options: str):
        """Each waiting thread is listed with the thread that holds its lock. Owners and waiting threads are platform and virtual."""
        carriers = () if version < 21 else ("-Djdk.virtualThreadScheduler.parallelism=12",) # three of them spin, and before 24 two are pinned
        pid = self.start(version, *carriers, *options, "Owners")
        expected = {f"{waiter}-{holder}-{kind}": f"{holder}-{kind}" for holder in ("p", "v", "m")[:1 if version < 21 else 3] for kind in KINDS
                    for waiter in "pv"[:1 if version < (21 if kind == "lock" else 24) else 2]}

        def owned() -> dict | None:
            """Returns the waiting threads by name, once all have owners. While objects move, owners may be unknown, but are never wrong."""
            answer = self.daemon.get(f"/api/v1/jvms/{pid}/threads")
            if answer.status != 200:
                self.assertEqual((answer.status, answer.json()["remedy"]), (409, "ask again in a second"))
                return None
            threads = {t["name"]: t for t in answer.json()["threads"] if t["name"] in expected}
            owners = {name: t["lock"]["owner"]["name"] for name, t in threads.items() if "name" in t.get("lock", {}).get("owner", {})}
            self.assertEqual(owners, {name: expected[name] for name in owners})
            return threads if len(owners) == len(expected) else None
        proc.wait_until(owned, 60, "all threads have owners")
        threads = proc.wait_until(owned, 60, "all have owners once more")
        for name, thread in threads.items():
            kind, lock = KINDS[name.rsplit("-", 1)[1]]
            self.assertEqual(thread["lock"]["kind"], kind, thread)
            self.assertIn(lock, thread["lock"]["class"])
        lines = [r"(?m)^\t- waiting to lock \(a Owners\$" + kind + r'\), owned by "p-' + kind.lower() + r'" #\d+$' for kind in ("Fast", "Heavy")]
        proc.wait_until(lambda: all(re.search(line, self.daemon.get(f"/api/v1/jvms/{pid}/threads", format="text").text) for line in lines), 60,
                        "the text has the owners, too")

    def test_owners_25(self):
        self.check_owners(25)

    @jvm.further_case
    def test_owners_17(self):
        self.check_owners(17)
