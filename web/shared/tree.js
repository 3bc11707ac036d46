// SPDX-License-Identifier: Apache-2.0
// The profile in memory, and the tree that a flame graph shows: built from the root, or reversed from the
// leaf. A tree is typed arrays in preorder: a subtree is the run [i, end[i]), a level is sorted from left to
// right, so finding and drawing need no walk.

import { KIND } from "./kinds.js";
import { nodesIn, openRuns, rowsOf } from "./rows.js";

const KINDS_ROOM = 32; // more than there are kinds
const GROUPS_MAX = 2 ** 25;

// Numbers distinct keys as they come.
function numberIn(map, key) {
    let n = map.get(key);

    if (n === undefined)
        map.set(key, n = map.size);
    return n;
}

// Checks and unpacks what the html format carries (docs/formats.md).
export function openProfile(data) {
    if (!data || data.format !== "flamed-viewer" || data.version !== 1)
        throw new Error("this is not a profile that this viewer can read");
    const strings = data.strings;
    const frameCount = data.frames.length / 5;
    const groupOf = new Int32Array(frameCount);
    const lines = new Int32Array(frameCount);
    const groups = [];
    const names = new Map(), places = new Map(), known = new Map();
    const { frames } = data;

    // Frames that differ by their line alone are one frame to look at.
    for (let f = 0, i = 0; f < frameCount; f++, i += 5) {
        const name = numberIn(names, frames[i] * KINDS_ROOM + frames[i + 1]);
        const place = numberIn(places, frames[i + 2] * strings.length + frames[i + 3]);
        const g = numberIn(known, name * frameCount + place);

        if (g === groups.length)
            groups.push({
                name: strings[frames[i]], kind: frames[i + 1], module: strings[frames[i + 2]], file: strings[frames[i + 3]],
            });
        groupOf[f] = g;
        lines[f] = frames[i + 4];
    }
    for (let i = 0; data.leaves && i < data.leaves.length; i += 3) {
        const group = groups[groupOf[data.leaves[i]]];

        group.inferred = (group.inferred || 0) + data.leaves[i + 1];
        group.unsure = (group.unsure || 0) + data.leaves[i + 2];
    }
    const cutGroup = groups.length;
    const minwidth = data.view ? data.view.minwidth : 0;

    groups.push({ name: `[narrower than ${minwidth} %]`, kind: KIND.TRUNCATED, module: "", file: "" });
    return {
        meta: data.meta, quality: data.quality, warnings: data.warnings, view: data.view || {},
        groups, groupOf, lines, cutGroup,
        ranks: rankNames(groups), rows: data.rows || null, runs: data.bodies ? openRuns(data) : null,
        values: data.values || null, idle: data.idle || null, period: data.meta.period, moments: data.moments || [], momentsLeftOut: data.moments_left_out || 0,
        pausesLeftOut: data.pauses_left_out || 0,
    };
}

// Siblings stand in the order of their names, then of their kinds: the same profile always looks the same.
export function rankNames(groups) {
    const sorted = new Map([...new Set(groups.map(({ name }) => name))].sort().map((name, i) => [name, i]));
    const keys = Float64Array.from(groups,
        ({ name, kind }, g) => (sorted.get(name) * KINDS_ROOM + kind) * GROUPS_MAX + g);
    const ranks = new Int32Array(groups.length);

    keys.sort().forEach((key, rank) => { ranks[key % GROUPS_MAX] = rank; });
    return ranks;
}

function grown(array) {
    const bigger = new array.constructor(array.length * 2);

    bigger.set(array);
    return bigger;
}

const FEW_CHILDREN = 12;

// Nodes as they come in, each with the list of its children. Most have few; of others a map holds the further ones.
class Trie {
    constructor(expected) {
        const room = Math.max(1024, expected);

        this.count = 1; // 0 is the root, and no child of any
        for (const name of ["parent", "group", "lineMin", "lineMax", "first", "last", "next", "children"])
            this[name] = new Int32Array(room);
        this.samples = new Float64Array(room); // of stacks that end here
        this.values = new Float64Array(room);
        this.wide = new Map();
        this.others = new Map(); // by node, of stacks that end in a frame of another kind than its group: [{kind, samples, value}]
        this.group[0] = -1;
    }

