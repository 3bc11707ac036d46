// SPDX-License-Identifier: Apache-2.0
// Tests of the page in a browser against a stand-in for flamed, each with a node of its own.
import test, { after, before } from "node:test";
import { launch, open as openAt } from "./browser.mjs";
import { FakeServer } from "./fake_server.mjs";

let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

export const ORDERS = 4242; // the pid of the busiest

// @run({server, t, open(hash, {from, …})})
export function nodeTest(name, run) {
    test(name, async (t) => {
        const server = new FakeServer();

        await server.listen();
        try {
            await run({
                server, t, open: (hash = "", { from = server, ...options } = {}) => openAt(browser, from.url, hash, options),
            });
        } finally { // else the process would not end
            await server.close();
        }
    });
}

export const mains = (page) => page.locator(".jvms .jvm-link").allTextContents();
export const graphShown = (page) => page.locator(".panel .facts").filter({ hasText: "samples" }).waitFor();

// Waits until what was answered before is drawn, if the page takes it.
export const drawnAfter = (page) => page.evaluate(async () => {
    await (await fetch("readyz")).text();
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
});
