// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { callLength } from "../../web/viewer/callstable.js";

test("lengths of calls", () => {
    assert.equal(callLength(1.26e6), "1.3 ms");
    assert.equal(callLength(123.4e6), "123 ms");
    assert.equal(callLength(2.006e9), "2.01 s");
});
