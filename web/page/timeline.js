// SPDX-License-Identifier: Apache-2.0
// CPU time by category over the last minutes, stacked, and above it marks where the JVM stopped. A range is chosen by
// dragging, or by keyboard.

import { noticeList } from "../viewer/bars.js";
import { CATEGORIES, bucketSum, categoryChip, categoryColor, cpusOf } from "./categories.js";
import { paletteOf } from "../shared/colors.js";
import { element, setText } from "../shared/dom.js";
import { clockBehind, formatSeconds, formatShare, formatClock, formatRange, plural } from "../shared/format.js";
import { THROTTLED, formatMs, isSumOfMinutes, stopsWithin } from "../shared/moments.js";
import { button } from "./notice.js";

const AXIS = 16; // CSS pixels of the canvas below the bars
const LEFT = 44; // for the numbers at the side
const TOP = 8; // above the bars, for marks
const MARK = { gc: 7, other: 4 }; // their heights
const FULL_SHARE = 0.25; // of the time of a minute or more: its mark is as high as a collection's
const EVENT_ROOM = 5; // CSS pixels of the flag of a mark: a deploy, a signal
const EVENT_REACH = 8; // CSS pixels: as near the pointer means a mark with a flag
const MARK_REACH = 3; // CSS pixels: as near the pointer means a mark
const UNRECORDED_ROOM = 200; // CSS pixels that the words about it take
const DRAG_LEAST = 3; // CSS pixels: less is a click
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];

export class Timeline {
    // @on: {range(from, to) | range(null), keep()}: ms since 1970, or nothing chosen; what is chosen shall be kept. @isNode: it is of all processes.
    constructor(on, isNode) {
        Object.assign(this, { on, isNode });
        this.range = null;
        this.pointer = NaN;
        this.marks = [];
        this.theme = "light";
        this.canvas = element("canvas", { class: "timeline-canvas", "aria-hidden": "true" });
        this.ctx = this.canvas.getContext("2d");
        this.plot = element("div", {
            class: "timeline-plot", tabindex: "0", role: "slider",
            "aria-label": "Range of time. Left and right move it, with Shift they make it longer and shorter, " +
                "Delete clears it.", title: "Drag to see the flame graph of a moment",
            "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": "100", "aria-valuetext": "nothing chosen",
        }, this.canvas);
        this.legend = element("ul", { class: "legend", "aria-label": "CPU time by category" });
        this.note = element("p", { class: "timeline-note idle" });
        this.keepButton = button("Keep this range", on.keep, { disabled: true, title: "Store it as a capture: the flight recorder and the history forget" });
        this.head = element("div", { class: "timeline-head" }, this.keepButton);
        this.limits = element("div", { class: "timeline-limits" });
        this.root = element("section", { class: "timeline", "aria-label": "CPU time" }, this.plot, this.note, this.head, this.legend, this.limits);
        new ResizeObserver(() => this.draw()).observe(this.plot);
        this.plot.addEventListener("pointerdown", (e) => this.pressed(e));
        this.plot.addEventListener("pointermove", (e) => this.moved(e));
        this.plot.addEventListener("pointerup", (e) => this.released(e));
        this.plot.addEventListener("pointercancel", () => this.endDrag());
        this.plot.addEventListener("pointerleave", () => this.pointTo(NaN));
        this.plot.addEventListener("keydown", (e) => this.keyed(e));
    }

    show(data) {
        if (this.drag) { // else the bars would run away under the hand, and the range be of other times
            this.next = data;
            return;
        }
        this.data = data;
        this.draw();
        this.showNote();
        this.showLimits();
    }

    // Bars do not tell a gap from an idle JVM. What is open stays so while the answers say the same.
    showLimits() {
        const { limits } = this.data, key = limits.join("\n");

        if (key === this.limitsKey)
            return;
        this.limitsKey = key;
        this.limits.replaceChildren(...limits.length ? [noticeList({ quality: { samples: 0, lost: 0, unknown: 0, truncated: 0 }, warnings: limits }, { brief: true })] : []);
    }

    setRange(range) {
        this.range = range;
        this.keepButton.disabled = !range;
        this.draw();
        this.showNote();
    }

    setTheme(theme) {
        this.theme = theme;
        this.draw();
    }

