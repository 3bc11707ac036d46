// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: always with a unit, shares with one decimal, digits in groups of three.

import { nodeNow } from "./now.js";

const NBSP = "\u00a0";

export function formatCount(n) {
    return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function formatShare(part, whole) {
    if (!(whole > 0))
        return "–";
    const percent = part / whole * 100;

    if (percent > 0 && percent < 0.05)
        return "<0.1" + NBSP + "%";
    if (percent < 100 && percent > 99.95)
        return ">99.9" + NBSP + "%";
    return percent.toFixed(1) + NBSP + "%";
}

// 1, 2 or 0 decimals, so that three digits count.
function threeDigits(n) {
    return n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2);
}

function scaled(n, steps) {
    for (const [least, unit] of steps)
        if (n >= least)
            return (least === 1 && Number.isInteger(n) ? String(n) : threeDigits(n / least)) + NBSP + unit;
    return "0" + NBSP + steps[steps.length - 1][1];
}

const NANOSECONDS = [[864e11, "d"], [36e11, "h"], [6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

export function formatValue(n, unit) {
    if (unit === "nanoseconds")
        return scaled(n, NANOSECONDS);
    if (unit === "bytes")
        return scaled(n, BYTES);
    return formatCount(n) + (unit ? NBSP + (unit === "count" ? "events" : unit) : "");
}

export function formatSeconds(seconds) {
    if (seconds >= 3600)
        return +(seconds / 3600).toFixed(1) + NBSP + "h";
    if (seconds >= 120)
        return +(seconds / 60).toFixed(1) + NBSP + "min";
    return +seconds.toFixed(seconds < 10 ? 1 : 0) + NBSP + "s";
}

export function plural(n, one, many) {
    return formatCount(n) + NBSP + (n === 1 ? one : many);
}

// Times are local, or all UTC where that was chosen; files that are opened by themselves say UTC with each.
const clock = { isUtc: false, isMarked: true };

// @isUtc: which of both. The owner marks it in one place, so that times need no mark of their own.
export function chooseClock(isUtc) {
    Object.assign(clock, { isUtc, isMarked: false });
}

// Milliseconds that clocks here are behind UTC at @ms.
export const clockBehind = (ms) => (clock.isUtc ? 0 : new Date(ms).getTimezoneOffset() * 60000);

// "2026-11-21T01:26:54" as the clock that was chosen shows it.
const shownAt = (ms) => new Date(ms - clockBehind(ms)).toISOString().slice(0, 19);

// "2026-11-21 01:26:54 UTC" of an RFC 3339 time in UTC, or without the mark as the chosen clock shows it; "" of anything else.
export function formatTime(rfc3339) {
    const m = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(rfc3339 || "");

    return !m ? "" : clock.isMarked ? `${m[1]} ${m[2]} UTC` : shownAt(Date.parse(rfc3339)).replace("T", " ");
}

// "14:03:07", of ms since 1970.
export function formatClock(ms) {
    return Number.isNaN(ms) ? "–" : shownAt(ms).slice(11);
}

// The same with the day in front where it is not today.
export function formatMoment(ms, now = nodeNow()) {
    if (Number.isNaN(ms))
        return "–";
    const [day, time] = shownAt(ms).split("T");

    return day === shownAt(now).slice(0, 10) ? time : `${day} ${time}`;
}

// "14:03:07 – 14:05:00": the day stands before each time that is of another day than the one before it.
export function formatRange({ from, to }, now = nodeNow()) {
    const [begin, end] = [from, to].map((ms) => formatMoment(ms, now)), dayOf = (text) => text.slice(0, -8);

    return `${begin} – ${dayOf(begin) === dayOf(end) ? end.slice(-8) : end}`;
}

// @text with its times, which flamed writes in UTC, by the clock that was chosen; unchanged where none was.
export function withLocalTimes(text) {
    return clock.isMarked ? text
        : text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => formatMoment(Date.parse(time)));
}

export function formatAgo(ms, now = nodeNow()) {
    const seconds = Math.max(0, (now - ms) / 1000);

    if (seconds < 120)
        return Math.round(seconds) + NBSP + "s";
    if (seconds < 7200)
        return Math.round(seconds / 60) + NBSP + "min";
    if (seconds < 172800)
        return Math.round(seconds / 3600) + NBSP + "h";
    return Math.round(seconds / 86400) + NBSP + "days";
}

export const formatBytes = (n) => scaled(n, BYTES);

// A text of flamed as a sentence begins, with µs where it writes us.
export const asSentence = (text) => text.slice(0, 1).toUpperCase() + text.slice(1).replace(/(\d )us\b/g, "$1µs");
