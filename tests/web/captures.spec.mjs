// SPDX-License-Identifier: Apache-2.0
// Captures, from the question to what they show, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { addressOf, close, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, graphShown, nodeTest } from "./node_test.mjs";

describe("captures", { concurrency: 4 }, () => {
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
        assert.equal(await textOf(page, ".capture-cost"), "Objects that stay. It costs 2 to 10 µs a sample.");
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
        assert.equal(await span.inputValue(), "300"); // the record reaches no further; no picture of less was shown before
        await server.asked(/\/profile\?pid=4242&from=2.*&format=json/); // as far as is recorded
        assert.equal(await span.locator("option:checked").textContent(), "5 min");
        await span.selectOption("60");
        await page.waitForURL(/live=60/);
        await page.reload();
        await server.asked(/\/profile\?pid=4242&from=-60s/);
        await graphShown(page);
        assert.equal(await span.inputValue(), "60"); // as a person said it
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
        await page.locator(".progress-text", { hasText: /[2-9]\d\d.samples/ }).waitFor(); // fewer are too few for each operation to have one
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
        await page.locator(".requests-view .sub-row .track").first().hover(); // once it stands still
        await page.locator(".requests-view .live-note", { hasText: /^http-worker-1 · Network 190.ms from 30\.0.ms on · \[network\]$/ }).waitFor();
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

    nodeTest("threads over time are offered where an event measures time: bytes have no length", async ({ server, open }) => {
        const [bytes, both] = ["alloc", "cpu,alloc"].map((event) => server.addCapture({ ago: 60000, event })), page = await open(`#/capture/${bytes.id}?threads=1`);
        const threads = page.getByRole("button", { name: "Threads", exact: true });

        await graphShown(page);
        assert.ok(!await threads.isVisible());
        await page.evaluate((hash) => { location.hash = hash; }, `#/capture/${both.id}?threads=1`);
        await page.locator(".threads .name", { hasText: "http-worker" }).waitFor();
        await page.getByLabel("Event").selectOption("alloc");
        await graphShown(page);
        assert.ok(!await threads.isVisible());
        await page.waitForURL((url) => /event=alloc/.test(url.hash) && !/threads=1/.test(url.hash));
        await page.getByLabel("Event").selectOption("cpu");
        await threads.waitFor();
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
        assert.ok(await page.evaluate(() => document.activeElement === document.querySelector(".crumbs a"))); // in one step: a link may be replaced
        const name = await page.locator(".crumbs > :last-child").textContent();

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${server.jvms[2].pid}`);
        await page.waitForFunction((old) => document.querySelector(".crumbs > :last-child").textContent !== old, name);
        assert.ok(await page.evaluate(() => document.activeElement === document.querySelector(".crumbs a"))); // other names replace nothing
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
        for (const end = Date.now() + 20000; !posts.length && Date.now() < end;)
            await page.waitForTimeout(20);
        await page.waitForTimeout(100); // a second one would follow at once
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

    nodeTest("a capture that runs has a progress and Stop, and nothing that would take them away", async ({ server, open }) => {
        const running = server.addCapture({ running: true, seconds: 1000 }), page = await open(`#/capture/${running.id}`);
        const tools = ["Threads", "Download"].map((name) => page.getByRole("button", { name, exact: true })), compare = page.locator(".bar.sub .tool", { hasText: "Compare" });

        await page.locator(".progress-text", { hasText: "samples" }).waitFor();
        for (const tool of [...tools, compare])
            assert.ok(!await tool.isVisible());
        await page.keyboard.press("t"); // a key of the graph
        await page.getByRole("button", { name: "Stop" }).click();
        await graphShown(page);
        for (const tool of [...tools, compare])
            await tool.waitFor();
        await close(page);
    });

    nodeTest("an event that is refused leaves no graph of another one, and can be tried again", async ({ server, open }) => {
        const { id } = server.addCapture({ ago: 60000, event: "cpu,wall,lock" }), page = await open(`#/capture/${id}`, { allow: /503/ });
        const refused = page.locator(".content .blank", { hasText: "flamed is busy" }), event = page.getByLabel("Event");

        await graphShown(page);
        await page.route(/profile\?.*event=(wall|lock)/, (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ status: 503, detail: "flamed is busy" }) }));
        await event.selectOption("wall");
        await refused.waitFor();
        assert.equal(await page.locator(".panel").count(), 0);
        await page.waitForURL(/event=wall/); // a link to what is chosen
        for (const key of ["e", "r", "t"])
            await page.keyboard.press(key);
        await page.getByRole("button", { name: "Threads", exact: true }).click();
        await page.getByRole("button", { name: "Threads", exact: true }).click();
        await refused.waitFor();
        await page.unrouteAll();
        await page.reload();
        await graphShown(page);
        assert.equal(await event.inputValue(), "wall");
        assert.ok(!/[?&][rt]=/.test(await addressOf(page)), await addressOf(page)); // the keys changed nothing
        await page.route(/profile\?.*event=lock/, (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ status: 503, detail: "flamed is busy" }) }));
        await event.selectOption("lock");
        await refused.waitFor();
        await page.unrouteAll();
        await page.getByRole("button", { name: "Try again" }).click();
        await graphShown(page);
        await close(page);
    });

    nodeTest("a click anywhere in its row opens a capture, but for the buttons", async ({ server, open }) => {
        const { id } = server.addCapture({ ago: 50000 }), page = await open("#/captures"), row = page.locator(".captures tbody tr", { has: page.locator(`a[href*="${id}"]`) });

        await row.getByRole("button", { name: /^Remove/ }).click();
        await row.getByRole("button", { name: /^Really remove/ }).and(page.locator(".armed")).waitFor();
        assert.match(page.url(), /#\/captures$/);
        await row.locator(".col-event").click();
        await page.waitForURL(new RegExp(`#/capture/${id}`));
        await graphShown(page);
        await close(page);
    });
});
