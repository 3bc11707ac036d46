// SPDX-License-Identifier: Apache-2.0
// A JVM's memory over time: areas stacked, RSS and heap as lines upon them, what it allocates, when it collects. One line
// says what was at one time: that under the pointer, or the newest.

import { element, setText } from "../shared/dom.js";
import { formatBytes, formatClock, formatSeconds, formatShare, formatValue, plural } from "../shared/format.js";
import { heapAfterCollections, heapTrend, roundBytes, roundShare, runsOf, trendText } from "./memoryscale.js";

const MEMORY_SVG = "http://www.w3.org/2000/svg";
const MEMORY_WIDTH = 600; // of the charts' own units
const MEMORY_HEIGHTS = { areas: 120, allocation: 40, collections: 16 };
const MEMORY_GAP_MS = 40000; // longer than flamed's longest step: nobody looked
const MEMORY_RATE_LEAST_MS = 900; // a rate over less is noise
const ENDED_THREADS_LEAST = 1; // threads: from where on it matters
const ENDED_THREADS_SPAN_MS = 60000;

// One for each area, in the order of the answer; neighbours differ in lightness, too.
export const AREA_COLORS = ["#5aa469", "#b48ad6", "#8a63b8", "#f0b254", "#6fb1c9", "#3f86a3", "#a3a34a", "#e8875b",
    "#c9b08f", "#9d6f5a", "#d9c65a", "#7f8fb5", "#b5b5c9", "#9a9a9a"];

// The lists of an answer with times in ms since 1970; none of them where there is no history.
export function openMemoryHistory(history) {
    const times = (list = []) => list.map((t) => Date.parse(t));

    return history ? { ...history, time: times(history.time), allocated_time: times(history.allocated_time) } : { time: [] };
}

// Whether there is no gap between the points i - 1 and i.
const isMemoryStep = ({ time }, i) => i > 0 && time[i] - time[i - 1] <= MEMORY_GAP_MS && time[i] > time[i - 1];

// [{from, to, ...pick(i)}] between the points i - 1 and i, without gaps, and without those where @pick knows nothing.
function memorySteps({ time }, pick) {
    return time.map((to, i) => ({ from: time[i - 1], to, ...(isMemoryStep({ time }, i) ? pick(i) : null) }))
        .filter((step) => Object.keys(step).length > 2);
}

const memoryRisen = (list, i) => (list[i] === null || list[i - 1] === null ? null : Math.max(0, list[i] - list[i - 1]));

// Bytes a second, between the times at which its threads were looked at: not those of the points, which may be much later.
export function allocationSteps(history) {
    const { allocated_time: times } = history, known = [];

    for (let i = 0; i < times.length; i++)
        if (history.allocated[i] !== null && times[i] - (times[known.at(-1)] || 0) >= MEMORY_RATE_LEAST_MS)
            known.push(i);
    const time = known.map((i) => times[i]), allocated = known.map((i) => history.allocated[i]);

    return memorySteps({ time }, (i) => ({ perSecond: memoryRisen(allocated, i) / (time[i] - time[i - 1]) * 1000 }));
}

// Those with a collection; @share: of the time.
export function collectionSteps(history) {
    return memorySteps(history, (i) => {
        const count = memoryRisen(history.collections, i), seconds = memoryRisen(history.collection_seconds, i);

        return count ? { count, seconds, share: Math.min(1, seconds * 1000 / (history.time[i] - history.time[i - 1])) } : null;
    });
}

// How many threads end in a second, lately.
export function endedThreadsPerSecond({ time, threads, threads_started: started }) {
    const last = time.length - 1;
    const first = time.findIndex((t) => t >= time[last] - ENDED_THREADS_SPAN_MS);
    const ended = (i) => (started[i] === null || threads[i] === null ? NaN : started[i] - threads[i]);

    return last > first && first >= 0 ? (ended(last) - ended(first)) / (time[last] - time[first]) * 1000 || 0 : 0;
}

export function memoryRange(history, points) {
    const times = [...history.time, ...points.map((p) => Date.parse(p.time))];

    return { from: Math.min(...times), to: Math.max(...times) };
}

const memoryX = (t, { from, to }) => (t - from) / Math.max(1, to - from) * MEMORY_WIDTH;
const memoryPoint = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;

// The corners of area @index, stacked upon those before it.
export function areaPoints(points, index, range, most) {
    const place = (p, upTo) => memoryPoint(memoryX(Date.parse(p.time), range),
        MEMORY_HEIGHTS.areas * (1 - p.bytes.slice(0, upTo).reduce((sum, n) => sum + n, 0) / most));

    return [...points.map((p) => place(p, index + 1)), ...points.map((p) => place(p, index)).reverse()].join(" ");
}

