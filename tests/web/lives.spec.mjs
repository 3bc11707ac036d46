// SPDX-License-Identifier: Apache-2.0
// JVMs and services that begin, change, end and come back, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { addressOf, close, findFrame, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, graphShown, mains, nodeTest } from "./node_test.mjs";

const NEEDED = { samples: 300, seconds: 45 }; // of each side of a comparison

describe("lives", { concurrency: 4 }, () => {
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
        assert.match(await textOf(page, ".signal-line"), /^Version 2\.4\.1 after 2\.4\.0 since (\d{4}-\d\d-\d\d )?\d\d:\d\d: what changed\s*No signal/);
        server.words = (response) => server.send(response, 200, { samples: 812, sentences: [] });
        await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // asks again
        await page.getByText("No signal so far.").waitFor(); // a release is young: not that nothing is wrong
        delete server.words;
        assert.equal(await page.locator(".deploy-link").getAttribute("href"), "#/service/BillingService?tab=changes");
        await page.setViewportSize({ width: 390, height: 844 });
        assert.ok(await page.locator(".signal-line").evaluate((line) => line.getBoundingClientRect().right <= innerWidth), "cut off on a phone");
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${ORDERS}`);
        await page.locator(".crumbs", { hasText: "Application" }).waitFor();
        await page.locator(".signal-none", { hasText: "No signal, but this changed" }).waitFor();
        assert.equal(await page.locator(".deploy-link").count(), 0); // it is another service's
        server.requests = [];
        await page.evaluate((hash) => { location.hash = hash; }, `#/jvm/${server.jvms[1].pid}?tab=changes`);
        await server.asked(/changes\?service=BillingService$/); // it began with the release: there is nothing before
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
        await page.getByLabel("What is compared").selectOption(""); // else the choice of before is kept
        await page.waitForURL((url) => !/ch=/.test(url.hash));
        await page.reload();
        await page.locator(".blank a", { hasText: "Compare the graphs" }).waitFor(); // there is a way on
        await page.getByRole("link", { name: "Compare the graphs" }).click(); // once
        await page.locator(".change-list").waitFor();
        const address = await addressOf(page);
        const [a, b] = ["a", "b"].map((side) => new URLSearchParams(address.split("?")[1]).get(side).split(","));

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
        for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) { // nothing that scrolls is around another that does
            await page.setViewportSize(viewport);
            assert.deepEqual(await page.locator(".compare-inside .graph").first().evaluate((graph) => {
                const list = [];

                for (let one = graph.parentElement; one; one = one.parentElement)
                    if (/auto|scroll/.test(getComputedStyle(one).overflowY) && one.scrollHeight > one.clientHeight + 1)
                        list.push(one.className);
                return list.slice(1);
            }), [], `at ${viewport.width}`);
        }
        assert.ok(!await page.locator(".side-select").first().isVisible());
        assert.match(await text(), /^144 samples: too few to tell.*What differs so far stands below, and may be chance\. Before: 2026-11-26 03:01:00 – 2026-11-26 03:03:00\. After: 2026-11-26 03:03:00 – 2026-11-26 03:05:00\./);
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

    nodeTest("a service whose last JVM has ended says of when its graph is", async ({ server, open }) => {
        const page = await open(`#/service/Application`);

        await graphShown(page);
        const [gone] = server.jvms.splice(0, 1);

        server.addEnded({ pid: gone.pid, main: gone.main, ago: 1 });
        await page.locator(".banner", { hasText: /^No JVM of this service runs now\. This graph is of \d\d:\d\d:\d\d\./ }).waitFor();
        server.jvms.unshift(gone);
        await page.locator(".banner").waitFor({ state: "hidden" });
        await close(page);
    });

    nodeTest("a live graph that is held: its time is what is downloaded, compared and linked, until it is live again", async ({ server, open }) => {
        const page = await open(`#/jvm/${ORDERS}`), live = page.getByRole("button", { name: "Live", exact: true });
        const timesOf = (text) => ["from", "to"].map((name) => Date.parse(new URLSearchParams(text.slice(text.indexOf("?"))).get(name)));
        const isHeld = ([from, to]) => Math.abs(from - held[0]) < 2 && Math.abs(to - held[1]) < 2; // the last moment is part of it

        await graphShown(page);
        await page.getByRole("button", { name: "Top", exact: true }).click();
        await page.keyboard.press("l"); // nothing is live there that one sees
        await page.getByRole("button", { name: "Flame graph", exact: true }).click();
        assert.equal(await live.getAttribute("aria-pressed"), "true");
        await live.click();
        await page.waitForURL(/from=.*to=/);
        const held = timesOf(await addressOf(page)), shown = await textOf(page, ".panel .facts");

        assert.ok(held[1] - held[0] === 60000 && Date.now() - held[1] < 10000, held.join());
        assert.equal(await live.getAttribute("aria-pressed"), "false");
        await page.getByRole("button", { name: "Download" }).click();
        assert.ok(isHeld(timesOf(await page.getByRole("menuitem").first().getAttribute("href"))));
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Locks", exact: true }).click();
        await page.locator(".locks-view td").first().waitFor();
        assert.ok(isHeld(timesOf(`?${await server.asked(/profile\?.*event=lock/)}`)));
        await page.getByRole("button", { name: "Flame graph", exact: true }).click();
        assert.equal(await textOf(page, ".panel .facts"), shown);
        await live.click();
        await page.waitForURL((url) => !/from=/.test(url.hash));
        await page.waitForRequest(/\/profile\?pid=4242&from=-60s/);
        await close(page);
    });

    nodeTest("what is live does not move under the mouse, and what is pointed at has the numbers of now", async ({ server, open }) => {
        let shape = 1;

        server.profile = (options) => makeProfile({ ...options, shape });
        const page = await open(`#/jvm/${ORDERS}?t=1`), names = () => page.locator(".methods .name").evaluateAll((list) => list.map(({ title }) => title));
        const share = (name) => page.locator(`.methods tr:has(.name[title="${name}"]) .col-total`).textContent();
        const renewed = (was, read) => page.waitForFunction(([text, selector]) => document.querySelector(selector).textContent !== text, [was, read]);

        await graphShown(page);
        const before = await names(), wasShare = await share("com.acme.shop.PriceTable.lookup"), other = page.locator(".methods tr").nth(4);

        await other.hover();
        shape = 0.1; // all else is more
        await page.waitForFunction((text) => document.querySelector('.methods tr:has(.name[title="com.acme.shop.PriceTable.lookup"]) .col-total').textContent !== text, wasShare);
        assert.deepEqual(await names(), before);
        await page.locator(".crumbs a").first().hover();
        await page.waitForFunction((first) => document.querySelector(".methods .name").title !== first, before[0]);
        assert.notDeepEqual(await names(), before);
        await findFrame(page, "com.acme.shop.db.OrderStore.load");
        const told = await textOf(page, ".status-facts"), tip = await textOf(page, ".tip");

        shape = 1;
        await renewed(tip.replaceAll(" ", "\u00a0"), ".tip");
        await page.waitForFunction((text) => document.querySelector(".status-facts").textContent.replaceAll("\u00a0", " ") !== text, told);
        assert.notEqual(await textOf(page, ".status-name"), "all");
        assert.ok(await page.locator(".tip").isVisible());
        await page.keyboard.press("o");
        const rows = page.locator(".live tbody tr:visible");

        await rows.nth(2).waitFor();
        await rows.nth(2).hover();
        await page.locator(".live-note", { hasText: "still while the mouse is on it" }).waitFor();
        const held = await rows.first().textContent();

        await page.waitForTimeout(2500); // another one came
        assert.equal(await rows.first().textContent(), held);
        await page.locator(".crumbs a").first().hover();
        await page.locator(".live-note").filter({ hasNotText: "still while" }).waitFor();
        await close(page);
    });

    nodeTest("a range is that of the places which a hand pressed and left, however long it takes", async ({ open }) => {
        const page = await open(`#/jvm/${ORDERS}?span=60`), plot = page.locator(".timeline-plot");
        const clockOf = (ms) => page.evaluate((time) => new Date(time).toTimeString().slice(0, 8), ms), pointed = async () => (await textOf(page, ".timeline-note")).slice(0, 8);

        await graphShown(page);
        const { x, y, width } = await plot.boundingBox();

        await page.mouse.move(x + width * 0.5, y + 30);
        await page.mouse.down();
        const from = await pointed();

        for (let i = 0; i < 2; i++)
            await (await page.waitForResponse(/api\/v1\/timeline/)).finished();
        await page.mouse.move(x + width * 0.7, y + 30);
        const to = await pointed();

        await page.mouse.up();
        await page.waitForURL(/from=.*to=/);
        const params = new URLSearchParams((await addressOf(page)).split("?")[1]), range = await Promise.all(["from", "to"].map((name) => clockOf(Date.parse(params.get(name)))));

        assert.deepEqual(range, [from, to]);
        const before = await plot.evaluate((node) => node.querySelector("canvas").toDataURL());

        await page.waitForFunction((old) => document.querySelector(".timeline-plot canvas").toDataURL() !== old, before); // it goes on
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
            await live.and(page.locator(":disabled")).waitFor();
            server.requests = [];
            await page.waitForTimeout(12500); // longer than its end is believed
            assert.equal(asked(), 0);
            server.ended = [];
            server.jvms.unshift(jvm);
            await page.locator(".jvm-facts", { hasText: "CPU" }).waitFor();
            await page.waitForRequest(/\/profile\?pid=4242&from=-60s/);
            assert.equal(await live.getAttribute("aria-pressed"), "true");
            for (const name of ["Live", "Capture …", "Memory", "Top"])
                await page.getByRole("button", { name, exact: true }).and(page.locator(":enabled")).waitFor();
            await page.locator(".signals").waitFor();
            await page.locator(".banner").waitFor({ state: "hidden" });
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
            /^PriceTable\.lookupcom\.acme\.shop · function38\.0 %52\.5 %\+14\.5 pp\+11\.6 pp to \+17\.4 ppunder 1 in 1,000/);
        assert.match(await textOf(page, ".change-note"), /^Before: .* – .*\. After: .* – .*\.Samples cover 4\.5 of the 5\.0 minutes before, and 5\.0 of the 5\.0 after\.$/);
        await Promise.all([page.waitForResponse((r) => r.url().includes("/api/v1/changes")), page.getByLabel("What is compared").selectOption("600")]);
        const asked = await server.asked(/\/api\/v1\/changes/);
        const [[a1, a2], [b1, b2]] = ["a", "b"].map((side) => asked.get(side).split("..").map((t) => Date.parse(t)));

        assert.deepEqual([a2, a2 - a1, b2 - b1], [b1, 600000, 600000]);
        await page.waitForURL(/ch=600/);
        await page.getByRole("button", { name: "JVMs", exact: true }).click();
        await page.getByRole("button", { name: "Changes", exact: true }).click();
        assert.equal(await page.getByLabel("What is compared").inputValue(), "600"); // as it was left, and as a link to it has it
        await page.reload();
        await page.locator(".change-table tbody tr").first().waitFor();
        assert.equal(await page.getByLabel("What is compared").inputValue(), "600");
        await page.getByRole("link", { name: "Compare the graphs" }).click();
        await page.locator(".change-list").waitFor();
        assert.match(await textOf(page, ".change-list"), /service Application/);
        await close(page);
    });
});
