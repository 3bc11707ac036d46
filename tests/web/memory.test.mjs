// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { heapAfterCollections, heapTrend, roundBytes, roundShare, runsOf, trendText } from "../../web/page/memoryscale.js";
import { MemoryChart, allocationSteps, areaPoints, collectionSteps, endedThreadsPerSecond, memoryRange, openMemoryHistory } from "../../web/page/memorychart.js";

const at = (seconds) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const HISTORY = openMemoryHistory({
    time: [0, 1, 3, 63, 64].map(at), allocated: [100, null, 6100, 6200, null], allocated_time: [0, 0, 3, 63, 63].map(at), collections: [1, 1, 3, 4, 6],
    collection_seconds: [0.5, 0.5, 0.6, 0.7, 0.9], threads: [10, 10, 10, 10, 10], threads_started: [10, 12, 16, 76, 136],
});

test("rates between points, and none where nobody looked or nothing is known", () => {
    assert.deepEqual(allocationSteps(HISTORY).map(({ from, to, perSecond }) => [from - HISTORY.time[0], to - from, perSecond]),
        [[0, 3000, 2000]]);
    assert.deepEqual(collectionSteps(HISTORY).map(({ count, share }) => [count, Math.round(share * 1000)]), [[2, 50], [2, 200]]);
    assert.equal(endedThreadsPerSecond(HISTORY), 60); // of the last minute
});

// The threads are read every 10 s; the newest point comes 1 s after the one before, and has all that was allocated in between.
test("rates are by the times at which threads were read", () => {
    const history = openMemoryHistory({ time: [20, 36, 37].map(at), allocated: [1000, 2000, 3000], allocated_time: [18, 28, 37].map(at) });

    assert.deepEqual(allocationSteps(history).map(({ from, to, perSecond }) => [(to - from) / 1000, Math.round(perSecond)]), [[10, 100], [9, 111]]);
    assert.equal(allocationSteps(openMemoryHistory({ time: [20, 21].map(at), allocated: [1000, 9000], allocated_time: [20, 20].map(at) })).length, 0);
});

test("no history", () => {
    const none = openMemoryHistory(undefined);

    assert.deepEqual(none.time, []);
    const points = [{ time: at(0), bytes: [10, 20] }, { time: at(10), bytes: [30, 30] }];
    const range = memoryRange(none, points);

    assert.equal(range.to - range.from, 10000);
    assert.equal(areaPoints(points, 1, range, 60), "0.0,60.0 600.0,0.0 600.0,60.0 0.0,100.0");
});

test("the ends of scales are round, and no smaller than what they hold", () => {
    const MIB = 2 ** 20;

    assert.deepEqual([1, 300 * MIB, 301 * MIB, 1000 * MIB, 1024 * MIB, 1025 * MIB, 7.1 * 2 ** 30].map(roundBytes),
        [1, 300 * MIB, 400 * MIB, 1024 * MIB, 1024 * MIB, 2048 * MIB, 8 * 2 ** 30]);
    for (let bytes = 1; bytes < 2 ** 45; bytes *= 1.37)
        assert.ok(roundBytes(bytes) >= bytes && roundBytes(bytes) <= bytes * 2, bytes);
    assert.deepEqual([0, 0.013, 0.07, 0.5, 0.93, 1].map(roundShare), [0.01, 0.02, 0.1, 0.5, 1, 1]);
});

test("the heap after collections grows, shrinks or stays, by the line that fits all of them", () => {
    const MIB = 2 ** 20, seconds = [0, 30, 60, 90, 120, 150];
    const history = (used) => ({ time: seconds.map((s) => s * 1000), collections: [4, 5, 5, 6, 7, 8], heap_used: used.map((n) => n * MIB) });
    const steps = heapAfterCollections(history([90, 100, 100, 110, 120, 125])), trend = heapTrend(steps);

    assert.deepEqual(steps.map(({ time, bytes }) => [time / 1000, bytes / MIB]), [[30, 100], [90, 110], [120, 120], [150, 125]]);
    assert.equal(Math.round(trend.perMinute / MIB * 10) / 10, 12.9);
    assert.match(trendText(trend).replaceAll("\u00a0", " "), /^after collections it grows 12\.9 MiB a minute \(4 of them\)$/);
    assert.match(trendText(heapTrend(heapAfterCollections(history([90, 100, 100, 101, 100, 100.5])))), /is steady/);
    assert.match(trendText(heapTrend(heapAfterCollections(history([200, 190, 190, 150, 130, 100])))), /shrinks/);
    assert.match(trendText(heapTrend(heapAfterCollections({ ...history([90, 100, 110, 120, 130, 3]), collections: [4, 5, 6, 7, 8, 9] }))).replaceAll("\u00a0", " "),
        /^after collections it grew 20\.0 MiB a minute \(4 of them\) until \d\d:\d\d:\d\dZ?, when one freed 127 MiB/);
    assert.equal(heapTrend(steps.slice(0, 2)), null);
    assert.equal(trendText(null), "");
});

test("areas stand only where they were measured", () => {
    const points = [0, 5, 10, 100, 105, 300].map((s) => ({ time: at(s), bytes: [1] }));

    assert.deepEqual(runsOf(points, 40000).map((run) => run.length), [3, 2]);
});

test("that nothing was collected is said only where the counts before are known", () => {
    const history = openMemoryHistory({ time: [0, 5, 10, 100, 105, 110].map(at), rss: Array(6).fill(1), heap_used: Array(6).fill(1), heap_committed: Array(6).fill(1),
        collections: [1, 1, 2, 9, null, 9], collection_seconds: [0, 0, 1, 2, null, 2] });
    const said = (one, i) => (Object.assign(Object.create(MemoryChart.prototype), { history: one, rates: [], collections: one.collections ? collectionSteps(one) : [] }).partsOf(i)
        .find(([mark]) => mark === "collections") || [])[1]?.replaceAll("\u00a0", " ");

    assert.deepEqual([0, 1, 2, 3, 4, 5].map((i) => said(history, i)), [undefined, "no collection", "1 collection took 1.00 s of 5 s", undefined, undefined, undefined]);
    assert.equal(said({ ...history, collections: null }, 1), undefined);
});
