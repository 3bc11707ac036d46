// SPDX-License-Identifier: Apache-2.0
// One JVM, or the whole node: what it spends CPU time on, the flame graph of now or of a range, its captures.

import { getJson, isAbort, repeat } from "./api.js";
import { CaptureList, downloadItems } from "./capture.js";
import { CaptureSlot } from "./captureslot.js";
import { openTimeline } from "./categories.js";
import { openCompareMenu } from "./comparemenu.js";
import { element, isNarrow, isWide, setText } from "./dom.js";
import { formatBytes, formatClock, formatCount, formatMoment, formatSeconds, formatShare } from "./format.js";
import { LiveTable } from "./livetable.js";
import { openMenu } from "./menu.js";
import { shortMain } from "./names.js";
import { HeatStrip } from "./heatstrip.js";
import { isProfilable, isSameJvm, mainOf, placeOf, shortVersion } from "./node.js";
import { button, emptyState, errorState } from "./notice.js";
import { openJson } from "./openjson.js";
import { ProfilePanel } from "./panel.js";
import { formatRoute } from "./route.js";
import { endOfRange, rangeSide } from "./sides.js";
import { paramsOfState, stateOfParams } from "./state.js";
import { Timeline } from "./timeline.js";

const FACTS_SECONDS = 2;
const TIMELINE_SECONDS = 3;
const TIMELINE_BUCKETS = 240;
const LIVE_SECONDS = 3;
const LIVE_SPANS = [[10, "10 s"], [60, "1 min"], [300, "5 min"]];
const TIMELINE_SPANS = [[60, "1 min"], [300, "5 min"], [600, "10 min"], [3600, "1 h"]];
const TABS = [["graph", "Flame graph", "Of now, or of the range that is chosen above"],
    ["top", "Top", "The hottest methods of the last 2 seconds, again and again (o)"],
    ["captures", "Captures", "Those of it that are stored (w)"]];

export class JvmView {
    // @app: {setCrumbs(list), pushParams(params), replaceParams(params), banner, theme}; @argument: a pid or "node".
    constructor(app, argument, params) {
        this.app = app;
        this.isNode = argument === "node";
        this.pid = this.isNode ? "" : argument;
        this.target = this.isNode ? {} : { pid: Number(this.pid) };
        this.params = params;
        this.span = Number(params.get("span")) || 300;
        this.liveSpan = Number(params.get("live")) || 60;
        this.range = params.has("from") ? { from: Date.parse(params.get("from")), to: Date.parse(params.get("to")) } : null;
        if (this.range && !(this.range.to > this.range.from))
            this.range = null;
        this.tab = TABS.some(([tab]) => tab === params.get("tab")) ? params.get("tab") : "graph";
        this.heatState = params.get("heat") || "";
        this.heat = new HeatStrip({ wanted: () => this.toggleHeat(), changed: () => this.keep() });
        this.panel = new ProfilePanel({ state: () => this.keep() }, { title: false, thread: "", icicle: isNarrow(),
            table: isWide(), tools: [this.heat.button] });
        this.timeline = new Timeline({ range: (range) => this.chooseRange(range) });
        this.list = new CaptureList(this.target, {}, "Start one above: it stays here when it is done.");
        this.liveTable = new LiveTable(this.target, { pick: (name) => this.findMethod(name) });
        this.captureSlot = new CaptureSlot(this.target);
        this.build();
    }

