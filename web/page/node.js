// SPDX-License-Identifier: Apache-2.0
// The node: all its JVMs in a table that sorts, filters as one types, and follows what happens.

import { getJson, isAbort, repeat } from "./api.js";
import { openTimelines } from "./categories.js";
import { element, setText } from "../shared/dom.js";
import { EndedTable } from "./endedtable.js";
import { formatAgo, formatBytes, formatCount, plural } from "../shared/format.js";
import { shortMain } from "../shared/names.js";
import { button, emptyState, errorState, putState } from "./notice.js";
import { loadPast } from "./past.js";
import { allocates, containerOf, cpuLimitText, isProfilable, isSameJvm, jvmName, mainOf, placeOf, podOf, shortVersion, text } from "./jvmwords.js";
import { formatRoute } from "./route.js";
import { compileSearch } from "../shared/search.js";
import { lastWorse, openPastSignals, openSignals, sentenceText, severityClass, severityLegend, signalsByPid, untilText } from "./signals.js";
import { drawSpark, sparkTop } from "./timeline.js";
import { nodeNow } from "../shared/now.js";

const LIST_SECONDS = 2;
const SPARK_SECONDS = 5;
const PAST_SECONDS = 10;
const SPARK_SPAN = "-5m";
const SPARK_BUCKETS = 48;
const SPARKS_MAX = 200; // rows in sight; flamed takes 256 pids
const ROWS_FIRST = 200; // rows made before somebody asks for all
const NAME_SHOWN_MAX = 300; // characters; the rest is beyond every screen

const byText = (pick) => (a, b) => pick(a).localeCompare(pick(b));
const byNumber = (pick) => (a, b) => pick(a) - pick(b);

// By the worst that is on, or was within 10 minutes, then what is new, then what was on. How many signals are on is no part of it: that changes by the minute.
function illnessOf({ worst = 0, signals = [], isNew = false, worstPast = 0 }) {
    return worst * 100 + Number(signals.length > 0) + (isNew ? 0.5 : 0) + worstPast * 0.1;
}

// Equal ones keep their order from load to load: those that are ill by name, others by CPU in steps of twice as much, then by name.
function compareEquals(a, b) {
    const stepOf = (j) => (illnessOf(j) ? 0 : Math.floor(Math.log2(Math.max(1, j.cpu_percent))));

    return stepOf(b) - stepOf(a) || jvmName(a).localeCompare(jvmName(b)) || a.pid - b.pid;
}

// @first: the order of a first click; 1 ascending, -1 descending.
const JVM_COLUMNS = [
    { id: "main", label: "JVM", first: 1, compare: byText((j) => jvmName(j).toLowerCase()) },
    { id: "place", label: "Container", first: 1, compare: byText(placeOf) },
    { id: "cpu", label: "CPU now", title: "Of one processor, over the last seconds", first: -1, compare: byNumber((j) => j.cpu_percent), num: true },
    { id: "spark", label: "Last 5 min", title: "CPU time; the number is what the full height of the row stands for", first: 0 },
    { id: "signals", label: "Signals", first: -1, compare: byNumber(illnessOf) },
    { id: "threads", label: "Threads", first: -1, compare: byNumber((j) => j.threads), num: true },
    { id: "memory", label: "Memory", first: -1, compare: byNumber((j) => j.rss), num: true },
    { id: "allocates", label: "Allocates", title: "On the Java heap, by the last two readings of the JVM's counters, which are within a minute", first: -1, compare: byNumber((j) => (j.allocated_bytes_per_second || 0)), num: true },
    { id: "jdk", label: "JDK", first: 1, compare: byText((j) => text(j.java_version)) },
    { id: "up", label: "Up", first: -1, compare: (a, b) => Date.parse(b.start_time) - Date.parse(a.start_time), num: true },
    { id: "pid", label: "PID", first: 1, compare: byNumber((j) => j.pid), num: true },
];

const USUAL_SORT = "signals"; // the first thing seen is what is wrong
const columnOf = (wanted) => JVM_COLUMNS.find(({ id, first }) => id === wanted && first) || JVM_COLUMNS.find(({ id }) => id === USUAL_SORT);

