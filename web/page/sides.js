// SPDX-License-Identifier: Apache-2.0
// What is compared: a side is the id of a capture, or "TARGET,FROM,TO" as the address keeps it. TARGET is a pid,
// "pod:NAMESPACE/NAME", "service:NAME" with "," as "%2C", or nothing for the whole node; times are RFC 3339, or relative such as "-60s".

import { getJson } from "./api.js";
import { formatMoment, formatRange, formatSeconds } from "../shared/format.js";
import { jvmName, processName } from "./jvmwords.js";
import { KIND } from "../shared/kinds.js";
import { checkedJson, openJson } from "./openjson.js";
import { dropKind } from "../shared/transform.js";
import { nodeNow } from "../shared/now.js";

export const WINDOW_S = 60;

// [value, words] of times: from so many seconds ago, for so many.
const TIMES = [
    ["-60s,", "the last minute"], ["-300s,", "the last 5 min"], ["-900s,", "the last 15 min"],
    ["-360s,-300s", "a minute, 5 min ago"], ["-660s,-600s", "a minute, 10 min ago"],
    ["-1860s,-1800s", "a minute, 30 min ago"], ["-3660s,-3600s", "a minute, 1 h ago"],
];

export function parseSide(side) {
    if (!side.includes(","))
        return { capture: side, target: "", from: "", to: "" };
    const [target, from = "", to = ""] = side.split(",");

    return { capture: "", target, from, to };
}

const iso = (ms) => new Date(ms).toISOString();

// What is asked for so that @range's last moment is part of it.
export const endOfRange = ({ to }) => to + 1;

export function rangeSide(target, range) {
    return `${target},${iso(range.from)},${iso(range.to)}`;
}

// The parameters that name a target.
export function targetParams(target) {
    const pod = /^pod:(.*)\/([^/]*)$/.exec(target);

    if (target.startsWith("service:"))
        return { service: decodeURIComponent(target.slice(8)) };
    return pod ? { pod: pod[2], namespace: pod[1] } : target ? { pid: target } : {};
}

// What a target is called.
export function targetName(target) {
    const { pod, service } = targetParams(target);

    return pod || (service ? `service ${service}` : target ? `pid ${target}` : "the node");
}

export const serviceTarget = (name) => `service:${encodeURIComponent(name)}`;
export const podTarget = ({ name, namespace }) => `pod:${namespace || ""}/${name}`;

// ms since 1970 of a time in a side; relative ones count from @now.
function timeOf(text, now) {
    return !text ? now : text.startsWith("-") ? now - parseFloat(text.slice(1)) * 1000 : Date.parse(text);
}

export function rangeOf(side, now = nodeNow()) {
    const { from, to } = parseSide(side);

    return { from: timeOf(from, now), to: timeOf(to, now) };
}

// The same with times that stay what they are: a link to it shows the same later.
export function fixedSide(side, now = nodeNow()) {
    const { capture, target } = parseSide(side);

    return capture || !side ? side : rangeSide(target, rangeOf(side, now));
}

// Numbers of what is generated differ from start to start: they would make the same code look new and gone. Threads that wait for work
// would be the biggest change of all.
const ASKED = { format: "json", names: "merged", idle: 0 };

const hasProcesses = ({ frames }) => frames.some(({ kind }) => kind === "process");

function isOfOneService({ processes }) {
    const services = new Set((processes || []).map(({ service }) => service || ""));

    return services.size === 1 && !services.has("");
}

// Both sides' profiles, alike: their stacks begin with processes only if each has some, and not both are of one service. JVMs of
// one service are compared as one, as a release starts it again under another pid; the profile of one process names none.
export function openSides(...sides) {
    const areApart = sides.every(hasProcesses) && !sides.every(isOfOneService);

    return sides.map((json) => (areApart ? openJson(json) : dropKind(openJson(json), KIND.PROCESS)));
}

// The json format of a side.
export async function fetchSide(side, signal) {
    const { capture, target } = parseSide(side);

    if (capture)
        return checkedJson(await getJson(`api/v1/captures/${capture}/profile`, ASKED, signal));
    const { from, to } = rangeOf(side);

    return checkedJson(await getJson("profile", {
        ...targetParams(target), from: iso(from), to: iso(endOfRange({ to })), ...ASKED,
    }, signal));
}

export function captureText(c) {
    const [process] = c.processes || [];

    const start = formatMoment(Date.parse(c.start)).replace(/^\d+-/, ""); // without the year: it stands in a narrow list

    return `${process ? processName(process) : "node"} · ${start} · ` +
        `${formatSeconds(c.seconds)} · ${c.event}`;
}

// What can be chosen: [{label, options: [[value, text]]}], a value being a capture's id or "TARGET,".
export function targetGroups(captures, jvms) {
    const byName = (a, b) => (a[1] < b[1] ? -1 : 1);
    const pods = new Map(jvms.filter(({ pod }) => pod && pod.name).map(({ pod }) => [podTarget(pod), pod.name]));

    return [
        { label: "JVMs", options: jvms.map((j) => [`${j.pid},`, `${jvmName(j).slice(0, 80)} (${j.pid})`]).sort(byName) },
        { label: "Pods", options: [...pods].map(([target, name]) => [`${target},`, name]).sort(byName) },
        { label: "Node", options: [[",", "Whole node"]] },
        { label: "Captures", options: captures.map((c) => [c.id, captureText(c)]) },
    ].filter(({ options }) => options.length);
}

// [value, text] of times, the chosen one first where it is none of the usual.
export function timeChoices(side) {
    const { from, to } = parseSide(side);
    const chosen = `${from},${to}`;

    return TIMES.some(([value]) => value === chosen) || chosen === "," ? TIMES
        : [[chosen, formatRange(rangeOf(side))], ...TIMES];
}
