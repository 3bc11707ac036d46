// SPDX-License-Identifier: Apache-2.0
// What the self-contained formats share: a page with one panel, the theme, the help, the keys, and the address, which
// keeps what is looked at.

import { KEYS, helpDialog } from "../viewer/bars.js";
import { element } from "../shared/dom.js";
import { coarseOf, growTree, isLarge } from "./opening.js";
import { ProfilePanel } from "../viewer/panel.js";
import { grownTrees } from "../shared/shape.js";
import { formatState, parseState } from "../shared/state.js";
import { ThemeSwitch } from "../shared/theme.js";

export class Standalone {
    // @events and @options: of the ProfilePanel, beside those that are the same for all; @keys: for the help.
    constructor(profile, { events = {}, options = {}, keys = KEYS } = {}) {
        this.profile = profile;
        this.help = helpDialog(keys);
        this.theme = new ThemeSwitch((theme) => this.setTheme(theme));
        this.panel = new ProfilePanel({ state: (state) => this.writeHash(state), ...events }, {
            ...options,
            tools: [this.theme.root, element("button", {
                type: "button", class: "tool", title: "Help (?)", onclick: () => this.help.showModal(),
            }, "Help")],
        });
    }

    // @attributes: of the page's main element.
    build(attributes = {}) {
        document.body.append(element("main", attributes, this.panel.root), this.help);
        this.theme.start();
        this.show();
        this.readHash();
        addEventListener("keydown", (event) => this.keyed(event));
        addEventListener("hashchange", () => this.readHash());
    }

    show() {
        const { panel, profile } = this;

        if (isLarge(profile))
            this.showInTwo();
        else
            panel.setProfile(profile);
    }

    // First what is wide enough to be seen; all of it once it is there.
    async showInTwo() {
        const { panel, profile } = this;
        const coarse = coarseOf(profile);

        panel.setProfile(coarse);
        grownTrees.set(profile, await growTree(profile, { weight: profile.meta.weight }));
        if (panel.source === coarse)
            panel.setProfile(profile, { keep: true });
    }

    setTheme(theme) {
        this.panel.setTheme(theme);
    }

    // What the address says of @state: "" or "#…".
    hashOf(state) {
        return formatState(state, this.panel.defaults);
    }

    readHash() {
        this.panel.setState(parseState(location.hash, this.panel.defaults));
    }

    writeHash(state) {
        const hash = this.hashOf(state);

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

// Shows what @open makes of the data in the page; @what it is, for the sentence when that fails.
export function startStandalone(what, open) {
    try {
        open(JSON.parse(document.getElementById("profile").textContent)).build();
    } catch (error) {
        document.body.append(element("p", { class: "empty", role: "alert" },
            `This ${what} cannot be shown: ${error.message}`));
    }
}
