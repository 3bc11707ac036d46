// SPDX-License-Identifier: Apache-2.0
// What the threads of a capture waited for: its locks by class, the time, and who had them.

import { element } from "../shared/dom.js";
import { formatCount, formatShare, formatValue, plural } from "../shared/format.js";
import { emptyState } from "./notice.js";

const LOCK_EVENTS = ["lock", "nativelock"];
const LOCK_OWNERS = 3; // that are named, of one lock
const LOCK_WAYS = {
    "[monitor]": "synchronized", "[lock]": "lock", "[notify]": "Object.wait()", "[condition]": "condition", "[park]": "park",
    "[mutex]": "mutex", "[rwlock]": "read-write lock", "[semaphore]": "semaphore", "[barrier]": "barrier", "[join]": "join", "[futex]": "futex",
};

export const hasLocks = (event) => LOCK_EVENTS.includes(event);

// The locks of a profile in the json format, the longest waits first: [{name, way, samples, value, threads, owners: [[name, value]]}].
// An owner "" is one that is not known.
export function locksOf({ frames, stacks }) {
    const locks = new Map();

    for (const { frames: stack, samples, value, owner = "" } of stacks) {
        const way = (frames[stack[stack.length - 2]] || { name: "" }).name;

        if (!(way in LOCK_WAYS))
            continue;
        const { name } = frames[stack[stack.length - 1]];
        const key = `${way} ${name}`;
        const lock = locks.get(key) || { name, way, samples: 0, value: 0, threads: new Set(), owners: new Map() };
        const thread = stack.map((f) => frames[f]).find(({ kind }) => kind === "thread");

        lock.samples += samples;
        lock.value += value;
        if (thread)
            lock.threads.add(thread.name);
        lock.owners.set(owner, (lock.owners.get(owner) || 0) + value);
        locks.set(key, lock);
    }
    return [...locks.values()].sort((a, b) => b.value - a.value).map((lock) => ({
        ...lock, threads: lock.threads.size, owners: [...lock.owners].sort(([, a], [, b]) => b - a),
    }));
}

// "worker-1 62 %, worker-0 20 %, 3 more"; "" where none is known.
export function ownersText({ owners, value }) {
    const known = owners.filter(([name]) => name);
    const more = known.length - LOCK_OWNERS;

    return [...known.slice(0, LOCK_OWNERS).map(([name, n]) => `${name} ${formatShare(n, value)}`), ...more > 0 ? [`${more} more`] : []].join(", ");
}

export class LockTable {
    constructor(json) {
        const locks = locksOf(json);
        const whole = locks.reduce((sum, { value }) => sum + value, 0);
        const columns = [["What", ""], ["How", ""], ["Time", "num"], ["Share", "num"], ["Threads", "num"], ["Samples", "num"], ["Who had it when the wait began", ""]];

        this.root = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Locks" }, locks.length
            ? element("table", { class: "list locks" },
                element("caption", { class: "quiet" }, `${plural(locks.length, "lock", "locks")}, waited for ${formatValue(whole, "nanoseconds")} by all threads together`),
                element("thead", {}, element("tr", {}, ...columns.map(([label, kind]) => element("th", { scope: "col", class: kind || null }, label)))),
                element("tbody", {}, ...locks.map((lock) => element("tr", {},
                    element("td", { class: "col-lock", title: lock.name }, lock.name), element("td", {}, LOCK_WAYS[lock.way]),
                    element("td", { class: "num" }, formatValue(lock.value, "nanoseconds")), element("td", { class: "num" }, formatShare(lock.value, whole)),
                    element("td", { class: "num" }, lock.threads ? formatCount(lock.threads) : ""), element("td", { class: "num" }, formatCount(lock.samples)),
                    element("td", { class: "col-what", title: ownersText(lock) }, ownersText(lock))))))
            : emptyState("No thread waited for a lock."));
    }
}