// The list as it is shown: filtered by every word that was typed, sorted.
export function arrangeJvms(jvms, { filter, sort, order }) {
    const words = filter.split(/\s+/).filter(Boolean).map(compileSearch);
    const column = columnOf(sort);
    const haystack = (j) => [j.main, jvmName(j), podOf(j), containerOf(j), j.pod && j.pod.namespace, j.java_version, j.vm_name,
        String(j.pid), ...(j.signals || []), j.profilable && j.profilable.reason].filter(Boolean).join(" ");

    return jvms.filter((j) => words.every(({ regex }) => regex.test(haystack(j))))
        .sort((a, b) => column.compare(a, b) * order || compareEquals(a, b));
}

// A row that stays the same element while its JVM lives, so that focus and pointer keep their place.
class JvmRow {
    constructor(jvm, view) {
        this.view = view;
        this.link = element("a", { class: "jvm-link" });
        this.pack = element("span", { class: "pack" });
        this.canvas = element("canvas", { class: "spark", "aria-hidden": "true" });
        this.scale = element("span", { class: "spark-top quiet" });
        this.cells = Object.fromEntries(JVM_COLUMNS.map(({ id, num }) =>
            [id, element("td", { class: `col-${id}${num ? " num" : ""}` })]));
        this.cells.main.append(this.link, this.pack);
        this.cells.spark.append(element("div", { class: "spark-cell" }, this.canvas, this.scale));
        this.root = element("tr", { onclick: (event) => this.clicked(event) }, ...Object.values(this.cells));
        this.root.jvmRow = this;
        this.update(jvm);
    }

    follow(jvm) {
        if (jvm !== this.jvm)
            this.update(jvm);
    }

    update(jvm) {
        const { cells } = this;
        const main = mainOf(jvm).slice(0, NAME_SHOWN_MAX), short = shortMain(main), name = jvmName(jvm).slice(0, NAME_SHOWN_MAX), place = placeOf(jvm);

        this.jvm = jvm;
        setText(this.link, name);
        this.link.href = formatRoute("jvm", jvm.pid);
        cells.main.title = [main, text(jvm.args)].filter(Boolean).join(" ").slice(0, 2000);
        setText(this.pack, name !== short ? short : short === main ? "" : main.slice(0, main.length - short.length).replace(/[./]$/, ""));
        setText(cells.place, place || "–");
        cells.place.title = [jvm.pod && jvm.pod.namespace, place, jvm.container && jvm.container.id].filter(Boolean)
            .join(" · ");
        setText(cells.cpu, jvm.cpu_percent.toFixed(1) + "\u00a0%");
        cells.cpu.title = cpuLimitText(jvm);
        this.showSignals();
        setText(cells.threads, formatCount(jvm.threads));
        setText(cells.memory, formatBytes(jvm.rss));
        setText(cells.allocates, allocates(jvm) || "–");
        cells.allocates.title = allocates(jvm) ? "On the Java heap, lately" : "Not looked at within a minute";
        setText(cells.jdk, shortVersion(jvm.java_version));
        cells.jdk.title = [jvm.vm_name, jvm.java_version].filter(Boolean).join(" ");
        setText(cells.up, formatAgo(Date.parse(jvm.start_time)));
        setText(cells.pid, String(jvm.pid));
    }

    // Names at once; how bad, and the sentences, when they have been asked for. Of a JVM without any: why it cannot be profiled,
    // the worst that was on within the last hour, or its new release.
    showSignals() {
        const cell = this.cells.signals, said = this.view.signalsOf(this.jvm);
        const list = (this.jvm.signals || []).map((name) => said.find(({ signal }) => signal === name) || { signal: name, severity: 0, sentence: "" })
            .sort((a, b) => b.severity - a.severity);
        const deploy = this.view.deployOf(this.jvm), reason = isProfilable(this.jvm) ? "" : `no Java names: ${text(this.jvm.profilable && this.jvm.profilable.reason) || "the reason is not known"}`;
        const past = this.view.pastSignalsOf(this.jvm), [worse] = reason ? [] : lastWorse(past, list), [was] = worse || list.length || reason ? [] : past;
        const key = JSON.stringify([list, deploy, reason, was, worse]), isHeld = this.root.matches("tbody:hover > tr");

        if (!isHeld) { // rows keep their height, too, while one points at them
            this.root.classList.toggle("ill", list.length > 0);
            this.root.classList.toggle("told", Boolean(list.length || reason || was || deploy));
        }
        this.root.classList.toggle("held", list.length > 0 && !this.root.classList.contains("ill"));
        if (key === this.signalsKey)
            return;
        this.signalsKey = key;
        const isAgain = Boolean(worse) && list.some(({ signal }) => signal === worse.signal); // then it has one label, of its worst
        const label = (one) => element("span", { class: `signal ${severityClass(one)}` }, one.signal);

        cell.replaceChildren(element("div", { class: "signal-cell" }, ...worse ? [label(worse), ` ${isAgain ? "worse " : ""}${untilText(worse)} `] : [],
            ...list.length ? [...list.filter(({ signal }) => !isAgain || signal !== worse.signal).flatMap((one) => [label(one), " "]),
            element("span", { class: "quiet" }, sentenceText(list[0].sentence))]
            : reason ? [element("span", { class: "bad" }, reason)] : worse ? [element("span", { class: "quiet" }, sentenceText(worse.sentence))]
                : was ? [element("span", { class: "quiet" }, `${was.signal} ${untilText(was)}`)]
                : deploy ? [element("a", { class: "quiet", href: formatRoute("service", deploy.service, { tab: "changes" }) }, `version ${deploy.version} after ${deploy.before}: what changed`)] : ["–"]));
        cell.title = reason || [...worse ? [worse] : was ? [was] : [], ...list].map(({ signal, sentence }) => (sentence ? `${signal}: ${sentence}` : signal)).join("\n");
    }

