// SPDX-License-Identifier: Apache-2.0
// What one thread did, in the order of time: its stacks from the root down, names where there is room.

import { paletteOf, variantOf } from "../shared/colors.js";
import { element, setText } from "../shared/dom.js";
import { formatValue, plural } from "../shared/format.js";
import { colourFamily, labelFor, nameForms } from "../shared/names.js";
import { boxesOf, samplesOf } from "./threadtracks.js";

const BOX = 16; // CSS pixels of the height of a frame
const LETTER = 6.7; // of the width of a character
const FLAME_ROWS_MAX = 400; // frames deep; what is deeper is not drawn

export class FlameChart {
    constructor() {
        this.title = element("h3");
        this.status = element("p", { class: "quiet flame-status", "aria-live": "off" });
        this.canvas = element("canvas", { class: "flame-canvas", "aria-hidden": "true" });
        this.ctx = this.canvas.getContext("2d");
        this.scroller = element("div", { class: "flame-scroll", tabindex: "0", role: "region", "aria-label": "Flame chart" }, this.canvas);
        this.root = element("section", { class: "flame-chart", hidden: true }, element("div", { class: "flame-head" }, this.title, this.status), this.scroller);
        this.canvas.addEventListener("pointermove", (event) => this.pointed(event));
        this.canvas.addEventListener("pointerleave", () => setText(this.status, this.usual));
    }

    show(profile, thread, view, theme) {
        Object.assign(this, { profile, thread, theme });
        this.boxes = boxesOf(profile, thread.spans).filter(({ depth }) => depth < FLAME_ROWS_MAX);
        this.levels = this.boxes.reduce((most, { depth }) => Math.max(most, depth + 1), 1);
        this.usual = `${formatValue(thread.total * 1e6, "nanoseconds")} in ${plural(samplesOf(thread), "sample", "samples")}`;
        this.root.hidden = false;
        setText(this.title, thread.name);
        setText(this.status, this.usual);
        this.draw(view);
    }

    hide() {
        this.root.hidden = true;
        this.thread = null;
    }

    setTheme(theme) {
        this.theme = theme;
        if (this.thread)
            this.draw(this.view);
    }

    draw(view) {
        const width = this.scroller.clientWidth, height = this.levels * BOX, scale = devicePixelRatio || 1;
        const { canvas, ctx } = this, palette = paletteOf(this.theme), perMs = width / (view.to - view.from);

        this.view = view;
        if (!width)
            return;
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        canvas.style.height = `${height}px`;
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        ctx.font = "11px monospace";
        ctx.textBaseline = "middle";
        for (const { from, to, depth, group } of this.boxes) {
            if (to < view.from || from > view.to)
                continue;
            const { name, kind, module } = this.profile.groups[group];
            const x = Math.max(0, (from - view.from) * perMs), wide = Math.max(1, Math.min(width, (to - view.from) * perMs) - x);

            ctx.fillStyle = palette.kinds[kind][variantOf(colourFamily(name, kind, module))];
            ctx.fillRect(x, depth * BOX, Math.max(1, wide - 0.5), BOX - 1);
            const label = labelFor(nameForms(name, kind), kind, Math.floor((wide - 6) / LETTER));

            if (label) {
                ctx.fillStyle = palette.ink;
                ctx.fillText(label, x + 3, depth * BOX + BOX / 2);
            }
        }
    }

    pointed({ offsetX, offsetY }) {
        const time = this.view.from + offsetX / this.scroller.clientWidth * (this.view.to - this.view.from), depth = Math.floor(offsetY / BOX);
        const box = this.boxes.find((one) => one.depth === depth && one.from <= time && one.to >= time);

        setText(this.status, box ? `${this.profile.groups[box.group].name} · ${formatValue((box.to - box.from) * 1e6, "nanoseconds")} from ${(box.from / 1000).toFixed(3)} s`
            : this.usual);
    }
}
