// SPDX-License-Identifier: Apache-2.0
// svg, heatmap, tree as a page and diffs in a real browser, from a file, offline. FLAMED_MAKE_HTML is write_format
// of tests/formats here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { launch, settled, textOf } from "./browser.mjs";
import { paletteOf } from "../../web/shared/colors.js";

const folder = mkdtempSync(join(tmpdir(), "flamed-pictures-"));
let browser;

before(async () => { browser = await launch(); });
after(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
});

const write = (name, format, ...options) =>
    execFileSync(process.env.FLAMED_MAKE_HTML, [name, format, ...options], { maxBuffer: 1 << 28 }).toString();

// [[frame, …], samples] of every stack.
const stacks = (name, ...options) => write(name, "collapsed", ...options).trim().split("\n").map((line) => {
    const blank = line.lastIndexOf(" ");

    return [line.slice(0, blank).split(";"), Number(line.slice(blank + 1))];
});
const sum = (list) => list.reduce((n, [, count]) => n + count, 0);

// Opens what was written as a file. The page must stay silent and ask for nothing.
async function open(name, format, options = [], { extension = "html", hash = "", answer = null } = {}) {
    const file = join(folder, `${Math.random()}.${extension}`);
    const context = await browser.newContext({ viewport: { width: 1260, height: 800 }, offline: true });
    const page = await context.newPage();

    writeFileSync(file, write(name, format, ...options));
    page.complaints = [];
    page.on("console", (m) => page.complaints.push(`console ${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
    page.on("dialog", (d) => {
        if (answer === null)
            page.complaints.push(`dialog: ${d.message()}`);
        d.accept(answer || "");
    });
    page.on("request", (r) => {
        if (!r.url().startsWith("file://" + folder) && !r.url().startsWith("data:"))
            page.complaints.push(`request: ${r.url()}`);
    });
    await page.goto("file://" + file + hash);
    await settled(page);
    return page;
}

async function close(page) {
    assert.deepEqual(page.complaints, []);
    await page.context().close();
}

// ---- svg ----

// [{title, x, y, w, text, fill, shown}] of every frame.
const boxes = (page) => page.evaluate(() => [...document.querySelectorAll("#frames > g")].map((g) => {
    const rect = g.querySelector("rect"), text = g.querySelector("text");

    return {
        title: g.querySelector("title").textContent, x: Number(rect.getAttribute("x")),
        y: Number(rect.getAttribute("y")), w: Number(rect.getAttribute("width")), text: text ? text.textContent : "",
        fill: rect.getAttribute("fill"), shown: g.style.display !== "none",
    };
}));
const named = (list, name) => list.filter(({ title }) => title.startsWith(name + " ("));

test("svg has every frame, as wide as it weighs, in the colours of the viewer", async () => {
    const page = await open("mixed", "svg", ["width=1020"], { extension: "svg" });
    const list = await boxes(page);
    const rows = stacks("mixed"), all = sum(rows);
    const paths = new Map();
    const colours = new Set([...paletteOf("light").kinds.flat(), paletteOf("light").root]);

    for (const [stack, count] of rows)
        for (let n = 1; n <= stack.length; n++) {
            const path = stack.slice(0, n).join(";");

            paths.set(path, (paths.get(path) || 0) + count);
        }
    assert.equal(list.length, paths.size + 1);
    const widths = [...paths.values(), all].map((n) => n / all * 1000).sort((a, b) => a - b);

    list.map(({ w }) => w).sort((a, b) => a - b).forEach((w, i) => assert.ok(Math.abs(w - widths[i]) < 0.002));
    assert.equal(list[0].title, `all (${all.toLocaleString("en")} samples, 100.00%)`);
    for (const { fill, w, text, title } of list) {
        assert.ok(colours.has(fill), fill);
        assert.ok(text.length * 7.3 <= w + 1, `${title} in ${w}`);
    }
    const lookup = sum(rows.filter(([stack]) => stack.includes("com.acme.PriceTable.lookup")));

    assert.equal(named(list, "com.acme.PriceTable.lookup")[0].title,
        `com.acme.PriceTable.lookup (${lookup} samples, ${(lookup / all * 100).toFixed(2)}%)`);
    assert.match(await textOf(page, "#note"), /^3,350 samples · 0\.9 % unknown · 0\.7 % truncated · 7 lost · 1 warning$/);
    await close(page);
});

test("svg zooms by a click and back, and the address keeps it", async () => {
    const page = await open("mixed", "svg", [], { extension: "svg" });
    const before_ = await boxes(page);
    const [lookup] = named(before_, "com.acme.PriceTable.lookup");

    await page.mouse.click(lookup.x + lookup.w / 2, lookup.y + 8);
    const zoomed = await boxes(page);
    const [wide] = named(zoomed, "com.acme.PriceTable.lookup");
    const [child] = named(zoomed, "java.util.HashMap.getNode");

    assert.ok(Math.abs(wide.w - 1180) < 0.1 && Math.abs(wide.x - 10) < 0.1);
    assert.ok(Math.abs(child.w / wide.w - named(before_, "java.util.HashMap.getNode")[0].w / lookup.w) < 1e-3);
    assert.equal(child.text, "java.util.HashMap.getNode");
    assert.ok(!named(zoomed, "Batch.main")[0].shown);
    assert.ok(named(zoomed, "java.lang.Thread.run")[0].w > 1179); // what it is called by
    const address = await page.evaluate(() => location.hash);

    assert.match(address, /^#z=\d+$/);
    await page.click("#unzoom");
    assert.deepEqual(await boxes(page), before_);
    assert.equal(await page.evaluate(() => location.hash), "");
    await close(page);
    const again = await open("mixed", "svg", [], { extension: "svg", hash: address });

    assert.ok(named(await boxes(again), "com.acme.PriceTable.lookup")[0].w > 1179);
    await again.keyboard.press("Escape");
    assert.deepEqual(await boxes(again), before_);
    await close(again);
});

test("svg is searched by a regular expression, and says how much it matched", async () => {
    const page = await open("mixed", "svg", [], { extension: "svg", answer: "^com\\.acme\\.(orders|health)" });
    const rows = stacks("mixed");

    for (const ask of [() => page.click("#search"), () => page.keyboard.press("Control+f"), () => page.keyboard.press("F3")]) {
        await ask();
        const list = await boxes(page);
        const part = sum(rows.filter(([stack]) => stack.some((f) => /^com\.acme\.(Orders|Health)/.test(f)))) / sum(rows);

        assert.deepEqual(new Set(list.filter(({ fill }) => fill === paletteOf("light").match)
            .map(({ title }) => title.replace(/ \(.*/, ""))), new Set(["com.acme.Orders.find", "com.acme.Health.check"]));
        assert.equal(await textOf(page, "#matched"), `Matched: ${(part * 100).toFixed(1)}%`);
        assert.equal(await textOf(page, "#search"), "Reset Search");
        await page.click("#search");
        assert.equal(await textOf(page, "#matched"), " ");
    }
    const box = (await boxes(page))[0];

    await page.mouse.move(box.x + 5, box.y + 5);
    assert.equal(await textOf(page, "#details"), box.title);
    await close(page);
});

test("svg with reverse, inverted, minwidth, width and title", async () => {
    const page = await open("mixed", "svg", ["reverse=1", "inverted=1", "width=800", "title=A <b>title</b> & more"], { extension: "svg" });
    const list = await boxes(page);
    const [hash] = named(list, "java.util.HashMap.getNode");

    assert.equal(await textOf(page, "#title"), "A <b>title</b> & more");
    assert.equal(list[0].w, 780);
    assert.equal(list[0].y, Math.min(...list.map(({ y }) => y))); // the root is at the top
    assert.equal(hash.y, list[0].y + 16); // the leaves are next to it
    await close(page);
    const narrow = await open("mixed", "svg", ["minwidth=10"], { extension: "svg" });
    const wide = (await boxes(narrow)).slice(1);

    assert.ok(wide.length > 5 && wide.every(({ w }) => w >= 117.9), JSON.stringify(wide.map(({ w }) => w)));
    await close(narrow);
});

test("hostile names stay names", async () => {
    for (const format of ["svg", "heatmap", "tree"]) {
        const page = await open("hostile", format, ["html=1"], { extension: format === "svg" ? "svg" : "html" });

        assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), format === "heatmap" ? 2 : 1);
        assert.ok((await page.evaluate(() => document.documentElement.textContent.replaceAll("\\u003c", "<")
            .replaceAll('\\"', '"'))).includes('<script>."q"'), format);
        await close(page);
    }
    const diff = await open("hostile/mixed", "diff-html");

    await close(diff);
});

// ---- heat map ----

// Drags from one cell to another: [column, row from the bottom].
async function drag(page, from, to) {
    const canvas = await page.locator(".heat-canvas").boundingBox();
    const cell = canvas.width / 4; // "mixed" is of 3.8 s
    const at = ([column, row]) => [canvas.x + (column + 0.5) * cell, canvas.y + canvas.height - (row + 0.5) * 4];

    await page.mouse.move(...at(from));
    await page.mouse.down();
    await page.mouse.move(...at(to), { steps: 3 });
    await page.mouse.up();
    await settled(page);
}

// Samples of "mixed" with their time since the start in ms.
const moments = () => {
    const list = write("mixed", "samples").trim().split("\n").map((line) => line.split("\t"));
    const start = 1763688414123456789n;

    return list.map(([ns, , count]) => ({ ms: Math.floor(Number((BigInt(ns) - start) / 1000000n)), count: Number(count) }));
};

test("heat map: a dragged range is the flame graph", async () => {
    const page = await open("mixed", "heatmap");

    assert.equal(await page.locator(".heat-axis span").count() >= 1, true);
    assert.match(await textOf(page, ".status-facts"), /^100\.0 % of all · 3,350 samples/);
    await drag(page, [0, 9], [1, 3]); // a column is a second, a cell 20 ms
    const wanted = moments().filter(({ ms }) => ms >= 180 && ms < 1080).reduce((n, { count }) => n + count, 0);

    assert.match(await textOf(page, ".heat-status"), new RegExp(`^Selected: 0\\.180 s – 1\\.080 s · ${wanted} samples`));
    assert.match(await textOf(page, ".status-facts"), new RegExp(`· ${wanted.toLocaleString("en")} samples`));
    assert.equal(await page.evaluate(() => location.hash), "#range=180-1080");
    await page.locator(".heat-box").focus();
    await page.keyboard.press("Escape");
    await settled(page);
    assert.match(await textOf(page, ".status-facts"), /3,350 samples/);
    assert.equal(await page.evaluate(() => location.hash), "");
    await close(page);
    const again = await open("mixed", "heatmap", [], { hash: "#range=180-1080" });

    assert.match(await textOf(again, ".status-facts"), new RegExp(`· ${wanted.toLocaleString("en")} samples`));
    await close(again);
});

test("heat map: by keys alone", async () => {
    const page = await open("mixed", "heatmap");

    await page.locator(".heat-box").focus();
    await page.keyboard.press("ArrowRight"); // the first cell
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Shift+ArrowRight"); // a second more
    await settled(page);
    const wanted = moments().filter(({ ms }) => ms >= 20 && ms < 1040).reduce((n, { count }) => n + count, 0);

    assert.match(await textOf(page, ".heat-status"), new RegExp(`^Selected: 0\\.020 s – 1\\.040 s · ${wanted} samples`));
    await close(page);
});

test("heat map: minwidth keeps every sample", async () => {
    const page = await open("mixed", "heatmap", ["minwidth=10", "threads=1"]);

    assert.match(await textOf(page, ".status-facts"), /3,350 samples/);
    await drag(page, [0, 0], [0, 49]);
    const wanted = moments().filter(({ ms }) => ms < 1000).reduce((n, { count }) => n + count, 0);

    assert.match(await textOf(page, ".heat-status"), new RegExp(`· ${wanted} samples`));
    assert.match(await textOf(page, ".status-facts"), new RegExp(`· ${wanted.toLocaleString("en")} samples`));
    await close(page);
});

// ---- tree ----

test("tree as a page: the lines of the text, which open, close and are found", async () => {
    const page = await open("mixed", "tree", ["html=1", "top=1000"]);
    const lines = write("mixed", "tree", "top=1000").split("  -----\n")[1].trimEnd().split("\n")
        .map((line) => line.trim().replace(/\s+/g, " "));
    const found = await page.evaluate(() => [...document.querySelectorAll("#tree summary, #tree div > div:not(.h), #tree details > div")]
        .filter((line) => !line.matches(".h")).map((line) => line.textContent.trim().replace(/\s+/g, " ")));

    assert.deepEqual(found, lines);
    await page.click("#close");
    assert.equal(await page.locator("details[open]").count(), 0);
    await page.fill("#find", "tcp_sendmsg");
    await settled(page);
    assert.equal(await textOf(page, "#found"), "1 found");
    assert.ok(await page.locator(".hit").isVisible());
    await page.click("#open");
    assert.equal(await page.locator("details:not([open])").count(), 0);
    await close(page);
});

// ---- diff ----

test("diff: both sides, what vanished, what changed most", async () => {
    const page = await open("mixed/single", "diff-html");
    const before_ = stacks("mixed"), after_ = stacks("single");
    const part = (list, name) => sum(list.filter(([stack]) => stack.at(-1) === name)) / sum(list) * 100;
    const within = (list, frame) => (sum(list.filter(([stack]) => stack.includes(frame))) / sum(list) * 100).toFixed(1);
    const gain = part(after_, "com.acme.Orders.find") - part(before_, "com.acme.Orders.find");
    const row = page.locator(".diff-list tr", { hasText: "com.acme.Orders.find" }).first();
    const cells = (await row.locator("td").allTextContents()).map((text) => text.replaceAll("\u00a0", " "));

    // 3,350 samples of 10.1 ms each in 3.8 s: of several processors.
    assert.match(await textOf(page, ".facts"), /Before: .* · 3\.8 s · 8\.99 s\/sAfter: .* · 2\.6 s · 8\.96 s\/sbefore scaled by 0\.69/);
    assert.match(cells[0], /^−[\d.,]+ \w+\/s$/);
    assert.match(cells[1], /^[\d.,]+ \w+\/s → 0 ns\/s$/);
    assert.equal(cells[2], `${gain > 0 ? "+" : "−"}${Math.abs(gain).toFixed(2)} pp`);
    assert.equal(cells[4], "gone");
    await row.locator("button").click(); // finds it in the graph, where it still is
    await settled(page);
    assert.match(await textOf(page, ".matches"), / · \d+\/\d+$/); // the widest of them
    assert.equal(await textOf(page, ".status-name"), "com.acme.Orders.find");
    await page.keyboard.press("f"); // shares are still those of all
    await page.locator(".changes", { hasText: "Orders.find" }).waitFor();
    await page.locator(".graph").first().focus();
    for (const key of ["ArrowUp", "ArrowUp"])
        await page.keyboard.press(key);
    await settled(page);
    const [name, facts] = [await textOf(page, ".status-name"), await textOf(page, ".status-facts")];

    assert.equal(name, "com.acme.Orders.find");
    assert.ok(facts.includes(` % → ${within(after_, name)} % · `), facts); // before, other frames of it stood beside
    await close(page);
});

test("diff of a profile with itself changes nothing", async () => {
    const page = await open("single/single", "diff-html");

    const changes = await page.locator(".diff-list tbody td:first-child").allTextContents();
    const points = await page.locator(".diff-list tbody td:nth-child(3)").allTextContents();

    assert.ok(changes.length > 5);
    assert.deepEqual([new Set(changes), new Set(points)], [new Set(["±0"]), new Set(["0.00\u00a0pp"])]);
    await close(page);
});

test("a diff of bytes says bytes", async () => {
    const page = await open("events/events", "diff-html", ["event=1"]);
    assert.match(await textOf(page, ".facts"), /Before: .* · 2\.79 MiBAfter: .* · 2\.79 MiBas counted/);
    assert.match(await page.locator(".diff-list tbody tr").first().locator("td").nth(1).textContent(), /^[\d.]+\u00a0[KM]iB → [\d.]+\u00a0[KM]iB$/);
    await close(page);
});

test("diff as svg zooms too, and shows what vanished", async () => {
    const page = await open("mixed/single", "diff-svg", [], { extension: "svg" });
    const [gone] = named(await boxes(page), "Batch.main");

    assert.match(gone.title, /→ 0\.00%, -/);
    await page.mouse.click(gone.x + 5, gone.y + 5);
    assert.ok(named(await boxes(page), "Batch.main")[0].w > 1179);
    await close(page);
});

// ---- speedscope ----

// Opens a profile in speedscope, which has to come by http to load its reader of recordings, and waits until it shows @text.
async function speedscope(name, format, extension, text) {
    const context = await browser.newContext({ viewport: { width: 1260, height: 800 } });
    const page = await context.newPage();
    const buffer = execFileSync(process.env.FLAMED_MAKE_HTML, [name, format], { maxBuffer: 1 << 28 });

    page.complaints = [];
    page.on("console", (m) => m.type() === "error" && page.complaints.push(m.text()));
    page.on("pageerror", (e) => page.complaints.push(e.message));
    await context.route("**", (route) => route.fulfill({ path: join(process.env.FLAMED_NODE_MODULES, "speedscope/dist/release",
        new URL(route.request().url()).pathname) }));
    await page.goto("http://localhost/index.html");
    await page.locator("input[type=file]").first().setInputFiles({ name: `p.${extension}`, mimeType: "application/octet-stream", buffer });
    await shows(page, text);
    return page;
}

async function shows(page, text) {
    await page.waitForFunction((t) => document.body.textContent.includes(t), text, { timeout: 20000 })
        .catch(async () => assert.fail(`${page.complaints.join()} ${await page.evaluate(() => document.body.textContent.slice(0, 300))}`));
}

test("speedscope opens stacks that are deeper than it can draw, shortened", async () => {
    const page = await speedscope("deep", "speedscope", "speedscope.json", "Kinds (pid 4242)");

    for (const key of ["1", "2", "3"]) // in the order of time, the heaviest first, and as a table, each walks all stacks
        await page.keyboard.press(key);
    await shows(page, "a.Deep.down5999");
    assert.deepEqual(page.complaints, []);
    await page.context().close();
});

test("speedscope opens recordings", async () => {
    const page = await speedscope("mixed", "jfr", "jfr", "native calls");

    await page.keyboard.press("3");
    await shows(page, "PriceTable");
    assert.deepEqual(page.complaints, []);
    await page.context().close();
});
