// SPDX-License-Identifier: Apache-2.0
// What the browser tests share: Chromium, pages made by make_html, and what a page must never do.
// Environment: FLAMED_MAKE_HTML (the program), FLAMED_NODE_MODULES (where playwright-core and axe-core are).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const modules = createRequire(join(process.env.FLAMED_NODE_MODULES, "index.js"));
const { chromium } = modules("playwright-core");
const folder = mkdtempSync(join(tmpdir(), "flamed-web-"));
const made = new Map();
const opened = new Set(); // pages of flamed that no test has closed
const SHOWN_CHARACTERS = 1500;
const LEAST_READ = 5; // characters: fewer say nothing

process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

// What axe-core finds: [{impact, id, html}]. @runOnly: tags of rules, else all of them.
export async function faults(page, runOnly = undefined) {
    if (!await page.evaluate(() => Boolean(window.axe)))
        await page.evaluate(modules("axe-core").source);
    return page.evaluate(async (options) => (await window.axe.run(document, options)).violations.map(({ impact, id, nodes }) =>
        ({ impact, id, html: nodes.map((n) => n.html).join(" ").slice(0, 300) })), { resultTypes: ["violations"], runOnly });
}

export const WCAG_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

// Texts that a person cannot read to their end: [text]. What ends in an ellipsis has its whole in a title, here or around it,
// and five characters before the ellipsis, unless it is what is quiet beside a name. Numbers never may. What scrolls is not
// cut, unless nothing shows that it scrolls. What a list has chosen stands whole.
export async function cutOff(page) {
    return page.evaluate((least) => [...document.querySelectorAll("body *")].filter((node) => {
        if (node.matches("select") && node.selectedOptions.length && node.getBoundingClientRect().width && getComputedStyle(node).visibility !== "hidden") {
            const alone = node.cloneNode(false); // as wide as its text wants to be

            alone.append(node.selectedOptions[0].cloneNode(true));
            Object.assign(alone.style, { position: "absolute", width: "auto", maxWidth: "none", flex: "none" });
            node.after(alone);
            const wanted = alone.getBoundingClientRect().width, { width, right } = node.getBoundingClientRect();

            alone.remove();
            return wanted > width + 1 || right > innerWidth + 1;
        }
        const box = node.getBoundingClientRect(), style = getComputedStyle(node);

        if (!box.width || !box.height || style.visibility === "hidden" || node.closest(".offscreen, svg, select, .crumbs, dialog:not([open])") ||
            ![...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()))
            return false;
        let clipper = node;

        while (clipper && !["auto", "scroll"].includes(getComputedStyle(clipper).overflowX) && getComputedStyle(clipper).overflowX !== "hidden")
            clipper = clipper.parentElement;
        const edge = clipper && clipper !== document.body && clipper !== document.documentElement ? clipper.getBoundingClientRect().right : innerWidth;
        const scrolls = clipper && ["auto", "scroll"].includes(getComputedStyle(clipper).overflowX) && getComputedStyle(clipper).scrollbarWidth !== "none";
        const isCut = clipper === node ? node.scrollWidth > node.clientWidth + 1 : !scrolls && box.right > edge + 1;
        const left = clipper === node ? node.clientWidth : edge - box.left; // an inline box of its own goes whole
        const isRead = node.matches(".pack, .quiet") || left >= least * parseFloat(style.fontSize) / 2 && (clipper === node || !style.display.startsWith("inline-"));
        const isEllipsis = clipper && getComputedStyle(clipper).textOverflow === "ellipsis" && Boolean(node.closest("[title]")) && isRead;

        return isCut && (!isEllipsis || node.matches(".num"));
    }).map((node) => `${node.tagName} ${node.className}: ${(node.selectedOptions ? node.selectedOptions[0] : node).textContent.slice(0, 60)}`), LEAST_READ);
}

// CPU time of the page's main thread so far, in ms: other programs on the machine do not count.
export async function cpuMeter(page) {
    const cdp = await page.context().newCDPSession(page);

    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    return async () => {
        const { metrics } = await cdp.send("Performance.getMetrics");

        return metrics.find((m) => m.name === "TaskDuration").value * 1000;
    };
}

