// SPDX-License-Identifier: Apache-2.0
// Stored captures: all of the node, and one by itself.

import { getJson, isAbort } from "./api.js";
import { processName } from "./jvmwords.js";
import { CaptureProgress } from "./progress.js";
import { CaptureList, eventTitle, openDownloads, processesOf } from "./capture.js";
import { HeatStrip } from "./heatstrip.js";
import { element } from "../shared/dom.js";
import { formatMoment, formatSeconds } from "../shared/format.js";
import { LockTable, hasLocks } from "./locktable.js";
import { button, emptyState, errorState } from "./notice.js";
import { openJson } from "./openjson.js";
import { panelLooks } from "./panellooks.js";
import { ProfilePanel } from "../viewer/panel.js";
import { tooEarlyText } from "./questions.js";
import { RequestBar } from "./requestbar.js";
import { RequestsView } from "./requestsview.js";
import { formatRoute } from "./route.js";
import { ThreadChart } from "./threadchart.js";
import { paramsOfState, stateOfParams } from "../shared/state.js";

// A stored capture by itself.
export class CaptureView {
    constructor(app, id, params) {
        this.app = app;
        this.id = id;
        this.params = params;
        this.heat = new HeatStrip({ wanted: () => this.toggleHeat(), changed: () => this.keep() });
        this.panel = new ProfilePanel({ state: () => this.keep() }, { ...panelLooks(), tools: [this.heat.button] });
        this.facts = element("p", { class: "facts jvm-facts" });
        this.eventSelect = element("select", { class: "tool", "aria-label": "Event", hidden: true });
        this.eventSelect.addEventListener("change", () => this.showEvent());
        this.locksButton = button("Locks", () => this.toggleLocks(), { "aria-pressed": "false", hidden: true, title: "What threads waited for, as a table" });
        this.requests = new RequestBar({ changed: () => this.showEvent(), trace: () => this.requestsShown || this.toggleRequests() }, params);
        this.single = new RequestsView(() => ({ path: `api/v1/captures/${this.id}/profile`, params: this.requests.filter }));
        this.singleButton = button("Requests", () => this.toggleRequests(), { "aria-pressed": "false", hidden: true,
            title: "Single requests in time, running and waiting: give a trace's id for one" });
        this.threads = new ThreadChart(() => ({ path: `api/v1/captures/${this.id}/profile`, params: this.options }), {}, { events: false });
        this.threadsButton = button("Threads", () => this.toggleThreads(), { "aria-pressed": "false", hidden: true, title: "Pools and threads over time" });
        this.downloadButton = button("Download", () => openDownloads(this, this.downloadButton, `api/v1/captures/${this.id}/profile`, this.options), { "aria-haspopup": "menu", hidden: true });
        this.compareLink = element("a", { class: "tool", hidden: true, href: formatRoute("compare", "", { b: id }) }, "Compare");
        this.failure = null; // what stands in place of the graph
        this.content = element("div", { class: "content" }, emptyState("Loading the capture …"));
        this.root = element("div", { class: "view" }, element("div", { class: "bar sub" }, this.facts,
            element("div", { class: "tools" }, this.requests.root, this.singleButton, this.eventSelect, this.locksButton, this.threadsButton, this.downloadButton, this.compareLink)), this.content);
    }

    async start() {
        const controller = this.controller = new AbortController();
        const heatState = this.params.get("heat");

        this.root.classList.add("settling"); // until it is known which tools it has
        this.setTheme(this.app.theme);
        this.app.setCrumbs([{ text: "Captures", href: "#/captures" }, { text: this.id.slice(0, 8) }]);
        try {
            const capture = await getJson("api/v1/captures/" + this.id, {}, controller.signal);

            this.capture = capture;
            this.showFacts(capture);
            if (capture.state === "running") {
                this.content.replaceChildren(this.follow().root);
                return;
            }
            this.fillEvents(capture.events || []);
            await this.loadProfile(controller.signal);
            this.content.replaceChildren(this.early ? this.earlyState() : this.panel.root);
            if (this.params.get("single") && !this.singleButton.hidden)
                this.toggleRequests();
            else if (this.params.get("threads") && !this.threadsButton.hidden)
                this.toggleThreads();
            else if (this.params.get("locks") && this.locks)
                this.toggleLocks();
            else if (heatState)
                await this.openHeat(heatState);
        } catch (error) {
            if (!isAbort(error))
                this.content.replaceChildren(errorState(error, button("Try again", () => this.start()),
                    element("a", { class: "tool", href: "#/captures" }, "All captures")));
        } finally {
            this.root.classList.remove("settling");
        }
    }

