// SPDX-License-Identifier: Apache-2.0
// Local time or UTC: one switch for all times of the page, which says which it is.

import { element, setText } from "../shared/dom.js";
import { chooseClock } from "../shared/format.js";

const CLOCK_KEY = "flamed.clock";

function stored() {
    try {
        return localStorage.getItem(CLOCK_KEY);
    } catch {
        return null; // storage may be closed
    }
}

export class ClockSwitch {
    // @changed(): all times have to be shown again.
    constructor(changed) {
        this.changed = changed;
        this.isUtc = stored() === "utc";
        this.root = element("button", { type: "button", class: "tool", onclick: () => this.toggle() });
        this.show();
    }

    show() {
        const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

        chooseClock(this.isUtc);
        setText(this.root, this.isUtc ? "UTC" : "Local time");
        this.root.title = this.isUtc ? `All times are UTC. Press for local time (${zone})` : `All times are local: ${zone}. Press for UTC`;
    }

    toggle() {
        this.isUtc = !this.isUtc;
        try {
            localStorage.setItem(CLOCK_KEY, this.isUtc ? "utc" : "local");
        } catch {
            // it then lasts as long as the page
        }
        this.show();
        this.changed();
    }
}
