// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
    buildTree, firstEndingAfter, levelsBelow, neighbour, nodeAt, nodeName, openProfile, pathTo, weighTree,
    widestChild,
} from "../../web/shared/tree.js";
import { compileSearch, matchGroups, matchNumber, nextMatch, sumMatches } from "../../web/shared/search.js";
import { sortMethods, sumKinds, sumMethods } from "../../web/shared/methods.js";
import { findNode, formatState, nameNode, parseState } from "../../web/shared/state.js";
import { coarseOf, growTree, isLarge } from "../../web/standalone/opening.js";
import { eachRow, nodesIn } from "../../web/shared/rows.js";
import { emptyText, judgeQuality } from "../../web/shared/quality.js";
import { profileOf } from "./fixture.mjs";

// "parent>child total(self)" of every node, from left to right.
function outline(tree) {
    const lines = [];

    for (let i = 1; i < tree.count; i++)
        lines.push(pathTo(tree, i).map((n) => nodeName(tree, n)).join(">") + ` ${tree.total[i]}(${tree.self[i]})`);
    return lines;
}

const SIMPLE = [[["a", "b", "c"], 3], [["a", "b"], 2], [["a", "d"], 4], [["e"], 1]];

test("a tree adds up, siblings by name", () => {
    const tree = buildTree(profileOf(SIMPLE));

    assert.deepEqual(outline(tree),
        ["a 9(0)", "a>b 5(2)", "a>b>c 3(3)", "a>d 4(4)", "e 1(1)"]);
    assert.equal(tree.total[0], 10);
    assert.equal(tree.levels, 4);
});

test("the order of rows does not matter", () => {
    const shuffled = [SIMPLE[3], SIMPLE[1], SIMPLE[2], SIMPLE[0]];

    assert.deepEqual(outline(buildTree(profileOf(shuffled))), outline(buildTree(profileOf(SIMPLE))));
});

test("reversed, it merges from the leaf", () => {
    const tree = buildTree(profileOf([...SIMPLE, [["e", "c"], 5]]), { reverse: true });

    assert.deepEqual(outline(tree), ["b 2(0)", "b>a 2(2)", "c 8(0)", "c>b 3(0)", "c>b>a 3(3)", "c>e 5(5)", "d 4(0)",
        "d>a 4(4)", "e 1(1)"]);
});

test("frames that differ by line alone are one", () => {
    const profile = profileOf([[["a", "b:10"], 1], [["a", "b:12"], 2], [["a", "b:11", "c:7"], 4]]);
    const tree = buildTree(profile);

    assert.deepEqual(outline(tree), ["a 7(0)", "a>b 7(3)", "a>b>c 4(4)"]);
    assert.deepEqual([tree.lineMin[2], tree.lineMax[2], tree.lineMin[3], tree.lineMin[1]], [10, 12, 7, 0]);
});

test("what minwidth cut has its weight, both ways", () => {
    const data = profileOf([[["a", "b"], 5]], { raw: true });

    data.rows.push(1, -1, 3); // a, then what is too narrow
    data.view.minwidth = 2;
    const profile = openProfile(data);

    assert.deepEqual(outline(buildTree(profile)), ["a 8(0)", "a>[narrower than 2 %] 3(3)", "a>b 5(5)"]);
    assert.deepEqual(outline(buildTree(profile, { reverse: true })),
        ["[narrower than 2 %] 3(0)", "[narrower than 2 %]>a 3(3)", "b 5(0)", "b>a 5(5)"]);
});

// The rows of a profile as they are told.
function told(profile) {
    const rows = [];

    eachRow(profile, (path, depth, kept, isCut, samples, row) => rows.push([[...path].slice(0, depth), kept, isCut, samples, row]));
    return rows;
}

