// SPDX-License-Identifier: Apache-2.0
// The bar of a JVM: its facts, what of it is shown, and what can be done.

import { element } from "../shared/dom.js";
import { button } from "./notice.js";

const LIVE_SPANS = [[10, "10 s"], [60, "1 min"], [300, "5 min"], [600, "10 min"]];
export const TABS = [["jvms", "JVMs", "Those that run, and those that have ended"], ["graph", "Flame graph", "Of now, or of the range that is chosen above"],
    ["threads", "Threads", "Pools and threads over time, of now or of the range that is chosen above (u)"],
    ["locks", "Locks", "Which locks threads waited for, and which thread had them"],
    ["top", "Top", "The hottest methods of the last 2 seconds, again and again (o)"],
    ["memory", "Memory", "What its memory is made of, and who makes it grow"],
    ["changes", "Changes", "What takes more or less than before"],
    ["captures", "Captures", "Stored captures of this JVM (w)"]];

// Whether @subject, the node, a service or one JVM, has the tab.
export function tabIsOf(tab, { isNode, isService, isOne }) {
    return tab === "memory" ? isOne : tab === "jvms" ? isService : tab === "changes" ? !isNode : true;
}

// A choice of a length of time. @list: [seconds, name] each.
export function spanSelect(list, value, label, chosen) {
    const control = element("select", { class: "tool", "aria-label": label, title: label,
        onchange: () => chosen(Number(control.value)) },
    ...list.map(([seconds, name]) => element("option", { value: seconds, selected: seconds === value }, name)));

    return control;
}

export class JvmBar {
    // @on: {live(), liveSpan(seconds), tab(tab), compare(), download()}; @facts, @opener: elements of the owner.
    // @subject: as of tabIsOf().
    constructor(on, { facts, opener, liveSpan, subject }) {
        this.liveButton = button("Live", on.live, { "aria-pressed": "false", title: "Follow what happens now (l)" });
        this.liveSelect = spanSelect(LIVE_SPANS, liveSpan, "How much the live flame graph looks back", on.liveSpan);
        this.tabs = TABS.map(([tab, label, title]) => button(label, () => on.tab(tab), { title, "aria-pressed": "false" }));
        this.tabs.forEach((control, i) => { control.hidden = !tabIsOf(TABS[i][0], subject); });
        this.titles = new Map(); // of controls that were closed
        this.downloadButton = button("Download", on.download, { "aria-haspopup": "menu" });
        this.compareButton = button("Compare …", on.compare, { "aria-haspopup": "menu",
            title: "With another time, JVM or capture" });
        this.root = element("div", { class: "bar sub" }, facts, element("div", { class: "tools" },
            element("div", { class: "tabs", role: "group", "aria-label": "What is shown" }, ...this.tabs),
            this.liveButton, this.liveSelect, opener, this.compareButton, this.downloadButton));
    }

    // The next longer time to look back; 0: there is none.
    nextSpan(seconds) {
        const longer = LIVE_SPANS.find(([span]) => span > seconds);

        return longer ? longer[0] : 0;
    }

    showSpan(seconds) {
        this.liveSelect.value = seconds;
    }

    // It has ended: what can only be had of a JVM that runs is closed, and open again once it is seen again.
    showGone(isGone) {
        for (const control of [this.liveButton, ...this.tabs.filter((_, i) => ["top", "memory"].includes(TABS[i][0]))]) {
            this.titles.set(control, this.titles.get(control) || control.title);
            control.disabled = isGone;
            control.title = isGone ? "It has ended" : this.titles.get(control);
        }
    }

    show(tab, isLive) {
        this.tabs.forEach((control, i) => control.setAttribute("aria-pressed", TABS[i][0] === tab));
        this.liveButton.setAttribute("aria-pressed", isLive);
        this.liveButton.classList.toggle("vacant", tab !== "graph"); // its place stays: nothing moves under a hand
        this.liveSelect.classList.toggle("vacant", !isLive || tab !== "graph");
    }
}
