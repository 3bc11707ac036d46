// SPDX-License-Identifier: Apache-2.0
// Small profiles for the unit tests, in the encoding of the html format.
import { KINDS } from "../../web/shared/kinds.js";
import { openProfile } from "../../web/shared/tree.js";

// Rows are [[frame, …], samples]; a frame is "name", "name:line", "kind name" or both.
export function profileOf(rows, { raw = false } = {}) {
    const strings = [""], frames = [], numbers = new Map();
    const frame = (text) => {
        if (!numbers.has(text)) {
            const [, kind = "c2", name, line = "0"] = /^(?:(\w+) )?((?:[^:]|::)*)(?::(\d+))?$/.exec(text);

            numbers.set(text, numbers.size);
            if (!strings.includes(name))
                strings.push(name);
            frames.push(strings.indexOf(name), KINDS.findIndex((k) => k.id === kind), 0, 0, Number(line));
        }
        return numbers.get(text);
    };
    const flat = [];
    let before = [];
    let samples = 0;

    for (const [stack, count] of rows) {
        const path = stack.map(frame);
        let kept = 0;

        while (kept < path.length && path[kept] === before[kept])
            kept++;
        flat.push(kept, path.length - kept, ...path.slice(kept), count);
        before = path;
        samples += count;
    }
    const data = {
        format: "flamed-viewer", version: 1, view: { minwidth: 0 }, strings, frames, rows: flat,
        meta: { period: 10, unit: "nanoseconds", weight: "samples", event: "cpu" },
        quality: { samples, lost: 0, unknown: 0, truncated: 0 }, warnings: [],
    };

    return raw ? data : openProfile(data);
}
