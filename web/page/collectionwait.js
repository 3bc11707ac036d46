// SPDX-License-Identifier: Apache-2.0
// Ends a capture of what stays once enough collections have passed: until then most objects are merely young.

import { getJson, isAbort, postJson, repeat } from "./api.js";

const COUNT_SECONDS = 2;
const LEAST_MS = 10000; // a capture is at least as long

export class CollectionWait {
    // @id: of the capture; @wanted: collections. @passed(n): as many have been.
    constructor(pid, id, wanted, passed) {
        Object.assign(this, { pid, id, wanted, passed, began: Date.now() });
        this.end = repeat(COUNT_SECONDS, (signal) => this.count(signal));
    }

    async count(signal) {
        try {
            const { history } = await getJson(`api/v1/jvms/${this.pid}/heap`, {}, signal);
            const now = history.collections.filter((n) => n !== null).at(-1);

            if (now === undefined)
                return; // its counters were not read yet
            this.first = this.first ?? now;
            this.passed(now - this.first);
            if (now - this.first < this.wanted || Date.now() - this.began < LEAST_MS)
                return;
            await postJson(`api/v1/captures/${this.id}/stop`);
            this.end();
        } catch (error) {
            if (isAbort(error))
                throw error; // no answer: it is asked again; a JVM without counters: the capture lasts as long as it was asked to
        }
    }
}
