// SPDX-License-Identifier: Apache-2.0
// What of a JVM or a service takes more or less than before, as /api/v1/changes finds it: only what is significant.

import { getJson, isAbort } from "./api.js";
import { CompareView } from "./compare.js";
import { element, setText } from "../shared/dom.js";
import { formatMoment, formatRange, formatSeconds, withLocalTimes } from "../shared/format.js";
import { button, emptyState, errorState } from "./notice.js";
import { splitJavaName } from "../shared/names.js";
import { formatRoute } from "./route.js";
import { rangeSide, serviceTarget } from "./sides.js";
import { nodeNow } from "../shared/now.js";

const CHANGE_SPANS_S = [300, 600, 1800, 3600, 21600];
const CHANGE_COLUMNS = [["What changed", "what"], ["Before", "num"], ["After", "num"],
    ["Difference", "num", "The median difference of their minutes, which a few odd minutes do not move. Before and After are means."], ["Between", "num"], ["By chance", "num"]];
const PERCENT = (n) => `${n.toFixed(Math.abs(n) < 10 ? 2 : 1)}\u00a0%`;
const POINTS = (n) => PERCENT(n).replace("%", "pp"); // how shares differ
const AMOUNT_OF = { "pauses/min": (n) => `${n.toFixed(1)}\u00a0/min` }; // else percent

const TOO_FEW = /too few to tell/; // minutes, where samples are enough
const MINUTE_MS = 60000;
const SINCE_RELEASE_S = 600; // as long as both times grow after a release

// "Before: 03:00:00 – 03:02:00. After: 03:05:00 – 03:07:00."
export function rangesText({ a, b }) {
    const text = ({ from, to }) => `${formatMoment(Date.parse(from))} – ${formatMoment(Date.parse(to))}`;

    return `Before: ${text(a)}. After: ${text(b)}.`;
}

// When there is enough to compare, at the rate so far; "" where there is enough, or where nobody can say.
export function enoughText({ enough, samples, minutes, needed, times, ranges: { a, b } }) {
    const seconds = (Date.parse(b.to) - Date.parse(b.from)) / 1000, isShort = seconds < needed.seconds, few = Math.min(samples.a, samples.b);

    if (enough || (!isShort && few >= needed.samples))
        return "";
    if (!isShort && samples.a < needed.samples && minutes.a < (Date.parse(a.to) - Date.parse(a.from)) / MINUTE_MS - 0.5)
        return `Samples of the time before cover ${formatSeconds(60 * minutes.a)}, and there may be none from earlier: choose other times above.`;
    if (times !== "since-deploy")
        return "A longer time has more samples: choose one above.";
    const whole = isShort ? needed.seconds : seconds * needed.samples / few;

    if (!Number.isFinite(whole))
        return "";
    if (whole > SINCE_RELEASE_S)
        return `At the rate so far, ${formatSeconds(SINCE_RELEASE_S)} have too few, too: choose a longer time above.`;
    return `Both times grow: ${isShort ? "" : "at the rate so far "}there is enough in about ${formatSeconds(Math.max(1, Math.ceil(whole - seconds)))}.`;
}

// "under 1 in 1,000": how many of such changes are none.
export function chanceText(q) {
    return q < 0.001 ? "under 1 in 1,000" : `1 in ${Math.round(1 / q)}`;
}

