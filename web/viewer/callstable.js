// SPDX-License-Identifier: Apache-2.0
// The calls of methods that were asked for: of each method how many, and how long they took.

import { element } from "../shared/dom.js";
import { formatCount, formatValue } from "../shared/format.js";

const CALL_ROWS_MAX = 100;

// "12.3 ms", "1.25 s"
export const callLength = (ns) => formatValue(ns, "nanoseconds");

function callRow({ name, count, cut, p50, p99, longest, longest_cut: more }) {
    const number = (text) => element("td", { class: "num" }, text);

    return element("tr", {}, number(formatCount(count)), number(cut ? formatCount(cut) : ""),
        number(count ? callLength(p50) : ""), number(count ? callLength(p99) : ""),
        number((more ? "≥ " : "") + callLength(longest)), element("td", {}, element("bdi", {}, name)));
}

// null where no calls were asked for.
export function callsTable({ meta }) {
    const calls = meta.calls;

    if (!calls || !calls.methods.length)
        return null;
    const head = ["calls", "cut off", "half within", "99 % within", "longest", "method"];
    const rest = calls.methods.length - CALL_ROWS_MAX;

    return element("details", { class: "calls", open: true },
        element("summary", {}, calls.over ? `Calls of methods; the graph shows those over ${callLength(calls.over)}` : "Calls of methods"),
        element("table", {}, element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
            element("tbody", {}, ...calls.methods.slice(0, CALL_ROWS_MAX).map(callRow))),
        ...rest > 0 ? [element("p", {}, `${formatCount(rest)} more methods`)] : []);
}
