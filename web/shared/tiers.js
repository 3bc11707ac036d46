// SPDX-License-Identifier: Apache-2.0
// One frame for a method, however it ran: compiled by either compiler, inlined, or interpreted. It has the colour of
// what most of its samples were, and its split as text; the legend counts each sample as what it was.

import { isJava } from "./kinds.js";
import { eachRow } from "./rows.js";
import { rankNames } from "./tree.js";

// Gives groups new numbers, those of a method the same one: {mergedOf, count}.
function numberMerged(groups) {
    const numbers = new Map();
    const mergedOf = groups.map(({ name, kind, file }, g) => {
        const key = isJava(kind) ? `${name}\n${file}` : g;

        if (!numbers.has(key))
            numbers.set(key, numbers.size);
        return numbers.get(key);
    });

    return { mergedOf, count: numbers.size };
}

// Samples of each group: a stack counts once, however often the group is on it.
function weighGroups(profile) {
    const weights = new Float64Array(profile.groups.length), counted = new Int32Array(profile.groups.length).fill(-1);

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        for (let d = 0; d < depth; d++) {
            const g = profile.groupOf[path[d]];

            if (counted[g] !== row) {
                counted[g] = row;
                weights[g] += samples;
            }
        }
    });
    return weights;
}

// The group that stands for @parts: [{group, samples}].
function joinGroups(parts) {
    const tiers = parts.filter(({ samples }) => samples).map(({ group, samples }) => ({ kind: group.kind, samples }))
        .sort((a, b) => b.samples - a.samples);
    const sum = (name) => parts.reduce((all, { group }) => all + (group[name] || 0), 0);

    if (parts.length === 1)
        return parts[0].group;
    return { ...parts[0].group, kind: tiers.length ? tiers[0].kind : parts[0].group.kind, inferred: sum("inferred"),
        unsure: sum("unsure"), tiers: tiers.length > 1 ? tiers : null };
}

// Makes one frame of a method that was compiled in several ways. profile.kinds keeps the kind that each had.
export function mergeTiers(profile) {
    const { mergedOf, count } = numberMerged(profile.groups);

    if (count === profile.groups.length)
        return profile;
    const weights = weighGroups(profile);
    const parts = Array.from({ length: count }, () => []);

    profile.groups.forEach((group, g) => parts[mergedOf[g]].push({ group, samples: weights[g] }));
    const groups = parts.map(joinGroups);

    return {
        ...profile, groups, ranks: rankNames(groups), cutGroup: mergedOf[profile.cutGroup],
        groupOf: Int32Array.from(profile.groupOf, (g) => mergedOf[g]),
        kinds: Uint8Array.from(profile.groupOf, (g) => profile.groups[g].kind),
    };
}