// Lines of text that are cut from above or below: [text]. What scrolls is not cut. Lines that are not in sight at all have
// their whole in a title.
export async function cutLines(page) {
    return page.evaluate(() => {
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange(), cut = [];
        const clips = (node) => getComputedStyle(node).overflowY !== "visible";
        const scrolls = (node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowY);

        for (let text = walker.nextNode(); text; text = walker.nextNode()) {
            const owner = text.parentElement, { visibility, opacity } = getComputedStyle(owner);

            if (!text.data.trim() || visibility === "hidden" || opacity === "0" || owner.closest(".offscreen, svg, select, script, style, dialog:not([open])"))
                continue;
            range.selectNodeContents(text);
            const isTold = Boolean(owner.closest("[title]")), lines = [...range.getClientRects()];
            const cuts = (box) => box.height && lines.some(({ top, bottom }) => (bottom > box.bottom + 2 || top < box.top - 2) &&
                (!isTold || (top < box.bottom - 2 && bottom > box.top + 2)));
            let clipper = owner;

            while (clipper && !scrolls(clipper) && !(clips(clipper) && cuts(clipper.getBoundingClientRect())))
                clipper = clipper.parentElement;
            if (clipper && !scrolls(clipper))
                cut.push(`${owner.tagName} ${owner.className}: ${text.data.slice(0, 60)}`);
        }
        return cut;
    });
}

export function render(name, format = "html", minwidth = "0") {
    return execFileSync(process.env.FLAMED_MAKE_HTML, [name, format, minwidth], { maxBuffer: 1 << 28 });
}

// @change(data): alters the profile that the page carries.
export function pageFile(name, minwidth = "0", change = null, format = "html") {
    const key = [name, minwidth, change, format].join();

    if (!made.has(key)) {
        made.set(key, join(folder, `${made.size}.html`));
        const html = render(name, format, minwidth).toString();

        writeFileSync(made.get(key), !change ? html
            : html.replace(/(id="profile">)([^]*?)(?=<\/script>)/, (_, head, json) => {
                const data = JSON.parse(json);

                change(data);
                return head + JSON.stringify(data).replaceAll("<", "\\u003c");
            }));
    }
    return made.get(key);
}

// [[frame, …], samples] of every stack, out of the format that other programs read.
export function collapsedRows(name) {
    return render(name, "collapsed").toString().trim().split("\n").map((line) => {
        const blank = line.lastIndexOf(" ");

        return [line.slice(0, blank).split(";"), Number(line.slice(blank + 1))];
    });
}

export async function launch() {
    return chromium.launch({
        executablePath: fileURLToPath(new URL("chromium.sh", import.meta.url)),
        args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--host-resolver-rules=MAP *.example.com 127.0.0.1", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    });
}

// Opens the page that flamed, or a stand-in for it, serves at @url. page.complaints fills with whatever it must not do.
// @allow: messages that the test itself provokes.
export async function open(browser, url, hash = "", { allow = null, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 }, ...options });
    const page = await context.newPage();
    const { origin } = new URL(url);

    page.complaints = [];
    page.on("console", (m) => {
        const text = `console ${m.type()}: ${m.text()} ${m.location().url}`;

        if (!allow || !allow.test(text))
            page.complaints.push(text);
    });
    page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
    page.on("dialog", (d) => { page.complaints.push(`dialog: ${d.message()}`); d.dismiss(); });
    page.on("request", (r) => {
        if (!r.url().startsWith(origin) && !r.url().startsWith("data:"))
            page.complaints.push(`request: ${r.url()}`);
    });
    await page.goto(url + hash);
    opened.add(page);
    return page;
}

export async function close(page) {
    assert.deepEqual(page.complaints, []);
    opened.delete(page);
    await page.context().close();
}

