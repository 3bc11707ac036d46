// SPDX-License-Identifier: Apache-2.0
// Compare: two captures or ranges as one graph of what became more and less, or beside each other, and the biggest
// changes in words.

import { getJson, isAbort } from "./api.js";
import { Amounts } from "../shared/amounts.js";
import { biggestChanges, diffTint, joinProfiles } from "../viewer/diff.js";
import { element } from "../shared/dom.js";
import { formatCount, formatSeconds, formatShare } from "../shared/format.js";
import { KINDS } from "../shared/kinds.js";
import { shortName } from "../shared/names.js";
import { button, emptyState, errorState } from "./notice.js";
import { panelLooks } from "./panellooks.js";
import { ProfilePanel } from "../viewer/panel.js";
import { formatRoute } from "./route.js";
import { WINDOW_S, captureText, fetchSide, fixedSide, openSides, parseSide, rangeOf, rangeSide, targetGroups, targetName, targetParams,
    timeChoices } from "./sides.js";
import { paramsOfState, stateOfParams } from "../shared/state.js";
import { suggestSides } from "./suggest.js";
import { buildTree } from "../shared/tree.js";
import { nodeNow } from "../shared/now.js";

const FEW_TO_COMPARE = 100;
const RECORDED_PART = 0.95; // of a range: what it lacks is said where it lacks more
const SIDES = [["a", "Before"], ["b", "After"]];

export function signedPoints(gain) {
    const points = gain * 100;

    return (points > 0 ? "+" : points < 0 ? "−" : "") + Math.abs(points).toFixed(1) + "\u00a0pp";
}

// Chooses one side: what, and when.
class SidePicker {
    // @changed(side)
    constructor(label, changed) {
        const select = (name) => element("select", { class: "tool side-select", "aria-label": name, title: name,
            onchange: () => changed(this.value()) });

        this.what = select(`${label}: what`);
        this.when = select(`${label}: when`);
        this.root = element("div", { class: "field side" }, element("span", {}, label), this.what, this.when);
    }

    value() {
        const what = this.what.value;

        return what.endsWith(",") ? what + (this.when.value || timeChoices(",")[0][0]) : what;
    }

    fill(side, captures, jvms) {
        const { capture, target } = parseSide(side);
        const chosen = capture || (side ? target + "," : "");
        const option = ([value, text]) => element("option", { value, selected: value === chosen }, text);
        const groups = targetGroups(captures, jvms);
        const isKnown = !chosen || groups.some(({ options }) => options.some(([value]) => value === chosen));

        this.what.replaceChildren(option(["", "Choose …"]),
            ...isKnown ? [] : [option([chosen, capture ? `capture ${capture.slice(0, 8)}` : targetName(target)])],
            ...groups.map(({ label, options }) => element("optgroup", { label }, ...options.map(option))));
        this.when.hidden = Boolean(capture) || !side;
        this.when.replaceChildren(...timeChoices(side).map(([value, text]) => element("option", { value }, text)));
        this.when.value = side.slice(side.indexOf(",") + 1);
    }
}

export class CompareView {
    // @inside: it is part of another view, which has chosen the sides.
    constructor(app, params, { inside = false } = {}) {
        this.app = app;
        this.params = params;
        this.sides = { a: params.get("a") || "", b: params.get("b") || "" };
        this.pid = params.get("pid") || "";
        this.panel = new ProfilePanel({ state: () => this.keep(), describe: (tree, node) => this.describe(tree, node) },
            { ...panelLooks(), facts: false, table: false });
        this.panel.setTint(diffTint);
        this.pickers = Object.fromEntries(SIDES.map(([name, label]) =>
            [name, new SidePicker(label, (side) => this.choose(name, side))]));
        this.strip = element("div", { class: "bar sub sides" }, this.pickers.a.root, this.pickers.b.root,
            button("Swap", () => this.swap(), { title: "Before becomes after" }),
            element("span", { class: "diff-key" }, element("span", { class: "swatch less" }), "less",
                element("span", { class: "swatch more" }), "more"));
        this.changes = element("section", { class: "change-list", "aria-label": "Biggest changes", tabindex: "0", hidden: true });
        this.content = element("div", { class: "content" });
        this.strip.hidden = inside;
        this.root = element("div", { class: inside ? "view compare-inside" : "view settling" }, this.strip, this.content);
    }

    async start() {
        const { signal } = this.controller = new AbortController();

        this.setTheme(this.app.theme);
        this.app.setCrumbs([{ text: "Compare" }]);
        this.content.replaceChildren(emptyState("Loading …"));
        try {
            const [captures, { jvms }] = await Promise.all([
                getJson("api/v1/captures", { limit: 100 }, signal).catch((error) => {
                    if (isAbort(error))
                        throw error;
                    return { captures: [] };
                }),
                getJson("api/v1/jvms", {}, signal)]);

            this.captures = captures.captures.filter(({ state }) => state === "done");
            this.jvms = jvms;
            await this.guess(signal);
            await this.load();
        } catch (error) {
            if (isAbort(error))
                return;
            this.root.classList.remove("settling");
            this.content.replaceChildren(errorState(error, button("Try again", () => this.start())));
        }
    }

