// SPDX-License-Identifier: Apache-2.0
// The profile in memory, and the tree that a flame graph shows: built from the root, or reversed from the
// leaf. A tree is typed arrays in preorder: a subtree is the run [i, end[i]), a level is sorted from left to
// right, so finding and drawing need no walk.

import { KIND } from "./kinds.js";

// Checks and unpacks what the html format carries (docs/formats.md).
export function openProfile(data) {
    if (!data || data.format !== "flamed-viewer" || data.version !== 1)
        throw new Error("this is not a profile that this viewer can read");
    const strings = data.strings;
    const frameCount = data.frames.length / 5;
    const groupOf = new Int32Array(frameCount);
    const lines = new Int32Array(frameCount);
    const groups = [];
    const known = new Map();

    // Frames that differ by their line alone are one frame to look at.
    for (let f = 0; f < frameCount; f++) {
        const [name, kind, module, file, line] = data.frames.slice(f * 5, f * 5 + 5);
        const key = name + " " + kind + " " + module + " " + file;
        let g = known.get(key);

        if (g === undefined) {
            g = groups.length;
            known.set(key, g);
            groups.push({ name: strings[name], kind, module: strings[module], file: strings[file] });
        }
        groupOf[f] = g;
        lines[f] = line;
    }
    const cutGroup = groups.length;
    const minwidth = data.view ? data.view.minwidth : 0;

    groups.push({ name: `[narrower than ${minwidth} %]`, kind: KIND.TRUNCATED, module: "", file: "" });
    return {
        meta: data.meta, quality: data.quality, warnings: data.warnings, view: data.view || {},
        groups, groupOf, lines, cutGroup,
        ranks: rankNames(groups), rows: data.rows, values: data.values || null,
        period: data.meta.period,
    };
}

// Siblings stand in the order of their names: the same profile always looks the same.
function rankNames(groups) {
    const order = groups.map((_, i) => i);
    const ranks = new Int32Array(groups.length);

    order.sort((a, b) => {
        const x = groups[a], y = groups[b];

        return x.name < y.name ? -1 : x.name > y.name ? 1 : x.kind - y.kind || a - b;
    });
    order.forEach((g, rank) => { ranks[g] = rank; });
    return ranks;
}

function grown(array) {
    const bigger = new array.constructor(array.length * 2);

    bigger.set(array);
    return bigger;
}

// Nodes as they come in: each is found by (parent, group) through an open-addressing table.
class Trie {
    constructor(expected) {
        const room = Math.max(1024, expected);

        this.count = 1; // 0 is the root
        this.parent = new Int32Array(room);
        this.group = new Int32Array(room);
        this.lineMin = new Int32Array(room);
        this.lineMax = new Int32Array(room);
        this.samples = new Float64Array(room); // of stacks that end here
        this.values = new Float64Array(room);
        this.slots = new Int32Array(2 ** Math.ceil(Math.log2(room * 2)));
        this.group[0] = -1;
    }

    slotOf(parent, group) {
        const mask = this.slots.length - 1;
        let i = Math.imul(parent * 31 + group, 0x9e3779b1) >>> 7 & mask;

        for (; this.slots[i]; i = i + 1 & mask) {
            const n = this.slots[i] - 1;

            if (this.parent[n] === parent && this.group[n] === group)
                break;
        }
        return i;
    }

    child(parent, group, line) {
        let slot = this.slotOf(parent, group);

        if (!this.slots[slot]) {
            if (this.count * 2 > this.slots.length)
                slot = this.rehash(parent, group);
            if (this.count === this.parent.length)
                this.grow();
            this.parent[this.count] = parent;
            this.group[this.count] = group;
            this.lineMin[this.count] = this.lineMax[this.count] = line;
            this.slots[slot] = ++this.count;
            return this.count - 1;
        }
        const node = this.slots[slot] - 1;

        if (line) {
            if (!this.lineMin[node] || line < this.lineMin[node])
                this.lineMin[node] = line;
            if (line > this.lineMax[node])
                this.lineMax[node] = line;
        }
        return node;
    }

    grow() {
        for (const name of ["parent", "group", "lineMin", "lineMax", "samples", "values"])
            this[name] = grown(this[name]);
    }

    rehash(parent, group) {
        this.slots = new Int32Array(this.slots.length * 2);
        for (let n = 1; n < this.count; n++)
            this.slots[this.slotOf(this.parent[n], this.group[n])] = n + 1;
        return this.slotOf(parent, group);
    }
}

// Calls visit(path, depth, kept, isCut, samples, row) for each row: path[0 .. depth) are its frames, root first,
// of which the first @kept are those of the row before; isCut: minwidth left out what came above them.
export function eachRow(profile, visit) {
    const { rows } = profile;
    const path = [];
    let row = 0;

    for (let i = 0; i < rows.length; row++) {
        const kept = rows[i++];
        let more = rows[i++];
        const isCut = more < 0;
        let depth = kept;

        if (isCut)
            more = -1 - more;
        while (more-- > 0)
            path[depth++] = rows[i++];
        visit(path, depth, kept, isCut, rows[i++], row);
    }
}

