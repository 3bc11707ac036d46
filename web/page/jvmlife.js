// SPDX-License-Identifier: Apache-2.0
// What becomes of the view of a JVM or a service when it is known, is not known yet, has ended, or is there again.

import { JvmFacts } from "./jvmfacts.js";
import { lastMinuteOf } from "./past.js";
import { ServiceFacts } from "./servicefacts.js";

export class JvmLife {
    // @view: the JvmView whose parts are opened and closed.
    constructor(view) {
        Object.assign(this, { view, wasKnown: false, wasLate: false, wasGone: false, wasPast: false, isLost: false });
    }

    // What tells of it: of the service or the pid @argument.
    facts(argument, banner) {
        const { view } = this, heard = { known: () => this.known(), late: () => this.late() };

        return view.isService ? new ServiceFacts(argument, banner, { ...heard, gone: () => this.serviceGone() })
            : new JvmFacts(view.pid, banner, { ...heard, gone: () => this.gone(), at: () => (view.range ? view.range.to : NaN) });
    }

    known() {
        const { view } = this;

        view.crumbs();
        if (this.wasKnown && !this.wasGone)
            return;
        if (this.wasGone && view.isOne)
            this.reopen();
        if (!view.range && !view.live.isOn && (!this.wasKnown || view.live.isWanted))
            view.live.set(true);
        this.wasKnown = true;
        this.wasGone = this.wasPast = false;
        view.marks.show();
        view.signals.start();
        view.timelineLoader.restart();
        if (view.tab === "changes")
            view.changes.load(); // of its service, whose name is known now
    }

    // Nothing says what it is, yet: what is recorded of it is shown nevertheless.
    late() {
        const { view } = this;

        if (this.wasKnown || this.wasGone || this.wasLate)
            return;
        this.wasLate = true;
        view.signals.start();
        view.timelineLoader.restart();
    }

    // What gone() closed.
    reopen() {
        const { view } = this;

        view.bar.showGone(false);
        view.signals.root.hidden = false;
        view.captureSlot.reopen();
    }

    // No JVM of the service runs: the last minute of the last one is shown where nothing else was asked for. One that is deployed
    // again stays live.
    serviceGone() {
        const { view } = this, { past } = view.facts;

        if (this.wasGone)
            return;
        this.wasGone = true;
        view.settle();
        if (this.wasKnown)
            return;
        if (!past) {
            view.showProblem(Object.assign(new Error(`No service ${view.target.service} is known here.`),
                { remedy: "None runs, and neither the flight recorder nor the history has one.", isFinal: true }));
            return;
        }
        view.signals.start();
        view.marks.show();
        view.timelineLoader.restart();
        if (!view.range)
            this.openLastMinute(past);
    }

    openLastMinute(past) {
        const { view } = this;

        view.range = lastMinuteOf(past);
        view.timeline.setRange(view.range);
        view.crumbs();
        view.keep();
        view.loadRange();
    }

    // It has ended, or never was: its last minute is shown where nothing else was asked for.
    gone() {
        const { view } = this, { past } = view.facts;

        this.wasGone = true;
        if (view.live.isOn)
            view.live.set(true); // which it is again once it is seen again
        view.bar.showGone(true);
        view.settle();
        view.signals.stop();
        view.signals.root.hidden = true;
        view.captureSlot.close();
        if (past && !this.wasPast) {
            this.wasPast = true;
            view.crumbs();
            view.timelineLoader.restart();
        }
        if (view.range || view.facts.jvm || this.isLost)
            return;
        if (past) {
            this.openLastMinute(past);
        } else {
            this.isLost = true;
            view.facts.stop();
            view.loadRange({ isLost: true }); // a process that is no JVM has samples nevertheless
            view.timelineLoader.restart();
        }
    }
}
