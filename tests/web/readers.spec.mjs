// SPDX-License-Identifier: Apache-2.0
// Pages of a real profile in Chromium, from files, offline; and the same profile in speedscope. FLAMED_MAKE_HTML is
// the folder with them (tests/jvm/test_formats.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { launch, settled, textOf } from "./browser.mjs";

const folder = process.env.FLAMED_MAKE_HTML;
const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
const count = expected.samples.toLocaleString("en");
let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

async function open(url) {
    const context = await browser.newContext({ viewport: { width: 1260, height: 900 }, offline: true });
    const page = await context.newPage();

    page.complaints = [];
    page.on("console", (m) => page.complaints.push(`console ${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => page.complaints.push(`error: ${e.message}`));
    page.on("request", (r) => {
        if (!/^(file|data|blob):/.test(r.url()))
            page.complaints.push(`request: ${r.url()}`);
    });
    await page.goto(url);
    await settled(page);
    return page;
}

async function close(page) {
    assert.deepEqual(page.complaints, []);
    await page.context().close();
}

for (const name of ["p.html", "heat.html"])
    test(`${name} shows all samples`, async () => {
        const page = await open("file://" + join(folder, name));

        assert.ok((await textOf(page, ".status-facts")).includes(`${count} samples`));
        await close(page);
    });

test("svg shows all samples and zooms", async () => {
    const page = await open("file://" + join(folder, "p.svg"));

    assert.ok((await page.locator("#frames > g").first().locator("title").textContent()).startsWith(`all (${count} samples`));
    const frame = page.locator("#frames > g").nth(5).locator("rect");

    await frame.scrollIntoViewIfNeeded(); // the root of a high picture is below the window
    const box = await frame.boundingBox();

    await page.mouse.click(box.x + box.width / 2, box.y + 5);
    assert.ok(await page.locator("#unzoom").isVisible());
    await close(page);
});

for (const name of ["tree.html", "diff.html", "diff.svg"])
    test(`${name} opens`, async () => {
        const page = await open("file://" + join(folder, name));

        assert.ok((await page.evaluate(() => document.documentElement.textContent)).length > 1000);
        await close(page);
    });

test("speedscope shows a profile for each thread", { timeout: 60000 }, async () => {
    const page = await open("file://" + join(process.env.FLAMED_NODE_MODULES, "speedscope/dist/release/index.html") +
        "#localProfilePath=" + join(folder, "speedscope.js"));

    await page.waitForFunction((name) => document.title.includes(name) || document.body.textContent.includes(name),
        expected.profiles[0], { timeout: 30000 });
    assert.ok((await page.evaluate(() => document.body.textContent)).includes(`1/${expected.profiles.length}`) ||
        expected.profiles.length === 1, await page.evaluate(() => document.body.textContent.slice(0, 300)));
    assert.deepEqual(page.complaints.filter((c) => !/^console (?!error)/.test(c)), []); // it logs by itself
    await page.context().close();
});
