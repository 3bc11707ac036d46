// SPDX-License-Identifier: Apache-2.0
// A heat map of moments as FlameScope draws it: a column is a second (of long profiles more), its cells from the
// bottom up are fractions of it, and the darker a cell the more samples it has. A bar in a cell marks a pause of the
// JVM. A range is dragged, or walked with the keys. It knows counts, not profiles.

import { element, setText } from "../shared/dom.js";
import { hexOf, rgbOfOklch } from "../shared/colors.js";
import { formatCount, formatShare, plural } from "../shared/format.js";

export const HEAT_ROWS = 50;
const COLUMN_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
const COLUMNS_MAX = 900;
const LABEL_WIDTH = 40; // in CSS pixels, of a time below the map
const CELL_HEIGHT = 4;
const CELL_WIDEST = 24;
const STOP_WIDEST = 4;
const STOPS_TOLD = 2; // in words; of more, their number
const PARTS_KNOWN = "Of the history whole minutes are known, or longer parts: their samples are spread evenly, and a drag takes all of them. ";
const HEAT_STEPS = 24;
const HEAT = { light: [[0.97, 0.01, 60], [0.45, 0.19, 29]], dark: [[0.24, 0.01, 60], [0.80, 0.17, 60]] };

// {columns, cells, cellMs, columnMs} for so many seconds.
export function heatGrid(seconds) {
    const column = COLUMN_SECONDS.find((s) => seconds / s <= COLUMNS_MAX) || Math.ceil(seconds / COLUMNS_MAX);
    const columns = Math.max(1, Math.ceil(seconds / column - 1e-9));

    return { columns, cells: columns * HEAT_ROWS, cellMs: column * 1000 / HEAT_ROWS, columnMs: column * 1000 };
}

// "12.340 s", for long profiles "1:02:03.0".
export function formatOffset(ms, longest) {
    const seconds = ms / 1000;

    if (longest < 600e3)
        return seconds.toFixed(3) + "\u00a0s";
    const text = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60].map((n) => String(n).padStart(2, "0"));

    return text.join(":") + ":" + (seconds % 60).toFixed(1).padStart(4, "0");
}

// "2.3 samples" of a part of the history that is spread over cells.
const samplesText = (n) => (Math.abs(n - Math.round(n)) < 1e-3 ? plural(Math.round(n), "sample", "samples") : `${n.toFixed(1)}\u00a0samples`);

function heatColours(theme) {
    const [from, to] = HEAT[theme] || HEAT.light;

    return Array.from({ length: HEAT_STEPS + 1 }, (_, i) => {
        const t = i / HEAT_STEPS;

        return hexOf(rgbOfOklch(...from.map((v, k) => v + (to[k] - v) * t)));
    });
}

export class HeatMap {
    // @on: {select(fromMs, toMs) of a finished selection, clear()}
    constructor(on) {
        this.on = on;
        this.theme = "light";
        this.grid = null;
        this.cursor = -1; // the cell that keys walk
        this.anchor = -1; // where the selection began
        this.range = null; // [first cell, last cell]
        this.canvas = element("canvas", { class: "heat-canvas", "aria-hidden": "true" });
        this.box = element("div", {
            class: "heat-box", tabindex: "0", role: "application", "aria-roledescription": "heat map",
            "aria-label": "Samples by moment. Arrow keys walk, with Shift they select, Escape clears.",
            onpointerdown: (e) => this.pressed(e), onpointermove: (e) => this.moved(e),
            onpointerup: (e) => this.released(e), onpointerleave: () => this.point(-1),
            onkeydown: (e) => this.keyed(e),
        }, this.canvas);
        this.axis = element("div", { class: "heat-axis", "aria-hidden": "true" });
        this.status = element("output", { class: "heat-status", "aria-live": "polite" });
        this.root = element("section", { class: "heat", "aria-label": "Heat map" }, this.box, this.axis, this.status);
        this.ctx = this.canvas.getContext("2d");
        new ResizeObserver(() => this.draw()).observe(this.root);
    }

    // @counts: samples by cell, @stops: as stopsOf(), @stopsLeftOut: how many shorter ones there are besides, @hasParts: of samples of the
    // history the part alone is known.
    setData(grid, counts, endMs, stops, stopsLeftOut, hasParts) {
        this.grid = grid;
        this.hasParts = hasParts;
        this.stops = stops;
        this.stopsLeftOut = stopsLeftOut;
        this.counts = counts;
        this.endMs = endMs;
        this.most = counts.reduce((a, b) => Math.max(a, b), 0);
        this.total = counts.reduce((a, b) => a + b, 0);
        this.draw();
        this.tell();
    }