export class ChangesTable {
    // @target: {pid} or {service}; @side: how a comparison names it; @on: {range(): the one that was chosen, or null; service(): the
    // name of the JVM's service, which a release starts again as another JVM, keep(): another choice}. @chosen: as of this.chosen.
    constructor(target, side, on, chosen) {
        Object.assign(this, { target, side, on, chosen }); // what a person chose to compare, as the select's value; "": nothing
        this.select = element("select", { class: "tool", "aria-label": "What is compared", onchange: () => this.choose() });
        this.note = element("div", { class: "live-note change-note", "aria-live": "polite" });
        this.body = element("tbody");
        this.table = element("table", { class: "list change-table", hidden: true }, element("caption", { class: "offscreen" }, "What changed"),
            element("thead", {}, element("tr", {}, ...CHANGE_COLUMNS.map(([label, kind, title]) =>
                element("th", { scope: "col", class: kind === "num" ? "num" : `col-${kind}`, title }, label)))), this.body);
        this.blank = element("div");
        this.graphs = element("div");
        this.diff = element("a", { class: "tool" }, "Compare the graphs");
        this.root = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What changed" },
            element("div", { class: "live-head" }, element("div", { class: "tools" }, this.select, button("Again", () => this.load()), this.diff)),
            this.note, this.table, this.blank, this.graphs);
    }

    start() {
        const range = this.on.range();
        const options = CHANGE_SPANS_S.map((seconds) => [String(seconds), `The last ${formatSeconds(seconds)} against as much before`]);

        if (range)
            options.unshift(["range", `${formatRange(range)} against as much before`]);
        else
            options.unshift(["", "Since the last deploy, or since yesterday"]);
        this.select.replaceChildren(...options.map(([value, text]) => element("option", { value, selected: value === this.chosen }, text)));
        this.load();
    }

    choose() {
        this.chosen = this.select.value;
        this.on.keep();
        this.load();
    }

    stop() {
        if (this.controller)
            this.controller.abort();
        this.controller = null;
        this.showGraphs("");
    }

    setTheme(theme) {
        this.theme = theme;
        if (this.comparison)
            this.comparison.setTheme(theme);
    }

    // Both sides' graphs below what is said, where nothing can be told for sure; "": none. @href: of their comparison.
    showGraphs(href) {
        if (this.comparison)
            this.comparison.stop();
        this.comparison = href ? new CompareView({ theme: this.theme, setCrumbs() {}, replaceParams() {} }, new URLSearchParams(href.split("?")[1]), { inside: true }) : null;
        this.root.classList.toggle("with-graphs", Boolean(href));
        this.graphs.replaceChildren(...this.comparison ? [this.comparison.root] : []);
        if (this.comparison)
            this.comparison.start();
    }

    // The parameters of what is compared; none if flamed chooses.
    sides() {
        const now = nodeNow(), { value } = this.select;
        const after = value === "range" ? this.on.range() : { from: now - Number(value) * 1000, to: now };
        const text = (from, to) => `${new Date(from).toISOString()}..${new Date(to).toISOString()}`;

        return value ? { ...this.target, a: text(2 * after.from - after.to, after.from), b: text(after.from, after.to) }
            : this.on.service() ? { service: this.on.service() } : this.target;
    }

    // Leads to the graphs of both @ranges of @service, or, without one, of the target.
    linkGraphs(ranges, service) {
        const side = service ? serviceTarget(service) : this.side;
        const [a, b] = [ranges.a, ranges.b].map(({ from, to }) => rangeSide(side, { from: Date.parse(from), to: Date.parse(to) }));

        this.diff.hidden = false;
        this.diff.href = formatRoute("compare", "", { a, b });
    }

    async load() {
        this.stop();
        const controller = this.controller = new AbortController(), asked = this.sides();

        this.diff.hidden = this.table.hidden = true;
        this.note.replaceChildren();
        this.blank.replaceChildren(emptyState("Comparing minute by minute …"));
        try {
            this.show(await getJson("api/v1/changes", asked, controller.signal), asked.service);
        } catch (error) {
            if (!isAbort(error))
                this.blank.replaceChildren(errorState(error));
        }
    }

    show(answer, service) {
        const { changes, sentences, minutes, ranges } = answer;
        const said = changes.map(({ sentence }) => sentence);
        const notes = sentences.filter((sentence) => !said.includes(sentence)).map((text) => `${withLocalTimes(text).replace(/\.$/, "")}.`);
        const enough = enoughText(answer), compared = rangesText(ranges), wayOn = () => {
            const link = this.diff.cloneNode(true);

            link.classList.toggle("primary", Boolean(enough));
            return link;
        };

        this.linkGraphs(ranges, service);
        this.table.hidden = !changes.length;
        this.note.replaceChildren(...(changes.length ? [compared, ...notes] : []).map((text) => element("p", { class: "quiet" }, text)));
        const isOpen = !changes.length && Math.min(answer.samples.a, answer.samples.b) > 0 && (!answer.enough || notes.some((text) => TOO_FEW.test(text)));
        const below = isOpen ? "What differs so far stands below, and may be chance." : "";

        this.blank.replaceChildren(...changes.length ? [] : [emptyState(notes[0] || "Nothing changed.", [below, compared, enough, ...notes.slice(1)].filter(Boolean).join(" "), wayOn())]);
        if (!changes.length)
            this.diff.hidden = true; // it is said there
        if (isOpen)
            this.showGraphs(this.diff.getAttribute("href"));
        this.body.replaceChildren(...changes.map((change) => this.row(change)));
        setText(this.table.caption, `What changed, of ${minutes.b} minutes against ${minutes.a}`);
    }

    row({ kind, name, before, after, difference, low, high, q, unit, sentence }) {
        const parts = splitJavaName(name), pack = kind === "function" && /^[A-Z]/.test(parts.type) ? parts.pack : "";
        const amount = AMOUNT_OF[unit] || PERCENT, signed = (n) => (n < 0 ? "−" : "+") + (AMOUNT_OF[unit] || POINTS)(Math.abs(n));

        return element("tr", {}, element("td", { class: "col-what", title: `${name}\n${sentence}` }, element("bdi", { class: "name" }, pack ? name.slice(pack.length + 1) : name),
            element("span", { class: "pack" }, [pack, kind].filter(Boolean).join(" · "))),
        element("td", { class: "num" }, amount(before)), element("td", { class: "num" }, amount(after)),
        element("td", { class: `num ${difference > 0 ? "rose" : "fell"}` }, signed(difference)),
        element("td", { class: "num" }, `${signed(low)} to ${signed(high)}`), element("td", { class: "num" }, chanceText(q)));
    }
}
