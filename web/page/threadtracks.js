// SPDX-License-Identifier: Apache-2.0
// The threads of a profile over time: pools of them, what each was at in each moment, and the stacks of one in the order in
// which they ran.

import { KIND, isJava } from "../shared/kinds.js";
import { eachRow } from "../shared/rows.js";

const NO_THREAD = "(no thread)";
const GRID = 4096; // parts of the whole time
const JOIN_GAP = 1.6; // samples' lengths: what is nearer is one box

// "http-worker-*" of "[http-worker-12 tid=4301]".
export function poolOf(thread) {
    return thread.replace(/^\[|\]$/g, "").replace(/ tid=\d+$/, "").replace(/^[GC][12] |\d+/g, (part) => (part.endsWith(" ") ? part : "*"));
}

// What each row of @profile is of: {thread: names, of: index into them by row, kind: of its leaf, ms: what one of its samples
// stands for, hasJava: whether any runs Java}.
function describeRows(profile) {
    const names = [], known = new Map(), of = [], kind = [], ms = [];
    let hasJava = false;
    const sampleMs = profile.meta.unit === "nanoseconds" ? profile.period / 1e6 : 0;

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        let thread = NO_THREAD;

        for (let d = 0; d < depth; d++) {
            const group = profile.groups[profile.groupOf[path[d]]];

            if (group.kind === KIND.THREAD && thread === NO_THREAD)
                thread = group.name;
            hasJava = hasJava || isJava(group.kind);
        }
        if (!known.has(thread)) {
            known.set(thread, names.length);
            names.push(thread);
        }
        of[row] = known.get(thread);
        kind[row] = depth ? profile.groups[profile.groupOf[path[depth - 1]]].kind : KIND.UNKNOWN;
        ms[row] = profile.values && profile.meta.unit === "nanoseconds" ? profile.values[row] / samples / 1e6 : sampleMs;
    });
    return { names, of, kind, ms, hasJava };
}

function addUp(track, kind, ms) {
    track.total += ms;
    track.kinds.set(kind, (track.kinds.get(kind) || 0) + ms);
}

// {pools: [{name, threads, total, kinds}], total, seen, endMs, hasJava, hasParts}; seen: of the total, what was looked at itself, not stood for; a thread is {name, total, kinds, spans: [{to, ms, kind, row, count, weight, isPart}]} in order of
// time. isPart: somewhere in that part of the history. weight: of what is drawn, how many threads at once. total, ms, to: in milliseconds. kinds: milliseconds by the kind of the leaf. The longest first.
export function tracksOf(profile, times) {
    const rows = describeRows(profile);
    const threads = rows.names.map((name) => ({ name, total: 0, kinds: new Map(), spans: [] }));
    let endMs = profile.meta.seconds * 1000, seen = 0;

    for (let i = 0; i < times.size; i++) {
        const row = times.row[i], thread = threads[rows.of[row]], kind = rows.kind[row], ms = times.span ? times.span[i] : rows.ms[row];

        const count = times.count[i], sum = ms * count * (times.stands ? times.stands[i] : 1), until = times.parts && times.parts.get(times.ms[i]);

        thread.spans.push(until ? { to: until, ms: until - times.ms[i], kind, row, count, weight: sum / (until - times.ms[i]), isPart: true }
            : { to: times.ms[i], ms, kind, row, count, weight: count, isPart: false });
        seen += ms * count;
        addUp(thread, kind, sum);
        endMs = Math.max(endMs, until || times.ms[i]);
    }
    const pools = new Map();

    for (const thread of threads.filter(({ spans }) => spans.length)) {
        const name = poolOf(thread.name);
        const pool = pools.get(name) || { name, threads: [], total: 0, kinds: new Map() };

        pool.threads.push(thread);
        for (const [kind, ms] of thread.kinds)
            addUp(pool, kind, ms);
        pools.set(name, pool);
    }
    const byTotal = (a, b) => b.total - a.total || (a.name < b.name ? -1 : 1);
    const list = [...pools.values()].sort(byTotal);

    for (const pool of list)
        pool.threads.sort(byTotal);
    return { pools: list, total: list.reduce((sum, { total }) => sum + total, 0), seen, endMs, hasJava: rows.hasJava, hasParts: Boolean(times.parts) };
}

// How many samples a thread has: those of one moment are one span.
export const samplesOf = ({ spans }) => spans.reduce((sum, { count }) => sum + count, 0);

