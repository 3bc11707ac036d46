// SPDX-License-Identifier: Apache-2.0
// Compare: two captures or ranges as one graph of what became more and less, and the biggest changes in words.
// A side is a capture's id or "PID,FROM,TO" (an empty pid: the whole node), as the address keeps it.

import { getJson, isAbort } from "./api.js";
import { biggestChanges, diffTint, gainOf, joinProfiles } from "./diff.js";
import { element, isNarrow } from "./dom.js";
import { formatClock, formatMoment, formatSeconds, formatShare } from "./format.js";
import { KINDS } from "./kinds.js";
import { shortMain, shortName } from "./names.js";
import { button, emptyState, errorState } from "./notice.js";
import { openJson } from "./openjson.js";
import { ProfilePanel } from "./panel.js";
import { paramsOfState, stateOfParams } from "./state.js";
import { buildTree } from "./tree.js";

const LATELY = [[60, "the last minute"], [300, "the last 5 min"], [900, "the last 15 min"]];
const BEFORE = [[600, "10 min ago"], [3600, "1 h ago"], [14400, "4 h ago"]];
const WINDOW_S = 60;

export function signedPoints(gain) {
    const points = gain * 100;

    return (points > 0 ? "+" : points < 0 ? "−" : "") + Math.abs(points).toFixed(1) + "\u00a0pp";
}

export class CompareView {
    constructor(app, params) {
        this.app = app;
        this.params = params;
        this.a = params.get("a") || "";
        this.b = params.get("b") || "";
        this.pid = params.get("pid") || "";
        this.panel = new ProfilePanel({ state: () => this.keep(), describe: (tree, node) => this.describe(tree, node) },
            { title: false, thread: "", facts: false, icicle: isNarrow() });
        this.panel.setTint(diffTint);
        this.selects = ["a", "b"].map((side) => element("select", {
            class: "tool side-select", "aria-label": side === "a" ? "Before" : "After",
            onchange: () => this.choose(side, this.selects[side === "a" ? 0 : 1].value),
        }));
        this.strip = element("div", { class: "bar sub" },
            element("label", { class: "field side" }, "Before", this.selects[0]),
            element("label", { class: "field side" }, "After", this.selects[1]),
            button("Swap", () => this.swap(), { title: "Before becomes after" }),
            element("span", { class: "diff-key" }, element("span", { class: "swatch less" }), "less",
                element("span", { class: "swatch more" }), "more"));
        this.changes = element("section", { class: "change-list", "aria-label": "Biggest changes", tabindex: "0", hidden: true });
        this.content = element("div", { class: "content" });
        this.root = element("div", { class: "view" }, this.strip, this.content);
    }

    async start() {
        const controller = this.controller = new AbortController();

        this.setTheme(this.app.theme);
        this.app.setCrumbs([{ text: "Compare" }]);
        this.content.replaceChildren(emptyState("Loading …"));
        try {
            const [captures, { jvms }] = await Promise.all([
                getJson("api/v1/captures", { limit: 100 }, controller.signal).catch((error) => {
                    if (isAbort(error))
                        throw error;
                    return { captures: [] };
                }),
                getJson("api/v1/jvms", {}, controller.signal)]);

            this.captures = captures.captures.filter(({ state }) => state === "done");
            this.jvms = jvms;
            if (this.pid && !this.b)
                this.b = `${this.pid},-${WINDOW_S}s,`;
            this.guess();
            this.fillSelects();
            await this.load();
        } catch (error) {
            if (!isAbort(error))
                this.content.replaceChildren(errorState(error, button("Try again", () => this.start())));
        }
    }

    stop() {
        this.controller.abort();
    }

    setTheme(theme) {
        this.panel.setTheme(theme);
    }

    // With one side chosen, the other is the same process earlier, where something of it is stored.
    guess() {
        if (this.a || !this.b)
            return;
        const b = this.captures.find(({ id }) => id === this.b);
        const pid = b ? ((b.processes || [])[0] || {}).pid : Number(this.b.split(",")[0]);
        const earlier = this.captures.find((c) => c.id !== this.b && (c.processes || []).some((p) => p.pid === pid) &&
            (!b || Date.parse(c.start) < Date.parse(b.start)));

        this.a = earlier ? earlier.id : pid && !b ? `${pid},-${600 + WINDOW_S}s,-600s` : "";
    }

    // ---- sides ----

