// SPDX-License-Identifier: Apache-2.0
// Single requests of a capture, each on one line of time: every thread that worked on it, running and waiting.

import { getJson, isAbort } from "./api.js";
import { paletteOf } from "../shared/colors.js";
import { element, setText } from "../shared/dom.js";
import { formatMoment, formatShare, formatValue, plural } from "../shared/format.js";
import { KIND, KINDS, LEGEND_ORDER, isWait } from "../shared/kinds.js";
import { button, emptyState, errorState } from "./notice.js";

const REQUEST_TRACK = 20; // CSS pixels of the height
const TRACE_SHOWN = 8; // digits, where the whole is in the title
const TOGETHER = 20; // requests that are drawn at first

const NS = "nanoseconds";
const kindOfWait = new Map(KINDS.map(({ id }, kind) => [id, kind]).filter(([, kind]) => isWait(kind)));

// The kind in whose colour a stretch is drawn. Of code that runs there is one.
export function kindOfStretch({ state = "running", wait }) {
    return state === "running" ? KIND.C2 : state === "runnable" ? KIND.RUNNABLE : kindOfWait.get(wait) ?? KIND.BLOCKED;
}

export const stretchLabel = (kind) => (kind === KIND.C2 ? "Running" : KINDS[kind].label);

// [[kind, ns]] of @threads, the longest first.
export function statesOf(threads) {
    const sums = new Map();

    for (const stretch of threads.flatMap(({ stretches }) => stretches))
        sums.set(kindOfStretch(stretch), (sums.get(kindOfStretch(stretch)) || 0) + stretch.ns);
    return [...sums].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
}

// How many requests there are, and what of them is left out.
export function requestsText(count, { requests, samples }) {
    return [`${plural(count, "request", "requests")}, the longest first`, requests && `${plural(requests, "shorter one is", "shorter ones are")} left out`,
        samples && `${plural(samples, "sample", "samples")} had no room: times and bars are too short`].filter(Boolean).join("; ");
}

export class RequestsView {
    // @source(): {path, params} of the capture and of the requests that are wanted.
    constructor(source) {
        Object.assign(this, { source, theme: "light", rows: [], shown: TOGETHER });
        this.note = element("p", { class: "quiet live-note", "aria-live": "off" });
        this.legend = element("ul", { class: "legend", "aria-label": "States" });
        this.body = element("tbody");
        this.table = element("table", { class: "list threads", hidden: true }, element("caption", { class: "offscreen" }, "Requests, the longest first"),
            element("thead", {}, element("tr", {}, ...[["Request or thread", "pool"], ["Took", "num"], ["States", "states"], ["Over its time", "track"]]
                .map(([label, kind]) => element("th", { scope: "col", class: kind === "num" ? kind : `col-${kind}` }, label)))), this.body);
        this.blank = element("div");
        this.scroller = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Requests" }, this.table, this.blank);
        this.root = element("div", { class: "content requests-view" }, element("div", { class: "live-head" }, this.note), this.legend, this.scroller);
        new ResizeObserver(() => this.draw()).observe(this.scroller);
    }

    async start() {
        this.stop();
        const controller = this.controller = new AbortController(), { path, params } = this.source();

        this.table.hidden = true;
        this.legend.replaceChildren();
        setText(this.note, "");
        this.blank.replaceChildren(emptyState("Loading …"));
        try {
            this.show(await getJson(path, { ...params, format: "requests" }, controller.signal));
        } catch (error) {
            if (!isAbort(error))
                this.blank.replaceChildren(errorState(error, button("Try again", () => this.start())));
        }
    }

    stop() {
        if (this.controller)
            this.controller.abort();
        this.controller = null;
    }

    setTheme(theme) {
        this.theme = theme;
        this.draw();
    }

    show({ requests, frames, left_out: leftOut }) {
        this.requests = requests;
        this.frames = frames;
        this.opened = new Set(requests.length === 1 ? [requests[0].trace] : []);
        this.usual = requestsText(requests.length, leftOut);
        setText(this.note, requests.length ? this.usual : "");
        this.table.hidden = !requests.length;
        this.blank.replaceChildren(...requests.length ? [] : [emptyState("No such request in this capture.",
            "A trace's id has 16 or 32 hexadecimal digits. A request is known if one of its threads was sampled while the capture ran.")]);
        const sums = new Map(statesOf(requests.flatMap(({ threads }) => threads))), whole = [...sums.values()].reduce((a, b) => a + b, 0);

        this.legend.replaceChildren(...LEGEND_ORDER.filter((kind) => sums.has(kind)).map((kind) => element("li", {},
            element("span", { class: `chip kind-${KINDS[kind].id}` }), `${stretchLabel(kind)} `, element("span", { class: "num" }, formatShare(sums.get(kind), whole)))));
        this.fill();
    }

