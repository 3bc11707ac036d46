// SPDX-License-Identifier: Apache-2.0
// The shortest way from the list to the cause of each fault of tests/bench/trial.py, as what the page itself says leads there: by mouse, by
// keys alone, and on a phone. Prints a table of actions and seconds, and fails if a cause is not found. By hand: trial.mjs ADDRESS [mouse|keys|phone [SERVICE]], in the environment of browser.sh.
import { launch, open } from "./browser.mjs";

const [, , address, only, asked] = process.argv;
const LOOKS = { mouse: { viewport: { width: 1440, height: 900 } }, keys: { viewport: { width: 1440, height: 900 } },
    phone: { viewport: { width: 390, height: 844 }, hasTouch: true } };
const CAUSE_MS = 600000;

// One person: each action counts, waiting does not.
class Person {
    constructor(page, look) {
        Object.assign(this, { page, look, actions: 0, keys: 0 });
    }

    async key(name) {
        this.keys++;
        await this.page.keyboard.press(name);
    }

    // Goes on to what @text names, and takes it.
    async take(text, { role = "link", row = null } = {}) {
        const target = (row ? this.page.locator("tr", { hasText: row }) : this.page).getByRole(role, { name: text, exact: typeof text === "string" }).filter({ visible: true }).first();

        await target.waitFor({ timeout: 60000 });
        this.actions++;
        if (this.look === "mouse")
            await target.click();
        else if (this.look === "phone")
            await target.tap();
        else
            await this.reach(target);
    }

    // By the keys that Help names, else from one control to the next.
    async reach(target) {
        const has = () => target.evaluate((node) => node === document.activeElement);
        const [isRow, isEvidence, isStart] = await target.evaluate((node) => [node.matches(".jvms .jvm-link"), node.matches(".signal-line > .signal-link"),
            node.textContent === "Start" && document.activeElement.matches("input")]);

        if (isEvidence)
            return this.key("g");
        for (let i = 0; i < 120 && !isStart && !await has(); i++)
            await this.key(isRow ? "j" : "Tab");
        if (!isStart && !await has())
            throw new Error("no key leads there");
        return this.key("Enter");
    }

    async sees(pattern) {
        await this.page.waitForFunction((source) => new RegExp(source).test(document.body.innerText.replaceAll("\u00a0", " ")), pattern.source, { timeout: CAUSE_MS });
    }

    // A frame of the graph that is wide enough for its name.
    async seesFrame(name, least = 0.05) {
        await this.page.waitForFunction(([wanted, share]) => [...document.querySelectorAll(".graph")].some(({ flameGraph, clientWidth }) => {
            const { tree } = flameGraph || {};

            for (let i = 1; tree && i < tree.count; i++)
                if (tree.profile.groups[tree.group[i]].name.endsWith(wanted) && tree.total[i] / tree.total[0] >= share && tree.total[i] / tree.total[0] * clientWidth >= 60)
                    return true;
            return false;
        }), [name, least], { timeout: CAUSE_MS });
    }
}

// What leads to the cause: {service: [the cause, async (person)]}.
const WAYS = {
    search: ["its CPU limit stops it", (p) => p.sees(/cpu-limit its CPU limit of 0\.2 throttled it/)],
    pricing: ["all wait for a lock in which one thread sleeps", async (p) => {
        await p.take("pricing");
        await p.take("Which locks, and who has them");
        await p.sees(/sleep\s+Thread\.sleep ← PriceTable\.load ← PriceTable\.lookup/);
    }],
    checkout: ["its pool waits for a bank that does not answer", async (p) => {
        await p.take("checkout");
        await p.take("What they wait for");
        await p.seesFrame("PaymentClient.charge");
    }],
    catalog: ["it joins texts, and the collector follows", async (p) => {
        await p.take("catalog");
        await p.take(/^\(?Who allocates/);
        await p.take("Start", { role: "button" });
        await p.page.waitForURL(/#\/capture\//, { timeout: CAUSE_MS });
        await p.seesFrame("Catalog.describe");
    }],
    rules: ["its new release compiles a pattern for each tenant", async (p) => {
        await p.take(/what changed$/, { row: "rules" });
        if (await p.page.locator(".change-table tbody tr, .blank a").first().waitFor().then(() => p.page.locator(".change-table tbody tr", { hasText: /matchTenant|regex/ }).count()) === 0)
            await p.take("Compare the graphs");
        await p.seesFrame("Rules.matchTenant").catch(() => p.sees(/matchTenant/));
    }],
    sessions: ["it keeps each session", async (p) => {
        await p.take("sessions");
        await p.take(/^\(?What stays/);
        await p.take("Start", { role: "button" });
        await p.page.waitForURL(/#\/capture\//, { timeout: CAUSE_MS });
        await p.seesFrame("Sessions.login", 0.5); // of what stays, not of what is allocated
    }],
    mail: ["nothing", async (p) => {
        await p.take("mail");
        await p.sees(/nothing that flamed looks for is wrong|samples/);
    }],
};

// Takes the way to the cause of one service, and prints what it took.
async function walk(browser, look, options, service) {
    const [cause, way] = WAYS[service];
    const page = await open(browser, address, "", options), person = new Person(page, look);
    let said = cause;

    await page.locator(".jvms .jvm-link").first().waitFor();
    const from = Date.now();

    await way(person).catch((error) => {
        said = `NOT FOUND: ${error.message.split("\n")[0]}`;
        process.exitCode = 1;
    });
    process.stdout.write(`${service.padEnd(9)} ${String(person.actions).padStart(2)} ${String(person.keys).padStart(4)} ${((Date.now() - from) / 1000).toFixed(1).padStart(6)}  ${said}\n`);
    if (process.env.FLAMED_SHOTS)
        await page.screenshot({ path: `${process.env.FLAMED_SHOTS}/trial-${look}-${service}.png` });
    await page.context().close();
}

for (const [name, all] of [[only, LOOKS], [asked, WAYS]])
    if (name && !all[name])
        throw new Error(`there is no ${name}`);
const browser = await launch();

try {
    for (const [look, options] of Object.entries(LOOKS).filter(([name]) => !only || name === only)) {
        process.stdout.write(`${look}: service, actions, keys, seconds\n`);
        for (const service of Object.keys(WAYS).filter((name) => !asked || name === asked))
            await walk(browser, look, options, service);
    }
} finally {
    await browser.close();
}
