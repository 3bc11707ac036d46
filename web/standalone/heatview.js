// SPDX-License-Identifier: Apache-2.0
// The heatmap format: the moments of a profile, and the flame graph of those that are picked. The address keeps
// both.

import { KEYS } from "../viewer/bars.js";
import { HeatMap, heatGrid } from "../viewer/heatmap.js";
import { stopsOf } from "../shared/moments.js";
import { countCells, openTimes, profileBetween, wholeParts } from "../shared/ranges.js";
import { Standalone, startStandalone } from "./standalone.js";
import { openProfile } from "../shared/tree.js";

const RANGE_KEY = "range"; // "fromMs-toMs"

class HeatView extends Standalone {
    constructor(data) {
        super(openProfile(data), { keys: [["drag", "over the heat map: the flame graph of that range"], ...KEYS] });
        this.times = openTimes(data);
        this.range = null;
        this.map = new HeatMap({ select: (from, to) => this.select([from, to]), clear: () => this.select(null) });
        this.panel.facts.after(this.map.root);
    }

    build() {
        super.build({ class: "heat-page" });
    }

    show() {
        const last = this.times.size ? this.times.ms[this.times.size - 1] + 1 : 0;
        const endMs = Math.max(this.profile.meta.seconds * 1000, last);
        const grid = heatGrid(endMs / 1000);

        this.map.setData(grid, countCells(this.times, grid.cells, grid.cellMs), endMs, stopsOf(this.profile.moments),
            this.profile.pausesLeftOut, Boolean(this.times.parts));
        super.show();
    }

    setTheme(theme) {
        super.setTheme(theme);
        this.map.setTheme(theme);
    }

    // @chosen: [from, to) in ms, or null for all.
    select(chosen) {
        const range = this.range = chosen && wholeParts(this.times, ...chosen);

        if (range && range.join() !== chosen.join())
            this.map.setRange(...range);
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
        super.readHash();
    }

    hashOf(state) {
        const rest = super.hashOf(state).slice(1);
        const range = this.range ? `${RANGE_KEY}=${this.range.map(Math.round).join("-")}` : "";
        const hash = [range, rest].filter(Boolean).join("&");

        return hash && "#" + hash;
    }
}

startStandalone("profile", (data) => new HeatView(data));