    // In place of a graph that would mislead.
    earlyState() {
        const { pid } = this.capture.processes[0] || {};

        return emptyState("Too early to know what stays.", `${this.early} Take a longer capture: until two collections have passed.`,
            ...pid ? [element("a", { class: "tool primary", href: formatRoute("jvm", pid, { start: "live" }) }, "Take a longer one …")] : [],
            button("Draw it nevertheless", () => this.content.replaceChildren(this.panel.root)));
    }

    // What a request of the profile says besides.
    get options() {
        return { ...this.requests.options, ...this.eventSelect.hidden ? {} : { event: this.eventSelect.value } };
    }

    // A choice where the capture has several events.
    fillEvents(events) {
        const names = events.map(({ name }) => name), chosen = this.params.get("event");

        this.eventSelect.hidden = names.length < 2;
        this.eventSelect.replaceChildren(...names.map((name) => element("option", { value: name }, eventTitle(name))));
        if (names.includes(chosen))
            this.eventSelect.value = chosen;
    }

    async loadProfile(signal) {
        const json = await getJson(`api/v1/captures/${this.id}/profile`, { format: "json", ...this.options }, signal);

        this.failure = null;
        this.downloadButton.hidden = this.compareLink.hidden = false; // there is something to be had
        this.requests.show(json);
        this.singleButton.hidden = !this.requests.hasRequests;
        this.early = tooEarlyText(json);
        this.profile = openJson(json);
        this.panel.setProfile(this.profile);
        if (!this.panel.state)
            this.panel.setState(stateOfParams(this.params, this.panel.defaults));
        this.locks = hasLocks(json.meta.event) ? new LockTable(json, { pick: (name) => this.findLock(name) }) : null;
        this.locksButton.hidden = !this.locks;
        if (!this.locks && this.locksShown)
            this.toggleLocks();
        this.threadsButton.hidden = json.meta.unit !== "nanoseconds"; // bytes and counts have no length in time
        if (this.threadsButton.hidden && this.threadsShown)
            this.toggleThreads();
    }

    // Or what stands in its place.
    get graph() {
        return this.failure || this.panel.root;
    }

    get locksShown() {
        return this.locksButton.getAttribute("aria-pressed") === "true";
    }

    // The stacks of the threads that waited for a lock.
    findLock(name) {
        this.toggleLocks();
        this.panel.pickMethod(name);
    }

    // One of them stands in place of the graph.
    press(control, shown) {
        for (const one of [this.singleButton, this.threadsButton, this.locksButton])
            one.setAttribute("aria-pressed", String(one === control && shown));
        for (const view of [this.threads, this.single])
            view.stop();
    }

    get requestsShown() {
        return this.singleButton.getAttribute("aria-pressed") === "true";
    }

    toggleRequests() {
        const shown = !this.requestsShown;

        this.press(this.singleButton, shown);
        this.content.replaceChildren(shown ? this.single.root : this.graph);
        if (shown)
            this.single.start();
        this.keep();
    }

    get threadsShown() {
        return this.threadsButton.getAttribute("aria-pressed") === "true";
    }

    toggleThreads() {
        const shown = !this.threadsShown;

        this.press(this.threadsButton, shown);
        this.content.replaceChildren(shown ? this.threads.root : this.graph);
        if (shown)
            this.threads.start();
        this.keep();
    }

    toggleLocks() {
        const shown = !this.locksShown;

        this.press(this.locksButton, shown);
        this.content.replaceChildren(shown ? this.locks.root : this.graph);
        this.keep();
    }

