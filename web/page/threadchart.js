// SPDX-License-Identifier: Apache-2.0
// Threads over time, by pools: a bar of states and a track each. A pool opens its threads, a thread its flame chart.

import { getText, isAbort } from "./api.js";
import { paletteOf } from "../shared/colors.js";
import { element, setText } from "../shared/dom.js";
import { FlameChart } from "./flamechart.js";
import { formatClock, formatSeconds, formatShare, formatValue, plural } from "../shared/format.js";
import { dataOfPage } from "./heatstrip.js";
import { KINDS, LEGEND_ORDER } from "../shared/kinds.js";
import { button, emptyState, errorState } from "./notice.js";
import { foldFrames } from "../shared/fold.js";
import { openTimes } from "../shared/ranges.js";
import { mergeTiers } from "../shared/tiers.js";
import { TrackSums, tracksOf } from "./threadtracks.js";
import { openProfile } from "../shared/tree.js";
import { pixelOf } from "../viewer/raster.js";

const TRACK_HEIGHT = 20;
const CELL = 2; // CSS pixels of a column
const SHARE_SEEN = 0.01; // of a column's height: it gets a pixel at least
const THREADS_FIRST = 100; // of a pool that was opened
const DRAG_LEAST_MS = 5;
const STATES_SAID = 4;
const WAITS = ["wall", "offcpu"]; // events that have idle threads
const RARE_NOTE = " · looks were rare: gaps are not known, and shares are estimates";
const PARTS_NOTE = " · of the history whole minutes and pools are known, or longer parts: no threads, and no moments";
const RARE_SHARE = 0.8; // of the time was looked at
const IDLE_NOTE = " · only threads of the VM were busy: idle ones are shown, too";
const THREAD_EVENTS = [["wall", "All of their time"], ["cpu", "CPU time"]];

// The largest sum of a column of @layers.
function mostOf(layers, cells) {
    let most = 0;

    for (let c = 0; c < cells; c++) {
        let sum = 0;

        for (const ms of layers)
            sum += ms[c];
        most = Math.max(most, sum);
    }
    return most;
}

const TOPS = [0.25, 0.5, ...[1, 10, 100, 1000, 10000].flatMap((one) => [one, 2 * one, 5 * one])];

// The least round number that is not below @n.
const topOf = (n) => TOPS.find((top) => top >= 0.999 * n) || n;

// Sets the size of @canvas if it differs: setting it makes the browser lay out the table again.
function fitCanvas(canvas, width, height) {
    if (canvas.width !== width || canvas.height !== height)
        Object.assign(canvas, { width, height });
}