test("rows that threads have in common are the rows that they stand for", () => {
    const data = profileOf([[["thread t", "a", "b"], 1], [["thread t", "a", "c"], 2], [["thread t", "c"], 3],
        [["thread u", "a", "b"], 4], [["thread u", "c"], 5], [["thread u", "c"], 6], [["a", "b"], 7]], { raw: true });
    const listed = openProfile(data); // t 0, a 1, b 2, c 3, u 4
    const inCommon = openProfile({
        ...data, rows: undefined, bodies: [0, 2, 1, 2, 1, 1, 3, 0, 1, 3],
        runs: [1, 0, 3, 0, 1, 1, 2, 1, 3, 1, 4, 3, 0, 4, 2, 5, 0, 6, 0, 1, 0, 7],
    });

    assert.deepEqual(told(inCommon), told(listed));
    assert.deepEqual(told(inCommon)[4], [[4, 3], 1, false, 5, 4]);
    assert.equal(nodesIn(inCommon), 3 + 3 + 2 + 3 + 2 + 2 + 2);
    for (const reverse of [false, true])
        assert.deepEqual(outline(buildTree(inCommon, { reverse })), outline(buildTree(listed, { reverse })));
    assert.deepEqual(told(openProfile({ ...data, rows: undefined, bodies: [], runs: [] })), []);
});

test("what is wide enough to be seen stands first, the rest keeps its weight", async () => {
    const rows = [[["a", "b", "c"], 500], [["a", "b", "d"], 1], [["a", "b", "e:1"], 300], [["a", "b", "e:2"], 300],
        [["a", "f"], 1], [["a", "g"], 1], [["h", "i"], 2]];
    const data = profileOf(rows, { raw: true });
    const more = "[more in a moment]";

    for (const values of [null, rows.map(([, samples]) => samples * 7)]) {
        data.values = values;
        data.meta.weight = values ? "value" : "samples";
        const profile = openProfile(data);
        const coarse = coarseOf(profile, 0.3); // of 1105: 331.5
        const times = values ? 7 : 1;
        const tree = buildTree(coarse, { weight: data.meta.weight });

        assert.ok(!isLarge(profile));
        assert.deepEqual(outline(tree), [[more, 2, 2], ["a", 1103, 0], [`a>${more}`, 2, 2], ["a>b", 1101, 0],
            [`a>b>${more}`, 1, 1], ["a>b>c", 500, 500], ["a>b>e", 600, 600]]
            .map(([name, total, self]) => `${name} ${total * times}(${self * times})`));
        assert.equal(tree.samples[0], 1105);
        assert.deepEqual(outline(buildTree(coarseOf(profile, 0))), outline(buildTree(profile)));
        assert.deepEqual(outline(await growTree(profile)), outline(buildTree(profile)));
        assert.equal(profile.groups.at(-1).name, "[narrower than 0 %]"); // its own ones stay
    }
});

test("values weigh by themselves", () => {
    const data = profileOf([[["a"], 1], [["b"], 3]], { raw: true });

    data.values = [1000, 10];
    const tree = buildTree(openProfile(data), { weight: "value" });

    assert.deepEqual(outline(tree), ["a 1000(1000)", "b 10(10)"]);
    assert.deepEqual(outline(weighTree(tree, "samples")), ["a 1(1)", "b 3(3)"]);
});

test("finding, walking", () => {
    const tree = buildTree(profileOf(SIMPLE));
    const at = (depth, x) => {
        const n = nodeAt(tree, depth, x);

        return n < 0 ? "" : nodeName(tree, n);
    };

    assert.deepEqual([at(0, 5), at(1, 0), at(1, 8.9), at(1, 9), at(1, 10)], ["all", "a", "a", "e", ""]);
    assert.deepEqual([at(2, 4.9), at(2, 5), at(2, 9), at(3, 2.9), at(3, 3), at(4, 0), at(-1, 0)],
        ["b", "d", "", "c", "", "", ""]);
    assert.equal(firstEndingAfter(tree, 2, 100), tree.levelStart[3]);
    const [a, b, c, d, e] = [1, 2, 3, 4, 5];

    assert.equal(widestChild(tree, a), b);
    assert.equal(widestChild(tree, c), -1);
    assert.deepEqual([neighbour(tree, b, 1), neighbour(tree, d, -1), neighbour(tree, b, -1), neighbour(tree, e, 1)],
        [d, b, -1, -1]);
    assert.deepEqual([levelsBelow(tree, 0), levelsBelow(tree, d), levelsBelow(tree, b)], [4, 3, 4]);
});

