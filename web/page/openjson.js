// SPDX-License-Identifier: Apache-2.0
// The json format (docs/formats.md) as a profile of the viewer.

import { KINDS, isWait } from "../shared/kinds.js";
import { openProfile } from "../shared/tree.js";

const FRAME_NUMBERS = 5; // of a frame in the list

// The data of the viewer made from the json format's.
function viewerData(json) {
    const strings = [""], numbers = new Map([["", 0]]);
    const number = (text) => {
        let n = numbers.get(text);

        if (n === undefined) {
            n = strings.length;
            numbers.set(text, n);
            strings.push(text);
        }
        return n;
    };
    const kinds = new Map(KINDS.map(({ id }, kind) => [id, kind]));
    const frames = [], rows = [], values = [], idle = [];
    const { period } = json.meta;
    let areValues = false, before = [];

    for (const { name, kind, module = "", file = "", line = 0 } of json.frames)
        frames.push(number(name), kinds.get(kind) || 0, number(module), number(file), line);
    const leaves = new Map(); // frames that stand for waits, by their kinds' names
    const leafOf = (wait) => {
        if (!leaves.has(wait)) {
            leaves.set(wait, frames.length / FRAME_NUMBERS);
            frames.push(number(`[${wait}]`), kinds.get(wait) || 0, 0, 0, 0);
        }
        return leaves.get(wait);
    };

    for (const { frames: code, samples, value, state = "", wait = "blocked", idle: isIdle = false } of json.stacks) {
        const isNamed = code.length && isWait(kinds.get(json.frames[code.at(-1)].kind)); // as locks are, by their class
        const stack = state === "blocked" && !isNamed ? [...code, leafOf(wait)] : code;
        let kept = 0;

        while (kept < stack.length && kept < before.length && stack[kept] === before[kept])
            kept++;
        rows.push(kept, stack.length - kept);
        for (let i = kept; i < stack.length; i++)
            rows.push(stack[i]);
        rows.push(samples);
        values.push(value);
        idle.push(isIdle);
        areValues = areValues || value !== samples * period;
        before = stack;
    }
    return {
        format: "flamed-viewer", version: 1, view: {}, meta: { ...json.meta, mains: [...new Set((json.processes || []).map(({ name }) => name || ""))] }, quality: json.quality,
        warnings: json.warnings || [], strings, frames, rows, values: areValues ? values : null, idle: idle.includes(true) ? idle : null,
    };
}

export function checkedJson(json) {
    if (!json || json.format !== "flamed-profile")
        throw new Error("the answer is not a profile");
    return json;
}

export function openJson(json) {
    return openProfile(viewerData(checkedJson(json)));
}
