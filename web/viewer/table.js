// SPDX-License-Identifier: Apache-2.0
// The table of methods: self and total, sorted by a click on a head, narrowed by the search.

import { element, setText } from "../shared/dom.js";
import { formatCount, formatShare, formatValue } from "../shared/format.js";
import { KINDS, isJava } from "../shared/kinds.js";
import { sortMethods } from "../shared/methods.js";
import { splitJavaName } from "../shared/names.js";
import { isForeign } from "../shared/packages.js";

const ROWS_MAX = 500; // rows made at a time: nobody reads more, and the page stays quick

const COLUMNS = [
    { id: "self", label: "Self", title: "Weight of samples that were running this method itself" },
    { id: "total", label: "Total", title: "Weight of samples with this method anywhere on the stack" },
    { id: "name", label: "Method", title: "Name of the method" },
];

// Class.method is what people look for: the package stands behind it.
function nameParts({ name, kind }) {
    const pack = isJava(kind) ? splitJavaName(name).pack : "";

    return pack ? [name.replace(`${pack}.`, ""), element("span", { class: "pack" }, pack)] : [name];
}

const methodKey = ({ kind, name }) => `${kind} ${name}`;

export class MethodTable {
    // @on: {pick(name)}
    constructor(on) {
        this.on = on;
        this.order = "self";
        this.list = [];
        this.whole = 0;
        this.body = element("tbody");
        this.rows = []; // [{key, cells}] of what is shown
        this.isPointed = this.isLate = false; // by a mouse, and numbers alone were renewed since
        this.body.addEventListener("pointerenter", ({ pointerType }) => { this.isPointed = pointerType !== "touch"; });
        this.body.addEventListener("pointerleave", () => this.left());
        this.heads = COLUMNS.map((column) => element("th", { scope: "col", class: "col-" + column.id },
            element("button", {
                type: "button", title: column.title, onclick: () => this.sortBy(column.id),
            }, column.label)));
        this.note = element("p", { class: "table-note" });
        this.root = element("section", { class: "table-pane", "aria-label": "Methods", tabindex: "0" },
            element("table", { class: "methods" }, element("thead", {}, element("tr", {}, ...this.heads)),
                this.body),
            this.note);
    }

    // @list of sumMethods(); @whole: the weight that is 100 %; @search: a compiled search or null. @keep: of the same, a little later:
    // under a pointer no row moves then, and a press meets what was aimed at.
    show(list, { whole, weight, meta, search, keep = false }) {
        Object.assign(this, { list, whole, weight, meta, search });
        if (keep && this.isPointed)
            this.renumber();
        else
            this.fill();
    }

    left() {
        this.isPointed = false;
        if (this.isLate)
            this.fill();
    }

    renumber() {
        const methods = new Map(this.list.map((method) => [methodKey(method), method]));

        this.isLate = true;
        for (const { key, cells } of this.rows) {
            const method = methods.get(key) || { self: 0, total: 0 };

            [method.self, method.total].forEach((n, i) => {
                cells[i].title = this.amount(n);
                setText(cells[i], formatShare(n, this.whole));
            });
        }
    }

    sortBy(order) {
        this.order = order;
        this.fill();
        this.root.scrollTop = 0;
    }

    fill() {
        const { search, order } = this;
        const list = search ? this.list.filter((m) => search.regex.test(m.name)) : this.list;
        const shown = sortMethods(list, order).slice(0, ROWS_MAX);

        this.heads.forEach((head, i) => {
            head.setAttribute("aria-sort", COLUMNS[i].id !== order ? "none"
                : order === "name" ? "ascending" : "descending");
        });
        const focused = this.body.contains(document.activeElement) ? document.activeElement.title : "";

        this.isLate = false;
        this.rows = shown.map((method) => this.row(method));
        this.body.replaceChildren(...this.rows.map(({ root }) => root));
        if (focused) { // a live table changes under the keyboard
            const same = [...this.body.querySelectorAll(".name")].find(({ title }) => title === focused);

            if (same)
                same.focus({ preventScroll: true });
        }
        this.note.textContent = !list.length ? (search ? "No method matches the search." : "No methods.")
            : shown.length < list.length
                ? `The first ${formatCount(shown.length)} of ${formatCount(list.length)} methods. Search to narrow.`
                : "";
    }

    amount(n) {
        return this.weight === "value" ? formatValue(n, this.meta.unit) : formatCount(n);
    }

    cell(n, column) {
        return element("td", { class: "num col-" + column, title: this.amount(n) },
            formatShare(n, this.whole));
    }

    pick(name, event) {
        this.picked = name;
        for (const row of this.body.children)
            row.classList.toggle("picked", row === event.currentTarget.closest("tr"));
        this.on.pick(name);
    }

    row(method) {
        const chip = element("span", {
            class: "chip kind-" + KINDS[method.kind].id, title: KINDS[method.kind].text,
        });

        const foreign = isJava(method.kind) && isForeign(splitJavaName(method.name).pack);

        const cells = [this.cell(method.self, "self"), this.cell(method.total, "total")];

        return { key: methodKey(method), cells, root: element("tr", { class: [method.name === this.picked ? "picked" : "", foreign ? "foreign" : ""].join(" ") }, ...cells, element("td", { class: "col-name" }, chip, element("button", {
                type: "button", class: "name", title: method.name, onclick: (event) => this.pick(method.name, event),
            }, ...nameParts(method)))) };
    }
}