    setGone(isGone) {
        if (isGone)
            setText(this.cells.cpu, "ended");
        this.root.classList.toggle("gone", isGone);
    }

    // The whole row leads to the page of the JVM; the link is for the keyboard and for a new tab.
    clicked(event) {
        if (!event.target.closest("a") && !String(getSelection()))
            location.hash = formatRoute("jvm", this.jvm.pid);
    }

    drawSpark() {
        if (!this.spark)
            return;
        const top = sparkTop(this.spark);

        drawSpark(this.canvas, this.spark, this.view.theme, top);
        setText(this.scale, `${100 * top}\u00a0%`);
    }
}

export class NodeView {
    // @app: {setCrumbs(list), replaceParams(params), banner, theme}
    constructor(app, params) {
        this.app = app;
        this.theme = app.theme;
        this.rows = new Map();
        this.signals = new Map(); // by pid
        this.pastSignals = new Map(); // the same
        this.deploys = new Map(); // by pid
        this.filter = params.get("q") || "";
        this.sort = columnOf(params.get("sort")).id;
        this.order = params.get("order") === "up" ? 1 : params.get("order") === "down" ? -1 : columnOf(this.sort).first;
        this.input = element("input", {
            type: "search", class: "search-text", placeholder: "Filter  /", spellcheck: "false", autocomplete: "off",
            "aria-label": "Filter the JVMs", value: this.filter, oninput: () => this.typed(),
            onkeydown: (event) => this.inputKeyed(event),
        });
        this.count = element("output", { class: "matches", "aria-live": "polite" });
        this.heads = JVM_COLUMNS.map(({ id, label, title = null, first, num }) => element("th", {
            scope: "col", class: `col-${id}${num ? " num" : ""}`, title,
        }, first ? element("button", { type: "button", onclick: () => this.sortBy(id) }, label) : element("span", {}, label)));
        this.body = element("tbody");
        this.blank = element("div");
        this.ended = new EndedTable();
        this.table = element("table", { class: "list jvms" }, element("caption", { class: "offscreen" }, "JVMs on this node"),
            element("thead", {}, element("tr", {}, ...this.heads)), this.body);
        this.scroller = element("div", { class: "scroll", tabindex: "-1" }, this.table, this.blank, this.ended.root);
        this.root = element("div", { class: "view" }, element("div", { class: "bar sub node-bar" },
            element("div", { class: "search", role: "search" }, this.input, this.count),
            element("span", { class: "grow" }), this.severities = severityLegend(),
            element("a", { class: "tool", href: formatRoute("jvm", "node") }, "Whole node")), this.scroller);
        this.visible = new Set();
        this.observer = new IntersectionObserver((entries) => this.seen(entries), { root: this.scroller });
    }

    start() {
        this.app.setCrumbs([]);
        this.showHeads();
        this.blankKey = "";
        this.blank.replaceChildren(emptyState("Looking for JVMs …"));
        this.stopList = repeat(LIST_SECONDS, (signal) => this.load(signal));
        this.stopSparks = repeat(SPARK_SECONDS, (signal) => this.loadSparks(signal));
    }

    stop() {
        this.stopList();
        this.stopSparks();
        this.observer.disconnect();
    }

    setTheme(theme) {
        this.theme = theme;
        for (const row of this.rows.values())
            row.drawSpark();
    }