// The first of @spans, which are in order of time, that ends after @from. Boxes of a level are in that order, too.
export function firstAfter(spans, from) {
    let low = 0, high = spans.length;

    while (low < high) {
        const middle = low + high >> 1;

        if (spans[middle].to <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// How many milliseconds of each kind fall into each of @cells equal parts of [@from, @to): Map from kind to Float64Array.
// @longestMs: of a span.
export function cellsOf(threads, from, to, cells, longestMs = Infinity) {
    const kinds = new Map(), cellMs = (to - from) / cells;

    for (const { spans } of threads)
        for (let i = firstAfter(spans, from); i < spans.length && spans[i].to - longestMs < to; i++) {
            const { to: end, ms, kind, weight } = spans[i], begin = Math.max(from, end - ms), until = Math.min(to, end);

            if (until <= begin)
                continue;
            let sums = kinds.get(kind);

            if (!sums)
                kinds.set(kind, sums = new Float64Array(cells));
            const last = Math.min(cells - 1, Math.floor((until - from) / cellMs));

            for (let c = Math.floor((begin - from) / cellMs); c <= last; c++)
                sums[c] += weight * Math.max(0, Math.min(until, from + (c + 1) * cellMs) - Math.max(begin, from + c * cellMs));
        }
    return kinds;
}

// Where the borders of @cells equal parts of [@from, @to) lie among the parts of a TrackSums of @endMs: {part, rest: of that part}. Tracks
// that are drawn one after the other have the same.
let places = { key: "" };

function placesOf(from, to, cells, endMs) {
    const key = [from, to, cells, endMs].join();

    if (places.key !== key) {
        places = { key, part: new Int32Array(cells + 1), rest: new Float64Array(cells + 1) };
        for (let c = 0; c <= cells; c++) {
            const place = Math.min(GRID, Math.max(0, (from + c * (to - from) / cells) / endMs * GRID));

            places.part[c] = Math.min(GRID - 1, place);
            places.rest[c] = place - places.part[c];
        }
    }
    return places;
}

// What cellsOf() gives of some threads, quick however many samples there are: coarse parts come from sums made once.
export class TrackSums {
    constructor(threads, endMs) {
        this.threads = threads;
        this.endMs = endMs;
        this.gridMs = endMs / GRID;
        this.longestMs = threads.reduce((most, { spans }) => spans.reduce((longest, { ms }) => Math.max(longest, ms), most), 0);
        this.sums = new Map([...cellsOf(threads, 0, endMs, GRID)].map(([kind, cells]) => {
            const until = new Float64Array(GRID + 1); // milliseconds up to the end of each part

            cells.forEach((ms, c) => { until[c + 1] = until[c] + ms; });
            return [kind, until];
        }));
    }

    cells(from, to, cells) {
        const cellMs = (to - from) / cells;

        if (cellMs < this.gridMs)
            return cellsOf(this.threads, from, to, cells, this.longestMs);
        const { part, rest } = placesOf(from, to, cells, this.endMs);

        return new Map([...this.sums].map(([kind, until]) => {
            const sums = new Float64Array(cells);
            let before = 0;

            for (let c = 0; c <= cells; c++) {
                const low = until[part[c]], after = low + rest[c] * (until[part[c] + 1] - low);

                if (c)
                    sums[c - 1] = after - before;
                before = after;
            }
            return [kind, sums];
        }));
    }
}

// The stacks of one thread in the order of time, samples of equal frames joined: [{from, to, depth, group}], outer frames first.
// @spans: of that thread.
export function boxesOf(profile, spans) {
    const wanted = new Set(spans.map(({ row }) => row)), paths = new Map();

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        if (wanted.has(row))
            paths.set(row, path.slice(0, depth).map((frame) => profile.groupOf[frame]).filter((g) => ![KIND.THREAD, KIND.PROCESS].includes(profile.groups[g].kind)));
    });
    const boxes = [], open = [];

    for (const { to, ms, row } of spans) {
        const path = paths.get(row);
        let same = 0;

        while (same < path.length && same < open.length && open[same].group === path[same] && to - ms - open[same].to <= (JOIN_GAP - 1) * ms)
            same++;
        open.length = same;
        for (const box of open)
            box.to = to;
        for (let depth = same; depth < path.length; depth++) {
            const box = { from: to - ms, to, depth, group: path[depth] };

            open.push(box);
            boxes.push(box);
        }
    }
    return boxes;
}

// @boxes of boxesOf() by depth: [{boxes, longestMs}].
export function levelsOf(boxes) {
    const levels = [];

    for (const box of boxes) {
        const level = levels[box.depth] || (levels[box.depth] = { boxes: [], longestMs: 0 });

        level.boxes.push(box);
        level.longestMs = Math.max(level.longestMs, box.to - box.from);
    }
    return levels;
}
