// SPDX-License-Identifier: Apache-2.0
// The locks that threads of a JVM waited for, now or in a range, as the flight recorder knows them.

import { getJson, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { LockTable, locksOf } from "./locktable.js";
import { button, emptyState, errorState } from "./notice.js";
import { ownerList } from "./ownerstacks.js";

const LOCKS_SECONDS = 5;

export class LocksView {
    // @source(): parameters of the target and time; @on: {pick(name), isLive(): whether it is asked again and again,
    // oldest(): as of JvmView, forgotten(): what stands where its time is, or null}.
    constructor(source, on) {
        Object.assign(this, { source, on });
        this.root = element("div", { class: "content locks-view" }, emptyState("Loading …"));
    }

    start() {
        this.key = "";
        this.end = repeat(LOCKS_SECONDS, async (signal) => {
            if (!this.key || this.on.isLive())
                await this.load(signal);
        });
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
        this.leaveThreads();
    }

    async load(signal) {
        try {
            const json = await getJson("profile", { ...this.source(), event: "lock", idle: 0, format: "json", threads: 1 }, signal);
            const key = JSON.stringify(locksOf(json), (_, part) => (part instanceof Set ? [...part] : part));

            this.problem = null;
            if (key === this.key)
                return;
            this.key = key;
            await this.show(json);
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.key = "failed";
            this.fail(error);
        }
    }

    fail(error) {
        const isDated = this.on.oldest() > 0;

        this.problem = { error, isDated };
        this.root.replaceChildren(this.stateOf(error, isDated));
    }

    // What an answer without waits means is known only once it is known how far back the record reaches.
    stateOf(error, isDated) {
        if (error.status !== 404)
            return errorState(error, button("Try again", () => this.again()));
        if (!isDated)
            return emptyState("No wait for a lock is known of this time.", error.remedy);
        return this.on.forgotten() || emptyState("No thread waited for a lock in this time.",
            "The flight recorder looks at each thread every 1 to 6 s. A capture of the question about locks has each wait.");
    }

    // It is known now.
    dated() {
        if (this.problem && !this.problem.isDated)
            this.fail(this.problem.error);
    }

    again() {
        this.stop();
        this.start();
    }

    async show(json) {
        this.leaveThreads(); // they are of another time
        if (this.table)
            this.table.update(json);
        else
            this.table = new LockTable(json, { ...this.on, owners: (lock) => this.owners(lock) });
        this.wasOpened = this.wasOpened || await this.table.openWorst(); // before it is seen, so that no row moves; once: a person may close it
        if (this.root.firstChild !== this.table.root)
            this.root.replaceChildren(this.table.root);
    }

    // All time of the threads. Locks that are asked about before it is there have the same answer.
    threads() {
        if (!this.asked) {
            const { signal } = this.asking = new AbortController(), done = () => {
                if (!signal.aborted)
                    this.asked = null;
            };

            this.asked = getJson("profile", { ...this.source(), event: "wall", idle: 0, format: "json", threads: 1 }, signal);
            this.asked.then(done, done);
        }
        return this.asked;
    }

    leaveThreads() {
        if (this.asking)
            this.asking.abort();
        this.asked = null;
    }

    // null: they are no longer wanted.
    async owners(lock) {
        try {
            return ownerList(lock, await this.threads());
        } catch (error) {
            return isAbort(error) ? null : [element("p", { class: "quiet" }, error.message)];
        }
    }
}
