// SPDX-License-Identifier: Apache-2.0
// The live view over minutes: what it keeps in memory does not grow. FLAMED_LIVE_SECONDS: how long, 600 unless said.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { close, launch, open } from "./browser.mjs";
import { Flamed, Workloads } from "./flamed.mjs";

const SECONDS = Number(process.env.FLAMED_LIVE_SECONDS || 600);
const ROUNDS = 10;
const GROWTH_MAX = 1.15; // of the last third over the first, after the collector ran
let browser, flamed, workloads, shift;

before(async () => {
    [browser, flamed] = await Promise.all([launch(), new Flamed().start()]);
    workloads = new Workloads();
    shift = await workloads.run("Shift", "30");
});
after(async () => {
    await Promise.allSettled([browser && browser.close(), workloads && workloads.stop(), flamed && flamed.stop()]);
});

const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;

for (const [name, tab] of [["flame graph", ""], ["top", "?tab=top"]]) {
    test(`${SECONDS / 2} s of the live ${name}: memory stays flat`, { timeout: (SECONDS + 120) * 1000 }, async (t) => {
        const page = await open(browser, flamed.url, `#/jvm/${shift.pid}${tab}`);
        const cdp = await page.context().newCDPSession(page);
        const used = [];

        await page.locator(tab ? ".live tbody tr:visible" : ".panel .facts span").first().waitFor();
        await page.waitForTimeout(10000); // what is kept on purpose has been made
        for (let i = 0; i < ROUNDS; i++) {
            await page.waitForTimeout(SECONDS / 2 / ROUNDS * 1000);
            await cdp.send("HeapProfiler.collectGarbage");
            const { usedSize } = await cdp.send("Runtime.getHeapUsage");

            used.push(usedSize);
        }
        const nodes = await page.evaluate(() => document.getElementsByTagName("*").length);

        t.diagnostic(`${name}: ${used.map((n) => (n / 2 ** 20).toFixed(2)).join(" ")} MiB; ${nodes} elements`);
        assert.ok(mean(used.slice(-3)) < mean(used.slice(0, 3)) * GROWTH_MAX);
        await close(page);
    });
}
