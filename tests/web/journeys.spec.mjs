// SPDX-License-Identifier: Apache-2.0
// Questions that people bring to the page, each from where they begin to its answer, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { addressOf, close, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, graphShown, mains, nodeTest } from "./node_test.mjs";

const NEEDED = { samples: 300, seconds: 45 }; // of each side of a comparison

describe("journeys", { concurrency: 4 }, () => {
    nodeTest("what is wrong: worst first in the list, a sentence and its evidence on the JVM, marks on the timeline", async ({ server, open }) => {
        server.addSignal({ signal: "run-queue", severity: 1, ago: 30, sentence: "threads waited 31 % of the time", evidence: "/profile?from=2026-11-26T00:00:00Z&to=2026-11-26T00:01:00Z" });
        server.addSignal({ signal: "gc-pauses", severity: 3, ago: 100, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        server.addSignal({ pid: 6550, signal: "safepoint-late", sentence: "mean time to stop 30 ms", evidence: "/profile?pid=6550&event=nativemem&seconds=10" });
        server.marks.push({ main: "com.acme.shop.Application", time: new Date(Date.now() - 60000).toISOString(), kind: "deploy", pid: ORDERS, text: "version 2" });
        const page = await open();
        const cell = page.locator("tr", { hasText: "Application" }).first().locator(".col-signals");

        await page.locator(".signal.severe").first().waitFor();
        assert.equal((await cell.textContent()).trim(), "gc-pauses run-queue 65 % of the last 30 s went to pauses");
        assert.match(await cell.getAttribute("title"), /^gc-pauses: 65 % of the last 30 s went to pauses\nrun-queue: /);
        assert.deepEqual((await mains(page)).slice(0, 2), ["Application", "GradleDaemon"]); // before busier ones
        await page.getByRole("link", { name: "Application" }).click();
        await page.locator(".signal-line .signal.severe").waitFor();
        assert.match(await textOf(page, ".signal-line"), /gc-pauses.*65 % of the last 30 s went to pauses\. See which code allocates \(Capture it …\)for 1[0-4][0-9].s.*Memory/);
        assert.match(await page.locator(".signal-line .signal-words a").getAttribute("href"), /^#\/jvm\/4242\?start=alloc$/);
        await page.getByRole("button", { name: "1 more" }).click();
        assert.match(await textOf(page, ".signal-list"), /run-queue.*What ran then/);
        await page.getByLabel("How much the timeline shows").selectOption("300");
        const plot = await page.locator(".timeline-plot").boundingBox(), notes = [];

        const has = (pattern) => notes.some((note) => pattern.test(note));

        for (const end = Date.now() + 20000; !(has(/deploy: version 2/) && has(/gc-pauses began/)) && Date.now() < end;)
            for (let x = plot.x + plot.width * 0.2; x < plot.x + plot.width; x += 6) { // marks come with an answer of their own
                await page.mouse.move(x, plot.y + 30);
                notes.push(await textOf(page, ".timeline-note"));
            }
        assert.ok(has(/deploy: version 2/) && has(/gc-pauses began/), notes.join("\n"));
        await page.keyboard.press("g");
        await page.locator(".memory td").first().waitFor();
        await page.evaluate(() => { location.hash = "#/jvm/6550"; });
        await page.locator(".signal-line .signal-link", { hasText: "Capture it" }).click();
        await page.waitForFunction(() => document.querySelector(".question input[value=nativemem]")?.checked);
        await page.evaluate(() => { location.hash = "#/jvm/6001"; });
        await page.getByText("No signal: nothing that flamed looks for is wrong.").waitFor();
        await close(page);
    });

    nodeTest("a signal that went off within the last hour stays in sight, above the timeline and in the list", async ({ server, open }) => {
        const fullWords = "99 % of the heap stays in use after collections";

        server.addPastSignal({ signal: "heap-growing", severity: 2, ago: 900, over: 700, sentence: "the heap grows", evidence: "/api/v1/jvms/4242/heap" });
        server.addPastSignal({ signal: "heap-full", severity: 3, ago: 850, over: 600, times: 2, sentence: fullWords, evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(), cell = page.locator(".jvms tr", { hasText: "heap-full" }).locator(".col-signals");

        await cell.waitFor();
        assert.match(await cell.textContent(), /^heap-full until \d\d:\d\d$/); // the worst
        assert.match(await cell.getAttribute("title"), /^heap-full: 99 %/);
        assert.equal(await page.locator(".jvms .ill").count(), 0);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        const line = page.locator(".signal-line");

        await line.locator(".signal-was").waitFor();
        assert.match((await line.innerText()).replace(/\s+/g, " "), /^No signal is on now\. heap-full until \d\d:\d\d \(10 min ago, 2 times since [^)]*\): 99 % of the heap/);
        assert.equal(await page.getByText("nothing that flamed looks for").count(), 0);
        assert.deepEqual(await line.locator(".signal-link").allTextContents(), ["Memory", "What ran then"]);
        await page.getByRole("button", { name: "1 more" }).click();
        await page.locator(".signal-list li", { hasText: /^heap-growing until/ }).waitFor();
        const then = new URLSearchParams((await page.locator(".signal-list .signal-link", { hasText: "What ran then" }).getAttribute("href")).split("?")[1]);

        const [began, over] = ["from", "to"].map((name) => (Date.now() - Date.parse(then.get(name))) / 1000);

        assert.ok(began >= 900 && over >= 700 && over < 760 && Math.abs(began - over - 200) < 1, `from ${began} to ${over} s ago`); // when it was on
        server.addSignal({ signal: "gc-pauses", severity: 1, sentence: "11 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        await page.locator(".signal-line", { hasText: /^gc-pauses/ }).waitFor();
        assert.equal(await page.locator(".signal-list li").count(), 2);
        await page.locator(".signal-list .signal-link").first().click();
        await page.locator(".memory td").first().waitFor();
        await close(page);
    });

    nodeTest("signals and words are renewed while a link in them has the focus, which stays while what it is about does", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 3, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(`#/jvm/${ORDERS}`), link = page.getByRole("link", { name: "Capture it" });

        const focused = () => page.evaluate(() => document.activeElement.className + document.activeElement.textContent);
        const askNow = () => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // all that repeats

        await link.focus();
        server.signals[0].sentence = "66 % of the last 30 s went to pauses";
        await askNow();
        await page.locator(".signal-words", { hasText: "66 %" }).waitFor();
        assert.match(await focused(), /Capture it/);
        server.signals = [];
        server.addSignal({ signal: "run-queue", severity: 3, sentence: "threads waited 31 % of the time", evidence: "/api/v1/jvms/4242/heap" });
        await askNow();
        await page.locator(".signal-line", { hasText: /^run-queue/ }).waitFor();
        assert.match(await focused(), /^signal-line/); // no link that was not read
        await page.locator(".signal-link").focus();
        server.signals = [];
        await askNow();
        await page.getByText("No signal: nothing that flamed looks for is wrong.").waitFor();
        await page.locator(".word-time").focus();
        const { words } = server;

        server.words = (response, params) => words.call({ ...server, send: (_, status, { samples, sentences }) => server.send(response, status, {
            samples, sentences: sentences.map((one) => ({ ...one, sentence: one.sentence.replace("86 %", "87 %") })) }) }, response, params);
        await askNow();
        await page.locator(".word-time", { hasText: "87 % java" }).waitFor({ timeout: 5000 });
        assert.match(await focused(), /^word-time/);
        await close(page);
    });

    nodeTest("JVMs go by the names of their services, and rows stay where they are under the mouse", async ({ server, open }) => {
        server.jvms[1].service = { name: "billing", version: "3", source: "property" };
        const page = await open();

        await page.getByRole("link", { name: "billing", exact: true }).waitFor();
        assert.match(await textOf(page, "tr:has(.jvm-link:text-is('billing')) .col-main"), /^billingBillingService$/);
        const before = await mains(page), tops = () => page.locator(".jvms tbody tr").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().top));
        const topsBefore = await tops();

        await page.locator(".jvms tbody tr").nth(3).hover();
        server.jvms.at(-1).cpu_percent = 1000;
        server.addSignal({ signal: "lock-contention", pid: server.jvms[1].pid, sentence: "6.3 of the 8.0 threads that were busy waited for a lock of class PriceTable; http-exec-8 holds it", evidence: "/api/v1/jvms/4242/heap" });
        await page.locator(".jvms .col-cpu", { hasText: "1000.0" }).waitFor();
        await page.locator(".jvms .col-signals", { hasText: "holds it" }).waitFor();
        assert.deepEqual(await mains(page), before);
        assert.deepEqual(await tops(), topsBefore); // none is higher than it was
        await page.mouse.move(5, 5);
        await page.locator(".jvms .ill .signal-cell", { hasText: "holds it" }).waitFor();
        server.signals = [];
        server.jvms[1].signals = [];
        await page.waitForFunction(() => document.querySelector(".jvms tbody .col-cpu").textContent.startsWith("1000"));
        await page.getByRole("link", { name: "billing", exact: true }).click();
        await page.locator(".crumbs", { hasText: "billing" }).waitFor();
        const { id } = server.addCapture({ pid: server.jvms[1].pid, ago: 60000, event: "alloc" });

        await page.evaluate(() => { location.hash = "#/captures"; });
        await page.locator(".captures td", { hasText: `billing (${server.jvms[1].pid})` }).waitFor();
        await page.evaluate((hash) => { location.hash = hash; }, `#/capture/${id}`);
        await page.locator(".crumbs a", { hasText: "billing" }).waitFor();
        await page.locator(".jvm-facts", { hasText: "Allocation" }).waitFor(); // as the list has it
        await close(page);
    });

    nodeTest("JVMs that are as ill as each other keep their order, whatever they do and however many signals they have", async ({ server, open }) => {
        for (const [pid, severity, signal] of [[4311, 3, "lock-contention"], [5120, 3, "cpu-limit"], [5120, 1, "gc-pauses"]])
            server.addSignal({ pid, severity, signal, sentence: `${signal} it is`, evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(), order = ["BillingService", "kafka.jar", "Application"];

        await page.locator(".jvms .signal.severe").first().waitFor();
        assert.deepEqual((await mains(page)).slice(0, 3), order);
        Object.assign(server.jvms[2], { cpu_percent: 900 });
        await page.locator(".jvms .col-cpu", { hasText: "900.0" }).waitFor();
        assert.deepEqual((await mains(page)).slice(0, 3), order);
        await page.reload();
        await page.locator(".jvms .signal.severe").first().waitFor();
        assert.deepEqual((await mains(page)).slice(0, 3), order);
        await close(page);
    });

    nodeTest("the sentence of a signal stands whole above the timeline, up to three lines, and what is below stays", async ({ server, open }) => {
        const sentence = "6.3 of the 8.0 threads that were busy waited for an answer over the network: payment-1, payment-2 and payment-3 read from 127.0.0.1:36111 in com.acme.shop.PaymentClient.charge";

        server.addSignal({ signal: "pool-exhausted", severity: 3, sentence, evidence: `/profile?pid=${ORDERS}&event=offcpu&idle=0&from=-60s&to=now` });
        for (const width of [1440, 1280]) {
            const page = await open(`#/jvm/${ORDERS}`, { viewport: { width, height: 800 } }), words = page.locator(".signal-line .signal-words");

            await graphShown(page);
            await page.getByText("Opened on what its threads wait for").waitFor();
            assert.ok(await words.evaluate((one) => one.scrollHeight <= one.clientHeight + 1 && one.scrollWidth <= one.clientWidth), `cut off at ${width}`);
            const top = () => page.locator(".timeline").evaluate((one) => one.getBoundingClientRect().top), before = await top();

            server.signals[0].sentence = "short";
            await page.locator(".signal-words", { hasText: /^short/ }).waitFor();
            assert.equal(await top(), before);
            server.signals[0].sentence = sentence;
            await close(page);
        }
    });

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
            server.lockTimes = times;
            await page.waitForFunction((text) => document.querySelector(".locks caption").textContent !== text, await page.locator(".locks caption").textContent());
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

    nodeTest("from a JVM to its service: nothing of the JVM stands under the name of the service, and nothing shifts", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`), waits = [];
        let isSlow = true; // services are

        await graphShown(page);
        await page.route(/service=Application/, async (route) => {
            if (isSlow)
                await new Promise((go) => waits.push(go));
            await route.continue();
        });
        await page.evaluate(() => {
            const old = document.querySelector(".view");

            window.mixed = [];
            window.shifts = [];
            new PerformanceObserver((list) => { window.shifts.push(...list.getEntries()); }).observe({ type: "layout-shift" });
            const look = () => {
                const isThere = old.isConnected, isOfService = location.hash.startsWith("#/service") && !document.querySelector(".jvm-facts").textContent.includes("PID");

                if (isThere && isOfService)
                    window.mixed.push(document.body.innerText.slice(0, 200));
                requestAnimationFrame(look);
            };

            look();
        });
        await page.locator(".jvm-facts").getByRole("link", { name: "Service" }).focus();
        for (let i = 0; i < 2; i++) // facts are renewed, the link stays
            await page.waitForResponse((answer) => answer.url().endsWith("/api/v1/jvms/4242"));
        await page.waitForTimeout(200);
        await page.keyboard.press("Enter");
        await page.locator(".jvm-facts", { hasText: /1.JVM/ }).waitFor();
        assert.equal(await page.locator(".panel").count(), 0); // nothing is drawn while nothing is known
        await page.getByText("Collecting samples …").waitFor({ state: "attached" });
        isSlow = false;
        waits.forEach((go) => go());
        await graphShown(page);
        await page.waitForTimeout(1000);
        assert.deepEqual(await page.evaluate(() => [window.mixed, window.shifts.map((e) => e.value)]), [[], []]);
        await close(page);
    });

    nodeTest("in words: what a JVM does, each sentence a link to what shows it", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`);

        await page.locator(".words-line a").first().waitFor();
        assert.match(await textOf(page, ".words-line"), /^Of the CPU time: 86 % java.*PriceTable\.lookup takes 52\.5 % in place of 38\.0 %\. 812 samples/);
        assert.ok(!/gc-pauses/.test(await textOf(page, ".words-line")));
        await page.getByRole("button", { name: "More", exact: true }).click();
        assert.ok(await page.locator(".words-line").evaluate((p) => p.scrollWidth <= p.clientWidth));
        await page.locator(".words-line .word-change").click();
        await page.locator(".change-table, .blank").first().waitFor();
        assert.match(page.url(), /4242\?tab=changes/);
        await page.goBack();
        await page.locator(".words-line .word-time").click();
        await page.waitForURL(/4242\?from=.*to=/);
        await graphShown(page);
        await server.asked(/GET \/api\/v1\/words\?pid=4242&from=/);
        await close(page);
    });

    nodeTest("nothing is asked for that an ended JVM, or a service without one, does not have", async ({ server, open }) => {
        server.addEnded({ pid: 3003, ago: 600, how: "it ended with status 3, which is an error" });
        const page = await open(), refused = [];

        page.on("response", (r) => r.status() >= 400 && refused.push(`${r.status()} ${r.url()}`));
        await page.locator(".ended .jvm-link").click();
        await graphShown(page);
        await page.evaluate(() => { location.hash = "#/service/Importer"; });
        await page.locator(".crumbs", { hasText: "Importer" }).waitFor();
        await graphShown(page);
        assert.match(await addressOf(page), /from=.*to=/); // its last minute
        await page.waitForTimeout(2500); // and again
        assert.deepEqual(refused, []);
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

    nodeTest("a new release: the list has it below what is wrong, with what changed since, and so has its JVM", async ({ server, open }) => {
        Object.assign(server.jvms[1], { start_time: new Date(Date.now() - 120000).toISOString(), service: { name: "BillingService", version: "2.4.1", source: "main" } });
        server.addEnded({ pid: 3006, main: server.jvms[1].main, ago: 120, version: "2.4.0" });
        server.addSignal({ signal: "gc-pauses", severity: 1, pid: 6550, ago: 100, sentence: "11 % of the last 30 s went to pauses" });
        const page = await open();

        await page.locator(".col-signals a").waitFor();
        assert.deepEqual((await mains(page)).slice(0, 2), ["GradleDaemon", "BillingService"]);
        await page.getByRole("link", { name: "version 2.4.1 after 2.4.0: what changed" }).click();
        await page.locator(".change-table tbody tr").first().waitFor();
        assert.match(await addressOf(page), /#\/service\/BillingService\?tab=changes/);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${server.jvms[1].pid}`);
        await page.locator(".signal-line .deploy-link").waitFor();
        assert.match(await textOf(page, ".signal-line"), /^Version 2\.4\.1 after 2\.4\.0 since \d\d:\d\d: what changed\s*No signal/);
        assert.equal(await page.locator(".deploy-link").getAttribute("href"), "#/service/BillingService?tab=changes");
        await page.setViewportSize({ width: 390, height: 844 });
        assert.ok(await page.locator(".signal-line").evaluate((line) => line.getBoundingClientRect().right <= innerWidth), "cut off on a phone");
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        await page.locator(".crumbs", { hasText: "Application" }).waitFor();
        await page.getByText("No signal: nothing that flamed looks for is wrong.").waitFor();
        assert.equal(await page.locator(".deploy-link").count(), 0); // it is another service's
        server.requests = [];
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${server.jvms[1].pid}?tab=changes`);
        await page.waitForRequest(/changes\?service=BillingService$/); // it began with the release: there is nothing before
        await Promise.all([page.waitForRequest(/changes\?pid=4311&a=/), page.getByLabel("What is compared").selectOption("300")]);
        server.changes = () => ({ changes: [{ kind: "pause", name: "garbage collections", before: 60.5, after: 6.5, difference: -54, low: -54.1, high: -53.9,
            q: 0.0001, unit: "pauses/min", sentence: "Pauses are fewer", diff: "/api/v1/timeline" }], sentences: ["Pauses are fewer"], enough: true, minutes: { a: 60, b: 10 },
            samples: { a: 9000, b: 1500 }, needed: NEEDED, times: "after-deploy",
        ranges: { a: { from: "2026-11-26T02:00:00Z", to: "2026-11-26T03:00:00Z" }, b: { from: "2026-11-26T03:00:00Z", to: "2026-11-26T03:10:00Z" } } });
        await page.getByRole("button", { name: "Again" }).click();
        await page.locator(".change-table td", { hasText: "garbage collections" }).waitFor();
        assert.deepEqual(await page.locator(".change-table tbody .num").allTextContents(),
            ["60.5\u00a0/min", "6.5\u00a0/min", "−54.0\u00a0/min", "−54.1\u00a0/min to −53.9\u00a0/min", "under 1 in 1,000"]);
        server.changes = () => ({ changes: [], sentences: ["136 samples: too few to tell"], enough: false, minutes: { a: 2, b: 2 },
            samples: { a: 136, b: 140 }, needed: NEEDED, times: "since-deploy",
            ranges: { a: { from: "2026-11-26T03:00:00Z", to: "2026-11-26T03:02:00Z" }, b: { from: "2026-11-26T03:05:00Z", to: "2026-11-26T03:07:00Z" } } });
        await page.reload();
        await page.locator(".blank a", { hasText: "Compare the graphs" }).waitFor(); // there is a way on
        await page.getByRole("link", { name: "Compare the graphs" }).click(); // once
        await page.locator(".change-list").waitFor();
        const [a, b] = ["a", "b"].map((side) => new URLSearchParams(page.url().split("?")[1]).get(side).split(","));

        assert.deepEqual([a, b], [["00", "02"], ["05", "07"]].map((ends) => ["service:BillingService", ...ends.map((minute) => `2026-11-26T03:${minute}:00.000Z`)])); // what flamed compared
        await close(page);
    });

    nodeTest("a release with too few samples: what is compared, how long to wait, and the graphs as the next step", async ({ server, open }) => {
        const at = (minute) => new Date(Date.UTC(2026, 10, 26, 3) + minute * 60000).toISOString();
        const answer = { changes: [], enough: false, minutes: { a: 2, b: 2 }, samples: { a: 144, b: 400 }, needed: NEEDED, times: "since-deploy", ranges: { a: { from: at(1), to: at(3) }, b: { from: at(3), to: at(5) } },
            sentences: ["144 samples: too few to tell, each of the two times needs 300", "The time since is compared with as much before the last deploy: version 2.4.1 after 2.4.0"] };
        const text = async () => (await textOf(page, ".blank >> nth=0")).replaceAll("\u00a0", " ");

        server.changes = () => answer;
        const page = await open("#/service/BillingService?tab=changes", { timezoneId: "UTC" }), graphs = page.locator(".blank a.primary", { hasText: "Compare the graphs" });

        await graphs.waitFor();
        await page.locator(".compare-inside .change-list").waitFor(); // nothing is to be asked for
        assert.ok(await page.locator(".compare-inside .graph").first().evaluate((graph) => graph.getBoundingClientRect().height >= 200));
        assert.ok(!await page.locator(".side-select").first().isVisible());
        assert.match(await text(), /^144 samples: too few to tell.*Before: 2026-11-26 03:01:00 – 2026-11-26 03:03:00\. After: 2026-11-26 03:03:00 – 2026-11-26 03:05:00\./);
        assert.match(await text(), /at the rate so far there is enough in about 2\.2 min\./); // 144 in 2 min
        const again = async (sign, few, others = {}) => {
            Object.assign(answer, { times: "since-deploy", sentences: [`now ${few}`], samples: { a: 400, b: few } }, others);
            await page.getByRole("button", { name: "Again" }).click();
            await page.locator(".blank", { hasText: `now ${few}` }).waitFor();
            assert.match(await text(), sign);
        };

        await again(/At the rate so far, 10 min have too few, too: choose a longer time above\./, 20);
        await again(/^now 0\.Before: [^a-z]+After: [^a-z]+Compare the graphs$/, 0); // nobody can say
        await again(/A longer time has more samples: choose one above\./, 145, { times: "before" });
        await again(/Both times grow: there is enough in about 25 s\./, 0, { ranges: { a: { from: at(2), to: at(2 + 1 / 3) }, b: { from: at(3), to: at(3 + 1 / 3) } } });
        await again(/Samples of the time before cover 60 s, and there may be none from earlier: choose other times above\./, 500,
            { minutes: { a: 1, b: 2 }, samples: { a: 20, b: 500 }, ranges: { a: { from: at(1), to: at(3) }, b: { from: at(3), to: at(5) } } });
        await again(/^now 309/, 309, { enough: true, sentences: ["now 309. Samples cover 2.0 of the 60.0 minutes before: too few to tell"] });
        await page.locator(".compare-inside .change-list").waitFor(); // minutes, too, can be too few
        await again(/^now 310/, 310, { enough: true });
        assert.equal(await graphs.count(), 0); // nothing to do next
        assert.equal(await page.locator(".compare-inside").count(), 0);
        await close(page);
    });

    nodeTest("the list gives its room to sentences: no column of containers where there is none, limits beside use", async ({ server, open }) => {
        server.jvms = server.jvms.filter((jvm) => !jvm.container);
        server.jvms[0].cpu_limit = 0.2;
        const page = await open("", { viewport: { width: 1280, height: 720 } });

        await page.locator(".jvms .jvm-link").first().waitFor();
        assert.ok(!await page.getByRole("columnheader", { name: "Container" }).isVisible());
        assert.equal((await page.locator(".col-cpu[title]:not([title=''])").getAttribute("title")).replaceAll("\u00a0", " "), "of a limit of 20 %");
        const { width } = await page.locator("th.col-signals").boundingBox();

        assert.ok(width >= 330, `${width} px for sentences`); // 152 before
        await page.getByRole("link", { name: "Elasticsearch", exact: true }).click();
        await page.locator(".jvm-facts .limit").waitFor({ state: "attached" });
        assert.ok((await page.locator(".jvm-facts").boundingBox()).height <= 26, "one line"); // above the graph
        await page.setViewportSize({ width: 1440, height: 900 });
        assert.match((await textOf(page, ".jvm-facts")).replaceAll("\u00a0", " "), /CPU 8\.3 % of 20 %/);
        assert.ok(await page.locator(".jvm-facts .limit").isVisible());
        await close(page);
    });

    nodeTest("the list says what is wrong in whole sentences, also on a phone, and rows keep their height", async ({ server, open }) => {
        const sentence = "6.3 of the 8.0 threads that were busy waited for a lock of class PriceTable; http-exec-8 holds it";
        const height = (page) => page.locator(".jvms tbody tr").first().evaluate((row) => row.getBoundingClientRect().height);

        server.addSignal({ signal: "lock-contention", severity: 3, sentence, evidence: "/api/v1/jvms/4242/heap" });
        for (const viewport of [{ width: 1440, height: 900 }, { width: 1280, height: 800 }, { width: 390, height: 844 }]) {
            const page = await open("", { viewport }), cell = page.locator(".signal-cell", { hasText: sentence });

            await cell.waitFor();
            assert.ok(await cell.evaluate((one) => one.scrollHeight <= one.clientHeight && one.getBoundingClientRect().right <= innerWidth), `cut off at ${viewport.width}`);
            assert.equal((await mains(page))[0], "Application"); // its name is whole, too
            assert.ok(await page.locator(".jvm-link").first().evaluate((link) => link.getBoundingClientRect().width <= link.closest("td").clientWidth - 16));
            const before = await height(page);

            await cell.evaluate((one) => { one.lastElementChild.textContent = "short"; });
            assert.equal(await height(page), before);
            await close(page);
        }
    });

    nodeTest("a JVM that ended stays in the list, and opens its last minute", async ({ server, open }) => {
        server.addEnded({ pid: 3003, ago: 600, how: "the kernel ended it (SIGKILL): its container was out of memory" });
        server.addEnded({ pid: 3004, ago: 4000, ran: 100 });
        server.addEnded({ pid: ORDERS, main: "com.acme.Old", ago: 8400 });
        server.jvms[0].start_time = new Date(Date.now() - 60000).toISOString().replace("Z", "000000Z");
        const page = await open("", { allow: /404/ });
        const rows = page.locator(".ended tbody tr");

        await rows.first().waitFor();
        assert.equal(await textOf(page, ".ended h2"), "3 JVMs have ended");
        assert.match((await rows.first().textContent()).replaceAll("\u00a0", " "), /^Importer1?.*its container was out of memory\d+ min ago2 h17\.0\.133003$/);
        await page.locator(".search-text").fill("old ended");
        assert.deepEqual(await page.locator(".ended .jvm-link").allTextContents(), ["Old"]);
        await page.locator(".search-text").fill("");
        await rows.first().getByRole("link").click();
        await graphShown(page);
        assert.match(await textOf(page, ".jvm-facts"), /^Ended .*\d+.min ago.*PID 3003.*ran for 2.h.*out of memory$/);
        for (const width of [1440, 1280]) {
            await page.setViewportSize({ width, height: 800 });
            assert.ok((await page.locator(".jvm-facts").boundingBox()).height <= 28, `one line at ${width}`); // above the graph
        }
        const asked = await server.asked(/GET \/profile\?pid=3003/);

        assert.equal(Math.round((Date.parse(asked.get("to")) - Date.parse(asked.get("from"))) / 1000), 60);
        for (const name of ["Live", "Capture …", "Memory", "Top"])
            assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), name);
        await page.evaluate(() => { location.hash = "#/jvm/3003"; }); // the bare address opens the same
        await page.waitForURL(/from=.*to=/);
        await page.locator(".crumbs", { hasText: "Importer" }).waitFor();
        await graphShown(page);
        await page.evaluate(() => { location.hash = "#/"; });
        await page.locator(".ended").getByRole("link", { name: "Old" }).click(); // its pid is another's now
        await page.locator(".jvm-facts", { hasText: "Last seen" }).waitFor(); // of its end the minute is known
        assert.match((await textOf(page, ".jvm-facts")).replaceAll("\u00a0", " "), /^Last seen (\d{4}-\d\d-\d\d )?\d\d:\d\d, 2 h ago.*ran for about 2 h$/);
        assert.match(await textOf(page, ".crumbs"), /Old/);
        await close(page);
    });

    nodeTest("a service that is deployed again, with no JVM for a moment, stays live", async ({ server, open }) => {
        const page = await open(`#/service/Application`), live = page.getByRole("button", { name: "Live", exact: true });
        const facts = (text) => page.locator(".jvm-facts", { hasText: text }).waitFor();
        const first = server.jvms[0];

        await graphShown(page);
        for (const pid of [5001, 5002]) { // and once more
            const [gone] = server.jvms.splice(0, 1);

            server.addEnded({ pid: gone.pid, main: gone.main, ago: 1 });
            await facts(/0.JVMs/);
            await page.getByRole("button", { name: "Threads", exact: true }).click();
            await page.getByRole("button", { name: "Flame graph", exact: true }).click();
            server.jvms.unshift({ ...first, pid });
            await facts(/1.JVM/);
            server.requests = [];
            await Promise.all([/\/profile\?service=Application&from=-60s/, /timeline\?service=Application&from=-300s/].map((asked) => page.waitForRequest(asked)));
            assert.equal(await live.getAttribute("aria-pressed"), "true");
            assert.ok(!/from=/.test(await addressOf(page)));
        }
        await close(page);
    });

    for (const isListed of [false, true])
        nodeTest(`a JVM that flamed does not know for a moment is live again${isListed ? ", also where the history has its end" : ""}`, async ({ server, open }) => {
            const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ }), live = page.getByRole("button", { name: "Live", exact: true });
            const asked = () => server.requests.filter((r) => r === `GET /api/v1/jvms/${ORDERS}`).length;

            await graphShown(page);
            const [jvm] = server.jvms.splice(0, 1);

            if (isListed)
                server.addEnded({ pid: ORDERS, main: jvm.main, ago: 1 });
            await (isListed ? page.locator(".jvm-facts", { hasText: "Last seen" }) : page.locator(".banner", { hasText: "This JVM has ended" })).waitFor();
            assert.ok(await live.isDisabled());
            server.requests = [];
            await page.waitForTimeout(12500); // longer than its end is believed
            assert.equal(asked(), 0);
            server.ended = [];
            server.jvms.unshift(jvm);
            await page.locator(".jvm-facts", { hasText: "CPU" }).waitFor();
            await page.waitForRequest(/\/profile\?pid=4242&from=-60s/);
            assert.equal(await live.getAttribute("aria-pressed"), "true");
            for (const name of ["Live", "Capture …", "Memory", "Top"])
                assert.ok(await page.getByRole("button", { name, exact: true }).isEnabled(), name);
            assert.ok(await page.locator(".signals").isVisible());
            assert.ok(await page.locator(".banner").isHidden());
            assert.ok(!/from=/.test(await addressOf(page)));
            await page.waitForRequest(/timeline\?pid=4242&from=-300s/);
            await close(page);
        });

    nodeTest("a process that is no JVM has a timeline, and one that cannot be asked about has what is recorded", async ({ server, open }) => {
        const page = await open("#/jvm/99998", { allow: /404|500/ });

        await page.getByText("No process 99998 is known here.").waitFor();
        await page.locator(".timeline-note", { hasText: /./ }).waitFor();
        await server.asked(/timeline\?pid=99998/);
        server.oneJvm = (response) => server.problem(response, 500, "the list is being read");
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        await page.locator(".banner", { hasText: "the list is being read. Trying again" }).waitFor();
        await page.locator(".words-line a").first().waitFor();
        await page.waitForRequest(/timeline\?pid=4242&from=-300s/);
        delete server.oneJvm;
        await graphShown(page);
        assert.ok(await page.locator(".banner").isHidden());
        await close(page);
    });

    nodeTest("a pid that never was is said so", async ({ open }) => {
        const page = await open("#/jvm/99999", { allow: /404/ });

        await page.getByText("No process 99999 is known here.").waitFor();
        await page.waitForTimeout(2500); // nor anything else later
        assert.ok(await page.locator(".banner").isHidden());
        await page.getByRole("link", { name: "All JVMs" }).click();
        await page.locator(".jvms .jvm-link").first().waitFor();
        await close(page);
    });

    nodeTest("a service: its JVMs of now and before, its graph, what changed, and that compared", async ({ server, open }) => {
        server.addEnded({ pid: 3005, main: "com.acme.shop.Application", ago: 900 });
        const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ });

        await page.locator(".jvm-facts").getByRole("link", { name: "Service" }).click();
        await page.locator(".jvm-facts", { hasText: /1.JVM.*1 ended/ }).waitFor(); // the JVM's graph stands until the service's comes
        await graphShown(page);
        await server.asked(/GET \/api\/v1\/timeline\?service=Application/);
        assert.ok(!await page.getByRole("button", { name: "Memory" }).isVisible());
        await page.getByRole("button", { name: "JVMs", exact: true }).click();
        await page.locator(".ended tbody tr").first().waitFor();
        assert.deepEqual(await page.locator(".content .jvm-link").evaluateAll((list) => list.map((a) => a.getAttribute("href").split("?")[0])), ["#/jvm/4242", "#/jvm/3005"]);
        await page.getByRole("button", { name: "Changes", exact: true }).click();
        await page.locator(".change-table tbody tr").first().waitFor();
        assert.match((await page.locator(".change-table tbody tr").first().textContent()).replaceAll("\u00a0", " "),
            /^PriceTable\.lookupcom\.acme\.shop · function38\.0 %52\.5 %\+14\.5 %\+11\.6 % to \+17\.4 %under 1 in 1,000/);
        assert.match(await textOf(page, ".change-note"), /^Before: .* – .*\. After: .* – .*\.Samples cover 4\.5 of the 5\.0 minutes before, and 5\.0 of the 5\.0 after\.$/);
        await Promise.all([page.waitForResponse((r) => r.url().includes("/api/v1/changes")), page.getByLabel("What is compared").selectOption("600")]);
        const asked = await server.asked(/\/api\/v1\/changes/);
        const [[a1, a2], [b1, b2]] = ["a", "b"].map((side) => asked.get(side).split("..").map((t) => Date.parse(t)));

        assert.deepEqual([a2, a2 - a1, b2 - b1], [b1, 600000, 600000]);
        await page.getByRole("link", { name: "Compare the graphs" }).click();
        await page.locator(".change-list").waitFor();
        assert.match(await textOf(page, ".change-list"), /service Application/);
        await close(page);
    });

    nodeTest("a capture is asked for by questions, each with what it loads; hardware is folded", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`);
        const tile = (text) => page.locator(".question", { hasText: text });

        await graphShown(page);
        await page.keyboard.press("x");
        await page.locator(".question input:disabled").first().waitFor({ state: "attached" });
        assert.equal(await page.locator(".question").count(), 8);
        assert.match(await tile("safepoints").textContent(), /Not here: the kernel has no probes here/);
        assert.match(await tile("is it a leak").textContent(), /Loads flamed's agent into the JVM/);
        assert.ok(await page.getByRole("radio", { name: /CPU time/ }).isChecked());
        await tile("is it a leak").click();
        await tile("Another event").hover();
        const looks = await page.locator(".question").evaluateAll((list) => list.map((one) => getComputedStyle(one).backgroundColor));

        assert.equal(looks.filter((colour) => colour !== looks[0]).length, 1, looks.join()); // one is chosen
        assert.equal(await textOf(page, ".capture-cost"), "Objects that stay. It costs 2 to 10 us a sample.");
        assert.equal(await page.getByLabel("Seconds").inputValue(), "180");
        assert.ok(!await page.getByLabel("Samples per second").isVisible());
        await tile("Another event").click();
        assert.deepEqual(await page.locator(".capture-other select option").allTextContents(), ["context-switches"]);
        assert.match(await textOf(page, ".capture-other"), /3 events more, which this machine does not have/);
        await page.getByLabel("or a function or tracepoint").fill("libssl.so:SSL_read");
        await page.getByLabel("Seconds").fill("20");
        const posted = page.waitForRequest((r) => r.method() === "POST");

        await page.getByRole("button", { name: "Start", exact: true }).click();
        assert.deepEqual(JSON.parse((await posted).postData()), { pid: 4242, event: "libssl.so:SSL_read", seconds: 20 });
        await page.getByRole("button", { name: "Stop" }).click();
        await page.waitForURL(/#\/capture\//);
        await close(page);
    });

    nodeTest("a quiet service: the live graph looks back further by itself, and one press samples at 99 Hz", async ({ server, open }) => {
        server.profile = (options) => makeProfile({ ...options, seconds: options.seconds / 40 }); // 6 to 240 samples
        const page = await open(`#/jvm/${ORDERS}`), span = page.getByLabel("How much the live flame graph looks back");

        await graphShown(page);
        await page.waitForFunction(() => document.querySelector("select[aria-label^='How much the live']").value === "300"); // the record reaches no further
        await server.asked(/\/profile\?pid=4242&from=2.*&format=json/); // as far as is recorded
        assert.equal(await span.locator("option:checked").textContent(), "5 min");
        const posted = page.waitForRequest((r) => r.method() === "POST");

        await page.getByRole("button", { name: "99 Hz for 30 s" }).click();
        assert.deepEqual(JSON.parse((await posted).postData()), { pid: ORDERS, event: "cpu", seconds: 30, hz: 99 });
        await page.locator(".progress-text", { hasText: "samples" }).waitFor();
        await page.getByRole("button", { name: "Stop" }).click();
        await page.waitForURL(/#\/capture\//);
        await close(page);
    });

    nodeTest("which endpoint: a capture by request, grouped and filtered", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`);

        await graphShown(page);
        await page.keyboard.press("x");
        await page.getByLabel("By request").check();
        await page.getByRole("button", { name: "Start", exact: true }).click();
        await page.locator(".progress-text", { hasText: "samples" }).waitFor();
        await page.waitForTimeout(4000); // a second's samples are too few for each operation to have one
        await page.getByRole("button", { name: "Stop" }).click();
        await page.waitForURL(/#\/capture\/.*by=operation/);
        await graphShown(page);
        await page.locator(".panel .search-text").fill("GET /orders");
        await page.locator(".matches", { hasText: /[1-9][\d.]*.% matched/ }).waitFor();
        await page.getByLabel("Operation or trace id").fill("^POST");
        await page.keyboard.press("Enter");
        await page.waitForURL(/of=%5EPOST/);
        await server.asked(/profile\?format=json&by=operation&operation=%5EPOST$/);
        await page.getByLabel("Operation or trace id").fill("4bf92f3577b34da6a3ce929d0e0e4736");
        await page.getByLabel("Grouped").selectOption("trace");
        await page.waitForURL(/by=trace/);
        await server.asked(/by=trace&trace=4bf92f3577b34da6a3ce929d0e0e4736/);
        await page.reload();
        await graphShown(page);
        assert.equal(await page.getByLabel("Grouped").inputValue(), "trace");
        const plain = server.addCapture({ ago: 60000 }); // that did not ask

        await page.evaluate((id) => { location.hash = `#/capture/${id}`; }, plain.id);
        await page.locator(".crumbs", { hasText: /:\d\d$/ }).waitFor();
        await graphShown(page);
        assert.ok(!await page.getByLabel("Grouped").isVisible());
        await close(page);
    });

    nodeTest("what did this trace do: its id is pasted, its threads stand on one line of time, running and waiting", async ({ server, open }) => {
        const capture = server.addCapture({ ago: 60000, event: "cpu,offcpu", by: "operation" });
        const page = await open(`#/capture/${capture.id}`), rows = page.locator(".requests-view tbody tr");

        await graphShown(page);
        await page.getByRole("button", { name: "Requests", exact: true }).click();
        await rows.nth(1).waitFor();
        assert.match((await rows.first().textContent()).replaceAll("\u00a0", " "), /^▸ GET \/orders\/\{id\} 4bf92f35240 ms/);
        await page.getByLabel("Operation or trace id").fill("4bf92f3577b34da6a3ce929d0e0e4736");
        await page.keyboard.press("Enter");
        await page.locator(".requests-view .sub-row").nth(1).waitFor();
        assert.equal(await rows.count(), 3); // the one, open, with its two threads
        const bar = page.locator(".requests-view .sub-row .state-bar").first();

        assert.equal((await bar.getAttribute("aria-label")).replaceAll("\u00a0", " "), "Network 190 ms, Running 50.0 ms");
        const track = await page.locator(".requests-view .sub-row .track").first().boundingBox();

        await page.mouse.move(track.x + track.width / 2, track.y + 8);
        assert.match((await textOf(page, ".requests-view .live-note")).replaceAll("\u00a0", " "), /^http-worker-1 · Network 190 ms from 30\.0 ms on · \[network\]$/);
        assert.match(await textOf(page, ".requests-view .legend"), /Running.*Lock.*Network/);
        await page.waitForURL(/single=1/);
        await page.reload();
        await page.locator(".requests-view .sub-row").nth(1).waitFor();
        await page.setViewportSize({ width: 390, height: 800 });
        assert.ok((await page.locator(".requests-view .track").first().boundingBox()).width >= 120); // 63 before
        await page.getByLabel("Operation or trace id").fill("00000000000000000000000000000001");
        await page.keyboard.press("Enter");
        await page.getByText("No such request in this capture.").waitFor();
        await close(page);
    });

    nodeTest("a leak is not drawn before two collections have passed", async ({ server, open }) => {
        const early = server.addCapture({ ago: 60000, event: "live", collections: 1 }), late = server.addCapture({ ago: 50000, event: "live", collections: 2 });
        const page = await open(`#/capture/${early.id}`);

        await page.getByText("Too early to know what stays.").waitFor();
        assert.match(await textOf(page, ".blank"), /Only one collection passed in these 30 s: most of what is here is merely young/);
        assert.equal(await page.getByRole("link", { name: "Take a longer one" }).getAttribute("href"), "#/jvm/4242?start=live");
        await page.getByRole("button", { name: "Draw it nevertheless" }).click();
        await graphShown(page);
        await page.evaluate((id) => { location.hash = `#/capture/${id}`; }, late.id);
        await page.waitForURL((url) => url.hash.includes(late.id));
        await graphShown(page);
        await close(page);
    });

    nodeTest("a link to a question opens its form where it stays, also while signals are late", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 3, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        const page = await open("", { viewport: { width: 390, height: 844 } });

        await page.route(/signals\?pid/, async (route) => {
            await new Promise((go) => setTimeout(go, 1200));
            await route.continue();
        });
        await page.evaluate((hash) => {
            window.shifts = [];
            new PerformanceObserver((list) => { window.shifts.push(...list.getEntries()); }).observe({ type: "layout-shift" });
            location.hash = hash;
        }, `#/jvm/${ORDERS}?start=live`);
        await page.locator(".question").first().waitFor();
        assert.ok(await page.getByRole("radio", { name: /is it a leak/ }).isChecked());
        assert.equal(await page.evaluate(() => document.activeElement.value), "live"); // on a phone no number, which opens a keyboard
        await page.locator(".signal-line .signal.severe").waitFor();
        await page.waitForTimeout(500);
        assert.deepEqual(await page.evaluate(() => window.shifts.map((e) => e.sources.map(({ node }) => (node && node.className) || String(node)).join())), []);
        await close(page);
    });

    nodeTest("the form of a question takes nothing away from who was faster", async ({ server, open }) => {
        const page = await open();
        const slowSignals = async () => {
            let answer;
            const asked = new Promise((done) => { answer = done; });

            await page.unroute(/signals\?pid/);
            await page.route(/signals\?pid/, async (route) => {
                await asked;
                await route.continue();
            });
            return answer;
        };
        const go = await slowSignals();

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?start=live`);
        await page.locator(".view.settling .jvm-facts").waitFor();
        await page.keyboard.press("x");
        await page.getByRole("radio", { name: /What do threads wait for/ }).check();
        go();
        await page.locator(".view.settling").waitFor({ state: "detached" });
        assert.ok(await page.getByRole("radio", { name: /What do threads wait for/ }).isChecked());
        const goOn = await slowSignals();

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${server.jvms[1].pid}?start=live`);
        await page.locator(".view.settling .jvm-facts").waitFor();
        await page.locator(".crumbs a").first().focus();
        goOn();
        await page.getByRole("radio", { name: /is it a leak/ }).waitFor();
        assert.ok(await page.locator(".crumbs a").first().evaluate((link) => link === document.activeElement));
        await close(page);
    });

    nodeTest("pressed twice, one capture starts; its answer takes no one back who has left", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`), posts = [];
        let answer;

        await graphShown(page);
        await page.route(/api\/v1\/captures$/, async (route) => {
            posts.push(route.request().postData());
            await new Promise((done) => { answer = done; });
            await route.continue();
        });
        const sampler = page.getByRole("button", { name: "99 Hz for 30 s" });

        await sampler.evaluate((button) => {
            button.click();
            button.click();
        });
        await page.keyboard.press("x"); // nor a form for another one
        await page.waitForTimeout(100);
        assert.ok(await sampler.isDisabled());
        assert.equal(await page.locator(".capture-form").count(), 0);
        assert.equal(posts.length, 1);
        await page.getByRole("link", { name: "Health" }).click();
        await page.locator(".card").first().waitFor();
        const answered = page.waitForResponse((r) => r.request().method() === "POST");

        answer();
        await answered;
        server.captures[0].until = 0; // it ends at once
        await page.waitForTimeout(3000); // the progress would have asked by then
        assert.match(await addressOf(page), /#\/health/);
        assert.ok(!server.requests.some((one) => /captures\/.*stream/.test(one)));
        await close(page);
    });

    nodeTest("a leak's capture ends by itself once two collections have passed", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}?start=live`);

        await page.getByRole("radio", { name: /is it a leak/ }).waitFor();
        await page.getByRole("button", { name: "Start", exact: true }).click();
        await page.locator(".progress-text", { hasText: /of 3.min .* [0-2] of 2.collections/ }).waitFor();
        server.collected = 5;
        await page.waitForURL(/#\/capture\//);
        await server.asked(/^POST .*\/stop$/);
        await graphShown(page);
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
        await page.getByRole("button", { name: "http-worker-" }).click();
        assert.deepEqual((await names()).slice(0, 2), ["▾ http-worker-* × 3", "http-worker-3"]);
        assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
        await page.getByRole("button", { name: "http-worker-2" }).click();
        await page.locator(".flame-chart h3", { hasText: "http-worker-2" }).waitFor();
        const box = await page.locator(".track").nth(1).boundingBox();

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

    nodeTest("threads: where only those of the VM were busy, idle ones are shown by themselves, until a person says not to", async ({ server, open }) => {
        server.profile = (options) => {
            const profile = makeProfile(options), isWorker = ({ frames: [thread] }) => profile.frames[thread].name.startsWith("[http-worker");

            return /idle=0/.test(server.requests.at(-1)) ? { ...profile, stacks: profile.stacks.filter((stack) => !isWorker(stack)) } : profile;
        };
        const page = await open(`#/jvm/${ORDERS}?tab=threads`), idle = page.getByLabel("Idle threads"), note = page.locator(".thread-chart .live-note");

        await page.locator(".threads .name", { hasText: "http-worker-* × 3" }).waitFor();
        assert.ok(await idle.isChecked());
        assert.match(await note.textContent(), /only threads of the VM were busy: idle ones are shown, too$/);
        await idle.uncheck();
        await page.locator(".threads .name", { hasText: "http-worker" }).waitFor({ state: "detached" });
        assert.ok(!await idle.isChecked());
        assert.doesNotMatch(await note.textContent(), /idle/);
        await close(page);
    });

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
        await page.reload();
        await page.getByRole("button", { name: "The oldest recorded minute" }).click();
        await graphShown(page);
        const asked = await server.asked(/GET \/profile\?pid=4242&from/);

        assert.equal(Math.round((Date.parse(asked.get("to")) - Date.parse(asked.get("from"))) / 1000), 60);
        assert.ok(Date.parse(asked.get("from")) > now - 300000);
        await close(page);
    });

    nodeTest("a range that the history answers says that its minutes are whole", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}?from=2026-11-26T03:00:54Z&to=2026-11-26T03:02:25Z`);

        await graphShown(page);
        assert.doesNotMatch(await textOf(page, ".panel .facts"), /whole minutes/);
        server.profile = (options) => ({ ...makeProfile({ ...options, seconds: 180 }),
            warnings: ["from 2026-11-26T03:00:00Z to 2026-11-26T03:03:00Z this answer comes from the history: merged by minutes, without the times of single samples; threads have the name of their pool"] });
        await page.reload();
        await graphShown(page);
        assert.match((await textOf(page, ".panel .facts")).replaceAll("\u00a0", " "), /3 min, whole minutes around the range/);
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
        await page.getByRole("link", { name: "Capture it" }).first().click();
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

    nodeTest("nothing shifts from the first paint on: list, JVM, service, capture, wide and on a phone", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 3, ago: 100, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        const capture = server.addCapture({ ago: 50000, by: "operation" });
        const looks = [[1440, 900], [1280, 800], [390, 844]], hashes = ["", `#/jvm/${ORDERS}`, "#/service/Application", `#/capture/${capture.id}`];
        const seen = {};

        for (const hash of hashes)
            await Promise.all(looks.map(async ([width, height]) => {
                const page = await open("", { viewport: { width, height } });

                await page.addInitScript(() => {
                    window.shifts = [];
                    new PerformanceObserver((list) => { window.shifts.push(...list.getEntries()); }).observe({ type: "layout-shift", buffered: true });
                });
                await page.goto("about:blank");
                await page.goto(server.url + hash);
                await (hash ? graphShown(page) : page.locator(".jvms .jvm-link").first().waitFor());
                await page.waitForTimeout(3500); // all that renews itself has done so once
                seen[`${hash} ${width}`] = await page.evaluate(() => window.shifts.map((e) => [e.value, ...e.sources.map(({ node }) => (node && node.className) || String(node))]));
                if (hash.startsWith("#/jvm"))
                    seen[`${hash} ${width} graph`] = await page.locator(".graph").evaluate((graph) => graph.clientHeight >= 0.45 * innerHeight ? [] : [graph.clientHeight]);
                await close(page);
            }));
        assert.deepEqual(Object.entries(seen).filter(([, list]) => list.length), []);
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
                for (const end = Date.now() + 2000; await loading() !== text && Date.now() < end;)
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
});
