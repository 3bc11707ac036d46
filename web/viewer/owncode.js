// SPDX-License-Identifier: Apache-2.0
// The line in which a person says which packages are the application's own: all other code of Java is dimmed.

import { element, storeOwn } from "../shared/dom.js";
import { ownPackages } from "../shared/packages.js";

export class OwnCode {
    // @take(parts): changes these parts of the state.
    constructor(take) {
        this.input = element("input", { type: "text", class: "own-text", spellcheck: "false", autocomplete: "off", maxlength: "300",
            "aria-label": "Packages of my code", onchange: () => this.chosen(take) });
        this.usual = element("span", { class: "quiet" });
        this.root = element("div", { class: "own-line", hidden: true }, element("label", {}, "My code ", this.input), this.usual,
            element("button", { type: "button", class: "tool", onclick: () => { this.root.hidden = true; } }, "Close"));
        this.input.addEventListener("keydown", (event) => this.keyed(event));
    }

    // @mine: what the state has; @mains: main classes of the profile.
    open(mine, mains) {
        const own = ownPackages(mains);

        this.input.value = mine;
        this.input.placeholder = "com.acme, org.example";
        this.usual.textContent = `Packages, with commas between them. Empty: ${own.length ? own.join(", ") + ", and " : ""}all but the JDK and known libraries.`;
        this.root.hidden = false;
        this.input.focus();
        this.input.select();
    }

    keyed(event) {
        event.stopPropagation();
        if (event.key === "Escape")
            this.root.hidden = true;
    }

    chosen(take) {
        const mine = this.input.value.split(/[\s,;]+/).filter(Boolean).join(",");

        take({ mine });
        storeOwn(mine); // once it is shown: what cannot be would be in each view from then on
    }
}
