# SPDX-License-Identifier: Apache-2.0
"""A JVM's own counters, from its file in /tmp/hsperfdata_USER, and the values that /heap and /metrics must have."""
import glob
import os
import re
import signal
import struct
import unittest
from contextlib import contextmanager

from . import proc
from .daemon import Daemon


def parse(data: bytes) -> dict[str, int | str]:
    first, count = struct.unpack_from("<II", data, 24)
    found, at = {}, first
    for _ in range(count):
        length, name, vector, kind, _flags, _units, _varies, value = struct.unpack_from("<IIIBBBBI", data, at)
        key = data[at + name:data.index(b"\0", at + name)].decode()
        place = at + value
        found[key] = struct.unpack_from("<q", data, place)[0] if vector == 0 else data[place:place + vector].split(b"\0")[0].decode()
        assert (kind == ord("J")) == (vector == 0), key
        at += length
    return found


def read(pid: int) -> dict[str, int | str]:
    """Returns the file of a JVM, which may be in a container."""
    files = glob.glob(f"/proc/{pid}/root/tmp/hsperfdata_*/{proc.ns_pids(pid)[-1]}")
    with open(files[0], "rb") as f:
        return parse(f.read())


@contextmanager
def standing(pid: int):
    """Stops the JVM, so that its counters do not change meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        proc.wait_until(lambda: proc.is_stopped(pid), 10, "it is stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def numbers(counters: dict, kind: str) -> list[int]:
    """Returns the numbers of its generations, or collectors: ZGC lacks some."""
    return [i for i in range(10) if f"sun.gc.{kind}.{i}.name" in counters]


def seconds(counters: dict, key: str) -> float:
    return counters[key] / counters["sun.os.hrt.frequency"]


def both(counters: dict, kind: str) -> int:
    return counters[f"java.cls.{kind}Classes"] + counters[f"java.cls.shared{kind.capitalize()}Classes"]


def pools(counters: dict) -> dict[str, tuple[int, int, int]]:
    """Returns name of a space -> used, committed, most."""
    found = {}
    for key, used in counters.items():
        match = re.fullmatch(r"sun\.gc\.generation\.(\d+)\.space\.(\d+)\.used", key)
        if match:
            space = key.removesuffix(".used")
            name = f'{counters[f"sun.gc.generation.{match[1]}.name"]} {counters[space + ".name"]}'
            found[name] = used, counters[space + ".capacity"], counters[space + ".maxCapacity"]
    for name, key in (("metaspace", "sun.gc.metaspace"), ("class space", "sun.gc.compressedclassspace")):
        found[name] = counters[key + ".used"], counters[key + ".capacity"], counters[key + ".maxCapacity"]
    return found


def check_heap(test: unittest.TestCase, counters: dict, heap: dict) -> None:
    def pool(p: dict) -> tuple[int, int, int]:
        return p["used"], p["committed"], p["max"]

    told = {f'{g["name"]} {s["name"]}': pool(s) for g in heap["generations"] for s in g["spaces"]}
    told |= {heap[name]["name"]: pool(heap[name]) for name in ("metaspace", "class_space")}
    test.assertEqual(told, pools(counters))
    test.assertEqual(heap["policy"], counters.get("sun.gc.policy.name", "")) # ZGC has no such counter
    for i, generation in zip(numbers(counters, "generation"), heap["generations"], strict=True):
        test.assertEqual((generation["committed"], generation["max"]),
                         (counters[f"sun.gc.generation.{i}.capacity"], counters[f"sun.gc.generation.{i}.maxCapacity"]))
    for i, collector in zip(numbers(counters, "collector"), heap["collections"], strict=True):
        test.assertEqual((collector["name"], collector["count"]),
                         (counters[f"sun.gc.collector.{i}.name"], counters[f"sun.gc.collector.{i}.invocations"]))
        test.assertAlmostEqual(collector["seconds"], seconds(counters, f"sun.gc.collector.{i}.time"), 6)
    test.assertEqual(heap["safepoints"]["count"], counters["sun.rt.safepoints"])
    for name, key in (("seconds", "safepointTime"), ("sync_seconds", "safepointSyncTime"), ("application_seconds", "applicationTime")):
        test.assertAlmostEqual(heap["safepoints"][name], seconds(counters, "sun.rt." + key), 6)
    test.assertEqual(heap["threads"], {name: counters["java.threads." + key] for name, key in
                                       (("live", "live"), ("daemon", "daemon"), ("peak", "livePeak"), ("started", "started"))})
    test.assertEqual(heap["classes"], {kind: both(counters, kind) for kind in ("loaded", "unloaded")})
    test.assertEqual(heap["compiler"]["methods"], counters["sun.ci.totalCompiles"])
    test.assertAlmostEqual(heap["compiler"]["seconds"], seconds(counters, "java.ci.totalTime"), 6)
    test.assertEqual(heap["left_out"], 0)
    test.assertGreater(heap["code_cache"]["committed"], 1 << 20)
    test.assertGreaterEqual(heap["code_cache"]["max"], heap["code_cache"]["committed"])


def metrics(daemon: Daemon, pid: int) -> dict[tuple[str, str], float]:
    """Returns (family, value of its last label if it has its own) -> value, of one JVM."""
    found = {}
    own = re.compile(r'(flamed_jvm_\w+)\{pid="%d",main="[^"]*",container="[^"]*",pod="[^"]*",namespace="[^"]*",service="[^"]*"(?:,\w+="([^"]*)")?\} (\S+)' % pid)
    for line in daemon.get("/metrics").text.splitlines():
        match = own.fullmatch(line)
        if match:
            found[match[1].removeprefix("flamed_jvm_"), match[2] or ""] = float(match[3])
    return found


def paused(counters: dict, version: int) -> tuple[int, float, float]:
    """Returns the safepoints so far, their seconds, and the seconds until their threads had stopped. JDK 13 and later count the time after
    the operation separately."""
    whole, reach = (seconds(counters, "sun.rt." + key) for key in ("safepointTime", "safepointSyncTime"))
    return counters["sun.rt.safepoints"], whole + reach if version >= 13 else whole, reach


def histograms(daemon: Daemon, pid: int) -> dict[str, dict[str, float]]:
    """Returns the histograms of safepoints, by the end of their name: "count", "sum", and each bucket by its bound."""
    found: dict[str, dict[str, float]] = {}
    own = re.compile(r'flamed_jvm_(pause|time_to_safepoint)_seconds_(\w+)\{pid="%d",.*?(?:,le="([^"]*)")?\} (\S+)' % pid)
    for line in daemon.get("/metrics").text.splitlines():
        match = own.fullmatch(line)
        if match:
            found.setdefault(match[1], {})[match[3] or match[2]] = float(match[4])
    return found


def expected_metrics(counters: dict) -> dict[tuple[str, str], float]:
    wanted = {}
    for i in numbers(counters, "collector"):
        name = counters[f"sun.gc.collector.{i}.name"]
        wanted["collections_total", name] = counters[f"sun.gc.collector.{i}.invocations"]
        wanted["collection_seconds_total", name] = seconds(counters, f"sun.gc.collector.{i}.time")
    for name, values in pools(counters).items():
        wanted |= {(f"pool_{kind}_bytes", name): value for kind, value in zip(("used", "committed", "max"), values)}
    return wanted | {
        ("safepoints_total", ""): counters["sun.rt.safepoints"],
        ("safepoint_seconds_total", ""): seconds(counters, "sun.rt.safepointTime"),
        ("safepoint_sync_seconds_total", ""): seconds(counters, "sun.rt.safepointSyncTime"),
        ("threads", "daemon"): counters["java.threads.daemon"],
        ("threads", "other"): counters["java.threads.live"] - counters["java.threads.daemon"],
        ("threads_started_total", ""): counters["java.threads.started"],
        ("classes_loaded_total", ""): both(counters, "loaded"),
        ("classes_unloaded_total", ""): both(counters, "unloaded"),
        ("compile_seconds_total", ""): seconds(counters, "java.ci.totalTime"),
    }


def check(test: unittest.TestCase, daemon: Daemon, pid: int) -> dict:
    """Checks that /heap and /metrics equal the file of a stopped JVM. Returns the answer of /heap."""
    with standing(pid):
        counters = read(pid)
        answer = daemon.get(f"/api/v1/jvms/{pid}/heap")
        test.assertEqual(answer.status, 200, answer)
        heap = answer.json()
        check_heap(test, counters, heap)
        wanted = expected_metrics(counters)

        def differing() -> dict:
            told = metrics(daemon, pid)
            return {key: (told.get(key), value) for key, value in wanted.items()
                    if key not in told or abs(told[key] - value) > 1e-6 * max(1, abs(value))}

        try: # counters are read every 5 s
            proc.wait_until(lambda: not differing(), 20, "the metrics are those of now", interval=0.5)
        except Exception:
            test.assertEqual(differing(), {})
            raise
    return heap
