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

// Puts a state into @place. One that stands there already stays: a button of it may be under a hand, or be read out.
export function putState(place, state) {
    if (!place.firstChild || !place.firstChild.isEqualNode(state))
        place.replaceChildren(state);
}

export function button(label, run, attributes = {}) {
    return element("button", { type: "button", class: "tool", onclick: run, ...attributes }, label);
}

// A line across the page while something is wrong; hidden while nothing is.
export class Banner {
    constructor() {
        this.texts = new Map();
        this.root = element("div", { class: "banner", role: "status", hidden: true });
    }

    // @about: who says it: "action" is what a person asked for, the others ask again by themselves. @text takes the place of what
    // the same one said before, "": it has nothing more to say. The latest of all is in sight.
    show(text, about = "action") {
        if (text === this.texts.get(about))
            return;
        this.texts.delete(about);
        if (text)
            this.texts.set(about, text);
        const [latest = ""] = [...this.texts.values()].reverse();

        if (this.root.textContent !== latest)
            this.root.textContent = latest;
        this.root.hidden = !latest;
    }

    clear() {
        for (const about of [...this.texts.keys()])
            this.show("", about);
    }
}
