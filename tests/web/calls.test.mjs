// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { callLength } from "../../web/viewer/callstable.js";

test("lengths of calls", () => {
    assert.equal(callLength(20e3), "20.0\u00a0µs");
    assert.equal(callLength(1.26e6), "1.26\u00a0ms");
    assert.equal(callLength(123.4e6), "123\u00a0ms");
    assert.equal(callLength(2.006e9), "2.01\u00a0s");
    assert.equal(callLength(12e11), "20.0\u00a0min");
});
