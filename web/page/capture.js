// SPDX-License-Identifier: Apache-2.0
// Captures: the list of those that are stored.

import { apiUrl, deleteAt, getJson, isAbort, postJson, repeat } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { formatBytes, formatCount, formatMoment, formatSeconds, plural } from "../shared/format.js";
import { processName } from "./jvmwords.js";
import { button, emptyState, errorState, putState } from "./notice.js";
import { formatRoute } from "./route.js";

const LIST_SECONDS_CAPTURES = 4;
const PAGE = 100;

const NAMES_OF_EVENTS = { cpu: "CPU", wall: "Wall clock", offcpu: "Waiting", lock: "Locks", nativelock: "Native locks", alloc: "Allocation", live: "Live objects", nativemem: "Native memory", malloc: "Calls of malloc", nativelive: "Native memory that stays" };

export const eventTitle = (name) => NAMES_OF_EVENTS[name] || name;

// Each process once: a time of the past may list it under two names, as it becomes known.
export const processesOf = ({ processes = [] }) => processes.filter(({ pid }, i) => processes.findIndex((p) => p.pid === pid) === i);

// "Main, Other and 3 more"
function targetText(capture) {
    const { target } = capture, names = processesOf(capture).map((one) => `${processName(one)} (${one.pid})`);

    if (!names.length)
        return target || "whole node";
    return names.length > 2 ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more` : names.join(" and ");
}

const CAPTURE_COLUMNS = [
    ["when", "When"], ["what", "What"], ["event", "Event"], ["length", "Length", true], ["samples", "Samples", true],
    ["size", "Size", true], ["state", "State"], ["tools", ""],
];

// What tells a capture from others where there is no room for its columns.
function inShort({ state, failure, event, seconds, samples }, text) {
    return element("span", { class: "in-short" }, [state === "done" ? "" : failure ? `failed: ${failure}` : text,
        event.split(",").map(eventTitle).join(", "), formatSeconds(seconds || 0), plural(samples || 0, "sample", "samples")].filter(Boolean).join(" · "));
}

export class CaptureList {
    // @query: the target's parameters; @on: {open(id)}; @empty: the sentence when there is none.
    constructor(query, on, empty) {
        this.query = query;
        this.on = on;
        this.emptyText = empty;
        this.rows = new Map(); // {key, row} by id
        this.body = element("tbody");
        this.blank = element("div");
        this.more = button("Older ones", () => this.loadMore(), { hidden: true });
        this.table = element("table", { class: "list captures", hidden: true },
            element("caption", { class: "offscreen" }, "Captures"),
            element("thead", {}, element("tr", {}, ...CAPTURE_COLUMNS.map(([id, label, num]) => element("th", {
                    scope: "col", class: `col-${id}${num ? " num" : ""}`,
                }, label || element("span", { class: "offscreen" }, "What can be done"))))), this.body);
        this.problem = element("div"); // of what was pressed last
        this.root = element("div", { class: "scroll", tabindex: "-1" }, this.problem, this.table, this.blank, this.more);
    }

    start() {
        this.end = repeat(LIST_SECONDS_CAPTURES, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
    }

    async load(signal) {
        try {
            const { captures, next } = await getJson("api/v1/captures", { ...this.query, limit: PAGE }, signal);

            if (!this.older)
                this.next = next;
            this.fill(this.older && next ? [...captures, ...this.olderThan(captures)] : captures);
        } catch (error) {
            if (isAbort(error))
                throw error;
            putState(this.blank, errorState(error));
        }
    }

    // What comes after a new first page in a list that was led further back. What is missing before that was removed.
    olderThan(page) {
        const ids = new Set(page.map(({ id }) => id));

        return this.captures.slice(this.captures.findLastIndex(({ id }) => ids.has(id)) + 1);
    }

    async loadMore() {
        this.more.disabled = true; // a second press would add the same ones again
        this.problem.replaceChildren();
        try {
            const { captures, next } = await getJson("api/v1/captures", { ...this.query, limit: PAGE, cursor: this.next });

            this.older = true;
            this.next = next;
            this.fill([...this.captures, ...captures]);
        } catch (error) {
            this.problem.replaceChildren(errorState(error));
        } finally {
            this.more.disabled = false;
        }
    }

    fill(captures) {
        this.captures = captures;
        const key = JSON.stringify(captures);

        this.more.hidden = !this.next;
        this.table.hidden = !captures.length;
        this.blank.replaceChildren(...captures.length ? [] : [emptyState("No captures yet.", this.emptyText)]);
        if (key === this.key)
            return;
        this.key = key;
        this.renewRows(captures);
    }

    // A row that reads as before stays as it is, with the focus, and with a button that was pressed once.
    renewRows(captures) {
        const before = this.rows;

        this.rows = new Map(captures.map((c) => {
            const key = JSON.stringify(c), old = before.get(c.id);

            return [c.id, old && old.key === key ? old : { key, row: this.row(c) }];
        }));
        for (const [id, { row }] of before) {
            const now = this.rows.get(id), focused = [...row.querySelectorAll("a, button")].indexOf(document.activeElement);

            if (!now) {
                row.remove();
            } else if (now.row !== row) {
                row.replaceWith(now.row);
                const same = [...now.row.querySelectorAll("a, button")][focused];

                if (same)
                    same.focus({ preventScroll: true });
            }
        }
        [...this.rows.values()].forEach(({ row }, i) => {
            if (this.body.children[i] !== row)
                this.body.insertBefore(row, this.body.children[i] || null);
        });
    }

    row(c) {
        const when = Date.parse(c.start);
        const quality = [c.lost ? `${formatCount(c.lost)} lost` : "", c.failure || "", ...(c.warnings || [])].filter(Boolean);
        const state = c.state === "running" ? `running, ${Math.round((c.progress || 0) * 100)} %` : c.state;
        const open = c.state === "failed" ? formatMoment(when) : element("a", {
            href: formatRoute("capture", c.id), class: "jvm-link",
        }, formatMoment(when));

        const opened = (event) => {
            if (!event.target.closest("a, button") && !String(getSelection()))
                location.hash = formatRoute("capture", c.id);
        };

        return element("tr", c.state === "failed" ? {} : { class: "opens", onclick: opened }, element("td", {}, open),
            element("td", { class: "col-what", title: (c.processes || []).map(({ name }) => name).join(", ") || c.target }, targetText(c), c.schedule
                ? element("span", { class: "pack" }, "by schedule " + c.schedule) : null, inShort(c, state)),
            element("td", { class: "col-event" }, c.event),
            element("td", { class: "col-length num" }, formatSeconds(c.seconds || 0)),
            element("td", { class: "col-samples num" }, formatCount(c.samples || 0)),
            element("td", { class: "col-size num" }, c.bytes ? formatBytes(c.bytes) : "–"),
            element("td", { class: "col-state" + (c.state === "failed" ? " bad" : ""), title: quality.join(". ") },
                c.state === "failed" && c.failure ? `failed: ${c.failure}` : state),
            element("td", { class: "col-tools row-tools" }, c.state === "done"
                ? element("a", { class: "tool", href: formatRoute("compare", "", { b: c.id }) }, "Compare") : null,
            c.state === "running" ? button("Stop", () => this.halt(c.id))
                : button("Remove", (event) => this.remove(c.id, event.currentTarget), {
                    "aria-label": `Remove the capture of ${formatMoment(when)}`,
                })));
    }

    async halt(id) {
        this.problem.replaceChildren();
        try {
            await postJson(`api/v1/captures/${id}/stop`);
        } catch (error) {
            this.problem.replaceChildren(errorState(error));
        }
    }

    // The second press does it: a capture does not come back.
    async remove(id, control) {
        if (!control.classList.contains("armed")) {
            control.classList.add("armed");
            setText(control, "Really?");
            control.setAttribute("aria-label", control.getAttribute("aria-label").replace("Remove", "Really remove"));
            return;
        }
        this.problem.replaceChildren();
        try {
            await deleteAt("api/v1/captures/" + id);
        } catch (error) {
            this.problem.replaceChildren(errorState(error));
            return;
        }
        this.fill(this.captures.filter((c) => c.id !== id));
    }
}

// Opens a menu below @opener: links to what @view shows in every format that flamed has.
export async function openDownloads(view, opener, path, params) {
    const { app } = view, { left, bottom } = opener.getBoundingClientRect();

    app.banner.show("");
    try {
        const items = await downloadItems(path, params);

        if (app.view === view) // one may have gone elsewhere before the answer
            openMenu(items, { x: left, y: bottom + 2 }, "Download as");
    } catch (error) {
        if (app.view === view)
            app.banner.show(error.message);
    }
}

async function downloadItems(path, params) {
    const api = await getJson("openapi.json");
    const route = Object.keys(api.paths).find((p) => p === "/profile");
    const list = api.paths[route].get.parameters.map((p) => (p.$ref ? refersTo(api, p.$ref) : p));
    const { enum: formats, "x-uses": uses } = list.find(({ name }) => name === "format").schema;

    return formats.map((format) => ({ label: format, key: uses[format], href: apiUrl(path, { ...params, format }), download: true }));
}

function refersTo(api, ref) {
    return ref.replace(/^#\//, "").split("/").reduce((node, name) => node[name], api);
}
