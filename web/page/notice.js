// SPDX-License-Identifier: Apache-2.0
// What stands where there is nothing to see: why, and what to do next.

import { element } from "../shared/dom.js";

// @actions: elements, such as buttons and links.
export function emptyState(title, text = "", ...actions) {
    return element("div", { class: "blank" }, element("p", { class: "blank-title" }, title),
        text ? element("p", {}, text) : null, actions.length ? element("p", { class: "blank-actions" }, ...actions) : null);
}

export function errorState(error, ...actions) {
    const root = emptyState(error.message, error.remedy || "", ...actions);

    root.setAttribute("role", "alert");
    return root;
}

export function button(label, run, attributes = {}) {
    return element("button", { type: "button", class: "tool", onclick: run, ...attributes }, label);
}

// A line across the page while something is wrong; hidden while nothing is.
export class Banner {
    constructor() {
        this.root = element("div", { class: "banner", role: "status", hidden: true });
    }

    show(text) {
        if (this.root.textContent !== text)
            this.root.textContent = text;
        this.root.hidden = !text;
    }
}