// A path through the values that are known, torn where nobody looked. @isStep: each value stays until the next one.
function memoryLine({ time }, values, range, most, isStep = false) {
    let path = "", torn = true;

    values.forEach((value, i) => {
        if (value === null) {
            torn = true;
            return;
        }
        const x = memoryX(time[i], range), isTorn = torn || time[i] - time[i - 1] > MEMORY_GAP_MS;

        path += (isTorn ? "M" : isStep ? `H${x.toFixed(1)}L` : "L") + memoryPoint(x, MEMORY_HEIGHTS.areas * (1 - value / most));
        torn = false;
    });
    return path;
}

// Columns that stand on the ground: [{from, to}], @share(step) of the height, no less than @least.
function memoryColumns(list, range, height, share, least) {
    return list.map((step) => {
        const left = memoryX(step.from, range), right = Math.max(memoryX(step.to, range), left + 1);
        const top = height - Math.max(least, share(step) * height);

        return `M${memoryPoint(left, height)}L${memoryPoint(left, top)}L${memoryPoint(right, top)}L${memoryPoint(right, height)}Z`;
    }).join("");
}

function memoryShape(tag, attributes) {
    const node = document.createElementNS(MEMORY_SVG, tag);

    for (const [name, value] of Object.entries(attributes))
        node.setAttribute(name, value);
    return node;
}

export class MemoryChart {
    constructor() {
        this.readout = element("p", { class: "memory-readout quiet", "aria-live": "off" });
        this.problem = element("p", { class: "memory-problem quiet", hidden: true });
        this.strips = Object.fromEntries([["areas", "In memory"], ["allocation", "Allocates"], ["collections", "Collects"]]
            .map(([id, label]) => [id, this.strip(id, label)]));
        this.cursor = element("div", { class: "memory-cursor", hidden: true });
        this.start = element("span");
        this.end = element("span");
        this.plot = element("div", { class: "memory-plot", tabindex: "0", role: "slider",
            "aria-label": "Time. Left and right move it.", "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0" },
        ...Object.values(this.strips).flatMap(({ head, svg }) => [head, svg]), this.cursor,
        element("div", { class: "memory-times" }, this.start, this.end));
        this.root = element("div", { class: "memory-charts" }, this.readout, this.plot, this.problem);
        this.plot.addEventListener("pointermove", (e) => this.pointed(e));
        this.plot.addEventListener("pointerleave", () => this.choose(null));
        this.plot.addEventListener("keydown", (e) => this.keyed(e));
    }

    strip(id, label) {
        const most = element("span", { class: "memory-most" });
        const svg = memoryShape("svg", { viewBox: `0 0 ${MEMORY_WIDTH} ${MEMORY_HEIGHTS[id]}`, preserveAspectRatio: "none", "aria-hidden": "true",
            class: `memory-chart memory-${id}` });

        return { most, svg, head: element("div", { class: "memory-head" }, element("span", {}, label), most) };
    }

    // @resident, @allocation, @history: as /api/v1/jvms/{pid}/heap has them; the first may be null.
    show({ resident, allocation, history }) {
        this.points = resident ? resident.points : [];
        this.areas = resident ? resident.areas : [];
        this.history = openMemoryHistory(history);
        this.root.hidden = this.history.time.length + this.points.length < 2;
        if (this.root.hidden)
            return;
        this.range = memoryRange(this.history, this.points);
        this.drawAreas();
        this.drawAllocation();
        this.drawCollections();
        setText(this.start, formatClock(this.range.from));
        setText(this.end, formatClock(this.range.to));
        const ended = this.history.time.length ? endedThreadsPerSecond(this.history) : 0;
        const unknown = allocation && allocation.bytes === null;

        setText(this.problem, unknown ? "How much it allocates is not known: too many threads live, or they begin and end too fast to be looked at." :
            ended >= ENDED_THREADS_LEAST ? `Some ${plural(ended, "thread ends", "threads end")} each second: what they allocated last is missing.` : "");
        this.problem.hidden = !this.problem.textContent;
        this.plot.setAttribute("aria-valuemax", Math.max(0, this.history.time.length - 1));
        this.choose(this.chosen);
    }

