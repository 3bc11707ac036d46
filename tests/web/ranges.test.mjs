// SPDX-License-Identifier: Apache-2.0
// The profile of a range of moments.
import assert from "node:assert/strict";
import test from "node:test";
import { openTimes, profileBetween } from "../../web/shared/ranges.js";
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
