// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { groupingsOf } from "../../web/page/requestbar.js";

const profile = (kind, requests) => ({ stacks: [{ frames: [0] }, { frames: [1], ...kind && { thread_kind: kind } }], quality: requests ? { requests } : {} });

test("a profile has the groupings that say something of it", () => {
    assert.deepEqual(groupingsOf(profile()), [""]);
    assert.deepEqual(groupingsOf(profile("virtual")), ["", "kind"]);
    assert.deepEqual(groupingsOf(profile("", { named: 3, no_tracer: 0 })), ["", "operation", "trace"]);
    assert.deepEqual(groupingsOf(profile("carrier", { named: 3 })), ["", "kind", "operation", "trace"]);
});