    stop() {
        this.controller.abort();
    }

    setTheme(theme) {
        this.panel.setTheme(theme);
    }

    // ---- sides ----

    // With one side chosen, the other is the same process earlier: an older capture, or the oldest minute that is
    // recorded.
    async guess(signal) {
        const { sides } = this;

        if (this.pid && !sides.b)
            sides.b = `${this.pid},-${WINDOW_S}s,`;
        if (sides.a || !sides.b)
            return;
        const { target } = parseSide(sides.b);
        const b = this.captures.find(({ id }) => id === sides.b);
        const pid = b ? ((b.processes || [])[0] || {}).pid : Number(target);
        const earlier = this.captures.find((c) => c.id !== sides.b && (c.processes || []).some((p) => p.pid === pid) &&
            (!b || Date.parse(c.start) < Date.parse(b.start)));

        sides.a = earlier ? earlier.id : b ? "" : await this.oldestMinute(target, signal);
    }

    async oldestMinute(target, signal) {
        const { oldest } = await getJson("api/v1/timeline", { ...targetParams(target), buckets: 1 }, signal);
        const jvm = this.jvms.find(({ pid }) => String(pid) === target);
        const from = Math.max(Date.parse(oldest), jvm ? Date.parse(jvm.start_time) : 0);

        return oldest ? rangeSide(target, { from, to: from + WINDOW_S * 1000 }) : "";
    }

    choose(name, side) {
        this.sides[name] = side;
        this.load();
    }

    swap() {
        this.sides = { a: this.sides.b, b: this.sides.a };
        this.load();
    }

    async load() {
        const { sides } = this;
        const { signal } = this.controller;
        const turn = this.turn = {};
        const now = nodeNow(); // the same for both: a minute and the one before touch

        for (const [name] of SIDES) {
            sides[name] = fixedSide(sides[name], now);
            this.pickers[name].fill(sides[name], this.captures, this.jvms);
        }
        this.root.classList.remove("settling");
        this.keep();
        if (!sides.a || !sides.b) {
            const list = sides.a || sides.b ? [] : await this.suggestions(signal);

            if (turn === this.turn && !signal.aborted) {
                this.before = null;
                this.content.replaceChildren(this.invite(list));
            }
            return;
        }
        this.root.setAttribute("aria-busy", "true");
        const [before, after] = await Promise.allSettled([fetchSide(sides.a, signal), fetchSide(sides.b, signal)]);

        if (turn !== this.turn || signal.aborted)
            return; // something else was chosen since
        this.root.removeAttribute("aria-busy");
        if (before.status === "fulfilled" && after.status === "fulfilled")
            this.show(...openSides(before.value, after.value));
        else
            this.fail(before.reason ? "a" : "b", before.reason || after.reason);
    }

    async suggestions(signal) {
        const { oldest } = await getJson("api/v1/timeline", { buckets: 1 }, signal).catch(() => ({}));

        return suggestSides(this.captures, this.jvms, Date.parse(oldest));
    }

    // What to do where a side is not chosen yet.
    invite(list) {
        const { a, b } = this.sides;

        if (a || b)
            return emptyState(`Choose “${a ? "after" : "before"}” above: what, and when.`,
                `${this.sideText(a ? "a" : "b")} is chosen as “${a ? "before" : "after"}”.`);
        return emptyState("Choose what to compare.", "Two captures, JVMs or pods, or one of them now and some time ago, " +
            "by the lists above. Their lengths may differ: shares are compared, or amounts per second." + (list.length ? ""
            : " There is nothing yet to suggest: that takes two captures, or two minutes that are recorded."),
        ...list.map(({ text, ...sides }) => element("a", { class: "tool suggestion", href: formatRoute("compare", "", sides) }, text)));
    }

    fail(name, error) {
        const { target, capture } = parseSide(this.sides[name]);
        const label = name === "a" ? "before" : "after";

        this.before = null;
        this.content.replaceChildren(errorState(
            Object.assign(new Error(`There is nothing to show for “${label}”: ${error.message}`), { remedy: error.remedy }),
            ...capture ? [] : [button("Take the oldest recorded minute", () => this.takeOldest(name, target))]));
    }

    async takeOldest(name, target) {
        const { signal } = this.controller;

        try {
            const side = await this.oldestMinute(target, signal);

            if (!side)
                throw new Error("nothing of it is recorded");
            this.choose(name, side);
        } catch (error) {
            if (!isAbort(error))
                this.fail(name, error);
        }
    }

    // ---- what came out ----

