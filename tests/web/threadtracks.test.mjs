// SPDX-License-Identifier: Apache-2.0
// Threads over time: pools, shares of moments, boxes of a flame chart.
import assert from "node:assert/strict";
import test from "node:test";
import { KIND } from "../../web/shared/kinds.js";
import { openTimes } from "../../web/shared/ranges.js";
import { openProfile } from "../../web/shared/tree.js";
import { idleText } from "../../web/page/idlepools.js";
import { TrackSums, boxesOf, cellsOf, firstAfter, levelsOf, poolOf, samplesOf, tracksOf } from "../../web/page/threadtracks.js";

test("threads of a pool differ by numbers alone", () => {
    assert.equal(poolOf("[http-worker-12 tid=4301]"), "http-worker-*");
    assert.equal(poolOf("[worker-*]"), "worker-*"); // of the history
    assert.equal(poolOf("[pool-3-thread-14 tid=1]"), "pool-*-thread-*");
    assert.equal(poolOf("[G1 Refine#0 tid=12]"), "G1 Refine#*");
    assert.equal(poolOf("[main tid=7]"), "main");
});

// Two workers, of which the first runs a, a, b, then waits for 100 ms, and the second runs a once.
function workers() {
    const strings = ["", "[worker-1 tid=11]", "[worker-2 tid=12]", "run", "a", "b", "[park]"];
    const frames = [[1, KIND.THREAD], [2, KIND.THREAD], [3, KIND.C2], [4, KIND.C2], [5, KIND.INTERPRETED], [6, KIND.PARK]].flatMap(([name, kind]) => [name, kind, 0, 0, 0]);
    const rows = [0, 3, 0, 2, 3, 2, 2, 1, 4, 1, 2, 1, 5, 1, 0, 3, 1, 2, 3, 1];
    const profile = openProfile({ format: "flamed-viewer", version: 1, meta: { seconds: 0.2, unit: "nanoseconds", period: 1e7 }, quality: {}, warnings: [],
        strings, frames, rows, values: [2e7, 1e7, 1e8, 1e7] });

    return { profile, times: openTimes({ times: [10, 0, 5, 3, 5, 0, 10, 1, 120, 2] }) };
}

test("pools have their threads, the longest first, and milliseconds by what they were at", () => {
    const { profile, times } = workers();
    const { pools, total, endMs } = tracksOf(profile, times);

    assert.deepEqual([pools.length, total, endMs], [1, 140, 200]);
    assert.deepEqual(pools[0].threads.map(({ name, total: ms }) => [name, ms]), [["[worker-1 tid=11]", 130], ["[worker-2 tid=12]", 10]]);
    assert.deepEqual([...pools[0].kinds], [[KIND.C2, 30], [KIND.INTERPRETED, 10], [KIND.PARK, 100]]);
});

test("a moment has what of each sample's time falls into it", () => {
    const { profile, times } = workers();
    const [{ threads }] = tracksOf(profile, times).pools;
    const cells = cellsOf(threads, 0, 200, 4);

    assert.deepEqual([...cells.get(KIND.C2)], [30, 0, 0, 0]);
    assert.deepEqual([...cells.get(KIND.PARK)], [0, 50, 50, 0]);
    assert.deepEqual([...cellsOf([threads[1]], 10, 20, 2).get(KIND.C2)], [5, 0]); // a part of one sample
    assert.deepEqual([...cellsOf(threads, 160, 200, 2).keys()], []);
});

test("a flame chart joins what goes on, and not what began anew", () => {
    const { profile, times } = workers();
    const [{ threads: [first] }] = tracksOf(profile, times).pools;
    const boxes = boxesOf(profile, first.spans).map(({ from, to, depth, group }) => [profile.groups[group].name, depth, from, to]);

    assert.deepEqual(boxes, [["run", 0, 0, 150], ["a", 1, 0, 20], ["b", 1, 20, 30], ["[park]", 1, 50, 150]]);
});

test("boxes of a level are in order of their ends, and the one of a moment is found", () => {
    const { profile, times } = workers();
    const levels = levelsOf(boxesOf(profile, tracksOf(profile, times).pools[0].threads[0].spans));
    const at = (depth, time) => profile.groups[levels[depth].boxes[firstAfter(levels[depth].boxes, time)].group].name;

    assert.deepEqual(levels.map(({ boxes, longestMs }) => [boxes.length, longestMs]), [[1, 150], [3, 100]]);
    assert.deepEqual([at(0, 60), at(1, 0), at(1, 20), at(1, 29), at(1, 149)], ["run", "a", "b", "b", "[park]"]);
    assert.equal(firstAfter(levels[1].boxes, 150), 3); // behind the last one
});

