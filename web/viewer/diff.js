// SPDX-License-Identifier: Apache-2.0
// Two profiles as one: samples are those of the second, values those of the first. What is worth a period a sample
// (CPU time) is compared in shares of each whole, so that a longer or busier profile does not look like more work.
// What has values of its own (bytes, time of waits) is compared by these, per second where the lengths differ.

import { paletteOf, hexOf, rgbOfOklch } from "../shared/colors.js";
import { KIND, isJava } from "../shared/kinds.js";
import { sumMethods } from "../shared/methods.js";
import { splitJavaName } from "../shared/names.js";
import { isForeign } from "../shared/packages.js";
import { eachRow } from "../shared/rows.js";
import { openProfile } from "../shared/tree.js";

const UNIT = 1e6; // a profile's whole, of amounts the larger one's: parts with enough digits

// The rows of @profile for a joint list of frames. @frameOf(group): its number there. @per: units of a weight.
function addRows(profile, byValue, per, frameOf, rows, values, isAfter) {
    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        const weight = per * (byValue ? valueOf(profile, samples, row) : samples);

        rows.push(0, isCut ? -1 - depth : depth);
        for (let d = 0; d < depth; d++)
            rows.push(frameOf(profile.groupOf[path[d]]));
        rows.push(isAfter ? weight : 0);
        values.push(isAfter ? 0 : weight);
    });
}

function valueOf({ values, period }, samples, row) {
    return values ? values[row] : samples * period;
}

// {samples, value}
function sumOf(profile) {
    const sum = { samples: 0, value: 0 };

    eachRow(profile, (path, depth, kept, isCut, count, row) => {
        sum.samples += count;
        sum.value += valueOf(profile, count, row);
    });
    return sum;
}

// How two profiles are compared, as {byValue, per: [before, after], units of a weight, worth: [before, after], amount
// of a unit, wholes: [before, after], units of all}.
function measureOf(before, after, amounts) {
    const sums = [before, after].map(sumOf);
    const wholes = sums.map(({ value }, side) => amounts.of(side, value));
    const byValue = Boolean(amounts.unit) && [before, after].every(({ meta }) => meta.weight === "value");

    if (!byValue)
        return {
            byValue, per: sums.map(({ samples }) => (samples ? UNIT / samples : 0)), worth: wholes.map((amount) => amount / UNIT),
            wholes: sums.map(({ samples }) => (samples ? UNIT : 0)),
        };
    const larger = Math.max(...wholes);

    return {
        byValue, per: [0, 1].map((side) => (larger ? amounts.of(side, UNIT) / larger : 0)), worth: [larger / UNIT, larger / UNIT],
        wholes: wholes.map((amount) => (larger ? amount / larger * UNIT : 0)),
    };
}

// @before, @after: opened profiles. @amounts: Amounts of them. Name and kind alone distinguish frames: modules and lines move from
// version to version.
export function joinProfiles(before, after, amounts) {
    const measure = measureOf(before, after, amounts);
    const strings = [""], frames = [], numbers = new Map(), rows = [], values = [];
    const add = (profile, isAfter) => {
        const known = new Map();
        const frameOf = (g) => {
            if (known.has(g))
                return known.get(g);
            const { name, kind } = profile.groups[g];
            // How a method is compiled changes by itself: a frame of Java is the same in all kinds.
            const key = `${isJava(kind) ? KIND.C2 : kind} ${name}`;

            if (!numbers.has(key)) {
                numbers.set(key, frames.length / 5);
                strings.push(name);
                frames.push(strings.length - 1, kind, 0, 0, 0);
            }
            known.set(g, numbers.get(key));
            return numbers.get(key);
        };

        addRows(profile, measure.byValue, measure.per[Number(isAfter)], frameOf, rows, values, isAfter);
    };

    add(before, false);
    add(after, true);
    return openProfile({
        format: "flamed-viewer", version: 1, view: {}, strings, frames, rows, values, warnings: [],
        quality: { samples: UNIT, lost: 0, unknown: 0, truncated: 0 },
        meta: { ...after.meta, title: "Difference", unit: "share", weight: "samples", period: 1, isDiff: true, measure },
    });
}

// How much of the whole a node gained or lost, -1 to 1; of amounts, of the larger whole.
export function gainOf(tree, node) {
    return ((tree.samples[node] || 0) - (tree.values[node] || 0)) / UNIT;
}

const LIGHTEST = { light: 0.94, dark: 0.33 };
const DEEPEST = { light: 0.70, dark: 0.52 };
const HUES = { more: 27, less: 252 };
const STEPS = 24;
const FULL_GAIN = 0.1; // of the whole: what is more is not redder
const shades = new Map();

// Red: more of the whole than before; blue: less.
export function tintOfGain(gain, theme) {
    const step = Math.min(STEPS, Math.ceil(Math.sqrt(Math.abs(gain) / FULL_GAIN) * STEPS));
    const key = theme + Math.sign(gain) + step;

    if (step === 0 || Math.abs(gain) < 5e-4)
        return paletteOf(theme).root;
    if (!shades.has(key)) {
        const t = step / STEPS;
        const light = LIGHTEST[theme] + (DEEPEST[theme] - LIGHTEST[theme]) * t;

        shades.set(key, hexOf(rgbOfOklch(light, 0.03 + 0.11 * t, gain > 0 ? HUES.more : HUES.less)));
    }
    return shades.get(key);
}

export const diffTint = (tree, node, theme) => (node > 0 ? tintOfGain(gainOf(tree, node), theme) : paletteOf(theme).root);

// What methods of the application take, each with the libraries that it calls: {name: weight}.
function sumOwn(tree) {
    const sums = new Map(), open = []; // the own frames around a node: [end, name]

    for (let i = 1; i < tree.count; i++) {
        const { name, kind } = tree.profile.groups[tree.group[i]];

        while (open.length && open.at(-1)[0] <= i)
            open.pop();
        if (isJava(kind) && !isForeign(splitJavaName(name).pack))
            open.push([tree.end[i], name]);
        if (open.length)
            sums.set(open.at(-1)[1], (sums.get(open.at(-1)[1]) || 0) + tree.self[i]);
    }
    return sums;
}

// What changed most: [{name, kind, before, after: weights, gain: as gainOf(), whole}]. A method of the application counts with the
// libraries that it calls (whole): these are what runs, and it says why. Any other method counts by itself.
export function biggestChanges(tree, max = 12) {
    const weight = tree.weight;
    const of = (use) => {
        tree.total = use === "samples" ? tree.samples : tree.values;
        tree.self = use === "samples" ? tree.selfSamples : tree.selfValues;
        const own = sumOwn(tree);

        return new Map(sumMethods(tree).map((m) => [m.name, { ...m, own: own.get(m.name) || 0 }]));
    };
    const after = of("samples"), before = of("values");

    tree.total = weight === "value" ? tree.values : tree.samples;
    tree.self = weight === "value" ? tree.selfValues : tree.selfSamples;
    return [...after.values()].map(({ name, kind, self, own }) => {
        const old = before.get(name), whole = own + old.own > self + old.self;
        const [was, is] = whole ? [old.own, own] : [old.self, self];

        return { name, kind, before: was, after: is, gain: (is - was) / UNIT, whole };
    }).filter(({ gain }) => Math.abs(gain) >= 5e-4)
        .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain) || b.whole - a.whole || (a.name < b.name ? -1 : 1)).slice(0, max);
}