    // @marks: [{at, text, isBad}], at in ms since 1970: what happened then.
    setMarks(marks) {
        this.marks = [...marks].sort((a, b) => a.at - b.at);
        this.draw();
    }

    // Why there is no timeline.
    sayProblem(text) {
        this.note.classList.remove("idle");
        setText(this.note, text);
    }

    // What stands in the note in place of the usual; "" takes it back.
    setPrompt(text) {
        this.prompt = text;
        this.note.classList.toggle("prompt", Boolean(text));
        this.showNote();
    }

    // ---- places ----

    xOf(time) {
        const { from, to } = this.data;

        return LEFT + (time - from) / (to - from) * (this.width - LEFT);
    }

    timeAt(x) {
        const { from, to } = this.data;
        const t = from + (x - LEFT) / (this.width - LEFT) * (to - from);

        return Math.min(to, Math.max(from, t));
    }

    // ---- drawing ----

    draw() {
        const { canvas, ctx, data } = this;
        const { clientWidth: width, clientHeight: height } = this.plot, scale = devicePixelRatio || 1;

        if (!data || !width)
            return;
        this.width = width;
        this.ground = height - AXIS;
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        ctx.setTransform(scale, 0, 0, scale, 0, 0);
        ctx.clearRect(0, 0, width, height);
        const style = getComputedStyle(this.plot);
        const quiet = style.getPropertyValue("--quiet"), line = style.getPropertyValue("--line");
        const peak = this.peak();

        ctx.font = "11px system-ui, sans-serif";
        this.drawScale(peak, quiet, line);
        this.drawBars(peak, quiet);
        this.drawStops(style.getPropertyValue("--red"));
        this.drawTimes(quiet, line);
        this.drawMarks(style);
        this.drawRange(style);
        this.showLegend();
    }

    // The top of the scale, in CPUs.
    peak() {
        let most = 0;

        for (let i = 0; i < this.data.count; i++)
            most = Math.max(most, cpusOf(this.data, bucketSum(this.data, i)));
        for (const step of [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256])
            if (most <= step)
                return step;
        return most;
    }

    drawScale(peak, quiet, line) {
        const { ctx, width, ground } = this;

        ctx.fillStyle = quiet;
        ctx.textBaseline = "middle";
        ctx.textAlign = "right";
        for (const share of [0, 0.5, 1]) {
            const y = Math.round(ground - share * (ground - TOP)) + 0.5;

            ctx.strokeStyle = line;
            ctx.beginPath();
            ctx.moveTo(LEFT, y);
            ctx.lineTo(width, y);
            ctx.stroke();
            ctx.fillText(Number((peak * share * 100).toFixed(1)) + "\u00a0%", LEFT - 6, Math.max(6, y));
        }
    }

    drawBars(peak, quiet) {
        const { ctx, data, width, ground } = this;
        const palette = paletteOf(this.theme);
        const step = (width - LEFT) / data.count;
        const gap = step >= 4 ? 1 : 0;
        const bottoms = new Float64Array(data.count);

        CATEGORIES.forEach((category, c) => {
            ctx.fillStyle = categoryColor(palette, category);
            for (let i = 0; i < data.count; i++) {
                const h = cpusOf(data, data.samples[c][i]) / peak * (ground - TOP);

                if (h > 0)
                    ctx.fillRect(LEFT + i * step, ground - bottoms[i] - h, Math.max(step - gap, 0.5), h);
                bottoms[i] += h;
            }
        });
        this.drawGaps(palette.hatch);
        if (data.oldest > data.from) { // before that nothing was recorded
            const gone = this.xOf(Math.min(data.oldest, data.to)) - LEFT;
            const hasBars = bottoms.some((h, i) => h > 0 && i * step < gone); // of stored captures: words would lie on them

            if (gone > UNRECORDED_ROOM && !hasBars) {
                ctx.fillStyle = quiet;
                ctx.textAlign = "center";
                ctx.fillText("not recorded yet, or no longer", LEFT + gone / 2, ground / 2 + 6);
            }
        }
    }

    // The times in which nothing was recorded, each at least a pixel wide.
    drawGaps(color) {
        const { ctx, data, ground } = this;

        ctx.fillStyle = color;
        ctx.globalAlpha = 0.25;
        for (const { from, to } of [{ from: data.from, to: Math.min(data.oldest, data.to) }, ...data.gaps]) {
            const left = this.xOf(Math.max(from, data.from)), right = this.xOf(Math.min(to, data.to));

            if (to > from && right >= left)
                ctx.fillRect(left, TOP, Math.max(1, right - left), ground - TOP);
        }
        ctx.globalAlpha = 1;
    }

