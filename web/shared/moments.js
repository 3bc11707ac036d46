// SPDX-License-Identifier: Apache-2.0
// What JVMs did as a whole during a profile: collections, safepoints, compilations, classes.

import { formatCount, plural } from "./format.js";

// A lane is what is drawn in one line: single moments (marks), or how many there were (bars).
const LANES = [
    { name: "GC", kinds: ["gc"] },
    { name: "safepoints", kinds: ["safepoint"], counts: "safepoints" },
    { name: "compilations", kinds: [], counts: "compilations" },
    { name: "compiled", kinds: ["jit"] },
    { name: "classes", kinds: [], counts: "classes_loaded" },
    { name: "loaded", kinds: ["class_load"] },
];
const SINGLE = { jit: "compiled", class_load: "class loaded", class_unload: "class unloaded" };
const WORDS = {
    collections: ["collection", "collections"], safepoints: ["safepoint", "safepoints"],
    compilations: ["compilation", "compilations"], classes_loaded: ["class loaded", "classes loaded"],
    classes_unloaded: ["class unloaded", "classes unloaded"],
};
export const THROTTLED = "throttled"; // kind of a stop: by the CPU limit
const STOP_LEAST_NS = 1e7; // of a safepoint; of collections, all count

export function formatMs(ns) {
    const ms = ns / 1e6;

    return (ms < 10 ? ms.toFixed(2) : ms < 1000 ? ms.toFixed(1) : formatCount(Math.round(ms))) + "\u00a0ms";
}

function counted(kind, count) {
    return plural(count, ...WORDS[kind]);
}

// "gc, 5.85 ms, G1 young collection pauses (System.gc())", "compiled, 1.20 ms, a.B.c, by C2 CompilerThread0"
function singleText({ kind, ns, name, by }) {
    return [SINGLE[kind] || kind, (ns || !SINGLE[kind]) && formatMs(ns), name, by && `by ${by}`].filter(Boolean).join(", ");
}

// "1.234 s: gc, 5.85 ms, G1 young collection pauses (System.gc())"
export function momentText(moment) {
    const at = (moment.at_ns / 1e9).toFixed(3) + "\u00a0s";

    if (moment.count === undefined)
        return `${at}: ${singleText(moment)}`;
    const until = ((moment.at_ns + moment.ns) / 1e9).toFixed(3) + "\u00a0s";

    return `${at} to ${until}: ` + [counted(moment.kind, moment.count), moment.total_ns && formatMs(moment.total_ns)].filter(Boolean).join(", ");
}

// What /api/v1/timeline says that stopped a JVM, as {pid, at, ms, kind, stoppedMs, count, text}: times in ms since 1970.
export function openStops(list) {
    return list.map(({ kind, pid, at, seconds, stopped_seconds: stopped, name, count }) => ({
        pid, at: Date.parse(at), ms: seconds * 1000, kind, stoppedMs: stopped * 1000, count: count ?? 1,
        text: count === undefined ? singleText({ kind, ns: stopped * 1e9, name }) : `${counted(kind, count)}, ${formatMs(stopped * 1e9)}`,
    }));
}

// Whether stops of @kind are sums of whole minutes, out of the history.
export const isSumOfMinutes = (kind) => kind === "collections" || kind === THROTTLED;

// Those of openStops() that overlap @from to @to. Sums of minutes that reach beyond it are spread evenly over their time:
// their count and stoppedMs are of the part within it, and isPart is true.
export function stopsWithin(stops, from, to) {
    return stops.filter(({ at, ms }) => at + ms > from && at < to).map((stop) => {
        const { at, ms, kind, count, stoppedMs } = stop, part = (Math.min(at + ms, to) - Math.max(at, from)) / ms;

        return isSumOfMinutes(kind) && part < 1 ? { ...stop, count: count * part, stoppedMs: stoppedMs * part, isPart: true } : stop;
    });
}

// Of a profile's moments those that stopped a JVM and whose place is known, as {at, ms, text}: times in ms since its start.
export function stopsOf(moments) {
    return moments.filter(({ kind, ns }) => kind === "gc" || (kind === "safepoint" && ns >= STOP_LEAST_NS))
        .map((moment) => ({ at: moment.at_ns / 1e6, ms: moment.ns / 1e6, text: singleText(moment) }));
}

// [{name, marks: single moments, bars: counting ones}] of those that have any. Marks of a kind tell more than its bars.
export function momentLanes(moments) {
    return LANES.map(({ name, kinds, counts }) => {
        const marks = moments.filter(({ kind }) => kinds.includes(kind));

        return { name, marks, bars: marks.length ? [] : moments.filter(({ kind }) => kind === counts) };
    }).filter(({ marks, bars }) => marks.length + bars.length);
}

// What to say where a profile has more single moments than a page shows.
export function leftOutText(moments, leftOut) {
    const single = moments.filter(({ count }) => count === undefined).length;

    return `${formatCount(single)} of ${formatCount(single + leftOut)} single moments are shown: pauses first, and the ` +
        `longest of each. ${formatCount(leftOut)} shorter ones are left out.`;
}

// "3 collections, 41.2 ms; 12 compilations, 30.1 ms; 40 classes loaded"
export function momentsSummary(moments) {
    const sums = new Map(Object.keys(WORDS).map((kind) => [kind, { count: 0, ns: 0 }]));

    for (const { kind, count, total_ns: ns } of moments) {
        const sum = sums.get(kind);

        if (sum) {
            sum.count += count;
            sum.ns += ns || 0;
        }
    }
    return [...sums].filter(([, { count }]) => count)
        .map(([kind, { count, ns }]) => [counted(kind, count), ns && formatMs(ns)].filter(Boolean).join(", ")).join("; ");
}
