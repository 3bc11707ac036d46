// SPDX-License-Identifier: Apache-2.0
// When samples were taken: the times that the heatmap format carries, how many fall into each moment, and the
// profile of a range of them.

import { eachRow } from "./rows.js";

// {ms, row, count, total, span, stands}: by sample, in order of time; ms since the start of the profile. span: the length of each
// in ms; stands: for how many threads each stands, its own among them; null: they have none. @spans: as the format has them, microseconds.
export function openTimes(list, spans = null, stands = null) {
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

// What @profile was from @from to @to (ms): stacks without a sample in it are gone. Its facts stay those of the whole.
export function profileBetween(profile, times, from, to) {
    const weights = new Map();
    const rows = [];

    for (let i = firstAt(times, from), end = firstAt(times, to); i < end; i++)
        weights.set(times.row[i], (weights.get(times.row[i]) || 0) + times.count[i]);
    eachRow(profile, (path, depth, kept, isCut, count, row) => {
        const weight = weights.get(row);

        if (!weight)
            return;
        rows.push(0, isCut ? -1 - depth : depth);
        for (let d = 0; d < depth; d++)
            rows.push(path[d]);
        rows.push(weight);
    });
    return { ...profile, rows, values: null };
}
