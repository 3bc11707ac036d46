// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { openTimeline } from "../../web/page/categories.js";

const empty = { from: "1970-01-01T00:00:00Z", to: "1970-01-01T01:00:00Z", oldest: "1970-01-01T00:00:00Z", bucket_seconds: 60, resolution_seconds: 60, hz: 19, series: [], moments: [],
    moments_left_out: 0 };

test("a timeline has the limits of its answer, but for where it begins, which is drawn", () => {
    const gap = "of these 3600 s the flight recorder ran 900 s: the rest is a gap";

    assert.deepEqual(openTimeline({ ...empty, warnings: [gap, "the flight recorder begins at 1970-01-01T00:10:00Z, 600 s later than what was asked for: flamed began to record then",
        "the history begins at 1970-01-01T00:10:00Z, 600 s later than what was asked for: flamed began to keep it then"] }).limits, [gap]);
    assert.deepEqual(openTimeline(empty).limits, []);
});

test("a timeline begins where the history does, not where the recorder does", () => {
    const line = (resolution, samples) => openTimeline({ from: "1970-01-01T00:00:00Z", to: "1970-01-01T00:04:00Z", oldest: "1970-01-01T00:03:30Z",
        bucket_seconds: 60, resolution_seconds: resolution, hz: 19, series: [{ category: "java", samples }], moments: [], moments_left_out: 0 }).oldest;

    assert.equal(line(60, [0, 5, 0, 9]), 60000);
    assert.equal(line(60, [0, 0, 0, 0]), 210000);
    assert.equal(line(0, [0, 0, 0, 9]), 210000); // without history
});

test("a timeline has the gaps of its answer", () => {
    assert.deepEqual(openTimeline(empty).gaps, []);
    assert.deepEqual(openTimeline({ ...empty, gaps: [{ from: "1970-01-01T00:10:00Z", to: "1970-01-01T00:20:00.5Z" }] }).gaps, [{ from: 600000, to: 1200500 }]);
});
