// SPDX-License-Identifier: Apache-2.0
// Search: which frames match, and how much of the profile runs in or below them. A stack counts once, however
// many of its frames match.

function tryRegex(text, flags) {
    try {
        return new RegExp(text, flags);
    } catch {
        return null;
    }
}

// A regular expression; lower case alone finds both cases. Text that is no expression is taken as it stands.
export function compileSearch(text) {
    const flags = /[A-Z]/.test(text.replace(/\\[A-Z]/g, "")) ? "" : "i";

    if (!text)
        return null;
    const regex = tryRegex(text, flags + "u") || tryRegex(text, flags); // the older syntax takes "\\-" too

    return regex ? { regex, isLiteral: false }
        : { regex: new RegExp(escapeRegex(text), flags + "u"), isLiteral: true };
}

export function escapeRegex(text) {
    return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

// One byte for each group of frames: 1 where its name matches.
export function matchGroups(profile, search) {
    const matched = new Uint8Array(profile.groups.length);

    for (let g = 0; g < matched.length; g++)
        matched[g] = search.regex.test(profile.groups[g].name) ? 1 : 0;
    return matched;
}

// The weight under matching frames within the subtree of @node, and how many frames match.
export function sumMatches(tree, matched, node = 0) {
    let weight = 0, count = 0;
    let covered = node; // below this number everything is inside of a match

    for (let a = tree.parent[node], i = node; i > 0; i = a, a = tree.parent[a])
        if (matched[tree.group[i]]) { // the view itself lies in a match
            weight = tree.total[node];
            covered = tree.end[node];
            break;
        }
    for (let i = Math.max(node, 1); i < tree.end[node]; i++) {
        if (!matched[tree.group[i]])
            continue;
        count++;
        if (i < covered)
            continue;
        weight += tree.total[i];
        covered = tree.end[i];
    }
    return { weight, count };
}

// The next matching node after (step 1) or before (step -1) @from, around the end; -1 if nothing matches.
export function nextMatch(tree, matched, from, step) {
    const n = tree.count;

    for (let k = 1, i = from; k <= n; k++) {
        i = (i + step + n) % n;
        if (i > 0 && matched[tree.group[i]])
            return i;
    }
    return -1;
}

// The matching node that weighs most, the outermost of equal ones; -1 if nothing matches.
export function widestMatch(tree, matched) {
    let widest = -1;

    for (let i = 1; i < tree.count; i++)
        if (matched[tree.group[i]] && (widest < 0 || tree.total[i] > tree.total[widest]))
            widest = i;
    return widest;
}

// Which match @node is, from 1 on; 0 if it is none.
export function matchNumber(tree, matched, node) {
    let number = 0;

    if (node < 1 || !matched[tree.group[node]])
        return 0;
    for (let i = 1; i <= node; i++)
        number += matched[tree.group[i]];
    return number;
}
