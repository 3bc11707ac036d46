// SPDX-License-Identifier: Apache-2.0
// What each method costs by itself and with what it calls. Of a method that calls itself, directly or not, a
// stack counts once. And what each kind of frame costs. Both of a tree built from the root.

import { LEGEND_ORDER } from "./kinds.js";

// Numbers the distinct names: a method may run compiled, inlined and interpreted.
function numberMethods(profile) {
    const methodOf = new Int32Array(profile.groups.length);
    const known = new Map();

    profile.groups.forEach((group, g) => {
        if (!known.has(group.name))
            known.set(group.name, known.size);
        methodOf[g] = known.get(group.name);
    });
    return { methodOf, count: known.size };
}

// [{name, kind, self, total}], the kind being the one that weighs most. Within the subtree of @node.
export function sumMethods(tree, node = 0) {
    const { methodOf, count } = numberMethods(tree.profile);
    const self = new Float64Array(count), total = new Float64Array(count);
    const open = new Int32Array(count).fill(-1); // where the outermost frame of a method ends
    const most = new Float64Array(count), group = new Int32Array(count).fill(-1);
    const weightOfGroup = new Float64Array(tree.profile.groups.length);

    for (let i = Math.max(node, 1); i < tree.end[node]; i++) {
        const g = tree.group[i];
        const m = methodOf[g];

        self[m] += tree.self[i];
        if (i >= open[m]) {
            total[m] += tree.total[i];
            open[m] = tree.end[i];
        }
        weightOfGroup[g] += tree.total[i];
        if (group[m] < 0 || weightOfGroup[g] > most[m]) {
            most[m] = weightOfGroup[g];
            group[m] = g;
        }
    }
    const list = [];

    for (let m = 0; m < count; m++) {
        if (group[m] < 0)
            continue;
        const { name, kind } = tree.profile.groups[group[m]];

        list.push({ name, kind, self: self[m], total: total[m] });
    }
    return list;
}

const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const ORDERS = {
    self: (a, b) => b.self - a.self || b.total - a.total || byName(a, b),
    total: (a, b) => b.total - a.total || b.self - a.self || byName(a, b),
    name: byName,
};

export function sortMethods(list, order) {
    return list.sort(ORDERS[order] || ORDERS.self);
}

// [{kind, weight}] of the kinds whose frames were running (the leaves of stacks), in the legend's order.
export function sumKinds(tree, node = 0) {
    const weight = new Float64Array(LEGEND_ORDER.length);

    for (let i = Math.max(node, 1); i < tree.end[node]; i++)
        if (tree.self[i]) {
            const own = tree.profile.groups[tree.group[i]].kind;

            weight[own] += tree.self[i];
            for (const { kind, samples, value } of tree.others.get(i) || []) {
                const part = tree.weight === "value" ? value : samples;

                weight[own] -= part;
                weight[kind] += part;
            }
        }
    return LEGEND_ORDER.filter((kind) => weight[kind] > 0).map((kind) => ({ kind, weight: weight[kind] }));
}
