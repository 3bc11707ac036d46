// SPDX-License-Identifier: Apache-2.0
// What JVMs did as a whole, above a flame graph: a line of marks for each kind over the profile's time, and a table
// with the same in words.

import { element } from "../shared/dom.js";
import { leftOutText, momentLanes, momentText, momentsSummary } from "../shared/moments.js";

const MOMENT_ROWS_MAX = 500; // of the table

function mark(moment, allNs, height) {
    const box = element("span", { class: "moment", title: momentText(moment) });

    box.style.left = Math.max(0, Math.min(100, moment.at_ns / allNs * 100)) + "%";
    box.style.width = Math.min(100, moment.ns / allNs * 100) + "%";
    box.style.height = height + "%";
    return box;
}

function lane({ name, marks, bars }, allNs) {
    const most = bars.reduce((a, { count }) => Math.max(a, count), 1);

    return element("div", { class: "moment-lane" }, element("span", { class: "moment-name" }, name),
        element("div", { class: "moment-line" + (marks.length ? "" : " counts") },
            ...marks.map((m) => mark(m, allNs, 100)),
            ...bars.map((m) => mark(m, allNs, 15 + 85 * m.count / most))));
}

// null where nothing is known of any JVM.
export function momentStrip({ meta, moments, momentsLeftOut }) {
    const lanes = momentLanes(moments), allNs = Math.max(meta.seconds * 1e9, 1);

    if (!lanes.length)
        return null;
    const rows = moments.slice(0, MOMENT_ROWS_MAX).map((m) => element("li", {}, momentText(m)));
    const rest = moments.length + momentsLeftOut - rows.length;

    if (rest > 0)
        rows.push(element("li", {}, `${rest} more`));
    return element("section", { class: "moments", "aria-label": "What JVMs did as a whole" },
        ...lanes.map((l) => lane(l, allNs)),
        ...momentsLeftOut ? [element("p", { class: "moments-note" }, leftOutText(moments, momentsLeftOut))] : [],
        element("details", {}, element("summary", {}, momentsSummary(moments) || `${moments.length} moments`),
            element("ol", {}, ...rows)));
}
