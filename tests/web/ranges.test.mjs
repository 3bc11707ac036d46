// SPDX-License-Identifier: Apache-2.0
// The profile of a range of moments.
import assert from "node:assert/strict";
import test from "node:test";
import { countCells, openTimes, profileBetween, wholeParts } from "../../web/shared/ranges.js";
import { hideIdle } from "../../web/shared/transform.js";
import { buildTree, nodeName, openProfile } from "../../web/shared/tree.js";
import { profileOf } from "./fixture.mjs";

// {name: [samples, value]} of the frames of @profile.
function amountsOf(profile) {
    const tree = buildTree(profile, { weight: "value" });

    return Object.fromEntries(Array.from({ length: tree.count - 1 }, (_, i) => [nodeName(tree, i + 1), [tree.samples[i + 1], tree.values[i + 1]]]));
}

// A wait of 5 s and one of 1 s in a, which stands for three threads, and one of 1 ms in b.
function waits(more = {}) {
    const data = { ...profileOf([[["a"], 2], [["b"], 1]], { raw: true }), values: [8e9, 1e6], ...more };
    const times = openTimes({ times: [5000, 0, 2000, 1, 1000, 0], spans: [5e6, 1000, 1e6], stands: [1, 1, 3] });

    return { profile: openProfile(data), times };
}

test("a range has the time of its own waits", () => {
    const { profile, times } = waits();

    assert.deepEqual(amountsOf(profileBetween(profile, times, 0, 1e5)), { a: [2, 8e9], b: [1, 1e6] });
    assert.deepEqual(amountsOf(profileBetween(profile, times, 0, 7500)), { a: [1, 5e9], b: [1, 1e6] });
    assert.deepEqual(amountsOf(profileBetween(profile, times, 7500, 1e5)), { a: [1, 3e9] });
    assert.deepEqual(amountsOf(profileBetween(profile, times, 6000, 7500)), { b: [1, 1e6] });
});

test("samples without a length have equal parts of what their stack has", () => {
    const profile = openProfile({ ...profileOf([[["a"], 4], [["b"], 1]], { raw: true }), values: [4096, 100] });
    const times = openTimes({ times: [10, -1, 3, 10, 1, 10, 0] });

    assert.deepEqual(amountsOf(profileBetween(profile, times, 0, 25)), { a: [3, 3072], b: [1, 100] });
    assert.deepEqual(amountsOf(profileBetween(profile, times, 25, 40)), { a: [1, 1024] });
});

test("without values a sample is a period", () => {
    const profile = profileOf([[["a"], 4], [["b"], 1]]);
    const times = openTimes({ times: [10, -1, 3, 10, 1, 10, 0] });

    assert.equal(profileBetween(profile, times, 0, 25).values, null);
    assert.deepEqual(amountsOf(profileBetween(profile, times, 0, 25)), { a: [3, 30], b: [1, 10] });
});

test("what waits for work is known in a range, too", () => {
    const { profile, times } = waits({ idle: [0, 1] });

    assert.deepEqual(amountsOf(hideIdle(profileBetween(profile, times, 0, 1e5))), { a: [2, 8e9] });
    assert.deepEqual(amountsOf(hideIdle(profileBetween(profile, times, 6000, 7500))), {});
});

const history = (from, to, lengths) => [`from ${from} to ${to} this answer comes from the history: merged by ${lengths}, without the times of single samples; threads have the name of their pool`];

test("samples of the history lie somewhere in their part, as far as its length is known", () => {
    const parts = (start, ms, from, to, lengths) => [...openTimes({ times: ms.flatMap((t, i) => [t - (ms[i - 1] || 0), 0]), meta: { start }, warnings: history(from, to, lengths) }).parts || []].flat();
    const day = "2026-11-26T";

    // flamed began at 03:00:20, and 03:03:00 is of the flight recorder
    assert.deepEqual(parts(`${day}03:00:20Z`, [0, 40000, 160000], `${day}03:00:20Z`, `${day}03:03:00Z`, "minutes"), [0, 40000, 40000, 100000]);
    // parts of 10 minutes begin at 02:40 and 02:50, the minutes at 03:00 and 03:01; a clock leaves out less than a second
    assert.deepEqual(parts(`${day}02:40:00.4Z`, [0, 599600, 1199600, 1259600], `${day}02:40:00Z`, `${day}03:02:00Z`, "minutes and parts of 10 minutes"),
        [0, 599600, 599600, 1199600, 1199600, 1259600, 1259600, 1319600]);
    // an hour, of which nothing says how long it is but that the next part begins later
    assert.deepEqual(parts(`${day}02:00:00Z`, [0, 7200e3], `${day}02:00:00Z`, `${day}04:01:00Z`, "minutes, parts of 10 minutes and hours"), [0, 3600e3, 7200e3, 7260e3]);
    assert.equal(openTimes({ times: [0, 0], meta: { start: `${day}03:00:00Z` }, warnings: ["5 samples were lost"] }).parts, null);
});

test("of a part of the history each moment has an even share, and a range has all of it", () => {
    const profile = openProfile({ ...profileOf([[["a"], 6], [["b"], 2]], { raw: true }) });
    const times = openTimes({ times: [0, -1, 6, 60000, 1, 30000, 1], meta: { start: "2026-11-26T03:00:00Z" },
        warnings: history("2026-11-26T03:00:00Z", "2026-11-26T03:01:00Z", "minutes") });

    assert.deepEqual([...countCells(times, 6, 20000)], [2, 2, 2, 1, 1, 0]);
    assert.deepEqual(wholeParts(times, 10000, 20000), [0, 60000]);
    assert.deepEqual(wholeParts(times, 59000, 70000), [0, 70000]);
    assert.deepEqual(wholeParts(times, 60000, 70000), [60000, 70000]);
    assert.deepEqual(amountsOf(profileBetween(profile, times, ...wholeParts(times, 30000, 50000))), { a: [6, 60] });
});