    build() {
        const select = (list, value, label, chosen) => {
            const control = element("select", { class: "tool", "aria-label": label, title: label,
                onchange: () => chosen(Number(control.value)) },
            ...list.map(([seconds, name]) => element("option", { value: seconds, selected: seconds === value }, name)));

            return control;
        };

        this.facts = element("p", { class: "facts jvm-facts" });
        this.liveButton = button("Live", () => this.toggleLive(), { "aria-pressed": "false", title: "Follow what happens now (l)" });
        this.liveSelect = select(LIVE_SPANS, this.liveSpan, "How much the live flame graph looks back", (s) => this.setLiveSpan(s));
        this.spanSelect = select(TIMELINE_SPANS, this.span, "How much the timeline shows", (s) => this.setSpan(s));
        this.tabButtons = TABS.map(([tab, label, title]) => button(label, () => this.setTab(tab), { title, "aria-pressed": "false" }));
        this.downloadButton = button("Download", () => this.download(), { "aria-haspopup": "menu" });
        this.compareButton = button("Compare …", () => this.compareMenu(), { "aria-haspopup": "menu",
            title: "With another time, JVM or capture" });
        this.strip = element("div", { class: "bar sub" }, this.facts, element("div", { class: "tools" },
            element("div", { class: "tabs", role: "group", "aria-label": "What is shown" }, ...this.tabButtons),
            this.liveButton, this.liveSelect, this.captureSlot.opener, this.compareButton, this.downloadButton));
        this.timeline.head.append(this.spanSelect);
        this.content = element("div", { class: "content" });
        this.root = element("div", { class: "view" }, this.strip, this.captureSlot.root, this.timeline.root, this.content);
    }

    start() {
        this.setTheme(this.app.theme);
        this.crumbs();
        if (!this.isNode)
            this.stopFacts = repeat(FACTS_SECONDS, (signal) => this.loadFacts(signal));
        this.stopTimeline = repeat(TIMELINE_SECONDS, (signal) => this.loadTimeline(signal));
        this.timeline.setRange(this.range);
        this.showTab();
        if (this.range)
            this.loadRange();
        else
            this.setLive(true);
    }

    stop() {
        for (const end of [this.stopFacts, this.stopTimeline, this.stopLive])
            if (end)
                end();
        this.list.stop();
        this.liveTable.stop();
        this.captureSlot.stop();
        if (this.rangeLoad)
            this.rangeLoad.abort();
    }

    setTheme(theme) {
        this.panel.setTheme(theme);
        this.heat.setTheme(theme);
        this.timeline.setTheme(theme);
    }

    // ---- what it is ----

    crumbs() {
        const name = this.isNode ? "Whole node" : this.jvm ? shortMain(mainOf(this.jvm)) : `PID ${this.pid}`;

        this.app.setCrumbs([{ text: name, title: this.jvm ? mainOf(this.jvm) : name,
            href: formatRoute("jvm", this.isNode ? "node" : this.pid) },
        this.range ? { text: `${formatClock(this.range.from)} – ${formatClock(this.range.to)}` } : null]);
    }

    async loadFacts(signal) {
        let jvm;

        try {
            jvm = await getJson(`api/v1/jvms/${this.pid}`, {}, signal);
        } catch (error) {
            if (isAbort(error))
                throw error;
            if (error.status === 404) {
                this.gone = true;
                this.app.banner.show(this.jvm ? "This JVM has ended. What it did can still be looked at: drag over the timeline."
                    : `${error.message}. What it did before may still be recorded: drag over the timeline.`);
                this.setLive(false);
            } else {
                this.app.banner.show(`${error.message}. Trying again …`);
            }
            return;
        }
        if (this.jvm && !isSameJvm(this.jvm, jvm))
            this.wasReplaced = true;
        if (this.wasReplaced) {
            this.app.banner.show("The JVM that was looked at has ended; another one has its process id now.");
        } else {
            this.app.banner.show(isProfilable(jvm) ? "" : `Java names cannot be read from this JVM: ${jvm.profilable.reason}`);
        }
        this.gone = false;
        this.jvm = jvm;
        this.showFacts();
        this.crumbs();
    }

    showFacts() {
        const { jvm } = this;
        const facts = [`PID ${jvm.pid}`, placeOf(jvm), `JDK ${shortVersion(jvm.java_version)}`,
            `CPU ${formatShare(jvm.cpu_percent, 100)}`, `${formatCount(jvm.threads)} threads`, formatBytes(jvm.rss)];

        this.facts.replaceChildren(...facts.filter(Boolean).map((fact) => element("span", {}, fact)));
        this.facts.title = [mainOf(jvm), jvm.args].filter(Boolean).join(" ").slice(0, 2000);
    }

    // ---- timeline ----

    async loadTimeline(signal) {
        try {
            const json = await getJson("api/v1/timeline", {
                ...this.target, from: `-${this.span}s`, buckets: TIMELINE_BUCKETS, by: "category",
            }, signal);

            this.timeline.show(openTimeline(json));
            if (this.isNode)
                this.app.banner.show("");
        } catch (error) {
            if (isAbort(error))
                throw error;
            setText(this.timeline.note, [error.message, error.remedy].filter(Boolean).join(". "));
            if (this.isNode)
                this.app.banner.show(`${error.message}. Trying again …`);
        }
    }

