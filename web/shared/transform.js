// SPDX-License-Identifier: Apache-2.0
// Profiles made out of a profile: without some methods, of one thread, what a method calls, who calls it. Each is
// a profile again, so that everything that shows one shows these too.

import { KIND } from "./kinds.js";
import { eachRow } from "./rows.js";

// @pick(path, depth, row): the frames of a stack that stay, or null to leave the stack out. It may return @path's own
// frames in a new array only. @amounts(row, value): {samples, value} of a row that stays, if they are not those of @profile.
export function derive(profile, pick, amounts = null) {
    const rows = [];
    const values = profile.values ? [] : null, idle = profile.idle ? [] : null;
    let before = [];

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        const stack = pick(path, depth, row);

        if (!stack)
            return;
        let same = 0;

        while (same < stack.length && same < before.length && stack[same] === before[same])
            same++;
        rows.push(same, isCut ? -1 - (stack.length - same) : stack.length - same);
        for (let d = same; d < stack.length; d++)
            rows.push(stack[d]);
        const value = values && profile.values[row];
        const now = amounts ? amounts(row, value) : { samples, value };

        rows.push(now.samples);
        before = stack;
        if (values)
            values.push(now.value);
        if (idle)
            idle.push(profile.idle[row]);
    });
    return { ...profile, rows, values, idle };
}

// Without the threads that wait for work.
export function hideIdle(profile) {
    return profile.idle ? derive(profile, (path, depth, row) => profile.idle[row] ? null : path.slice(0, depth)) : profile;
}

// One byte for each frame: 1 where its group satisfies @test.
function flagFrames(profile, test) {
    const groups = profile.groups.map(test);
    const flags = new Uint8Array(profile.groupOf.length);

    for (let f = 0; f < flags.length; f++)
        flags[f] = groups[profile.groupOf[f]] ? 1 : 0;
    return flags;
}

// Where the outermost frame with a flag is, or -1.
function outermost(flags, path, depth) {
    for (let d = 0; d < depth; d++)
        if (flags[path[d]])
            return d;
    return -1;
}

// Frames with these names vanish; what they called counts for their callers.
export function hideMethods(profile, names) {
    const flags = flagFrames(profile, ({ name }) => names.includes(name));

    return derive(profile, (path, depth) => path.slice(0, depth).filter((frame) => !flags[frame]));
}

// Only stacks with the method, from its outermost frame on.
export function calleesOf(profile, method) {
    const flags = flagFrames(profile, ({ name }) => name === method);

    return derive(profile, (path, depth) => {
        const d = outermost(flags, path, depth);

        return d < 0 ? null : path.slice(d, depth);
    });
}

// Only stacks with the method, up to its outermost frame: reversed, they are the method's callers.
export function callersOf(profile, method) {
    const flags = flagFrames(profile, ({ name }) => name === method);

    return derive(profile, (path, depth) => {
        const d = outermost(flags, path, depth);

        return d < 0 ? null : path.slice(0, d + 1);
    });
}

// [{name, samples}] of the threads that the profile keeps apart, those with most samples first.
export function threadsOf(profile) {
    const weights = new Map();
    const flags = flagFrames(profile, ({ kind }) => kind === KIND.THREAD);

    let at = -1, name = "";

    if (!flags.includes(1))
        return [];
    eachRow(profile, (path, depth, kept, isCut, samples) => {
        if (at < 0 || kept <= at) { // else it is the thread of the row before
            at = outermost(flags, path, depth);
            name = at < 0 ? "" : profile.groups[profile.groupOf[path[at]]].name;
        }
        if (at >= 0)
            weights.set(name, (weights.get(name) || 0) + samples);
    });
    return [...weights].map(([name, samples]) => ({ name, samples }))
        .sort((a, b) => b.samples - a.samples || (a.name < b.name ? -1 : 1));
}

export function dropKind(profile, dropped) {
    const flags = flagFrames(profile, ({ kind }) => kind === dropped);

    return derive(profile, (path, depth) => path.slice(0, depth).filter((frame) => !flags[frame]));
}

// @thread: "" all together, "*" apart, else the name of one.
export function selectThread(profile, thread) {
    if (thread === "*")
        return profile;
    if (!thread)
        return dropKind(profile, KIND.THREAD);
    const flags = flagFrames(profile, ({ name, kind }) => kind === KIND.THREAD && name === thread);

    return derive(profile, (path, depth) => outermost(flags, path, depth) < 0 ? null : path.slice(0, depth));
}
