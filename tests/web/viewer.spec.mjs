// SPDX-License-Identifier: Apache-2.0
// The html format in a real browser, from a file, offline, as a person uses it.
import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import {
    closePage, collapsedRows, faults, findFrame, launch, openPage, pixel, pointAt, render, search, settled, status, textOf,
} from "./browser.mjs";
import { paletteOf, rgbOfHex } from "../../web/shared/colors.js";
import { KINDS } from "../../web/shared/kinds.js";

let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const LIST = "com.acme.shop.web.OrderController.list";
const LOOKUP = "com.acme.shop.PriceTable.lookup";
const rows = () => collapsedRows("service");
const sum = (list) => list.reduce((n, [, count]) => n + count, 0);
const percent = (part, whole) => (part / whole * 100).toFixed(1) + " %";
const hashOf = (page) => page.evaluate(() => location.hash);

describe("the viewer", { concurrency: 4 }, () => {
    test("opens offline with facts, legend and graph", async () => {
        const page = await openPage(browser, "service");
        const total = sum(rows());

        assert.equal(await page.title(), "cpu · com.acme.shop.Application (pid 4242)");
        assert.match(await textOf(page, ".facts"), /1,317 samples0\.9 % unknown0\.2 % truncated0 lost/);
        assert.equal(await page.locator(".facts .bad").count(), 0);
        assert.equal(await page.locator(".notices").count(), 0);
        const kernel = sum(rows().filter(([stack]) => /^(__dev_queue_xmit|tcp_recvmsg)$/.test(stack.at(-1))));

        assert.match(await textOf(page, ".legend"), new RegExp("Kernel " + percent(kernel, total)));
        assert.match((await status(page))[1], /^100\.0 % of all · 1,317 samples · 13\.3 s/);
        await closePage(page);
    });

    test("moments of the JVM are marks at their time, and words", async () => {
        const page = await openPage(browser, "moments");
        const line = await page.locator(".moment-line").first().boundingBox();
        const mark = page.locator(".moment-line .moment").first();
        const box = await mark.boundingBox();

        assert.match(await textOf(page, ".moments"), /^GC.*compilations.*12.compilations, 30\.0.ms/);
        assert.equal(await mark.getAttribute("title"), "5.000\u00a0s: gc, 20.0\u00a0ms, G1 young collection pauses (<b>System.gc()</b>)");
        assert.ok(Math.abs((box.x - line.x) / line.width - 0.5) < 0.01);
        await page.locator(".moments summary").focus();
        await page.keyboard.press("Enter"); // of what opens, not of the graph
        assert.ok(await page.locator(".moments summary").evaluate((summary) => summary === document.activeElement && summary.parentNode.open));
        assert.match(await page.locator(".moments li").nth(1).textContent(), /System\.gc\(\)/);
        const list = await page.locator(".moments li").allTextContents();

        assert.ok(list.includes("7.000\u00a0s: compiled, 3.00\u00a0ms, a.B.<script>alert(1)</script>, by C2 CompilerThread0"), list);
        assert.ok(list.includes("8.000\u00a0s: class loaded, a.<img src=x>, by main"), list);
        assert.match(await textOf(page, ".moments"), /compiled.*loaded/);
        assert.equal(await page.locator(".moments img, .moments script").count(), 0);
        await closePage(page);
    });

    test("a pause of the JVM is a bar in its cells of the heat map, and told there", async () => {
        const page = await openPage(browser, "moments", { format: "heatmap" });
        const box = await page.locator(".heat-canvas").boundingBox();
        // At 5 s: the sixth column of ten, its lowest cell. A bar at the left of it.
        const x = 5 * box.width / 10, [bar, beside] = await page.evaluate(([left, y]) => {
            const canvas = document.querySelector(".heat-canvas"), scale = devicePixelRatio;
            const { data } = canvas.getContext("2d").getImageData(left * scale, y * scale, 20, 1);

            return [1, 10].map((at) => [...data.slice(at * scale * 4, at * scale * 4 + 3)]);
        }, [x, box.height - 3]);

        assert.notDeepEqual(bar, beside);
        assert.match(await textOf(page, ".heat-status"), /1 pause of the JVM is marked/);
        await page.mouse.move(box.x + x + 5, box.y + box.height - 2);
        assert.match(await textOf(page, ".heat-status"), /^5\.000 s – 5\.020 s · .* · gc, 20\.0 ms, G1 young/);
        await page.mouse.move(box.x + x + 5, box.y + box.height - 30);
        assert.doesNotMatch(await textOf(page, ".heat-status"), /gc/);
        await closePage(page);
    });

    test("pointing tells everything about a frame, in the tip and in the line", async () => {
        const page = await openPage(browser, "service");
        const at = await findFrame(page, LIST);
        const of = rows().filter(([stack]) => stack.includes(LIST));

        assert.ok(at);
        const [, facts] = await status(page);

        assert.ok(facts.startsWith(`${percent(sum(of), sum(rows()))} of all · ${sum(of)} samples · `), facts);
        assert.match(facts, /self 0\.0 % · Java, compiled by C2 · Source\.java/);
        assert.equal(await textOf(page, ".tip-name"), LIST);
        assert.equal(await textOf(page, ".tip-facts"), facts);
        await page.mouse.move(600, 20);
        assert.ok(await page.locator(".tip").isHidden());
        await closePage(page);
    });

    test("click zooms, the root line, Back and Reset go back; the address follows", async () => {
        const page = await openPage(browser, "service");
        const at = await findFrame(page, LIST);

        assert.equal(await hashOf(page), "");
        assert.ok(await page.getByRole("button", { name: "Back" }).isDisabled());
        await page.mouse.click(at.x, at.y);
        await settled(page);
        assert.match(await hashOf(page), /^#z=8\./);
        assert.match((await status(page))[1], /100\.0 % of the view/);
        const zoomed = await page.evaluate(() => location.href);

        await page.getByRole("button", { name: "Back" }).click();
        await settled(page);
        assert.equal(await hashOf(page), "");
        await page.mouse.click(at.x, at.y);
        await settled(page);
        const box = await page.locator(".graph").boundingBox();

        await page.mouse.click(box.x + 300, box.y + box.height - 9); // the root line
        await settled(page);
        assert.equal(await hashOf(page), "");
        const again = await openPage(browser, "service", { hash: new URL(zoomed).hash });

        assert.equal((await status(again))[0], LIST);
        assert.equal(await hashOf(again), new URL(zoomed).hash);
        await again.keyboard.press("0");
        await settled(again);
        assert.equal(await hashOf(again), "");
        await closePage(again);
        await closePage(page);
    });

    test("search says what share of stacks matches, once each", async () => {
        const page = await openPage(browser, "service");
        const total = sum(rows());

        for (const text of ["hashmap|timsort", "com\\.acme", "^java\\.", "Rule1\\d\\d", "lookup"]) {
            const regex = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
            const matching = sum(rows().filter(([stack]) => stack.some((frame) => regex.test(frame))));

            assert.ok((await search(page, text)).startsWith(percent(matching, total) + " matched"), text);
        }
        assert.equal(await search(page, "no such thing"), "no match");
        assert.match(await search(page, "dispatch("), /no match/);
        assert.match(await page.locator(".search-text").getAttribute("title"), /plain text/);
        await search(page, "^" + LIST.replaceAll(".", "\\.") + "$");
        const at = await findFrame(page, LIST);

        assert.deepEqual(await pixel(page, { x: at.x + 200, y: at.y - 6 }), rgbOfHex(paletteOf("light").match));
        await search(page, "");
        assert.notDeepEqual(await pixel(page, { x: at.x + 200, y: at.y - 6 }), rgbOfHex(paletteOf("light").match));
        await closePage(page);
    });

    test("recursion does not count twice", async () => {
        const page = await openPage(browser, "deep");

        assert.match(await search(page, "Recursive"), /^100\.0 % matched/);
        await closePage(page);
    });

    test("everything by keyboard", async () => {
        const page = await openPage(browser, "service");
        const press = async (...keys) => {
            for (const key of keys)
                await page.keyboard.press(key);
            await settled(page);
        };

        await press("ArrowUp", "ArrowUp");
        assert.equal((await status(page))[0], "java.lang.Thread.run");
        assert.match(await textOf(page, "[role=status]"), /^java\.lang\.Thread\.run, /);
        await press("ArrowRight");
        assert.equal((await status(page))[0], "libnetty_tcnative.so+0x1a2b");
        await press("ArrowLeft", "ArrowUp", "Enter");
        assert.match(await hashOf(page), /^#z=2\./);
        await press("ArrowDown");
        assert.equal((await status(page))[0], "java.lang.Thread.run");
        await press("Escape");
        assert.equal(await hashOf(page), "");
        await press("/");
        await page.keyboard.type("rule00");
        await settled(page);
        assert.match(await textOf(page, ".matches"), /matched · \d+$/);
        await press("Enter");
        const first = (await status(page))[0];

        assert.match(first, /Rule00\d/);
        assert.match(await textOf(page, ".matches"), / · 1\/\d+$/);
        await press("Escape", "/");
        assert.equal(await textOf(page, ".matches"), "");
        await page.keyboard.type("rule00");
        await press("Enter", "Tab", "Tab", "Tab", "n");
        await press("N");
        assert.match((await status(page))[0], /Rule00\d/);
        await press("0", "r");
        await page.getByRole("button", { name: "View" }).click();
        assert.equal(await page.getByRole("menuitemcheckbox", { name: "Reverse" }).getAttribute("aria-checked"), "true");
        await press("Escape");
        await press("i", "t");
        assert.match(await hashOf(page), /r=1&i=1&t=1/);
        await press("?");
        assert.ok(await page.locator("dialog").isVisible());
        await press("r"); // keys do nothing behind the help
        assert.match(await hashOf(page), /r=1/);
        await press("Escape");
        assert.ok(await page.locator("dialog").isHidden());
        await closePage(page);
    });

    test("reversed, the first row is what was running", async () => {
        const page = await openPage(browser, "service", { hash: "#r=1&i=1" });
        const box = await page.locator(".graph").boundingBox();
        const points = [];

        for (let x = box.x + 2; x < box.x + box.width; x += 3)
            points.push({ x, y: box.y + 18 + 9 });
        const seen = new Map(await pointAt(page, points));
        const self = sum(rows().filter(([stack]) => stack.at(-1) === LOOKUP));

        assert.ok(seen.get(LOOKUP)?.startsWith(percent(self, sum(rows())) + " of all"), seen.get(LOOKUP));
        assert.match(await search(page, "^" + LIST + "$"),
            new RegExp("^" + percent(sum(rows().filter(([stack]) => stack.includes(LIST))), sum(rows()))));
        await closePage(page);
    });

    test("the table adds up and finds", async () => {
        const page = await openPage(browser, "service", { hash: "#t=1" });
        const row = page.locator(".methods tbody tr", { hasText: "PriceTable.lookup" });
        const cells = (await row.locator("td").allTextContents()).map((t) => t.replaceAll("\u00a0", " "));
        const of = rows().filter(([stack]) => stack.includes(LOOKUP));

        assert.equal(cells[0], percent(sum(of.filter(([stack]) => stack.at(-1) === LOOKUP)), sum(rows())));
        assert.equal(cells[1], percent(sum(of), sum(rows())));
        await page.getByRole("button", { name: "Total" }).click();
        assert.match(await page.locator(".methods tbody tr").first().textContent(), /Thread\.run/);
        assert.equal(await page.locator("th.col-total").getAttribute("aria-sort"), "descending");
        await row.getByRole("button").click();
        await settled(page);
        assert.equal((await status(page))[0], LOOKUP);
        assert.ok(await page.locator(".methods tbody tr").count() > 10);
        assert.match(await page.locator("tr.picked").textContent(), /PriceTable\.lookup/);
        await search(page, "PriceTable");
        assert.equal(await page.locator(".methods tbody tr").count(), 1);
        await closePage(page);
    });

    test("dark by the system, by key, and remembered; colours are those of the kinds", async () => {
        const page = await openPage(browser, "service", { colorScheme: "dark" });
        const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
        const at = await findFrame(page, "java.lang.Thread.run");
        const point = { x: at.x + 300, y: at.y - 6 };
        const isOfKind = async (palette) => {
            await settled(page);
            const colours = palette.dim[KINDS.findIndex((k) => k.id === "c2")].map((c) => rgbOfHex(c).join()); // it is of the JDK

            assert.ok(colours.includes((await pixel(page, point)).join()), palette.theme);
        };

        assert.equal(await theme(), "dark");
        await isOfKind(paletteOf("dark"));
        await page.keyboard.press("d");
        assert.equal(await theme(), "light");
        await isOfKind(paletteOf("light"));
        await page.reload();
        await settled(page);
        assert.equal(await theme(), "light");
        await closePage(page);
    });

    test("hostile names are text", async () => {
        const page = await openPage(browser, "hostile", { hash: "#t=1" });

        await page.locator(".search-text").fill("<script>");
        await page.keyboard.press("Enter");
        await settled(page);
        assert.equal((await status(page))[0], "evil.<script>alert(3)</script>.run");
        const at = await findFrame(page, "evil.<script>alert(3)</script>.run");

        assert.ok(at);
        await page.keyboard.press("0");
        await page.locator(".search-text").fill("");
        await settled(page);

        assert.equal(await findFrame(page, "no such frame"), null); // every tip was shown
        assert.match(await textOf(page, ".notices"), /A <b>warning<\/b>/);
        assert.match(await page.title(), /<title> & "title"/);
        assert.equal(await page.locator("script").count(), 2);
        assert.equal(await page.locator("img, b, iframe, svg").count(), 0);
        const text = await page.evaluate(() => document.body.innerText);

        // eslint-disable-next-line no-control-regex
        assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        await closePage(page);
    });

    test("what the page carries cannot run: its policy allows its own script and style alone", async () => {
        const page = await openPage(browser, "service");
        const done = await page.evaluate(async () => {
            const said = [];

            document.addEventListener("securitypolicyviolation", (e) => said.push(e.effectiveDirective));
            const script = document.createElement("script");

            script.textContent = "window.ran = 1";
            document.body.append(script);
            await fetch("https://example.invalid/").catch(() => {});
            await new Promise((resolve) => { setTimeout(resolve, 50); });
            return { ran: window.ran, said };
        });

        assert.equal(done.ran, undefined);
        assert.ok(done.said.includes("script-src-elem") && done.said.includes("connect-src"), done.said.join());
        page.complaints.length = 0; // the browser said so in its console
        await closePage(page);
    });

    test("double click and c copy the name", async () => {
        const page = await openPage(browser, "service");

        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        const at = await findFrame(page, LIST);

        await page.mouse.dblclick(at.x, at.y);
        await settled(page);
        assert.equal(await textOf(page, "[role=status]"), `Copied ${LIST}`);
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), LIST);
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("c");
        await settled(page);
        assert.match(await page.evaluate(() => navigator.clipboard.readText()), /InvocableHandlerMethod/);
        await closePage(page);
    });

    test("Ctrl+wheel and + zoom freely, Back returns", async () => {
        const page = await openPage(browser, "service");
        const at = await findFrame(page, LIST);

        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -300);
        await page.keyboard.up("Control");
        await settled(page);
        await page.mouse.move(at.x + 1, at.y);
        assert.equal((await status(page))[0], LIST); // the frame under the pointer stays there
        assert.match((await status(page))[1], / of the view/);
        await page.getByRole("button", { name: "Back" }).click();
        await settled(page);
        assert.ok(await page.getByRole("button", { name: "Back" }).isDisabled());
        await page.keyboard.press("+");
        await settled(page);
        assert.ok(await page.getByRole("button", { name: "Reset" }).isEnabled());
        await page.keyboard.press("0");
        await settled(page);
        assert.ok(await page.getByRole("button", { name: "Reset" }).isDisabled());
        await closePage(page);
    });

    test("widths by value where values differ from samples", async () => {
        const page = await openPage(browser, "poor", {
            change: (data) => {
                data.values = [4096, 1024]; // rows: a.b.C.run, then [truncated]
                data.meta.unit = "bytes";
                data.meta.weight = "value";
            },
        });
        assert.match((await status(page))[1], /60 samples · 5\.00 KiB/);
        assert.match(await search(page, "a.b.C"), /^80\.0 % matched/);
        await page.getByRole("button", { name: "View", exact: true }).click();
        await page.getByRole("menuitemcheckbox", { name: "Widths by value", checked: true }).click();
        await settled(page);
        assert.match(await textOf(page, ".matches"), /^33\.3 % matched/);
        assert.equal(await hashOf(page), "#s=a.b.C&w=samples");
        await closePage(page);
    });

    test("a page that lost its profile says so", async () => {
        const page = await openPage(browser, "empty", { change: (data) => { data.format = "other"; } });

        assert.match(await textOf(page, "[role=alert]"), /cannot be shown/);
        await closePage(page);
    });

    test("bad quality is amber, with sentences", async () => {
        const page = await openPage(browser, "poor");

        assert.equal(await page.locator(".facts .bad").count(), 4);
        assert.match(await textOf(page, ".notices"), /66\.7 % of the stacks are cut.*7\.7 % of the samples were lost.*kptr_restrict/);
        await closePage(page);
    });

    test("an empty profile says what to do", async () => {
        const page = await openPage(browser, "empty");

        assert.match(await textOf(page, ".empty"), /event=wall/);
        await page.keyboard.press("ArrowUp");
        await page.keyboard.press("r");
        await page.keyboard.press("t");
        await search(page, "x");
        await closePage(page);
    });

    test("lines of a frame fall together, minwidth keeps the sum", async () => {
        const page = await openPage(browser, "lines");

        assert.match(await search(page, "a.b.C.middle"), /^100\.0 % matched · 1$/);
        await closePage(page);
        const narrow = await openPage(browser, "service", { minwidth: "1" });

        assert.match((await status(narrow))[1], /1,317 samples/);
        assert.match(await search(narrow, "narrower than 1 %"), /matched/);
        const before_ = render("service").length;

        assert.ok(render("service", "html", "1").length < before_);
        await closePage(narrow);
    });

    test("a phone can use it", async () => {
        const page = await openPage(browser, "service", {
            viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2,
        });
        const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);

        assert.equal(wide[0], wide[1]);
        for (const name of ["Back", "Reset", "View", "Table", "Dark", "Help"]) {
            const box = await page.getByRole("button", { name, exact: true }).boundingBox();

            assert.ok(box.x >= 0 && box.x + box.width <= 360 && box.height >= 36, name);
        }
        const graph = await page.locator(".graph").boundingBox();

        assert.ok(graph.height > 300);
        await page.touchscreen.tap(graph.x + 100, graph.y + graph.height - 27);
        await settled(page);
        assert.equal((await status(page))[0], "java.lang.Thread.run"); // the first tap tells
        assert.equal(await hashOf(page), "");
        await page.touchscreen.tap(graph.x + 100, graph.y + graph.height - 27);
        await settled(page);
        assert.match(await hashOf(page), /^#z=1\./); // the second one zooms
        assert.equal(await page.evaluate(() => document.querySelector(".graph-canvas").width), 720);
        await closePage(page);
    });

    test("reduced motion has no animation, resizing fits", async () => {
        const page = await openPage(browser, "service", { reducedMotion: "reduce" });
        const at = await findFrame(page, LIST);
        const frames = await page.evaluate(async ([x, y]) => {
            let count = 0;
            const before_ = requestAnimationFrame;

            window.requestAnimationFrame = (f) => { count++; return before_(f); };
            document.querySelector(".graph").dispatchEvent(new MouseEvent("click", { clientX: x, clientY: y, bubbles: true }));
            await new Promise((resolve) => { setTimeout(resolve, 200); });
            return count;
        }, [at.x, at.y]);

        assert.ok(frames <= 2, `${frames} frames`);
        await page.setViewportSize({ width: 700, height: 500 });
        await settled(page);
        const [canvas, graph] = await page.evaluate(() => [document.querySelector(".graph-canvas").width,
            document.querySelector(".graph").clientWidth]);

        assert.equal(canvas, graph);
        await closePage(page);
    });

    test("deep stacks scroll, the root comes first", async () => {
        const page = await openPage(browser, "deep");
        const scroll = () => page.evaluate(() => {
            const g = document.querySelector(".graph");

            return [g.scrollTop, g.scrollHeight - g.clientHeight];
        });
        const [top, most] = await scroll();

        assert.ok(most > 10000);
        assert.equal(top, most); // a flame's root is at the bottom
        await page.keyboard.press("i");
        await settled(page);
        assert.equal((await scroll())[0], 0);
        for (let i = 0; i < 100; i++)
            await page.keyboard.press("ArrowDown");
        await settled(page);
        assert.ok((await scroll())[0] > 1000); // it follows the walk
        await closePage(page);
    });

    test("prints the whole graph in light colours", async () => {
        const page = await openPage(browser, "deep", { colorScheme: "dark" });
        const height = await page.evaluate(() => {
            window.dispatchEvent(new Event("beforeprint"));
            const h = document.querySelector(".graph-canvas").height;

            window.dispatchEvent(new Event("afterprint"));
            return [h, document.querySelector(".graph-canvas").height];
        });

        assert.ok(height[0] > 5000 && height[1] < 1000, height.join());
        await closePage(page);
    });

    for (const [name, hash, colorScheme] of [["service", "", "light"], ["service", "#t=1", "dark"], ["poor", "", "dark"],
        ["poor", "", "light"]]) {
        test(`axe finds nothing serious: ${name}${hash}, ${colorScheme}`, async () => {
            const page = await openPage(browser, name, { hash, colorScheme });

            assert.deepEqual((await faults(page)).filter(({ impact }) => /serious|critical/.test(impact)), []);
            await closePage(page);
        });
    }
});
