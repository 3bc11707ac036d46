// SPDX-License-Identifier: Apache-2.0
// What the memory charts work out of numbers: round ends of scales, the heap after collections as steps, and how fast that
// grows.

import { formatBytes, formatClock } from "../shared/format.js";

const ROUND_STEPS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500, 600, 800, 1024];
const TREND_LEAST = 3; // collections: fewer say nothing about growth
const STAYED_SHARE = 0.9; // of the most that stayed
const FREED_SHARE = 0.5;
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

// The collection of @steps that freed most of what had stayed, which has not come back; undefined: none did.
function freedBy(steps) {
    const most = Math.max(...steps.map(({ bytes }) => bytes));
    const after = steps.slice(steps.findLastIndex(({ bytes }) => bytes >= STAYED_SHARE * most) + 1);

    return after.every(({ bytes }) => bytes < FREED_SHARE * most) ? after[0] : undefined;
}

// The straight line that fits @steps best, up to a collection that freed most: {from, to, first, last, perMinute, count, freed: {time,
// bytes}}; null where they are too few.
export function heapTrend(all) {
    const freed = freedBy(all), steps = freed ? all.slice(0, all.indexOf(freed)) : all;
    const n = steps.length;

    if (n < TREND_LEAST)
        return null;
    const from = steps[0].time, to = steps[n - 1].time;
    const x = steps.map(({ time }) => (time - from) / 60000), meanX = x.reduce((a, b) => a + b) / n;
    const meanY = steps.reduce((sum, { bytes }) => sum + bytes, 0) / n;
    const perMinute = x.reduce((sum, v, i) => sum + (v - meanX) * (steps[i].bytes - meanY), 0) / (x.reduce((sum, v) => sum + (v - meanX) ** 2, 0) || 1);
    const at = (t) => meanY + perMinute * ((t - from) / 60000 - meanX);

    return { from, to, first: at(from), last: at(to), perMinute, count: n, freed: freed ? { time: freed.time, bytes: steps[n - 1].bytes - freed.bytes } : null };
}

export function trendText(trend) {
    if (!trend)
        return "";
    const minutes = (trend.to - trend.from) / 60000, change = Math.abs(trend.perMinute) * minutes;
    const { freed, count } = trend, isUp = trend.perMinute > 0;
    const verb = freed ? (isUp ? "grew" : "shrank") : isUp ? "grows" : "shrinks";
    const how = change < STEADY_SHARE * trend.first ? (freed ? "was steady" : "is steady") : `${verb} ${formatBytes(Math.abs(trend.perMinute))} a minute`;

    return `after collections it ${how} (${count} of them)${freed ? ` until ${formatClock(freed.time)}, when one freed ${formatBytes(freed.bytes)}: the JVM may keep these pages` : ""}`;
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
