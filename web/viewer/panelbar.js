// SPDX-License-Identifier: Apache-2.0
// The bar of a panel: search, zoom, threads, and the switches that say how the profile is drawn.

import { element, setText } from "../shared/dom.js";
import { formatShare } from "../shared/format.js";
import { openMenu } from "../shared/menu.js";

// The switches of the menu: parts of the state, with their keys.
const VIEW_SWITCHES = [
    { name: "reverse", label: "Reverse: merge from the leaf", key: "r" },
    { name: "icicle", label: "Icicle: the root at the top", key: "i" },
    { name: "idle", label: "Threads that wait for work", key: "z" },
    { name: "frames", label: "All frames: thread starts, ways into the kernel", key: "a" },
    { name: "tiers", label: "Compiled, inlined, interpreted apart", key: "k" },
    { name: "packages", label: "Colours by package", key: "p" },
];

export class PanelBar {
    // @search: a SearchBox. @on: {back(), reset(), weight(), toggle(name), thread(name), own()}. @title: whether there is
    // one. @lead, @tools: controls of the owner that stand before and behind these.
    constructor(search, on, { title, lead, tools }) {
        const tool = (label, hint, run, isSwitch) => element("button", {
            type: "button", class: "tool", title: hint, onclick: run, "aria-pressed": isSwitch ? "false" : null,
        }, label);
        const toggle = (name, label, hint) => tool(label, hint, () => on.toggle(name), true);

        this.title = title ? element("h1") : null;
        this.backButton = tool("Back", "Back (Esc)", on.back);
        this.resetButton = tool("Reset", "Reset the zoom (0)", on.reset);
        this.threadSelect = element("select", {
            class: "tool", "aria-label": "Threads", title: "Threads together, apart, or one of them",
            onchange: () => on.thread(this.threadSelect.value),
        });
        this.weightButton = tool("", "Widths by samples or by value (v)", on.weight); // of a difference; else it is in the menu
        this.viewButton = element("button", {
            type: "button", class: "tool", "aria-haspopup": "menu", title: "How the profile is drawn",
            onclick: () => this.openView(on),
        }, "View");
        this.switches = {
            beside: toggle("beside", "Side by side", "Before and after beside each other (b)"),
            table: toggle("table", "Table", "Table of methods (t)"),
        };
        this.root = element("header", { class: "bar" }, this.title, ...lead, search.root,
            element("div", { class: "tools", role: "toolbar", "aria-label": "View" }, this.backButton,
                this.resetButton, this.threadSelect, this.weightButton, this.viewButton, ...Object.values(this.switches), ...tools));
    }

    // @threads of threadsOf().
    showProfile({ meta, quality, values, idle }, threads) {
        if (this.title) {
            setText(this.title, meta.title);
            this.title.title = meta.title;
        }
        this.showThreads(threads, quality.samples);
        this.weightButton.hidden = !values || !meta.isDiff && !meta.widths;
        this.switches.beside.hidden = !meta.isDiff;
        this.views = VIEW_SWITCHES.filter(({ name }) => name === "idle" ? idle : name !== "packages" || !(meta.isDiff || meta.widths));
        this.isDiff = meta.isDiff;
        this.widths = meta.widths || (meta.isDiff ? ["Widths: after", "Widths: before"] : null);
        this.hasValues = Boolean(values);
    }

    // While the threads are the same ones their options stay where they are, whatever their shares: a live view must
    // not move the list under a hand.
    showThreads(threads, total) {
        const shown = new Map([...this.threadSelect.options].map((option) => [option.value, option]));
        const option = (value, text = "") => shown.get(value) || element("option", { value }, text);
        const options = threads.map(({ name }) => option(name));

        threads.forEach(({ name, samples }, i) => setText(options[i], `${name} · ${formatShare(samples, total)}`));
        if (shown.size !== options.length + 2 || !options.every((one) => one.parentNode))
            this.threadSelect.replaceChildren(option("*", "By thread"), option("", "Threads merged"), ...options);
        this.threadSelect.hidden = threads.length < 2;
    }

    showState(state) {
        this.state = state;
        for (const [name, button] of Object.entries(this.switches))
            button.setAttribute("aria-pressed", Boolean(state[name]));
        this.threadSelect.value = state.thread;
        if (this.widths)
            setText(this.weightButton, this.widths[Number(state.weight === "value")]);
        if (this.isDiff)
            this.weightButton.hidden = state.beside;
    }

    openView({ toggle, weight, own }) {
        const box = this.viewButton.getBoundingClientRect();

        openMenu([...this.views.map(({ name, label, key }) => ({ label, key, isOn: Boolean(this.state[name]), run: () => toggle(name) })),
            ...this.hasValues && !this.widths ? [{ label: "Widths by value, not by samples", key: "v", isOn: this.state.weight === "value", run: weight }] : [],
            { label: "My code: which packages …", run: own }], { x: box.left, y: box.bottom + 2 }, "View");
    }

    showZoom(canGoBack, canReset) {
        this.backButton.disabled = !canGoBack;
        this.resetButton.disabled = !canReset;
    }
}
