// SPDX-License-Identifier: Apache-2.0
// When samples were taken: the times that the heatmap format carries, how many fall into each moment, and the
// profile of a range of them.

import { derive } from "./transform.js";

const OF_HISTORY = /^from (\S+) to (\S+) this answer comes from the history: merged by (.*?), without the times of single samples/; // a warning
const PARTS = [["hours", 3600e3], ["10 minutes", 600e3], ["minutes", 60e3]]; // the longest first
const CLOCK_MS = 1000; // what the times of a warning leave out
const SHORTEST_MS = 0.0005; // of a sample whose length is no whole microsecond

// The parts of the history in which samples at the times @ms lie: Map from their begin to their end, in ms since @start, null: none are of
// the history. It has the begin of the part as the time of each sample. How long a part is @warnings say, where not of one length: as long
// as one can be that begins there, up to the next one.
function openParts(ms, start, warnings) {
    const [, from, to, lengths] = warnings.map((text) => OF_HISTORY.exec(text)).find(Boolean) || [];
    const begins = from ? [...new Set(ms)].filter((t) => start + t < Date.parse(to)) : [];
    const endOf = (t, i) => { // the first part may begin anywhere
        const [, length] = PARTS.find(([name, one]) => lengths.includes(name) && (i === 0 || (start + t + CLOCK_MS / 2) % one < CLOCK_MS));

        return Math.min(Math.floor((start + t + CLOCK_MS / 2) / length) * length + length, Date.parse(to)) - start;
    };

    return begins.length ? new Map(begins.map((t, i) => [t, Math.min(endOf(t, i), begins[i + 1] ?? Infinity)])) : null;
}

// {ms, row, count, total, span, stands, parts}: by sample, in order of time; ms since the start of the profile. span: the length of each
// in ms; stands: for how many threads each stands, its own among them; null: they have none. The format has spans in microseconds.
// parts: of the history, whose samples lie anywhere in them, as openParts().
export function openTimes({ times: list = [], spans = null, stands = null, meta = {}, warnings = [] }) {
    const n = list.length >> 1; // at most
    const times = { ms: new Float64Array(n), row: new Int32Array(n), count: new Float64Array(n), size: 0, total: 0 };
    let now = 0, k = 0;

    for (let i = 0; i < list.length; k++) {
        now += list[i++];
        const row = list[i++];

        times.ms[k] = now;
        times.row[k] = row < 0 ? -1 - row : row;
        times.count[k] = row < 0 ? list[i++] : 1;
        times.total += times.count[k];
    }
    times.size = k;
    times.span = spans && spans.length === k ? Float64Array.from(spans, (us) => us / 1000) : null;
    times.stands = times.span && stands && stands.length === k ? stands : null;
    times.parts = openParts(times.ms.subarray(0, k), Date.parse(meta.start), warnings);
    return times;
}

// The first sample that is not before @ms.
export function firstAt(times, ms) {
    let low = 0, high = times.size;

    while (low < high) {
        const middle = low + high >> 1;

        if (times.ms[middle] < ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// How many samples fall into each of @cells moments of @cellMs. Those of a part of the history are spread evenly over it.
export function countCells(times, cells, cellMs) {
    const counts = new Float64Array(cells), sums = new Map();

    for (let i = 0; i < times.size; i++)
        if (times.parts && times.parts.has(times.ms[i]))
            sums.set(times.ms[i], (sums.get(times.ms[i]) || 0) + times.count[i]);
        else
            counts[Math.min(cells - 1, Math.floor(times.ms[i] / cellMs))] += times.count[i];
    for (const [from, sum] of sums) {
        const to = Math.min(times.parts.get(from), cells * cellMs);

        for (let c = Math.floor(from / cellMs); c < cells && c * cellMs < to; c++)
            counts[c] += sum * (Math.min(to, (c + 1) * cellMs) - Math.max(from, c * cellMs)) / (to - from);
    }
    return counts;
}

// [@from, @to) with all of those parts of the history that begin or end in it: nobody knows what a piece of one has.
export function wholeParts(times, from, to) {
    const cut = [...times.parts || []].filter(([begin, end]) => begin < to && end > from);

    return [Math.min(from, ...cut.map(([begin]) => begin)), Math.max(to, ...cut.map(([, end]) => end))];
}

// What the samples [@begin, @end) have of each row, by its number: {samples, part}; part: what they count for of the row's value.
function sumRows(times, begin, end) {
    const { row, count, span, stands } = times;
    const sums = new Map();

    for (let i = begin; i < end; i++) {
        const sum = sums.get(row[i]) || { samples: 0, part: 0 };

        sum.samples += count[i];
        sum.part += count[i] * (span ? Math.max(span[i], SHORTEST_MS) : 1) * (stands ? stands[i] : 1);
        sums.set(row[i], sum);
    }
    return sums;
}

// What @profile was from @from to @to (ms): stacks without a sample in it are gone. Its facts stay those of the whole.
// A row's value is divided as the lengths of its samples are; without lengths, each sample has the same part.
export function profileBetween(profile, times, from, to) {
    const chosen = sumRows(times, firstAt(times, from), firstAt(times, to));
    const whole = profile.values && sumRows(times, 0, times.size);

    return derive(profile, (path, depth, row) => chosen.has(row) ? path.slice(0, depth) : null, (row, value) => {
        const { samples, part } = chosen.get(row);

        return { samples, value: whole && Math.round(value * part / whole.get(row).part) };
    });
}