    async load(signal) {
        try {
            const [{ jvms }] = await Promise.all([getJson("api/v1/jvms", {}, signal), this.loadPast(signal)]);

            this.jvms = jvms;
            for (const jvm of jvms)
                Object.assign(jvm, { worst: Math.max(0, ...[...this.signalsOf(jvm), ...lastWorse(this.pastSignalsOf(jvm), this.signalsOf(jvm))].map(({ severity }) => severity)),
                    worstPast: Math.max(0, ...this.pastSignalsOf(jvm).map(({ severity }) => severity)), isNew: Boolean(this.deployOf(jvm)) });
            if (this.past)
                this.ended.show(this.past, this.filter);
            for (const row of this.rows.values())
                row.showSignals();
            this.app.banner.show("", "list");
            this.table.classList.toggle("no-place", !jvms.some(placeOf));
            this.fill();
        } catch (error) {
            if (isAbort(error))
                throw error;
            if (this.jvms)
                this.app.banner.show(`${error.message}. This list is ${formatAgo(this.loadedAt)} old.`, "list");
            else
                putState(this.blank, errorState(error, button("Try again", () => location.reload())));
            return;
        }
        this.loadedAt = nodeNow();
    }

    async loadPast(signal) {
        if (Date.now() - this.pastAt < PAST_SECONDS * 1000)
            return;
        this.pastAt = Date.now();
        try {
            this.past = await loadPast(signal);
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.app.banner.show(`What is wrong, and what has ended, is not known now: ${error.message}`, "past");
            return;
        }
        this.app.banner.show("", "past");
        this.signals = signalsByPid(openSignals(this.past.signals));
        this.pastSignals = signalsByPid(openPastSignals(this.past.signals));
        this.deploys = this.past.deploys;
    }

    // Whether rows stay where they are: one points at them.
    isHeld() {
        return [this.body, this.ended.body].some((body) => body.matches(":hover"));
    }

    // Rows that are held stay, also of JVMs that have ended.
    arranged(isAsked) {
        const isHeld = !isAsked && this.isHeld(), alive = new Set(this.jvms.map(({ pid }) => pid));
        const gone = isHeld ? [...this.rows.values()].map(({ jvm }) => jvm).filter(({ pid }) => !alive.has(pid)) : [];
        const found = arrangeJvms([...this.jvms, ...gone], this);

        for (const row of this.rows.values())
            row.setGone(gone.includes(row.jvm));
        if (!isHeld)
            return found;
        const places = new Map([...this.body.children].map(({ jvmRow }, i) => [jvmRow.jvm.pid, i]));
        const placeOf = ({ pid }) => (places.has(pid) ? places.get(pid) : places.size);

        return found.sort((a, b) => placeOf(a) - placeOf(b));
    }

    deployOf({ pid }) {
        return this.deploys.get(pid) || null;
    }

    signalsOf({ pid }) {
        return this.signals.get(pid) || [];
    }

    // Not those of an earlier process with that pid.
    pastSignalsOf({ pid, start_time: start }) {
        return (this.pastSignals.get(pid) || []).filter(({ signal, since }) => signal !== "ended" && !(since < Date.parse(start)));
    }

    // @isAsked: a person has just chosen the order.
    fill({ isAsked = false } = {}) {
        const found = this.arranged(isAsked);
        const shown = this.showsAll ? found : found.slice(0, ROWS_FIRST);
        const keys = new Set();
        const elements = shown.map((jvm) => {
            const { pid } = jvm;
            const row = this.rows.get(pid);

            keys.add(pid);
            if (row && isSameJvm(row.jvm, jvm)) {
                row.follow(jvm);
            } else {
                if (row)
                    this.dropRow(pid);
                this.rows.set(pid, this.addRow(jvm));
            }
            return this.rows.get(pid).root;
        });

        for (const pid of [...this.rows.keys()])
            if (!keys.has(pid))
                this.dropRow(pid);
        if (elements.length !== this.body.children.length || elements.some((e, i) => e !== this.body.children[i])) {
            const focused = document.activeElement;

            this.body.replaceChildren(...elements);
            if (focused && focused.isConnected && this.body.contains(focused))
                focused.focus({ preventScroll: true });
        }
        const running = found.length - this.body.querySelectorAll(".gone").length;

        setText(this.count, running === this.jvms.length ? plural(running, "JVM", "JVMs")
            : `${formatCount(running)} of ${plural(this.jvms.length, "JVM", "JVMs")}`);
        this.fillBlank(found.length, shown.length);
    }

