// SPDX-License-Identifier: Apache-2.0
// What a person meets at a JVM that is sick or has stopped, against a stand-in for flamed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { close, textOf } from "./browser.mjs";
import { makeProfile } from "./fake_server.mjs";
import { ORDERS, nodeTest } from "./node_test.mjs";

const iso = (ms) => new Date(ms).toISOString();
const plain = (text) => text.replace(/\s+/g, " ");

describe("sick", { concurrency: 4 }, () => {
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
            for (let x = plot.x + plot.width * 0.6; x < plot.x + plot.width && !/version 3/.test(best); x += 4) { // marks come with an answer of their own
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

    nodeTest("the whole sentence of a signal is in sight at every width", async ({ server, open }) => {
        const sentence = "6 min ago the heap was full; then a collection freed 64 MiB of it; since then the JVM uses 0.1 % of a CPU, 2.0 % before that: an OutOfMemoryError may have ended the threads that worked, which its log shows";

        server.addSignal({ signal: "heap-full", severity: 3, sentence, evidence: "/api/v1/jvms/4242/heap" });
        for (const width of [1440, 1000, 820, 660, 390]) {
            const page = await open(`#/jvm/${ORDERS}`, { viewport: { width, height: 844 } }), words = page.locator(".signal-line .signal-words");

            await words.waitFor();
            const cut = await words.evaluate((node, wanted) => {
                const range = document.createRange(), text = node.firstChild;

                range.setStart(text, 0);
                range.setEnd(text, wanted);
                return range.getBoundingClientRect().bottom - node.getBoundingClientRect().bottom;
            }, sentence.length);

            assert.ok(cut < 1, `${cut} px of it are hidden at ${width}`);
            await close(page);
        }
    });
});
