// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { getJson, isAbort } from "../../web/page/api.js";
import { follow } from "../../web/page/stream.js";
import { formatAgo } from "../../web/shared/format.js";
import { nodeNow } from "../../web/shared/now.js";

// A flamed that takes a request, and the headers of its answer with @answers, and is silent from then on.
function hang(t, answers) {
    const silence = (signal) => new Promise((_, failed) => {
        if (signal.aborted)
            failed(signal.reason);
        signal.addEventListener("abort", () => failed(signal.reason));
    });

    t.mock.method(globalThis, "fetch", (url, { signal }) => (answers ? Promise.resolve({ ok: true, headers: new Headers(), json: () => silence(signal) }) : silence(signal)));
    t.mock.method(AbortSignal, "timeout", () => {
        const controller = new AbortController();

        setTimeout(() => controller.abort(new DOMException("late", "TimeoutError")), 10);
        return controller.signal;
    });
}

for (const answers of [false, true])
    test(`an answer that never ${answers ? "ends" : "begins"} is none, and what is left by the page stays left`, async (t) => {
        hang(t, answers);
        await assert.rejects(getJson("readyz"), /flamed does not answer/);
        const controller = new AbortController(), asked = getJson("readyz", {}, controller.signal);

        controller.abort();
        await assert.rejects(asked, isAbort);
    });

test("moments of the node are told by its clock, and a second of difference is none", async (t) => {
    const answer = (ahead) => t.mock.method(globalThis, "fetch", async () => new Response("{}", { headers: { Date: new Date(Date.now() + ahead).toUTCString() } }));

    answer(-300000);
    await getJson("readyz");
    assert.ok(Math.abs(nodeNow() - Date.now() + 300000) < 3000);
    assert.equal(formatAgo(Date.now() - 900000), "10\u00a0min");
    answer(1000);
    await getJson("readyz");
    assert.ok(Math.abs(nodeNow() - Date.now()) < 100);
});

// Lets what is promised come to its end.
const settled = () => new Promise((done) => setImmediate(done));

test("a stream that falls silent is no longer live: that is said, and it is opened again", async (t) => {
    const said = [], problems = [];
    let opened = 0, write;

    t.mock.timers.enable({ apis: ["setTimeout"] });
    t.mock.method(globalThis, "fetch", async (url, { signal }) => {
        opened++;
        return new Response(new ReadableStream({ start(controller) {
            write = (text) => controller.enqueue(new TextEncoder().encode(text));
            signal.addEventListener("abort", () => controller.error(signal.reason));
        } }));
    });
    globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
    const end = follow("top", { event: (name) => said.push(name), problem: ({ message }) => problems.push(message) });

    for (let i = 0; i < 3; i++) { // as long as something comes, however late
        await settled();
        write("event: top\ndata: {}\n\n");
        await settled();
        t.mock.timers.tick(59000);
    }
    assert.equal(opened, 1);
    assert.deepEqual([said, problems], [["top", "top", "top"], []]);
    t.mock.timers.tick(2000);
    await settled();
    assert.deepEqual(problems, ["flamed does not answer"]);
    t.mock.timers.tick(2000);
    await settled();
    assert.equal(opened, 2);
    end();
    t.mock.timers.tick(120000);
    await settled();
    assert.deepEqual([opened, problems.length], [2, 1]);
    delete globalThis.document;
});
