// SPDX-License-Identifier: Apache-2.0
// The live flame graph of a JVM, a service or the node: of the last seconds, again and again, until it is held.

import { getJson, isAbort, repeat } from "./api.js";
import { staysIdle } from "./graphproblem.js";
import { emptyState } from "./notice.js";
import { formatMoment } from "../shared/format.js";
import { nodeNow } from "../shared/now.js";

const LIVE_SECONDS = 3;
const LIVE_SPAN = 60; // seconds that it looks back at first
const ENOUGH_SAMPLES = 300;
const STALE_MS = 10000; // a graph that is older says so

export class LiveGraph {
    // @view: the JvmView that shows it.
    constructor(view) {
        this.view = view;
        this.span = Number(view.params.get("live")) || LIVE_SPAN; // seconds
        this.spanIsChosen = view.params.has("live");
        this.isWanted = false; // it is on, or would be if the JVM had not ended
        this.isOn = false;
    }

    set(on) {
        const { view } = this;

        view.app.banner.show("", "graph");
        if (on && view.heat.isOpen) {
            view.heat.close();
            view.heatState = "";
        }
        this.stop();
        if (on && view.rangeLoad)
            view.rangeLoad.abort(); // its answer would come over what is live
        this.isWanted = on;
        this.isOn = on && !view.hasEnded;
        view.bar.show(view.tab, this.isOn);
        if (this.isOn && view.tab === "graph")
            this.end = repeat(LIVE_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
    }

    toggle() {
        if (!this.view.hasEnded)
            this.isOn ? this.hold() : this.resume();
    }

    // The graph stays as it is, and its time is what all else is about.
    hold() {
        const { view } = this;

        this.set(false);
        if (!view.hasProfile)
            return;
        const { start, end } = view.panel.source.meta;

        view.setRange({ from: Date.parse(start), to: Date.parse(end) });
        view.keep({ push: true });
    }

    resume() {
        const { view } = this;

        view.timelineLoader.reach(null);
        view.setRange(null);
        view.keep({ push: true });
        view.problem = null;
        view.setTab("graph");
        this.collect();
    }

    // As a person asked for: what stands in place of a graph goes.
    collect() {
        const { view } = this;

        view.problem = null;
        if (!view.hasProfile)
            view.content.replaceChildren(emptyState("Collecting samples …"));
        this.set(true);
    }

    setSpan(seconds) {
        this.spanIsChosen = true;
        this.span = seconds;
        this.view.keep();
        this.collect();
    }

    // Looks back further while there are few samples, unless a person said how far. Only before the first picture: its numbers
    // do not change by themselves while one reads. Returns whether it asks again.
    widens(samples) {
        const { view } = this, wider = view.hasProfile || this.spanIsChosen || samples >= ENOUGH_SAMPLES ? 0 : view.bar.nextSpan(this.span);
        const oldest = view.oldest(); // 0: the timeline has not answered yet

        if (!wider || !oldest || oldest > nodeNow() - this.span * 1000)
            return Boolean(wider) && !oldest && view.root.classList.contains("settling");
        this.span = wider;
        view.bar.showSpan(wider);
        this.set(true);
        return true;
    }

    async load(signal) {
        const { view } = this, { facts } = view;

        if (facts.isGone) {
            this.noteAge(new Error("No JVM of this service runs now")); // it may be between two
            return;
        }
        try {
            const json = await getJson("profile", { ...view.graphParams(), format: "json", threads: 1 }, signal);

            if (!staysIdle(view.content, json.quality.samples, () => this.collect()) && !this.widens(json.quality.samples))
                view.showJson(json);
        } catch (error) {
            if (isAbort(error))
                throw error;
            const isIdle = error.status === 404 && error.parameter === "from"; // the graph would be of a time before

            if ((!view.hasProfile || isIdle) && (!view.isOne || facts.jvm || error.status !== 404)) // else the facts say what it is
                view.showProblem(error);
            else
                this.noteAge(error);
        }
    }

    // A graph whose next one does not come: it says of when it is.
    noteAge(error) {
        const { hasProfile, shownAt, app } = this.view;

        if (hasProfile && Date.now() - shownAt.here > STALE_MS)
            app.banner.show(`${error.message}. This graph is of ${formatMoment(shownAt.node)}. Trying again …`, "graph");
    }
}