    find(parent, group) {
        let node = this.first[parent];

        for (let i = 0; node && i < FEW_CHILDREN; i++, node = this.next[node])
            if (this.group[node] === group)
                return node;
        return node && this.wide.get(parent).get(group) || 0;
    }

    child(parent, group, line) {
        let node = this.last[parent]; // rows come in order: it is most often this one

        if (this.group[node] !== group)
            node = this.find(parent, group);
        if (!node)
            return this.add(parent, group, line);
        if (line) {
            if (!this.lineMin[node] || line < this.lineMin[node])
                this.lineMin[node] = line;
            if (line > this.lineMax[node])
                this.lineMax[node] = line;
        }
        return node;
    }

    add(parent, group, line) {
        if (this.count === this.parent.length)
            this.grow();
        const node = this.count++;

        this.parent[node] = parent;
        this.group[node] = group;
        this.lineMin[node] = this.lineMax[node] = line;
        if (this.children[parent]++)
            this.next[this.last[parent]] = node;
        else
            this.first[parent] = node;
        this.last[parent] = node;
        if (this.children[parent] > FEW_CHILDREN) {
            if (!this.wide.has(parent))
                this.wide.set(parent, new Map());
            this.wide.get(parent).set(group, node);
        }
        return node;
    }

    // @samples and @value of @node ended in a frame of @kind.
    addOther(node, kind, samples, value) {
        const list = this.others.get(node) || [];
        const same = list.find((one) => one.kind === kind);

        if (same) {
            same.samples += samples;
            same.value += value;
            return;
        }
        list.push({ kind, samples, value });
        this.others.set(node, list);
    }

    grow() {
        for (const name of ["parent", "group", "lineMin", "lineMax", "first", "last", "next", "children", "samples", "values"])
            this[name] = grown(this[name]);
    }
}

// How much is done between two yields of treeSteps(): some milliseconds' worth.
const NODES_A_STEP = 20000, SUMS_A_STEP = 200000;

function* fillForward(profile, trie) {
    const { groupOf, groups, kinds, lines, values, period, cutGroup } = profile;
    const nodes = [0];
    const rows = rowsOf(profile);
    let work = 0;

    while (rows.next()) {
        const { path, depth, kept, samples } = rows;

        for (let d = kept; d < depth; d++)
            nodes[d + 1] = trie.child(nodes[d], groupOf[path[d]], lines[path[d]]);
        // Lines vary within a group: a frame that is kept was counted when it was listed.
        const node = rows.isCut ? trie.child(nodes[depth], cutGroup, 0) : nodes[depth];

        const value = values ? values[rows.row] : samples * period;
        const leaf = path[depth - 1];

        trie.samples[node] += samples;
        trie.values[node] += value;
        if (kinds && depth && !rows.isCut && kinds[leaf] !== groups[groupOf[leaf]].kind)
            trie.addOther(node, kinds[leaf], samples, value);
        if ((work += depth - kept) > NODES_A_STEP) {
            work = 0;
            yield;
        }
    }
}

function* fillReversed(profile, trie) {
    const { groupOf, lines, values, period, cutGroup } = profile;
    const rows = rowsOf(profile);
    let work = 0;

    while (rows.next()) {
        const { path, depth, samples } = rows;
        let node = rows.isCut ? trie.child(0, cutGroup, 0) : 0;

        for (let d = depth - 1; d >= 0; d--)
            node = trie.child(node, groupOf[path[d]], lines[path[d]]);
        trie.samples[node] += samples;
        trie.values[node] += values ? values[rows.row] : samples * period;
        if ((work += depth) > NODES_A_STEP) {
            work = 0;
            yield;
        }
    }
}