    setSpan(span) {
        this.span = span;
        this.keep();
        this.stopTimeline();
        this.stopTimeline = repeat(TIMELINE_SECONDS, (signal) => this.loadTimeline(signal));
    }

    chooseRange(range) {
        if (this.heat.isOpen)
            this.heatState = "1"; // all of the new range
        if (range && this.comparesWith) {
            this.compare(rangeSide(this.sideTarget(), range));
            return;
        }
        this.range = range;
        this.pickOther(null);
        this.crumbs();
        if (!range) {
            this.keep({ push: true });
            this.setLive(true);
            return;
        }
        this.setLive(false);
        this.setTab("graph");
        this.keep({ push: true });
        this.loadRange();
    }

    // ---- flame graph ----

    rangeParams() {
        const iso = (ms) => new Date(ms).toISOString();

        if (this.range)
            return { ...this.target, from: iso(this.range.from), to: iso(endOfRange(this.range)) };
        return { ...this.target, from: `-${this.liveSpan}s` };
    }

    async loadRange() {
        if (this.rangeLoad)
            this.rangeLoad.abort();
        const controller = this.rangeLoad = new AbortController();

        this.root.setAttribute("aria-busy", "true");
        try {
            this.showJson(await getJson("profile", { ...this.rangeParams(), format: "json", threads: 1 }, controller.signal));
            if (this.heatState)
                await this.heat.open(this.panel, "profile", this.rangeParams(), this.heatState, controller.signal);
        } catch (error) {
            if (!isAbort(error))
                this.showProblem(error);
        } finally {
            if (this.rangeLoad === controller)
                this.root.removeAttribute("aria-busy");
        }
    }

    toggleLive() {
        if (this.isLive)
            this.setLive(false);
        else
            this.resumeLive();
    }

    resumeLive() {
        this.range = null;
        this.timeline.setRange(null);
        this.crumbs();
        this.keep({ push: true });
        this.setTab("graph");
        this.setLive(true);
    }

    // The moments of what is shown: what is live comes to a stop for it.
    toggleHeat() {
        if (this.heat.isOpen) {
            this.heat.close();
            this.heatState = "";
        } else {
            this.heatState = "1";
        }
        if (!this.range)
            this.chooseRange(this.shownRange());
        else
            this.loadRange();
    }

    setLive(on) {
        if (on && this.heat.isOpen) {
            this.heat.close();
            this.heatState = "";
        }
        if (this.stopLive)
            this.stopLive();
        this.stopLive = null;
        this.isLive = on && !this.gone;
        this.liveButton.setAttribute("aria-pressed", this.isLive);
        this.liveButton.hidden = this.tab !== "graph";
        this.liveSelect.hidden = !this.isLive || this.tab !== "graph";
        if (this.isLive && this.tab === "graph")
            this.stopLive = repeat(LIVE_SECONDS, (signal) => this.loadLive(signal));
    }

    setLiveSpan(seconds) {
        this.liveSpan = seconds;
        this.keep();
        this.setLive(true);
    }

    async loadLive(signal) {
        try {
            this.showJson(await getJson("profile", { ...this.rangeParams(), format: "json", threads: 1 }, signal));
        } catch (error) {
            if (isAbort(error))
                throw error;
            if (!this.hasProfile)
                this.showProblem(error);
        }
    }

    showJson(json) {
        const profile = openJson(json);

        if (this.panel.state) {
            this.panel.setProfile(profile, { keep: this.isLive });
        } else {
            this.panel.setProfile(profile);
            this.panel.setState(stateOfParams(this.params, this.panel.defaults));
        }
        if (!this.hasProfile && this.tab === "graph")
            this.content.replaceChildren(this.panel.root);
        this.hasProfile = true;
    }

    showProblem(error) {
        this.hasProfile = false;
        if (this.tab !== "graph")
            return;
        const actions = [button("Start a capture", () => this.captureSlot.toggle(true))];

        if (this.range)
            actions.push(button("Go live", () => this.resumeLive()));
        this.content.replaceChildren(errorState(error, ...actions));
    }