    show(before, after) {
        this.before = before;
        this.after = after;
        this.amounts = new Amounts(before.meta, after.meta);
        this.panel.setProfile(joinProfiles(before, after, this.amounts));
        if (!this.panel.state)
            this.panel.setState(stateOfParams(this.params, this.panel.defaults));
        this.fillChanges();
        this.content.replaceChildren(this.changes, this.panel.root);
    }

    sideText(name) {
        const { capture, target } = parseSide(this.sides[name]);
        const stored = this.captures.find(({ id }) => id === capture);
        const { from, to } = rangeOf(this.sides[name]);

        return stored ? captureText(stored) : capture ? "" : `${formatSeconds((to - from) / 1000)} of ${targetName(target)}`;
    }

    // The same of a side whose profile is here: of how much of the time there are samples.
    lengthText(name, { meta }) {
        const { from, to } = rangeOf(this.sides[name]), asked = (to - from) / 1000;

        return meta.seconds < RECORDED_PART * asked ? `${this.sideText(name)}, of which ${formatSeconds(meta.seconds)} are recorded` : this.sideText(name);
    }

    get measure() {
        return this.panel.source.meta.measure;
    }

    // What a weight of the joint profile is in the event's unit. @side: 0 before, 1 after.
    amount(side, weight) {
        return weight * this.measure.worth[side];
    }

    // What to say of both sides, as [what the comparison is by, what stands beside it]. Shares are those of all, also where the
    // graph shows a part: its colours are, too.
    texts(before, after) {
        const { amounts, measure: { wholes: [wholeBefore, wholeAfter] } } = this;
        const [was, is] = [this.amount(0, before), this.amount(1, after)];
        const share = {
            change: signedPoints((wholeAfter ? after / wholeAfter : 0) - (wholeBefore ? before / wholeBefore : 0)),
            before: formatShare(before, wholeBefore), after: formatShare(after, wholeAfter),
        };
        const amount = amounts.unit ? { change: amounts.changeText(was, is), before: amounts.text(was), after: amounts.text(is) } : null;

        return this.measure.byValue ? [amount, share] : amount ? [share, amount] : [share];
    }

    fillChanges() {
        const tree = buildTree(this.panel.source), list = biggestChanges(tree);
        const few = [this.before, this.after].some(({ quality }) => quality.samples < FEW_TO_COMPARE);
        const facts = SIDES.map(([name, label], i) => `${label}: ${this.lengthText(name, [this.before, this.after][i])}, ` +
            [`${formatCount([this.before, this.after][i].quality.samples)} samples`,
                ...this.amounts.unit ? [this.amounts.text(this.amount(i, [tree.values, tree.samples][i][0]))] : []].join(", ") + ".");
        const by = this.measure.byValue ? "Changes of what the method itself had, and of its share in percentage points (pp)."
            : "Changes in percentage points (pp) of all samples that ran the method itself.";
        const idle = [this.before, this.after].some(({ quality }) => quality.idle) ? "Threads that wait for work are left out." : "";
        const whole = list.some((change) => change.whole) ? "Methods of the application count with the libraries that they call." : "";

        this.changes.hidden = false;
        this.changes.replaceChildren(element("h2", {}, "Biggest changes"),
            element("p", { class: "quiet" }, [...facts, by, idle, whole, this.amounts.note(),
                few ? "With so few samples, small changes may be chance." : ""].filter(Boolean).join(" ")),
            list.length ? element("ol", {}, ...list.map((change) => this.changeRow(change)))
                : element("p", {}, "Nothing changed by more than " +
                    (this.measure.byValue ? "0.05 % of the larger side." : "0.05 percentage points.")));
    }

    changeRow({ name, kind, before, after, gain }) {
        const texts = this.texts(before, after);
        const [{ change }, beside] = texts;
        const [{ before: was, after: is }] = texts;
        const both = !before ? `new, ${is}` : !after ? `gone, was ${was}` : `${was} → ${is}`;

        return element("li", { title: beside ? `${beside.before} → ${beside.after}, ${beside.change}` : null }, element("span", { class: "gain " + (gain > 0 ? "rose" : "fell") }, change),
            element("span", { class: "chip kind-" + KINDS[kind].id, title: KINDS[kind].text }),
            element("button", { type: "button", class: "name", title: name, onclick: () => this.panel.pickMethod(name) },
                shortName(name, kind)),
            element("span", { class: "quiet" }, both));
    }

    describe(tree, node) {
        const texts = this.texts(tree.values[node], tree.samples[node]);

        return [texts.map(({ before }) => before).join(", ") + " before", texts.map(({ after }) => after).join(", ") + " after",
            texts.map(({ change }) => change).join(", ")];
    }

    keep() {
        const params = this.panel.state ? paramsOfState(this.panel.state, this.panel.defaults) : new URLSearchParams(this.params);

        params.delete("pid");
        for (const [name] of SIDES)
            params.set(name, this.sides[name]);
        this.app.replaceParams(params);
    }

    keyed(event) {
        return Boolean(this.before) && this.panel.keyed(event);
    }
}