// Builds the tree step by step. tree.others: of nodes whose stacks end in frames of several kinds (profile.kinds), what
// ended in those that are not the kind of the node's group. tree.total, tree.self and tree.x are in the weight of weighTree().
export function* treeSteps(profile, { reverse = false, weight = "samples" } = {}) {
    const trie = new Trie(nodesIn(profile) + 1);

    yield* reverse ? fillReversed(profile, trie) : fillForward(profile, trie);
    const n = trie.count;
    const tree = {
        profile, reverse, count: n, levels: 0,
        group: new Int32Array(n), parent: new Int32Array(n), depth: new Int32Array(n),
        end: new Int32Array(n), lineMin: new Int32Array(n), lineMax: new Int32Array(n),
        selfSamples: new Float64Array(n), selfValues: new Float64Array(n),
        samples: new Float64Array(n), values: new Float64Array(n),
        x: new Float64Array(n), levelStart: null, levelNodes: null, levelLeft: null, levelRight: null,
        weight: "", total: null, self: null, others: new Map(),
    };

    yield* numberNodes(tree, trie);
    for (let i = n - 1; i >= 0; i--) {
        tree.samples[i] += tree.selfSamples[i];
        tree.values[i] += tree.selfValues[i];
        if (i > 0) {
            tree.samples[tree.parent[i]] += tree.samples[i];
            tree.values[tree.parent[i]] += tree.values[i];
        }
        if (i % SUMS_A_STEP === 0)
            yield;
    }
    yield* makeLevels(tree);
    yield* weighSteps(tree, weight);
    return tree;
}

function finish(steps) {
    let step;

    do
        step = steps.next();
    while (!step.done);
    return step.value;
}

export function buildTree(profile, options) {
    return finish(treeSteps(profile, options));
}

// Last by rank first.
function sortChildren(list, group, ranks) {
    if (list.length > FEW_CHILDREN) {
        list.sort((a, b) => ranks[group[b]] - ranks[group[a]]);
        return;
    }
    for (let i = 1; i < list.length; i++) {
        const node = list[i], rank = ranks[group[node]];
        let at = i;

        for (; at > 0 && ranks[group[list[at - 1]]] < rank; at--)
            list[at] = list[at - 1];
        list[at] = node;
    }
}

// Gives nodes their numbers in preorder, siblings by rank.
function* numberNodes(tree, trie) {
    const { ranks } = tree.profile;
    const numberOf = new Int32Array(trie.count);
    const stack = new Int32Array(trie.count);
    let next = 0, top = 1;

    while (top) {
        const node = stack[--top];
        const i = next++;
        const up = node ? numberOf[trie.parent[node]] : 0;
        const from = top;

        numberOf[node] = i;
        tree.group[i] = trie.group[node];
        tree.parent[i] = up;
        tree.depth[i] = node ? tree.depth[up] + 1 : 0;
        tree.lineMin[i] = trie.lineMin[node];
        tree.lineMax[i] = trie.lineMax[node];
        tree.selfSamples[i] = trie.samples[node];
        tree.selfValues[i] = trie.values[node];
        if (trie.others.has(node))
            tree.others.set(i, trie.others.get(node));
        tree.end[i] = i + 1;
        for (let c = trie.first[node]; c; c = trie.next[c])
            stack[top++] = c;
        if (top - from > 1)
            sortChildren(stack.subarray(from, top), trie.group, ranks);
        if (i % NODES_A_STEP === 0)
            yield;
    }
    for (let i = tree.count - 1; i > 0; i--) {
        tree.end[tree.parent[i]] = Math.max(tree.end[tree.parent[i]], tree.end[i]);
        if (i % SUMS_A_STEP === 0)
            yield;
    }
}

function* makeLevels(tree) {
    let deepest = 0;

    for (let i = 0; i < tree.count; i++)
        deepest = Math.max(deepest, tree.depth[i]);
    tree.levels = deepest + 1;
    tree.levelStart = new Int32Array(deepest + 2);
    tree.levelNodes = new Int32Array(tree.count);
    for (let i = 0; i < tree.count; i++)
        tree.levelStart[tree.depth[i] + 1]++;
    for (let d = 0; d <= deepest; d++)
        tree.levelStart[d + 1] += tree.levelStart[d];
    const at = tree.levelStart.slice();

    yield;
    for (let i = 0; i < tree.count; i++) {
        tree.levelNodes[at[tree.depth[i]]++] = i;
        if (i % SUMS_A_STEP === 0)
            yield;
    }
}

