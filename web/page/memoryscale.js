// SPDX-License-Identifier: Apache-2.0
// What the memory charts work out of numbers: round ends of scales, the heap after collections as steps, and how fast that
// grows.

import { formatBytes } from "../shared/format.js";

const ROUND_STEPS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500, 600, 800, 1024];
const TREND_LEAST = 3; // collections: fewer say nothing about growth
const STEADY_SHARE = 0.02; // of the heap, over the whole time: less is no growth

// The end of a scale that @most fits into: a round number of bytes.
export function roundBytes(most) {
    let unit = 1;

    while (most > unit * 1024)
        unit *= 1024;
    return unit * (ROUND_STEPS.find((step) => most <= step * unit) || 1024);
}

// The same of a share of 1.
export function roundShare(most) {
    return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((step) => most <= step) || 1;
}

// [{time, bytes}] of the heap after each collection that was seen; times in ms.
export function heapAfterCollections({ time, collections, heap_used: used }) {
    return time.map((t, i) => ({ time: t, bytes: used[i], isNew: i > 0 && collections[i] !== null && collections[i - 1] !== null && collections[i] > collections[i - 1] }))
        .filter(({ bytes, isNew }) => isNew && bytes !== null).map(({ time: t, bytes }) => ({ time: t, bytes }));
}

// The straight line that fits @steps best: {from, to, first, last, perMinute}; null where they are too few.
export function heapTrend(steps) {
    const n = steps.length;

    if (n < TREND_LEAST)
        return null;
    const from = steps[0].time, to = steps[n - 1].time;
    const x = steps.map(({ time }) => (time - from) / 60000), meanX = x.reduce((a, b) => a + b) / n;
    const meanY = steps.reduce((sum, { bytes }) => sum + bytes, 0) / n;
    const perMinute = x.reduce((sum, v, i) => sum + (v - meanX) * (steps[i].bytes - meanY), 0) / (x.reduce((sum, v) => sum + (v - meanX) ** 2, 0) || 1);
    const at = (t) => meanY + perMinute * ((t - from) / 60000 - meanX);

    return { from, to, first: at(from), last: at(to), perMinute };
}

export function trendText(trend, count) {
    if (!trend)
        return "";
    const minutes = (trend.to - trend.from) / 60000, change = Math.abs(trend.perMinute) * minutes;
    const how = change < STEADY_SHARE * trend.first ? "is steady"
        : `${trend.perMinute > 0 ? "grows" : "shrinks"} ${formatBytes(Math.abs(trend.perMinute))} a minute`;

    return `after collections it ${how} (${count} of them)`;
}

// @points in runs without gaps longer than @gap ms.
export function runsOf(points, gap) {
    const runs = [];

    points.forEach((point, i) => {
        if (!i || Date.parse(point.time) - Date.parse(points[i - 1].time) > gap)
            runs.push([]);
        runs[runs.length - 1].push(point);
    });
    return runs.filter(({ length }) => length > 1);
}