    drawAreas() {
        const { svg, most: label } = this.strips.areas;
        const { points, history, range } = this;
        const most = roundBytes(Math.max(1, ...points.map((p) => p.bytes.reduce((sum, n) => sum + n, 0)), ...(history.rss || []), ...(history.heap_used || [])));
        const steps = history.collections && history.heap_used ? heapAfterCollections(history) : [];
        const trend = heapTrend(steps), place = (time, bytes) => memoryPoint(memoryX(time, range), MEMORY_HEIGHTS.areas * (1 - bytes / most));

        this.trendText = trendText(trend);
        setText(label, `0 to ${formatBytes(most)}`);
        svg.replaceChildren(...runsOf(points, MEMORY_GAP_MS).flatMap((run) => this.areas.map((area, i) => memoryShape("polygon", {
            points: areaPoints(run, i, range, most), fill: AREA_COLORS[i % AREA_COLORS.length],
        }))), ...["rss", "heap_used"].filter((name) => history[name]).map((name) =>
            memoryShape("path", { d: memoryLine(history, history[name], range, most, name === "heap_used"), class: `memory-line ${name}` })),
        ...trend ? [memoryShape("path", { d: `M${place(trend.from, trend.first)}L${place(trend.to, trend.last)}`, class: "memory-line trend" })] : []);
    }

    drawAllocation() {
        const { svg, most: label } = this.strips.allocation;
        const list = this.rates = this.history.allocated ? allocationSteps(this.history) : [];
        const most = roundBytes(Math.max(1, ...list.map((s) => s.perSecond)));

        setText(label, list.length ? `0 to ${formatBytes(most)}/s` : "–");
        svg.replaceChildren(memoryShape("path", { d: memoryColumns(list, this.range, MEMORY_HEIGHTS.allocation, (s) => s.perSecond / most, 0) }));
    }

    drawCollections() {
        const { svg, most: label } = this.strips.collections;
        const list = this.collections = this.history.collections ? collectionSteps(this.history) : [];
        const most = roundShare(Math.max(...list.map((s) => s.share), 0));

        setText(label, list.length ? `0 to ${formatShare(most, 1).replace(".0", "")}` : "–");
        svg.replaceChildren(memoryShape("path", { d: memoryColumns(list, this.range, MEMORY_HEIGHTS.collections, (s) => s.share / most, 3) }));
    }

    // ---- one time ----

    // @i: a point of the history; null: the newest.
    choose(i) {
        const { time } = this.history || { time: [] };

        this.chosen = i === null || i === undefined || i >= time.length ? null : i;
        this.cursor.hidden = this.chosen === null;
        this.readout.hidden = !time.length;
        if (!time.length)
            return;
        const at = this.chosen === null ? time.length - 1 : this.chosen;
        const parts = this.partsOf(at);

        if (this.chosen !== null)
            this.cursor.style.left = `calc(var(--memory-left) + (100% - var(--memory-left)) * ${memoryX(time[at], this.range) / MEMORY_WIDTH})`;
        this.readout.replaceChildren(...parts.map(([mark, text]) => element("span", {}, mark && element("span", { class: `memory-mark ${mark}` }), text)));
        this.plot.setAttribute("aria-valuenow", at);
        this.plot.setAttribute("aria-valuetext", parts.map(([, text]) => text).join(", "));
    }

    partsOf(i) {
        const { time, rss, heap_used: used, heap_committed: committed, collections } = this.history;
        const within = (list) => list.find(({ from, to }) => time[i] > from && time[i] <= to);
        const rate = within(this.rates) || (i === time.length - 1 && this.rates[this.rates.length - 1]), collected = within(this.collections);
        const isCounted = collections && isMemoryStep(this.history, i) && memoryRisen(collections, i) !== null;

        return [["", formatClock(time[i])], ["rss", `RSS ${formatBytes(rss[i])}`],
            used[i] !== null && ["heap_used", `heap as the JVM counted it last ${formatBytes(used[i])}` + (committed[i] !== null ? ` of ${formatBytes(committed[i])}` : "")],
            this.trendText && ["trend", this.trendText],
            rate && ["allocation", `allocates ${formatBytes(rate.perSecond)}/s`],
            isCounted && ["collections", collected ? `${plural(collected.count, "collection", "collections")} took ${formatValue(Math.round(collected.seconds * 1e9), "nanoseconds")} of ${formatSeconds((collected.to - collected.from) / 1000)}` : "no collection"]]
            .filter(Boolean);
    }

    pointed(event) {
        const { time } = this.history;
        const { left, right } = this.strips.areas.svg.getBoundingClientRect();
        const at = this.range.from + (event.clientX - left) / (right - left) * (this.range.to - this.range.from);

        if (time.length)
            this.choose(event.clientX < left ? null : time.reduce((best, t, i) => (Math.abs(t - at) < Math.abs(time[best] - at) ? i : best), 0));
    }

    keyed(event) {
        const last = this.history.time.length - 1;
        const now = this.chosen === null ? last : this.chosen;
        const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last, Escape: null }[event.key];

        if (to === undefined || last < 0)
            return;
        this.choose(to === null ? null : Math.max(0, Math.min(last, to)));
        event.preventDefault();
        event.stopPropagation();
    }
}
