// SPDX-License-Identifier: Apache-2.0
// The heatmap format: the moments of a profile, and the flame graph of those that are picked. The address keeps
// both.

import { KEYS, helpDialog } from "./bars.js";
import { element } from "./dom.js";
import { HeatMap, heatGrid } from "./heatmap.js";
import { ProfilePanel } from "./panel.js";
import { countCells, openTimes, profileBetween } from "./ranges.js";
import { formatState, parseState } from "./state.js";
import { ThemeSwitch } from "./theme.js";
import { openProfile } from "./tree.js";

const RANGE_KEY = "range"; // "fromMs-toMs"

class HeatView {
    constructor(data) {
        this.profile = openProfile(data);
        this.times = openTimes(data.times);
        this.range = null;
        this.help = helpDialog([["drag", "over the heat map: the flame graph of that range"], ...KEYS]);
        this.theme = new ThemeSwitch((theme) => {
            this.panel.setTheme(theme);
            this.map.setTheme(theme);
        });
        this.map = new HeatMap({ select: (from, to) => this.select([from, to]), clear: () => this.select(null) });
        this.panel = new ProfilePanel({ state: (state) => this.writeHash(state) }, {
            tools: [this.theme.root, element("button", {
                type: "button", class: "tool", title: "Help (?)", onclick: () => this.help.showModal(),
            }, "Help")],
        });
    }

    build() {
        const { meta } = this.profile;
        const last = this.times.size ? this.times.ms[this.times.size - 1] + 1 : 0;
        const endMs = Math.max(meta.seconds * 1000, last);

        this.grid = heatGrid(endMs / 1000);
        this.panel.facts.after(this.map.root);
        document.body.append(element("main", { class: "heat-page" }, this.panel.root), this.help);
        this.theme.start();
        this.map.setData(this.grid, countCells(this.times, this.grid.cells, this.grid.cellMs), endMs);
        this.panel.setProfile(this.profile);
        this.readHash();
        addEventListener("keydown", (event) => this.keyed(event));
        addEventListener("hashchange", () => this.readHash());
    }

    // @range: [from, to) in ms, or null for all.
    select(range) {
        this.range = range;
        this.panel.setProfile(range ? profileBetween(this.profile, this.times, ...range) : this.profile, { keep: true });
    }

    readHash() {
        const [, from, to] = /^(\d+)-(\d+)$/.exec(new URLSearchParams(location.hash.slice(1)).get(RANGE_KEY) || "") || [];
        const range = Number(from) < Number(to) ? [Number(from), Number(to)] : null;

        if (String(range) !== String(this.range)) {
            if (range)
                this.map.setRange(...range);
            this.select(range);
        }
        this.panel.setState(parseState(location.hash, this.panel.defaults));
    }

    writeHash(state) {
        const rest = formatState(state, this.panel.defaults).slice(1);
        const range = this.range ? `${RANGE_KEY}=${this.range.map(Math.round).join("-")}` : "";
        const hash = [range, rest].filter(Boolean).join("&");

        if ("#" + hash === location.hash || hash === location.hash)
            return;
        try {
            history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
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

function startHeat() {
    try {
        new HeatView(JSON.parse(document.getElementById("profile").textContent)).build();
    } catch (error) {
        document.body.append(element("p", { class: "empty", role: "alert" },
            "This profile cannot be shown: " + error.message));
    }
}

startHeat();
