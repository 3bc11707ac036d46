// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { isNote } from "../../web/shared/quality.js";

const texts = (path) => readFileSync(new URL(`../../daemon/${path}`, import.meta.url), "utf8").replace(/"\s*\n\s*"/g, "").match(/"[^"\n]{30,}"/g).map((text) => text.slice(1, -1));

test("how a profile was made is a note, as flamed words it, and what is missing of it is none", () => {
    for (const [path, notes] of [["api/past_recorded.c", 2], ["api/past_history.c", 1], ["profile/view_warnings.c", 1], ["capture/source/agent_sampling.c", 1], ["capture/source/heap.c", 1]])
        assert.equal(texts(path).filter(isNote).length, notes, path);
    assert.ok(!isNote("of these 300 s the flight recorder ran 200 s: the rest is a gap"));
    assert.ok(!isNote("33 samples are few: shares are rough"));
});