    setTheme(theme) {
        this.theme = theme;
        this.draw();
    }

    // Marks a range as if it had been dragged, without telling.
    setRange(fromMs, toMs) {
        const { cellMs, cells } = this.grid;
        const first = Math.max(0, Math.min(cells - 1, Math.floor(fromMs / cellMs + 1e-6)));

        this.range = [first, Math.max(first, Math.min(cells - 1, Math.ceil(toMs / cellMs - 1e-6) - 1))];
        this.draw();
        this.tell();
    }

    // ---- drawing ----

    draw() {
        const { grid, canvas, ctx } = this;
        const room = this.box.clientWidth;

        if (!grid || !room)
            return;
        const scale = devicePixelRatio || 1;
        const cell = Math.min(CELL_WIDEST, Math.floor(room / grid.columns * scale) / scale || room / grid.columns); // less than a pixel: neighbours share it

        this.cellWidth = cell;
        canvas.width = Math.round(cell * grid.columns * scale);
        canvas.height = Math.round(CELL_HEIGHT * HEAT_ROWS * scale);
        canvas.style.width = cell * grid.columns + "px";
        canvas.style.height = CELL_HEIGHT * HEAT_ROWS + "px";
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        const colours = heatColours(this.theme);
        const gap = cell >= 5 ? 1 : 0;

        for (let i = 0; i < grid.cells; i++) {
            const part = this.most ? this.counts[i] / this.most : 0;

            if (i * grid.cellMs >= this.endMs)
                break;
            ctx.fillStyle = colours[Math.ceil(part * HEAT_STEPS)];
            ctx.fillRect(Math.floor(i / HEAT_ROWS) * cell, this.cellY(i), cell - gap, CELL_HEIGHT - (gap ? 0.5 : 0));
        }
        this.drawStops();
        this.drawRange();
        this.drawAxis();
    }

    drawStops() {
        const { ctx, grid, cellWidth } = this;
        const width = Math.max(1, Math.min(STOP_WIDEST, cellWidth / 3));

        ctx.fillStyle = getComputedStyle(this.box).color;
        for (const { at, ms } of this.stops) {
            const last = Math.min(grid.cells - 1, Math.floor((at + ms) / grid.cellMs));

            for (let i = Math.max(0, Math.floor(at / grid.cellMs)); i <= last; i++)
                ctx.fillRect(Math.floor(i / HEAT_ROWS) * cellWidth, this.cellY(i), width, CELL_HEIGHT);
        }
    }

    cellY(i) {
        return (HEAT_ROWS - 1 - i % HEAT_ROWS) * CELL_HEIGHT;
    }

    // What is selected keeps its colours, the rest fades.
    drawRange() {
        const { ctx, range, grid, cellWidth } = this;

        if (range) {
            ctx.fillStyle = this.theme === "dark" ? "rgba(23,25,28,0.6)" : "rgba(255,255,255,0.65)";
            for (let i = 0; i < grid.cells; i++)
                if (i < range[0] || i > range[1])
                    ctx.fillRect(Math.floor(i / HEAT_ROWS) * cellWidth, this.cellY(i), cellWidth, CELL_HEIGHT);
        }
        if (this.cursor >= 0) {
            ctx.strokeStyle = this.theme === "dark" ? "#8ab4f8" : "#0b57d0";
            ctx.lineWidth = 2;
            ctx.strokeRect(Math.floor(this.cursor / HEAT_ROWS) * cellWidth, this.cellY(this.cursor), cellWidth, CELL_HEIGHT);
        }
    }

    drawAxis() {
        const { grid, cellWidth } = this;
        const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600].find((n) => n * cellWidth >= 90) || 600;
        const labels = [];

