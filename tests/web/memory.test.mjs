// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { allocationSteps, areaPoints, collectionSteps, endedThreadsPerSecond, memoryRange, openMemoryHistory } from "../../web/page/memorychart.js";

const at = (seconds) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const HISTORY = openMemoryHistory({
    time: [0, 1, 3, 63, 64].map(at), allocated: [100, null, 6100, 6200, null], collections: [1, 1, 3, 4, 6],
    collection_seconds: [0.5, 0.5, 0.6, 0.7, 0.9], threads: [10, 10, 10, 10, 10], threads_started: [10, 12, 16, 76, 136],
});

test("rates between points, and none where nobody looked or nothing is known", () => {
    assert.deepEqual(allocationSteps(HISTORY).map(({ from, to, perSecond }) => [from - HISTORY.time[0], to - from, perSecond]),
        [[0, 3000, 2000]]);
    assert.deepEqual(collectionSteps(HISTORY).map(({ count, share }) => [count, Math.round(share * 1000)]), [[2, 50], [2, 200]]);
    assert.equal(endedThreadsPerSecond(HISTORY), 60); // of the last minute
});

test("no history", () => {
    const none = openMemoryHistory(undefined);

    assert.deepEqual(none.time, []);
    const points = [{ time: at(0), bytes: [10, 20] }, { time: at(10), bytes: [30, 30] }];
    const range = memoryRange(none, points);

    assert.equal(range.to - range.from, 10000);
    assert.equal(areaPoints(points, 1, range, 60), "0.0,60.0 600.0,0.0 600.0,60.0 0.0,100.0");
});
