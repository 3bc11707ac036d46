// SPDX-License-Identifier: Apache-2.0
// One JVM, or the whole node: what it spends CPU time on, the flame graph of now or of a range, its captures.

import { getJson, isAbort } from "./api.js";
import { ChangesTable } from "./changestable.js";
import { CaptureList, openDownloads } from "./capture.js";
import { CaptureSlot } from "./captureslot.js";
import { element } from "../shared/dom.js";
import { forgottenState, graphProblem, putProblem } from "./graphproblem.js";
import { formatRange } from "../shared/format.js";
import { LiveGraph } from "./livegraph.js";
import { LiveTable } from "./livetable.js";
import { LocksView } from "./locksview.js";
import { MemoryTable } from "./memorytable.js";
import { HeatStrip } from "./heatstrip.js";
import { JvmBar, TABS, tabIsOf } from "./jvmbar.js";
import { JvmLife } from "./jvmlife.js";
import { jvmName, mainOf, processName } from "./jvmwords.js";
import { emptyState } from "./notice.js";
import { openJson } from "./openjson.js";
import { panelLooks } from "./panellooks.js";
import { deployOf, neverWas, paramsRange } from "./past.js";
import { ProfilePanel } from "../viewer/panel.js";
import { keepRange } from "./keeprange.js";
import { RangeComparison } from "./rangecomparison.js";
import { recordedEvent, recordedSelect } from "./recordedevents.js";
import { formatRoute } from "./route.js";
import { endOfRange, serviceTarget } from "./sides.js";
import { isAboutWaits } from "./signals.js";
import { SignalStrip } from "./signalstrip.js";
import { paramsOfState, stateOfParams } from "../shared/state.js";
import { ThreadChart } from "./threadchart.js";
import { Timeline } from "./timeline.js";
import { TimelineLoader } from "./timelineloader.js";
import { TimelineMarks } from "./timelinemarks.js";
import { WordsLine } from "./words.js";
import { nodeNow } from "../shared/now.js";

const OF_RANGE = ["threads", "locks", "changes"]; // tabs that show the range, as the graph does
const SETTLE_MS = 10000; // a flamed that hangs: what comes later moves what is below

