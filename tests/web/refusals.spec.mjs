// SPDX-License-Identifier: Apache-2.0
// Answers that are refused, late or out of order: what was known stays, what is not known is said, and the newest choice wins.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { close, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, drawnAfter, graphShown, nodeTest } from "./node_test.mjs";

const refusal = { status: 503, contentType: "application/problem+json", body: JSON.stringify({ status: 503, detail: "flamed is busy", remedy: "Try again" }) };
const refuse = (page, pattern) => page.route(pattern, (route) => route.fulfill(refusal));

// The page's clock goes forward, and all that renews itself does so.
const later = (page, ms) => page.evaluate((more) => {
    const now = Date.now.bind(Date);

    Date.now = () => now() + more;
    document.dispatchEvent(new Event("visibilitychange"));
}, ms);

describe("refusals", { concurrency: 4 }, () => {
    nodeTest("the list keeps what has ended and what is wrong while flamed refuses to say it, and says so", async ({ server, open }) => {
        server.addEnded({ pid: 3003, ago: 600 });
        const page = await open("", { allow: /503/ });

        await page.locator(".ended tbody tr").first().waitFor();
        await refuse(page, /api\/v1\/services/);
        await later(page, 20000);
        await page.locator(".banner", { hasText: "is not known now: flamed is busy" }).waitFor();
        assert.equal(await page.locator(".ended tbody tr").count(), 1);
        await page.unroute(/api\/v1\/services/);
        await later(page, 20000);
        await page.locator(".banner").waitFor({ state: "hidden" });
        await close(page);
    });

    nodeTest("signals that are refused are not known: neither a new graph nor a press says that nothing is wrong", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}`, { allow: /503/ });

        await graphShown(page);
        await refuse(page, /api\/v1\/signals/);
        await later(page, 0);
        await page.locator(".signal-line", { hasText: "What is wrong is not known: flamed is busy" }).waitFor();
        const before = await page.locator(".panel .facts").textContent(); // begins with its time

        await page.waitForFunction((text) => document.querySelector(".panel .facts").textContent !== text, before);
        assert.match(await textOf(page, ".signal-line"), /is not known/);
        await close(page);
    });

    for (const status of [429, 503])
        nodeTest(`a live graph whose next ones are refused (${status}) says of when it is`, async ({ open }) => {
            const page = await open(`#/jvm/${ORDERS}`, { allow: new RegExp(status) });

            await graphShown(page);
            await page.route(/profile\?/, (route) => route.fulfill({ ...refusal, status }));
            await later(page, 0);
            await drawnAfter(page);
            assert.ok(await page.locator(".banner").isHidden()); // one is missed now and then
            await later(page, 11000);
            await page.locator(".banner", { hasText: /^flamed is busy\. This graph is of \d\d:\d\d:\d\d\. Trying again/ }).waitFor();
            assert.ok(await page.locator(".panel .facts").isVisible());
            await page.unroute(/profile\?/);
            await page.locator(".banner").waitFor({ state: "hidden" });
            await close(page);
        });

    nodeTest("threads that are refused leave nothing of before: no numbers, no flame chart, no way to a time of it", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}?tab=threads`, { allow: /503/ }), note = page.locator(".thread-chart .live-note"), whole = page.getByRole("button", { name: "Whole time" });

        await page.locator(".threads .name", { hasText: "C2 CompilerThread0" }).click();
        await page.locator(".flame-chart h3").waitFor();
        await page.locator(".thread-chart .scroll").press("+");
        assert.ok(await whole.isEnabled());
        await refuse(page, /profile\?.*format=heatmap/);
        await page.getByRole("button", { name: "Again" }).click();
        await page.locator(".thread-chart .blank", { hasText: "flamed is busy" }).waitFor();
        assert.equal(await note.textContent(), "");
        assert.equal(await page.locator(".thread-chart .legend li").count(), 0);
        assert.ok(!await page.locator(".flame-chart").isVisible());
        assert.ok(await whole.isDisabled() && await page.getByRole("button", { name: "Flame graph of this time" }).isDisabled());
        await page.keyboard.press("d"); // another theme draws what is there
        await page.unroute(/profile\?.*format=heatmap/);
        await page.getByRole("button", { name: "Again" }).click();
        await note.filter({ hasText: "threads" }).waitFor();
        await close(page);
    });

    nodeTest("a heat map that is refused takes neither the graph away nor that of the next range, and can be asked for again", async ({ open }) => {
        const now = Date.now(), range = (ago) => `from=${new Date(now - ago).toISOString()}&to=${new Date(now - ago + 60000).toISOString()}`;
        const page = await open(`#/jvm/${ORDERS}?${range(120000)}`, { allow: /503/ }), heat = page.getByRole("button", { name: "Heat map" });

        await graphShown(page);
        await refuse(page, /profile\?.*format=heatmap/);
        await page.keyboard.press("e");
        await page.locator(".banner", { hasText: "No heat map: flamed is busy" }).waitFor();
        assert.ok(await page.locator(".panel .facts").isVisible());
        const asked = [];

        page.on("request", (request) => asked.push(request.url()));
        await page.locator(".timeline-plot").press("ArrowLeft"); // another range
        await page.locator(".banner").waitFor({ state: "hidden" });
        await graphShown(page);
        await page.waitForFunction(() => !document.querySelector(".view").hasAttribute("aria-busy"));
        assert.ok(await page.locator(".panel .facts").isVisible());
        assert.deepEqual(asked.filter((url) => url.includes("format=heatmap")), []);
        await page.unroute(/profile\?.*format=heatmap/);
        await heat.click();
        await page.locator(".heat-canvas").waitFor();
        await refuse(page, /profile\?.*format=heatmap/);
        await page.locator(".timeline-plot").press("ArrowRight");
        await page.locator(".banner", { hasText: "No heat map: flamed is busy" }).waitFor();
        assert.equal(await page.locator(".heat-canvas").count(), 0); // that was of the range before
        assert.ok(await page.locator(".panel .facts").isVisible());
        assert.equal(await heat.getAttribute("aria-pressed"), "false");
        await close(page);
    });

    nodeTest("memory and requests that are refused leave no numbers of before", async ({ server, open }) => {
        const capture = server.addCapture({ ago: 60000, event: "cpu,offcpu", by: "operation" }), heapAt = server.heapAt.bind(server);
        const page = await open(`#/jvm/${ORDERS}?tab=memory`, { allow: /503/ }), note = page.locator(".live-note").first();

        await note.filter({ hasText: "RSS" }).waitFor();
        server.heapAt = (now) => ({ ...heapAt(now), resident: null, resident_problem: "it takes longer to count the pages" });
        await page.locator(".blank", { hasText: "it takes longer" }).waitFor();
        assert.equal(await note.textContent(), "");
        assert.ok(!await page.locator(".heap-classes").isVisible());
        assert.ok(await page.locator(".memory-charts").isVisible());
        await page.evaluate((hash) => { location.hash = hash; }, `#/capture/${capture.id}?single=1`);
        const view = page.locator(".requests-view");

        await view.locator(".live-note", { hasText: "2 requests" }).waitFor();
        await refuse(page, /profile\?.*format=requests/);
        await page.getByLabel("Operation or trace id").fill("^GET");
        await page.keyboard.press("Enter");
        await view.locator(".blank", { hasText: "flamed is busy" }).waitFor();
        assert.equal(await view.locator(".live-note").textContent(), "");
        assert.equal(await view.locator(".legend li").count(), 0);
        await page.unroute(/profile\?.*format=requests/);
        await view.getByRole("button", { name: "Try again" }).click();
        await view.locator(".live-note", { hasText: /requests?/ }).waitFor();
        await close(page);
    });

    nodeTest("what was asked for in one view does nothing in the next: a download, a kept range, a heat map", async ({ server, open }) => {
        const iso = (ago) => new Date(Date.now() - ago).toISOString(), capture = server.addCapture({ ago: 60000, event: "cpu,wall" });
        const page = await open(`#/jvm/${ORDERS}?from=${iso(90000)}&to=${iso(30000)}`, { allow: /503/ });
        const held = [];
        const hold = (pattern, answer) => page.route(pattern, async (route) => {
            await new Promise((done) => held.push(done));
            await (answer ? route.fulfill(answer) : route.continue()).catch(() => {});
        });
        const asked = (pattern, press) => Promise.all([page.waitForRequest(pattern), press()]);
        const leave = async (hash) => {
            await page.evaluate((to) => { location.hash = to; }, hash);
            await page.locator(".crumbs", { hasText: /Billing|Whole node|Captures$/ }).waitFor();
            held.splice(0).forEach((release) => release());
            await page.unrouteAll({ behavior: "wait" });
            await drawnAfter(page);
            assert.ok(await page.locator(".banner").isHidden(), await page.locator(".banner").textContent());
        };

        await graphShown(page);
        await hold(/openapi\.json/);
        await asked(/openapi\.json/, () => page.getByRole("button", { name: "Download" }).click());
        await leave("#/jvm/4311");
        await page.waitForTimeout(300);
        assert.equal(await page.locator(".menu").count(), 0);
        for (const answer of [refusal, undefined]) {
            await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?from=${iso(90000)}&to=${iso(30000)}`);
            await graphShown(page);
            await page.locator(".crumbs", { hasText: "Application" }).waitFor();
            await hold(/api\/v1\/captures$/, answer);
            await asked(/api\/v1\/captures$/, () => page.getByRole("button", { name: "Keep this range" }).click());
            await leave("#/jvm/4311");
            await page.waitForTimeout(300);
            assert.match(page.url(), /jvm\/4311/);
        }
        await page.evaluate((hash) => { location.hash = hash; }, `#/capture/${capture.id}`);
        await page.locator(".crumbs", { hasText: "Application" }).waitFor();
        await graphShown(page);
        await hold(/format=heatmap/);
        await asked(/format=heatmap/, () => page.keyboard.press("e"));
        await page.getByLabel("Event").selectOption("wall");
        await page.waitForURL(/event=wall/);
        await drawnAfter(page);
        assert.ok(await page.locator(".banner").isHidden(), await page.locator(".banner").textContent());
        await page.keyboard.press("e");
        await leave("#/captures");
        await close(page);
    });

    nodeTest("a service that could not be asked about for a moment has no banner afterwards", async ({ open }) => {
        const page = await open("#/service/Application", { allow: /503/ });

        await graphShown(page);
        await refuse(page, /api\/v1\/services/);
        await later(page, 0);
        await page.locator(".banner", { hasText: "flamed is busy" }).waitFor();
        await page.unroute(/api\/v1\/services/);
        await later(page, 0);
        await page.locator(".banner").waitFor({ state: "hidden" });
        await close(page);
    });

    nodeTest("what went wrong with a press stays in sight while a JVM's facts are renewed", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`, { allow: /503/ });

        await graphShown(page);
        await refuse(page, /openapi\.json/);
        await page.getByRole("button", { name: "Download" }).click();
        await page.locator(".banner", { hasText: "flamed is busy" }).waitFor();
        server.jvms.find(({ pid }) => pid === ORDERS).threads = 43;
        await page.locator(".jvm-facts", { hasText: /43.threads/ }).waitFor();
        assert.match(await textOf(page, ".banner"), /flamed is busy/);
        await close(page);
    });

    nodeTest("what is refused again and again stands still: the list of JVMs, and that of captures", async ({ open }) => {
        for (const [hash, pattern] of [["", /api\/v1\/jvms$/], ["#/captures", /api\/v1\/captures\?/]]) {
            const page = await open("#/health", { allow: /503/ });

            await refuse(page, pattern);
            await page.evaluate((to) => { location.hash = to; }, hash || "#/");
            const state = page.locator(".blank[role=alert]", { hasText: "flamed is busy" });

            await state.waitFor();
            await state.evaluate((node) => { node.isMarked = true; });
            await later(page, 0);
            await drawnAfter(page);
            await page.waitForResponse(pattern);
            await drawnAfter(page);
            assert.ok(await state.evaluate((node) => node.isMarked));
            await close(page);
        }
    });

    nodeTest("locks of a range, and a minute to compare with, that are refused can be had again", async ({ server, open }) => {
        const iso = (ago) => new Date(Date.now() - ago).toISOString(), page = await open("", { allow: /503|404/ });

        await refuse(page, /profile\?.*event=lock/);
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?from=${iso(90000)}&to=${iso(30000)}&tab=locks`);
        await page.locator(".locks-view .blank", { hasText: "flamed is busy" }).waitFor();
        await page.unroute(/profile\?.*event=lock/);
        await page.getByRole("button", { name: "Try again" }).click();
        await page.locator(".locks-view td").first().waitFor();
        server.reaches = Date.now() - 600000;
        await refuse(page, /timeline\?.*buckets=1$/);
        await page.evaluate((hash) => { location.hash = hash; }, `#/compare?a=4242,${iso(7260000)},${iso(7200000)}&b=4242,${iso(90000)},${iso(30000)}`);
        const oldest = page.getByRole("button", { name: "Take the oldest recorded minute" });

        await oldest.click();
        await page.locator(".blank", { hasText: "flamed is busy" }).waitFor();
        await page.unroute(/timeline\?.*buckets=1$/);
        await oldest.click();
        await page.locator(".change-list").waitFor();
        await close(page);
    });

    nodeTest("a slash can be typed into the filter", async ({ open }) => {
        const page = await open("");

        await page.locator(".jvms .jvm-link").first().waitFor();
        await page.keyboard.press("/");
        await page.keyboard.type("opt/kafka");
        assert.equal(await page.locator(".search-text").inputValue(), "opt/kafka");
        await close(page);
    });

    nodeTest("of two groupings of a capture, the later choice is what is drawn, whichever answer comes last", async ({ server, open }) => {
        const { id } = server.addCapture({ ago: 60000, by: "operation" });
        let release;
        const held = new Promise((done) => { release = done; });
        const page = await open(`#/capture/${id}`);

        await graphShown(page);
        await page.route(/profile\?format=json&by=operation/, async (route) => {
            await held;
            await route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(makeProfile({ seconds: 1 })) }).catch(() => {}); // it was left
        });
        const samples = async () => /\d+.samples/.exec(await textOf(page, ".panel .facts"))[0], before = await samples();

        await page.getByLabel("Grouped").selectOption("operation");
        await page.getByLabel("Grouped").selectOption("");
        await server.asked(/profile\?format=json&threads=1/);
        await graphShown(page);
        release();
        await drawnAfter(page);
        assert.equal(await samples(), before);
        await close(page);
    });

    nodeTest("a range that comes late does not come over the live graph", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}`);
        let release;
        const held = new Promise((done) => { release = done; });
        const iso = (ago) => new Date(Date.now() - ago).toISOString();

        await graphShown(page);
        await page.route(/profile\?.*&to=/, async (route) => {
            await held;
            await route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(makeProfile({ seconds: 1 })) }).catch(() => {});
        });
        const facts = /\d+ samples/.exec((await textOf(page, ".panel .facts")).replaceAll("\u00a0", " "))[0];

        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}?from=${iso(90000)}&to=${iso(30000)}`);
        await page.locator(".crumbs", { hasText: "–" }).waitFor();
        await page.keyboard.press("l");
        await graphShown(page);
        release();
        await drawnAfter(page);
        assert.match((await textOf(page, ".panel .facts")).replaceAll("\u00a0", " "), new RegExp(facts));
        await close(page);
    });

    nodeTest("an ended JVM keeps its range: there is nothing live to go to", async ({ server, open }) => {
        server.addEnded({ pid: 3003, ago: 600 });
        const page = await open("#/jvm/3003", { allow: /404/ });

        await page.waitForURL(/from=.*to=/);
        await graphShown(page);
        await page.keyboard.press("l");
        assert.match(page.url(), /from=.*to=/);
        assert.ok(await page.locator(".panel .facts").isVisible());
        await close(page);
    });

    nodeTest("a JVM that has gone idle has no graph of before under the word Live", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}`, { allow: /404/ });

        await graphShown(page);
        await page.route(/profile\?pid=4242.*format=json/, (route) => route.fulfill({ status: 404, contentType: "application/problem+json",
            body: JSON.stringify({ status: 404, detail: "no samples of this target are known in that time", parameter: "from" }) }));
        await later(page, 0);
        await page.locator(".idle-state").waitFor();
        await close(page);
    });

    nodeTest("the form of a capture asks again which events there are, and refuses no question until it knows", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}`, { allow: /503/ });

        await graphShown(page);
        await refuse(page, /api\/v1\/events/);
        await page.keyboard.press("x");
        await page.locator(".form-problem", { hasText: "What can be asked here is not known: flamed is busy" }).waitFor();
        assert.equal(await page.locator(".question input:disabled").count(), 0);
        await page.unroute(/api\/v1\/events/);
        await page.keyboard.press("Escape");
        await page.keyboard.press("x");
        await page.locator(".question input:disabled").first().waitFor({ state: "attached" });
        assert.ok(!await page.locator(".form-problem").isVisible());
        const names = await page.getByLabel("Together with").locator("option").evaluateAll((list) => list.map((one) => one.value));

        assert.equal(new Set(names).size, names.length); // each once
        await close(page);
    });

    nodeTest("a moment of an hour ago is in sight on the timeline, which says what it went to", async ({ open }) => {
        const iso = (ago) => new Date(Date.now() - ago).toISOString();
        const page = await open(`#/jvm/${ORDERS}?from=${iso(3000000)}&to=${iso(2940000)}`), chosen = page.locator("[aria-valuetext]");

        await graphShown(page);
        assert.equal(await page.getByLabel("How much the timeline shows").inputValue(), "3600");
        await page.locator(".timeline .legend .num", { hasText: /[1-9]/ }).first().waitFor();
        const at = Number(await chosen.getAttribute("aria-valuenow"));

        assert.ok(at > 0 && at < 30, String(at));
        await page.keyboard.press("l");
        assert.equal(await page.getByLabel("How much the timeline shows").inputValue(), "300"); // as nobody chose another
        await close(page);
    });

    nodeTest("the list of captures is renewed around a button that was pressed once", async ({ server, open }) => {
        server.addCapture({ ago: 60000 });
        const running = server.addCapture({ running: true, seconds: 1000 });
        const page = await open("#/captures"), remove = page.getByRole("button", { name: /emove the capture/ });

        await remove.first().focus();
        await page.keyboard.press("Enter");
        for (let i = 0; i < 2; i++) {
            const renewed = page.waitForResponse(/api\/v1\/captures\?/);

            running.started -= 50000; // it is further on
            await later(page, 0);
            await (await renewed).finished();
        }
        assert.equal(await page.evaluate(() => document.activeElement.textContent), "Really?");
        assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Really remove the capture of /);
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => !document.querySelector(".captures .armed"));
        await close(page);
    });

    nodeTest("by keys, a link to another view leads into it", async ({ open }) => {
        const page = await open("");

        await page.locator(".jvms .jvm-link").first().focus();
        await page.keyboard.press("Enter");
        await graphShown(page);
        assert.equal(await page.evaluate(() => document.activeElement.tagName), "MAIN");
        await close(page);
    });

    nodeTest("older captures are added once, however often it is pressed, and a failure is said", async ({ server, open }) => {
        for (let i = 0; i < 130; i++)
            server.addCapture({ ago: 1000 * (i + 1) });
        const page = await open("#/captures", { allow: /503/ }), more = page.getByRole("button", { name: "Older ones" });

        await more.waitFor();
        await refuse(page, /captures\?.*cursor=/);
        await more.click();
        const problem = page.locator(".blank", { hasText: "flamed is busy" });

        await problem.waitFor();
        const renewed = page.waitForResponse(/captures\?limit/);

        await later(page, 0);
        await renewed;
        await drawnAfter(page);
        assert.ok(await problem.isVisible());
        await page.unroute(/captures\?.*cursor=/);
        await more.dblclick();
        await page.locator(".captures tbody tr").nth(110).waitFor();
        const links = await page.locator(".captures tbody .jvm-link").evaluateAll((list) => list.map((a) => a.getAttribute("href")));

        assert.equal(new Set(links).size, links.length);
        // A list that was led further back goes on: a new one runs and ends, and a removed one goes.
        const rows = page.locator(".captures tbody tr"), gone = server.captures[3].id;

        server.captures = server.captures.filter(({ id }) => id !== gone);
        const running = server.addCapture({ running: true, seconds: 3600 });

        running.id = "f".repeat(32);
        await later(page, 0);
        await rows.first().locator(".col-state", { hasText: /^running, / }).waitFor();
        running.until = 0;
        await later(page, 0);
        await rows.first().locator(".col-state", { hasText: "done" }).waitFor();
        assert.equal(await rows.count(), 130);
        assert.equal(await page.locator(`.captures a.jvm-link[href$="${gone}"]`).count(), 0);
        await close(page);
    });
});
