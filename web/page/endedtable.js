// SPDX-License-Identifier: Apache-2.0
// JVMs that have ended, below those that run: each opens its last minute.

import { element } from "../shared/dom.js";
import { formatAgo, formatCount, plural } from "../shared/format.js";
import { shortMain } from "../shared/names.js";
import { button } from "./notice.js";
import { endText, lastMinuteOf, runText } from "./past.js";
import { formatRoute } from "./route.js";
import { compileSearch } from "../shared/search.js";

const ENDED_FIRST = 5; // rows until a person asks for all
const ENDED_COLUMNS = [["JVM", "main"], ["How it ended", "how"], ["Ended", "num"], ["Ran for", "num"], ["JDK", "jdk"], ["PID", "num"]];

// Of @list those that match every word of @filter.
export function filterPast(list, filter) {
    const words = filter.split(/\s+/).filter(Boolean).map(compileSearch);

    return list.filter(({ main, service, version, jdk, pid, how }) =>
        words.every(({ regex }) => regex.test([main, service, version, jdk, pid, how, "ended"].join(" "))));
}

export function pastHref(one) {
    const { from, to } = lastMinuteOf(one);

    return formatRoute("jvm", one.pid, { from: new Date(from).toISOString(), to: new Date(to).toISOString() });
}

export class EndedTable {
    constructor() {
        this.body = element("tbody");
        this.heading = element("h2");
        this.more = button("Show all", () => { this.showsAll = true; this.fill(); });
        this.root = element("section", { class: "ended", "aria-label": "JVMs that have ended", hidden: true },
            this.heading, element("table", { class: "list" }, element("caption", { class: "offscreen" }, "JVMs that have ended"),
                element("thead", {}, element("tr", {}, ...ENDED_COLUMNS.map(([label, kind]) =>
                    element("th", { scope: "col", class: kind === "num" ? "num" : `col-${kind}` }, label)))), this.body), this.more);
    }

    show({ list, leftOut }, filter) {
        Object.assign(this, { list, leftOut, filter });
        this.fill();
    }

    fill() {
        const { filter } = this, found = filterPast(this.list, filter);
        const key = JSON.stringify([found, this.showsAll, this.leftOut, Math.floor(Date.now() / 10000)]);

        if (key === this.key || (this.body.matches(":hover") && filter === this.filledBy && this.showsAll === this.filledAll))
            return;
        this.filledBy = filter;
        this.filledAll = this.showsAll;
        this.key = key;
        this.root.hidden = !found.length;
        const isAll = found.length === this.list.length; // of those that were left out, it is not known whether they match

        this.heading.replaceChildren(plural(found.length + (isAll ? this.leftOut : 0), "JVM has", "JVMs have") + " ended" +
            (this.leftOut ? `; ${isAll ? `the last ${formatCount(found.length)}` : `only the last ${formatCount(this.list.length)}`} are known by name` : ""));
        this.more.hidden = this.showsAll || found.length <= ENDED_FIRST;
        const focused = document.activeElement, href = this.body.contains(focused) ? focused.getAttribute("href") : "";

        this.body.replaceChildren(...(this.showsAll ? found : found.slice(0, ENDED_FIRST)).map((one) => this.row(one)));
        if (href)
            [...this.body.querySelectorAll("a")].filter((a) => a.getAttribute("href") === href).forEach((a) => a.focus({ preventScroll: true }));
    }

    row(one) {
        const { main, service, version, jdk, pid, last, how } = one;
        const short = shortMain(main), name = service || short;

        return element("tr", {}, element("td", { class: "col-main", title: main }, element("a", { class: "jvm-link", href: pastHref(one) }, name),
            element("span", { class: "pack" }, [name === short ? "" : short, version].filter(Boolean).join(" "))),
        element("td", { class: "col-how", title: how }, how || "–"),
        element("td", { class: "num", title: endText(one) }, `${formatAgo(last)} ago`),
        element("td", { class: "num" }, runText(one) || "–"),
        element("td", { class: "col-jdk", title: jdk }, jdk.split(/[+-]/)[0] || "–"), element("td", { class: "num" }, String(pid)));
    }
}
