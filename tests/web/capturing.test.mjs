// SPDX-License-Identifier: Apache-2.0
// What the page asks flamed while a capture runs.
import assert from "node:assert/strict";
import test from "node:test";
import { CollectionWait } from "../../web/page/collectionwait.js";
import { CaptureProgress } from "../../web/page/progress.js";

// Lets fetch() answer with what @answer(path) gives: an object, or a number: that status.
function answering(answer) {
    const asked = [];

    globalThis.location = { href: "http://host/" };
    globalThis.fetch = async (url) => {
        const path = String(url).replace(/^http:\/\/host\//, ""), got = answer(path);

        asked.push(path);
        return typeof got === "number" ? new Response("{}", { status: got }) : new Response(JSON.stringify(got));
    };
    return asked;
}

test("a stop that flamed did not take is tried again", async () => {
    let isBusy = true, ends = 0;
    const asked = answering((path) => path.endsWith("/heap") ? { history: { collections: [7, null] } } : isBusy ? 503 : {});
    const wait = Object.assign(Object.create(CollectionWait.prototype),
        { pid: 7, id: "aa", wanted: 2, first: 5, began: 0, passed: () => {}, end: () => { ends++; } });

    await wait.count();
    assert.equal(ends, 0);
    isBusy = false;
    await wait.count();
    assert.equal(ends, 1);
    assert.equal(asked.filter((path) => path === "api/v1/captures/aa/stop").length, 2);
});

test("a capture that fails is asked about at once", () => {
    const asked = answering(() => ({ state: "failed" }));
    const progress = Object.assign(Object.create(CaptureProgress.prototype), { path: "api/v1/captures/aa", show: () => {}, showHottest: () => {} });

    progress.heard("top", {});
    progress.heard("failed", {});
    assert.deepEqual(asked, ["api/v1/captures/aa"]);
});
