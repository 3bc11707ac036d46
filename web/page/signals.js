// SPDX-License-Identifier: Apache-2.0
// What is wrong with JVMs, as /api/v1/signals says it, and where in the page its evidence is.

import { element } from "../shared/dom.js";
import { formatAgo, formatMoment, withLocalTimes } from "../shared/format.js";
import { shortClasses } from "../shared/names.js";
import { formatRoute } from "./route.js";
import { nodeNow } from "../shared/now.js";

const WORST = 3;
const PAST_LEAST_MS = 60000;
const SEVERITIES = ["", "little", "much", "severe"]; // classes, by what it costs

// The worst first, then the oldest: [{signal, severity, pid, since (ms since 1970), sentence, remedy, evidence}].
export function openSignals({ signals }) {
    return signals.map((one) => ({ ...one, since: Date.parse(one.since) }))
        .sort((a, b) => b.severity - a.severity || a.since - b.since);
}

// Those that were on within the last hour, the worst first, then the newest, with until (ms since 1970) and times.
export function openPastSignals({ past = [] }) {
    return past.map((one) => ({ ...one, since: Date.parse(one.since), until: Date.parse(one.until) }))
        .sort((a, b) => b.severity - a.severity || b.until - a.until);
}

const RECENT_MS = 600000;
const YOUNG_MS = 120000;

// Of @past those that were worse than all that are on, within the last 10 minutes: a JVM that stopped is no better for it.
export function lastWorse(past, on, now = nodeNow()) {
    const worst = Math.max(0, ...on.map(({ severity }) => severity));

    return past.filter(({ severity, until }) => severity > worst && now - until < RECENT_MS);
}

// A sentence as people read it: classes without packages, times by their clock, and each number on one line with its unit.
export const sentenceText = (sentence) => withLocalTimes(shortClasses(sentence)).replace(/(\d) (?=(?:%|[mµn]?s|min|h|[KMGT]?i?B)(?![\w]))/g, "$1\u00a0");

// "12:24"
export const minuteText = (ms) => formatMoment(ms).replace(/:\d\d(?=Z?$)/, "");

// "for 12 min", or "since 12:24" of less than two: the line is renewed each minute, and seconds would not count on.
const lasts = (since) => (nodeNow() - since < YOUNG_MS ? `since ${minuteText(since)}` : `for ${formatAgo(since)}`);

// "12 min ago"; "" of less than two.
export const agoText = (ms) => (nodeNow() - ms < YOUNG_MS ? "" : `${formatAgo(ms)} ago`);

// As above; of the end of a JVM "12 min ago" or "at 12:24"; of a signal that was on shortly before, too, since the first of these
// times: "on and off for 12 min".
export function sinceText({ signal, pid, since }, past) {
    if (signal === "ended")
        return agoText(since) || `at ${minuteText(since)}`;
    const before = past.find((one) => one.signal === signal && one.pid === pid && since - one.until < RECENT_MS);

    return before ? `on and off ${lasts(before.since)}` : lasts(since);
}

// "until 12:24"; of the end of a JVM when it was: "at 12:24".
export function untilText({ signal, since, until }) {
    return signal === "ended" ? `at ${minuteText(since)}` : `until ${minuteText(until)}`;
}

// What the colours mean.
const MEANINGS = ["", "it costs less than 15 % of the time", "it costs 15 % of the time, or a limit is reached within an hour", "it costs 40 % of the time, or a limit is reached within 10 min"];

// "severity 3 of 3: costs 40 % …"
export const severityText = (severity) => (MEANINGS[severity] ? `severity ${severity} of ${WORST}: ${MEANINGS[severity]}` : "");

export const severityLegend = () => element("span", { class: "severity-legend quiet" }, "Costs: ", ...[3, 2, 1].flatMap((severity) =>
    [element("span", { class: `signal ${SEVERITIES[severity]}`, title: severityText(severity) }, ["", "little", "much", "most"][severity]), " "]));

export const severityClass = ({ severity }) => SEVERITIES[Math.max(0, Math.min(WORST, severity))] || "little";

// The signals of each pid: Map.
export function signalsByPid(list) {
    const map = new Map();

    for (const one of list)
        map.set(one.pid, [...map.get(one.pid) || [], one]);
    return map;
}

// Where the page shows what the flight recorder has of an event: what links say, and the parameters.
const RECORDED = {
    cpu: ["What ran then", {}], offcpu: ["What they wait for", { event: "offcpu" }], wall: ["What they did", { event: "wall" }],
    lock: ["Which locks, and who has them", { tab: "locks" }],
};

const CAPTURED = { alloc: "Who allocates …", live: "What stays …" };

// Whether what shows @signal is what threads wait for.
export const isAboutWaits = ({ evidence }) => /^\/profile\?(.*&)?event=(offcpu|lock)(&|$)/.test(evidence);

// {label, href} of the time when a signal was on that is over, at least a minute; of an end, the minute before it.
export function pastLink({ signal, pid, since, until }, target) {
    const to = signal === "ended" ? since : until, iso = (ms) => new Date(ms).toISOString();

    return { label: RECORDED.cpu[0], href: formatRoute(...target.service ? ["service", target.service] : ["jvm", String(pid || target.pid)],
        { from: iso(Math.min(since, to - PAST_LEAST_MS)), to: iso(to) }) };
}

// {label, href} in the page of a path of the API that shows something; null: it has no view. @target: {pid} or {service}
// of a path that names none.
export function evidenceLink(evidence, target = {}) {
    const [path, query = ""] = evidence.split("?");
    const params = new URLSearchParams(query), one = /^\/api\/v1\/jvms\/(\d+)\/heap$/.exec(path);
    const service = params.get("service") || (params.get("pid") ? "" : target.service);
    const subject = service ? ["service", service] : ["jvm", params.get("pid") || target.pid || "node"];
    const event = params.get("event") || "cpu";

    if (one)
        return { label: "Memory", href: formatRoute("jvm", one[1], { tab: "memory" }) };
    if (path === "/api/v1/diff" || path === "/api/v1/changes")
        return { label: "What changed", href: formatRoute(...subject, { tab: "changes" }) };
    if (path !== "/profile")
        return null;
    if (!RECORDED[event])
        return { label: CAPTURED[event] || "Capture it …", href: formatRoute(...subject, { start: event }) };
    return { label: RECORDED[event][0], href: formatRoute(...subject, { ...RECORDED[event][1], from: params.get("from"), to: params.get("to") }) };
}

// A remedy, which stands behind a sentence, with links in place of the paths of the API that it names. @target: as above.
export function remedyParts(remedy, target) {
    return (remedy.slice(0, 1).toUpperCase() + remedy.slice(1)).split(/(\(\/[^)\s]+\))/).map((part) => {
        const link = part.startsWith("(/") ? evidenceLink(part.slice(1, -1), target) : null;

        return link ? element("a", { href: link.href }, `(${link.label})`) : part;
    });
}