// A test that tells, where it fails, what the pages show that are open then: its own, and those of tests beside it.
export const journey = (name, run) => test(name, async (t) => {
    try {
        await run(t);
    } catch (error) {
        const shown = await Promise.all([...opened].map(async (page) => `${await addressOf(page)}: ${await page.locator("body").innerText()}`));

        error.message += "\n" + shown.map((text) => text.replace(/\s+/g, " ").slice(0, SHOWN_CHARACTERS)).join("\n");
        throw error;
    }
});

// Makes the error of a failed wait on @page tell what the page shows.
export const withShown = (page) => async (error) => {
    error.message += `\n${page.url()}: ${await page.title()}: ${(await page.locator("body").innerText()).slice(0, SHOWN_CHARACTERS)}`;
    throw error;
};

// Opens a made page offline. page.complaints fills with whatever it must not do.
export async function openPage(browser, name, { hash = "", minwidth, change, format, init, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 700 }, offline: true, ...options });
    const page = await context.newPage();

    page.complaints = [];
    page.on("console", (m) => page.complaints.push(`console ${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
    page.on("dialog", (d) => { page.complaints.push(`dialog: ${d.message()}`); d.dismiss(); });
    page.on("request", (r) => {
        if (!r.url().startsWith("file://" + folder) && !r.url().startsWith("data:"))
            page.complaints.push(`request: ${r.url()}`);
    });
    if (init)
        await page.addInitScript(init);
    await page.goto("file://" + pageFile(name, minwidth, change, format) + hash);
    await settled(page);
    return page;
}

export const closePage = close;

const SEARCH_DELAY_MS = 60; // searchbox.js

// Until graphs rest: after a zoom's animation and the search's delay.
export async function settled(page) {
    await page.evaluate((least) => new Promise((done) => {
        const from = performance.now();
        const look = () => {
            const isMoving = [...document.querySelectorAll(".graph")].some(({ flameGraph }) =>
                flameGraph.pending || flameGraph.view !== flameGraph.target);

            if (isMoving || performance.now() - from < least)
                requestAnimationFrame(look);
            else
                done();
        };

        requestAnimationFrame(look);
    }), SEARCH_DELAY_MS + 20);
}

export const textOf = async (page, selector) =>
    (await page.locator(selector).textContent()).replaceAll("\u00a0", " ");

// As the page has it now: page.url() may be a moment late.
export const addressOf = (page) => page.evaluate(() => location.href);

export const status = async (page) =>
    [await textOf(page, ".status-name"), await textOf(page, ".status-facts")];

// Points at places of the graph, one after the other. [name, facts] of the line below for each; name null where no
// frame is.
export async function pointAt(page, points) {
    return page.evaluate((list) => {
        const graph = document.querySelector(".graph");
        const text = (selector) => document.querySelector(selector).textContent.replaceAll("\u00a0", " ");

        return list.map(({ x, y }) => {
            graph.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, pointerType: "mouse" }));
            return [document.querySelector(".tip").hidden ? null : text(".status-name"), text(".status-facts")];
        });
    }, points);
}

// Where in the graph a frame of this name is: found by pointing, as a person does. {x, y} or null.
export async function findFrame(page, name) {
    const box = await page.locator(".graph").boundingBox();
    const points = [];

    for (let y = box.y + box.height - 9; y > box.y; y -= 18)
        for (let x = box.x + 6; x < box.x + box.width; x += 40)
            points.push({ x, y });
    const at = points[(await pointAt(page, points)).findIndex(([seen]) => seen === name)];

    if (at)
        await page.mouse.move(at.x, at.y);
    return at || null;
}

export async function search(page, text) {
    await page.locator(".search-text").fill(text);
    await settled(page);
    return textOf(page, ".matches");
}

// The colour of the graph at a point of the page, as [r, g, b].
export async function pixel(page, { x, y }) {
    return page.evaluate(([px, py]) => {
        const canvas = document.querySelector(".graph-canvas");
        const box = canvas.getBoundingClientRect();
        const scale = canvas.width / box.width;
        const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

        copy.drawImage(canvas, (px - box.x) * scale, (py - box.y) * scale, 1, 1, 0, 0, 1, 1);
        return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
    }, [x, y]);
}
