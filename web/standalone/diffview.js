// SPDX-License-Identifier: Apache-2.0
// The diff's html format: both profiles as one graph, and what changed most. Its samples are both sides together,
// in units; each side is a million of them. Its values are those of the first side alone (docs/formats.md).

import { noticeList } from "../viewer/bars.js";
import { tintOfGain } from "../viewer/diff.js";
import { element } from "../shared/dom.js";
import { formatCount, formatSeconds, formatShare } from "../shared/format.js";
import { KINDS } from "../shared/kinds.js";
import { Standalone, startStandalone } from "./standalone.js";
import { openProfile } from "../shared/tree.js";

const DIFF_UNIT = 1e6;

const beforeOf = (tree, node) => tree.values[node];
const afterOf = (tree, node) => Math.max(0, tree.samples[node] - tree.values[node]);

export function diffPoints(part) {
    const points = part * 100;

    return (points > 0 ? "+" : points < 0 ? "−" : "") + Math.abs(points).toFixed(2) + "\u00a0pp";
}

class DiffView extends Standalone {
    constructor(data) {
        super(openProfile(data), {
            events: { describe: (tree, node) => this.describe(tree, node) }, options: { facts: false },
        });
        this.data = data;
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
        const side = (name, { target, weight, seconds }) => element("span", {},
            `${name}: ${target} · ${formatSeconds(seconds)} · ${formatCount(weight)} samples`);

        return element("p", { class: "facts" }, side("Before", before), side("After", after),
            element("span", {}, scale === 1 ? "as counted" : `before scaled by ${scale.toPrecision(4)}`));
    }

    changes() {
        const { before, after } = this.data.meta;
        const rows = this.data.changes.map((change) => this.changeRow(change, before.weight, after.weight));

        return element("section", { class: "diff-list", "aria-label": "Biggest changes", tabindex: "0" },
            element("h2", {}, "Biggest changes"),
            element("p", {}, "Of the samples that ran the function itself, in percentage points (pp) of all.",
                element("span", { class: "swatch more" }), "more than before",
                element("span", { class: "swatch less" }), "less"),
            rows.length ? element("table", {}, element("thead", {}, element("tr", {}, ...["Change", "Before", "After",
                "Samples", "Function"].map((text) => element("th", { scope: "col" }, text)))),
            element("tbody", {}, ...rows)) : element("p", {}, "Nothing ran on either side."));
    }

    changeRow([name, kind, a, b], allA, allB) {
        const text = this.data.strings[name];
        const gain = (allB ? b / allB : 0) - (allA ? a / allA : 0);

        return element("tr", {},
            element("td", { class: gain > 0 ? "rose" : gain < 0 ? "fell" : null }, diffPoints(gain)),
            element("td", {}, a ? formatShare(a, allA) : "–"), element("td", {}, b ? formatShare(b, allB) : a ? "gone" : "–"),
            element("td", {}, `${formatCount(a)} → ${formatCount(b)}`),
            element("td", {}, element("span", { class: "chip kind-" + KINDS[kind].id, title: KINDS[kind].text }),
                element("button", { type: "button", class: "name", onclick: () => this.panel.pickMethod(text) }, text)));
    }

    describe(tree, node) {
        const { before, after } = this.data.meta;
        const a = beforeOf(tree, node), b = afterOf(tree, node);
        const wholeA = beforeOf(tree, 0), wholeB = afterOf(tree, 0);
        const count = (part, whole, all) => formatCount(whole ? part / whole * all : 0);

        return [`${formatShare(a, wholeA)} → ${formatShare(b, wholeB)}`,
            diffPoints((wholeB ? b / wholeB : 0) - (wholeA ? a / wholeA : 0)),
            `${count(a, wholeA, before.weight)} → ${count(b, wholeB, after.weight)} samples`];
    }
}

startStandalone("diff", (data) => new DiffView(data));