// Widths by "samples" or by "value": children stand from their parent's left edge on, its own weight last.
function* weighSteps(tree, weight) {
    const { parent, x } = tree;
    const total = weight === "value" ? tree.values : tree.samples;
    const at = new Float64Array(tree.count);

    tree.weight = weight;
    tree.total = total;
    tree.self = weight === "value" ? tree.selfValues : tree.selfSamples;
    x[0] = 0;
    for (let i = 1; i < tree.count; i++) {
        x[i] = at[parent[i]];
        at[parent[i]] += total[i];
        at[i] = x[i];
        if (i % SUMS_A_STEP === 0)
            yield;
    }
    tree.levelLeft = tree.levelLeft || new Float64Array(tree.count);
    tree.levelRight = tree.levelRight || new Float64Array(tree.count);
    for (let k = 0; k < tree.count; k++) {
        const node = tree.levelNodes[k];

        tree.levelLeft[k] = x[node];
        tree.levelRight[k] = x[node] + total[node];
        if (k % SUMS_A_STEP === 0)
            yield;
    }
    return tree;
}

export function weighTree(tree, weight) {
    return finish(weighSteps(tree, weight));
}

// The index in levelNodes of the first node of level @depth that ends right of @x; the level's end if none.
// It is looked for from index @from on, in growing steps: what is near is found at once.
export function firstEndingAfter(tree, depth, x, from = tree.levelStart[depth]) {
    const { levelRight } = tree;
    const end = tree.levelStart[depth + 1];
    let low = from, high = from, step = 1;

    while (high < end && levelRight[high] <= x) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    high = Math.min(high, end);
    while (low < high) {
        const middle = low + high >> 1;

        if (levelRight[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// The node of level @depth that covers @x, or -1.
export function nodeAt(tree, depth, x) {
    if (depth < 0 || depth >= tree.levels)
        return -1;
    const at = firstEndingAfter(tree, depth, x);

    if (at >= tree.levelStart[depth + 1])
        return -1;
    const node = tree.levelNodes[at];

    return tree.x[node] <= x ? node : -1;
}

// Levels that the subtree of @node reaches, counted from the tree's root.
export function levelsBelow(tree, node) {
    let deepest = tree.depth[node];

    for (let i = node; i < tree.end[node]; i++)
        if (tree.depth[i] > deepest)
            deepest = tree.depth[i];
    return deepest + 1;
}

export function isWithin(tree, node, ancestor) {
    return node >= ancestor && node < tree.end[ancestor];
}

export function widestChild(tree, node) {
    let best = -1;

    for (let c = node + 1; c < tree.end[node]; c = tree.end[c])
        if (best < 0 || tree.total[c] > tree.total[best])
            best = c;
    return best;
}

// The node to the left (-1) or right (1) in the same level, or -1.
export function neighbour(tree, node, step) {
    const depth = tree.depth[node];
    let low = tree.levelStart[depth], high = tree.levelStart[depth + 1] - 1;

    while (low < high) {
        const middle = low + high >> 1;

        if (tree.levelNodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    low += step;
    return low < tree.levelStart[depth] || low >= tree.levelStart[depth + 1] ? -1 : tree.levelNodes[low];
}

// Nodes from the root's child down to @node.
export function pathTo(tree, node) {
    const path = [];

    for (let i = node; i > 0; i = tree.parent[i])
        path.push(i);
    return path.reverse();
}

export function nodeName(tree, node) {
    return node > 0 ? tree.profile.groups[tree.group[node]].name : "all";
}

export function nodeKind(tree, node) {
    return node > 0 ? tree.profile.groups[tree.group[node]].kind : KIND.PROCESS;
}
