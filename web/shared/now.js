// SPDX-License-Identifier: Apache-2.0
// The time on the node that flamed runs on. The clock of a laptop may differ by minutes.

const DIFFERENCE_LEAST_MS = 2500; // a header has whole seconds, and an answer takes its time

let ahead = 0; // ms that the node's clock is ahead of the one here

// In ms since 1970. The clock here, in a file that is opened by itself.
export const nodeNow = () => Date.now() + ahead;

// @date: the header Date of an answer that has just come; null: it has none.
export function learnTime(date) {
    const difference = Date.parse(date) + 500 - Date.now();

    if (!Number.isNaN(difference))
        ahead = Math.abs(difference) < DIFFERENCE_LEAST_MS ? 0 : difference;
}