export class JvmView {
    // @app: {setCrumbs(list), pushParams(params), replaceParams(params), banner, theme}; @argument: a pid or "node".
    // @service: it is the name of a service.
    constructor(app, argument, params, { service = false } = {}) {
        this.app = app;
        this.isService = service;
        this.isNode = !service && argument === "node";
        this.isOne = !service && !this.isNode;
        this.pid = this.isOne ? argument : "";
        this.target = this.isNode ? {} : service ? { service: argument } : { pid: Number(this.pid) };
        this.side = service ? serviceTarget(argument) : this.pid;
        this.params = params;
        this.live = new LiveGraph(this);
        this.range = paramsRange(params);
        this.tab = TABS.some(([tab]) => tab === params.get("tab")) ? params.get("tab") : "graph";
        if (!tabIsOf(this.tab, this))
            this.tab = "graph";
        this.heatState = params.get("heat") || "";
        this.event = recordedEvent(params.get("event"));
        this.isFree = this.isOne && !params.toString(); // what is wrong may choose what it opens on
        this.keepsEvent = params.get("event") === "cpu"; // of an address that would open on something else without it
        this.eventSelect = recordedSelect(this.event, (event) => this.setEvent(event));
        this.heat = new HeatStrip({ wanted: () => this.toggleHeat(), changed: () => this.keep() });
        this.captureSlot = new CaptureSlot(this.target);
        this.panel = new ProfilePanel({ state: () => this.keep() }, { ...panelLooks(), lead: [this.eventSelect], tools: [this.heat.button, this.captureSlot.sampler] });
        this.timeline = new Timeline({ range: (range) => this.chooseRange(range), keep: () => keepRange(this) }, this.isNode);
        this.list = new CaptureList(this.target, {}, "Start one above: it stays here when it is done.");
        this.liveTable = new LiveTable(this.target, { pick: (name) => this.findMethod(name) });
        this.memory = new MemoryTable(this.pid);
        this.threads = new ThreadChart(() => ({ path: "profile", params: this.rangeParams() }), { range: (from, to) => this.chooseRange({ from, to }) });
        this.locks = new LocksView(() => this.rangeParams(), { pick: (name) => this.findLock(name), isLive: () => !this.range && !this.facts.isGone,
            oldest: () => this.oldest(), forgotten: () => forgottenState(this) });
        this.changes = new ChangesTable(this.target, this.side, { range: () => this.range, service: () => this.facts.serviceName, keep: () => this.keep() }, params.get("ch") || "");
        this.life = new JvmLife(this);
        this.facts = this.life.facts(argument, app.banner);
        this.bar = new JvmBar({
            live: () => this.live.toggle(), liveSpan: (seconds) => this.live.setSpan(seconds), tab: (tab) => this.setTab(tab),
            compare: () => this.comparison.menu(this.bar.compareButton), download: () => openDownloads(this, this.bar.downloadButton, "profile", { ...this.graphParams(), threads: 1 }),
        }, { facts: this.facts.root, opener: this.captureSlot.opener, liveSpan: this.live.span, subject: this });
        this.timelineLoader = new TimelineLoader(this.timeline, this.target, this.facts, { span: Number(params.get("span")), chosen: () => this.keep(), settled: () => this.settle("timeline"),
            loaded: () => this.timelineLoaded(), failed: (error) => this.isNode && app.banner.show(`${error.message}. Trying again …`, "timeline") });
        this.comparison = new RangeComparison(this.side, this.timeline, {
            shown: () => this.shownRange(), oldest: () => this.oldest(), chosen: () => this.range });
        this.marks = new TimelineMarks(this.timeline, this.facts, (services) => this.signals.setDeploy(services && deployOf(services, this.target)));
        const words = new WordsLine(() => (this.range ? this.rangeParams() : this.target), () => this.settle("words"));

        this.signals = new SignalStrip(this.target, { signals: (list, past) => this.signalsLoaded(list, past), known: (part) => this.settle(part) }, words);
        this.content = element("div", { class: "content" });
        this.root = element("div", { class: "view" }, this.bar.root, this.signals.root, this.captureSlot.root, this.timeline.root, this.content);
        this.captureSlot.catchLinks(this.root);
        this.signals.root.hidden = this.isNode;
        this.awaited = new Set(this.isNode ? ["timeline"] : ["timeline", "signals", "deploy", "words"]);
        this.root.classList.add("settling");
    }

    // What takes room above the graph is known: the rest is seen from now on, and does not move. Without @part: it was waited
    // for long enough.
    settle(part = "") {
        this.awaited.delete(part);
        if ((part && this.awaited.size) || !this.root.classList.contains("settling"))
            return;
        this.root.classList.remove("settling");
        if (this.params.has("start"))
            this.captureSlot.ask(this.params.get("start"));
    }

    start() {
        this.setTheme(this.app.theme);
        this.crumbs();
        this.settling = setTimeout(() => this.settle(), SETTLE_MS);
        if (!this.isNode) {
            this.facts.start(); // what else is asked waits for it: it may have ended
            this.marks.start();
        }
        this.timelineLoader.reach(this.range);
        this.timeline.setRange(this.range);
        this.showTab();
        if (this.range)
            this.loadRange();
        if (this.range || this.isNode)
            this.timelineLoader.restart();
        if (this.isNode && !this.range)
            this.live.set(true);
    }

    stop() {
        clearTimeout(this.settling);
        this.timelineLoader.stop();
        this.live.stop();
        this.facts.stop();
        this.signals.stop();
        this.marks.stop();
        this.stopTabs();
        this.captureSlot.stop();
        if (this.rangeLoad)
            this.rangeLoad.abort();
    }

    setTheme(theme) {
        for (const part of [this.panel, this.heat, this.threads, this.changes, this.timeline])
            part.setTheme(theme);
    }

    // ---- what it is ----

