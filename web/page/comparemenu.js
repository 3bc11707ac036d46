// SPDX-License-Identifier: Apache-2.0
// What the shown range of a JVM can be compared with, as a menu.

import { formatMoment, formatSeconds } from "../shared/format.js";
import { openMenu } from "../shared/menu.js";

const COMPARE_STEPS_S = [60, 300, 600, 1800, 3600];

// @shown: {from, to} in ms since 1970. @oldest: what is recorded begins there, 0: nothing is.
// @on: compares what is shown: {range({from, to}): with that time; drag(): with the time that is dragged next; other(): with a
// capture or another JVM, chosen on its own page}
export function openCompareMenu(control, shown, oldest, on) {
    const box = control.getBoundingClientRect();
    const length = shown.to - shown.from;
    const choice = (label, to) => ({ label, run: () => on.range({ from: to - length, to }) });
    const reaches = (to) => oldest && to - length >= oldest;
    const items = [];

    if (reaches(shown.from))
        items.push(choice("With the time just before", shown.from));
    for (const seconds of COMPARE_STEPS_S)
        if (seconds * 1000 > length && reaches(shown.to - seconds * 1000))
            items.push(choice(`With ${formatSeconds(seconds)} before`, shown.to - seconds * 1000));
    if (reaches(shown.from))
        items.push(choice(`With the oldest that is recorded, from ${formatMoment(oldest)} on`, oldest + length));
    if (oldest)
        items.push({ label: "With a range that I drag …", run: on.drag });
    items.push({ label: "With another JVM, pod or capture …", run: on.other });
    openMenu(items, { x: box.left, y: box.bottom + 2 }, "Compare what is shown");
}
