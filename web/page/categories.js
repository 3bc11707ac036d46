// SPDX-License-Identifier: Apache-2.0
// What a JVM spends its CPU time on, in the colours that the kinds of frames have, and numbers of samples over
// time as flamed's timeline gives them.

import { KIND, KINDS } from "../shared/kinds.js";
import { openStops } from "../shared/moments.js";

// From the ground up, as they are stacked.
export const CATEGORIES = Object.freeze([
    { id: "java", label: "Java", kind: KIND.C2, text: "compiled Java" },
    { id: "interpreter", label: "Interpreted", kind: KIND.INTERPRETED, text: "interpreted Java" },
    { id: "jit", label: "Compiling", text: "the compiler threads" },
    { id: "gc", label: "GC", text: "the garbage collector" },
    { id: "vm", label: "JVM, other", text: "other work of the JVM" },
    { id: "native", label: "Native", kind: KIND.NATIVE, text: "native libraries" },
    { id: "kernel", label: "Kernel", kind: KIND.KERNEL, text: "the kernel" },
]);

const BEGINS_LATER = /^the (?:flight recorder|history) begins at .* later than what was asked for/; // a warning

// Code has the colour of its kind; threads of the JVM have their own.
export const categoryColor = (palette, { id, kind }) => palette.category[id] || palette.kind(kind);
export const categoryChip = ({ id, kind }) => (kind === undefined ? `category-${id}` : `kind-${KINDS[kind].id}`);

// The answer of /api/v1/timeline?by=category as {from, to, bucketMs, count, hz, oldest, samples: [[…] by category],
// totals: [by category], total, stops: as openStops(), stopsLeftOut, gaps: [{from, to}] in which flamed recorded nothing, limits:
// sentences on what is missing from @oldest on}. Times in ms since 1970.
export function openTimeline(json) {
    const from = Date.parse(json.from), to = Date.parse(json.to);
    const of = new Map(json.series.map((s) => [s.category, s.samples]));
    const count = Math.max(0, ...json.series.map((s) => s.samples.length)) ||
        Math.round((to - from) / 1000 / json.bucket_seconds);
    const samples = CATEGORIES.map(({ id }) => of.get(id) || new Array(count).fill(0));
    const totals = samples.map((list) => list.reduce((sum, n) => sum + n, 0));

    const first = json.resolution_seconds > 0 ? samples.reduce((least, list) => {
        const i = list.findIndex((n) => n > 0);

        return i < 0 ? least : Math.min(least, i);
    }, count) : count; // the history reaches further back than the recorder

    return {
        from, to, bucketMs: json.bucket_seconds * 1000, count, hz: json.hz || 0,
        oldest: Math.min(json.oldest ? Date.parse(json.oldest) : from, first < count ? from + first * json.bucket_seconds * 1000 : Infinity), samples, totals,
        total: totals.reduce((sum, n) => sum + n, 0), stops: openStops(json.moments), stopsLeftOut: json.moments_left_out,
        gaps: (json.gaps || []).map((gap) => ({ from: Date.parse(gap.from), to: Date.parse(gap.to) })),
        limits: (json.warnings || []).filter((text) => !BEGINS_LATER.test(text)),
    };
}

// The answer of ?by=jvm-category as a map from pid to the same without stops; those of @pids without a sample are empty.
export function openTimelines(json, pids) {
    const lines = new Map(pids.map((pid) => [pid, []]));

    for (const one of json.series)
        if (lines.has(one.pid))
            lines.get(one.pid).push(one);
    return new Map([...lines].map(([pid, series]) => [pid, openTimeline({ ...json, series, moments: [] })]));
}

// CPUs in use, of so many samples in a bucket.
export function cpusOf(timeline, samples) {
    return timeline.hz ? samples / timeline.hz / (timeline.bucketMs / 1000) : 0;
}

export function bucketSum(timeline, i) {
    return timeline.samples.reduce((sum, list) => sum + (list[i] || 0), 0);
}