    crumbs() {
        const { jvm } = this.facts;
        const { past } = this.facts, main = past ? past.main : jvm ? mainOf(jvm) : "";
        const name = this.isNode ? "Whole node" : this.isService ? this.target.service : past ? processName(past) : jvm ? jvmName(jvm) : `PID ${this.pid}`;

        this.app.setCrumbs([{ text: name, title: main || name,
            href: this.isService ? formatRoute("service", name) : formatRoute("jvm", this.isNode ? "node" : this.pid) },
        this.range ? { text: formatRange(this.range) } : null]);
    }

    // The first answer, before anything is in sight, chooses what the JVM opens on: what its threads wait for, if that is its worst signal.
    signalsLoaded(list, past) {
        const isFree = this.isFree && this.root.classList.contains("settling") && this.event === "cpu" && this.tab === "graph" && !this.range;

        this.isFree = false;
        this.marks.setSignals(list, past);
        if (!isFree || !list.length || !isAboutWaits(list[0]))
            return;
        this.keepsEvent = true;
        this.setEvent("offcpu");
        this.signals.setNote("Opened on what its threads wait for");
    }

    // ---- timeline ----

    timelineLoaded() {
        if (this.problem && !this.problem.isDated)
            this.showProblem(this.problem.error); // how far back is known now
        this.locks.dated();
        if (this.isNode)
            this.app.banner.show("", "timeline");
    }

    chooseRange(range) {
        if (this.heat.isOpen)
            this.heatState = "1"; // all of the new range
        if (range && this.comparison.isPicking) {
            this.comparison.with(range);
            return;
        }
        if (!range && this.hasEnded) {
            this.timeline.setRange(this.range); // nothing runs that could be shown in its place
            return;
        }
        const hadRange = Boolean(this.range);

        this.setRange(range);
        this.comparison.pick(null);
        if (!range) {
            this.keep({ push: true });
            this.live.set(true);
            if (hadRange && OF_RANGE.includes(this.tab))
                this.showTab();
            return;
        }
        this.live.set(false);
        this.loadRange();
        this.setTab("graph");
        this.keep({ push: true });
    }

    setRange(range) {
        this.range = range;
        this.changes.chosen = ""; // the new one is what one asks about
        this.timeline.setRange(range);
        this.crumbs();
        this.signals.askWords();
    }

    // ---- flame graph ----

    rangeParams() {
        const iso = (ms) => new Date(ms).toISOString();

        if (this.range)
            return { ...this.target, from: iso(this.range.from), to: iso(endOfRange(this.range)) };
        const oldest = this.oldest();

        return { ...this.target, from: oldest > nodeNow() - this.live.span * 1000 ? iso(oldest) : `-${this.live.span}s` };
    }

    // Those of the flame graph.
    graphParams() {
        return { ...this.rangeParams(), ...this.event !== "cpu" && { event: this.event } };
    }

    setEvent(event) {
        this.event = this.eventSelect.value = event;
        this.signals.setNote("");
        this.hasProfile = false;
        this.problem = null;
        this.heatState = this.heatState && "1";
        this.keep();
        if (this.range)
            this.loadRange();
        else
            this.live.collect();
    }

    // The stacks of the threads that waited for a lock.
    async findLock(name) {
        this.event = this.eventSelect.value = "lock";
        this.signals.setNote("");
        this.setRange(this.shownRange());
        this.live.set(false);
        this.setTab("graph");
        this.keep({ push: true });
        await this.loadRange();
        if (this.hasProfile)
            this.panel.pickMethod(name);
    }

    async loadRange({ isLost = false } = {}) {
        if (this.rangeLoad)
            this.rangeLoad.abort();
        const controller = this.rangeLoad = new AbortController();

        this.problem = null;
        this.root.setAttribute("aria-busy", "true");
        try {
            this.showJson(await getJson("profile", { ...this.graphParams(), format: "json", threads: 1 }, controller.signal));
            if (this.heatState)
                await this.openHeat(controller.signal);
        } catch (error) {
            if (!isAbort(error))
                this.showProblem(isLost && error.status === 404 ? neverWas(this.pid) : error);
        } finally {
            if (this.rangeLoad === controller)
                this.root.removeAttribute("aria-busy");
        }
    }

