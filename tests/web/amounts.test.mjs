// SPDX-License-Identifier: Apache-2.0
// Comparisons: what two sides amount to, and both as one profile.
import assert from "node:assert/strict";
import test from "node:test";

import { Amounts } from "../../web/shared/amounts.js";
import { buildTree, openProfile } from "../../web/shared/tree.js";
import { biggestChanges, gainOf, joinProfiles } from "../../web/viewer/diff.js";
import { profileOf } from "./fixture.mjs";

const side = (seconds, more = {}) => ({ unit: "bytes", seconds, stock: false, ...more });
const plain = (text) => text.replaceAll("\u00a0", " ");

test("amounts are per second where lengths differ, and are no rate where they are stocks", () => {
    const cases = [
        [side(10), side(10), 3 << 20, 5 << 20, "3.00 MiB", "5.00 MiB", "+2.00 MiB", ""],
        [side(10), side(10.05), 3 << 20, 5 << 20, "3.00 MiB", "5.00 MiB", "+2.00 MiB", ""],
        [side(10), side(20), 30 << 20, 20 << 20, "3.00 MiB/s", "1.00 MiB/s", "−2.00 MiB/s", "Per second, as the sides are 10 s and 20 s long."],
        [side(10, { stock: true }), side(20, { stock: true }), 30 << 20, 30 << 20, "30.0 MiB", "30.0 MiB", "±0",
            "The captures took 10 s and 20 s: each has only what was allocated during it."],
        [side(10, { unit: "nanoseconds" }), side(20, { unit: "nanoseconds" }), 5e9, 5e9, "500 ms/s", "250 ms/s", "−250 ms/s",
            "Per second, as the sides are 10 s and 20 s long."],
        [side(10, { unit: "count" }), side(20, { unit: "count" }), 12, 5000, "1.20 events/s", "250 events/s", "+249 events/s",
            "Per second, as the sides are 10 s and 20 s long."],
        [side(30), side(60), 1.1e9, 2.2e9, "35.0 MiB/s", "35.0 MiB/s", "±0", "Per second, as the sides are 30 s and 60 s long."],
        [side(0), side(20), 1, 1, "1 B", "1 B", "±0", ""],
    ];

    for (const [a, b, x, y, before, after, change, note] of cases) {
        const amounts = new Amounts(a, b), was = amounts.of(0, x), is = amounts.of(1, y);

        assert.deepEqual([amounts.text(was), amounts.text(is), amounts.changeText(was, is), amounts.note()].map(plain),
            [before, after, change, note]);
    }
    assert.equal(new Amounts(side(1), side(1, { unit: "nanoseconds" })).unit, "");
    assert.equal(new Amounts({ seconds: 1 }, { seconds: 1 }).unit, "");
});

// Of event alloc: rows as in profileOf(), and what they are worth.
function allocOf(rows, values, seconds, more = {}) {
    const data = profileOf(rows, { raw: true });

    return openProfile({ ...data, values, meta: { event: "alloc", unit: "bytes", period: 10, weight: "value", seconds, stock: false, ...more } });
}

const joined = (before, after) => {
    const amounts = new Amounts(before.meta, after.meta);

    return buildTree(joinProfiles(before, after, amounts));
};
const changesOf = (tree) => biggestChanges(tree).map(({ name, before, after, gain }) => [name, ...[before, after]
    .map((weight, i) => Math.round(weight * tree.profile.meta.measure.worth[i])), Math.round(gain * 1000)]);

test("bytes are compared by bytes a second, not by samples or shares", () => {
    const rows = [[["main", "few"], 90], [["main", "large"], 10]];

    // The same a second: a capture twice as long changes nothing.
    assert.deepEqual(changesOf(joined(allocOf(rows, [100, 900], 10), allocOf(rows, [200, 1800], 20))), []);
    // 10 and 90 a second before, 10 and 180 after: only `large` changed, whatever became of shares.
    const tree = joined(allocOf(rows, [100, 900], 10), allocOf(rows, [200, 3600], 20));

    assert.deepEqual(changesOf(tree), [["large", 90, 180, 474]]);
    assert.equal(Math.round(gainOf(tree, 0) * 1000), 474); // of 190
    assert.deepEqual(tree.profile.meta.measure.wholes.map((n) => Math.round(n / 1000)), [526, 1000]); // 100 and 190 of 190
    assert.deepEqual(changesOf(joined(allocOf(rows, [100, 900], 10, { stock: true }), allocOf(rows, [100, 900], 20, { stock: true }))), []);
});

test("a method of the application counts with the libraries that it calls, also where both sides have it", () => {
    const cpu = (list) => ({ ...profileOf(list), meta: { event: "cpu", unit: "nanoseconds", period: 10, weight: "samples", seconds: 10 } });
    const before = cpu([[["shop.Rules.apply", "java.util.Random.next"], 80], [["shop.Rules.apply", "shop.Old.run", "java.util.List.of"], 20]]);
    const after = cpu([[["shop.Rules.apply", "java.util.Random.next"], 50],
        [["shop.Rules.apply", "shop.Rules.match", "java.util.regex.Pattern.compile"], 30],
        [["shop.Rules.apply", "shop.Rules.match", "shop.Rules.key", "java.lang.String.concat"], 20]]);
    const list = biggestChanges(joined(before, after)).map(({ name, gain, whole }) => [name, Math.round(gain * 100), whole]);

    assert.deepEqual(list.slice(0, 5), [["shop.Rules.apply", -30, true], ["shop.Rules.match", 30, true], ["java.util.Random.next", -30, false],
        ["java.util.regex.Pattern.compile", 30, false], ["shop.Old.run", -20, true]]);
    assert.equal(list.length, 8);
});

test("CPU time is compared in shares, and events that differ are, too", () => {
    const rows = [[["main", "a"], 50], [["main", "b"], 50]], more = [[["main", "a"], 100], [["main", "b"], 100]];
    const cpu = (list, seconds) => ({ ...profileOf(list), meta: { event: "cpu", unit: "nanoseconds", period: 10, weight: "samples", seconds } });

    assert.deepEqual(changesOf(joined(cpu(rows, 10), cpu(more, 10))), []); // twice as busy, with the same
    assert.deepEqual(changesOf(joined(cpu(rows, 10), allocOf(rows, [1, 999], 10))), []); // in samples
    assert.deepEqual(changesOf(joined(cpu(rows, 10), cpu([[["main", "a"], 100]], 20))), [["a", 50, 50, 500], ["b", 50, 0, -500]]);
});

test("a method is the same however it is compiled, and differs from a frame of another kind", () => {
    const cpu = (frame) => ({ ...profileOf([[[frame], 1]]), meta: { event: "cpu", unit: "nanoseconds", period: 10, weight: "samples", seconds: 10 } });
    const framesOf = (before, after) => joined(cpu(before), cpu(after)).count - 1; // without the root

    for (const kind of ["c1", "inlined", "interpreted", "jvmci"])
        assert.equal(framesOf("c2 a.B.c", `${kind} a.B.c`), 1, kind);
    assert.equal(framesOf("c2 a.B.c", "native a.B.c"), 2);
    assert.equal(framesOf("c2 2x", "native_inlined x"), 2);
});
