// SPDX-License-Identifier: Apache-2.0
// What is looked at, as the fragment of the address: a link shows the same. A node is named by its depth and
// a hash of the names on its path, which outlives a new rendering of the profile.

import { hashText } from "./colors.js";
import { nodeName } from "./tree.js";

const FLAGS = ["reverse", "icicle", "table", "packages", "beside", "idle", "frames", "tiers"];
const SHORT = {
    search: "s", zoom: "z", weight: "w", reverse: "r", icicle: "i", table: "t", thread: "th", focus: "fo",
    sandwich: "sw", packages: "p", beside: "sd", idle: "id", frames: "af", tiers: "ti", mine: "my",
};
const USUAL = { thread: "*", idle: true, frames: true, tiers: true }; // where it is not "" or false
const HIDE = "hi"; // once for each hidden method

// {search, zoom, weight, reverse, icicle, table, packages, beside, idle, frames, tiers, thread, focus,
// sandwich, hide: [names]}; what is missing takes @defaults. idle: with threads that wait for work; frames: all frames;
// tiers: frames of a method apart by how it ran; mine: packages of the application's own code, with commas between them.
export function parseState(fragment, defaults = {}) {
    return stateOfParams(new URLSearchParams(fragment.replace(/^#/, "")), defaults);
}

export function stateOfParams(params, defaults = {}) {
    const state = {
        search: "", zoom: "", weight: "", reverse: false, icicle: false, table: false, packages: false,
        beside: false, focus: "", sandwich: "", mine: "",
        ...USUAL, ...defaults, hide: params.getAll(HIDE),
    };

    for (const [name, short] of Object.entries(SHORT)) {
        if (!params.has(short))
            continue;
        state[name] = FLAGS.includes(name) ? params.get(short) === "1" : params.get(short);
    }
    return state;
}

// Only what differs from @defaults is written. "" or "#…".
export function formatState(state, defaults = {}) {
    const text = paramsOfState(state, defaults).toString();

    return text ? "#" + text : "";
}

export function paramsOfState(state, defaults = {}) {
    const params = new URLSearchParams();

    for (const [name, short] of Object.entries(SHORT)) {
        const isFlag = FLAGS.includes(name);
        const value = isFlag ? Boolean(state[name]) : state[name] || "";

        if (value !== (defaults[name] ?? USUAL[name] ?? (isFlag ? false : "")))
            params.set(short, isFlag ? (value ? "1" : "0") : value);
    }
    for (const name of state.hide || [])
        params.append(HIDE, name);
    return params;
}

function hashPath(tree, node, hashes) {
    return hashText(nodeName(tree, node) + "\n", hashes[tree.parent[node]]);
}

// "depth.hash", "" for the root.
export function nameNode(tree, node) {
    const path = [];

    for (let i = node; i > 0; i = tree.parent[i])
        path.push(nodeName(tree, i));
    if (!path.length)
        return "";
    let h = hashText("");

    for (const name of path.reverse())
        h = hashText(name + "\n", h);
    return path.length + "." + h.toString(36);
}

// The node of that name, or the root.
export function findNode(tree, name) {
    const [depthText, hash] = name.split(".");
    const depth = Number(depthText);

    if (!(depth > 0) || depth >= tree.levels || !hash)
        return 0;
    const hashes = new Uint32Array(tree.count);

    hashes[0] = hashText("");
    for (let i = 1; i < tree.count; i++) {
        if (tree.depth[i] > depth)
            continue;
        hashes[i] = hashPath(tree, i, hashes);
        if (tree.depth[i] === depth && hashes[i].toString(36) === hash)
            return i;
    }
    return 0;
}
