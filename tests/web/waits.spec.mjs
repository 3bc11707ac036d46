// SPDX-License-Identifier: Apache-2.0
// Locks, waits and threads, each from where a person begins to its answer, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { addressOf, close, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, drawnAfter, graphShown, nodeTest } from "./node_test.mjs";

describe("waits", { concurrency: 4 }, () => {
    nodeTest("locks: from the sentence to who has the lock, and to the stacks that wait for it, without a capture", async ({ server, open }) => {
        const to = Date.now(), iso = (ms) => new Date(ms).toISOString();

        server.addSignal({ signal: "lock-contention", severity: 3, sentence: "6 of 8 threads waited for a lock of class com.acme.shop.PriceTable",
            evidence: `/profile?pid=${ORDERS}&event=lock&from=${iso(to - 60000)}&to=${iso(to)}` });
        const page = await open(`#/jvm/${ORDERS}`);

        await page.locator(".signal-line a", { hasText: "Which locks, and who has them" }).click();
        await page.locator(".locks tbody tr").first().waitFor();
        assert.match((await page.locator(".locks tbody tr").first().textContent()).replaceAll("\u00a0", " "), /^com\.acme\.shop\.PriceTablesynchronized.*http-worker-1 \d/);
        assert.ok(await page.locator(".owners li").count() > 0); // of the worst, without a press, and at once: no row moves
        assert.match((await page.locator(".owners").textContent()).replaceAll("\u00a0", " "), /most likely had it.*%running.*PriceTable\.lookup/);
        await server.asked(/GET \/profile\?.*event=wall&idle=0&format=json&threads=1/);
        await page.getByRole("button", { name: "What they did" }).click();
        assert.equal(await page.locator(".owners").count(), 0);
        await page.getByRole("button", { name: "com.acme.shop.PriceTable" }).click();
        await graphShown(page);
        assert.equal(await page.getByLabel("What the flame graph shows").inputValue(), "lock");
        await page.locator(".status-name", { hasText: "com.acme.shop.PriceTable" }).waitFor();
        await page.getByLabel("What the flame graph shows").selectOption("offcpu");
        await page.waitForURL(/event=offcpu/);
        await server.asked(/GET \/profile\?.*from=.*event=offcpu/);
        assert.ok(!server.requests.some((r) => r.startsWith("POST")));
        await close(page);
    });

    nodeTest("waits and allocations are drawn by their time and bytes, whatever was looked at before", async ({ server, open }) => {
        server.recordsAllocations = true;
        const page = await open(`#/jvm/${ORDERS}`), shown = page.getByLabel("What the flame graph shows");
        const byValue = page.getByRole("menuitemcheckbox", { name: "Widths by value, not by samples" });
        const chosen = async (event) => {
            await Promise.all([page.waitForResponse((r) => r.url().includes(`event=${event}`) && r.url().includes("format=json")), shown.selectOption(event)]);
            await drawnAfter(page);
        };
        const isByValue = async () => {
            await page.getByRole("button", { name: "View", exact: true }).click();
            const is = await byValue.getAttribute("aria-checked");

            await page.keyboard.press("Escape");
            return is;
        };

        await graphShown(page);
        for (const event of ["offcpu", "alloc", "wall"]) {
            await chosen(event);
            assert.equal(await isByValue(), "true", event);
            assert.doesNotMatch(await addressOf(page), /[?&]w=/, event);
        }
        await page.keyboard.press("v"); // a person's choice stays
        await page.waitForURL(/[?&]w=samples/);
        await chosen("offcpu");
        assert.equal(await isByValue(), "false");
        await close(page);
    });

    nodeTest("of locks, what has the time is the class of the lock, and no leaf below it", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}?event=lock&t=1`), rows = page.locator(".table-pane tbody tr");

        await graphShown(page);
        await rows.first().waitFor();
        assert.match((await rows.first().textContent()).replaceAll("\u00a0", " "), /PriceTable.*100\.0 %|100\.0 %.*PriceTable/);
        assert.equal(await rows.filter({ hasText: "[lock]" }).count(), 0);
        await close(page);
    });

    nodeTest("allocations that the flight recorder has are a choice, also by an address", async ({ server, open }) => {
        const without = await open(`#/jvm/${ORDERS}`);

        await graphShown(without);
        assert.ok(!(await without.getByLabel("What the flame graph shows").locator("option").allTextContents()).includes("Allocation"));
        await close(without);
        server.recordsAllocations = true;
        const page = await open(`#/jvm/${ORDERS}`);

        await page.getByLabel("What the flame graph shows").selectOption("alloc");
        await page.waitForURL(/event=alloc/);
        await server.asked(/GET \/profile\?.*from=.*event=alloc/);
        await page.reload();
        await graphShown(page);
        assert.equal(await page.getByLabel("What the flame graph shows").inputValue(), "alloc");
        await close(page);
    });

    nodeTest("waits: how many samples are of idle threads; of a whole node, how many JVMs were stopped", async ({ server, open }) => {
        server.profile = (options) => {
            const profile = makeProfile(options);

            profile.stacks.at(-1).idle = options.event === "offcpu";
            return profile;
        };
        const page = await open(`#/jvm/${ORDERS}?event=offcpu`), facts = page.locator(".panel .facts");

        await graphShown(page);
        assert.match((await facts.textContent()).replaceAll("\u00a0", " "), /[\d,]+ samples, 52 idle/);
        await page.evaluate(() => { location.hash = "#/jvm/node"; });
        const paused = page.locator(".timeline .legend li", { hasText: "Paused" });

        await page.locator(".crumbs", { hasText: "Whole node" }).waitFor();
        await paused.waitFor();
        assert.match((await paused.textContent()).replaceAll("\u00a0", " "), /^Paused 1 JVM$/);
        assert.match((await paused.getAttribute("title")).replaceAll("\u00a0", " "), /; [\d.]+ % of the time of 1 JVM$/);
        await close(page);
    });

    nodeTest("locks by keyboard alone: from the list to what the owners did, and nothing is lost while it renews itself", async ({ server, open }) => {
        const to = Date.now(), iso = (ms) => new Date(ms).toISOString(), lock = "com.acme.shop.PriceTable";

        server.addSignal({ signal: "lock-contention", severity: 3, sentence: `6 of 8 threads waited for a lock of class ${lock}`,
            evidence: `/profile?pid=${ORDERS}&event=lock&from=${iso(to - 60000)}&to=${iso(to)}` });
        const page = await open(), focused = () => page.evaluate(() => document.activeElement.textContent);
        const renewed = async (times) => {
            const before = await page.locator(".locks caption").textContent();

            server.lockTimes = times;
            await page.waitForFunction((text) => document.querySelector(".locks caption").textContent !== text, before);
        };

        await page.locator(".jvms .jvm-link").first().waitFor();
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await page.locator(".signal-line .signal-link").waitFor();
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?tab=locks`); // of now: it renews itself
        await page.locator(".locks tbody tr").first().waitFor();
        for (let i = 0; i < 80 && await focused() !== "What they did"; i++)
            await page.keyboard.press("Tab");
        await renewed(1.1);
        assert.equal(await focused(), "What they did");
        assert.ok(await page.locator(".owners li").count() > 0);
        await page.keyboard.press("Enter");
        await renewed(1.15);
        assert.equal(await page.locator(".owners").count(), 0); // it stays closed
        await page.keyboard.press("Enter");
        await page.locator(".owners li").first().waitFor();
        server.requests = [];
        await renewed(1.2);
        await server.asked(/GET \/profile\?.*event=wall/); // what stands there is of the time of the row
        assert.equal(await focused(), "What they did");
        assert.ok(await page.locator(".owners li").count() > 0);
        await page.keyboard.press("Shift+Tab");
        assert.equal(await focused(), lock);
        await renewed(1.3);
        await page.keyboard.press("Enter");
        await graphShown(page);
        assert.equal(await page.getByLabel("What the flame graph shows").inputValue(), "lock");
        await close(page);
    });

    nodeTest("a JVM whose threads all wait: the first view says so, now and in a range, and one press shows what they wait for", async ({ server, open }) => {
        server.waiting = ORDERS;
        const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ }), waits = page.getByRole("button", { name: "What its threads wait for" });

        await page.getByText("It used next to no CPU in this time.").waitFor();
        assert.equal(await page.getByText("/api/v1").count(), 0);
        await waits.click();
        await graphShown(page);
        await server.asked(/GET \/profile\?pid=4242&from=.*event=offcpu/);
        const { from, to } = server.range(new URLSearchParams());

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`);
        await page.getByText("It used next to no CPU in this time.").waitFor(); // it is recorded, so nothing is lost
        await waits.click();
        await graphShown(page);
        await close(page);
    });

    nodeTest("a JVM that did nearly nothing: its buttons stay when a few samples come, which one press shows", async ({ server, open }) => {
        server.waiting = ORDERS;
        const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ }), idle = page.getByText("It used next to no CPU in this time.");

        await idle.waitFor();
        server.profile = (options) => makeProfile({ ...options, seconds: options.seconds / 60 }); // some 10 samples a minute
        server.waiting = 0;
        await page.locator(".idle-more button").waitFor();
        assert.match((await textOf(page, ".idle-more")).replaceAll("\u00a0", " "), /^The graph of \d+ samples$/);
        assert.ok(await idle.isVisible());
        await page.getByRole("button", { name: "What its threads wait for" }).hover();
        server.profile = (options) => makeProfile(options);
        await page.locator(".idle-more button", { hasText: /of [\d,]{3,}\s/ }).waitFor(); // many; and still nothing moves under the mouse
        assert.ok(await idle.isVisible());
        await page.locator(".idle-more button").click();
        await graphShown(page);
        server.waiting = ORDERS;
        await page.evaluate(() => { location.hash = "#/jvm/4311"; });
        await graphShown(page);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        await idle.waitFor();
        await page.mouse.move(5, 5);
        server.waiting = 0;
        await graphShown(page); // it works again
        await close(page);
    });

    nodeTest("a JVM whose worst signal is about waits opens on them, and says so; a link that names a view does not", async ({ server, open }) => {
        server.waiting = ORDERS;
        server.addSignal({ signal: "gc-pauses", severity: 1, sentence: "5 % went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        server.addSignal({ signal: "pool-exhausted", severity: 3, sentence: "all threads of a pool wait", evidence: `/profile?pid=${ORDERS}&event=offcpu&idle=0&from=-60s&to=now` });
        const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ }), note = page.getByText("Opened on what its threads wait for"), shown = page.getByLabel("What the flame graph shows");

        await graphShown(page);
        assert.equal(await shown.inputValue(), "offcpu");
        assert.match(await textOf(page, ".signal-line"), /^pool-exhausted.*Opened on what its threads wait for$/);
        await page.waitForURL(/4242\?event=offcpu$/);
        await shown.selectOption("cpu");
        await page.getByText("It used next to no CPU in this time.").waitFor();
        assert.equal(await note.count(), 0);
        await page.waitForURL(/4242\?event=cpu$/); // a link shows the same
        await page.reload();
        await page.getByText("It used next to no CPU in this time.").waitFor();
        for (const [hash, sign] of [["?tab=threads", ".threads .name"], ["?event=wall", ".panel .facts span"]]) {
            await page.evaluate((to) => { location.hash = to; }, `#/jvm/${ORDERS}${hash}`);
            await page.locator(sign).first().waitFor();
            await page.locator(".signal-line .signal.severe").waitFor();
            assert.equal(await note.count(), 0, hash);
            assert.ok((await addressOf(page)).endsWith(hash));
        }
        server.signals[1].severity = 0; // the worst is another one now
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        await page.getByText("It used next to no CPU in this time.").waitFor();
        assert.equal(await note.count(), 0);
        await close(page);
    });

    nodeTest("threads: by pool with their states, a track each, the flame chart of one, a range of it as a graph", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}?tab=threads`);
        const names = () => page.locator(".threads .name").allTextContents();

        await page.locator(".threads .name").first().waitFor();
        assert.deepEqual(await names(), ["▸ http-worker-* × 3", "C2 CompilerThread0", "G1 Young RemSet Sampling"]);
        await server.asked(/GET \/profile\?pid=4242&.*event=wall&idle=0.*format=heatmap/);
        assert.match(await page.locator(".state-bar").first().getAttribute("aria-label"), /^Java inlined \d+\.\d.%, JVM stubs /);
        const drawn = () => page.locator(".track").first().evaluate((canvas) => new Set(canvas.getContext("2d").getImageData(0, canvas.height - 1, canvas.width, 1).data).size);

        assert.ok(await drawn() > 3);
        // Threads that seldom did something have a track that can be read: its scale stands beside it, in round numbers.
        const highest = () => page.locator(".track").first().evaluate((canvas) => {
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });

            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);

            return 1 - Math.floor(data.findIndex((part, i) => i % 4 === 3 && part > 0) / 4 / canvas.width) / canvas.height;
        });

        for (const [event, unit] of [["cpu", "CPUs"], ["wall", "threads"]]) {
            await page.getByLabel("What of the threads").selectOption(event);
            await page.locator(".track-times b", { hasText: `${unit} at full height` }).waitFor();
            assert.match(await page.locator(".track-top").first().textContent(), /^(0\.25|0\.5|1|2|3)$/);
            assert.ok(await highest() >= 0.35, `${event}: ${await highest()}`);
        }
        await page.getByRole("button", { name: "http-worker-" }).click();
        assert.deepEqual((await names()).slice(0, 2), ["▾ http-worker-* × 3", "http-worker-3"]);
        assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
        await page.getByRole("button", { name: "http-worker-2" }).click();
        await page.locator(".flame-chart h3", { hasText: "http-worker-2" }).waitFor();
        const box = await page.locator(".track").nth(1).boundingBox();

        await page.mouse.move(box.x + box.width * 0.2, box.y + 8);
        await page.mouse.down(); // becomes a scroll, as a touch may
        await page.locator(".track").nth(1).dispatchEvent("pointercancel");
        await page.mouse.move(box.x + box.width * 0.8, box.y + 8, { steps: 2 });
        await page.mouse.up();
        assert.ok(await page.getByRole("button", { name: "Whole time" }).isDisabled());
        await page.mouse.move(box.x + box.width * 0.5, box.y + 8);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.52, box.y + 8, { steps: 2 });
        await page.mouse.up();
        const chart = await page.locator(".flame-canvas").boundingBox(), said = [];

        for (let x = chart.x + 5; x < chart.x + chart.width; x += 12) {
            await page.mouse.move(x, chart.y + 24);
            said.push(await textOf(page, ".flame-status"));
        }
        assert.ok(said.some((text) => /Thread\.run · .*ms from \d+\.\d+ s$/.test(text)), said.join("\n"));
        await page.locator(".thread-chart .scroll").press("Escape");
        assert.ok(await page.getByRole("button", { name: "Whole time" }).isDisabled());
        await page.locator(".thread-chart .scroll").press("+");
        await page.getByRole("button", { name: "Flame graph of this time" }).click();
        await page.waitForURL(/from=.*to=/);
        await graphShown(page);
        const capture = server.addCapture({ ago: 60000 });

        await page.evaluate((id) => { location.hash = `#/capture/${id}?threads=1`; }, capture.id);
        await page.locator(".threads .name").first().waitFor();
        assert.equal(await page.getByRole("button", { name: "Threads", exact: true }).getAttribute("aria-pressed"), "true");
        await close(page);
    });

    nodeTest("the flame chart of a thread has the colours of the flame graph", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}`);
        const colours = (selector) => page.locator(selector).evaluate((canvas) => { // how many pixels have each
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true }), found = {};

            copy.drawImage(canvas, 0, 0);
            for (const pixel of new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer))
                found[pixel] = (found[pixel] || 0) + 1;
            return found;
        });

        await graphShown(page);
        const ofGraph = await colours(".graph-canvas");

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?tab=threads`);
        await page.getByRole("button", { name: "http-worker-" }).click();
        await page.getByRole("button", { name: "http-worker-2" }).click();
        await page.locator(".flame-chart h3", { hasText: "http-worker-2" }).waitFor();
        const many = Object.entries(await colours(".flame-canvas")).filter(([, count]) => count > 100);

        assert.ok(many.length > 1);
        assert.deepEqual(many.filter(([pixel]) => !ofGraph[pixel]), []);
        await close(page);
    });

    nodeTest("threads: where only those of the VM were busy, idle ones are shown by themselves, until a person says not to", async ({ server, open }) => {
        server.profile = (options) => {
            const profile = makeProfile(options), isWorker = ({ frames: [thread] }) => profile.frames[thread].name.startsWith("[http-worker");

            return /idle=0/.test(server.requests.at(-1)) ? { ...profile, stacks: profile.stacks.filter((stack) => !isWorker(stack)) } : profile;
        };
        const page = await open(`#/jvm/${ORDERS}?tab=threads`), idle = page.getByLabel("Idle threads"), note = page.locator(".thread-chart .live-note");

        await page.locator(".threads .name", { hasText: "http-worker-* × 3" }).waitFor();
        assert.ok(await idle.isChecked());
        assert.match(await note.textContent(), /only threads of the VM were busy: idle ones are shown, too$/);
        const { profile } = server;

        server.profile = (options) => makeProfile(options); // they work again
        await page.getByRole("button", { name: "Again" }).click();
        await note.filter({ hasNotText: "idle" }).filter({ hasText: "threads" }).waitFor();
        assert.ok(!await idle.isChecked());
        server.profile = profile;
        await page.getByRole("button", { name: "Again" }).click();
        await note.filter({ hasText: "only threads of the VM were busy" }).waitFor();
        await page.getByLabel("What of the threads").selectOption("cpu"); // idle threads use none
        await note.filter({ hasNotText: "idle" }).filter({ hasText: "threads" }).waitFor();
        assert.ok(!await idle.isChecked());
        await page.getByLabel("What of the threads").selectOption("wall");
        await note.filter({ hasText: "only threads of the VM were busy" }).waitFor();
        await idle.uncheck();
        await page.locator(".threads .name", { hasText: "http-worker" }).waitFor({ state: "detached" });
        assert.ok(!await idle.isChecked());
        assert.doesNotMatch(await note.textContent(), /idle/);
        await close(page);
    });

    nodeTest("a range that is cleared is cleared where it is shown: threads and changes are of now then", async ({ server, open }) => {
        const iso = (ago) => new Date(Date.now() - ago).toISOString(), range = `from=${iso(90000)}&to=${iso(30000)}`;
        const page = await open(`#/jvm/${ORDERS}?tab=threads&${range}`), plot = page.locator(".timeline-plot");

        await page.locator(".timeline .legend .span", { hasText: "the chosen" }).waitFor();
        await page.locator(".threads .name").first().waitFor();
        await plot.press("Delete");
        await page.waitForURL((url) => /tab=threads/.test(url.hash) && !/from=/.test(url.hash));
        for (const end = Date.now() + 10000; new URL(server.requests.findLast((one) => /format=heatmap/.test(one)).slice(4), "http://x").searchParams.has("to") && Date.now() < end;)
            await page.waitForTimeout(50);
        assert.equal((await server.asked(/format=heatmap/)).get("to"), null);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?tab=changes&${range}`);
        const select = page.getByLabel("What is compared");

        await select.locator("option", { hasText: "against as much before" }).first().waitFor({ state: "attached" });
        await page.locator(".timeline .legend .span", { hasText: "the chosen" }).waitFor();
        await select.selectOption("range");
        await plot.press("Delete");
        await select.locator("option[value=range]").waitFor({ state: "detached" });
        await Promise.all([page.waitForRequest(/api\/v1\/changes/), page.getByRole("button", { name: "Again" }).click()]);
        await page.locator(".change-table td").first().waitFor();
        await close(page);
    });

    nodeTest("owners of locks: one question for all that are opened, and an answer of before does not come over a newer one", async ({ server, open }) => {
        const locks = ["com.acme.shop.PriceTable", "com.acme.shop.Stock"];

        server.lockClasses = locks;
        const page = await open(`#/jvm/${ORDERS}?tab=locks`), openers = page.getByRole("button", { name: "What they did" });
        const wall = /GET \/profile\?.*event=wall/, count = () => server.requests.filter((one) => wall.test(one)).length;
        const renewed = async (times) => {
            const before = await page.locator(".locks caption").textContent();

            server.lockTimes = times;
            await page.waitForFunction((text) => document.querySelector(".locks caption").textContent !== text, before);
        };

        await openers.nth(1).waitFor();
        for (const opener of await openers.all())
            if (await opener.getAttribute("aria-expanded") === "false")
                await opener.click();
        await page.locator(".owners ol").nth(1).waitFor();
        const first = await page.locator(".owners p").first().textContent(), asked = count();

        let release, isHeld = false;
        const held = new Promise((done) => { release = done; });

        await page.route(/event=wall/, async (route) => {
            if (isHeld)
                return route.continue();
            isHeld = true;
            await held;
            return route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(makeProfile({ event: "wall", seconds: 1 })) }).catch(() => {}); // it was left
        });
        await renewed(1.3);
        await page.waitForTimeout(300); // nothing else is asked
        server.profile = (options) => makeProfile({ ...options, seconds: options.seconds / 2 });
        await renewed(1.6);
        await page.waitForFunction((text) => document.querySelector(".owners p").textContent !== text, first);
        const newest = await page.locator(".owners p").allTextContents();

        assert.equal(count() - asked, 1); // besides the one that is held
        release();
        await drawnAfter(page);
        assert.deepEqual(await page.locator(".owners p").allTextContents(), newest);
        await close(page);
    });

    nodeTest("idle threads stay out of the heat map and of a comparison, as they are out of the graph", async ({ server, open }) => {
        server.profile = (options) => {
            const profile = makeProfile(options);

            profile.stacks.forEach((stack) => { stack.idle = options.event !== "cpu" && profile.frames[stack.frames.at(-1)].name === "java.util.HashMap.getNode"; });
            return profile;
        };
        const [a, b] = [{ ago: 90000, shape: 0.4 }, { ago: 30000 }].map((one) => server.addCapture({ ...one, event: "wall" }));
        const page = await open(`#/jvm/${ORDERS}?event=wall`), root = page.locator(".legend li", { hasText: "Java inlined" }).locator(".num");
        const share = async () => (await root.first().textContent()).trim();

        await graphShown(page);
        const without = await share();

        await page.keyboard.press("e");
        await page.locator(".heat-box").waitFor();
        assert.equal((await server.asked(/\/profile\?.*format=heatmap/)).get("idle"), "0");
        await drawnAfter(page);
        assert.equal(await share(), without);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?event=wall&id=1`);
        await page.locator(".heat-box").waitFor({ state: "detached" });
        await graphShown(page);
        server.requests = [];
        await page.keyboard.press("e"); // of one who asked for them
        await page.locator(".heat-box").waitFor();
        assert.equal((await server.asked(/\/profile\?.*format=heatmap/)).get("idle"), null);
        await page.evaluate((hash) => { location.hash = hash; }, `#/compare?a=${a.id}&b=${b.id}`);
        await page.locator(".change-list p").first().waitFor();
        assert.equal(await page.locator(".change-list li", { hasText: "HashMap.getNode" }).count(), 0); // it differs, and is idle
        assert.match(await textOf(page, ".change-list p >> nth=0"), /Threads that wait for work are left out\./);
        await close(page);
    });
});