    // What the bars at @time do not show: "" if nothing is missing.
    unrecordedAt(time) {
        const { data } = this;

        return time < data.oldest ? "not recorded yet, or no longer" : data.gaps.some(({ from, to }) => from <= time && time < to) ? "flamed recorded nothing" : "";
    }

    // Collections are high marks, other safepoints low ones. Sums of minutes are as high as their share of the time.
    drawStops(red) {
        const { ctx } = this;
        const palette = paletteOf(this.theme);

        for (const { at, ms, kind, stoppedMs } of this.data.stops) {
            const left = Math.max(LEFT, this.xOf(at)), isSum = isSumOfMinutes(kind);
            const height = isSum ? Math.max(1, MARK.gc * Math.min(1, stoppedMs / ms / FULL_SHARE)) : kind === "gc" ? MARK.gc : MARK.other;

            ctx.fillStyle = kind === THROTTLED ? red : palette.category[kind === "gc" || isSum ? "gc" : "vm"];
            ctx.fillRect(left, kind === THROTTLED ? MARK.gc - height : 0, Math.max(2, this.xOf(at + ms) - left), height);
        }
    }

    // A line through the bars, with a flag: below that of a mark which is so near that they would cover each other.
    drawMarks(style) {
        const { ctx, data, ground } = this;
        let level = 0, before = -Infinity;

        for (const { at, isBad } of this.marks.filter((one) => one.at >= data.from && one.at <= data.to)) {
            const x = Math.round(this.xOf(at));

            level = x - before <= EVENT_ROOM + 3 ? level + 1 : 0;
            before = x;
            ctx.fillStyle = style.getPropertyValue(isBad ? "--red" : "--text");
            ctx.fillRect(x, TOP, 1, ground - TOP);
            ctx.fillRect(x, Math.min(TOP + level * (EVENT_ROOM + 1), ground - EVENT_ROOM), EVENT_ROOM + 2, EVENT_ROOM);
        }
    }

    // All that happened near @time, in words.
    marksNear(time) {
        const { data, width } = this;
        const reach = EVENT_REACH / (width - LEFT) * (data.to - data.from);

        return this.marks.filter(({ at }) => Math.abs(at - time) <= reach).map(({ at, text }) => `${formatClock(at)} ${text}`);
    }

    // What stopped the JVM longest near @time; undefined: nothing did.
    stopNear(time) {
        const { data, width } = this;
        const reach = MARK_REACH / (width - LEFT) * (data.to - data.from);

        return data.stops.filter(({ at, ms }) => time >= at - reach && time <= at + ms + reach)
            .reduce((most, stop) => (most && most.stoppedMs >= stop.stoppedMs ? most : stop), undefined);
    }

    drawTimes(quiet, line) {
        const { ctx, data, width, ground } = this;
        const seconds = (data.to - data.from) / 1000;
        const room = (width - LEFT) / 84;
        const step = STEPS_S.find((s) => seconds / s <= room) || 14400;
        const shift = clockBehind(data.to);

        ctx.textAlign = "center";
        ctx.textBaseline = "alphabetic";
        for (let t = Math.ceil((data.from - shift) / 1000 / step) * step * 1000 + shift; t <= data.to; t += step * 1000) {
            const x = this.xOf(t);

            ctx.fillStyle = line;
            ctx.fillRect(Math.round(x), ground, 1, 4);
            if (x > LEFT + 24 && x < width - 26) {
                ctx.fillStyle = quiet;
                ctx.fillText(formatClock(t), x, ground + AXIS - 3);
            }
        }
    }

    drawRange(style) {
        const { ctx, ground } = this;
        const range = this.drag && this.drag.moved ? this.dragRange() : this.range;

        if (!range)
            return;
        const left = Math.max(LEFT, this.xOf(range.from)), right = Math.min(this.width, this.xOf(range.to));

        if (right <= LEFT || left >= this.width)
            return;
        ctx.fillStyle = style.getPropertyValue("--focus");
        ctx.globalAlpha = 0.16;
        ctx.fillRect(left, 0, right - left, ground);
        ctx.globalAlpha = 1;
        ctx.fillRect(Math.round(left) - 1, 0, 2, ground + 4);
        ctx.fillRect(Math.round(right) - 1, 0, 2, ground + 4);
    }

