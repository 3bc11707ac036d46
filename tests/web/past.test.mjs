// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { deploysOf } from "../../web/page/past.js";

const NOW = Date.parse("2026-11-27T12:00:00Z");
const ago = (minutes) => new Date(NOW - minutes * 60000).toISOString();

test("a new release is another version than that of the JVM of its service that ended shortly before", () => {
    const service = (name, version, ran, ...ended) => ({ name, jvms: [{ pid: ran, version, start_time: ago(ran) }],
        ended: ended.map(([old, end]) => ({ version: old, start_time: ago(end + 60), last_seen: ago(end) })) });
    const deploys = deploysOf({ services: [
        service("rules", "2.4.1", 5, ["2.3.9", 12], ["2.4.0", 5]), // the last one before
        service("same", "2.4.0", 6, ["2.4.0", 6]), // started again
        service("old", "2", 70, ["1", 70]), // of more than an hour ago
        service("first", "2", 7), service("later", "2", 40, ["1", 20]), service("pause", "2", 8, ["1", 30]), service("none", null, 9, ["1", 9])] }, NOW);

    assert.deepEqual([...deploys], [[5, { service: "rules", version: "2.4.1", before: "2.4.0" }]]);
});
