// SPDX-License-Identifier: Apache-2.0
// The bar of a panel: search, zoom, threads, and the switches that say how the profile is drawn.

import { element, setText } from "../shared/dom.js";
import { formatShare } from "../shared/format.js";

export class PanelBar {
    // @search: a SearchBox. @on: {back(), reset(), weight(), toggle(name), thread(name)}. @title: whether there is
    // one. @tools: buttons of the owner that stand behind these.
    constructor(search, on, { title, tools }) {
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
        this.weightButton = tool("", "Widths by samples or by value (v)", on.weight);
        this.switches = {
            beside: toggle("beside", "Side by side", "Before and after beside each other (b)"),
            reverse: toggle("reverse", "Reverse", "Merge from the leaf (r)"),
            icicle: toggle("icicle", "Icicle", "Root at the top (i)"),
            frames: toggle("frames", "All frames", "The calls that start threads and lead to the kernel, too (a)"),
            idle: toggle("idle", "Idle threads", "Threads that wait for work, too (z)"),
            packages: toggle("packages", "Packages", "Colours by package in place of kind (p)"),
            table: toggle("table", "Table", "Table of methods (t)"),
        };
        this.root = element("header", { class: "bar" }, this.title, search.root,
            element("div", { class: "tools", role: "toolbar", "aria-label": "View" }, this.backButton,
                this.resetButton, this.threadSelect, this.weightButton, ...Object.values(this.switches), ...tools));
    }

    // @threads of threadsOf().
    showProfile({ meta, quality, values, idle }, threads) {
        if (this.title) {
            setText(this.title, meta.title);
            this.title.title = meta.title;
        }
        this.showThreads(threads, quality.samples);
        this.weightButton.hidden = !values;
        this.switches.beside.hidden = !meta.isDiff;
        this.switches.idle.hidden = !idle;
        this.switches.packages.hidden = Boolean(meta.isDiff || meta.widths);
        this.isDiff = meta.isDiff;
        this.widths = meta.widths || (meta.isDiff ? ["Widths: after", "Widths: before"] : ["By samples", "By value"]);
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
        for (const [name, button] of Object.entries(this.switches))
            button.setAttribute("aria-pressed", Boolean(state[name]));
        this.threadSelect.value = state.thread;
        setText(this.weightButton, this.widths[Number(state.weight === "value")]);
        if (this.isDiff)
            this.weightButton.hidden = state.beside;
    }

    showZoom(canGoBack, canReset) {
        this.backButton.disabled = !canGoBack;
        this.resetButton.disabled = !canReset;
    }
}
