// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { groupingsOf } from "../../web/page/requestbar.js";
import { requestsText } from "../../web/page/requestsview.js";

const profile = (kind, requests) => ({ stacks: [{ frames: [0] }, { frames: [1], ...kind && { thread_kind: kind } }], quality: requests ? { requests } : {} });

test("a profile has the groupings that say something of it", () => {
    assert.deepEqual(groupingsOf(profile()), [""]);
    assert.deepEqual(groupingsOf(profile("virtual")), ["", "kind"]);
    assert.deepEqual(groupingsOf(profile("", { named: 3, no_tracer: 0 })), ["", "operation", "trace"]);
    assert.deepEqual(groupingsOf(profile("carrier", { named: 3 })), ["", "kind", "operation", "trace"]);
});

test("requests say what of them is left out: shorter ones, and samples without which they look shorter", () => {
    const text = (...args) => requestsText(...args).replaceAll("\u00a0", " ");

    assert.equal(text(2, { requests: 0, samples: 0 }), "2 requests, the longest first");
    assert.equal(text(1000, { requests: 2100, samples: 0 }), "1,000 requests, the longest first; 2,100 shorter ones are left out");
    assert.equal(text(1, { requests: 0, samples: 12345 }), "1 request, the longest first; 12,345 samples had no room: times and bars are too short");
});
