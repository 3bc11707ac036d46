// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { openTimeline } from "../../web/page/categories.js";

test("a timeline begins where the history does, not where the recorder does", () => {
    const line = (resolution, samples) => openTimeline({ from: "1970-01-01T00:00:00Z", to: "1970-01-01T00:04:00Z", oldest: "1970-01-01T00:03:30Z",
        bucket_seconds: 60, resolution_seconds: resolution, hz: 19, series: [{ category: "java", samples }], moments: [], moments_left_out: 0 }).oldest;

    assert.equal(line(60, [0, 5, 0, 9]), 60000);
    assert.equal(line(60, [0, 0, 0, 0]), 210000);
    assert.equal(line(0, [0, 0, 0, 9]), 210000); // without history
});
