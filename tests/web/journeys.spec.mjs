// SPDX-License-Identifier: Apache-2.0
// What a person does with the views of a JVM, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { close, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, graphShown, nodeTest } from "./node_test.mjs";

describe("journeys", { concurrency: 4 }, () => {
    nodeTest("local time or UTC: one switch for all times, kept", async ({ server, open }) => {
        const capture = server.addCapture({ ago: 60000 }), start = Date.parse(capture.start);
        const page = await open("#/captures", { timezoneId: "Asia/Kolkata" });
        const text = (ms) => new Date(ms).toISOString().slice(11, 19), shown = () => page.locator(".captures .jvm-link").first().textContent();

        await page.locator(".captures .jvm-link").first().waitFor();
        assert.ok((await shown()).endsWith(text(start + 5.5 * 3600e3)));
        await page.getByRole("button", { name: "Local time" }).click();
        await page.locator(".captures .jvm-link").first().waitFor();
        assert.ok((await shown()).endsWith(text(start)));
        await page.reload();
        await page.getByRole("button", { name: "UTC" }).waitFor();
        await page.locator(".captures .jvm-link").first().waitFor();
        assert.ok((await shown()).endsWith(text(start)));
        await close(page);
    });

    nodeTest("a link to a moment that is gone says what is left, and leads there", async ({ server, open }) => {
        const iso = (ms) => new Date(ms).toISOString(), now = Date.now();

        server.reaches = now - 600000;
        const page = await open(`#/jvm/${ORDERS}?from=${iso(now - 7260000)}&to=${iso(now - 7200000)}`, { allow: /404/ });

        await page.getByText(/^Nothing is recorded any more from /).waitFor();
        await page.getByText(/The record reaches back to \d/).waitFor({ timeout: 10000 });
        await page.getByRole("button", { name: "Stored captures of that time" }).click();
        await page.getByText("No captures yet.").waitFor();
        await page.getByRole("button", { name: "Flame graph", exact: true }).click();
        await page.getByRole("button", { name: "The oldest recorded minute" }).click();
        await graphShown(page);
        const asked = await server.asked(/GET \/profile\?pid=4242&from/);

        assert.equal(Math.round((Date.parse(asked.get("to")) - Date.parse(asked.get("from"))) / 1000), 60);
        assert.ok(Date.parse(asked.get("from")) > now - 300000);
        await close(page);
    });

    nodeTest("a time that is forgotten is not said to be one in which nothing happened", async ({ server, open }) => {
        const iso = (ms) => new Date(ms).toISOString(), now = Date.now(), range = `from=${iso(now - 7260000)}&to=${iso(now - 7200000)}`;

        server.reaches = now - 600000;
        for (const [more, where] of [["event=offcpu", ".content"], ["tab=locks", ".locks-view"]]) {
            const page = await open(`#/jvm/${ORDERS}?${range}&${more}`, { allow: /404/ });

            await page.locator(where, { hasText: /^Nothing is recorded any more from .*The record reaches back to \d/ }).waitFor({ timeout: 10000 });
            await page.getByRole("button", { name: "Flame graph", exact: true }).click();
            await page.getByRole("button", { name: "The oldest recorded minute" }).click();
            await graphShown(page);
            await close(page);
        }
    });

    nodeTest("a range that the history answers says that its minutes are whole", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}?from=2026-11-26T03:00:54Z&to=2026-11-26T03:02:25Z`);

        await graphShown(page);
        assert.doesNotMatch(await textOf(page, ".panel .facts"), /whole minutes/);
        const seen = makeProfile({ seconds: 180 });

        server.profile = (options) => ({ ...makeProfile({ ...options, seconds: 180 }), partMs: 60000, meta: { ...seen.meta, start: "2026-11-26T03:00:00Z" },
            warnings: ["from 2026-11-26T03:00:00Z to 2026-11-26T03:03:00Z this answer comes from the history: merged by minutes, without the times of single samples; threads have the name of their pool"] });
        await page.reload();
        await graphShown(page);
        assert.match((await textOf(page, ".panel .facts")).replaceAll("\u00a0", " "), /3 min, whole minutes around the range/);
        await page.keyboard.press("e"); // a minute is one colour, and is chosen as a whole
        await page.locator(".heat-status", { hasText: "Of the history whole minutes are known" }).waitFor();
        const map = await page.locator(".heat-canvas").boundingBox(), at = (part) => map.x + map.width * part;

        assert.ok(await page.locator(".heat-canvas").evaluate((canvas) => { // 180 columns of a second
            const { data } = canvas.getContext("2d").getImageData(0, Math.round(canvas.height / 2), canvas.width, 1), step = canvas.width / 180;
            const pixel = (second) => data.slice(4 * Math.round((second + 0.4) * step), 4 * Math.round((second + 0.4) * step) + 4).join();

            return pixel(5) === pixel(0) && pixel(5) === pixel(30) && pixel(5) === pixel(59);
        }));
        await page.mouse.move(at(0.4), map.y + 20);
        await page.mouse.down();
        await page.mouse.move(at(0.5), map.y + 20, { steps: 3 });
        await page.mouse.up();
        await page.locator(".heat-status", { hasText: /^Selected: 60\.000.s – 120\.000.s · / }).waitFor();
        await page.waitForURL(/heat=60000-120000/);
        await page.getByRole("button", { name: "Threads", exact: true }).click();
        await page.locator(".thread-chart .live-note", { hasText: /^\d+.pools? · 3.min · .* · of the history whole minutes and pools are known/ }).waitFor();
        const heights = await page.locator(".track").first().evaluate((canvas) => { // of the columns
            const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);

            return Array.from({ length: width }, (_, x) => Array.from({ length: height }, (__, y) => data[4 * (y * width + x) + 3]).filter(Boolean).length);
        });

        assert.ok(heights.every((high) => high > 0), heights.join()); // all of the minute, in place of its first moment
        assert.ok(new Set(heights).size <= 3 + 2, heights.join()); // three minutes, two borders
        await page.locator(".threads .name").first().click();
        await page.locator(".threads .sub-row .name").first().click();
        await page.locator(".flame-status", { hasText: "of the history no order of stacks is known" }).waitFor();
        assert.ok(!await page.locator(".flame-canvas").isVisible());
        await close(page);
    });

    nodeTest("a range is kept as a capture, with the graph as it was, under an address of its own", async ({ server, open }) => {
        const now = Date.now(), iso = (ms) => new Date(ms).toISOString();
        const page = await open(`#/jvm/${ORDERS}`), keep = page.getByRole("button", { name: "Keep this range" });

        await graphShown(page);
        assert.ok(await keep.isDisabled());
        const place = await keep.boundingBox();

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?from=${iso(now - 90000)}&to=${iso(now - 30000)}&s=PriceTable`);
        await page.locator(".matches", { hasText: "matched" }).waitFor();
        assert.deepEqual((await keep.boundingBox()).x, place.x);
        const posted = page.waitForRequest((r) => r.method() === "POST");

        await keep.click();
        assert.deepEqual(JSON.parse((await posted).postData()), { pid: 4242, event: "cpu,wall,lock", from: iso(now - 90000), to: iso(now - 30000) });
        await page.waitForURL(/#\/capture\/[0-9a-f]+\?s=PriceTable/);
        await page.locator(".matches", { hasText: "matched" }).waitFor();
        assert.deepEqual(await page.getByLabel("Event", { exact: true }).locator("option").allTextContents(), ["CPU", "Wall clock", "Locks"]);
        server.reaches = Date.now() + 60000; // all else is forgotten
        await page.reload();
        await graphShown(page);
        await close(page);
    });

    nodeTest("my code: its packages are given once, are kept, and stand in the address", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}?t=1`), own = page.getByLabel("Packages of my code");
        const quiet = () => page.locator(".methods tr.foreign .name").evaluateAll((list) => list.map(({ title }) => title).sort());
        const mine = async (text) => {
            await page.getByRole("button", { name: "View", exact: true }).click();
            await page.getByRole("menuitem", { name: "My code" }).click();
            await own.fill(text);
            await own.press("Enter");
        };

        await graphShown(page);
        await page.locator(".methods .name").first().waitFor();
        assert.ok((await quiet()).every((name) => /^java\./.test(name)) && (await quiet()).length > 1);
        await mine("com.acme.shop.db, com.acme.shop.json");
        await page.waitForURL(/my=com\.acme\.shop\.db%2Ccom\.acme\.shop\.json/);
        const others = await quiet();

        assert.ok(others.includes("com.acme.shop.PriceTable.lookup") && !others.includes("com.acme.shop.db.OrderStore.load"), others.join());
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/4311?t=1`); // another JVM
        await page.waitForURL(/4311.*my=/);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?t=1&my=com.acme.shop.web`); // somebody's link
        await page.waitForFunction(() => document.querySelector(".methods tr.foreign .name[title='com.acme.shop.db.OrderStore.load']"));
        await page.reload();
        await graphShown(page);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/4311?t=1`);
        await page.waitForURL(/4311.*my=com\.acme\.shop\.db%2C/); // it is not taken for one's own
        await graphShown(page);
        await mine("");
        await page.waitForURL((url) => !url.hash.includes("my="));
        assert.ok((await quiet()).every((name) => /^java\./.test(name)));
        await close(page);
    });

    nodeTest("the graph has three quarters of the window's height, signals and facts beside it", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 3, ago: 100, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        server.isThrottled = true; // so that the legend of the timeline has all that it can have
        for (const [width, height, least] of [[1440, 900, 0.75], [1280, 800, 0.75], [1280, 720, 0.7]]) {
            const page = await open(`#/jvm/${ORDERS}`, { viewport: { width, height } });

            await graphShown(page);
            await page.locator(".signal-line .signal").waitFor();
            await page.locator(".timeline .legend li", { hasText: /Throttled 1\.\d\d.CPUs/ }).waitFor(); // more than there was time
            const { bottom, top } = await page.evaluate(() => document.querySelector(".graph").getBoundingClientRect().toJSON());

            assert.ok((bottom - top) / height >= least, `${(bottom - top) / height} of ${height} px`);
            await close(page);
        }
    });

    nodeTest("on a phone: the graph has room, captures are told apart, help begins at its beginning", async ({ server, open }) => {
        server.addCapture({ ago: 60000, seconds: 20 });
        server.addCapture({ ago: 60000, seconds: 20, event: "alloc" });
        const page = await open(`#/jvm/${ORDERS}`, { viewport: { width: 390, height: 800 } });

        await graphShown(page);
        const seen = await page.evaluate(() => {
            const graph = document.querySelector(".graph").getBoundingClientRect(), status = document.querySelector(".status").getBoundingClientRect();

            return { first: status.top - graph.top, whole: graph.height, wide: document.documentElement.scrollWidth };
        });

        assert.ok(seen.first >= 200, `${seen.first} px of the graph without scrolling`); // 130 before
        assert.ok(seen.whole >= 0.7 * 800, `${seen.whole} px of the graph`);
        assert.ok(seen.wide <= 390);
        for (const name of ["Capture …", "Compare …", "Download", "Live"]) {
            const box = await page.getByRole("button", { name, exact: true }).boundingBox();

            assert.ok(box.x >= 0 && box.x + box.width <= 390 && box.height >= 24, name);
        }
        await page.evaluate(() => { location.hash = "#/captures"; });
        await page.locator(".captures tbody tr").nth(1).waitFor();
        const rows = (await page.locator(".captures tbody tr").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));

        assert.equal(new Set(rows).size, 2, rows.join());
        assert.match(rows.join(), /Allocation · 20 s/);
        await page.getByRole("button", { name: "Help" }).click();
        const help = page.getByRole("dialog");

        assert.equal(await help.evaluate((dialog) => dialog.scrollTop), 0);
        assert.ok(await help.evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth));
        await close(page);
    });

    nodeTest("on a phone a table scrolls with all that is above it, and no line ends within a thread's name", async ({ open }) => {
        const page = await open("", { viewport: { width: 390, height: 844 } });

        for (const [tab, sign] of [["memory", ".memory td"], ["locks", ".owner-stacks li"], ["top", ".live td"], ["changes", ".change-table td, .blank"]]) {
            await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?tab=${tab}`);
            await page.locator(sign).first().waitFor();
            assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("main *")].filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowY) &&
                one.clientHeight && !one.matches(".view, .tabs")).map((one) => one.className)), [], tab);
            if (tab === "locks")
                assert.deepEqual(await page.locator(".locks .owner").evaluateAll((list) => list.filter((one) => one.getBoundingClientRect().height > 24).map((one) => one.textContent)), []);
        }
        await close(page);
    });

    nodeTest("small pictures of CPU time have a scale of their own, and its top stands beside each", async ({ open }) => {
        const page = await open("", { viewport: { width: 1280, height: 800 } }), rowOf = (name) => page.locator(".jvms tr", { hasText: name });
        const topOf = async (name) => Number(/^([\d.]+)\u00a0%$/.exec(await rowOf(name).locator(".spark-top").textContent())[1]);
        const highest = (name) => rowOf(name).locator(".spark").evaluate((canvas) => { // the part of the picture's height that its highest bar has
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });

            copy.drawImage(canvas, 0, 0);
            const { data, width, height } = copy.getImageData(0, 0, canvas.width, canvas.height);

            for (let y = 0; y < height; y++)
                for (let x = 0; x < width; x++)
                    if (data[(y * width + x) * 4 + 3] > 127)
                        return (height - y) / height;
            return 0;
        });

        await page.waitForFunction(() => [...document.querySelectorAll(".spark-top")].every((one) => one.textContent)); // they come after the list
        assert.ok(await topOf("Application") >= 200, String(await topOf("Application"))); // it uses 134 %
        assert.equal(await topOf("GradleDaemon"), 25);
        for (const name of ["Application", "BillingService"])
            assert.ok(await highest(name) > 0.45, `${name} has ${await highest(name)} of its scale`); // the top is less than twice the most
        await close(page);
    });

    nodeTest("on a phone: the name of the JVM stands whole, switches of the graph are in sight, a capture opens at what it asks", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 3, ago: 100, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        const { from, to } = server.range(new URLSearchParams()), range = [from, to].map((ms) => new Date(ms).toISOString());
        const page = await open(`#/jvm/${ORDERS}?from=${range[0]}&to=${range[1]}`, { viewport: { width: 390, height: 844 } });
        const isInSight = (target) => target.evaluate((node) => {
            const box = node.getBoundingClientRect(), { bottom } = document.querySelector(".top").getBoundingClientRect();

            return box.left >= 0 && box.right <= innerWidth && box.top >= bottom && box.bottom <= innerHeight && node.scrollWidth <= node.clientWidth + 1;
        });

        await graphShown(page);
        for (const crumb of await page.locator(".crumbs > :not(:first-child)").all())
            assert.ok(await crumb.evaluate((node) => node.scrollWidth <= node.clientWidth), await crumb.textContent());
        assert.ok(await page.evaluate(() => document.querySelector(".top").offsetHeight <= 80)); // two rows
        for (const name of ["View", "Table", "Heat map"])
            assert.ok(await isInSight(page.getByRole("button", { name, exact: true })), name);
        assert.equal(await page.locator(".tabs .tool:visible").first().evaluate((tab) => tab.getBoundingClientRect().left - tab.parentNode.getBoundingClientRect().left), 0);
        await page.getByRole("link", { name: /Capture it|Who allocates/ }).first().click();
        await page.waitForFunction(() => document.querySelector(".question input[value=alloc]")?.checked);
        await page.waitForFunction(() => document.activeElement.value === "alloc"); // no number, which would open a keyboard
        assert.ok(await isInSight(page.locator(".question", { hasText: "Who allocates?" })));
        assert.ok(await isInSight(page.getByRole("button", { name: "Start", exact: true })));
        await close(page);
    });

    nodeTest("nothing moves: tabs and buttons stay where they are whatever is shown, and nothing shifts by itself", async ({ server, open }) => {
        const page = await open("", { viewport: { width: 1280, height: 800 } });

        await page.locator(".jvms .jvm-link").first().waitFor();
        await page.evaluate(() => {
            window.shifts = [];
            new PerformanceObserver((list) => { window.shifts.push(...list.getEntries().filter((e) => !e.hadRecentInput)); }).observe({ type: "layout-shift" });
        });
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        await graphShown(page);
        await page.waitForTimeout(1000); // first paint of it
        const places = () => page.locator(".sub .tools button").evaluateAll((list) => list.map((b) => `${b.textContent} ${b.getBoundingClientRect().x}`).join());
        const before = await places();

        await page.evaluate(() => { window.shifts = []; });
        for (const name of ["Threads", "Top", "Memory", "Captures", "Flame graph"]) {
            await page.getByRole("button", { name, exact: true }).click();
            assert.equal(await places(), before, name);
        }
        await page.getByRole("button", { name: "Live", exact: true }).click();
        assert.equal(await places(), before, "not live");
        await page.getByRole("button", { name: "Live", exact: true }).click();
        await page.waitForTimeout(600);
        await page.evaluate(() => { window.shifts = []; });
        await page.waitForTimeout(7000); // two rounds of everything that renews itself
        assert.deepEqual(await page.evaluate(() => window.shifts.map((e) => [e.value, ...e.sources.map(({ node }) => (node && node.className) || String(node))])), []);
        await close(page);
    });

    nodeTest("nothing shifts from the first paint on: every view, wide, narrow and on a phone, also where signals are late", async ({ server, open }) => {
        server.addSignal({ signal: "pool-exhausted", severity: 3, ago: 100, sentence: "3 of 3 threads of payment-* wait for the same: [network] in PaymentClient.charge; they read from 127.0.0.1:42397; 6 threads of http-exec-* wait for results",
            evidence: `/profile?pid=${ORDERS}&event=offcpu&idle=0&from=-60s&to=now` });
        const capture = server.addCapture({ ago: 50000, by: "operation" });
        const looks = [[1440, 900], [800, 1000], [390, 844]], inSight = (selector) => (page) => page.locator(selector).first().waitFor();
        const views = [["", inSight(".jvms .jvm-link")], [`#/jvm/${ORDERS}?event=cpu`, graphShown], [`#/jvm/${ORDERS}?tab=top`, inSight(".live tbody tr:visible")], ["#/service/Application", graphShown], [`#/capture/${capture.id}`, graphShown],
            [`#/jvm/${ORDERS}?tab=memory`, inSight(".memory-chart, .scroll[aria-label=Memory] td")], [`#/jvm/${ORDERS}?tab=threads`, inSight(".threads .name")],
            [`#/jvm/${ORDERS}?tab=locks`, inSight(".locks, .blank")], [`#/jvm/${ORDERS}?tab=changes`, inSight(".change-table, .blank")], ["#/captures", inSight(".captures .jvm-link")],
            ["#/compare", inSight(".blank .tool")], ["#/health", inSight(".card dd")]];
        const seen = {};

        await Promise.all(looks.map(async ([width, height]) => {
            const page = await open("", { viewport: { width, height } });
            let late = 0; // ms that signals take

            await page.addInitScript(() => {
                window.shifts = [];
                window.shiftObserver = new PerformanceObserver((list) => { window.shifts.push(...list.getEntries()); });
                window.shiftObserver.observe({ type: "layout-shift", buffered: true });
            });
            await page.route(/signals\?pid/, async (route) => {
                await new Promise((go) => setTimeout(go, late));
                await route.continue().catch(() => {});
            });
            for (const [hash, shown] of views) {
                const isTab = hash.includes("tab=");

                late = isTab ? 3000 : 0;
                if (isTab) {
                    await page.evaluate((to) => { window.shifts = []; location.hash = to; }, hash);
                } else {
                    await page.goto("about:blank");
                    await page.goto(server.url + hash);
                }
                await shown(page);
                if (isTab)
                    await page.locator(".signal-line .signal.severe").waitFor();
                await page.evaluate(() => { document.dispatchEvent(new Event("visibilitychange")); }); // all that renews itself does so now
                await page.waitForTimeout(isTab ? 500 : 3000);
                seen[`${hash} ${width}`] = await page.evaluate(() => [...window.shifts, ...window.shiftObserver.takeRecords()]
                    .map((e) => [e.value, ...e.sources.map(({ node }) => (node && node.className) || String(node))]));
                if (/^#.jvm.*cpu/.test(hash))
                    seen[`${hash} ${width} graph`] = await page.locator(".graph").evaluate((graph) => graph.clientHeight >= 0.45 * innerHeight ? [] : [graph.clientHeight]);
            }
            await page.unrouteAll({ behavior: "ignoreErrors" });
            await close(page);
        }));
        assert.deepEqual(Object.entries(seen).filter(([, list]) => list.length), []);
    });

    nodeTest("by touch on a phone, in four taps: from the list to what a pool waits for, and the stack of it", async ({ server, open }) => {
        const iso = (ago) => new Date(Date.now() - ago).toISOString();

        server.addSignal({ signal: "pool-exhausted", severity: 3, ago: 100, sentence: "3 of 3 threads of payment-* wait for the same", evidence: `/profile?pid=${ORDERS}&event=cpu&from=${iso(60000)}&to=${iso(0)}` });
        const page = await open("", { viewport: { width: 390, height: 844 }, hasTouch: true });

        await page.getByRole("link", { name: "Application" }).tap();
        await page.locator(".signal-line .signal-link").tap();
        await graphShown(page);
        await page.waitForURL(/from=/);
        const box = await page.locator(".graph").boundingBox();

        await page.touchscreen.tap(box.x + 40, box.y + 9 + 2 * 18); // on a phone the root is on top
        await page.locator(".status-name", { hasText: /Thread\.run|VM frames|runWorker/ }).waitFor();
        await page.locator(".status .tool", { hasText: "…" }).tap();
        await page.getByRole("menuitem", { name: "Callers and callees" }).waitFor();
        await close(page);
    });

    nodeTest("by keys alone, in five: from the list to a capture of what stays, for a heap that grows", async ({ server, open }) => {
        server.addSignal({ signal: "heap-growing", severity: 2, ago: 100, sentence: "after collections 13 MiB more are in use each minute", evidence: `/profile?pid=${ORDERS}&event=live&seconds=30` });
        const page = await open();

        await page.locator(".jvms .signal").first().waitFor();
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await page.locator(".signal-line .signal-link").waitFor();
        await page.keyboard.press("g"); // what shows the worst signal
        await page.waitForFunction(() => document.activeElement.closest(".capture-form"));
        assert.ok(await page.getByLabel("What stays: is it a leak?").isChecked());
        await page.keyboard.press("Enter");
        await page.locator(".progress-text", { hasText: "samples" }).waitFor();
        assert.equal(await page.evaluate(() => document.activeElement.textContent), "Stop");
        await page.keyboard.press("Enter");
        await page.waitForURL(/#\/capture\//);
        await close(page);
    });

    nodeTest("between a phone and a desk, too: the name, the sentence, who has the lock and the list's sentences have room", async ({ server, open }) => {
        server.addSignal({ signal: "lock-contention", severity: 3, ago: 100, sentence: "6.0 of the 7.0 threads that were busy in the last 30 s waited for a lock of class PriceTable; its holders vary, and most often (71 %) slept in PriceTable.load",
            evidence: `/profile?pid=${ORDERS}&event=lock&idle=0&from=-60s&to=now` });
        for (const width of [1000, 800, 660]) {
            const page = await open("", { viewport: { width, height: 1000 } }), widthOf = (selector) => page.locator(selector).first().evaluate((node) => node.clientWidth);

            await page.locator(".jvms .signal").first().waitFor();
            assert.ok(await widthOf(".jvms td.col-signals") >= 0.32 * width, `the list's sentences at ${width}`);
            await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?tab=locks`);
            await page.locator(".locks td").first().waitFor();
            await page.locator(".signal-line .signal-link").waitFor();
            assert.ok(await widthOf(".signal-line .signal-words") >= 0.6 * width, `the sentence at ${width}`);
            const cut = await page.evaluate(() => [".crumbs > :last-child", ".scroll:has(.locks)"].filter((selector) => {
                const node = document.querySelector(selector);

                return node.scrollWidth > node.clientWidth + 1;
            }));

            assert.deepEqual(cut, [], `at ${width}`);
            await close(page);
        }
    });

    nodeTest("a view that is slow to come says so: a service, a capture, the form of one on a phone, and nothing shifts", async ({ server, open }) => {
        const capture = server.addCapture({ ago: 50000 });
        const slow = [["#/service/Application", /services$/, graphShown], [`#/capture/${capture.id}`, /captures\/[^/]+$/, graphShown],
            [`#/jvm/${ORDERS}?start=live`, /signals\?pid/, (page) => page.locator(".question").first().waitFor()]];

        for (const [hash, asked, shown] of slow) {
            const page = await open(hash.startsWith("#/capture/") ? "#/captures" : "", { viewport: { width: 390, height: 844 } });
            let go;
            const held = new Promise((done) => { go = done; });
            const loading = () => page.evaluate(() => {
                const { content, visibility, animationDuration, position } = getComputedStyle(document.querySelector("main > .view"), "::after");

                return [content, visibility, animationDuration, position].join();
            });
            const seen = async (text) => {
                for (const end = Date.now() + 20000; await loading() !== text && Date.now() < end;)
                    await page.waitForTimeout(20);
                assert.equal(await loading(), text, hash);
            };

            await page.locator("main a").first().waitFor();
            await page.route(asked, async (route) => {
                await held;
                await route.continue();
            });
            await page.evaluate((to) => {
                window.shifts = [];
                new PerformanceObserver((list) => { window.shifts.push(...list.getEntries()); }).observe({ type: "layout-shift" });
                location.hash = to;
            }, hash);
            await seen('"Loading …",visible,0.3s,fixed'); // hidden for 0.3 s
            go();
            await shown(page);
            assert.equal((await loading()).split(",")[0], "none", hash);
            assert.deepEqual(await page.evaluate(() => window.shifts.map((e) => e.sources.map(({ node }) => (node && node.className) || String(node)).join())), [], hash);
            await page.unrouteAll({ behavior: "ignoreErrors" });
            await close(page);
        }
    });

    nodeTest("health counts cut stacks without looks that took none, and gives no share of what they are no part of", async ({ open }) => {
        const page = await open("#/health"), cut = page.locator("dt:has-text('With a cut stack') + dd");

        await cut.waitFor();
        assert.equal(await cut.textContent(), "402");
        await close(page);
    });

    nodeTest("health says what is limited, and what to do, in sentences", async ({ server, open }) => {
        server.problems.push({ what: "recorder", fatal: false, detail: "its memory suffices for 5 of 12 minutes", remedy: "raise recorder_bytes" });
        const page = await open("#/health");

        await page.locator(".card li", { hasText: "recorder: its memory suffices for 5 of 12 minutes. Raise recorder_bytes" }).waitFor();
        await close(page);
    });

    nodeTest("health lists schedules and triggers: what they take, and an error only until they have worked since", async ({ server, open }) => {
        const iso = (ago) => new Date(Date.now() - ago * 1000).toISOString().replace("Z", "000000Z");
        const one = { event: "cpu", hz: 99, for_seconds: 30, keep_seconds: null, last_capture: null, last_state: null, runs: 3, missed: 0, unmatched: 0 };

        server.schedules.push({ ...one, name: "checkout", match: 'namespace="prod"', every_seconds: 600, phase_seconds: 0, next_run: iso(-60), last_run: iso(540), last_error: "no room", last_error_time: iso(5000) },
            { ...one, name: "all", match: "", every_seconds: 3600, phase_seconds: 0, next_run: iso(-600), last_run: iso(9000), last_error: "no room", last_error_time: iso(5000), missed: 2 });
        server.triggers.push({ ...one, name: "hot", match: "", on: "cpu > 0.9", cooldown_seconds: 600, last_run: null, last_error: null, last_error_time: null });
        const page = await open("#/health"), rows = page.locator(".card-schedules tbody tr");

        await rows.first().waitFor();
        assert.deepEqual((await rows.locator("td:nth-child(2)").allTextContents()).map((text) => text.replaceAll("\u00a0", " ")),
            ['cpu · 30 s every 10 min · namespace="prod"', "cpu · 30 s every 1 h · whole node", "cpu · 30 s when cpu > 0.9 · whole node"]);
        assert.deepEqual(await rows.locator("td:last-child").evaluateAll((list) => list.map((cell) => cell.classList.contains("bad"))), [false, true, false]);
        await close(page);
    });

    nodeTest("help begins with questions, at its beginning", async ({ open }) => {
        const page = await open();

        await page.keyboard.press("?");
        const help = page.getByRole("dialog");

        assert.match(await help.locator("h2").first().textContent(), /What to ask/);
        assert.equal(await help.evaluate((dialog) => dialog.scrollTop), 0);
        assert.ok(await help.locator("dd").count() > 20);
        assert.match(await textOf(page, ".crumbs"), /^flamed 127/);
        await close(page);
    });

    nodeTest("one method, one box, however it was compiled; its split in the line below, and by tier on wish", async ({ server, open }) => {
        server.profile = (options) => {
            const profile = makeProfile(options), at = profile.frames.findIndex(({ name }) => name.endsWith("OrderController.list"));

            profile.frames.push({ ...profile.frames[at], kind: "interpreted" });
            profile.stacks.forEach((stack, i) => {
                if (i % 3 === 0)
                    stack.frames = stack.frames.map((f) => (f === at ? profile.frames.length - 1 : f));
            });
            return profile;
        };
        const page = await open(`#/jvm/${ORDERS}`), boxes = () => page.locator(".graph").first().evaluate((node) => {
            const { tree } = node.flameGraph;

            return Array.from({ length: tree.count }, (_, i) => i).filter((i) => i > 0 && tree.profile.groups[tree.group[i]].name.endsWith("OrderController.list")).length;
        });

        await graphShown(page);
        assert.equal(await boxes(), 1);
        await page.locator(".methods tr", { hasText: "OrderController.list" }).click();
        await page.locator(".status", { hasText: /Java compiled \d+\.\d.%, Interpreted \d+\.\d.%/ }).waitFor();
        await page.locator(".graph").first().focus();
        await page.keyboard.press("k");
        for (const end = Date.now() + 10000; await boxes() < 2 && Date.now() < end;)
            await page.waitForTimeout(50);
        assert.ok(await boxes() > 1);
        await page.keyboard.press("k");
        for (const end = Date.now() + 10000; await boxes() > 1 && Date.now() < end;)
            await page.waitForTimeout(50);
        assert.equal(await boxes(), 1);
        await close(page);
    });

    nodeTest("one colour has one meaning in all legends of a view, light and dark", async ({ open }) => {
        for (const colorScheme of ["light", "dark"]) {
            const page = await open(`#/jvm/${ORDERS}`, { colorScheme });

            await graphShown(page);
            await page.locator(".timeline .legend li").first().waitFor();
            const entries = await page.evaluate(() => [...document.querySelectorAll(".legend li:has(.chip:not(.stop))")].map((one) => [one.firstChild.nextSibling.textContent.trim(),
                getComputedStyle(one.querySelector(".chip")).background])); // in one step: legends are drawn anew
            const meanings = new Map();

            assert.ok(entries.length >= 10, JSON.stringify(entries));
            for (const [label, colour] of entries)
                meanings.set(colour, [...meanings.get(colour) || [], label]);
            for (const labels of meanings.values()) // "Java" is "Java compiled", where it is not told how
                assert.ok(labels.every((one) => labels.every((other) => one.startsWith(other) || other.startsWith(one))), labels.join(" and "));
            await close(page);
        }
    });
});
