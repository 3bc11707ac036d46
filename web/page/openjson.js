// SPDX-License-Identifier: Apache-2.0
// The json format (docs/formats.md) as a profile of the viewer.

import { KINDS } from "../shared/kinds.js";
import { openProfile } from "../shared/tree.js";

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
    const frames = [], rows = [], values = [];
    const { period } = json.meta;
    let areValues = false, before = [];

    for (const { name, kind, module = "", file = "", line = 0 } of json.frames)
        frames.push(number(name), kinds.get(kind) || 0, number(module), number(file), line);
    for (const { frames: stack, samples, value } of json.stacks) {
        let kept = 0;

        while (kept < stack.length && kept < before.length && stack[kept] === before[kept])
            kept++;
        rows.push(kept, stack.length - kept);
        for (let i = kept; i < stack.length; i++)
            rows.push(stack[i]);
        rows.push(samples);
        values.push(value);
        areValues = areValues || value !== samples * period;
        before = stack;
    }
    return {
        format: "flamed-viewer", version: 1, view: {}, meta: json.meta, quality: json.quality,
        warnings: json.warnings || [], strings, frames, rows, values: areValues ? values : null,
    };
}

export function openJson(json) {
    if (!json || json.format !== "flamed-profile")
        throw new Error("the answer is not a profile");
    return openProfile(viewerData(json));
}
