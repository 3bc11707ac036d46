// SPDX-License-Identifier: Apache-2.0
// What was done to a profile, in a line: each change with a way to take it back.

import { element } from "../shared/dom.js";

export class Changes {
    // @take(parts): changes these parts of the state.
    constructor(take) {
        this.take = take;
        this.root = element("div", { class: "changes", hidden: true });
    }

    show({ hide, focus, sandwich }) {
        const chips = hide.map((name) => this.chip("hidden", name, { hide: hide.filter((n) => n !== name) }));

        if (focus)
            chips.push(this.chip("focus on", focus, { focus: "", zoom: "" }));
        if (sandwich)
            chips.push(this.chip("callers and callees of", sandwich, { sandwich: "", zoom: "" }));
        this.root.replaceChildren(...chips);
        this.root.hidden = !chips.length;
    }

    chip(text, name, undo) {
        return element("button", {
            type: "button", class: "change", title: `${text} ${name}: take it back`, onclick: () => this.take(undo),
        }, text + " ", element("bdi", {}, name), element("span", { "aria-hidden": "true" }, " ×"));
    }
}
