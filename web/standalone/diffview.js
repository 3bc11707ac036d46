// SPDX-License-Identifier: Apache-2.0
// The diff's html format: both profiles as one graph, and what changed most. Its samples are both sides together,
// in units; each side is a million of them. Its values are those of the first side alone (docs/formats.md).

import { noticeList } from "../viewer/bars.js";
import { tintOfGain } from "../viewer/diff.js";
import { Amounts } from "../shared/amounts.js";
import { element } from "../shared/dom.js";
import { formatCount, formatSeconds, formatShare } from "../shared/format.js";
import { KINDS } from "../shared/kinds.js";
import { eachRow } from "../shared/rows.js";
import { Standalone, startStandalone } from "./standalone.js";
import { openProfile } from "../shared/tree.js";

const DIFF_UNIT = 1e6;

const beforeOf = (tree, node) => tree.values[node];
const afterOf = (tree, node) => Math.max(0, tree.samples[node] - tree.values[node]);

export function diffPoints(part) {
    const points = part * 100;

    return (points > 0 ? "+" : points < 0 ? "−" : "") + Math.abs(points).toFixed(2) + "\u00a0pp";
}

function wholeOf(profile) {
    const whole = { before: 0, after: 0 };

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        whole.before += profile.values[row];
        whole.after += Math.max(0, samples - profile.values[row]);
    });
    return whole;
}

class DiffView extends Standalone {
    constructor(data) {
        super(openProfile(data), {
            events: { describe: (tree, node) => this.describe(tree, node) }, options: { facts: false },
        });
        this.data = data;
        this.whole = wholeOf(this.profile);
        this.amounts = new Amounts(data.meta.before, data.meta.after);
        this.panel.setTint((tree, node, theme) =>
            tintOfGain((afterOf(tree, node) - beforeOf(tree, node)) / DIFF_UNIT * Number(node > 0), theme));
    }

    show() {
        const notices = noticeList(this.profile);

        super.show();
        this.panel.facts.replaceChildren(this.sides(), ...notices ? [notices] : []);
        this.panel.facts.after(this.changes());
    }

    // What is compared with what.
    sides() {
        const { before, after, scale } = this.data.meta;
        const side = (name, i, { target, weight, seconds }) => element("span", {},
            `${name}: ${target} · ${formatSeconds(seconds)} · ` +
            (this.amounts.unit ? this.amounts.text(this.amountOf(i, weight)) : `weighs ${formatCount(weight)}`));

        return element("p", { class: "facts" }, side("Before", 0, before), side("After", 1, after),
            element("span", {}, scale === 1 ? "as counted" : `before scaled by ${scale.toPrecision(4)}`));
    }

    // What @weight of a side is in the event's unit, or per second of that.
    amountOf(side, weight) {
        const { before, after } = this.data.meta;
        const of = side ? after : before;

        return this.amounts.of(side, of.weight ? weight / of.weight * of.value : 0);
    }

    amountsText(a, b) {
        return `${this.amounts.text(a)} → ${this.amounts.text(b)}`;
    }

    changes() {
        const { before, after } = this.data.meta;
        const rows = this.data.changes.map((change) => this.changeRow(change, before.weight, after.weight));
        const heads = [...this.amounts.unit ? ["Change", "Amount"] : [], "Share", "Before", "After", "Function"];

        return element("section", { class: "diff-list", "aria-label": "Biggest changes", tabindex: "0" },
            element("h2", {}, "Biggest changes"),
            element("p", {}, "Of the function itself, without what it called; shares in percentage points (pp) of all. " +
                this.amounts.note(),
            element("span", { class: "swatch more" }), "more than before",
            element("span", { class: "swatch less" }), "less"),
            rows.length ? element("table", {}, element("thead", {}, element("tr", {},
                ...heads.map((text) => element("th", { scope: "col" }, text)))),
            element("tbody", {}, ...rows)) : element("p", {}, "Nothing ran on either side."));
    }

    changeRow([name, kind, a, b], allA, allB) {
        const text = this.data.strings[name];
        const gain = (allB ? b / allB : 0) - (allA ? a / allA : 0);
        const was = this.amountOf(0, a), is = this.amountOf(1, b);
        const changed = (difference) => ({ class: difference > 0 ? "rose" : difference < 0 ? "fell" : null });

        return element("tr", {},
            ...this.amounts.unit ? [element("td", changed(is - was), this.amounts.changeText(was, is)),
                element("td", {}, this.amountsText(was, is))] : [],
            element("td", changed(gain), diffPoints(gain)),
            element("td", {}, a ? formatShare(a, allA) : "–"), element("td", {}, b ? formatShare(b, allB) : a ? "gone" : "–"),
            element("td", {}, element("span", { class: "chip kind-" + KINDS[kind].id, title: KINDS[kind].text }),
                element("button", { type: "button", class: "name", onclick: () => this.panel.pickMethod(text) }, text)));
    }

    describe(tree, node) {
        const { before, after } = this.data.meta;
        const a = beforeOf(tree, node), b = afterOf(tree, node);
        const { before: wholeA, after: wholeB } = this.whole; // of all, as the colours are, also where the graph shows a part
        const was = this.amountOf(0, wholeA ? a / wholeA * before.weight : 0);
        const is = this.amountOf(1, wholeB ? b / wholeB * after.weight : 0);

        return [...this.amounts.unit ? [this.amountsText(was, is), this.amounts.changeText(was, is)] : [],
            `${formatShare(a, wholeA)} → ${formatShare(b, wholeB)}`,
            diffPoints((wholeB ? b / wholeB : 0) - (wholeA ? a / wholeA : 0))];
    }
}

startStandalone("diff", (data) => new DiffView(data));