test("a track has the time of a part of the history spread over it, and a flame chart has none of it", () => {
    const { profile } = workers();
    const times = openTimes({ times: [0, -1, 2, 0, 3, 60000, 2], meta: { start: "2026-11-26T03:00:00Z" },
        warnings: ["from 2026-11-26T03:00:00Z to 2026-11-26T03:01:00Z this answer comes from the history: merged by minutes, without the times of single samples; threads have the name of their pool"] });
    const { pools: [{ threads: [first] }], total, hasParts, endMs } = tracksOf(profile, times);

    assert.deepEqual([total, hasParts, endMs], [130, true, 60000]); // 20 and 100 ms, and 10 of the second worker
    assert.deepEqual(first.spans.map(({ to, ms, isPart }) => [to, ms, isPart]), [[60000, 60000, true], [60000, 100, false]]);
    assert.deepEqual([...cellsOf([first], 0, 60000, 2).get(KIND.C2)].map((ms) => Math.round(ms)), [10, 10]);
});

test("sums made once say the same as the samples, coarse and fine", () => {
    const { profile, times } = workers();
    const { pools: [{ threads }], endMs } = tracksOf(profile, times);
    const sums = new TrackSums(threads, endMs);

    for (const [from, to, cells] of [[0, 200, 10], [20, 180, 7], [0, 200, 5000], [49, 51, 300], [120, 121, 3]])
        for (const [kind, wanted] of cellsOf(threads, from, to, cells)) {
            const got = sums.cells(from, to, cells).get(kind);

            wanted.forEach((ms, c) => assert.ok(Math.abs(ms - got[c]) < 0.06, `${from} to ${to}, part ${c}: ${got[c]} in place of ${ms}`));
        }
});

test("a look that stands for other threads, too, is no longer a wait: its time counts, its box does not stretch", () => {
    const { profile } = workers();
    const times = openTimes({ times: [10, 0, 5, 3, 5, 0, 10, 1, 170, 2], spans: [20000, 10000, 20000, 10000, 50000], stands: [1, 1, 1, 1, 3] });
    const { pools: [{ threads: [first] }], total, seen } = tracksOf(profile, times);

    assert.deepEqual([first.total, first.spans.at(-1).ms], [200, 50]);
    assert.deepEqual([total, seen], [210, 110]);
    assert.deepEqual([...cellsOf([first], 0, 200, 4).get(KIND.PARK)], [0, 0, 0, 50]); // between, nobody looked
});

test("samples of one moment are as high as they are many", () => {
    const { profile } = workers();
    const { pools: [{ threads: [first] }] } = tracksOf(profile, openTimes({ times: [10, -1, 2] }));

    assert.deepEqual([first.total, cellsOf([first], 0, 200, 4).get(KIND.C2)[0]], [20, 20]);
    assert.deepEqual([first.spans.length, samplesOf(first)], [1, 2]);
    assert.deepEqual([...new TrackSums([first], 200).cells(0, 200, 2).get(KIND.C2)], [20, 0]);
});

test("each wait has its own length, where the format says it: long ones leave no gap", () => {
    const { profile } = workers();
    const times = openTimes({ times: [10, 0, 5, 3, 5, 0, 10, 1, 170, 2], spans: [20000, 10000, 20000, 10000, 170000] });
    const [{ threads: [first] }] = tracksOf(profile, times).pools;

    assert.deepEqual([first.total, first.spans.at(-1).ms], [220, 170]);
    assert.deepEqual([...cellsOf([first], 0, 200, 4).get(KIND.PARK)], [20, 50, 50, 50]);
    const boxes = boxesOf(profile, first.spans).map(({ from, to, group }) => [profile.groups[group].name, from, to]);

    assert.deepEqual(boxes.at(-1), ["[park]", 30, 200]);
    assert.equal(openTimes({ times: [10, 0, 5, 3], spans: [1] }).span, null); // not of these samples
});

test("pools in a sentence: idle, waiting, or busy with work; what ran does not wait", () => {
    const strings = ["", "[web-1 tid=11]", "[io-1 tid=12]", "[calc-1 tid=13]", "run", "[park]", "[network]"];
    const frames = [[1, KIND.THREAD], [2, KIND.THREAD], [3, KIND.THREAD], [4, KIND.C2], [5, KIND.PARK], [6, KIND.NETWORK]].flatMap(([name, kind]) => [name, kind, 0, 0, 0]);
    const profile = openProfile({ format: "flamed-viewer", version: 1, meta: { seconds: 1, unit: "nanoseconds", period: 1e9 }, quality: {}, warnings: [], strings, frames,
        rows: [0, 3, 0, 3, 4, 1, 0, 3, 1, 3, 5, 1, 0, 2, 2, 3, 1], values: [1e9, 1e9, 1e9] });

    profile.idle = [true, false, false];
    assert.equal(idleText(profile), "web-* is idle; io-* waits (Network); calc-* ran");
});
