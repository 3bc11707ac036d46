// SPDX-License-Identifier: Apache-2.0
// What one JVM is, asked again and again; the banner says when it has ended or cannot be read.

import { getJson, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { formatBytes, formatCount, formatShare } from "../shared/format.js";
import { isProfilable, isSameJvm, mainOf, placeOf, shortVersion } from "./node.js";

const FACTS_SECONDS = 2;

export class JvmFacts {
    // @on: {known(): there is an answer, gone(): it has ended}
    constructor(pid, banner, on) {
        Object.assign(this, { pid, banner, on });
        this.jvm = null; // the last answer
        this.isGone = false;
        this.wasReplaced = false;
        this.root = element("p", { class: "facts jvm-facts" });
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
            this.failed(error);
            return;
        }
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

    failed(error) {
        if (error.status !== 404) {
            this.banner.show(`${error.message}. Trying again …`);
            return;
        }
        this.isGone = true;
        this.banner.show(this.jvm ? "This JVM has ended. What it did can still be looked at: drag over the timeline."
            : `${error.message}. What it did before may still be recorded: drag over the timeline.`);
        this.on.gone();
    }

    show() {
        const { jvm } = this;
        const facts = [`PID ${jvm.pid}`, placeOf(jvm), `JDK ${shortVersion(jvm.java_version)}`,
            `CPU ${formatShare(jvm.cpu_percent, 100)}`, `${formatCount(jvm.threads)} threads`, formatBytes(jvm.rss)];

        this.root.replaceChildren(...facts.filter(Boolean).map((fact) => element("span", {}, fact)));
        this.root.title = [mainOf(jvm), jvm.args].filter(Boolean).join(" ").slice(0, 2000);
    }
}
