// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { openSide } from "../../web/page/sides.js";
import { buildTree, nodeName } from "../../web/shared/tree.js";

// Names at the root of a profile of two processes, of which both run a.B.c.
function roots(...services) {
    const frames = [{ name: "[Shop pid=1]", kind: "process" }, { name: "[Shop pid=2]", kind: "process" }, { name: "a.B.c", kind: "c2" }];
    const json = { format: "flamed-profile", meta: { unit: "nanoseconds", period: 10, weight: "samples" }, quality: { samples: 3 }, frames,
        processes: services.map((service, i) => ({ pid: i + 1, name: "Shop", service })), stacks: [{ frames: [0, 2], samples: 1, value: 10 }, { frames: [1, 2], samples: 2, value: 20 }] };
    const tree = buildTree(openSide(json), "samples"), names = [];

    for (let i = 1; i < tree.count; i++)
        names.push([nodeName(tree, i), tree.samples[i]]);
    return names;
}

test("JVMs of one service are one side of a comparison, others are told apart", () => {
    const apart = [["[Shop pid=2]", 2], ["[Shop pid=1]", 1], ["a.B.c", 2], ["a.B.c", 1]];

    assert.deepEqual(roots("rules", "rules"), [["a.B.c", 3]]);
    for (const services of [["rules", "mail"], ["rules", null], [null, null]])
        assert.deepEqual(roots(...services).sort(), apart.sort());
});
