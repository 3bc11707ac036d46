// SPDX-License-Identifier: Apache-2.0
// How quick the viewer is with much to show: opening, zooming, hovering. Prints what it measured.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { closePage, cpuMeter, launch, open, openPage, pageFile, render } from "./browser.mjs";
import { FakeServer, makeProfile } from "./fake_server.mjs";
import { statSync } from "node:fs";

const KEY_MS = 220; // a zoom, and then rest; nothing else may ask for frames
const FRAME_MS = 16; // held at 50,000 frames; eight times as many may take three times as long
let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Notes how long each animation frame's callbacks took, and how far apart frames were.
const NOTE_FRAMES = `
    window.noted = { work: [], at: [] };
    const real = requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (f) => real((now) => {
        const from = performance.now();
        f(now);
        window.noted.work.push(performance.now() - from);
        window.noted.at.push(now);
    });
`;

function quantile(list, q) {
    const sorted = [...list].sort((a, b) => a - b);

    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

async function zoomAndHover(page) {
    const cpu = await cpuMeter(page);

    await page.evaluate(() => { window.noted.work.length = window.noted.at.length = 0; });
    const before_ = await cpu();

    for (const key of ["ArrowUp", "ArrowUp", "Enter", "ArrowUp", "ArrowUp", "Enter", "Escape", "Escape", "0"]) {
        await page.keyboard.press(key);
        await page.waitForTimeout(KEY_MS);
    }
    const zoomCpu = await cpu() - before_;
    const zoom = await page.evaluate(() => ({
        work: window.noted.work,
        gaps: window.noted.at.slice(1).map((t, i) => t - window.noted.at[i]).filter((gap) => gap < 100),
    }));
    const hover = await page.evaluate(() => {
        const graph = document.querySelector(".graph");
        const box = graph.getBoundingClientRect();
        const times = [];

        for (let i = 0; i < 400; i++) {
            const from = performance.now();

            graph.dispatchEvent(new PointerEvent("pointermove", {
                clientX: box.x + i * 37 % box.width, clientY: box.bottom - 5 - i * 11 % Math.min(box.height, 500),
                bubbles: true, pointerType: "mouse",
            }));
            times.push(performance.now() - from);
        }
        return times;
    });

    return { zoom, hover, cpuPerFrame: zoomCpu / zoom.work.length };
}

// How long the tree, with all of its @nodes, took after the load; the page answers in that time.
async function grown(page, nodes) {
    return page.evaluate((least) => new Promise((done) => {
        const started = performance.now();
        const look = () => {
            if (document.querySelector(".graph").flameGraph.tree.count >= least)
                done(performance.now() - started);
            else
                setTimeout(look, 10);
        };

        look();
    }), nodes);
}

// 1,000 threads in 20 pools, each sampled once a second for 10 minutes.
function crowdOfThreads(profile) {
    const [{ frames: [, ...code] }] = profile.stacks, base = profile.frames.length, pools = "abcdefghijklmnopqrst";
    const threads = Array.from({ length: 1000 }, (_, i) => ({ name: `[pool-${pools[i % 20]}-thread-${i} tid=${9000 + i}]`, kind: "thread" }));
    const stacks = Array.from({ length: 2000 }, (_, i) => ({ frames: [base + (i >> 1), ...code.slice(0, code.length - i % 2)], samples: 300, value: 3e11 }));

    return { ...profile, meta: { ...profile.meta, seconds: 600 }, frames: [...profile.frames, ...threads], stacks };
}

// Crowd: a million samples apart by a thousand threads, which is millions of frames.
for (const [name, nodes, openLimit, frameLimit] of [["stacks=8000", 50000, 2000, FRAME_MS], ["million", 300000, 4000, 3 * FRAME_MS],
    ["crowd", 4000000, 4000, 3 * FRAME_MS]]) {
    test(name, { timeout: 120000 }, async (t) => {
        const bytes = statSync(pageFile(name)).size;
        const page = await openPage(browser, name, { init: NOTE_FRAMES, viewport: { width: 1400, height: 900 } });
        const loads = [], paints = [];

        for (let i = 0; i < 3; i++) { // the first one starts a process; other programs may have the machine: the quickest counts
            await page.reload();
            paints.push(await page.evaluate(() => new Promise((done) => {
                const look = () => {
                    const [entry] = performance.getEntriesByName("first-contentful-paint");

                    if (entry)
                        done(entry.startTime);
                    else
                        setTimeout(look, 10);
                };

                look();
            })));
            loads.push(await page.evaluate(() => performance.timing.loadEventEnd - performance.timing.navigationStart));
        }
        const loaded = Math.min(...loads);
        const whole = await grown(page, nodes);
        const { zoom, hover, cpuPerFrame } = await zoomAndHover(page);

        t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB; loaded after ${loads.join(" ")} ms, first paint ${paints.map(Math.round).join(" ")} ms, ` +
            `all of it ${Math.round(whole)} ms later; zoom: ${cpuPerFrame.toFixed(1)} ms of CPU a frame, work p50 ${quantile(zoom.work, 0.5).toFixed(1)} p95 ${quantile(zoom.work, 0.95).toFixed(1)} ms, ` +
            `frames p50 ${quantile(zoom.gaps, 0.5).toFixed(1)} p95 ${quantile(zoom.gaps, 0.95).toFixed(1)} ms apart; ` +
            `hover p50 ${quantile(hover, 0.5).toFixed(2)} p95 ${quantile(hover, 0.95).toFixed(2)} ms`);
        assert.ok(bytes < 10e6);
        assert.ok(loaded < openLimit, `loaded after ${loaded} ms`);
        assert.ok(zoom.work.length > 20);
        assert.ok(cpuPerFrame < frameLimit, `${cpuPerFrame} ms of CPU for a frame of the zoom`);
        assert.ok(quantile(hover, 0.5) < FRAME_MS, "a hover");
        await closePage(page);
    });
}

test("the page opens a stored capture of a million samples, and paints soon", { timeout: 120000 }, async (t) => {
    const server = new FakeServer();

    t.after(() => server.close()); // a server left open would keep this program running
    const bytes = render("million", "json");

    server.profile = () => bytes;
    await server.listen();
    const { id } = server.addCapture({ ago: 60000 });
    const page = await open(browser, server.url, "#/captures");
    const paints = [], opened = [], work = { paint: [], open: [] };
    const cpu = await cpuMeter(page);

    for (let i = 0; i < 3; i++) { // other programs may have the machine: the quickest counts, in CPU time
        await page.reload(); // the meter begins anew
        await page.locator(".captures .jvm-link").first().waitFor();
        const listed = await cpu();

        work.paint.push(listed);
        paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
        opened.push(await page.evaluate((hash) => new Promise((done) => {
            const started = performance.now();
            const look = () => {
                const line = document.querySelector(".status-facts");

                if (line && line.textContent.includes("sample"))
                    done(performance.now() - started);
                else
                    requestAnimationFrame(look);
            };

            location.hash = hash;
            look();
        }), "#/capture/" + id));
        work.open.push(await cpu() - listed);
        await page.goto(server.url + "#/captures");
    }
    t.diagnostic(`${(bytes.length / 1e6).toFixed(1)} MB of JSON; first paint ${paints.map(Math.round).join(" ")} ms; ` +
        `opened after ${opened.map(Math.round).join(" ")} ms; CPU of the page's thread: ${work.paint.map(Math.round).join(" ")} ms ` +
        `until the list stands, ${work.open.map(Math.round).join(" ")} ms to open it`);
    assert.ok(Math.min(...work.paint) > 0 && Math.min(...work.paint) < 150, "first paint"); // some 45 ms; the aim is 300 ms of the clock, which a busy machine cannot hold
    assert.ok(Math.min(...work.open) < 4000, "opening");
    await closePage(page);
});

// Checks the page's CPU time for a frame after each of KEYS, pressed in the chart of threads.
async function checkChartKeys(t, page, keys) {
    const frames = [], cpu = await cpuMeter(page);

    await page.locator(".thread-chart .scroll").focus(); // once: finding it in the page takes as much as a frame
    for (const key of keys) {
        const from = await cpu();

        await page.keyboard.press(key);
        await page.evaluate(() => new Promise(requestAnimationFrame));
        frames.push(await cpu() - from);
    }
    t.diagnostic(`CPU of the page's thread for a frame: ${frames.map((ms) => ms.toFixed(1)).join(" ")} ms`);
    assert.ok(quantile(frames, 0.5) < FRAME_MS, `${quantile(frames, 0.5)} ms of CPU for a frame`);
}

test("threads over time: 1,000 of them for 10 minutes, by pool and zoomed", { timeout: 120000 }, async (t) => {
    const server = new FakeServer();

    t.after(() => server.close()); // a server left open would keep this program running
    server.profile = (options) => crowdOfThreads(makeProfile(options));
    await server.listen();
    const page = await open(browser, server.url, "#/jvm/4242?tab=threads", { viewport: { width: 1440, height: 900 } });

    await page.locator(".threads .name").first().waitFor();
    assert.match(await page.locator(".thread-chart .live-note").textContent(), /^1,000.threads in 20.pools/);
    await page.locator(".threads .name").first().click();
    await page.waitForTimeout(1000);
    await checkChartKeys(t, page, ["+", "+", "ArrowLeft", "ArrowRight", "-", "-", "+", "+", "+", "+", "+", "ArrowLeft", "Escape"]);
    await closePage(page);
});

// One thread that was sampled 600 times, 34 frames deep, a second apart: its boxes are not joined.
function deepThread(profile) {
    const base = profile.frames.length, names = Array.from({ length: 34 }, (_, i) => ({ name: `com.acme.shop.part${i % 7}.Service${i}.handle`, kind: i % 5 ? "c2" : "inlined" }));
    const stacks = [0, 1].map((i) => ({ frames: [base, ...names.map((_, d) => base + 1 + (d + i) % names.length)], samples: 300, value: 300 * 53e6 }));

    return { ...profile, meta: { ...profile.meta, seconds: 600 }, frames: [...profile.frames, { name: "[deep tid=9000]", kind: "thread" }, ...names], stacks };
}

test("the flame chart of one thread: 20,000 boxes, whole and zoomed", { timeout: 120000 }, async (t) => {
    const server = new FakeServer();

    t.after(() => server.close()); // a server left open would keep this program running
    server.profile = (options) => deepThread(makeProfile(options));
    await server.listen();
    const page = await open(browser, server.url, "#/jvm/4242?tab=threads", { viewport: { width: 1440, height: 900 } });

    await page.locator(".threads .name").first().click();
    await page.locator(".flame-chart h3").waitFor();
    await page.waitForTimeout(1000);
    await checkChartKeys(t, page, ["+", "ArrowLeft", "ArrowRight", "-", "+", "+", "ArrowLeft", "+", "+", "-", "ArrowRight", "-", "Escape"]);
    await closePage(page);
});
