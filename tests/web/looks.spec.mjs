// SPDX-License-Identifier: Apache-2.0
// Each view of the page at / as it looks: nothing is cut off or moves, and it is accessible. FLAMED_SHOTS: a folder for pictures.
import assert from "node:assert/strict";
import { WCAG_AA, close, cutLines, cutOff, faults } from "./browser.mjs";
import { ORDERS, nodeTest } from "./node_test.mjs";

// Waits until a view has all that it asked for, and has drawn it. Streams do not end.
function restOf(page) {
    const waited = new Set(), over = (request) => waited.delete(request);

    page.on("request", (request) => /\/(stream|top)(\?|$)/.test(request.url()) || waited.add(request));
    page.on("requestfinished", over);
    page.on("requestfailed", over);
    return async () => {
        const twoFrames = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

        for (const end = Date.now() + 60000; ; ) {
            await twoFrames();
            if (!waited.size && !await page.locator(".settling").count()) {
                await twoFrames();
                if (!waited.size)
                    return;
            }
            assert.ok(Date.now() < end, `asks for ${[...waited].map((request) => request.url())}`);
        }
    };
}

nodeTest("accessible in every view, light and dark, also on a phone", async ({ server, open }) => {
    const a = server.addCapture({ ago: 7200000, shape: 0.4 }), b = server.addCapture({ ago: 60000, failure: "it went away" });
    const c = server.addCapture({ ago: 50000, shape: 1.6 }), d = server.addCapture({ ago: 40000, by: "operation" });
    const iso = (ago) => new Date(Date.now() - ago).toISOString(), long = iso(7260000);

    server.addSignal({ signal: "gc-pauses", severity: 3, ago: 100, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
    server.addEnded({ pid: 3003, ago: 600, how: "the kernel ended it (SIGKILL): its container was out of memory" });
    server.addEnded({ pid: 3004, ago: 900, ran: 6900 });
    server.problems.push({ what: "recorder", fatal: false, detail: "the flight recorder may forget: its memory suffices for 5 of 12 minutes", remedy: "raise recorder_bytes" });
    server.reaches = Date.now() - 3600000;
    assert.ok(b);
    const views = [["node", "#/", ".jvm-link"], ["jvm", `#/jvm/${ORDERS}`, ".panel .facts span"],
        ["sandwich", `#/jvm/${ORDERS}?sw=com.acme.shop.PriceTable.lookup&t=1`, ".change"], ["top", `#/jvm/${ORDERS}?tab=top`, ".live td"],
        ["threads", `#/jvm/${ORDERS}?tab=threads`, ".threads .name"], ["memory", `#/jvm/${ORDERS}?tab=memory`, ".memory td"], ["changes", "#/service/Application?tab=changes", ".change-table td"],
        ["service-jvms", "#/service/Application?tab=jvms", ".content .jvm-link"], ["locks", `#/jvm/${ORDERS}?tab=locks`, ".locks td"],
        ["waits", `#/jvm/${ORDERS}?event=lock`, ".panel .facts span"], ["question", `#/jvm/${ORDERS}?start=live`, ".question"],
        ["requests", `#/capture/${d.id}?single=1`, ".requests-view .name"], ["kept", `#/jvm/${ORDERS}?from=${iso(90000)}&to=${iso(30000)}`, ".panel .facts span"],
        ["captures", "#/captures", ".captures tr td"], ["capture", `#/capture/${c.id}`, ".panel .facts span"],
        ["compare", `#/compare?a=${a.id}&b=${c.id}`, ".change-list li"], ["compare-empty", "#/compare", ".suggestion"], ["health", "#/health", ".card dd"],
        ["whole-node", "#/jvm/node", ".panel .facts span"], ["service", "#/service/Application", ".panel .facts span"], ["waiting", `#/jvm/${ORDERS}?event=offcpu`, ".panel .facts span"],
        ["wall", `#/jvm/${ORDERS}?event=wall`, ".panel .facts span"], ["heat", `#/jvm/${ORDERS}?from=${iso(90000)}&to=${iso(30000)}&heat=1`, ".panel .heat .heat-axis > *"],
        ["jvm-captures", `#/jvm/6001?tab=captures`, ".blank"], ["ended", `#/jvm/3003?from=${iso(660000)}&to=${iso(600000)}`, ".jvm-facts .how"],
        ["never", "#/jvm/99999", ".blank"], ["expired", `#/jvm/${ORDERS}?from=${long}&to=${iso(7200000)}`, ".blank button"], ["nowhere", "#/nowhere", ".blank"]];

    // Each view in one of two looks, by turns; FLAMED_EVERY_LOOK: in each of eight.
    const every = Boolean(process.env.FLAMED_EVERY_LOOK);
    const looks = every ? [1440, 1280, 800, 390].flatMap((width) => [["light", width], ["dark", width]]) : [["dark", 1280], ["light", 390]];

    // What is not there: the JVM that never was, and the range that has expired.
    const missing = new RegExp(`404 .*/(api/v1/jvms/99999|profile\\?pid=(99999&.*|4242&from=${encodeURIComponent(long)}&.*))$`);
    const cut = [], moved = [];

    const walk = async ([theme, width], turn) => {
        const page = await open("", { colorScheme: theme, allow: missing, viewport: { width, height: { 1440: 900, 1280: 800, 800: 1000, 390: 844 }[width] } });

        const rest = restOf(page);

        await page.evaluate(() => {
            window.shifts = [];
            window.shiftObserver = new PerformanceObserver((list) => { window.shifts.push(...list.getEntries()); });
            window.shiftObserver.observe({ type: "layout-shift" });
        });
        for (const [name, hash, sign] of views.filter((_, i) => every || i % looks.length === turn)) {
            await page.evaluate((to) => new Promise((done) => {
                addEventListener("hashchange", done, { once: true }); // the view of before may have the same sign
                location.hash = to;
            }), hash);
            await page.locator(sign).first().waitFor();
            await rest();
            await page.evaluate(() => {
                window.shiftObserver.takeRecords();
                window.shifts = [];
                document.dispatchEvent(new Event("visibilitychange")); // all that renews itself does so now
            });
            await page.waitForTimeout(every ? 3500 : 0); // and again
            await rest();
            moved.push(...(await page.evaluate(() => [...window.shifts, ...window.shiftObserver.takeRecords()]
                .map((e) => e.sources.map(({ node }) => (node && node.className) || String(node)).join())))
                .map((text) => `${name} ${theme} ${width}: ${text}`));
            if (process.env.FLAMED_SHOTS)
                await page.screenshot({ path: `${process.env.FLAMED_SHOTS}/${name}-${theme}-${width}.png` });
            assert.deepEqual(await faults(page, WCAG_AA), [], `${name} ${theme} ${width}`);
            cut.push(...[...await cutOff(page), ...await cutLines(page)].map((text) => `${name} ${theme} ${width}: ${text}`));
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} ${width} is too wide`);
            assert.ok(await page.locator(".tool.primary:visible").count() <= 1, `${name} ${width}: one button is filled`);
        }
        await close(page);
    };

    for (let i = 0; i < looks.length; i += 2) // more at a time wait for each other
        await Promise.all(looks.slice(i, i + 2).map((look, j) => walk(look, i + j)));
    assert.deepEqual(cut, []);
    assert.deepEqual(moved, []);
});
