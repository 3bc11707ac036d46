// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
    asSentence, chooseClock, formatClock, formatCount, formatMoment, formatRange, formatSeconds, formatShare, formatTime, formatValue, plural, withLocalTimes,
} from "../../web/shared/format.js";

const plain = (text) => text.replaceAll("\u00a0", " ");

test("counts have groups of three digits", () => {
    for (const [n, text] of [[0, "0"], [999, "999"], [1000, "1,000"], [1234567, "1,234,567"], [1e15, "1,000,000,000,000,000"]])
        assert.equal(formatCount(n), text);
    assert.equal(plain(plural(1, "sample", "samples")), "1 sample");
    assert.equal(plain(plural(2000, "sample", "samples")), "2,000 samples");
});

test("shares have one decimal and never lie about none or all", () => {
    for (const [part, whole, text] of [[0, 10, "0.0 %"], [1, 3, "33.3 %"], [1, 10000, "<0.1 %"], [5, 10000, "0.1 %"],
        [9999, 10000, ">99.9 %"], [10, 10, "100.0 %"], [0, 0, "–"], [1, 0, "–"]])
        assert.equal(plain(formatShare(part, whole)), text);
});

test("values carry their unit", () => {
    for (const [n, unit, text] of [[0, "nanoseconds", "0 ns"], [5, "nanoseconds", "5 ns"], [1500, "nanoseconds", "1.50 µs"],
        [13303030170, "nanoseconds", "13.3 s"], [999.6e6, "nanoseconds", "1000 ms"], [6e11, "nanoseconds", "10.0 min"],
        [512, "bytes", "512 B"], [1536, "bytes", "1.50 KiB"], [2 ** 40, "bytes", "1.00 TiB"],
        [12345, "faults", "12,345 faults"], [7, "", "7"]])
        assert.equal(plain(formatValue(n, unit)), text);
});

test("times", () => {
    for (const [s, text] of [[0.1, "0.1 s"], [10, "10 s"], [119, "119 s"], [120, "2 min"], [3600, "1 h"], [5400, "1.5 h"]])
        assert.equal(plain(formatSeconds(s)), text);
    assert.equal(formatTime("2026-11-21T01:26:54.123456789Z"), "2026-11-21 01:26:54 UTC");
    assert.equal(formatTime(null), "");
});

test("times of one clock, local or UTC", () => {
    const before = process.env.TZ, at = Date.parse("2026-11-21T23:26:54.900Z");

    process.env.TZ = "Asia/Kolkata";
    assert.equal(formatTime("2026-11-21T23:26:54Z"), "2026-11-21 23:26:54 UTC"); // by itself
    chooseClock(false);
    assert.deepEqual([formatClock(at), formatTime("2026-11-21T23:26:54Z"), formatMoment(at, at + 3600e3), formatMoment(at, at + 86400e3)],
        ["04:56:54", "2026-11-22 04:56:54", "04:56:54", "2026-11-22 04:56:54"]);
    chooseClock(true);
    assert.deepEqual([formatClock(at), formatTime("2026-11-21T23:26:54Z"), formatMoment(at, at + 3600e3), formatMoment(NaN)],
        ["23:26:54", "2026-11-21 23:26:54", "2026-11-21 23:26:54", "–"]);
    process.env.TZ = before || "UTC";
});

test("times in sentences of flamed are by the clock that was chosen", () => {
    chooseClock(true);
    assert.equal(withLocalTimes("from 2001-02-03T04:05:06.5Z to 2001-02-03T04:06:00Z it ran"), "from 2001-02-03 04:05:06 to 2001-02-03 04:06:00 it ran");
});

test("what flamed says of an event stands as a sentence does, with the sign of microseconds", () => {
    assert.equal(asSentence("memory that Java code allocates. It costs about 1 us for each, 0.5 us, and 10 usual ones."),
        "Memory that Java code allocates. It costs about 1 µs for each, 0.5 µs, and 10 usual ones.");
    assert.equal(asSentence(""), "");
});

test("a range has the day of each end that is not today's", () => {
    const at = Date.parse("2026-11-21T23:50:00Z"), range = (minutes, now) => formatRange({ from: at, to: at + minutes * 60000 }, at + now * 60000);

    chooseClock(true);
    assert.equal(range(5, 6), "23:50:00 – 23:55:00");
    assert.equal(range(5, 60), "2026-11-21 23:50:00 – 23:55:00");
    assert.equal(range(20, 6000), "2026-11-21 23:50:00 – 2026-11-22 00:10:00");
});

test("the longest times have hours and days", () => {
    assert.equal(formatValue(9e12, "nanoseconds"), "2.50\u00a0h");
    assert.equal(formatValue(2592e11, "nanoseconds"), "3.00\u00a0d");
});
