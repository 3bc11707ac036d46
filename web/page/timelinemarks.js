// SPDX-License-Identifier: Apache-2.0
// What happened to a JVM, as marks on its timeline: starts of other versions of its service, and what went wrong.

import { getJson, isAbort, repeat } from "./api.js";

const MARKS_SECONDS = 30;

// Marks of the service @name in an answer of /api/v1/services: [{at, text, isBad, isDeploy}].
export function openMarks({ services }, name) {
    const service = services.find((one) => one.name === name);

    return (service ? service.marks : []).map(({ time, kind, text, pid }) =>
        ({ at: Date.parse(time), text: `${kind}: ${text || `pid ${pid}`}`, isBad: false, isDeploy: kind === "deploy" }));
}

export class TimelineMarks {
    // @facts: they know the service.
    constructor(timeline, facts) {
        Object.assign(this, { timeline, facts, deploys: [], signals: [] });
    }

    start() {
        this.end = repeat(MARKS_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
    }

    async load(signal) {
        try {
            this.services = await getJson("api/v1/services", {}, signal);
        } catch (error) {
            if (isAbort(error))
                throw error;
            return; // the timeline is there without them
        }
        this.show();
    }

    setSignals(list) {
        this.signals = list.map(({ since, signal }) => ({ at: since, text: `${signal} began`, isBad: true }));
        this.show();
    }

    // The facts may come later than the services.
    get ofService() {
        return this.services && this.facts.serviceName ? openMarks(this.services, this.facts.serviceName) : [];
    }

    // In ms since 1970; -Infinity: none is known.
    get lastDeploy() {
        return Math.max(...this.ofService.filter(({ isDeploy }) => isDeploy).map(({ at }) => at));
    }

    // When a JVM of the service was seen last, in ms since 1970; Infinity: one runs; -Infinity: not known.
    get lastSeen() {
        const service = this.services && this.services.services.find(({ name }) => name === this.facts.serviceName);

        return service && service.jvms.length ? Infinity : Math.max(...(service ? service.ended : []).map((one) => Date.parse(one.last_seen)));
    }

    show() {
        this.timeline.setMarks([...this.ofService, ...this.signals]);
    }
}
