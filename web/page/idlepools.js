// SPDX-License-Identifier: Apache-2.0
// What threads do that use no CPU, in a sentence: which pools are idle, and what others wait for.

import { getJson } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { KIND, KINDS, isJava, isWait } from "../shared/kinds.js";
import { eachRow } from "../shared/rows.js";
import { openJson } from "./openjson.js";
import { poolOf } from "./threadtracks.js";

const POOLS_SAID = 4;
const IDLE_SHARE = 0.9; // of its time: a pool that waits for work longer is idle
const OF_THE_JDK = /^(?:Reference Handler|Finalizer|Common-Cleaner|Attach Listener|Signal Dispatcher|Notification Thread|main)$/;

// Pools of threads that run Java, those of the JDK left out: {name: {threads: Set, ms, idleMs, waits: Map from kind to ms}}.
function sumPools(profile) {
    const pools = new Map();

    eachRow(profile, (path, depth, kept, isCut, samples, row) => {
        const groups = path.slice(0, depth).map((frame) => profile.groups[profile.groupOf[frame]]);
        const thread = groups.find(({ kind }) => kind === KIND.THREAD), leaf = groups.at(-1);
        const name = thread && poolOf(thread.name), ms = profile.values ? profile.values[row] : samples * profile.period;

        if (!thread || OF_THE_JDK.test(name) || !groups.some(({ kind }) => isJava(kind)))
            return;
        const pool = pools.get(name) || { threads: new Set(), ms: 0, idleMs: 0, waits: new Map() };

        pool.threads.add(thread.name);
        pool.ms += ms;
        if (profile.idle && profile.idle[row])
            pool.idleMs += ms;
        else if (isWait(leaf.kind))
            pool.waits.set(leaf.kind, (pool.waits.get(leaf.kind) || 0) + ms);
        pools.set(name, pool);
    });
    return [...pools].sort((a, b) => b[1].threads.size - a[1].threads.size);
}

// "http-exec-* × 2 are idle; bank waits (Network); mail ran"; "": nothing is known. @profile: of all of the threads' time, by thread.
export function idleText(profile) {
    const pools = sumPools(profile);
    const said = pools.slice(0, POOLS_SAID).map(([name, { threads: { size }, ms, idleMs, waits }]) => {
        const [longest] = [...waits].sort((a, b) => b[1] - a[1]), isOne = size === 1, waitMs = [...waits.values()].reduce((sum, one) => sum + one, 0);
        const does = idleMs >= IDLE_SHARE * ms ? `${isOne ? "is" : "are"} idle` : !longest || waitMs < ms - idleMs - waitMs ? "ran" : `${isOne ? "waits" : "wait"} (${KINDS[longest[0]].label})`;

        return `${name}${isOne ? "" : ` × ${size}`} ${does}`;
    });

    return said.join("; ") + (pools.length > POOLS_SAID ? `; and ${pools.length - POOLS_SAID} more` : "");
}

// A line that says it, once it is known. @params: of the time.
export function idleLine(params) {
    const line = element("p", { class: "idle-pools" });

    getJson("profile", { ...params, event: "wall", format: "json", threads: 1 }).then((json) => {
        const text = idleText(openJson(json));

        setText(line, text && `Its threads: ${text}.`);
    }).catch(() => {}); // it is only more than is shown
    return line;
}
