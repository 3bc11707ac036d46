// SPDX-License-Identifier: Apache-2.0
// Two profiles as one: samples are those of the second, values those of the first, each in shares of its own whole,
// so that a longer profile does not look like more work.

import { paletteOf, hexOf, rgbOfOklch } from "../shared/colors.js";
import { eachRow } from "../shared/rows.js";
import { openProfile } from "../shared/tree.js";
import { sumMethods } from "../shared/methods.js";

const UNIT = 1e6; // a profile's whole in both: shares with enough digits

// The rows of @profile for a joint list of frames. @frameOf(group): its number there.
function addRows(profile, whole, frameOf, rows, values, isAfter) {
    eachRow(profile, (path, depth, kept, isCut, samples) => {
        const weight = whole ? samples / whole * UNIT : 0;

        rows.push(0, isCut ? -1 - depth : depth);
        for (let d = 0; d < depth; d++)
            rows.push(frameOf(profile.groupOf[path[d]]));
        rows.push(isAfter ? weight : 0);
        values.push(isAfter ? 0 : weight);
    });
}

export function samplesIn(profile) {
    let samples = 0;

    eachRow(profile, (path, depth, kept, isCut, count) => { samples += count; });
    return samples;
}

// @before, @after: opened profiles. Name and kind alone distinguish frames: modules and lines move from
// version to version.
export function joinProfiles(before, after) {
    const strings = [""], frames = [], numbers = new Map(), rows = [], values = [];
    const add = (profile, isAfter) => {
        const known = new Map();
        const frameOf = (g) => {
            if (known.has(g))
                return known.get(g);
            const { name, kind } = profile.groups[g];
            // How a method is compiled changes by itself: a frame of Java is the same in all kinds.
            const key = (kind >= 1 && kind <= 4 ? 1 : kind) + name;

            if (!numbers.has(key)) {
                numbers.set(key, frames.length / 5);
                strings.push(name);
                frames.push(strings.length - 1, kind, 0, 0, 0);
            }
            known.set(g, numbers.get(key));
            return numbers.get(key);
        };

        addRows(profile, samplesIn(profile), frameOf, rows, values, isAfter);
    };

    add(before, false);
    add(after, true);
    return openProfile({
        format: "flamed-viewer", version: 1, view: {}, strings, frames, rows, values, warnings: [],
        quality: { samples: UNIT, lost: 0, unknown: 0, truncated: 0 },
        meta: { ...after.meta, title: "Difference", unit: "share", weight: "samples", period: 1, isDiff: true },
    });
}

// How much of the whole a node gained or lost, -1 to 1.
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

// What changed most, by its own share: [{name, kind, before, after, gain}].
export function biggestChanges(tree, max = 12) {
    const weight = tree.weight;
    const of = (use) => {
        tree.total = use === "samples" ? tree.samples : tree.values;
        tree.self = use === "samples" ? tree.selfSamples : tree.selfValues;
        return new Map(sumMethods(tree).map((m) => [m.name, m]));
    };
    const after = of("samples"), before = of("values");

    tree.total = weight === "value" ? tree.values : tree.samples;
    tree.self = weight === "value" ? tree.selfValues : tree.selfSamples;
    return [...after.values()].map(({ name, kind, self, total }) => {
        const old = before.get(name);

        return {
            name, kind, before: old.self / UNIT, after: self / UNIT, gain: (self - old.self) / UNIT,
            totalGain: (total - old.total) / UNIT,
        };
    }).filter(({ gain }) => Math.abs(gain) >= 5e-4)
        .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain) || (a.name < b.name ? -1 : 1)).slice(0, max);
}