export class ThreadChart {
    // @source(): {path, params} of what is shown; @on: {range(from, to)}: ms since 1970, to see its flame graph. null: not.
    // @events: whether the event can be chosen.
    constructor(source, on, { events = true } = {}) {
        Object.assign(this, { source, on, theme: "light", opened: new Set(), rows: [] });
        this.event = element("select", { class: "tool", "aria-label": "What of the threads", hidden: !events, onchange: () => this.load() },
            ...THREAD_EVENTS.map(([value, text]) => element("option", { value }, text)));
        this.idle = element("input", { type: "checkbox", onchange: () => this.chooseIdle() });
        this.wholeButton = button("Whole time", () => this.setView(null), { disabled: true, title: "Esc" });
        this.graphButton = button("Flame graph of this time", () => this.graph(), { disabled: true, hidden: !on.range });
        this.note = element("p", { class: "quiet live-note" });
        this.body = element("tbody");
        this.times = [element("span"), element("span")]; // where the tracks begin and end
        this.table = element("table", { class: "list threads", hidden: true }, element("caption", { class: "offscreen" }, "Threads by pool"),
            element("thead", {}, element("tr", {}, ...[["Pool or thread", "pool"], ["Share", "num"], ["States", "states"]]
                .map(([label, kind]) => element("th", { scope: "col", class: kind === "num" ? kind : `col-${kind}` }, label)),
            element("th", { scope: "col", class: "col-track" }, element("div", { class: "track-times" }, this.times[0], this.scaleNote = element("b", {}, "Over time"), this.times[1])))), this.body);
        this.legend = element("ul", { class: "legend", "aria-label": "States" });
        this.blank = element("div");
        this.flame = new FlameChart();
        this.flame.canvas.addEventListener("pointerdown", (event) => this.pressed(event, this.flame.canvas));
        this.scroller = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Threads" }, this.table, this.blank);
        this.root = element("div", { class: "content thread-chart", onkeydown: (event) => this.keyed(event) }, element("div", { class: "live-head" }, this.note,
            element("div", { class: "tools" }, this.event, element("label", { class: "field" }, this.idle, "Idle threads"), this.wholeButton,
                this.graphButton, button("Again", () => this.load()))), this.legend, this.scroller, this.flame.root);
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        this.observer = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
            target.track.isSeen = isIntersecting;
            if (isIntersecting)
                this.drawRow(target.track);
        }), { root: this.scroller, rootMargin: "100px" });
    }

    start() {
        this.load();
    }

    stop() {
        if (this.controller)
            this.controller.abort();
        this.controller = null;
    }

    setTheme(theme) {
        this.theme = theme;
        this.draw();
        this.flame.setTheme(theme);
    }

    // @idle: with threads that wait for work. Where nothing but the VM's own threads did something, those are what one comes for: they
    // are loaded then, unless a person chose.
    async load(idle = this.idleIsChosen && this.idle.checked) {
        this.stop();
        const controller = this.controller = new AbortController(), { path, params } = this.source();
        const event = this.event.hidden ? {} : { event: this.event.value };

        const mayAdd = !idle && !this.idleIsChosen;

        this.blank.replaceChildren(...this.tracks ? [] : [emptyState("Loading …")]);
        try {
            const data = dataOfPage(await getText(path, { ...params, ...event, ...idle ? {} : { idle: 0 }, threads: 1, by: "", format: "heatmap" }, controller.signal));

            const profile = mergeTiers(foldFrames(openProfile(data))), tracks = tracksOf(profile, openTimes(data)); // the rows stay what they are

            if (mayAdd && !tracks.hasJava && WAITS.includes(data.meta.event))
                this.load(true);
            else
                this.show(profile, tracks, idle);
        } catch (error) {
            if (mayAdd && error.status === 404 && this.event.value === "wall")
                this.load(true);
            else if (!isAbort(error))
                this.fail(error);
        }
    }

    chooseIdle() {
        this.idleIsChosen = true;
        this.load();
    }

    // Nothing of before stays: it is of another time.
    fail(error) {
        this.tracks = null;
        this.rows = [];
        this.table.hidden = this.wholeButton.disabled = this.graphButton.disabled = true;
        this.flame.hide();
        setText(this.note, "");
        this.legend.replaceChildren();
        this.blank.replaceChildren(errorState(error));
    }

    show(profile, tracks, idle) {
        Object.assign(this, { profile, tracks });
        this.idle.checked = idle;
        this.view = { from: 0, to: Math.max(1, this.tracks.endMs) };
        this.flame.hide();
        const { pools, total, seen, endMs, hasParts } = this.tracks;
        const count = pools.reduce((sum, { threads }) => sum + threads.length, 0);

        setText(this.note, total > 0 ? `${hasParts ? "" : `${plural(count, "thread", "threads")} in `}${plural(pools.length, "pool", "pools")} · ${formatSeconds(endMs / 1000)} · ` +
            `${formatValue(total * 1e6, "nanoseconds")} together${idle && !this.idleIsChosen ? IDLE_NOTE : ""}${seen < RARE_SHARE * total ? RARE_NOTE : ""}${hasParts ? PARTS_NOTE : ""}` : "");
        setText(this.scaleNote, `Over time · at the right: ${this.isOfThreads ? "threads" : "CPUs"} at full height`);
        this.showLegend(pools, total);
        this.table.hidden = !pools.length;
        this.blank.replaceChildren(...pools.length ? [] : [emptyState("No thread was sampled in this time.", "Idle threads are left out, unless you ask for them above.")]);
        this.fill();
        this.showTimes();
    }

    showTimes() {
        const start = Date.parse(this.profile.meta.start);

        [this.view.from, this.view.to].forEach((ms, i) => setText(this.times[i], formatClock(start + ms)));
    }

    // What the colours of bars and tracks mean, the longest first.
    showLegend(pools, total) {
        const sums = LEGEND_ORDER.map((kind) => [kind, pools.reduce((sum, { kinds }) => sum + (kinds.get(kind) || 0), 0)]);

        this.legend.replaceChildren(...sums.filter(([, ms]) => ms > 0).sort((a, b) => b[1] - a[1]).map(([kind, ms]) => element("li", { title: KINDS[kind].text },
            element("span", { class: `chip kind-${KINDS[kind].id}` }), `${KINDS[kind].label} `, element("span", { class: "num" }, formatShare(ms, total)))));
    }

    fill() {
        this.observer.disconnect();
        this.rows = this.tracks.pools.flatMap((pool) => this.rowsOfPool(pool));
        this.body.replaceChildren(...this.rows.map(({ root }) => root));
        for (const row of this.rows.filter(({ canvas }) => canvas))
            this.observer.observe(row.canvas);
        this.wholeButton.disabled = this.graphButton.disabled = this.isWhole;
    }

    rowsOfPool(pool) {
        const isOpen = this.opened.has(pool.name), isOne = pool.threads.length === 1;
        const label = isOne ? pool.threads[0].name.replace(/^\[|( tid=\d+)?\]$/g, "") : `${pool.name} × ${pool.threads.length}`;
        const head = this.makeRow(label, pool, pool.threads, () => (isOne ? this.choose(pool.threads[0]) : this.toggle(pool)), isOne ? null : isOpen);

        if (!isOpen || isOne)
            return [head];
        const shown = pool.threads.slice(0, THREADS_FIRST), more = pool.threads.length - shown.length;

        return [head, ...shown.map((thread) => this.makeRow(thread.name.replace(/^\[|( tid=\d+)?\]$/g, ""), thread, [thread], () => this.choose(thread), null, "sub-row")),
            ...more ? [{ root: element("tr", {}, element("td", { colspan: "4", class: "quiet" }, `and ${plural(more, "thread", "threads")} more, of less`)) }] : []];
    }

    makeRow(label, track, threads, run, isOpen, kind = "pool-row") {
        const canvas = element("canvas", { class: "track", title: "Drag to zoom", "aria-hidden": "true" }), top = element("span", { class: "track-top" });
        const states = LEGEND_ORDER.filter((k) => track.kinds.get(k)).map((k) => [k, track.kinds.get(k)]).sort((a, b) => b[1] - a[1]);
        const said = states.slice(0, STATES_SAID).map(([k, ms]) => `${KINDS[k].label} ${formatShare(ms, track.total)}`).join(", ");
        const bar = element("span", { class: "state-bar", role: "img", "aria-label": said, title: said }, ...states.map(([k, ms]) => {
            const part = element("span", { class: `kind-${KINDS[k].id}` });

            part.style.flexGrow = String(ms / track.total);
            return part;
        }));
        const root = element("tr", { class: kind }, element("td", { class: "col-pool" }, element("button", {
            type: "button", class: "name", title: label, "aria-expanded": isOpen === null ? null : String(isOpen), onclick: run,
        }, (isOpen === null ? "" : isOpen ? "▾ " : "▸ ") + label)), element("td", { class: "num" }, formatShare(track.total, this.tracks.total)),
        element("td", { class: "col-states" }, bar), element("td", { class: "col-track" }, element("div", { class: "track-cell" }, canvas, top)));
        const row = { root, canvas, top, threads, isSeen: false };

        canvas.track = row;
        canvas.addEventListener("pointerdown", (event) => this.pressed(event, canvas));
        return row;
    }

    toggle(pool) {
        const focused = document.activeElement;
        const at = this.rows.findIndex(({ root }) => root.contains(focused));

        if (!this.opened.delete(pool.name))
            this.opened.add(pool.name);
        this.fill();
        if (at >= 0)
            this.rows[at].root.querySelector("button").focus({ preventScroll: true });
    }

    choose(thread) {
        this.flame.show(this.profile, thread, this.view, this.theme);
    }

    // ---- time ----

    get isWhole() {
        return !this.view || (this.view.from <= 0 && this.view.to >= this.tracks.endMs);
    }

    // null: all of it.
    setView(view) {
        this.view = view || { from: 0, to: Math.max(1, this.tracks.endMs) };
        this.wholeButton.disabled = this.graphButton.disabled = this.isWhole;
        this.showTimes();
        this.draw();
        if (this.flame.thread)
            this.flame.draw(this.view);
    }

    graph() {
        const start = Date.parse(this.profile.meta.start);

        this.on.range(start + this.view.from, start + this.view.to);
    }

    pressed(event, canvas) {
        const box = canvas.getBoundingClientRect(), { view } = this;
        const timeAt = (x) => view.from + Math.min(1, Math.max(0, (x - box.left) / box.width)) * (view.to - view.from);
        const first = timeAt(event.clientX), over = new AbortController(), { signal } = over;

        canvas.setPointerCapture(event.pointerId);
        canvas.addEventListener("pointercancel", () => over.abort(), { signal }); // a touch that scrolls
        canvas.addEventListener("pointerup", ({ clientX }) => {
            const last = timeAt(clientX), from = Math.min(first, last), to = Math.max(first, last);

            over.abort();
            if (to - from >= Math.max(DRAG_LEAST_MS, (view.to - view.from) / 200))
                this.setView({ from, to });
        }, { signal });
    }

    keyed(event) {
        const { view } = this;

        if (!this.tracks || event.target.closest("select, input") || event.ctrlKey || event.metaKey || event.altKey)
            return;
        const length = view.to - view.from, middle = view.from + length / 2;
        const clamp = (from, wide) => ({ from: Math.max(0, Math.min(from, this.tracks.endMs - wide)), to: Math.min(this.tracks.endMs, Math.max(wide, from + wide)) });
        const moves = { "+": () => clamp(middle - length / 4, length / 2), "-": () => clamp(middle - length, Math.min(2 * length, this.tracks.endMs)),
            ArrowLeft: () => clamp(view.from - length / 4, length), ArrowRight: () => clamp(view.from + length / 4, length), Escape: () => null };

        if (!moves[event.key] || (event.key === "Escape" && this.isWhole))
            return;
        this.setView(moves[event.key]());
        event.preventDefault();
        event.stopPropagation();
    }

    // ---- drawing ----

    get isOfThreads() {
        return WAITS.includes(this.profile.meta.event);
    }

    draw() {
        const seen = this.rows.filter(({ isSeen }) => isSeen), widths = seen.map(({ canvas }) => canvas.clientWidth); // one layout for all

        seen.forEach((row, i) => this.drawRow(row, widths[i]));
    }

    // Columns of states. The whole height is a round number of threads or CPUs, which stands beside it: no less than the row's most.
    drawRow(row, width = row.canvas.clientWidth) {
        if (!width) // of a page that was left, or is not laid out yet
            return;
        const { canvas, threads } = row, sums = row.sums || (row.sums = new TrackSums(threads, Math.max(1, this.tracks.endMs)));
        const scale = devicePixelRatio || 1, cells = Math.max(1, Math.floor(width / CELL)), palette = paletteOf(this.theme);
        const { from, to } = this.view, kinds = sums.cells(from, to, cells), layers = LEGEND_ORDER.filter((kind) => kinds.has(kind));
        const cellMs = (to - from) / cells, all = this.isOfThreads && !this.tracks.hasParts ? threads.length : Infinity; // a thread of the history is a pool
        const top = Math.min(all, topOf(mostOf([...kinds.values()], cells) / cellMs));

        if (row.top.textContent !== String(top)) // rarely: the browser then lays the row out again
            row.top.textContent = top;
        fitCanvas(canvas, cells, Math.round(TRACK_HEIGHT * scale));
        this.paint(canvas, layers.map((kind) => ({ sums: kinds.get(kind), pixel: pixelOf(palette.kind(kind)) })), top * cellMs);
    }

    // Pixel by pixel: thousands of rectangles take the canvas longer. @layers: [{sums: by column, pixel}], from the bottom up. A column is
    // a pixel of the canvas, which the style draws wider.
    paint(canvas, layers, most) {
        const { width, height } = canvas, ctx = canvas.getContext("2d");

        if (!this.image || this.image.width !== width || this.image.height !== height) {
            this.image = ctx.createImageData(width, height);
            this.pixels = new Uint32Array(this.image.data.buffer);
        }
        const { pixels } = this, seen = SHARE_SEEN * most;

        pixels.fill(0);
        for (let c = 0; c < width; c++) {
            let sum = 0, at = height * width + c; // of the pixel above which is free

            for (const { sums, pixel } of layers) {
                const ms = sums[c];

                if (!ms)
                    continue;
                sum += ms / most;
                const top = Math.max(0, Math.round(height * (1 - sum))) * width + c, end = ms > seen ? Math.min(top, at - width) : top;

                while (at > end && at >= width) {
                    at -= width;
                    pixels[at] = pixel;
                }
            }
        }
        ctx.putImageData(this.image, 0, 0);
    }
}
