// SPDX-License-Identifier: Apache-2.0
// What stands in place of a graph of CPU time without samples: of a time that is no longer recorded, how far back there is
// something, and ways to it; of a JVM that did not run, the way to what it waited for.

import { formatMoment } from "../shared/format.js";
import { button, emptyState } from "./notice.js";

// @oldest: ms since 1970 where what is recorded begins, 0: not known. @on: {range(range), captures(), live()}; live null: not.
export function expiredState({ from, to }, oldest, on) {
    const left = oldest ? `The record reaches back to ${formatMoment(oldest)}.` : "How far back the record reaches is not known.";

    return emptyState(`Nothing is recorded any more from ${formatMoment(from)} to ${formatMoment(to)}.`, `${left} Stored captures last longer.`,
        ...oldest ? [button("The oldest recorded minute", () => on.range({ from: oldest, to: oldest + to - from }))] : [], button("Stored captures of that time", on.captures),
        ...on.live ? [button("Go live", on.live)] : []);
}

// What stands where a JVM was recorded and used no CPU. @on: {waits(), capture(), live()}; null: not.
export function idleState(on) {
    return emptyState("It used next to no CPU in this time.", "No sample found a thread of it at work. A sick service looks like this when its threads wait.",
        button("What its threads wait for", on.waits, { class: "tool primary" }), ...on.capture ? [button("Start a capture", on.capture)] : [], ...on.live ? [button("Go live", on.live)] : []);
}
