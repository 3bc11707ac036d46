// SPDX-License-Identifier: Apache-2.0
// What is worth comparing when nothing has been chosen yet: captures of the same program, the last minute of what uses
// most CPU time against the minute before.

import { formatMoment } from "../shared/format.js";
import { jvmName, processName } from "./jvmwords.js";
import { WINDOW_S } from "./sides.js";
import { nodeNow } from "../shared/now.js";

const JVMS = 3;
const BEFORE = `-${2 * WINDOW_S}s,-${WINDOW_S}s`, AFTER = `-${WINDOW_S}s,`;

const programOf = ({ processes, target, event }) => JSON.stringify([(processes || []).map(({ name }) => name), target && !processes, event]);
const nameOf = ({ processes }) => (processes && processes.length === 1 ? processName(processes[0])
    : processes && processes.length ? "Several processes" : "Whole node");

// The newest capture that has an older one of the same program and event, with that one.
function newestPair(captures) {
    for (const [i, after] of captures.entries()) {
        const before = captures.slice(i + 1).find((c) => programOf(c) === programOf(after));

        if (before)
            return { before, after };
    }
    return null;
}

// [{text, a, b}], sides as sides.js has them. @captures: those that are done, newest first. @oldest: ms since 1970 where
// what is recorded begins, NaN: nothing is.
export function suggestSides(captures, jvms, oldest, now = nodeNow()) {
    const pair = newestPair(captures);
    const reaches = (from) => from <= now - 2 * WINDOW_S * 1000;
    const list = pair ? [{ a: pair.before.id, b: pair.after.id, text: `${nameOf(pair.after)}: its two newest captures, of ` +
        `${formatMoment(Date.parse(pair.before.start), now)} and ${formatMoment(Date.parse(pair.after.start), now)}` }] : [];

    if (!reaches(oldest))
        return list;
    const busy = jvms.filter((j) => j.profilable.symbols !== "none" && reaches(Date.parse(j.start_time)))
        .sort((a, b) => b.cpu_percent - a.cpu_percent).slice(0, JVMS);
    const minutes = [...busy.map((j) => [String(j.pid), `${jvmName(j).slice(0, 80)} (${j.pid})`]), ["", "Whole node"]];

    return [...list, ...minutes.map(([target, name]) => ({ a: `${target},${BEFORE}`, b: `${target},${AFTER}`,
        text: `${name}: the last minute against the minute before` }))];
}
