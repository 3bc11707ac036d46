// SPDX-License-Identifier: Apache-2.0
// What a person meets at a JVM that is sick or has stopped, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { close, cutOff, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, drawnAfter, graphShown, mains, nodeTest } from "./node_test.mjs";

const iso = (ms) => new Date(ms).toISOString();
const plain = (text) => text.replace(/\s+/g, " ");

describe("sick", { concurrency: 4 }, () => {
    nodeTest("what is wrong: worst first in the list, a sentence and its evidence on the JVM, marks on the timeline", async ({ server, open }) => {
        server.addSignal({ signal: "run-queue", severity: 1, ago: 30, sentence: "threads waited 31 % of the time", evidence: "/profile?from=2026-11-26T00:00:00Z&to=2026-11-26T00:01:00Z" });
        server.addSignal({ signal: "gc-pauses", severity: 3, ago: 100, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        server.addSignal({ pid: 6550, signal: "safepoint-late", sentence: "mean time to stop 30 ms", evidence: "/profile?pid=6550&event=nativemem&seconds=10" });
        server.marks.push({ main: "com.acme.shop.Application", time: new Date(Date.now() - 60000).toISOString(), kind: "deploy", pid: ORDERS, text: "version 2 after 1; options -Xmx64m -> -Xmx128m" });
        const page = await open();
        const cell = page.locator("tr", { hasText: "Application" }).first().locator(".col-signals");

        await page.locator(".signal.severe").first().waitFor();
        assert.equal((await cell.textContent()).trim(), "gc-pauses run-queue 65\u00a0% of the last 30\u00a0s went to pauses"); // numbers stand by their units
        assert.match(await cell.getAttribute("title"), /^gc-pauses: 65 % of the last 30 s went to pauses\nrun-queue: /);
        assert.deepEqual((await mains(page)).slice(0, 2), ["Application", "GradleDaemon"]); // before busier ones
        await page.getByRole("link", { name: "Application" }).click();
        await page.locator(".signal-line .signal.severe").waitFor();
        assert.match(await textOf(page, ".signal-line"), /gc-pauses.*65 % of the last 30 s went to pauses\. See which code allocates \(Who allocates …\)(since (\d{4}-\d\d-\d\d )?\d\d:\d\d|for \d.min).*Memory/);
        assert.match(await page.locator(".signal-line .signal-words a").getAttribute("href"), /^#\/jvm\/4242\?start=alloc$/);
        await page.getByRole("button", { name: "1 more" }).click();
        assert.match(await textOf(page, ".signal-list"), /run-queue.*What ran then/);
        await page.getByLabel("How much the timeline shows").selectOption("300");
        const plot = await page.locator(".timeline-plot").boundingBox(), notes = [];

        const has = (pattern) => notes.some((note) => pattern.test(note));

        for (const end = Date.now() + 20000; !(has(/deploy: version 2 after 1; options -Xmx64m -> -Xmx128m/) && has(/gc-pauses began/)) && Date.now() < end;)
            for (let x = plot.x + plot.width * 0.6; x < plot.x + plot.width * 0.85; x += 6) { // of 60 and 100 s ago; they come with an answer of their own
                await page.mouse.move(x, plot.y + 30);
                notes.push(await textOf(page, ".timeline-note"));
            }
        assert.ok(has(/deploy: version 2 after 1; options -Xmx64m -> -Xmx128m/) && has(/gc-pauses began/), notes.join("\n"));
        await page.keyboard.press("g");
        await page.locator(".memory td").first().waitFor();
        assert.match(await textOf(page, ".heap-classes"), /byte\[\]\s*62\.0 %\s*124 MiB.*com\.example\.shop\.Session\s*5\.0 %\s*10\.0 MiB/s);
        await page.evaluate(() => { location.hash = "#/jvm/6550"; });
        await page.locator(".signal-line .signal-link", { hasText: /Capture it|Who allocates/ }).click();
        await page.waitForFunction(() => document.querySelector(".question input[value=nativemem]")?.checked);
        await page.evaluate(() => { location.hash = "#/jvm/6001"; });
        await page.locator(".signal-none", { hasText: "No signal, but this changed" }).waitFor();
        await close(page);
    });

    nodeTest("a timeline with gaps says so, by keyboard as a whole, and of a moment without samples that there are none", async ({ server, open }) => {
        server.timelineWarnings = ["of these 300 s the flight recorder ran 60 s: the rest is a gap", "the flight recorder dropped 12 samples of the node in that time"];
        server.jvms.find(({ pid }) => pid === ORDERS).cpu_percent = 0; // next to none
        const page = await open(`#/jvm/${ORDERS}`), limits = page.locator(".timeline summary"), plot = page.locator(".timeline-plot");

        await limits.filter({ hasText: "of these 300 s the flight recorder ran 60 s: the rest is a gap (and 1 more)" }).waitFor();
        await limits.focus();
        await page.keyboard.press("Enter");
        await page.locator(".timeline .notices li", { hasText: "dropped 12 samples" }).waitFor();
        const renewed = page.waitForResponse(/api\/v1\/timeline/);

        await (await renewed).finished();
        await drawnAfter(page);
        assert.ok(await page.locator(".timeline .notices li", { hasText: "dropped" }).isVisible()); // open as it was
        const { x, y, width } = await plot.boundingBox(), notes = [];

        for (let at = 60; at < width - 5; at += 40) {
            await page.mouse.move(x + at, y + 30);
            notes.push(await textOf(page, ".timeline-note"));
        }
        assert.ok(notes.some((text) => /no samples/.test(text)), notes.join("\n"));
        assert.ok(!notes.some((text) => /CPU 0\.0/.test(text)), notes.join("\n"));
        assert.ok(!notes.some((text) => /recorded nothing/.test(text)), notes.join("\n"));
        server.timelineGaps = [{ from: 200, to: 100 }];
        await (await page.waitForResponse(/api\/v1\/timeline/)).finished();
        await drawnAfter(page);
        await page.mouse.move(x + 44 + (width - 44) / 2, y + 30); // 150 s ago
        assert.match(await textOf(page, ".timeline-note"), /flamed recorded nothing/);
        server.timelineWarnings = [];
        await limits.waitFor({ state: "detached" });
        await close(page);
    });

    nodeTest("a signal that went off within the last hour stays in sight, above the timeline and in the list", async ({ server, open }) => {
        const fullWords = "99 % of the heap stays in use after collections";

        server.addPastSignal({ signal: "heap-growing", severity: 2, ago: 900, over: 700, sentence: "the heap grows", evidence: "/api/v1/jvms/4242/heap" });
        server.addPastSignal({ signal: "heap-full", severity: 3, ago: 850, over: 600, times: 2, sentence: fullWords, evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(), cell = page.locator(".jvms tr", { hasText: "heap-full" }).locator(".col-signals");

        await cell.waitFor();
        assert.match(await cell.textContent(), /^heap-full until (\d{4}-\d\d-\d\d )?\d\d:\d\d$/); // the worst
        assert.match(await cell.getAttribute("title"), /^heap-full: 99 %/);
        assert.equal(await page.locator(".jvms .ill").count(), 0);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        const line = page.locator(".signal-line");

        await line.locator(".signal-was").waitFor();
        assert.match((await line.innerText()).replace(/\s+/g, " "), /^No signal is on now\. heap-full until (\d{4}-\d\d-\d\d )?\d\d:\d\d \(10 min ago, 2 times since [^)]*\): 99 % of the heap/);
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
        const page = await open(`#/jvm/${ORDERS}`), link = page.getByRole("link", { name: /Capture it|Who allocates/ });

        const focused = () => page.evaluate(() => document.activeElement.className + document.activeElement.textContent);
        const askNow = () => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // all that repeats

        await link.focus();
        server.signals[0].sentence = "66 % of the last 30 s went to pauses";
        await askNow();
        await page.locator(".signal-words", { hasText: "66 %" }).waitFor();
        assert.match(await focused(), /Capture it|Who allocates/);
        server.signals = [];
        server.addSignal({ signal: "run-queue", severity: 3, sentence: "threads waited 31 % of the time", evidence: "/api/v1/jvms/4242/heap" });
        await askNow();
        await page.locator(".signal-line", { hasText: /^run-queue/ }).waitFor();
        assert.match(await focused(), /^signal-line/); // no link that was not read
        await page.locator(".signal-link").focus();
        server.signals = [];
        await askNow();
        await page.locator(".signal-none", { hasText: "No signal, but this changed" }).waitFor();
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
        server.addSignal({ signal: "lock-contention", pid: server.jvms[1].pid, sentence: "6.3 of the 8.0 threads that were busy in the last 30 s waited for a lock of class PriceTable; http-exec-8 holds it", evidence: "/api/v1/jvms/4242/heap" });
        await page.locator(".jvms .col-cpu", { hasText: "1000.0" }).waitFor();
        await page.locator(".jvms .col-signals", { hasText: "holds it" }).waitFor();
        assert.deepEqual(await mains(page), before);
        assert.deepEqual(await tops(), topsBefore); // none is higher than it was
        const [ended] = server.jvms.splice(3, 1); // above or below the pointer: no row goes up

        await page.locator(".jvms tr.gone .col-cpu", { hasText: "ended" }).waitFor();
        assert.deepEqual(await tops(), topsBefore);
        assert.equal(await textOf(page, ".matches"), `${server.jvms.length} JVMs`);
        await page.mouse.move(5, 5);
        await page.waitForFunction((count) => document.querySelectorAll(".jvms tbody tr").length === count, server.jvms.length);
        server.jvms.splice(3, 0, ended);
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
        server.addPastSignal({ signal: "heap-full", severity: 3, ago: 300, over: 60, sentence: "99 % of the heap stays in use", evidence: "/api/v1/jvms/4242/heap" });
        server.addSignal({ signal: "gc-pauses", severity: 1, sentence: "11 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        await page.reload();
        await page.locator(".jvms .signal.severe").first().waitFor();
        assert.deepEqual((await mains(page)).slice(0, 3), ["Application", "BillingService", "kafka.jar"]); // it was as ill a minute ago
        assert.match(await textOf(page, ".jvms tbody tr:first-child .col-signals"), /^heap-full until (\d{4}-\d\d-\d\d )?\d\d:\d\d gc-pauses/);
        const heapFull = server.pastSignals.splice(0);

        server.addPastSignal({ signal: "gc-pauses", severity: 3, ago: 200, over: 60, sentence: "60 % of the time went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        await page.reload(); // else up to 10 s pass
        await page.locator(".jvms tbody tr:first-child .col-signals", { hasText: /^gc-pauses worse until (\d{4}-\d\d-\d\d )?\d\d:\d\d 11.%/ }).waitFor();
        server.pastSignals.splice(0, 1, ...heapFull);
        await page.reload();
        await page.locator(".jvms tbody tr:first-child .col-signals", { hasText: /^heap-full until/ }).waitFor();
        await page.getByRole("link", { name: "Application" }).click();
        await page.locator(".signal-line", { hasText: /^heap-full until/ }).waitFor();
        await page.locator(".signal-line .signal.severe").waitFor();
        await close(page);
    });

    nodeTest("the sentence of a signal stands whole above the timeline, up to three lines, and what is below stays", async ({ server, open }) => {
        const sentence = "6.3 of the 8.0 threads that were busy in the last 30 s waited for an answer over the network: payment-1, payment-2 and payment-3 read from 127.0.0.1:36111 in com.acme.shop.PaymentClient.charge";

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

    nodeTest("in words: what a JVM does, each sentence a link to what shows it", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`, { viewport: { width: 1280, height: 800 } });

        await page.locator(".words-line a").first().waitFor();
        assert.match(await textOf(page, ".words-line"), /^Last 5 min: Of the CPU time: 86 % java.*PriceTable\.lookup takes 52\.5 % in place of 38\.0 %\. 812 samples/);
        assert.ok(!/gc-pauses/.test(await textOf(page, ".words-line")));
        assert.match(await textOf(page, ".signal-line"), /^No signal, but this changed: .*PriceTable\.lookup takes 52\.5 % in place of 38\.0 %/);
        const renewed = page.waitForResponse(/api\/v1\/signals/); // a minute later the line is made anew

        await page.evaluate(() => {
            const now = Date.now.bind(Date);

            Date.now = () => now() + 60000;
            document.dispatchEvent(new Event("visibilitychange"));
        });
        await renewed;
        await page.waitForTimeout(300);
        assert.ok(await page.locator(".signal-line .word-change").isVisible());
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
        server.words = (response) => server.send(response, 200, { samples: 812, sentences: [] });
        await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // asks again
        await page.getByText("No signal: nothing that flamed looks for is wrong.").waitFor();
        await close(page);
    });

    nodeTest("the list gives its room to sentences: no column of containers where there is none, limits beside use", async ({ server, open }) => {
        server.jvms = server.jvms.filter((jvm) => !jvm.container);
        server.jvms[0].cpu_limit = 0.2;
        const page = await open("", { viewport: { width: 1280, height: 720 } });

        await page.locator(".jvms .jvm-link").first().waitFor();
        assert.ok(!await page.getByRole("columnheader", { name: "Container" }).isVisible());
        assert.equal((await page.locator("td.col-cpu[title]:not([title=''])").getAttribute("title")).replaceAll("\u00a0", " "), "of a limit of 20 %");
        const { width } = await page.locator("th.col-signals").boundingBox();

        assert.ok(width >= 330, `${width} px for sentences`); // 152 before
        await page.getByRole("link", { name: "Elasticsearch", exact: true }).click();
        await page.locator(".jvm-facts .limit").waitFor({ state: "attached" });
        assert.ok((await page.locator(".jvm-facts").boundingBox()).height <= 26, "one line"); // above the graph
        await page.setViewportSize({ width: 1440, height: 900 });
        assert.match((await textOf(page, ".jvm-facts")).replaceAll("\u00a0", " "), /CPU now 8\.3 % of 20 %/);
        assert.ok(await page.locator(".jvm-facts .limit").isVisible());
        await close(page);
    });

    nodeTest("each number says of which time it is", async ({ open }) => {
        const page = await open(), span = (text) => page.locator(".timeline .legend .span", { hasText: text }).waitFor();

        await page.getByRole("columnheader", { name: "CPU now" }).waitFor();
        await page.locator(".jvms .jvm-link").first().click();
        await graphShown(page);
        assert.match((await textOf(page, ".jvm-facts")).replaceAll("\u00a0", " "), /CPU now \d+\.\d %/);
        await span(/^CPU time in these 5.min$/);
        await page.getByLabel("How much the timeline shows").selectOption("60");
        await span(/^CPU time in these 60.s$/);
        await page.getByRole("button", { name: "Locks" }).click();
        assert.match((await page.locator(".locks caption").textContent()).replaceAll("\u00a0", " "), /by all threads together in 60 s$/);
        await page.locator(".timeline-plot").focus();
        await page.keyboard.press("ArrowLeft");
        await span(/^CPU time in the chosen \d\.\d.s$/);
        await close(page);
    });

    nodeTest("the bar of a JVM has one line on every desk: what has no room goes, whole", async ({ server, open }) => {
        Object.assign(server.jvms[0], { cpu_limit: 0.2, cpu_percent: 3123.4, threads: 12345 });
        const page = await open(`#/jvm/${server.jvms[0].pid}`, { viewport: { width: 1600, height: 800 } });

        await page.locator(".jvm-facts .limit").waitFor();
        for (const width of [1241, 1249, 1280, 1400, 1401, 1440, 1540, 1541, 1560, 1600]) {
            await page.setViewportSize({ width, height: 800 });
            assert.ok((await page.locator(".bar.sub").boundingBox()).height <= 31, `at ${width}`);
        }
        await page.setViewportSize({ width: 1241, height: 800 });
        assert.deepEqual(await cutOff(page), []);
        assert.ok(await page.locator(".jvm-facts").getByText("CPU now").isVisible());
        await close(page);
    });

    nodeTest("the list says what is wrong in whole sentences, also on a phone, and rows keep their height", async ({ server, open }) => {
        const sentence = "6.3 of the 8.0 threads that were busy in the last 30 s waited for a lock of class PriceTable; http-exec-8 holds it";
        const height = (page) => page.locator(".jvms tbody tr").first().evaluate((row) => row.getBoundingClientRect().height);

        server.addSignal({ signal: "lock-contention", severity: 3, sentence, evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(), cell = page.locator(".jvms tbody tr").first().locator(".signal-cell");

        await page.locator(".signal-cell", { hasText: sentence }).waitFor();
        for (const viewport of [{ width: 1440, height: 900 }, { width: 1280, height: 800 }, { width: 390, height: 844 }]) {
            await page.setViewportSize(viewport);
            assert.ok(await cell.evaluate((one) => one.scrollHeight <= one.clientHeight && one.getBoundingClientRect().right <= innerWidth), `cut off at ${viewport.width}`);
            assert.equal((await mains(page))[0], "Application"); // its name is whole, too
            assert.ok(await page.locator(".jvm-link").first().evaluate((link) => link.getBoundingClientRect().width <= link.closest("td").clientWidth - 16));
            const before = await height(page);

            await cell.evaluate((one) => {
                one.whole = one.whole || one.lastElementChild.textContent;
                one.lastElementChild.textContent = "short";
            });
            assert.equal(await height(page), before);
            await cell.evaluate((one) => { one.lastElementChild.textContent = one.whole; });
        }
        await close(page);
    });

    nodeTest("a JVM that allocates nothing: the form says that a capture cannot answer, and what can", async ({ server, open }) => {
        const working = server.heapAt.bind(server);
        let stopped = 0;

        server.heapAt = (now) => {
            const heap = working(now), last = heap.history.time.findLastIndex((t) => Date.parse(t) < stopped);

            if (stopped)
                heap.history.allocated = heap.history.allocated.map((bytes, i, all) => all[Math.min(i, last)]);
            return stopped ? { ...heap, allocation: { ...heap.allocation, bytes_per_second: 0 } } : heap;
        };
        const page = await open(`#/jvm/${ORDERS}?start=live`), said = page.locator(".capture-prospect");

        await server.asked(/jvms\/4242\/heap/);
        await page.locator(".capture-cost", { hasText: "Objects that stay" }).waitFor();
        assert.equal(await said.count(), 0);
        stopped = Date.now() - 60000;
        await page.getByLabel("Who allocates?").check();
        await said.waitFor();
        assert.match(plain(await said.textContent()), /^This cannot answer now: the JVM allocates 0 B\/s, /);
        await page.getByLabel("Where does CPU time go?").check();
        await said.waitFor({ state: "detached" });
        await page.getByLabel("What stays: is it a leak?").check();
        await said.waitFor();
        const since = stopped;

        stopped = 0; // it works again
        await said.waitFor({ state: "detached" });
        stopped = since;
        await said.waitFor();
        assert.match(plain(await said.textContent()), /jcmd 4242 GC\.class_histogram/);
        await said.getByRole("link", { name: "What ran until it stopped" }).click();
        const params = await server.asked(/GET \/profile\?pid=4242&from=20.*format=json/), to = Date.parse(params.get("to"));

        assert.ok(Math.abs(to - stopped) < 3000, iso(to)); // the last point with work
        assert.equal(Math.round((to - Date.parse(params.get("from"))) / 1000), 300);
        await close(page);
    });

    nodeTest("a JVM that used no CPU: a sentence says which pools are idle and what others wait for; one press leads to them", async ({ server, open }) => {
        server.waiting = ORDERS;
        server.profile = (options) => {
            const profile = makeProfile(options);

            for (const stack of profile.stacks)
                stack.idle = profile.frames[stack.frames[0]].name.startsWith("[http-worker");
            return profile;
        };
        const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ }), line = page.locator(".idle-pools", { hasText: /./ });

        await line.waitFor();
        assert.match(await line.textContent(), /^Its threads: http-worker-\* × 3 are idle/);
        assert.doesNotMatch(await line.textContent(), /VM Thread|GC Thread/);
        const filled = () => page.evaluate(() => [...document.querySelectorAll(".tool")].filter((one) => one.checkVisibility() && getComputedStyle(one).fontWeight === "600").map((one) => one.textContent));

        assert.deepEqual(await filled(), ["What its threads do"]);
        await page.getByRole("button", { name: "Capture …" }).click();
        await page.getByRole("button", { name: "Start", exact: true }).waitFor();
        assert.deepEqual(await filled(), ["Start"]); // one is what is asked now
        await page.getByRole("button", { name: "Capture …" }).click();
        await page.getByRole("button", { name: "What its threads do" }).click();
        await page.locator(".threads .name").first().waitFor();
        await close(page);
    });

    nodeTest("the timeline says at the pointer all that happened there, also where flags would cover each other", async ({ server, open }) => {
        const at = Date.now() - 60000, mark = (offset, text) => server.marks.push({ main: "com.acme.shop.Application", time: iso(at + offset), kind: "deploy", pid: ORDERS, text });

        mark(0, "version 1");
        mark(500, "version 2");
        mark(900, "version 3");
        const page = await open(`#/jvm/${ORDERS}?span=300`), note = page.locator(".timeline-note");
        const plot = await page.locator(".timeline-plot").boundingBox();
        let best = "", place = 0;

        for (const end = Date.now() + 20000; !/version 1.*version 2.*version 3/.test(best) && Date.now() < end;)
            for (let x = plot.x + plot.width * 0.7; x < plot.x + plot.width * 0.85 && !/version 3/.test(best); x += 4) { // marks come with an answer of their own
                await page.mouse.move(x, plot.y + 30);
                best = await textOf(page, ".timeline-note");
                place = x;
            }
        assert.match(best, /version 1.*version 2.*version 3/);
        const box = await note.boundingBox();

        assert.ok(box.x <= place + 2 && box.x + box.width >= place - 2 && Math.abs(box.x + box.width - place) < 4, `the pointer is at ${place}, the note ${box.x} to ${box.x + box.width}`);
        await page.mouse.move(plot.x + 80, plot.y + 30);
        assert.ok(Math.abs((await note.boundingBox()).x - plot.x - 80) < 4);
        await close(page);
    });

    nodeTest("the colours of signals are explained beside the list", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 2, sentence: "20 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(), legend = page.locator(".severity-legend");

        assert.equal(plain(await legend.textContent()).trim(), "Costs: most much little");
        const colour = (locator) => locator.evaluate((one) => getComputedStyle(one).color);

        await page.locator(".jvms .signal.much").waitFor();
        assert.equal(await colour(legend.locator(".much")), await colour(page.locator(".jvms .signal.much")));
        await page.getByRole("link", { name: "Application" }).click();
        assert.match(await page.locator(".signal-line .signal").getAttribute("title"), /^severity 2 of 3: it costs 15 %/);
        await close(page);
    });

    nodeTest("pauses for garbage collection: the line names who allocates, and its link opens the form above the graph, which stays", async ({ server, open }) => {
        server.addSignal({ signal: "gc-pauses", severity: 3, sentence: "65 % of the last 30 s went to pauses", evidence: "/api/v1/jvms/4242/heap" });
        server.profile = (options) => {
            const profile = makeProfile(options), isAppend = (f) => profile.frames[f].name === "java.lang.StringBuilder.append";

            return { ...profile, frames: [...profile.frames, { name: "OptoRuntime::new_array_C", kind: "jvm" }],
                stacks: profile.stacks.map((one) => (isAppend(one.frames.at(-1)) ? { ...one, frames: [...one.frames, profile.frames.length] } : one)) };
        };
        const page = await open(`#/jvm/${ORDERS}`), graph = page.locator(".panel .graph").first(), words = page.locator(".signal-words");

        await graphShown(page);
        await page.waitForFunction(() => /By CPU samples, JsonWriter\.write allocates most \(100\.0.% of 153\)\./.test(document.querySelector(".signal-words").textContent));
        await graph.evaluate((one) => { one.isSame = true; });
        await words.getByRole("link", { name: "Who allocates" }).click();
        await page.waitForFunction(() => document.querySelector(".question input[value=alloc]")?.checked && document.activeElement.type === "number");
        assert.ok(await graph.evaluate((one) => one.isSame) && await graph.isVisible());
        assert.doesNotMatch(page.url(), /start=/);
        await page.keyboard.press("Escape");
        await page.locator(".question").first().waitFor({ state: "hidden" });
        await page.getByLabel("What the flame graph shows", { exact: true }).selectOption("offcpu"); // waits do not allocate
        await page.locator(".signal-words", { hasNotText: "allocates most" }).waitFor();
        await page.setViewportSize({ width: 700, height: 800 }); // its lines are more there, and not once they need not be
        const height = () => page.locator(".signals").evaluate((strip) => strip.getBoundingClientRect().height), narrow = await height();

        await page.setViewportSize({ width: 1440, height: 800 });
        await page.waitForFunction((before) => document.querySelector(".signals").getBoundingClientRect().height < before, narrow);
        assert.equal(await height(), await page.locator(".signal-words").evaluate((one) => one.closest(".signal-line").scrollHeight + 3));
        await close(page);
    });

    nodeTest("the whole sentence of a signal is in sight at every width", async ({ server, open }) => {
        const sentence = "6 min ago the heap was full; then a collection freed 64 MiB of it; since then the JVM uses 0.1 % of a CPU, 2.0 % before that: an OutOfMemoryError may have ended the threads that worked, which its log shows";

        server.addSignal({ signal: "heap-full", severity: 3, sentence, evidence: "/api/v1/jvms/4242/heap" });
        const page = await open(`#/jvm/${ORDERS}`), words = page.locator(".signal-line .signal-words");

        await words.waitFor();
        for (const width of [1440, 1000, 820, 660, 390]) {
            await page.setViewportSize({ width, height: 844 });
            const cut = await words.evaluate((node, wanted) => {
                const range = document.createRange(), text = node.firstChild;

                range.setStart(text, 0);
                range.setEnd(text, wanted);
                return range.getBoundingClientRect().bottom - node.getBoundingClientRect().bottom;
            }, sentence.length);

            assert.ok(cut < 1, `${cut} px of it are hidden at ${width}`);
        }
        await close(page);
    });
});
