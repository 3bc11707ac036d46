// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { deploySides, openSides } from "../../web/page/sides.js";
import { buildTree, nodeName } from "../../web/shared/tree.js";

// A profile of JVMs of @services, the first with the pid @first: each runs a.B.c. That of one names no process in its stacks.
function profileOf(first, ...services) {
    const frames = services.map((_, i) => ({ name: `[Shop pid=${first + i}]`, kind: "process" })), pids = services.length > 1;

    return { format: "flamed-profile", meta: { unit: "nanoseconds", period: 10, weight: "samples" }, quality: { samples: services.length },
        frames: [...pids ? frames : [], { name: "a.B.c", kind: "c2" }], processes: services.map((service, i) => ({ pid: first + i, name: "Shop", service })),
        stacks: services.map((_, i) => ({ frames: pids ? [i, frames.length] : [0], samples: 1, value: 10 })) };
}

// Names at the roots of both, as they are compared.
function roots(...sides) {
    return openSides(...sides).map((profile) => {
        const tree = buildTree(profile, "samples"), names = [];

        for (let i = 1; i < tree.count; i++)
            if (tree.parent[i] === 0)
                names.push(nodeName(tree, i));
        return names.sort();
    });
}

test("the graphs of a deploy are of the times that flamed compares by itself", () => {
    const now = Date.parse("2026-11-27T12:00:00Z"), minutes = (n) => now - n * 60000;
    const of = (at, seen = Infinity) => {
        const sides = deploySides(minutes(at), seen, now);

        return sides && [sides.before, sides.after].map(({ from, to }) => [(now - from) / 60000, (now - to) / 60000]);
    };

    assert.deepEqual(of(4), [[8, 4], [4, 0]]); // as much before
    assert.deepEqual(of(9.9)[1], [9.9, 0]);
    assert.deepEqual(of(10), [[70, 10], [10, 0]]); // the last ten minutes, the hour before
    assert.deepEqual(of(300), [[360, 300], [10, 0]]);
    assert.deepEqual(of(1440), [[1500, 1440], [10, 0]]);
    assert.equal(of(1441), null); // flamed compares with yesterday, or the last minutes
    assert.equal(of(-1), null);
    assert.equal(deploySides(-Infinity, Infinity, now), null);
    assert.deepEqual(of(30, minutes(20)), [[90, 30], [30, 20]]); // the service has ended
    assert.deepEqual(of(30, minutes(25)), [[35, 30], [30, 25]]);
    assert.deepEqual(of(30, minutes(2)), [[90, 30], [10, 0]]); // it may be about to start again
    assert.deepEqual(of(30, -Infinity), of(30));
});

test("JVMs of one service are one side of a comparison, others are told apart", () => {
    const apart = [["[Shop pid=1]", "[Shop pid=2]"], ["[Shop pid=5]", "[Shop pid=6]"]], joined = [["a.B.c"], ["a.B.c"]];

    assert.deepEqual(roots(profileOf(1, "rules", "rules"), profileOf(5, "rules", "rules")), joined);
    for (const services of [["rules", "mail"], ["rules", null], [null, null]]) {
        assert.deepEqual(roots(profileOf(1, ...services), profileOf(5, ...services)), apart);
        assert.deepEqual(roots(profileOf(1, "rules", "rules"), profileOf(5, ...services)), apart);
    }
});

test("one JVM is compared with several as if it were one of them, whatever their services are", () => {
    for (const services of [["rules", "rules"], ["rules", "mail"], [null, null]]) {
        assert.deepEqual(roots(profileOf(1, "rules"), profileOf(5, ...services)), [["a.B.c"], ["a.B.c"]]);
        assert.deepEqual(roots(profileOf(5, ...services), profileOf(1, null)), [["a.B.c"], ["a.B.c"]]);
    }
});
