// SPDX-License-Identifier: Apache-2.0
// JVMs that have ended, as far as the history and the signals reach, and how they ended.

import { formatAgo, formatMoment } from "../shared/format.js";
import { getJson } from "./api.js";
import { nodeNow } from "../shared/now.js";

const LAST_MINUTE_MS = 60000;
const END_NEAR_MS = 300000; // from the last sample to the end, at most

const DEPLOY_GAP_MS = 600000; // between the end of the old one and the start of the new one, which may come first
const DEPLOY_SHOWN_MS = 3600000;

const START_NEAR_MS = 1500; // starts of one process differ by as much

const timeOrNaN = (text) => (text ? Date.parse(text) : NaN);

// Whether a JVM of the history and a signal are about one process.
const isSignalOf = ({ pid, start, last }) => (signal) =>
    signal.pid === pid && signal.since >= Math.max(start || 0, last - LAST_MINUTE_MS) && signal.since <= last + END_NEAR_MS;

// The signals "ended" of /api/v1/signals as [{pid, service, since, sentence}].
function openEnds({ signals, past = [] }) {
    return [...signals, ...past].filter(({ signal }) => signal === "ended").map(({ pid, service, since, sentence }) =>
        ({ pid, service: service || "", since: timeOrNaN(since), sentence }));
}

// [{pid, main, service, version, jdk, start, last, isExact, how}], who ended last first; times in ms since 1970, start NaN: not
// known. isExact: @last is the end itself, not that of the last minute.
// @services, @signals: answers of /api/v1/services and /api/v1/signals. The first has minutes: of an end
// it has the end of its minute, once that is written.
export function openPast({ services }, signals, now = nodeNow()) {
    const ends = openEnds(signals);
    const running = services.flatMap(({ jvms }) => jvms);
    const runs = ({ pid, start_time: start }) => running.some((jvm) => jvm.pid === pid && // under another service's name, too
        start && Math.abs(Date.parse(jvm.start_time) - Date.parse(start)) < START_NEAR_MS);
    const list = services.flatMap(({ name, ended }) => ended.filter((one) => !runs(one)).map((one) => ({
        pid: one.pid, main: one.main || "(unnamed)", service: name, version: one.version || "", jdk: one.java_version || "",
        start: timeOrNaN(one.start_time), last: Math.min(timeOrNaN(one.last_seen), now), isExact: false, how: "",
    })));

    for (const one of list) {
        const end = ends.find(isSignalOf(one));

        if (!end)
            continue;
        one.how = end.sentence;
        one.last = end.since;
        one.isExact = true;
        ends.splice(ends.indexOf(end), 1);
    }
    for (const { pid, service, since, sentence } of ends)
        list.push({ pid, main: service || "(unnamed)", service, version: "", jdk: "", start: NaN, last: since, isExact: true, how: sentence });
    return list.sort((a, b) => b.last - a.last || a.pid - b.pid);
}

// The JVMs that run another version than one of their service that ended shortly before: pid -> {service, version, before, began: ms since 1970}.
export function deploysOf({ services }, now = nodeNow()) {
    const deploys = new Map();

    for (const { name: service, jvms, ended } of services)
        for (const { pid, version, start_time: start } of jvms) {
            const began = timeOrNaN(start);
            const old = ended.filter((one) => one.version && timeOrNaN(one.start_time) < began && Math.abs(timeOrNaN(one.last_seen) - began) < DEPLOY_GAP_MS)
                .sort((a, b) => timeOrNaN(b.last_seen) - timeOrNaN(a.last_seen))[0];

            if (version && old && old.version !== version && now - began < DEPLOY_SHOWN_MS)
                deploys.set(pid, { service, version, before: old.version, began });
        }
    return deploys;
}

// The newest of a JVM, or of any of a service, in an answer of /api/v1/services; null: none within the hour. @target: {pid} or {service}.
export function deployOf(services, { pid, service }, now = nodeNow()) {
    const list = [...deploysOf(services, now)].filter(([of, deploy]) => (pid ? of === pid : deploy.service === service));

    return list.map(([, deploy]) => deploy).sort((a, b) => b.began - a.began)[0] || null;
}

// "Ended 14:03:07", or "Last seen 14:03" where only the minute is known.
export function endText({ last, isExact }) {
    return isExact ? `Ended ${formatMoment(last)}` : `Last seen ${formatMoment(last).replace(/:\d\d$/, "")}`;
}

// How long it ran; "": not known.
export function runText({ start, last, isExact }) {
    return Number.isNaN(start) ? "" : `${isExact ? "" : "about "}${formatAgo(start, last)}`;
}

// The last one with that pid that had begun at @at, ms since 1970; undefined: none.
export function pastOf(list, pid, at = Infinity) {
    return list.find((one) => one.pid === pid && !(one.start > at));
}

export function lastMinuteOf({ start, last }) {
    return { from: Math.max(start || 0, last - LAST_MINUTE_MS), to: last };
}

// The range that parameters of the address say; null: none.
export function paramsRange(params) {
    const from = Date.parse(params.get("from")), to = Date.parse(params.get("to"));

    return to > from ? { from, to } : null;
}

export const neverWas = (pid) => Object.assign(new Error(`No process ${pid} is known here.`),
    { remedy: "None runs now, and neither the flight recorder nor the history has one.", isFinal: true });

// The list, how many the answer left out, what /api/v1/signals said, and the pids that run now. Nothing where this flamed
// has no such routes: other errors are thrown, and what was known before stays.
export async function loadPast(signal) {
    try {
        const [services, signals] = await Promise.all([getJson("api/v1/services", {}, signal), getJson("api/v1/signals", {}, signal)]);

        return { list: openPast(services, signals), leftOut: services.ended_left_out || 0, signals, deploys: deploysOf(services), running: services.services.flatMap(({ jvms }) => jvms.map(({ pid }) => pid)) };
    } catch (error) {
        if (error.status !== 404)
            throw error;
        return { list: [], leftOut: 0, signals: { signals: [] }, deploys: new Map(), running: [] };
    }
}