    // Shares of what is chosen, else of everything, named by how long that is.
    showLegend() {
        const { data } = this;
        const [from, to] = this.range ? [this.range.from, this.range.to] : [data.from, data.to];
        const totals = data.samples.map((list) => list.reduce((sum, n, i) => {
            const begin = data.from + i * data.bucketMs, within = Math.min(begin + data.bucketMs, to) - Math.max(begin, from);

            return within > 0 ? sum + n * within / data.bucketMs : sum; // of a bucket as much as the range has of it
        }, 0));
        const total = totals.reduce((sum, n) => sum + n, 0);
        const stops = stopsWithin(data.stops, from, to);
        const key = [...totals, stops.length, stops.reduce((sum, { stoppedMs }) => sum + stoppedMs, 0), to - Math.max(from, data.oldest), Boolean(this.range)].join();

        if (key === this.legendKey)
            return;
        this.legendKey = key;
        this.legend.replaceChildren(element("li", { class: "span" }, `CPU time in ${this.range ? "the chosen" : "these"} ${formatSeconds((to - from) / 1000)}`), ...CATEGORIES.map((category, c) => element("li", {
            title: category.text, class: totals[c] ? null : "absent",
        }, element("span", { class: `chip ${categoryChip(category)}` }), category.label + " ",
        element("span", { class: "num" }, formatShare(totals[c], total)))), ...this.stopsLegend(stops, from, to));
    }

    // Shares of the time; of a whole node how many JVMs, as most of it was not stopped. The kernel adds the throttled time of
    // processors up, so a share of it could exceed the whole.
    stopsLegend(stops, from, to) {
        const { data } = this, pauses = stops.filter(({ kind }) => kind !== THROTTLED), throttled = stops.filter(({ kind }) => kind === THROTTLED);
        const count = Math.max(1, Math.round(pauses.reduce((sum, one) => sum + one.count, 0)));
        const item = (list, chip, label, title) => {
            const stopped = list.reduce((sum, { stoppedMs }) => sum + stoppedMs, 0);
            const jvms = new Set(list.map(({ pid }) => pid)).size, time = to - Math.max(from, data.oldest), known = time * jvms; // ms of JVMs
            const share = chip === "throttled" ? `${(stopped / time).toFixed(2)}\u00a0CPUs` : formatShare(Math.min(stopped, known), known);
            const ofTime = chip === "throttled" ? "" : " of the time";

            return list.length ? [element("li", { title: (list.some(({ isPart }) => isPart) ? "About " : "") + title(formatMs(stopped * 1e6)) + (jvms > 1 || this.isNode ? `; ${share}${ofTime} of ${plural(jvms, "JVM", "JVMs")}` : "") }, element("span", { class: `chip stop ${chip}` }), label,
                element("span", { class: "num" }, this.isNode ? plural(jvms, "JVM", "JVMs") : share))] : [];
        };

        return [...item(pauses, "category-gc", "Paused ", (ms) => `${plural(count, "pause", "pauses")}, ${ms}: garbage collections ` +
                "(high marks above the bars) and other safepoints of 10 ms or more (low marks)" +
                (data.stopsLeftOut ? `; ${data.stopsLeftOut} shorter ones are not shown` : "")),
        ...item(throttled, "throttled", "Throttled ", (ms) => `${ms}: the CPU limit stopped the JVM (red marks above the bars), added up over processors`)];
    }

    // @x: where the pointer is, NaN: elsewhere.
    pointTo(x) {
        this.pointer = x;
        this.note.classList.toggle("leftwards", x > this.width / 2);
        this.note.style.setProperty("--pointer", `${Math.round(x) || 0}px`);
        this.showNote();
    }