function fillForward(profile, trie) {
    const { groupOf, lines, values, period, cutGroup } = profile;
    const nodes = [0];

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        for (let d = kept; d < depth; d++)
            nodes[d + 1] = trie.child(nodes[d], groupOf[path[d]], lines[path[d]]);
        // Lines vary within a group: a frame that is kept was counted when it was listed.
        const node = isCut ? trie.child(nodes[depth], cutGroup, 0) : nodes[depth];

        trie.samples[node] += samples;
        trie.values[node] += values ? values[row] : samples * period;
    });
}

function fillReversed(profile, trie) {
    const { groupOf, lines, values, period, cutGroup } = profile;

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        let node = isCut ? trie.child(0, cutGroup, 0) : 0;

        for (let d = depth - 1; d >= 0; d--)
            node = trie.child(node, groupOf[path[d]], lines[path[d]]);
        trie.samples[node] += samples;
        trie.values[node] += values ? values[row] : samples * period;
    });
}

// Node numbers sorted by parent, and by rank among siblings: two stable counting sorts.
function sortedByParent(trie, ranks) {
    const n = trie.count;
    const byRank = new Int32Array(n - 1);
    const sorted = new Int32Array(n - 1);
    const rankStart = new Int32Array(ranks.length + 1);
    const first = new Int32Array(n + 1); // children of p are sorted[first[p] .. first[p + 1])

    for (let i = 1; i < n; i++) {
        rankStart[ranks[trie.group[i]] + 1]++;
        first[trie.parent[i] + 1]++;
    }
    for (let r = 0; r < ranks.length; r++)
        rankStart[r + 1] += rankStart[r];
    for (let p = 0; p < n; p++)
        first[p + 1] += first[p];
    for (let i = 1; i < n; i++)
        byRank[rankStart[ranks[trie.group[i]]]++] = i;
    const at = first.slice();

    for (const i of byRank)
        sorted[at[trie.parent[i]]++] = i;
    return { sorted, first };
}

// Builds the tree. tree.total, tree.self and tree.x are in the weight of weighTree().
export function buildTree(profile, { reverse = false, weight = "samples" } = {}) {
    const trie = new Trie(profile.rows.length); // a row lists less than it has numbers

    if (reverse)
        fillReversed(profile, trie);
    else
        fillForward(profile, trie);
    const n = trie.count;
    const { sorted, first } = sortedByParent(trie, profile.ranks);
    const tree = {
        profile, reverse, count: n, levels: 0,
        group: new Int32Array(n), parent: new Int32Array(n), depth: new Int32Array(n),
        end: new Int32Array(n), lineMin: new Int32Array(n), lineMax: new Int32Array(n),
        selfSamples: new Float64Array(n), selfValues: new Float64Array(n),
        samples: new Float64Array(n), values: new Float64Array(n),
        x: new Float64Array(n), levelStart: null, levelNodes: null,
        weight: "", total: null, self: null,
    };

    numberNodes(tree, trie, sorted, first);
    for (let i = n - 1; i >= 0; i--) {
        tree.samples[i] += tree.selfSamples[i];
        tree.values[i] += tree.selfValues[i];
        if (i > 0) {
            tree.samples[tree.parent[i]] += tree.samples[i];
            tree.values[tree.parent[i]] += tree.values[i];
        }
    }
    makeLevels(tree);
    return weighTree(tree, weight);
}

// Gives nodes their numbers in preorder.
function numberNodes(tree, trie, sorted, first) {
    const numberOf = new Int32Array(trie.count);
    const stack = [0];
    let next = 0;

    while (stack.length) {
        const node = stack.pop();
        const i = next++;
        const up = node ? numberOf[trie.parent[node]] : 0;

        numberOf[node] = i;
        tree.group[i] = trie.group[node];
        tree.parent[i] = up;
        tree.depth[i] = node ? tree.depth[up] + 1 : 0;
        tree.lineMin[i] = trie.lineMin[node];
        tree.lineMax[i] = trie.lineMax[node];
        tree.selfSamples[i] = trie.samples[node];
        tree.selfValues[i] = trie.values[node];
        tree.end[i] = i + 1;
        for (let c = first[node + 1] - 1; c >= first[node]; c--)
            stack.push(sorted[c]);
    }
    for (let i = tree.count - 1; i > 0; i--)
        tree.end[tree.parent[i]] = Math.max(tree.end[tree.parent[i]], tree.end[i]);
}

function makeLevels(tree) {
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

    for (let i = 0; i < tree.count; i++)
        tree.levelNodes[at[tree.depth[i]]++] = i;
}

// Widths by "samples" or by "value": children stand from their parent's left edge on, its own weight last.
export function weighTree(tree, weight) {
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
    }
    return tree;
}

// The index in levelNodes of the first node of level @depth that ends right of @x; the level's end if none.
// It is looked for from index @from on, in growing steps: what is near is found at once.
export function firstEndingAfter(tree, depth, x, from = tree.levelStart[depth]) {
    const { levelNodes, x: left, total } = tree;
    const end = tree.levelStart[depth + 1];
    let low = from, high = from, step = 1;

    while (high < end && left[levelNodes[high]] + total[levelNodes[high]] <= x) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    high = Math.min(high, end);
    while (low < high) {
        const middle = low + high >> 1;
        const node = levelNodes[middle];

        if (left[node] + total[node] > x)
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