    // What was asked for last is what stays: an answer to a choice of before does not come over it.
    async showEvent() {
        this.controller.abort();
        const { signal } = this.controller = new AbortController();

        this.app.banner.show("");
        try {
            this.heat.close();
            if (this.requestsShown)
                this.single.start();
            else if (this.threadsShown)
                this.threads.start();
            await this.loadProfile(signal);
            if (this.locksShown)
                this.content.replaceChildren(this.locks.root);
            else if (!this.requestsShown && !this.threadsShown)
                this.content.replaceChildren(this.early ? this.earlyState() : this.panel.root);
            this.keep();
        } catch (error) {
            if (!isAbort(error))
                this.fail(error);
        }
    }

    // A choice that is refused: what was drawn before is not what is chosen now.
    fail(error) {
        this.profile = this.locks = null;
        this.failure = errorState(error, button("Try again", () => this.showEvent()));
        this.locksButton.hidden = true;
        if (this.locksShown)
            this.press(this.locksButton, false);
        if (!this.requestsShown && !this.threadsShown)
            this.content.replaceChildren(this.failure);
        this.keep();
    }

    showFacts(capture) {
        const [process, ...others] = processesOf(capture);
        const name = others.length ? `${others.length + 1} processes` : process ? `${processName(process)} (${process.pid})` : capture.target || "Whole node";

        this.app.setCrumbs([process && !others.length
            ? { text: processName(process), href: formatRoute("jvm", process.pid) } : { text: "Captures", href: "#/captures" },
        { text: formatMoment(Date.parse(capture.start)) }]);
        this.facts.replaceChildren(...[name, capture.event.split(",").map(eventTitle).join(", "), formatSeconds(capture.seconds || 0),
            capture.schedule ? "by schedule " + capture.schedule : ""].filter(Boolean).map((f) => element("span", {}, f)));
    }

    openHeat(state) {
        return this.heat.open(this.panel, `api/v1/captures/${this.id}/profile`, this.options, state, this.controller.signal);
    }

    toggleHeat() {
        if (this.heat.isOpen) {
            this.heat.close();
            this.panel.setProfile(this.profile, { keep: true });
            this.keep();
        } else {
            this.openHeat("1").catch((error) => isAbort(error) || this.app.banner.show(error.message));
        }
    }

    keep() {
        const params = this.panel.state ? paramsOfState(this.panel.state, this.panel.defaults) : new URLSearchParams();

        this.requests.keep(params);
        if (this.heat.state)
            params.set("heat", this.heat.state);
        if (this.requestsShown)
            params.set("single", "1");
        if (this.locksShown)
            params.set("locks", "1");
        if (this.threadsShown)
            params.set("threads", "1");
        if (!this.eventSelect.hidden && this.eventSelect.selectedIndex > 0)
            params.set("event", this.eventSelect.value);
        this.app.replaceParams(params);
    }

    follow() {
        this.progress = new CaptureProgress(this.id, { ended: () => this.start() });
        return this.progress;
    }

    stop() {
        this.controller.abort();
        this.threads.stop();
        this.single.stop();
        if (this.progress)
            this.progress.end();
    }

    setTheme(theme) {
        this.panel.setTheme(theme);
        this.threads.setTheme(theme);
        this.single.setTheme(theme);
        this.heat.setTheme(theme);
    }

    keyed(event) {
        if (this.content.firstChild !== this.panel.root)
            return false; // the graph is not in sight
        if (event.key === "e" && !event.target.closest("input, select, textarea")) {
            this.toggleHeat();
            return true;
        }
        return this.panel.keyed(event);
    }
}

// All captures of the node.
export class CapturesView {
    constructor(app) {
        this.app = app;
        this.list = new CaptureList({}, {}, "Open a JVM and start one, or let the configuration schedule some.");
        this.root = element("div", { class: "view" }, this.list.root);
    }

    start() {
        this.app.setCrumbs([{ text: "Captures" }]);
        this.list.start();
    }

    stop() {
        this.list.stop();
    }

    setTheme() {
        // nothing is drawn here
    }

    keyed() {
        return false;
    }
}
