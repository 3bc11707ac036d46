// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { leftOutText, momentLanes, momentText, momentsSummary, openStops, stopsOf, stopsWithin } from "../../web/shared/moments.js";

const MOMENTS = [
    { kind: "gc", process: 0, at_ns: 1234e6, ns: 5850000, name: "G1 young collection pauses (System.gc())" },
    { kind: "collections", process: 0, at_ns: 0, ns: 1e9, count: 2, total_ns: 7e6 },
    { kind: "collections", process: 0, at_ns: 1e9, ns: 1e9, count: 1, total_ns: 5.85e6 },
    { kind: "compilations", process: 0, at_ns: 0, ns: 1e9, count: 12, total_ns: 30.12e6 },
    { kind: "classes_loaded", process: 0, at_ns: 0, ns: 1e9, count: 1 },
];

test("moments in words", () => {
    assert.equal(momentText(MOMENTS[0]), "1.234\u00a0s: gc, 5.85\u00a0ms, G1 young collection pauses (System.gc())");
    assert.equal(momentText(MOMENTS[4]), "0.000\u00a0s to 1.000\u00a0s: 1\u00a0class loaded");
    assert.equal(momentsSummary(MOMENTS), "3\u00a0collections, 12.8\u00a0ms; 12\u00a0compilations, 30.1\u00a0ms; 1\u00a0class loaded");
    assert.equal(momentsSummary([]), "");
});

test("moments that are left out", () => {
    const many = Array.from({ length: 5000 }, () => MOMENTS[0]);

    assert.equal(leftOutText([...many, ...MOMENTS.slice(1)], 1234), "5,000 of 6,234 single moments are shown: " +
        "pauses first, and the longest of each. 1,234 shorter ones are left out.");
});

test("lanes of moments", () => {
    assert.deepEqual(momentLanes(MOMENTS).map(({ name, marks, bars }) => [name, marks.length, bars.length]),
        [["GC", 1, 0], ["compilations", 0, 1], ["classes", 0, 1]]);
    const safepoints = [{ kind: "safepoints", count: 3, at_ns: 0, ns: 1e9 }, { kind: "safepoint", at_ns: 5, ns: 10 }];

    assert.deepEqual(momentLanes(safepoints).map(({ marks, bars }) => [marks.length, bars.length]), [[1, 0]]);
});

test("compilations and classes", () => {
    const jit = { kind: "jit", at_ns: 1e9, ns: 1.2e6, name: "a.B.c", by: "C2 CompilerThread0", compiler: "c2" };
    const load = { kind: "class_load", at_ns: 2e9, ns: 0, name: "a.B", by: "main" };

    assert.equal(momentText(jit), "1.000\u00a0s: compiled, 1.20\u00a0ms, a.B.c, by C2 CompilerThread0");
    assert.equal(momentText(load), "2.000\u00a0s: class loaded, a.B, by main");
    assert.deepEqual(momentLanes([...MOMENTS, jit, load]).map(({ name, marks, bars }) => [name, marks.length, bars.length]),
        [["GC", 1, 0], ["compilations", 0, 1], ["compiled", 1, 0], ["classes", 0, 1], ["loaded", 1, 0]]);
    assert.deepEqual(stopsOf([jit, load]), []);
});

test("what stopped a JVM", () => {
    const safepoints = [{ kind: "safepoint", at_ns: 2e9, ns: 9.9e6, name: "Cleanup" }, { kind: "safepoint", at_ns: 3e9, ns: 12e6, name: "ThreadDump" }];

    assert.deepEqual(stopsOf([...MOMENTS, ...safepoints]), [
        { at: 1234, ms: 5.85, text: "gc, 5.85\u00a0ms, G1 young collection pauses (System.gc())" },
        { at: 3000, ms: 12, text: "safepoint, 12.0\u00a0ms, ThreadDump" },
    ]);
    assert.deepEqual(openStops([
        { kind: "gc", pid: 1, at: "1970-01-01T00:00:01.500000000Z", seconds: 0.02, stopped_seconds: 0.02, name: "young" },
        { kind: "safepoints", pid: 1, at: "1970-01-01T00:00:02Z", seconds: 1.01, stopped_seconds: 0.045, count: 3 },
        { kind: "collections", pid: 1, at: "1970-01-01T00:01:00Z", seconds: 60, stopped_seconds: 0.9, count: 12 },
        { kind: "throttled", pid: 1, at: "1970-01-01T00:01:00Z", seconds: 60, stopped_seconds: 20 },
    ]), [
        { pid: 1, at: 1500, ms: 20, kind: "gc", stoppedMs: 20, count: 1, text: "gc, 20.0\u00a0ms, young" },
        { pid: 1, at: 2000, ms: 1010, kind: "safepoints", stoppedMs: 45, count: 3, text: "3\u00a0safepoints, 45.0\u00a0ms" },
        { pid: 1, at: 60000, ms: 60000, kind: "collections", stoppedMs: 900, count: 12, text: "12\u00a0collections, 900.0\u00a0ms" },
        { pid: 1, at: 60000, ms: 60000, kind: "throttled", stoppedMs: 20000, count: 1, text: "throttled, 20,000\u00a0ms" },
    ]);
});

test("of sums of minutes, a chosen range has its part", () => {
    const stops = openStops([
        { kind: "collections", pid: 1, at: "1970-01-01T00:10:00Z", seconds: 600, stopped_seconds: 30, count: 40 },
        { kind: "throttled", pid: 1, at: "1970-01-01T00:10:00Z", seconds: 600, stopped_seconds: 20 },
        { kind: "gc", pid: 1, at: "1970-01-01T00:11:59.900Z", seconds: 0.2, stopped_seconds: 0.2, name: "young" },
    ]);
    const within = (from, to) => stopsWithin(stops, from * 60e3, to * 60e3).map(({ count, stoppedMs, isPart }) => [count, stoppedMs, isPart]);

    assert.deepEqual(within(12, 13), [[4, 3000, true], [0.1, 2000, true], [1, 200, undefined]]);
    assert.deepEqual(within(5, 11), [[4, 3000, true], [0.1, 2000, true]]);
    assert.deepEqual(within(5, 30), [[40, 30000, undefined], [1, 20000, undefined], [1, 200, undefined]]);
    assert.deepEqual(within(20, 30), []);
});
