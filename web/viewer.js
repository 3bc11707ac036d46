// SPDX-License-Identifier: Apache-2.0
// The html format: reads the profile out of its own page and shows it; the address keeps what is looked at.

import { ProfilePanel } from "./panel.js";
import { ThemeSwitch } from "./theme.js";
import { element } from "./dom.js";
import { KEYS, helpDialog } from "./bars.js";
import { openProfile } from "./tree.js";
import { formatState, parseState } from "./state.js";

class Viewer {
    constructor(profile) {
        this.profile = profile;
        this.help = helpDialog(KEYS);
        this.theme = new ThemeSwitch((theme) => this.panel.setTheme(theme));
        this.panel = new ProfilePanel({ state: (state) => this.writeHash(state) }, {
            tools: [this.theme.root, element("button", {
                type: "button", class: "tool", title: "Help (?)", onclick: () => this.help.showModal(),
            }, "Help")],
        });
    }

    build() {
        const { panel } = this;

        document.body.append(element("main", {}, panel.root), this.help);
        this.theme.start();
        panel.setProfile(this.profile);
        this.readHash();
        addEventListener("keydown", (event) => this.keyed(event));
        addEventListener("hashchange", () => this.readHash());
    }

    readHash() {
        this.panel.setState(parseState(location.hash, this.panel.defaults));
    }

    writeHash(state) {
        const hash = formatState(state, this.panel.defaults);

        if (hash === location.hash)
            return;
        try {
            history.replaceState(null, "", hash || location.pathname + location.search);
        } catch {
            // a sandboxed page has no address of its own
        }
    }

    keyed(event) {
        if (this.help.open || this.panel.keyed(event) || event.ctrlKey || event.metaKey || event.altKey ||
            event.target.closest("input, .menu"))
            return;
        if (event.key === "?")
            this.help.showModal();
        else if (event.key === "d")
            this.theme.toggle();
        else
            return;
        event.preventDefault();
    }
}

function start() {
    try {
        const data = JSON.parse(document.getElementById("profile").textContent);

        new Viewer(openProfile(data)).build();
    } catch (error) {
        document.body.append(element("p", { class: "empty", role: "alert" },
            "This profile cannot be shown: " + error.message));
    }
}

start();
