// SPDX-License-Identifier: Apache-2.0
// The answers that a timeline shows: how much of the past, asked again and again, up to now or to the end of a JVM that has ended.

import { getJson, isAbort, repeat } from "./api.js";
import { openTimeline } from "./categories.js";
import { spanSelect } from "./jvmbar.js";

const TIMELINE_SECONDS = 3;
const TIMELINE_BUCKETS = 240;
const TIMELINE_SPANS = [[60, "Last 1 min"], [300, "Last 5 min"], [600, "Last 10 min"], [3600, "Last 1 h"], [21600, "Last 6 h"], [86400, "Last 1 day"]];
const USUAL_SPAN = 300;
const ENDED_ROOM = 5; // seconds behind the end

export class TimelineLoader {
    // @facts: {past, isGone} of the target. @on: {span: in seconds, NaN: the usual one, chosen(): another span, settled(): there is an answer,
    // loaded(): and it is shown, failed(error)}.
    constructor(timeline, target, facts, { span, ...on }) {
        Object.assign(this, { timeline, target, facts, on, span: span || USUAL_SPAN });
        timeline.head.append(spanSelect(TIMELINE_SPANS, this.span, "How much the timeline shows", (seconds) => this.setSpan(seconds)));
    }

    // 0: the usual one.
    get chosenSpan() {
        return this.span === USUAL_SPAN ? 0 : this.span;
    }

    setSpan(span) {
        this.span = span;
        this.on.chosen();
        this.restart();
    }

    restart() {
        this.stop();
        this.end = repeat(TIMELINE_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
    }

    range() {
        const { past } = this.facts;
        const iso = (ms) => new Date(ms).toISOString();

        return past ? { from: iso(past.last - (this.span - ENDED_ROOM) * 1000), to: iso(Math.min(Date.now(), past.last + ENDED_ROOM * 1000)) }
            : { from: `-${this.span}s` };
    }

    async load(signal) {
        try {
            const json = await getJson("api/v1/timeline", { ...this.target, ...this.range(), buckets: TIMELINE_BUCKETS, by: "category" }, signal);

            this.timeline.show(openTimeline(json));
            this.on.settled();
            this.on.loaded();
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.on.settled();
            const isForgotten = this.facts.isGone && error.status === 404;

            if (isForgotten)
                this.stop();
            this.timeline.sayProblem(isForgotten ? "The flight recorder has nothing of this time, or no longer." : [error.message, error.remedy].filter(Boolean).join(". "));
            this.on.failed(error);
        }
    }
}