    fill() {
        const focused = this.rows.findIndex(({ root }) => root.contains(document.activeElement));

        this.rows = this.requests.slice(0, this.shown).flatMap((request) => {
            const isOpen = this.opened.has(request.trace);

            return [this.row(request, request.threads, isOpen), ...(isOpen ? request.threads : []).map((thread) => this.row(request, [thread], null))];
        });
        this.body.replaceChildren(...this.rows.map(({ root }) => root), ...this.requests.length > this.shown ? [element("tr", {}, element("td", { colspan: "4" },
            element("button", { type: "button", class: "tool", onclick: () => { this.shown = Infinity; this.fill(); } }, "Show all")))] : []);
        if (focused >= 0)
            this.rows[focused].root.querySelector("button").focus({ preventScroll: true });
        this.draw();
    }

    // Of a request, or (@isOpen null) of one of its threads.
    row(request, threads, isOpen) {
        const { trace, operation, ns, start_unix_ns: start } = request, isThread = isOpen === null, states = statesOf(threads);
        const whole = states.reduce((sum, [, n]) => sum + n, 0) || 1;
        const said = states.map(([kind, n]) => `${stretchLabel(kind)} ${formatValue(n, NS)}`).join(", ");
        const canvas = element("canvas", { class: "track", "aria-hidden": "true" });
        const name = isThread ? element("span", { class: "name" }, threads[0].name) : element("button", { type: "button", class: "name", "aria-expanded": String(isOpen),
            title: `Trace ${trace}, began ${formatMoment(start / 1e6)}`, onclick: () => this.toggle(trace) }, `${isOpen ? "▾" : "▸"} ${operation || "(no name)"} `,
        element("span", { class: "quiet" }, trace.replace(/^0+(?=.)/, "").slice(0, TRACE_SHOWN)));
        const root = element("tr", { class: isThread ? "sub-row" : "pool-row" }, element("td", { class: "col-pool", title: isThread ? threads[0].name : `${operation} ${trace}` }, name),
            element("td", { class: "num" }, formatValue(isThread ? whole : ns, NS)),
            element("td", { class: "col-states" }, element("span", { class: "state-bar", role: "img", "aria-label": said, title: said }, ...states.map(([kind, n]) => {
                const part = element("span", { class: `kind-${KINDS[kind].id}` });

                part.style.flexGrow = String(n / whole);
                return part;
            }))), element("td", { class: "col-track" }, canvas));

        canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.pointed(request, threads, canvas, offsetX, offsetY));
        canvas.addEventListener("pointerleave", () => setText(this.note, this.usual));
        return { root, canvas, threads, ns: Math.max(1, ns) };
    }

    toggle(trace) {
        if (!this.opened.delete(trace))
            this.opened.add(trace);
        this.fill();
    }

    // What is under the pointer, the shortest of what overlaps there.
    pointed({ ns }, threads, canvas, x, y) {
        const at = x / canvas.clientWidth * ns, reach = 2 / canvas.clientWidth * ns;
        const thread = threads[Math.min(threads.length - 1, Math.max(0, Math.floor(y / REQUEST_TRACK * threads.length)))];
        const [found] = thread.stretches.filter((s) => s.at_ns - reach <= at && s.at_ns + s.ns + reach >= at).sort((a, b) => a.ns - b.ns);

        setText(this.note, found ? `${thread.name} · ${stretchLabel(kindOfStretch(found))} ${formatValue(found.ns, NS)} from ${formatValue(found.at_ns, NS)} on · ` +
            `${this.frames[found.frames.at(-1)] || ""}` : this.usual);
    }

    draw() {
        const palette = paletteOf(this.theme), scale = devicePixelRatio || 1;

        for (const { canvas, threads, ns } of this.rows) {
            const width = canvas.clientWidth, ctx = canvas.getContext("2d"), lane = REQUEST_TRACK / threads.length;

            canvas.width = Math.round(width * scale);
            canvas.height = Math.round(REQUEST_TRACK * scale);
            ctx.setTransform(scale, 0, 0, scale, 0, 0);
            threads.forEach(({ stretches }, i) => {
                for (const one of [...stretches].sort((a, b) => b.ns - a.ns)) { // short ones above long ones
                    ctx.fillStyle = palette.kind(kindOfStretch(one));
                    ctx.fillRect(one.at_ns / ns * width, i * lane, Math.max(1.5, one.ns / ns * width), Math.max(1, lane - (lane > 4 ? 1 : 0)));
                }
            });
        }
    }
}
