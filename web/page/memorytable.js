// SPDX-License-Identifier: Apache-2.0
// What the RSS of a JVM is made of: its areas as a table and over time, and profiles of who makes them grow.

import { apiUrl, getJson, isAbort, repeat } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { formatBytes, formatClock, formatShare } from "../shared/format.js";
import { emptyState, errorState } from "./notice.js";

const MEMORY_SECONDS = 5;
const MEMORY_PROFILE_SECONDS = 30;
const MEMORY_SVG = "http://www.w3.org/2000/svg";
const MEMORY_WIDTH = 600, MEMORY_HEIGHT = 120; // of the chart's own units
const MEMORY_PROFILES = [["nativemem", "Who makes it grow"], ["alloc", "Who allocates Java objects"], ["live", "Which of them stay"]];

// One for each area, in the order of the answer; neighbours differ in lightness, too.
export const AREA_COLORS = ["#5aa469", "#b48ad6", "#8a63b8", "#f0b254", "#6fb1c9", "#3f86a3", "#a3a34a", "#e8875b",
    "#c9b08f", "#9d6f5a", "#d9c65a", "#7f8fb5", "#b5b5c9", "#9a9a9a"];

// The points of the chart of area @index, stacked upon those before it: one polygon.
export function areaPoints(points, index) {
    const from = Date.parse(points[0].time), span = Math.max(1, Date.parse(points[points.length - 1].time) - from);
    const most = Math.max(1, ...points.map((p) => p.bytes.reduce((sum, n) => sum + n, 0)));
    const place = (p, upTo) => [(Date.parse(p.time) - from) / span * MEMORY_WIDTH,
        MEMORY_HEIGHT - p.bytes.slice(0, upTo).reduce((sum, n) => sum + n, 0) / most * MEMORY_HEIGHT].map((n) => n.toFixed(1)).join(",");

    return [...points.map((p) => place(p, index + 1)), ...points.map((p) => place(p, index)).reverse()].join(" ");
}

export class MemoryTable {
    constructor(pid) {
        this.pid = pid;
        this.note = element("p", { class: "quiet live-note", "aria-live": "off" });
        this.links = element("p", { class: "quiet live-note" });
        this.chart = document.createElementNS(MEMORY_SVG, "svg");
        this.chart.setAttribute("viewBox", `0 0 ${MEMORY_WIDTH} ${MEMORY_HEIGHT}`);
        this.chart.setAttribute("preserveAspectRatio", "none");
        this.chart.setAttribute("role", "img");
        this.chart.classList.add("memory-chart");
        this.body = element("tbody");
        this.table = element("table", { class: "list memory" },
            element("caption", { class: "offscreen" }, "Memory by area"),
            element("thead", {}, element("tr", {}, ...[["Area", ""], ["In memory", "num"], ["Share", "num"], ["In swap", "num"], ["What it is", ""]]
                .map(([label, kind]) => element("th", { scope: "col", class: kind || null }, label)))), this.body);
        this.shown = element("div", { hidden: true }, this.chart, this.table);
        this.blank = element("div", {}, emptyState("Counting pages …"));
        this.root = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Memory" },
            element("div", { class: "live-head" }, this.note, this.links), this.shown, this.blank);
    }

    start() {
        this.end = repeat(MEMORY_SECONDS, (signal) => this.load(signal));
        this.loadLinks();
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
    }

    // Only of events that this machine has.
    async loadLinks() {
        let events = [];

        try {
            events = (await getJson("api/v1/events", {})).events.filter((e) => e.available).map((e) => e.name);
        } catch {
            return; // the table says what is wrong
        }
        this.links.replaceChildren(...MEMORY_PROFILES.filter(([event]) => events.includes(event)).map(([event, label]) =>
            element("a", { href: apiUrl("profile", { pid: this.pid, event, seconds: MEMORY_PROFILE_SECONDS, format: "html" }), target: "_blank", rel: "noopener" },
                `${label} (${MEMORY_PROFILE_SECONDS} s)`)).flatMap((link) => [link, " "]));
    }

    async load(signal) {
        try {
            const { resident, resident_problem: problem } = await getJson(`api/v1/jvms/${this.pid}/heap`, {}, signal);

            if (resident)
                this.show(resident);
            else
                this.fail(new Error(problem || "The pages of this JVM cannot be counted"));
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.fail(error);
        }
    }

    fail(error) {
        this.shown.hidden = true;
        this.blank.replaceChildren(errorState(error));
    }

    show(resident) {
        const known = resident.areas.map((area, i) => ({ ...area, color: AREA_COLORS[i % AREA_COLORS.length] }))
            .filter((area) => area.bytes || area.swapped).sort((a, b) => b.bytes - a.bytes);

        setText(this.note, `RSS ${formatBytes(resident.rss)}, the areas together ${formatBytes(resident.sum)} · ${resident.java_threads} Java threads of ${resident.threads}`);
        this.body.replaceChildren(...known.map((area) => {
            const chip = element("span", { class: "chip" });

            chip.style.background = area.color;
            return element("tr", {}, element("td", {}, chip, area.area.replaceAll("_", " ")),
                element("td", { class: "num" }, formatBytes(area.bytes)), element("td", { class: "num" }, formatShare(area.bytes, resident.sum)),
                element("td", { class: "num" }, area.swapped ? formatBytes(area.swapped) : ""), element("td", {}, area.description));
        }));
        this.draw(resident);
        this.blank.replaceChildren();
        this.shown.hidden = false;
    }

    draw({ points, areas }) {
        this.chart.toggleAttribute("hidden", points.length < 2);
        if (points.length < 2)
            return;
        const first = formatClock(Date.parse(points[0].time)), last = formatClock(Date.parse(points[points.length - 1].time));

        this.chart.setAttribute("aria-label", `Areas from ${first} to ${last}`);
        this.chart.replaceChildren(...areas.map((area, i) => {
            const polygon = document.createElementNS(MEMORY_SVG, "polygon");
            const title = document.createElementNS(MEMORY_SVG, "title");

            title.textContent = area.area.replaceAll("_", " ");
            polygon.setAttribute("points", areaPoints(points, i));
            polygon.setAttribute("fill", AREA_COLORS[i % AREA_COLORS.length]);
            polygon.append(title);
            return polygon;
        }));
    }
}
