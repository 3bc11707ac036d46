// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { openSides } from "../../web/page/sides.js";
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