    options(chosen) {
        const option = (value, text) => element("option", { value, selected: value === chosen }, text);
        const groups = [option("", "Choose …")];
        const known = new Set([""]);
        const group = (label, list) => {
            if (!list.length)
                return;
            groups.push(element("optgroup", { label }, ...list.map(([value, text]) => {
                known.add(value);
                return option(value, text);
            })));
        };

        group("Captures", this.captures.map((c) => [c.id, this.captureText(c)]));
        for (const jvm of [...this.jvms].sort((x, y) => y.cpu_percent - x.cpu_percent).slice(0, 20))
            group(`${shortMain(jvm.main || "(unnamed)")} (${jvm.pid})`, [
                ...LATELY.map(([s, text]) => [`${jvm.pid},-${s}s,`, text]),
                ...BEFORE.map(([s, text]) => [`${jvm.pid},-${s + WINDOW_S}s,-${s}s`, "a minute, " + text])]);
        group("Whole node", [...LATELY.map(([s, text]) => [`,-${s}s,`, text]),
            ...BEFORE.map(([s, text]) => [`,-${s + WINDOW_S}s,-${s}s`, "a minute, " + text])]);
        if (!known.has(chosen))
            groups.splice(1, 0, option(chosen, this.sideText(chosen)));
        return groups;
    }

    captureText(c) {
        const [process] = c.processes || [];

        return `${process ? shortMain(process.name) : "node"} · ${formatMoment(Date.parse(c.start))} · ` +
            `${formatSeconds(c.seconds)} · ${c.event}`;
    }

    sideText(side) {
        if (!side.includes(","))
            return `capture ${side.slice(0, 8)}`;
        const [pid, from, to] = side.split(",");
        const time = (text) => (/^-/.test(text) ? text : text ? formatClock(Date.parse(text)) : "now");

        return `${pid ? "pid " + pid : "node"} · ${time(from)} – ${time(to)}`;
    }

    fillSelects() {
        this.selects[0].replaceChildren(...this.options(this.a));
        this.selects[1].replaceChildren(...this.options(this.b));
    }

    choose(side, value) {
        this[side] = value;
        this.keep();
        this.load();
    }

    swap() {
        [this.a, this.b] = [this.b, this.a];
        this.fillSelects();
        this.keep();
        this.load();
    }

    async fetchSide(side, signal) {
        if (!side.includes(","))
            return openJson(await getJson(`api/v1/captures/${side}/profile`, { format: "json" }, signal));
        const [pid, from, to] = side.split(",");

        return openJson(await getJson("profile", { pid, from, to, format: "json" }, signal));
    }

    async load() {
        const { signal } = this.controller;

        if (!this.a || !this.b) {
            this.content.replaceChildren(emptyState("Choose what to compare.",
                "Two captures, or a process now and some time ago. Shares are compared, so that their lengths may differ."));
            return;
        }
        this.root.setAttribute("aria-busy", "true");
        try {
            const [before, after] = await Promise.all([this.fetchSide(this.a, signal), this.fetchSide(this.b, signal)]);

            this.show(before, after);
        } catch (error) {
            if (!isAbort(error))
                this.content.replaceChildren(errorState(error));
        } finally {
            this.root.removeAttribute("aria-busy");
        }
    }

    // ---- what came out ----

    show(before, after) {
        const joined = joinProfiles(before, after);

        this.before = before;
        this.after = after;
        this.panel.setProfile(joined);
        this.panel.setState(this.panel.state || stateOfParams(this.params, this.panel.defaults));
        this.fillChanges();
        this.content.replaceChildren(this.changes, this.panel.root);
    }

    fillChanges() {
        const list = biggestChanges(buildTree(this.panel.source));
        const few = [this.before, this.after].some(({ quality }) => quality.samples < 100);

        this.changes.hidden = false;
        this.changes.replaceChildren(element("h2", {}, "Biggest changes"),
            element("p", { class: "quiet" }, `${this.before.quality.samples} samples before, ` +
                `${this.after.quality.samples} after. Percentage points (pp) of all samples that ran the method itself.` +
                (few ? " So few samples tell little: small changes may be chance." : "")),
            list.length ? element("ol", {}, ...list.map((change) => this.changeRow(change)))
                : element("p", {}, "Nothing changed by more than 0.05 percentage points."));
    }

    changeRow({ name, kind, before, after, gain }) {
        return element("li", {}, element("span", { class: "gain " + (gain > 0 ? "more" : "less") }, signedPoints(gain)),
            element("span", { class: "chip kind-" + KINDS[kind].id, title: KINDS[kind].text }),
            element("button", { type: "button", class: "name", title: name, onclick: () => this.panel.pickMethod(name) },
                shortName(name, kind)),
            element("span", { class: "quiet" }, !before ? `new, ${formatShare(after, 1)}` : !after ? `gone, was ${formatShare(before, 1)}`
                : `${formatShare(before, 1)} → ${formatShare(after, 1)}`));
    }

    describe(tree, node) {
        if (!node)
            return ["shares of all samples, before and after"];
        return [`${formatShare(tree.values[node], tree.values[0])} before`,
            `${formatShare(tree.samples[node], tree.samples[0])} after`, signedPoints(gainOf(tree, node))];
    }

    keep() {
        const params = this.panel.state ? paramsOfState(this.panel.state, this.panel.defaults) : new URLSearchParams();

        params.set("a", this.a);
        params.set("b", this.b);
        this.app.replaceParams(params);
    }

    keyed(event) {
        return Boolean(this.before) && this.panel.keyed(event);
    }
}