test("an empty profile is a tree of the root", () => {
    const tree = buildTree(profileOf([]));

    assert.deepEqual([tree.count, tree.levels, tree.total[0]], [1, 1, 0]);
    assert.equal(nodeAt(tree, 0, 0), -1);
});

test("a foreign profile is refused", () => {
    for (const data of [null, {}, { format: "other", version: 1 }, { format: "flamed-viewer", version: 2 }])
        assert.throws(() => openProfile(data), /cannot|can read/);
});

test("a tree of many nodes is the sum of its rows", () => {
    const rows = [];
    let seed = 7;
    const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
    let sum = 0;

    for (let i = 0; i < 5000; i++) {
        const stack = Array.from({ length: 1 + random(20) }, (_, d) => "f" + (random(6) + d));

        rows.push([stack, 1 + random(9)]);
        sum += rows[i][1];
    }
    for (const reverse of [false, true]) {
        const tree = buildTree(profileOf(rows), { reverse });
        let self = 0;

        assert.equal(tree.total[0], sum);
        for (let i = 0; i < tree.count; i++) {
            let children = 0;

            for (let c = i + 1; c < tree.end[i]; c = tree.end[c]) {
                assert.equal(tree.parent[c], i);
                children += tree.total[c];
            }
            assert.equal(children + tree.self[i], tree.total[i]);
            self += tree.self[i];
        }
        assert.equal(self, sum);
    }
});

// ---- search ----

const RECURSIVE = [[["main", "f", "g", "f"], 4], [["main", "f"], 2], [["main", "g"], 3], [["idle"], 1]];

test("matched weight counts a stack once", () => {
    const tree = buildTree(profileOf(RECURSIVE));
    const sum = (text, node = 0) => {
        const { weight, count } = sumMatches(tree, matchGroups(tree.profile, compileSearch(text)), node);

        return [weight, count];
    };

    assert.deepEqual(sum("^f$"), [6, 2]);
    assert.deepEqual(sum("^[fg]$"), [9, 4]);
    assert.deepEqual(sum("."), [10, 6]);
    assert.deepEqual(sum("nothing"), [0, 0]);
    const f = [...tree.group.keys()].find((i) => pathTo(tree, i).map((n) => nodeName(tree, n)).join() === "main,f");

    assert.deepEqual(sum("^g$", f), [4, 1]);
    assert.deepEqual(sum("^main$", f), [6, 0]); // the view lies inside of a match
    assert.deepEqual(sum("^f$", f), [6, 2]);
});

test("lower case finds both, upper case itself, nonsense is text", () => {
    assert.ok(compileSearch("hash").regex.test("HashMap"));
    assert.ok(!compileSearch("Hash").regex.test("rehash"));
    assert.ok(compileSearch("\\Wx").regex.test("A.X"));
    assert.deepEqual([compileSearch("a(").isLiteral, compileSearch("a(").regex.test("a(int)")], [true, true]);
    for (const text of ["[", "*", "a{", "\\", "(?<", "x/y", "-", "a-b(", "^$(", "]"])
        assert.ok(compileSearch(text).regex.test("<" + text + ">") || !compileSearch(text).isLiteral, text);
    assert.equal(compileSearch(""), null);
});

test("next and previous go around", () => {
    const tree = buildTree(profileOf(RECURSIVE));
    const matched = matchGroups(tree.profile, compileSearch("^g$"));
    const first = nextMatch(tree, matched, 0, 1);
    const second = nextMatch(tree, matched, first, 1);

    assert.ok(second > first);
    assert.equal(nextMatch(tree, matched, second, 1), first);
    assert.equal(nextMatch(tree, matched, first, -1), second);
    assert.deepEqual([matchNumber(tree, matched, first), matchNumber(tree, matched, second), matchNumber(tree, matched, 1)],
        [1, 2, 0]);
    assert.equal(nextMatch(tree, matchGroups(tree.profile, compileSearch("none")), 0, 1), -1);
});

// ---- methods and kinds ----

