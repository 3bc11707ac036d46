# SPDX-License-Identifier: Apache-2.0
"""The dump of threads on JDKs that this machine lacks, and with each collector."""
import collections

import test_threads

CHURN, WALKS = 300, 300000 # MB of garbage a second, and stacks of virtual threads that are compared
DEEP = 9 # calls of ManyThreads.deep() by each sleeper


class ThreadsJdks(test_threads.Threads):
    test_17 = test_25 = test_untracked = test_crowd = None

    def test_21(self):
        for collector in ("-XX:+UseG1GC", "-XX:+UseSerialGC", "-XX:+UseParallelGC"):
            with self.subTest(collector=collector):
                self.check(21, collector)
        with self.subTest(collector="generational ZGC"):
            self.check(21, "-XX:+UseZGC", "-XX:+ZGenerational")

    def test_25_collectors(self):
        for options in (["-XX:+UseZGC"], ["-XX:+UseSerialGC"], ["-XX:+UseParallelGC"], ["-XX:+UseShenandoahGC"],
                        ["-XX:+UseCompactObjectHeaders"]):
            with self.subTest(options=options):
                self.check(25, *options)

    def test_26(self):
        self.check(26)

    @staticmethod
    def is_right(name: str, stack: list[str]) -> bool:
        """Returns true if the stack is the one of the thread with that name, each frame as often as it was called."""
        kind = name.split("-")[0]
        calls = collections.Counter(f.split("(")[0] for f in stack if f.startswith("ManyThreads.") and "$" not in f.split("(")[0])
        if kind == "sleeper":
            return calls["ManyThreads.deep"] == DEEP and not any(".site" in call for call in calls)
        site = test_threads.SITES["Sleep" if kind == "task" else kind[1:]][0]
        return [call for call in calls.elements() if ".site" in call] == [f"ManyThreads.{site}"] and not calls["ManyThreads.deep"]

    def check_churn(self, version: int, *options: str):
        """While a collector works, no stack is another thread's, and nearly all are whole."""
        pid = self.many(version, *options, churn=CHURN)
        walks, wrong, states = 0, [], collections.Counter()
        for _ in range(WALKS // test_threads.SLEEPERS * 2):
            dump = self.daemon.get(f"/api/v1/jvms/{pid}/threads").json()
            for thread in dump["threads"]:
                kind = thread["name"].split("-")[0]
                if not thread["virtual"] or not (kind in ("sleeper", "task") or kind[1:] in test_threads.SITES) or thread["state"] == "RUNNABLE":
                    continue
                states[thread["stack_state"]] += 1
                if thread["stack_state"] == "whole":
                    walks += 1
                    if not self.is_right(thread["name"], dump["stacks"][thread["stack"]]):
                        wrong.append((thread, dump["stacks"][thread["stack"]]))
            if walks >= WALKS:
                break
        print(version, options, walks, len(wrong), states, flush=True)
        self.assertEqual(wrong[:3], [])
        self.assertGreaterEqual(walks, WALKS)
        self.assertGreater(states["whole"], 0.99 * sum(states.values()), states)

    def test_churn_25(self):
        for options in (["-XX:+UseG1GC"], ["-XX:+UseZGC"], ["-XX:+UseSerialGC"]):
            with self.subTest(options=options):
                self.check_churn(25, *options)

    def test_churn_21(self):
        self.check_churn(21, "-XX:+UseG1GC")
        self.check_churn(21, "-XX:+UseZGC", "-XX:+ZGenerational")

    def test_27(self):
        self.check(27)