    // The moments of the graph that is in sight. Where they are refused, the graph stays, and the button asks again.
    async openHeat(signal) {
        try {
            await this.heat.open(this.panel, "profile", this.graphParams(), this.heatState, signal);
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.heat.close(); // of another range, or event
            this.heatState = "";
            this.keep();
            this.app.banner.show(`No heat map: ${error.message}`, "graph");
        }
    }

    get hasEnded() {
        return this.isOne && this.facts.isGone;
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

    showJson(json) {
        const profile = openJson(json);

        this.problem = null;
        this.shownAt = { here: Date.now(), node: nodeNow() };
        this.app.banner.show("", "graph");
        this.signals.setProfile(this.live.isOn && this.event === "cpu" ? profile : null);
        if (this.panel.state) {
            this.panel.setProfile(profile, { keep: this.live.isOn });
        } else {
            this.panel.setProfile(profile);
            this.panel.setState(stateOfParams(this.params, this.panel.defaults));
        }
        if (this.tab === "graph" && this.content.firstChild !== this.panel.root)
            this.content.replaceChildren(this.panel.root);
        this.hasProfile = true;
    }

    showProblem(error) {
        this.hasProfile = false;
        this.problem = { error, isDated: Boolean(this.oldest()) }; // it stands here when its tab is chosen again
        if (this.tab === "graph")
            this.putProblem();
    }

    putProblem() {
        putProblem(this.content, graphProblem(this, this.problem.error), this.rangeParams());
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

        this.stopTabs();
        this.live.set(this.live.isWanted);
        const shown = this.views()[tab];

        if (shown)
            shown.start();
        if (!shown && this.problem)
            this.putProblem();
        else
            this.content.replaceChildren(shown ? shown.root : this.hasProfile ? this.panel.root : emptyState(this.range ? "Loading …" : "Collecting samples …"));
    }

    // What stands in place of the flame graph, by tab.
    views() {
        return { captures: this.list, threads: this.threads, locks: this.locks, top: this.liveTable, memory: this.memory, changes: this.changes, jvms: this.facts.jvms };
    }

    stopTabs() {
        for (const view of Object.values(this.views()))
            if (view)
                view.stop();
    }

    // ---- compare ----

    // Where what is recorded of it begins, in ms since 1970; 0: nothing is.
    oldest() {
        const { data } = this.timeline, { jvm } = this.facts;

        return data ? Math.max(data.oldest, jvm ? Date.parse(jvm.start_time) : 0) : 0;
    }

    // What is looked at now: the range, or the last minute or so.
    shownRange() {
        const now = nodeNow();

        return this.range || { from: now - this.live.span * 1000, to: now };
    }

    // ---- address and keys ----

    stateParams() {
        const params = this.panel.state && this.panel.defaults ? paramsOfState(this.panel.state, this.panel.defaults) : new URLSearchParams();

        if (this.event !== "cpu" || this.keepsEvent)
            params.set("event", this.event);
        return params;
    }

    keep({ push = false } = {}) {
        const params = this.stateParams();
        const put = (name, value) => value && params.set(name, value);

        if (this.range) {
            put("from", new Date(this.range.from).toISOString());
            put("to", new Date(this.range.to).toISOString());
        }
        put("span", this.timelineLoader.chosenSpan);
        put("live", this.live.spanIsChosen && this.live.span);
        put("tab", this.tab !== "graph" && this.tab);
        put("ch", this.tab === "changes" && this.changes.chosen);
        put("heat", this.heat.state);
        if (push)
            this.app.pushParams(params);
        else
            this.app.replaceParams(params);
    }

    keyed(event) {
        const actions = {
            l: () => (this.tab === "graph" || this.range) && this.live.toggle(), // elsewhere one would not see that it stops
            g: () => this.signals.follow(),
            x: () => this.captureSlot.toggle(),
            w: () => this.toggleTab("captures"),
            o: () => this.toggleTab("top"),
            u: () => this.toggleTab("threads"),
            e: () => this.tab === "graph" && this.toggleHeat(),
        };

        if (event.key === "Escape" && this.comparison.isPicking) {
            this.comparison.pick(null);
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
