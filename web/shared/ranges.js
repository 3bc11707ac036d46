// SPDX-License-Identifier: Apache-2.0
// When samples were taken: the times that the heatmap format carries, how many fall into each moment, and the
// profile of a range of them.

import { derive } from "./transform.js";

const SHORTEST_MS = 0.0005; // of a sample whose length is no whole microsecond

// {ms, row, count, total, span, stands}: by sample, in order of time; ms since the start of the profile. span: the length of each
// in ms; stands: for how many threads each stands, its own among them; null: they have none. The format has spans in microseconds.
export function openTimes({ times: list = [], spans = null, stands = null }) {
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

// How many samples fall into each of @cells moments of @cellMs.
export function countCells(times, cells, cellMs) {
    const counts = new Float64Array(cells);

    for (let i = 0; i < times.size; i++)
        counts[Math.min(cells - 1, Math.floor(times.ms[i] / cellMs))] += times.count[i];
    return counts;
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
