// SPDX-License-Identifier: Apache-2.0
// The answers that a timeline shows: how much of the past, asked again and again, up to now or to the end of a JVM that has ended.

import { getJson, isAbort, repeat } from "./api.js";
import { openTimeline } from "./categories.js";
import { spanSelect } from "./jvmbar.js";
import { nodeNow } from "../shared/now.js";

const TIMELINE_SECONDS = 3;
const TIMELINE_BUCKETS = 240;
const TIMELINE_SPANS = [[60, "Last 1 min"], [300, "Last 5 min"], [600, "Last 10 min"], [3600, "Last 1 h"], [21600, "Last 6 h"], [86400, "Last 1 day"]];
const USUAL_SPAN = 300;
const ENDED_ROOM = 5; // seconds behind the end

export class TimelineLoader {
    // @facts: {past, isGone} of the target. @on: {span: in seconds, NaN: the usual one, chosen(): another span, settled(): there is an answer,
    // loaded(): and it is shown, failed(error)}.
    constructor(timeline, target, facts, { span, ...on }) {
        Object.assign(this, { timeline, target, facts, on, wanted: null, chosen: span || USUAL_SPAN, span: span || USUAL_SPAN });
        this.select = spanSelect(TIMELINE_SPANS, this.span, "How much the timeline shows", (seconds) => this.setSpan(seconds));
        timeline.head.append(this.select);
    }

    // 0: the usual one.
    get chosenSpan() {
        return this.chosen === USUAL_SPAN ? 0 : this.chosen;
    }

    setSpan(span) {
        this.chosen = this.span = span;
        this.on.chosen();
        this.restart();
    }

    // From now on @range is in sight; null: there is none.
    reach(range) {
        const { span } = this;

        this.wanted = range;
        this.fit();
        if (this.end && span !== this.span)
            this.restart();
    }

    // As much as was chosen, or more where what is wanted lies further back.
    fit() {
        const { past } = this.facts, needed = this.wanted ? ((past ? past.last : nodeNow()) - this.wanted.from) / 1000 : 0;
        const [least] = TIMELINE_SPANS.find(([seconds]) => seconds >= needed) || [0]; // 0: further back than a day

        this.span = Math.max(this.chosen, least);
        this.select.value = this.span;
    }

    restart() {
        this.stop();
        this.fit();
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

        return past ? { from: iso(past.last - (this.span - ENDED_ROOM) * 1000), to: iso(Math.min(nodeNow(), past.last + ENDED_ROOM * 1000)) }
            : { from: `-${this.span}s` };
    }

    async load(signal) {
        this.fit(); // what is wanted lies further back with each turn
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
