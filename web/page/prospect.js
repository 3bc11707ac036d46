// SPDX-License-Identifier: Apache-2.0
// Whether a capture of what is allocated, or of what stays, can answer at all: of a JVM that stopped it cannot. Then what can.

import { getJson, isAbort } from "./api.js";
import { element } from "../shared/dom.js";
import { formatBytes, formatClock } from "../shared/format.js";
import { allocationSteps, openMemoryHistory } from "./memorychart.js";
import { renewChildren } from "./renew.js";
import { formatRoute } from "./route.js";

const WORKS_LEAST = 10240; // bytes a second: a JVM without work allocates less
const BEFORE_MS = 300000;

// {rate: bytes a second, NaN: not known; workedAt: ms since 1970 when it last allocated more, 0: not seen}
export function allocationNow({ allocation, history }) {
    const rate = allocation && allocation.bytes_per_second !== null && allocation.bytes_per_second !== undefined ? allocation.bytes_per_second : NaN;
    const last = allocationSteps(openMemoryHistory(history)).findLast(({ perSecond }) => perSecond >= WORKS_LEAST);

    return { rate, workedAt: last ? last.to : 0 };
}

// What to say of it in place of an answer, and links to what can be seen; null: it may well answer.
function prospect(pid, event, heap) {
    const { rate, workedAt } = allocationNow(heap), iso = (ms) => new Date(ms).toISOString();
    const link = (params, text) => element("a", { href: formatRoute("jvm", String(pid), params) }, text);

    if (!(rate < WORKS_LEAST))
        return null;
    return element("p", { class: "capture-prospect" }, `This cannot answer now: the JVM allocates ${formatBytes(rate)}/s, and only objects that are allocated during the capture are sampled. `,
        ...event === "live" ? [`What is in its heap already, by class: jcmd ${pid} GC.class_histogram. `] : [],
        ...workedAt ? [link({ from: iso(workedAt - BEFORE_MS), to: iso(workedAt) }, `What ran until it stopped at ${formatClock(workedAt)}`), " · "] : [],
        link({ tab: "memory" }, "Memory over time"), " · ", link({ tab: "threads" }, "What its threads do"));
}

// Puts it into @slot, once it is known. What stands there is renewed where it stands.
export async function showProspect(slot, pid, event, signal) {
    if (!pid || !["alloc", "live"].includes(event))
        return;
    try {
        const said = prospect(pid, event, await getJson(`api/v1/jvms/${pid}/heap`, {}, signal));

        renewChildren(slot, said ? [said] : []);
    } catch (error) {
        if (isAbort(error))
            throw error;
        slot.replaceChildren(); // a JVM without counters: nothing is known
    }
}
