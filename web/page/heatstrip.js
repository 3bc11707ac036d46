// SPDX-License-Identifier: Apache-2.0
// A heat map above a panel of the page: the moments of what is shown, and the flame graph of those that are chosen.

import { getText } from "./api.js";
import { HeatMap, heatGrid } from "../viewer/heatmap.js";
import { stopsOf } from "../shared/moments.js";
import { button } from "./notice.js";
import { countCells, openTimes, profileBetween, wholeParts } from "../shared/ranges.js";
import { openProfile } from "../shared/tree.js";

// The heatmap format is a page that carries its data, with no "<" in it.
export function dataOfPage(text) {
    const from = text.indexOf('id="profile">');
    const to = text.indexOf("</script>", from);

    if (from < 0 || to < 0)
        throw new Error("the answer is not a heat map");
    return JSON.parse(text.slice(text.indexOf(">", from) + 1, to));
}

export class HeatStrip {
    // @on: {wanted(): the button was pressed, changed(): open, closed, or another range was chosen}
    constructor(on) {
        this.on = on;
        this.isOpen = false;
        this.range = null; // [from, to) in ms since the start, or null for all
        this.map = new HeatMap({ select: (from, to) => this.select([from, to]), clear: () => this.select(null) });
        this.button = button("Heat map", () => on.wanted(), {
            "aria-pressed": "false", title: "Samples by moment, to choose some (e)" });
    }

    // What the address keeps: "" closed, "1" all, or "FROM-TO".
    get state() {
        return !this.isOpen ? "" : this.range ? this.range.map(Math.round).join("-") : "1";
    }

    // Shows the moments of what @path answers to @params above @panel, without idle threads if these are hidden there: the format does
    // not tell them apart. @state: as above.
    async open(panel, path, params, state, signal) {
        const { mains } = panel.source.meta;
        const data = dataOfPage(await getText(path, { ...params, threads: params.by ? "" : 1, idle: panel.state.idle ? "" : 0, format: "heatmap" }, signal));
        const [, from, to] = /^(\d+)-(\d+)$/.exec(state) || [];

        this.panel = panel;
        this.profile = openProfile({ ...data, meta: { ...data.meta, mains } });
        this.times = openTimes(data);
        this.isOpen = true;
        this.button.setAttribute("aria-pressed", "true");
        panel.facts.after(this.map.root);
        const last = this.times.size ? this.times.ms[this.times.size - 1] + 1 : 0;
        const endMs = Math.max(this.profile.meta.seconds * 1000, last);
        const grid = heatGrid(endMs / 1000);

        this.map.range = null;
        this.map.setData(grid, countCells(this.times, grid.cells, grid.cellMs), endMs, stopsOf(this.profile.moments),
            this.profile.pausesLeftOut, Boolean(this.times.parts));
        if (Number(from) < Number(to))
            this.map.setRange(Number(from), Number(to));
        this.select(Number(from) < Number(to) ? [Number(from), Number(to)] : null);
    }

    close() {
        this.isOpen = false;
        this.range = this.profile = this.times = null;
        this.button.setAttribute("aria-pressed", "false");
        this.map.root.remove();
    }

    setTheme(theme) {
        this.map.setTheme(theme);
    }

    select(chosen) {
        const range = this.range = chosen && wholeParts(this.times, ...chosen);

        if (range && range.join() !== chosen.join())
            this.map.setRange(...range);
        this.panel.setProfile(range ? profileBetween(this.profile, this.times, ...range) : this.profile, { keep: true });
        this.on.changed();
    }
}
