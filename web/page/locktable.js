// SPDX-License-Identifier: Apache-2.0
// What threads waited for: locks by class, the time, who had them, and what those did then.

import { element, setText } from "../shared/dom.js";
import { formatCount, formatSeconds, formatShare, formatValue, plural } from "../shared/format.js";
import { emptyState } from "./notice.js";
import { ownerKey, placeOfWait } from "./ownerstacks.js";

const LOCK_EVENTS = ["lock", "nativelock"];
const LOCK_OWNERS = 3; // that are named, of one lock
const LOCK_WAYS = {
    "[monitor]": "synchronized", "[lock]": "lock", "[notify]": "Object.wait()", "[condition]": "condition", "[park]": "park",
    "[mutex]": "mutex", "[rwlock]": "read-write lock", "[semaphore]": "semaphore", "[barrier]": "barrier", "[join]": "join", "[futex]": "futex",
};

// Ways to wait for what another thread has, or, of a futex, may have. An idle thread waits for a signal, in one of the other ways
// but those of UNTIL.
const EXCLUSIVE = ["[monitor]", "[lock]", "[mutex]", "[rwlock]", "[semaphore]", "[futex]"];
const UNTIL = ["[barrier]", "[join]"]; // for other threads to come or end

export const hasLocks = (event) => LOCK_EVENTS.includes(event);

const keyOf = ({ name, way }) => `${way} ${name}`;
const knownOwner = ({ owners }) => owners.some(([name]) => name);
const rankOf = (lock) => (knownOwner(lock) ? 0 : EXCLUSIVE.includes(lock.way) ? 1 : 2);

// The locks of a profile in the json format, those that a thread had first, then the longest waits: [{name, way, samples, value, threads, places: methods in which
// threads waited, owners: [[name, value]], holders: ownerKey() of each owner}]. An owner "" is one that is not known.
export function locksOf(json) {
    const { frames, stacks } = json, locks = new Map();

    for (const { frames: stack, samples, value, owner = "", thread: index } of stacks) {
        const way = (frames[stack[stack.length - 2]] || { name: "" }).name;

        if (!(way in LOCK_WAYS))
            continue;
        const { name } = frames[stack[stack.length - 1]];
        const key = keyOf({ name, way });
        const lock = locks.get(key) || { name, way, samples: 0, value: 0, threads: new Set(), places: new Set(), owners: new Map(), holders: new Set() };
        const thread = stack.map((f) => frames[f]).find(({ kind }) => kind === "thread");

        lock.places.add(placeOfWait(stack, frames));
        lock.samples += samples;
        lock.value += value;
        if (thread)
            lock.threads.add(thread.name);
        if (owner)
            lock.holders.add(ownerKey(json, index, owner));
        lock.owners.set(owner, (lock.owners.get(owner) || 0) + value);
        locks.set(key, lock);
    }
    return [...locks.values()].map((lock) => ({
        ...lock, threads: lock.threads.size, owners: [...lock.owners].sort(([, a], [, b]) => b - a),
    })).sort((a, b) => rankOf(a) - rankOf(b) || b.value - a.value);
}

// ["worker-1 62 %", "worker-0 20 %", "3 more"]; empty where none is known.
function ownersParts({ owners, value }) {
    const known = owners.filter(([name]) => name);
    const more = known.length - LOCK_OWNERS;

    return [...known.slice(0, LOCK_OWNERS).map(([name, n]) => `${name} ${formatShare(n, value)}`), ...more > 0 ? [`${more} more`] : []];
}

export const ownersText = (lock) => ownersParts(lock).join(", ");

// What the row says that stands for @locks, which no thread has; "2 waits for a signal, as of idle threads, and 1 other wait".
export function signalsText(locks) {
    const other = locks.filter(({ way }) => UNTIL.includes(way)).length, signals = locks.length - other;

    return [
        ...signals ? [`${plural(signals, "wait", "waits")} for a signal, as of idle threads`] : [],
        ...other ? [plural(other, "other wait", "other waits")] : [],
    ].join(", and ");
}

const LOCK_COLUMNS = [
    { label: "What", isRising: true, order: (a, b) => (a.name < b.name ? -1 : 1) },
    { label: "How", isRising: true, order: (a, b) => (a.way < b.way ? -1 : 1) },
    { label: "Time", kind: "num", order: (a, b) => b.value - a.value },
    { label: "Share", kind: "num", order: (a, b) => b.value - a.value },
    { label: "Threads", kind: "num", order: (a, b) => b.threads - a.threads },
    { label: "Samples", kind: "num", order: (a, b) => b.samples - a.samples },
    { label: "Who had it when the wait began", order: (a, b) => rankOf(a) - rankOf(b) || b.value - a.value },
];

const ownersRow = (...parts) => element("tr", {}, element("td", { colspan: LOCK_COLUMNS.length, class: "owners" }, ...parts));

