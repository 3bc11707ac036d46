# SPDX-License-Identifier: Apache-2.0
"""Recorded steps of a service, in the form for changes_curve.c: frames, threads, and the stacks of each step."""
from datetime import datetime, timezone

from harness.daemon import Daemon

EVENTS = ("cpu", "offcpu", "lock")
CODE = ("c2", "c1", "inlined", "interpreted", "jvmci", "stub", "jvm", "native", "kernel", "class", "unknown")


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Ids(dict):
    """Numbers things in the order in which they come, and writes each once."""

    def __init__(self, out, word: str):
        super().__init__()
        self.out, self.word = out, word

    def __missing__(self, text: str) -> int:
        self.out.write(f"{self.word} {text}\n")
        self[text] = len(self)
        return self[text]


def write(daemon: Daemon, path: str, service: str, begun: float, ended: float, step: float, work: int) -> None:
    """Writes the samples of SERVICE from BEGUN to ENDED, in steps of STEP seconds. WORK: its work in that time, as it counts."""
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"work {work}\n")
        frames, threads = Ids(out, "frame"), Ids(out, "thread")
        for number in range(int((ended - begun) / step)):
            lines = []
            for event in EVENTS:
                answer = daemon.get("/profile", service=service, **{"from": stamp(begun + number * step), "to": stamp(begun + (number + 1) * step)},
                                    event=event, format="json", threads=1, timeout=120)
                if answer.status != 200:
                    continue
                profile = answer.json()
                ids = [frames[f"{'class' if f['kind'] == 'lock' else f['kind']} {f['name']}"] for f in profile["frames"]]
                names = [threads[t.get("name", "?")] for t in profile["threads"]]
                no_code = {i for i, f in enumerate(profile["frames"]) if f["kind"] not in CODE + (("lock",) if event == "lock" else ())}
                for stack in profile["stacks"]:
                    if event != "cpu" and (stack.get("state") not in (None, "blocked")):
                        continue
                    if event == "lock" and not (stack["frames"] and profile["frames"][stack["frames"][-1]]["kind"] == "lock"):
                        continue # for a notification
                    lines.append(f"{event} {names[stack['thread']]} {stack['samples']} {stack['value']} - " + " ".join(
                        str(ids[i]) for i in stack["frames"] if i not in no_code) + "\n")
            out.write("step\n" + "".join(lines))