        for (let c = 0; c === 0 || (grid.columns - c) * cellWidth >= LABEL_WIDTH; c += step) { // none is cut off
            const label = element("span", {}, formatOffset(c * grid.columnMs, this.endMs).replace(/\.0+(?=\u00a0|$)/, ""));

            label.style.left = c * cellWidth + "px";
            labels.push(label);
        }
        this.axis.replaceChildren(...labels);
    }

    // ---- words ----

    textOf(first, last) {
        const { grid, counts, endMs } = this;
        let samples = 0;

        for (let i = first; i <= last; i++)
            samples += counts[i];
        const to = Math.min((last + 1) * grid.cellMs, Math.max(endMs, first * grid.cellMs));

        return `${formatOffset(first * grid.cellMs, endMs)} – ${formatOffset(to, endMs)} · ` +
            `${samplesText(samples)} · ${formatShare(samples, this.total)}` + this.stopsText(first, last);
    }

    stopsText(first, last) {
        const { cellMs } = this.grid;
        const stops = this.stops.filter(({ at, ms }) => at < (last + 1) * cellMs && at + ms >= first * cellMs);

        return stops.length > STOPS_TOLD ? ` · ${formatCount(stops.length)} pauses` : stops.map(({ text }) => ` · ${text}`).join("");
    }

    stopsNote() {
        const { stops, stopsLeftOut } = this;

        return stops.length ? plural(stops.length, "pause of the JVM is", "pauses of the JVM are") + " marked" +
            (stopsLeftOut ? `, the longest: ${formatCount(stopsLeftOut)} shorter ones are left out. ` : ". ") : "";
    }

    tell(cell = -1) {
        const { grid, range } = this;

        if (!grid)
            return;
        const chosen = range ? "Selected: " + this.textOf(...range) + ". Esc clears."
            : `A column is ${formatOffset(grid.columnMs, 0).replace(".000", "")}, a cell ${formatCount(grid.cellMs)}\u00a0ms. ` +
                this.stopsNote() + (this.hasParts ? PARTS_KNOWN : "") +
                "Drag over a range to see its flame graph.";

        setText(this.status, cell >= 0 ? this.textOf(cell, cell) : chosen);
    }

    // ---- selection ----

    cellUnder(event) {
        const box = this.canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) / this.cellWidth);
        const row = HEAT_ROWS - 1 - Math.floor((event.clientY - box.top) / CELL_HEIGHT);

        if (!this.grid || column < 0 || column >= this.grid.columns)
            return -1;
        return column * HEAT_ROWS + Math.max(0, Math.min(HEAT_ROWS - 1, row));
    }

    span(one, other) {
        this.range = [Math.min(one, other), Math.max(one, other)];
        this.draw();
        this.tell();
    }

    finish() {
        const { cellMs } = this.grid;

        this.on.select(this.range[0] * cellMs, (this.range[1] + 1) * cellMs);
    }

    clear() {
        this.range = null;
        this.anchor = -1;
        this.draw();
        this.tell();
        this.on.clear();
    }

    pressed(event) {
        const cell = this.cellUnder(event);

        if (event.button !== 0 || cell < 0)
            return;
        this.box.setPointerCapture(event.pointerId);
        this.dragging = true;
        this.cursor = -1;
        this.anchor = cell;
        this.span(cell, cell);
    }

    moved(event) {
        const cell = this.cellUnder(event);

        if (!this.dragging)
            this.point(cell);
        else if (cell >= 0)
            this.span(this.anchor, cell);
    }

    released(event) {
        if (!this.dragging)
            return;
        this.moved(event);
        this.dragging = false;
        this.finish();
    }

    point(cell) {
        this.tell(this.dragging ? -1 : cell);
    }

    keyed(event) {
        const moves = { ArrowUp: 1, ArrowDown: -1, ArrowRight: HEAT_ROWS, ArrowLeft: -HEAT_ROWS };

        if (!this.grid || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (event.key === "Escape" && this.range) {
            this.cursor = -1;
            this.clear();
        } else if (moves[event.key]) {
            this.walk(moves[event.key], event.shiftKey);
        } else if (event.key === "Enter" && this.cursor >= 0) {
            this.anchor = this.cursor;
            this.span(this.cursor, this.cursor);
            this.finish();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    walk(step, selects) {
        const from = this.cursor < 0 ? (this.range ? this.range[0] : 0) : this.cursor;
        const to = this.cursor < 0 && !selects ? from : from + step;

        if (to < 0 || to >= this.grid.cells)
            return;
        this.cursor = to;
        if (selects) {
            if (this.anchor < 0)
                this.anchor = from;
            this.span(this.anchor, to);
            this.finish();
        } else {
            this.anchor = to;
            this.draw();
            this.tell(to);
        }
    }
}
