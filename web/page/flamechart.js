// SPDX-License-Identifier: Apache-2.0
// What one thread did, in the order of time: its stacks from the root down, in the colours of the flame graph, names where there is room.

import { paletteOf } from "../shared/colors.js";
import { element, setText } from "../shared/dom.js";
import { formatValue, plural } from "../shared/format.js";
import { LABEL_LEAST } from "../shared/names.js";
import { ROW_HEIGHT, TEXT_LEFT, TEXT_RIGHT, paintMarks } from "../viewer/draw.js";
import { Looks, measureFont } from "../viewer/looks.js";
import { Raster, pixelOf } from "../viewer/raster.js";
import { boxesOf, firstAfter, levelsOf, samplesOf } from "./threadtracks.js";

const GAP_FROM = 3; // CSS pixels of a box that has a gap to the next one
const LEVELS_MAX = 400; // frames deep; what is deeper is not drawn

export class FlameChart {
    constructor() {
        this.title = element("h3");
        this.status = element("p", { class: "quiet flame-status", "aria-live": "off" });
        this.canvas = element("canvas", { class: "flame-canvas", "aria-hidden": "true" });
        this.ctx = this.canvas.getContext("2d");
        this.raster = new Raster();
        this.tall = element("div", {}, this.canvas); // as high as all levels; the canvas has those in sight
        this.scroller = element("div", { class: "flame-scroll", tabindex: "0", role: "region", "aria-label": "Flame chart" }, this.tall);
        this.root = element("section", { class: "flame-chart", hidden: true }, element("div", { class: "flame-head" }, this.title, this.status), this.scroller);
        this.canvas.addEventListener("pointermove", (event) => this.pointed(event));
        this.canvas.addEventListener("pointerleave", () => setText(this.status, this.usual));
        this.scroller.addEventListener("scroll", () => this.redraw());
        new ResizeObserver(() => this.measure()).observe(this.scroller);
    }

    show(profile, thread, view, theme) {
        if (profile !== this.profile)
            this.looks = new Looks(profile);
        Object.assign(this, { profile, thread, view, theme });
        const known = thread.spans.filter(({ isPart }) => !isPart);

        this.levels = levelsOf(boxesOf(profile, known)).slice(0, LEVELS_MAX);
        this.usual = `${formatValue(thread.total * 1e6, "nanoseconds")} in ${plural(samplesOf(thread), "sample", "samples")}` +
            (known.length < thread.spans.length ? " · of the history no order of stacks is known" : "");
        this.canvas.hidden = !known.length;
        this.root.hidden = false;
        this.tall.style.height = `${this.levels.length * ROW_HEIGHT}px`;
        setText(this.title, thread.name);
        setText(this.status, this.usual);
        this.measure();
    }

    hide() {
        this.root.hidden = true;
        this.thread = null;
    }

    setTheme(theme) {
        this.theme = theme;
        this.redraw();
    }

    // Once for many frames: to read a size in each makes the browser lay out the page each time.
    measure() {
        const { clientWidth: width, clientHeight: height } = this.scroller;

        this.size = { width, height: Math.min(height, this.thread ? this.levels.length * ROW_HEIGHT : 0) };
        this.redraw();
    }

    redraw() {
        if (this.thread)
            this.draw(this.view);
    }

    draw(view) {
        const { canvas, ctx, raster, looks, size: { width, height } } = this, scale = devicePixelRatio || 1, palette = paletteOf(this.theme);
        const wide = Math.round(width * scale), high = Math.round(height * scale);

        this.view = view;
        if (!wide || !high)
            return;
        if (canvas.width !== wide || canvas.height !== high) {
            Object.assign(canvas, { width: wide, height: high });
            canvas.style.height = `${height}px`;
        }
        looks.use(palette);
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        this.cell = measureFont(ctx);
        raster.begin(ctx, scale, pixelOf(palette.paper));
        const marks = { hatched: [], texts: [] }, top = this.scroller.scrollTop;

        for (let depth = Math.floor(top / ROW_HEIGHT); depth < this.levels.length && depth * ROW_HEIGHT - top < height; depth++) {
            this.drawLevel(this.levels[depth], depth * ROW_HEIGHT - top, scale, marks);
            raster.put(depth * ROW_HEIGHT - top, ROW_HEIGHT - 1);
        }
        raster.show(ctx);
        paintMarks(ctx, marks, palette, scale);
    }

    // Of boxes that end in one pixel the first alone is drawn.
    drawLevel({ boxes, longestMs }, y, scale, marks) {
        const { ctx, raster, looks, cell, view, size: { width } } = this, perMs = width / (view.to - view.from);
        let painted = 0;

        for (let i = firstAfter(boxes, view.from); i < boxes.length && boxes[i].to - longestMs < view.to; i++) {
            const { from, to, group } = boxes[i], left = Math.max(0, (from - view.from) * perMs), right = Math.min(width, (to - view.from) * perMs);

            if (left >= width || Math.round(right * scale) <= painted)
                continue;
            const end = right - (right - left >= GAP_FROM && right < width ? 1 : 0), room = end - left - TEXT_LEFT - TEXT_RIGHT;

            raster.fill(left, end, looks.colour(group));
            painted = Math.max(Math.round(left * scale) + 1, Math.round(right * scale));
            if (right - left <= GAP_FROM)
                continue;
            if (looks.isHatched[group])
                marks.hatched.push(left, y, end - left);
            const label = looks.fitted(ctx, group, room, cell, LABEL_LEAST);

            if (label)
                marks.texts.push(label, left + TEXT_LEFT, y + ROW_HEIGHT / 2);
        }
    }

    pointed({ offsetX, offsetY }) {
        const time = this.view.from + offsetX / this.size.width * (this.view.to - this.view.from);
        const { boxes } = this.levels[Math.floor((offsetY + this.scroller.scrollTop) / ROW_HEIGHT)] || { boxes: [] };
        const box = boxes[firstAfter(boxes, time)];

        setText(this.status, box && box.from <= time ? `${this.profile.groups[box.group].name} · ${formatValue((box.to - box.from) * 1e6, "nanoseconds")} from ${(box.from / 1000).toFixed(3)} s`
            : this.usual);
    }
}