export class LockTable {
    // @on: {pick(name), of the lock whose stacks are wanted; owners(lock): the elements that say what those did that had it;
    // null: not known here}. What it resolves to may be null: it is no longer wanted.
    constructor(json, on) {
        this.on = on;
        this.order = LOCK_COLUMNS[LOCK_COLUMNS.length - 1];
        this.heads = LOCK_COLUMNS.map((column) => element("th", { scope: "col", class: column.kind || null },
            element("button", { type: "button", onclick: () => this.sortBy(column) }, column.label)));
        this.opened = new Map(); // rows below locks, by lock
        this.body = element("tbody");
        this.caption = element("caption", { class: "quiet" });
        this.table = element("table", { class: "list locks" }, this.caption, element("thead", {}, element("tr", {}, ...this.heads)), this.body);
        this.root = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Locks" });
        this.update(json);
    }

    // Shows a later profile: what is opened, chosen, scrolled and focused stays so.
    update(json) {
        const locks = locksOf(json);

        this.whole = locks.reduce((sum, { value }) => sum + value, 0);
        this.held = locks.filter((lock) => rankOf(lock) < 2);
        this.signals = locks.filter((lock) => rankOf(lock) === 2);
        setText(this.caption, `${plural(locks.length, "lock", "locks")}, waited for ${formatValue(this.whole, "nanoseconds")} by all threads together${json.meta.seconds ? ` in ${formatSeconds(json.meta.seconds)}` : ""}`);
        if (!locks.length)
            this.root.replaceChildren(emptyState("No thread waited for a lock."));
        else if (this.root.firstChild !== this.table)
            this.root.replaceChildren(this.table);
        this.fill();
        locks.forEach((lock) => this.renewOwners(lock));
    }

    sortBy(column) {
        this.order = column;
        this.fill();
    }

    fill() {
        const { held, signals, order } = this, areSignalsShown = this.areSignalsShown || !held.length;
        const rows = [...held, ...areSignalsShown ? signals : []].sort(order.order).flatMap((lock) => {
            const below = this.opened.get(keyOf(lock));

            return [this.row(lock), ...below ? [below] : []];
        });
        const time = signals.reduce((sum, { value }) => sum + value, 0), { control } = (this.body.contains(document.activeElement) ? document.activeElement : this.body).dataset;

        this.heads.forEach((head, i) => head.setAttribute("aria-sort", LOCK_COLUMNS[i] !== order ? "none" : order.isRising ? "ascending" : "descending"));
        if (signals.length && !areSignalsShown)
            rows.push(element("tr", {}, element("td", { colspan: LOCK_COLUMNS.length }, element("button", { type: "button", class: "name", "data-control": "signals",
                onclick: () => this.showSignals() },
            `${signalsText(signals)}: ${formatValue(time, "nanoseconds")} …`))));
        this.body.replaceChildren(...rows);
        this.focusOn(control);
    }

    // The rows of this.signals in place of the one that stands for them.
    showSignals() {
        this.areSignalsShown = true;
        this.fill();
        this.focusOn(`stacks ${keyOf(this.signals[0])}`);
    }

    focusOn(control) {
        const same = [...this.body.querySelectorAll("[data-control]")].find((one) => one.dataset.control === control);

        if (same)
            same.focus({ preventScroll: true });
    }

    row(lock) {
        const { name, way, value, samples, threads } = lock;

        return element("tr", {},
            element("td", { class: "col-lock", title: name },
                element("button", { type: "button", class: "name", "data-control": `stacks ${keyOf(lock)}`, title: `Stacks of the threads that waited for ${name}`, onclick: () => this.on.pick(name) }, name)),
            element("td", {}, LOCK_WAYS[way]),
            element("td", { class: "num" }, formatValue(value, "nanoseconds")), element("td", { class: "num" }, formatShare(value, this.whole)),
            element("td", { class: "num" }, threads ? formatCount(threads) : ""), element("td", { class: "num" }, formatCount(samples)),
            element("td", { class: "col-what", title: ownersText(lock) }, ...this.on.owners && knownOwner(lock) ? [this.opener(lock)] : [],
                ...ownersParts(lock).flatMap((text, i) => [i ? ", " : "", element("span", { class: "owner" }, text)])));
    }

    opener(lock) {
        return element("button", { type: "button", class: "tool", "data-control": `owners ${keyOf(lock)}`, title: "What the threads that had it did while others waited",
            "aria-expanded": String(this.opened.has(keyOf(lock))), onclick: () => this.open(lock) }, "What they did");
    }

    // What those did that had it, in a row below, or no longer.
    open(lock) {
        const key = keyOf(lock);

        if (!this.opened.delete(key))
            this.opened.set(key, ownersRow("Loading …"));
        this.fill();
        this.renewOwners(lock);
    }

    // Opens the lock that has most of the time, as what is asked next is what its owners did. Returns whether there is one.
    async openWorst() {
        const [worst] = this.held;

        if (!worst || !knownOwner(worst) || 2 * worst.value < this.held.reduce((sum, { value }) => sum + value, 0))
            return false;
        const parts = await this.on.owners(worst);

        if (!parts)
            return false;
        this.opened.set(keyOf(worst), ownersRow(...parts));
        this.fill();
        return true;
    }

    async renewOwners(lock) {
        const row = this.opened.get(keyOf(lock)), parts = row && await this.on.owners(lock);

        if (parts)
            row.firstChild.replaceChildren(...parts);
    }
}