    showNote() {
        const { data, range } = this, isPointed = !Number.isNaN(this.pointer);

        if (!data)
            return;
        this.note.classList.toggle("pointed", isPointed);
        this.note.classList.toggle("idle", !isPointed && !this.prompt && data.total > 0);
        if (isPointed) {
            const time = this.timeAt(this.pointer);
            const i = Math.min(data.count - 1, Math.floor((time - data.from) / data.bucketMs));

            const stop = this.stopNear(time), samples = bucketSum(data, i);

            setText(this.note, [formatClock(time), ...this.marksNear(time), samples ? `CPU ${formatShare(cpusOf(data, samples), 1)}` : this.unrecordedAt(time) || "no samples",
                ...stop ? [stop.text] : []].join(" · "));
        } else if (this.prompt) {
            setText(this.note, this.prompt);
        } else if (range) {
            setText(this.note, `${formatRange(range)}, ${formatSeconds((range.to - range.from) / 1000)}`);
        } else {
            setText(this.note, data.total ? "Drag over the bars to see the flame graph of a moment."
                : "No CPU time was sampled in this span.");
        }
        this.plot.setAttribute("aria-valuetext", range ? formatRange(range) : "nothing chosen");
        if (range)
            this.plot.setAttribute("aria-valuenow", Math.max(0, Math.min(100, Math.round((range.to - data.from) / (data.to - data.from) * 100))));
    }

    // ---- choosing ----

    pressed(event) {
        if (!this.data || event.button)
            return;
        const x = event.clientX - this.plot.getBoundingClientRect().left;

        this.drag = { from: x, to: x, moved: false };
        this.plot.setPointerCapture(event.pointerId);
    }

    moved(event) {
        if (!this.data)
            return;
        const x = event.clientX - this.plot.getBoundingClientRect().left;

        this.pointTo(x);
        if (!this.drag)
            return;
        this.drag.to = x;
        this.drag.moved = this.drag.moved || Math.abs(x - this.drag.from) >= DRAG_LEAST;
        this.draw();
    }

    released() {
        if (!this.drag)
            return;
        const range = this.drag.moved ? this.dragRange() : null;

        this.endDrag();
        this.choose(range);
    }

    endDrag() {
        const { next } = this;

        this.drag = this.next = null;
        if (next)
            this.show(next);
        else
            this.draw();
    }

    dragRange() {
        const { bucketMs } = this.data;
        const a = this.timeAt(Math.min(this.drag.from, this.drag.to));
        const b = this.timeAt(Math.max(this.drag.from, this.drag.to));

        return { from: a, to: Math.max(b, a + bucketMs) };
    }

    choose(range) {
        this.setRange(range);
        this.on.range(range);
    }

    keyed(event) {
        const { data } = this;
        const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];

        if (!data || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (direction) {
            const step = Math.max(data.bucketMs, (data.to - data.from) / 40);
            const range = this.range || { from: data.to - 2 * step, to: data.to - step };
            const by = direction * step;
            const to = Math.min(data.to, Math.max(range.to + by, data.from + step));
            const from = event.shiftKey ? Math.min(range.from, to - step) : range.from + (to - range.to);

            const moved = { from: Math.max(data.from, from), to };

            if (this.prompt)
                this.setRange(moved);
            else
                this.choose(moved);
        } else if (event.key === "Enter" && this.prompt && this.range) {
            this.on.range(this.range);
        } else if (event.key === "Delete" || event.key === "Backspace") {
            this.choose(null);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

const SPARK_LEAST = 0.25; // CPUs that its height stands for at least, so that idling looks idle

// How many CPUs the height of a spark stands for: a quarter, a half, 1, 2, 4, ….
export function sparkTop(data) {
    let top = SPARK_LEAST;

    for (let i = 0; i < data.count; i++)
        while (top < cpusOf(data, bucketSum(data, i)))
            top *= 2;
    return top;
}

// The same as a small picture without words, for a row of a table that has the number. @top: of sparkTop().
export function drawSpark(canvas, data, theme, top) {
    const scale = devicePixelRatio || 1, width = 96, height = 18;
    const ctx = canvas.getContext("2d");
    const palette = paletteOf(theme);

    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const step = width / data.count;
    const bottoms = new Float64Array(data.count);

    CATEGORIES.forEach((category, c) => {
        ctx.fillStyle = categoryColor(palette, category);
        for (let i = 0; i < data.count; i++) {
            const h = cpusOf(data, data.samples[c][i]) / top * height;

            if (h > 0)
                ctx.fillRect(i * step, height - bottoms[i] - h, step, h);
            bottoms[i] += h;
        }
    });
}