    // ---- captures ----

    toggleTab(tab) {
        this.setTab(this.tab === tab ? "graph" : tab);
    }

    // A method of the live table, in the flame graph.
    findMethod(name) {
        this.setTab("graph");
        if (this.panel.state)
            this.panel.pickMethod(name);
    }

    setTab(tab) {
        if (tab === this.tab)
            return;
        this.tab = tab;
        this.showTab();
        this.keep();
    }

    showTab() {
        const { tab } = this;

        this.tabButtons.forEach((control, i) => control.setAttribute("aria-pressed", TABS[i][0] === tab));
        this.list.stop();
        this.liveTable.stop();
        this.setLive(this.isLive);
        if (tab === "captures")
            this.list.start();
        else if (tab === "top")
            this.liveTable.start();
        this.content.replaceChildren(tab === "captures" ? this.list.root : tab === "top" ? this.liveTable.root
            : this.hasProfile ? this.panel.root : emptyState("Collecting samples …"));
    }

    // ---- compare ----

    sideTarget() {
        return this.isNode ? "" : this.pid;
    }

    // Where what is recorded of it begins, in ms since 1970; 0: nothing is.
    oldest() {
        const { data } = this.timeline;

        return data ? Math.max(data.oldest, this.jvm ? Date.parse(this.jvm.start_time) : 0) : 0;
    }

    // What is looked at now: the range, or the last minute or so.
    shownRange() {
        const now = Date.now();

        return this.range || { from: now - this.liveSpan * 1000, to: now };
    }

    compareMenu() {
        const shown = this.shownRange();

        openCompareMenu(this.compareButton, shown, this.oldest(), {
            range: (range) => this.compare(rangeSide(this.sideTarget(), range)), drag: () => this.pickOther(shown),
            other: () => this.compare(""),
        });
    }

    // The next range that is chosen is what @shown is compared with; null: not.
    pickOther(shown) {
        this.comparesWith = shown;
        this.timeline.setPrompt(shown ? "Drag over the time to compare with, or move there with ← → and press Enter." : "");
        if (shown)
            this.timeline.plot.focus();
        else
            this.timeline.setRange(this.range);
    }

    compare(a) {
        const b = rangeSide(this.sideTarget(), this.comparesWith || this.shownRange());

        location.hash = formatRoute("compare", "", { a, b });
    }

    async download() {
        const box = this.downloadButton.getBoundingClientRect();

        try {
            openMenu(await downloadItems("profile", { ...this.rangeParams(), threads: 1 }), { x: box.left, y: box.bottom + 2 },
                "Download as");
        } catch (error) {
            this.app.banner.show(error.message);
        }
    }

    // ---- address and keys ----

    keep({ push = false } = {}) {
        const params = this.panel.state && this.panel.defaults ? paramsOfState(this.panel.state, this.panel.defaults)
            : new URLSearchParams();
        const put = (name, value) => value && params.set(name, value);

        if (this.range) {
            put("from", new Date(this.range.from).toISOString());
            put("to", new Date(this.range.to).toISOString());
        }
        put("span", this.span !== 300 && this.span);
        put("live", this.liveSpan !== 60 && this.liveSpan);
        put("tab", this.tab !== "graph" && this.tab);
        put("heat", this.heat.state);
        if (push)
            this.app.pushParams(params);
        else
            this.app.replaceParams(params);
    }

    keyed(event) {
        const actions = {
            l: () => this.toggleLive(),
            x: () => this.captureSlot.toggle(),
            w: () => this.toggleTab("captures"),
            o: () => this.toggleTab("top"),
            e: () => this.tab === "graph" && this.toggleHeat(),
        };

        if (event.key === "Escape" && this.comparesWith) {
            this.pickOther(null);
            return true;
        }
        if (event.key === "Escape" && this.captureSlot.escaped())
            return true;
        if (event.target.closest("input, select, textarea"))
            return false;
        if (actions[event.key]) {
            actions[event.key]();
            event.preventDefault();
            return true;
        }
        return this.tab === "graph" && this.hasProfile && this.panel.keyed(event);
    }
}
