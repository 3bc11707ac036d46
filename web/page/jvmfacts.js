// SPDX-License-Identifier: Apache-2.0
// What one JVM is, asked again and again; the banner says when it has ended or cannot be read.

import { getJson, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { formatAgo, formatBytes, formatCount, formatShare } from "../shared/format.js";
import { isProfilable, isSameJvm, mainOf, placeOf, shortVersion } from "./node.js";
import { formatRoute } from "./route.js";
import { endText, loadPast, pastOf, runText } from "./past.js";

const FACTS_SECONDS = 2;
const PAST_MS = 10000;

export class JvmFacts {
    // @on: {known(): there is an answer, gone(): it has ended, or never was, at(): the end of the range, NaN: none}
    constructor(pid, banner, on) {
        Object.assign(this, { pid, banner, on });
        this.jvm = null; // the last answer
        this.past = null; // the one that had the pid at the range, and has ended
        this.isGone = false;
        this.wasReplaced = false;
        this.root = element("p", { class: "facts jvm-facts" });
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

    async load(signal) {
        let jvm;

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
            this.banner.show("The JVM that was looked at has ended; another one has its process id now.");
        else
            this.banner.show(isProfilable(jvm) ? "" : `Java names cannot be read from this JVM: ${jvm.profilable.reason}`);
        this.isGone = false;
        this.jvm = jvm;
        this.show();
        this.on.known();
    }

    async failed(error, signal) {
        if (error.status !== 404) {
            this.banner.show(`${error.message}. Trying again …`);
            return;
        }
        if (await this.findPast(signal))
            return;
        this.isGone = true;
        this.banner.show(this.jvm ? "This JVM has ended. What it did can still be looked at: drag over the timeline." : error.message);
        this.on.gone();
    }

    // Whether a JVM that has ended had the pid; then that is what is shown.
    async findPast(signal) {
        if (!(Date.now() - this.pastAt < PAST_MS)) {
            this.pastList = (await loadPast(signal)).list;
            this.pastAt = Date.now();
        }
        const at = this.on.at(), past = pastOf(this.pastList, Number(this.pid), Number.isNaN(at) ? Infinity : at);

        if (!past)
            return false;
        this.isGone = true;
        this.past = past;
        this.banner.show("");
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
        const facts = [`PID ${jvm.pid}`, placeOf(jvm), `JDK ${shortVersion(jvm.java_version)}`,
            `CPU ${formatShare(jvm.cpu_percent, 100)}`, `${formatCount(jvm.threads)} threads`, formatBytes(jvm.rss)];

        const { serviceName: service } = this;
        const link = service ? [element("span", {}, element("a", { href: formatRoute("service", service), title: "All JVMs of this service, and what changed" }, service))] : [];

        this.root.replaceChildren(...facts.filter(Boolean).map((fact) => element("span", {}, fact)), ...link);
        this.root.title = [mainOf(jvm), jvm.args].filter(Boolean).join(" ").slice(0, 2000);
    }
}
