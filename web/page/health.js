// SPDX-License-Identifier: Apache-2.0
// Schedules and health: what runs when, what went wrong last, what flamed itself costs, how good the data is.

import { getJson, getReady, getText, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { asSentence, formatAgo, formatBytes, formatCount, formatMoment, formatSeconds, formatShare } from "../shared/format.js";
import { emptyState } from "./notice.js";

const HEALTH_SECONDS = 5;

// [{name, labels, value}] of Prometheus' text.
export function parseMetrics(text) {
    const list = [];

    for (const line of text.split("\n")) {
        const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);

        if (!m || line.startsWith("#"))
            continue;
        const labels = {};

        for (const [, key, value] of (m[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
            labels[key] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
        list.push({ name: m[1], labels, value: Number(m[3]) });
    }
    return list;
}

export function metricSum(metrics, name, labels = {}) {
    const found = metrics.filter((m) => m.name === name &&
        Object.entries(labels).every(([key, value]) => m.labels[key] === value));

    return found.length ? found.reduce((sum, { value }) => sum + value, 0) : null;
}

// "cpu · 30 s every 10 min · namespace="prod"", of a schedule or a trigger of /api/v1/schedules.
export function scheduleText({ event, for_seconds: seconds, every_seconds: every, on, match }) {
    return [event, formatSeconds(seconds) + (every ? ` every ${formatSeconds(every)}` : ` when ${on || "an alert asks for it"}`), match || "whole node"].join(" · ");
}

export class HealthView {
    constructor(app) {
        this.app = app;
        this.parts = {};
        this.body = element("div", { class: "health" });
        for (const [id, title] of [["ready", "Readiness"], ["cost", "What flamed costs"], ["quality", "Quality of the data"],
            ["store", "Memory of the past"], ["schedules", "Schedules"]]) {
            this.parts[id] = element("div", { class: "health-body" }, "…");
            this.body.append(element("section", { class: "card card-" + id, "aria-label": title },
                element("h2", {}, title), this.parts[id]));
        }
        this.root = element("div", { class: "view settling" }, element("div", { class: "scroll", tabindex: "0", "aria-label": "Health", role: "region" }, this.body));
    }

    start() {
        this.app.setCrumbs([{ text: "Health" }]);
        this.end = repeat(HEALTH_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        this.end();
    }

    setTheme() {
        // nothing is drawn here
    }

    keyed() {
        return false;
    }

    async load(signal) {
        let failure = "";
        const part = async (id, run) => {
            try {
                await run();
                return true;
            } catch (error) {
                if (isAbort(error))
                    throw error;
                failure = error.message;
                for (const one of id)
                    this.parts[one].replaceChildren(element("p", { class: "bad" }, [error.message, error.remedy].filter(Boolean).join(". ")));
                return false;
            }
        };
        const fine = await Promise.all([
            part(["ready"], async () => this.showReady(await getReady(signal))),
            part(["cost", "quality", "store"], async () => this.showMetrics(parseMetrics(await getText("metrics", {}, signal)))),
            part(["schedules"], async () => this.showSchedules(await getJson("api/v1/schedules", {}, signal))),
        ]);

        this.root.classList.remove("settling"); // all of it has its place
        this.app.banner.show(fine.some(Boolean) ? "" : `${failure}. Trying again …`, "health");
    }

    showReady({ status, problems }) {
        this.parts.ready.replaceChildren(element("p", { class: status === "ready" ? null : "bad" },
            status === "loading" ? "flamed is starting:" :
                status === "ready" ? problems.length ? "Sampling works, with limits:" : "Everything works." :
                    "Sampling does not work here:"),
        problems.length ? element("ul", {}, ...problems.map(({ what, detail, remedy, fatal }) => element("li", { class: fatal ? "bad" : null },
            element("b", {}, what), ": " + [detail, remedy && asSentence(remedy)].filter(Boolean).join(". ")))) : "");
    }

    facts(id, list) {
        this.parts[id].replaceChildren(element("dl", {}, ...list.filter(([, value]) => value !== null).flatMap(([name, value, isBad]) => [
            element("dt", {}, name), element("dd", { class: isBad ? "bad" : null }, value)])));
    }

    showMetrics(metrics) {
        const get = (name, labels) => metricSum(metrics, name, labels);
        const when = performance.now() / 1000;
        const cpu = ["flamed", "flamed-broker"].map((process) => get("flamed_cpu_seconds_total", { process }));
        const before = this.before;
        const isMeasured = (i) => before && cpu[i] !== null && cpu[i] >= before.cpu[i]; // less: it was started again
        const share = (i) => (isMeasured(i) ? formatShare((cpu[i] - before.cpu[i]) / (when - before.when), 1) + " of a CPU" : "measuring …");
        const bytes = (value) => (value === null ? null : formatBytes(value));
        const count = (value) => (value === null ? null : formatCount(value));
        const samples = get("flamed_samples_total"), lost = get("flamed_samples_lost_total");
        const unknown = get("flamed_samples_unknown_total"), cut = get("flamed_samples_truncated_total");
        const truncated = cut === null ? null : cut - get("flamed_samples_truncated_total", { reason: "not_taken" }); // of looks that had no stack taken
        const build = metrics.find(({ name }) => name === "flamed_build_info");

        this.before = { cpu, when };
        this.facts("cost", [["Daemon", share(0)], ["Broker", cpu[1] === null ? null : share(1)],
            ["Memory, daemon", bytes(get("flamed_resident_memory_bytes", { process: "flamed" }))],
            ["Memory, broker", bytes(get("flamed_resident_memory_bytes", { process: "flamed-broker" }))],
            ["Taking samples", get("flamed_sample_seconds_total") === null ? null : formatSeconds(get("flamed_sample_seconds_total")) + " since it started"],
            ["Version", build ? build.labels.version : null]]);
        this.facts("quality", [["Samples taken", count(samples)], ["Lost", lost === null ? null : `${formatCount(lost)} (${formatShare(lost, samples + lost)})`, lost > samples * 0.01],
            ["With a nameless frame", count(unknown), unknown > samples * 0.05], ["With a cut stack", count(truncated), truncated > samples * 0.05],
            ["Processes", count(get("flamed_processes"))], ["JVMs", count(get("flamed_jvms"))]]);
        if (unknown > samples * 0.05 || truncated > samples * 0.05)
            this.parts.quality.append(element("p", { class: "quiet card-note" }, "Of all processes of the node, and of waits, too: " +
                "programs that were stripped of their symbols have nameless frames, those without unwind tables have cut " +
                "stacks. What a profile itself lacks stands above its graph."));
        this.facts("store", [["Flight recorder reaches back", get("flamed_flight_recorder_seconds") === null ? "off" : formatSeconds(get("flamed_flight_recorder_seconds"))],
            ["Its memory", bytes(get("flamed_flight_recorder_bytes"))], ["Stored captures", count(get("flamed_store_captures"))],
            ["Their size", bytes(get("flamed_store_bytes"))],
            ["Store", get("flamed_store_healthy") === null ? null : get("flamed_store_healthy") ? "healthy" : "cannot be written", get("flamed_store_healthy") === 0],
            ["Captures running", count(get("flamed_captures_running"))]]);
    }

    // Triggers, too: they have no next run.
    showSchedules({ schedules, triggers = [] }) {
        const time = (text) => (text ? formatMoment(Date.parse(text)) : "–"), ago = (text) => (text ? `${time(text)}, ${formatAgo(Date.parse(text))} ago` : "not yet");
        const isBad = (s) => s.last_error && !(Date.parse(s.last_run) > Date.parse(s.last_error_time)); // it has worked since

        if (!schedules.length && !triggers.length) {
            this.parts.schedules.replaceChildren(emptyState("Nothing is scheduled.",
                "Schedules stand in /etc/flamed/flamed.yaml; captures that they take appear under Captures."));
            return;
        }
        this.parts.schedules.replaceChildren(element("div", { class: "wide" }, element("table", { class: "list" },
            element("thead", {}, element("tr", {}, ...["Name", "What", "Last run", "Next run", "Missed", "Last error"].map((label) => element("th", { scope: "col" }, label)))),
            element("tbody", {}, ...[...schedules, ...triggers].map((s) => element("tr", {}, element("td", {}, s.name), element("td", {}, scheduleText(s)),
                element("td", {}, ago(s.last_run)), element("td", {}, s.every_seconds ? time(s.next_run) : "when it is asked for"), element("td", {}, s.missed ? formatCount(s.missed) : "–"),
                element("td", { class: isBad(s) ? "bad" : null }, s.last_error ? `${ago(s.last_error_time)}: ${s.last_error}` : "none")))))));
    }
}
