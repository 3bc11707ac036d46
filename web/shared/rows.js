// SPDX-License-Identifier: Apache-2.0
// The rows of a profile, one after the other: stacks as the html format lists them (docs/formats.md), either each by
// itself, or by threads, which name the bodies that they have in common.

// What a profile of {bodies, runs} keeps: frames[at[b] .. at[b + 1]) are those of body b.
export function openRuns({ bodies, runs }) {
    const starts = [], frames = [];

    for (let i = 0, before = 0; i < bodies.length;) {
        const kept = bodies[i++], end = i + 1 + bodies[i++];

        starts.push(frames.length);
        for (let k = 0; k < kept; k++)
            frames.push(frames[before + k]);
        before = starts[starts.length - 1];
        while (i < end)
            frames.push(bodies[i++]);
    }
    starts.push(frames.length);
    return { list: runs, at: Int32Array.from(starts), frames: Int32Array.from(frames) };
}

// The row that next() came to: path[0 .. depth) are its frames, root first. The first @kept are those of the
// row before; isCut: minwidth left out what came above them.
class Row {
    constructor(list) {
        this.list = list;
        this.at = 0;
        this.path = [];
        this.depth = this.kept = this.samples = 0;
        this.isCut = false;
        this.row = -1;
    }
}

class ListedRows extends Row {
    next() {
        const { list, path } = this;
        let i = this.at;

        if (i >= list.length)
            return false;
        let depth = this.kept = list[i++], more = list[i++];

        this.isCut = more < 0;
        if (more < 0)
            more = -1 - more;
        while (more-- > 0)
            path[depth++] = list[i++];
        this.depth = depth;
        this.samples = list[i++];
        this.at = i;
        this.row++;
        return true;
    }
}

class RowsOfRuns extends Row {
    constructor({ list, at, frames }) {
        super(list);
        this.bodies = at;
        this.frames = frames;
        this.left = this.body = 0; // of this run
        this.roots = 0;
    }

    next() {
        const { list, path, frames, depth } = this;
        let same = this.roots;

        if (!this.left) {
            if (this.at >= list.length)
                return false;
            same = this.beginRun();
        }
        const { roots } = this;

        this.body += list[this.at++];
        const from = this.bodies[this.body], end = this.bodies[this.body + 1] - from + roots;

        if (same === roots)
            while (same < depth && same < end && path[same] === frames[from + same - roots])
                same++;
        for (let d = Math.max(same, roots); d < end; d++)
            path[d] = frames[from + d - roots];
        this.kept = same;
        this.depth = end;
        this.samples = list[this.at++];
        this.left--;
        this.row++;
        return true;
    }

    // How many of the roots are those of the row before.
    beginRun() {
        const { list, path, depth } = this;
        const roots = list[this.at++];
        let same = 0;

        for (let d = 0; d < roots; d++) {
            const frame = list[this.at++];

            if (same === d && d < depth && path[d] === frame)
                same++;
            path[d] = frame;
        }
        this.roots = roots;
        this.body = 0;
        this.left = list[this.at++];
        return same;
    }
}

export function rowsOf({ rows, runs }) {
    return rows ? new ListedRows(rows) : new RowsOfRuns(runs);
}

// Calls visit(path, depth, kept, isCut, samples, row) for each row.
export function eachRow(profile, visit) {
    const rows = rowsOf(profile);

    while (rows.next())
        visit(rows.path, rows.depth, rows.kept, rows.isCut, rows.samples, rows.row);
}

// Samples of threads that waited for work.
export function idleSamples(profile) {
    let sum = 0;

    if (profile.idle)
        eachRow(profile, (path, depth, kept, isCut, samples, row) => { sum += profile.idle[row] ? samples : 0; });
    return sum;
}

// Nodes that a tree of the profile has at most, without its root; it may be far fewer.
export function nodesIn({ rows, runs }) {
    if (rows)
        return rows.length; // a row lists less than it has numbers
    const { list, at } = runs;
    let nodes = 0;

    for (let i = 0; i < list.length;) {
        const roots = list[i];
        let left = list[i += 1 + roots], body = 0;

        for (i++; left > 0; left--, i += 2) {
            body += list[i];
            nodes += roots + at[body + 1] - at[body];
        }
    }
    return nodes;
}
