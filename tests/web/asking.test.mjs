// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { getJson, isAbort } from "../../web/page/api.js";

// A flamed that takes a request, and the headers of its answer with @answers, and is silent from then on.
function hang(t, answers) {
    const silence = (signal) => new Promise((_, failed) => {
        if (signal.aborted)
            failed(signal.reason);
        signal.addEventListener("abort", () => failed(signal.reason));
    });

    t.mock.method(globalThis, "fetch", (url, { signal }) => (answers ? Promise.resolve({ ok: true, json: () => silence(signal) }) : silence(signal)));
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
