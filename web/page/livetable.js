// SPDX-License-Identifier: Apache-2.0
// The hottest methods of the last seconds, again and again, as /top tells them. Its rows are made once.

import { apiUrl } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { formatMoment, formatSeconds, formatShare, plural } from "../shared/format.js";
import { KINDS } from "../shared/kinds.js";
import { nodeNow } from "../shared/now.js";
import { shortName } from "../shared/names.js";
import { button, emptyState, errorState } from "./notice.js";
import { openFunction } from "./progress.js";
import { follow } from "./stream.js";

const TOP_ROWS = 60;

export class LiveTable {
    // @target: parameters of what is looked at. @on: {pick(name)}
    constructor(target, on) {
        this.target = target;
        this.rows = [];
        this.note = element("p", { class: "quiet live-note", "aria-live": "off" });
        this.holdButton = button("Hold", () => this.hold(!this.isHeld), {
            "aria-pressed": "false", title: "Keep what stands here, to read it" });
        this.body = element("tbody");
        this.isPointed = false; // by a mouse: no row becomes another one under it
        this.late = null; // what came while it was
        this.body.addEventListener("pointerenter", ({ pointerType }) => { this.isPointed = pointerType !== "touch"; });
        this.body.addEventListener("pointerleave", () => this.left());
        for (let i = 0; i < TOP_ROWS; i++)
            this.rows.push(this.makeRow(on));
        this.body.append(...this.rows.map(({ root }) => root));
        this.table = element("table", { class: "list live", hidden: true },
            element("caption", { class: "offscreen" }, "Hottest methods now"),
            element("thead", {}, element("tr", {}, ...[["Self", "num"], ["Total", "num"], ["Method", ""]].map(([label, kind]) =>
                element("th", { scope: "col", class: kind || null }, label)))), this.body);
        this.blank = element("div");
        this.root = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Hottest methods now" },
            element("div", { class: "live-head" }, this.note, this.holdButton), this.table, this.blank);
    }

    makeRow(on) {
        const row = { name: "" };

        row.self = element("td", { class: "num" });
        row.total = element("td", { class: "num" });
        row.chip = element("span", { class: "chip" });
        row.button = element("button", { type: "button", class: "name", onclick: () => on.pick(row.name) });
        row.root = element("tr", { hidden: true }, row.self, row.total, element("td", {}, element("div", { class: "col-name" }, row.chip, row.button)));
        return row;
    }

    start() {
        if (!this.isHolding) {
            this.table.hidden = true; // it is of another visit
            setText(this.note, "");
            this.blank.replaceChildren(emptyState("Sampling …", "The first table comes in two seconds."));
        }
        this.end = follow(apiUrl("top", { ...this.target, top: TOP_ROWS }), {
            event: (name, data) => (name === "top" ? this.show(data) : this.fail(new Error(data.detail || "The sampling ended"), data)),
            problem: (error) => this.fail(error),
        });
    }

    stop() {
        if (this.end)
            this.end();
        this.end = this.late = null;
        this.isPointed = false;
    }

    left() {
        const { late } = this;

        this.isPointed = false;
        this.late = null;
        if (late)
            this.show(late);
    }

    get isHolding() {
        return this.isHeld && !this.table.hidden;
    }

    hold(isHeld) {
        this.isHeld = isHeld;
        if (this.isHolding)
            setText(this.note, `${this.note.textContent} · as of ${formatMoment(nodeNow())}`);
        this.holdButton.setAttribute("aria-pressed", isHeld);
    }

    fail(error, { remedy = error.remedy } = {}) {
        if (!this.table.hidden) { // what stands there may still be read
            setText(this.note, `${error.message}. This table is from before.`);
            return;
        }
        setText(this.note, "");
        this.blank.replaceChildren(errorState(Object.assign(error, { remedy })));
    }

    show(top) {
        const { functions, samples, seconds, hz } = top;

        if (this.isHolding)
            return;
        if (this.isPointed && !this.table.hidden) {
            if (!this.late)
                setText(this.note, `${this.note.textContent} · still while the mouse is on it`);
            this.late = top;
            return;
        }
        setText(this.note, `The last ${formatSeconds(seconds)} · ${plural(samples, "sample", "samples")}` +
            (hz ? ` at ${+hz.toFixed(1)} Hz · ${formatShare(samples / hz / seconds, 1)} of a CPU` : ""));
        this.table.hidden = !samples;
        this.blank.replaceChildren(...samples ? [] : [emptyState("It used no CPU time while it was sampled.",
            "The table fills as soon as it does.")]);
        this.rows.forEach((row, i) => {
            row.root.hidden = i >= functions.length;
            if (i >= functions.length)
                return;
            const { name, kind, self, total } = openFunction(functions[i]);

            row.name = name;
            setText(row.self, formatShare(self, 100));
            setText(row.total, formatShare(total, 100));
            row.chip.className = "chip kind-" + KINDS[kind].id;
            row.chip.title = KINDS[kind].text;
            setText(row.button, shortName(name, kind));
            row.button.title = name;
        });
    }
}
