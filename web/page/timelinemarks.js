// SPDX-License-Identifier: Apache-2.0
// What happened to a JVM, as marks on its timeline: starts of other versions of its service, and what went wrong.

import { getJson, isAbort, repeat } from "./api.js";

const MARKS_SECONDS = 30;

// Marks of the service @name in an answer of /api/v1/services: [{at, text, isBad}].
export function openMarks({ services }, name) {
    const service = services.find((one) => one.name === name);

    return (service ? service.marks : []).map(({ time, kind, text, pid }) =>
        ({ at: Date.parse(time), text: `${kind}: ${text || `pid ${pid}`}`, isBad: false }));
}

export class TimelineMarks {
    // @facts: they know the service. @known(services): each time that there is an answer, null where there is none.
    constructor(timeline, facts, known) {
        Object.assign(this, { timeline, facts, known, signals: [] });
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
            this.known(this.services || null);
            return; // the timeline is there without them
        }
        this.known(this.services);
        this.show();
    }

    // @past: those that are over.
    setSignals(list, past) {
        this.signals = [...[...list, ...past].map(({ since, signal }) => ({ at: since, text: `${signal} began`, isBad: true })),
            ...past.map(({ until, signal }) => ({ at: until, text: `${signal} was over`, isBad: false }))];
        this.show();
    }

    // The facts may come later than the services.
    get ofService() {
        return this.services && this.facts.serviceName ? openMarks(this.services, this.facts.serviceName) : [];
    }

    show() {
        this.timeline.setMarks([...this.ofService, ...this.signals]);
    }
}
