// SPDX-License-Identifier: Apache-2.0
// A profile that is too large for its tree to be there at once: what of it is wide enough to be seen stands first, then
// the tree grows in slices between which the page does what it is asked to.

import { KIND } from "../shared/kinds.js";
import { nodesIn, rowsOf } from "../shared/rows.js";
import { treeSteps } from "../shared/tree.js";

const LARGE_NODES = 1500000; // a second's work
const NARROW_PART = 1 / 8000; // half a pixel of the widest screens
const SLICE_MS = 12;

export function isLarge(profile) {
    return nodesIn(profile) > LARGE_NODES;
}

// Of each row its weight, its depth, and how many groups it shares with the row before.
function surveyRows(profile) {
    const { groupOf } = profile;
    const byValue = profile.meta.weight === "value" && profile.values;
    const survey = { weights: [], depths: [], shared: [], whole: 0 };
    const groups = []; // of the row before
    let before = 0;

    for (const rows = rowsOf(profile); rows.next();) {
        const { path, depth } = rows;
        let shared = Math.min(rows.kept, before, depth);

        while (shared < before && shared < depth && groups[shared] === groupOf[path[shared]])
            shared++;
        for (let d = shared; d < depth; d++)
            groups[d] = groupOf[path[d]];
        const weight = byValue ? profile.values[rows.row] : rows.samples;

        survey.weights.push(weight);
        survey.depths.push(depth);
        survey.shared.push(shared);
        survey.whole += weight;
        before = depth;
    }
    return survey;
}

// How many frames of each row stay: those above them weigh less than @least. Rows of a group are neighbours, as in
// minwidth's own cut. A stack holds the runs of rows that are still open, each with the depth that its rows share.
function cutRows({ weights, depths, shared }, least) {
    const cut = Int32Array.from(depths);
    const runs = [{ depth: 0, first: 0, before: 0 }]; // @before: what the rows before it weigh
    let sum = 0;
    const close = (run, from, end) => {
        if (run.depth > from && sum - run.before < least)
            for (let r = run.first; r < end; r++)
                cut[r] = Math.min(cut[r], from);
    };

    for (let r = 0; r < weights.length; r++) {
        const next = r + 1 < weights.length ? shared[r + 1] : 0;
        let run = { depth: depths[r], first: r, before: sum };

        sum += weights[r];
        close(run, Math.max(next, runs[runs.length - 1].depth), r + 1);
        while (runs[runs.length - 1].depth > next) {
            run = runs.pop();
            close(run, Math.max(next, runs[runs.length - 1].depth), r + 1);
        }
        if (runs[runs.length - 1].depth < next)
            runs.push({ depth: next, first: run.first, before: run.before });
    }
    return cut;
}

// @profile without what is narrower than @part of it, whose weight stays.
export function coarseOf(profile, part = NARROW_PART) {
    const survey = surveyRows(profile);
    const cut = cutRows(survey, survey.whole * part);
    const list = [], values = profile.values ? [] : null;
    const groups = [...profile.groups];
    let depth = 0, wasCut = false;

    for (const rows = rowsOf(profile); rows.next();) {
        const n = Math.min(rows.depth, cut[rows.row]);
        const isCut = rows.isCut || n < rows.depth;
        const kept = Math.min(rows.kept, depth, n);
        const value = values && profile.values[rows.row];

        if (isCut && wasCut && n === depth && kept === n) { // it is the row before, as it looks now
            list[list.length - 1] += rows.samples;
            if (values)
                values[values.length - 1] += value;
            continue;
        }
        list.push(kept, isCut ? -1 - (n - kept) : n - kept);
        for (let d = kept; d < n; d++)
            list.push(rows.path[d]);
        list.push(rows.samples);
        if (values)
            values.push(value);
        depth = n;
        wasCut = isCut;
    }
    groups[profile.cutGroup] = { name: "[more in a moment]", kind: KIND.TRUNCATED, module: "", file: "" };
    return { ...profile, groups, rows: list, values };
}

const pause = () => new Promise((done) => { setTimeout(done); });

// As buildTree().
export async function growTree(profile, options) {
    const steps = treeSteps(profile, options);

    for (;;) {
        await pause();
        const until = performance.now() + SLICE_MS;
        let step;

        do
            step = steps.next();
        while (!step.done && performance.now() < until);
        if (step.done)
            return step.value;
    }
}
