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


class Lost(Exception):
    """Samples of a step are not, or not all, those of its time."""


class Recording:
    """A file that gets steps of SERVICE. WORK: its work in all steps, as it counts; 0: not known."""

    def __init__(self, path: str, service: str, work: int = 0):
        self.out = open(path, "w", encoding="utf-8")
        self.out.write(f"work {work}\n")
        self.service, self.frames, self.threads, self.last = service, Ids(self.out, "frame"), Ids(self.out, "thread"), [""]

    def close(self) -> None:
        self.out.close()

    def add(self, daemon: Daemon, begin: float, end: float) -> int:
        """Writes the samples from BEGIN to END as the next step. Returns how many are of CPU time. Raises Lost, and writes nothing, if flamed does
        not give those of this time from its recorder alone, or if they are those of the step before."""
        lines, samples = [], 0
        for event in EVENTS:
            answer = daemon.get("/profile", service=self.service, **{"from": stamp(begin), "to": stamp(end)}, event=event, format="json", threads=1,
                                timeout=120)
            if answer.status == 404 and event != "cpu":
                continue # nothing waited
            if answer.status != 200:
                raise Lost(str(answer))
            profile = answer.json()
            kept = [warning for warning in answer.warnings if "from the history" in warning or "a gap" in warning or "dropped" in warning]
            if kept or abs(profile["meta"]["seconds"] - (end - begin)) > 0.01 * (end - begin):
                raise Lost(f"{self.service} {event}: {profile['meta']['seconds']} of {end - begin} s; {kept}")
            found = self.lines(event, profile)
            samples += sum(int(line.split()[2]) for line in found if event == "cpu")
            lines += found
        if lines == self.last:
            raise Lost(f"{self.service}: the same samples twice")
        self.last = lines
        self.out.write("step\n" + "".join(lines))
        self.out.flush()
        return samples

    def lines(self, event: str, profile: dict) -> list[str]:
        ids = [self.frames[f"{'class' if f['kind'] == 'lock' else f['kind']} {f['name']}"] for f in profile["frames"]]
        names = [self.threads[t.get("name", "?")] for t in profile["threads"]]
        no_code = {i for i, f in enumerate(profile["frames"]) if f["kind"] not in CODE + (("lock",) if event == "lock" else ())}
        lines = []
        for stack in profile["stacks"]:
            if event != "cpu" and (stack.get("state") not in (None, "blocked")):
                continue
            if event == "lock" and not (stack["frames"] and profile["frames"][stack["frames"][-1]]["kind"] == "lock"):
                continue # for a notification
            lines.append(f"{event} {names[stack['thread']]} {stack['samples']} {stack['value']} - " + " ".join(
                str(ids[i]) for i in stack["frames"] if i not in no_code) + "\n")
        return lines


def write(daemon: Daemon, path: str, service: str, begun: float, ended: float, step: float, work: int) -> None:
    """Writes the samples of SERVICE from BEGUN to ENDED, in steps of STEP seconds. They have to be in the recorder still. WORK: as in Recording."""
    recording = Recording(path, service, work)
    for number in range(int((ended - begun) / step)):
        recording.add(daemon, begun + number * step, begun + (number + 1) * step)
    recording.close()
