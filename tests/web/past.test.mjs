// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { deployOf, deploysOf, openPast } from "../../web/page/past.js";
import { minuteText, sinceText } from "../../web/page/signals.js";
import { TimelineMarks } from "../../web/page/timelinemarks.js";

const NOW = Date.parse("2026-11-27T12:00:00Z");
const ago = (minutes) => new Date(NOW - minutes * 60000).toISOString();

test("a new release is another version than that of the JVM of its service that ended shortly before", () => {
    const service = (name, version, ran, ...ended) => ({ name, jvms: [{ pid: ran, version, start_time: ago(ran) }],
        ended: ended.map(([old, end]) => ({ version: old, start_time: ago(end + 60), last_seen: ago(end) })) });
    const answer = { services: [
        service("rules", "2.4.1", 5, ["2.3.9", 12], ["2.4.0", 5]), // the last one before
        service("same", "2.4.0", 6, ["2.4.0", 6]), // started again
        service("old", "2", 70, ["1", 70]), // of more than an hour ago
        service("first", "2", 7), service("later", "2", 40, ["1", 20]), service("pause", "2", 8, ["1", 30]), service("none", null, 9, ["1", 9])] };
    const release = { service: "rules", version: "2.4.1", before: "2.4.0", began: NOW - 5 * 60000 };

    assert.deepEqual([...deploysOf(answer, NOW)], [[5, release]]);
    assert.deepEqual([{ pid: 5 }, { service: "rules" }].map((target) => deployOf(answer, target, NOW)), [release, release]);
    assert.deepEqual([{ pid: 6 }, { service: "same" }].map((target) => deployOf(answer, target, NOW)), [null, null]);
});

test("how a JVM ended is known from a signal that is on, and for an hour from one that is past", () => {
    const end = (pid, minutes) => ({ signal: "ended", pid, service: "shop", since: ago(minutes), sentence: `end of ${pid}` });
    const list = openPast({ services: [{ name: "shop", jvms: [], ended: [{ pid: 7, start_time: ago(90), last_seen: ago(29.5) }] }] },
        { signals: [end(8, 5)], past: [end(7, 30), { ...end(7, 30), signal: "heap-full" }] }, NOW);

    assert.deepEqual(list.map(({ pid, how }) => [pid, how]), [[8, "end of 8"], [7, "end of 7"]]);
});

test("the end of a JVM is not that of an earlier one with its pid", () => {
    const end = { signal: "ended", pid: 7, service: "b", since: ago(30), sentence: "out of memory" };
    const list = openPast({ services: [{ name: "a", jvms: [], ended: [{ pid: 7, start_time: ago(400), last_seen: ago(300) }] },
        { name: "b", jvms: [], ended: [{ pid: 7, start_time: ago(90), last_seen: ago(29.5) }] }] }, { signals: [], past: [end] }, NOW);

    assert.deepEqual(list.map(({ service, how }) => [service, how]), [["b", "out of memory"], ["a", ""]]);
});

test("signals that are past have flags where they began, and where they were over", () => {
    let flags = [];
    const marks = new TimelineMarks({ setMarks: (list) => { flags = list; } }, {});

    marks.setSignals([{ signal: "gc-pauses", since: 5 }], [{ signal: "heap-full", since: 1, until: 4 }]);
    assert.deepEqual(flags.map(({ at, text, isBad }) => [at, text, isBad]),
        [[5, "gc-pauses began", true], [1, "heap-full began", true], [4, "heap-full was over", false]]);
});

test("a signal that was on shortly before does not begin anew", () => {
    const one = { signal: "cpu-limit", pid: 7, since: Date.now() - 95000 }, text = (past) => sinceText(one, past).replaceAll("\u00a0", " ");
    const before = (more) => [{ signal: "cpu-limit", pid: 7, since: Date.now() - 720000, until: Date.now() - 100000, ...more }];

    const minute = minuteText(one.since);

    assert.match(minute, /\d\d:\d\d$/);
    for (const ago of [4000, 95000]) // seconds would stand still
        assert.equal(sinceText({ ...one, since: Date.now() - ago }, []), `since ${minuteText(Date.now() - ago)}`);
    assert.equal(sinceText({ ...one, since: Date.now() - 125000 }, []).replaceAll("\u00a0", " "), "for 2 min");
    assert.equal(sinceText({ ...one, signal: "ended", since: Date.now() - 300000 }, []).replaceAll("\u00a0", " "), "5 min ago");
    assert.equal(sinceText({ ...one, signal: "ended" }, []), `at ${minute}`);
    assert.equal(text(before({})), "on and off for 12 min");
    assert.equal(text(before({ pid: 8 })), `since ${minute}`);
    assert.equal(text(before({ signal: "gc-pauses" })), `since ${minute}`);
    assert.equal(text(before({ since: Date.now() - 3600000, until: Date.now() - 1000000 })), `since ${minute}`);
});
