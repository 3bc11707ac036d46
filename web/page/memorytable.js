// SPDX-License-Identifier: Apache-2.0
// What the RSS of a JVM is made of: its areas as a table, its memory over time, and profiles of who makes it grow.

import { getJson, isAbort, repeat } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { formatBytes, formatCount, formatMoment, formatShare } from "../shared/format.js";
import { AREA_COLORS, MemoryChart } from "./memorychart.js";
import { emptyState, errorState } from "./notice.js";
import { formatRoute } from "./route.js";

const MEMORY_SECONDS = 5;
const CLASSES_SHOWN = 8;
const MEMORY_PROFILES = [["nativemem", "Who makes it grow"], ["alloc", "Who allocates Java objects"], ["live", "Which of them stay"]];

export class MemoryTable {
    constructor(pid) {
        this.pid = pid;
        this.note = element("p", { class: "quiet live-note", "aria-live": "off" });
        this.links = element("p", { class: "quiet live-note" });
        this.chart = new MemoryChart();
        this.body = element("tbody");
        this.table = element("table", { class: "list memory" },
            element("caption", { class: "offscreen" }, "Memory by area"),
            element("thead", {}, element("tr", {}, ...[["Area", ""], ["In memory", "num"], ["Share", "num"], ["In swap", "num swap"], ["What it is", ""]]
                .map(([label, kind]) => element("th", { scope: "col", class: kind || null }, label)))), this.body);
        this.classesNote = element("p", { class: "quiet live-note" });
        this.classesBody = element("tbody");
        this.classes = element("section", { hidden: true, "aria-label": "Objects in the heap" }, element("h2", {}, "Objects in the heap"), this.classesNote,
            element("table", { class: "list heap-classes" }, element("thead", {}, element("tr", {}, ...[["Class", ""], ["Share", "num"], ["About", "num"]]
                .map(([label, kind]) => element("th", { scope: "col", class: kind || null }, label)))), this.classesBody));
        this.shown = element("div", { hidden: true }, this.chart.root, this.classes, this.table);
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
            element("a", { href: formatRoute("jvm", this.pid, { start: event }) }, `${label} …`)).flatMap((link) => [link, " "]));
    }

    async load(signal) {
        try {
            const heap = await getJson(`api/v1/jvms/${this.pid}/heap`, {}, signal);

            this.chart.show(heap);
            if (heap.resident)
                this.show(heap.resident);
            else
                this.fail(new Error(heap.resident_problem || "The pages of this JVM cannot be counted"), !this.chart.root.hidden);
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.fail(error);
        }
    }

    // @charts: these are there nevertheless.
    fail(error, charts = false) {
        this.shown.hidden = !charts;
        this.table.hidden = this.classes.hidden = true;
        setText(this.note, ""); // it is of an earlier count
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
                element("td", { class: "num swap" }, area.swapped ? formatBytes(area.swapped) : ""), element("td", { class: "said" }, area.description));
        }));
        this.table.classList.toggle("no-swap", !known.some(({ swapped }) => swapped));
        this.showClasses(resident.objects, resident.areas.find(({ area }) => area === "java_heap"));
        this.blank.replaceChildren();
        this.shown.hidden = this.table.hidden = false;
    }

    // @objects: the classes in some pages of @heap; null: they are not known.
    showClasses(objects, heap) {
        this.classes.hidden = !objects || !objects.classes.length;
        if (this.classes.hidden)
            return;
        setText(this.classesNote, `By ${formatCount(objects.pages)} of its pages in memory, at ${formatMoment(Date.parse(objects.time))}. ` +
            "Garbage that was not collected yet counts, too." + (objects.known < 0.98 ? ` ${formatShare(1 - objects.known, 1)} is the inside of large arrays, or free.` : ""));
        this.classesBody.replaceChildren(...objects.classes.slice(0, CLASSES_SHOWN).map((one) =>
            element("tr", {}, element("td", { title: one.class }, one.class),
                element("td", { class: "num" }, formatShare(one.share, 1)), element("td", { class: "num" }, formatBytes(one.share * heap.bytes)))));
    }
}
