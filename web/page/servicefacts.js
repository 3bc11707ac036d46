// SPDX-License-Identifier: Apache-2.0
// What one service is: its versions, its JVMs of now and of before. In the place that JvmFacts have for one JVM.

import { getJson, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { EndedTable } from "./endedtable.js";
import { formatAgo, formatCount, formatMoment, plural } from "../shared/format.js";
import { shortMain } from "../shared/names.js";
import { emptyState } from "./notice.js";
import { loadPast } from "./past.js";
import { formatRoute } from "./route.js";

const SERVICE_SECONDS = 5;
const VERSIONS_SHOWN = 3;

export class ServiceFacts {
    // @on: {known(), late(): no answer yet, gone(): none of its JVMs runs}
    constructor(name, banner, on) {
        Object.assign(this, { name, banner, on, jvm: null, past: null, isGone: false });
        this.root = element("p", { class: "facts jvm-facts" });
        this.jvms = new ServiceJvms(name);
    }

    get serviceName() {
        return this.name;
    }

    start() {
        this.end = repeat(SERVICE_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
    }

    async load(signal) {
        try {
            const { services } = await getJson("api/v1/services", {}, signal);
            const service = services.find(({ name }) => name === this.name);

            if (service) {
                this.show(service);
                this.jvms.show(service);
            }
            this.past = service && service.jvms.length ? null : (await loadPast(signal)).list.find((one) => one.service === this.name) || null;
            this.isGone = !service || !service.jvms.length;
            this.banner.show("", "facts");
            if (this.isGone)
                this.on.gone();
            else
                this.on.known();
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.banner.show(`${error.message}. Trying again …`, "facts");
            this.on.late();
        }
    }

    show({ jvms, ended, versions, environments, first_seen: first }) {
        const newest = versions.slice(-VERSIONS_SHOWN).join(", ");
        const facts = [plural(jvms.length, "JVM", "JVMs"), ended.length ? `${formatCount(ended.length)} ended` : "",
            newest && `${versions.length > 1 ? "versions" : "version"} ${newest}${versions.length > VERSIONS_SHOWN ? ` and ${versions.length - VERSIONS_SHOWN} more` : ""}`,
            environments.join(", "), first ? `since ${formatMoment(Date.parse(first))}` : ""];

        this.root.replaceChildren(...facts.filter(Boolean).map((fact) => element("span", {}, fact)));
        this.root.title = versions.join(", ");
    }
}

// Its JVMs: those that run, and those that have ended.
class ServiceJvms {
    constructor(name) {
        this.name = name;
        this.body = element("tbody");
        this.table = element("table", { class: "list" }, element("caption", { class: "offscreen" }, "JVMs of the service"),
            element("thead", {}, element("tr", {}, ...["JVM", "Version", "Instance", "Up", "PID"].map((label) =>
                element("th", { scope: "col", class: label === "Up" || label === "PID" ? "num" : null }, label)))), this.body);
        this.blank = element("div");
        this.ended = new EndedTable();
        this.root = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "JVMs" }, this.table, this.blank, this.ended.root);
    }

    start() {
        this.end = repeat(SERVICE_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
    }

    async load(signal) {
        const { list } = await loadPast(signal);

        this.ended.show({ list: list.filter(({ service }) => service === this.name), leftOut: 0 }, "");
    }

    show({ jvms }) {
        const key = JSON.stringify([jvms, Math.floor(Date.now() / 30000)]);

        if (key === this.key)
            return;
        this.key = key;
        this.table.hidden = !jvms.length;
        this.blank.replaceChildren(...jvms.length ? [] : [emptyState("No JVM of this service runs now.")]);
        this.body.replaceChildren(...jvms.map(({ pid, main, version, instance, start_time: start }) => element("tr", {},
            element("td", { title: main }, element("a", { class: "jvm-link", href: formatRoute("jvm", pid) }, shortMain(main || "(unnamed)"))),
            element("td", {}, version || "–"), element("td", {}, instance || "–"),
            element("td", { class: "num" }, start ? formatAgo(Date.parse(start)) : "–"), element("td", { class: "num" }, String(pid)))));
    }
}