test("a method that calls itself counts once", () => {
    const tree = buildTree(profileOf(RECURSIVE));
    const list = sortMethods(sumMethods(tree), "total").map((m) => [m.name, m.self, m.total]);

    assert.deepEqual(list, [["main", 0, 9], ["g", 3, 7], ["f", 6, 6], ["idle", 1, 1]]);
    assert.deepEqual(sortMethods(sumMethods(tree), "self").map((m) => m.name), ["f", "g", "idle", "main"]);
    assert.deepEqual(sortMethods(sumMethods(tree), "name").map((m) => m.name), ["f", "g", "idle", "main"]);
});

test("a method compiled twice is one row", () => {
    const tree = buildTree(profileOf([[["c2 a", "c1 x"], 3], [["c2 a", "c2 x"], 5], [["interpreted b", "c1 x"], 1]]));
    const x = sumMethods(tree).find((m) => m.name === "x");

    assert.deepEqual([x.self, x.total, x.kind], [9, 9, 1]);
});

test("kinds are those of the leaves", () => {
    const tree = buildTree(profileOf([[["c2 a", "kernel k"], 3], [["c2 a"], 1]]));

    assert.deepEqual(sumKinds(tree), [{ kind: 1, weight: 1 }, { kind: 8, weight: 3 }]);
});

// ---- state ----

test("state goes through the address and back", () => {
    const state = {
        search: "a&b=#%é", zoom: "3.k", weight: "value", reverse: true, icicle: false, table: true, packages: true,
        beside: false, idle: false, frames: true, tiers: false, thread: "[a tid=1]", focus: "x.Y.z", sandwich: "a.B.c", mine: "com.acme,org.x", hide: ["java.lang.Thread.run", "[unknown]"],
    };

    assert.deepEqual(parseState(formatState(state)), state);
    assert.equal(formatState(parseState("")), "");
    const defaults = { icicle: true, weight: "samples" };

    assert.equal(formatState(parseState("", defaults), defaults), "");
    assert.equal(parseState("#i=0", defaults).icicle, false);
    assert.equal(formatState({ ...parseState("", defaults), icicle: false }, defaults), "#i=0");
});

test("a node is found again by its name", () => {
    const tree = buildTree(profileOf(RECURSIVE));
    const other = buildTree(profileOf([...RECURSIVE, [["aaa", "f"], 9]]));

    for (let i = 0; i < tree.count; i++) {
        assert.equal(findNode(tree, nameNode(tree, i)), i);
        const found = findNode(other, nameNode(tree, i));

        assert.deepEqual(pathTo(other, found).map((n) => nodeName(other, n)), pathTo(tree, i).map((n) => nodeName(tree, n)));
    }
    for (const name of ["", "x", "1", "1.", "99.abc", "-1.a", "1.zzzz", "1e9.q"])
        assert.equal(findNode(tree, name), 0, name);
});

// ---- quality ----

test("good quality is quiet, bad quality has sentences", () => {
    const good = judgeQuality({ samples: 1000, lost: 0, unknown: 3, truncated: 0 });

    assert.deepEqual(good.sentences, []);
    assert.ok(good.facts.every((f) => !f.isBad));
    const bad = judgeQuality({ samples: 60, lost: 5, unknown: 20, truncated: 40 });

    assert.equal(bad.sentences.length, 3);
    assert.ok(bad.facts.every((f) => f.isBad));
    const leaf = judgeQuality({ samples: 1000, lost: 0, unknown: 0, truncated: 0, inferred: 310, unsure: 20 });

    assert.ok(leaf.facts.some(({ text, isBad }) => text === "leaf inferred for 31.0\u00a0%, unsure for 2.0\u00a0%" && !isBad), leaf.facts);
    assert.deepEqual(leaf.sentences, []);
    assert.match(judgeQuality({ samples: 1000, lost: 0, unknown: 0, truncated: 0, inferred: 0, unsure: 60 }).sentences[0], /inlined in/);
    assert.deepEqual(judgeQuality({ samples: 0, lost: 0, unknown: 0, truncated: 0 }).sentences, []);
    assert.match(emptyText({ event: "cpu" }), /event=wall/);
    assert.match(emptyText({ event: "lock" }), /lock/);
});
