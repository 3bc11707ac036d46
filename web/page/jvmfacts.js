// SPDX-License-Identifier: Apache-2.0
// What one JVM is, asked again and again; the banner says when it has ended or cannot be read.

import { getJson, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { formatAgo, formatBytes, formatCount, formatShare } from "../shared/format.js";
import { cpuLimitText, isProfilable, isSameJvm, mainOf, placeOf, shortVersion } from "./jvmwords.js";
import { formatRoute } from "./route.js";
import { endText, loadPast, pastOf, runText } from "./past.js";

const FACTS_SECONDS = 2;
const PAST_MS = 10000;
const END_SLACK_MS = 60000; // an end is known to the minute

export class JvmFacts {
    // @on: {known(): there is an answer, late(): none yet, gone(): it has ended, or never was, at(): the end of the range, NaN: none}
    constructor(pid, banner, on) {
        Object.assign(this, { pid, banner, on });
        this.jvm = null; // the last answer
        this.past = null; // the one that had the pid at the range, and has ended
        this.pastList = []; // of all that have ended
        this.isGone = false;
        this.wasReplaced = false;
        this.root = element("p", { class: "facts jvm-facts" });
        this.texts = element("span", { class: "texts" });
    }

    // "": not known.
    get serviceName() {
        return this.past ? this.past.service : this.jvm && this.jvm.service ? this.jvm.service.name : "";
    }

    start() {
        this.end = repeat(FACTS_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
    }

    // What is not there is not asked for again: a pid that has ended, or one whose range lies before its JVM's end. One that
    // was seen is, once it is among those that run: flamed may have lost it for a moment.
    async load(signal) {
        let jvm;

        if (this.hasEnded && this.jvm && await this.askPast(signal) && this.runs)
            this.hasEnded = false;
        if (this.hasEnded || (!this.jvm && !Number.isNaN(this.on.at()))) {
            if (await this.findPast(signal, { only: !this.hasEnded }) && !this.jvm)
                this.stop();
            if (this.hasEnded || this.past)
                return;
        }
        try {
            jvm = await getJson(`api/v1/jvms/${this.pid}`, {}, signal);
        } catch (error) {
            if (isAbort(error))
                throw error;
            await this.failed(error, signal);
            return;
        }
        if (this.on.at() < Date.parse(jvm.start_time) && await this.findPast(signal))
            return;
        this.wasReplaced = this.wasReplaced || Boolean(this.jvm && !isSameJvm(this.jvm, jvm));
        if (this.wasReplaced)
            this.banner.show("The JVM that was looked at has ended; another one has its process id now.", "facts");
        else
            this.banner.show(isProfilable(jvm) ? "" : `Java names cannot be read from this JVM: ${jvm.profilable.reason}`, "facts");
        this.isGone = false;
        this.past = null;
        this.jvm = jvm;
        this.show();
        this.on.known();
    }

    async failed(error, signal) {
        if (error.status !== 404) {
            this.banner.show(`${error.message}. Trying again …`, "facts");
            this.on.late();
            return;
        }
        this.hasEnded = true;
        if (await this.findPast(signal)) {
            if (!this.jvm)
                this.stop();
            return;
        }
        this.isGone = true;
        this.banner.show(this.jvm ? "This JVM has ended. What it did can still be looked at: drag over the timeline." : error.message, "facts");
        this.on.gone();
    }

    // Whether it was time to ask again what has ended, and what runs.
    async askPast(signal) {
        if (Date.now() - this.pastAt < PAST_MS)
            return false;
        this.pastAt = Date.now();
        try {
            const { list, running } = await loadPast(signal);

            this.pastList = list;
            this.runs = running.includes(Number(this.pid));
        } catch (error) {
            if (isAbort(error))
                throw error;
            return false; // what was known stays
        }
        return true;
    }

    // Whether a JVM that has ended had the pid; then that is what is shown. @only: where the range is of its time.
    async findPast(signal, { only = false } = {}) {
        await this.askPast(signal);
        const at = this.on.at(), past = pastOf(this.pastList, Number(this.pid), Number.isNaN(at) ? Infinity : at);

        if (!past || (only && at > past.last + END_SLACK_MS))
            return false;
        this.isGone = true;
        this.past = past;
        this.banner.show("", "facts");
        this.showPast();
        this.on.gone();
        return true;
    }

    showPast() {
        const { pid, last, jdk, service, version, how } = this.past, ran = runText(this.past);
        const facts = [`PID ${pid}`, [service, version].filter(Boolean).join(" "), jdk && `JDK ${shortVersion(jdk)}`,
            ran && `ran for ${ran}`];

        this.root.replaceChildren(element("span", { class: "bad" }, `${endText(this.past)}, ${formatAgo(last)} ago`),
            ...facts.filter(Boolean).map((fact) => element("span", {}, fact)), ...how ? [element("span", { class: "how" }, how)] : []);
        this.root.title = how;
    }

    show() {
        const { jvm } = this;
        const facts = [[`CPU now ${formatShare(jvm.cpu_percent, 100)}`, cpuLimitText(jvm)], [`${formatCount(jvm.threads)} threads`], [formatBytes(jvm.rss)],
            [`JDK ${shortVersion(jvm.java_version)}`], [placeOf(jvm)]];

        const { serviceName: service } = this; // last what gives way where there is no room
        const link = () => (service ? [element("span", {}, element("a", { href: formatRoute("service", service), title: `All JVMs of ${service}, and what changed` }, "Service"))] : []);

        this.texts.replaceChildren(...facts.filter(([fact]) => fact).map(([fact, more = ""]) =>
            element("span", {}, fact, more && element("span", { class: "limit", title: more }, ` ${more.replace("a limit of ", "")}`))));
        if (this.texts.parentNode !== this.root || this.linked !== service) // else the link may be under a hand
            this.root.replaceChildren(element("span", {}, `PID ${jvm.pid}`), ...link(), this.texts);
        this.linked = service;
        this.root.title = [`JDK ${shortVersion(jvm.java_version)}, ${mainOf(jvm)}`, jvm.args].filter(Boolean).join(" ").slice(0, 2000);
    }
}