    dropRow(pid) {
        const row = this.rows.get(pid);

        this.observer.unobserve(row.root);
        this.visible.delete(row);
        this.rows.delete(pid);
    }

    addRow(jvm) {
        const row = new JvmRow(jvm, this);

        this.observer.observe(row.root);
        return row;
    }

    showAll() {
        this.showsAll = true;
        this.fill();
    }

    fillBlank(count, shown) {
        const key = [this.jvms.length > 0, count, shown].join();

        if (key === this.blankKey)
            return; // its button stays while it is pressed
        this.blankKey = key;
        if (!this.jvms.length)
            this.blank.replaceChildren(emptyState("No JVM runs on this node.",
                "Start one: it appears here by itself. Programs that are no JVM can be profiled with the whole node.",
                element("a", { class: "tool", href: formatRoute("jvm", "node") }, "Whole node")));
        else if (!count)
            this.blank.replaceChildren(emptyState("No JVM matches the filter.",
                "It looks at class, pod, container, JDK and pid.", button("Clear the filter", () => this.clear())));
        else if (shown < count)
            this.blank.replaceChildren(emptyState(`These are the first ${formatCount(shown)} of ${formatCount(count)} JVMs.`,
                "Filter to narrow, or sort by what matters.", button("Show all", () => this.showAll())));
        else
            this.blank.replaceChildren();
    }

    // ---- sparklines: of the rows that can be seen ----

    seen(entries) {
        let isNew = false;

        for (const { target, isIntersecting } of entries) {
            if (isIntersecting) {
                this.visible.add(target.jvmRow);
                isNew = isNew || !target.jvmRow.spark;
            } else {
                this.visible.delete(target.jvmRow);
            }
        }
        if (isNew && !this.sparksRunning) {
            this.stopSparks();
            this.stopSparks = repeat(SPARK_SECONDS, (signal) => this.loadSparks(signal));
        }
    }

    async loadSparks(signal) {
        const rows = [...this.visible].slice(0, SPARKS_MAX);
        const pids = rows.map(({ jvm }) => jvm.pid);

        if (!rows.length)
            return;
        this.sparksRunning = true;
        try {
            const lines = openTimelines(await getJson("api/v1/timeline", {
                pid: pids.join(), from: SPARK_SPAN, buckets: SPARK_BUCKETS, by: "jvm-category",
            }, signal), pids);

            rows.forEach((row, i) => { row.spark = lines.get(pids[i]); });
        } catch (error) {
            if (isAbort(error))
                throw error; // JVMs that went, or no recorder: the cells stay as they are
        } finally {
            this.sparksRunning = false;
        }
        for (const row of rows)
            row.drawSpark();
    }

    // ---- filter, order, keys ----

    typed() {
        this.filter = this.input.value;
        if (this.jvms)
            this.fill();
        if (this.past)
            this.ended.show(this.past, this.filter);
        this.keep();
    }

    clear() {
        this.input.value = "";
        this.typed();
        this.input.focus();
    }

    inputKeyed(event) {
        if (event.key === "Escape" && this.input.value) {
            this.clear();
        } else if (event.key === "Enter" || event.key === "ArrowDown") {
            const first = this.body.querySelector(".jvm-link");

            if (!first)
                return;
            if (event.key === "Enter" && this.body.children.length === 1)
                location.hash = first.getAttribute("href");
            else
                first.focus();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    sortBy(id) {
        this.order = id === this.sort ? -this.order : columnOf(id).first;
        this.sort = id;
        this.showHeads();
        if (this.jvms)
            this.fill({ isAsked: true });
        this.keep();
    }

    showHeads() {
        this.heads.forEach((head, i) => {
            if (!JVM_COLUMNS[i].first)
                return;
            head.setAttribute("aria-sort", JVM_COLUMNS[i].id !== this.sort ? "none"
                : this.order > 0 ? "ascending" : "descending");
        });
    }

    keep() {
        const usual = this.sort === USUAL_SORT && this.order === -1;

        this.app.replaceParams({
            q: this.filter, sort: usual ? "" : this.sort, order: usual ? "" : this.order > 0 ? "up" : "down",
        });
    }

    keyed(event) {
        const rows = [...this.body.querySelectorAll(".jvm-link")];
        const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];

        if (event.key === "/" && !event.target.closest("input, select")) {
            this.input.focus();
            this.input.select();
        } else if (step && rows.length && !event.target.closest("input, select")) {
            const at = rows.indexOf(document.activeElement);

            rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step))].focus();
        } else {
            return false;
        }
        event.preventDefault();
        return true;
    }
}
