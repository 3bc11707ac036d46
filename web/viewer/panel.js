// SPDX-License-Identifier: Apache-2.0
// A profile to look at: graph, table, bars and search put together, with what is looked at as its state. Both the
// html format and the page show profiles with it.

import { callsTable } from "./callstable.js";
import { Changes } from "./changes.js";
import { element, setText, storedOwn } from "../shared/dom.js";
import { Halves } from "./halves.js";
import { Graph } from "./graph.js";
import { Legend, StatusLine, Tooltip, describe, factsBar, noticeList } from "./bars.js";
import { MethodTable } from "./table.js";
import { momentStrip } from "./momentstrip.js";
import { PanelBar } from "./panelbar.js";
import { panelKeyed } from "./panelkeys.js";
import { SearchBox } from "./searchbox.js";
import { nodeName } from "../shared/tree.js";
import { compileSearch, escapeRegex, matchGroups, nextMatch, widestMatch } from "../shared/search.js";
import { emptyText } from "../shared/quality.js";
import { findNode, nameNode } from "../shared/state.js";
import { formatShare, formatValue, plural } from "../shared/format.js";
import { OwnCode } from "./owncode.js";
import { openFrameMenu } from "./frameactions.js";
import { chooseOwn, packageTint, sumPackages } from "../shared/packages.js";
import { sumKinds, sumMethods } from "../shared/methods.js";
import { Shape, treeBeside } from "../shared/shape.js";
import { threadsOf } from "../shared/transform.js";

export class ProfilePanel {
    // @on: {state(state)}, called when what is looked at changed; {describe(tree, node)}: facts about a frame in place
    // of the usual ones. @title, @facts: whether it shows those of the profile.
    // @lead, @tools: controls of the owner that stand before and behind those of the panel. @thread, @icicle, @table, @idle, @frames,
    // @tiers: how it opens. @brief: quality is one line.
    constructor(on, { title = true, lead = [], tools = [], thread = "*", facts = true, icicle = false, table = false, idle = true,
        frames = true, tiers = true, brief = false } = {}) {
        this.isBrief = brief;
        this.usual = { table, idle, frames, tiers };
        this.usualIcicle = icicle;
        this.hasFacts = facts;
        this.on = on;
        this.usualThread = thread;
        this.search = this.tableSearch = this.matched = null;
        const graph = (label) => new Graph({
            hover: (node, event, from) => this.hovered(node, event, from),
            focus: (node, from) => this.focused(node, from),
            zoom: (node, from) => this.zoomed(from),
            menu: (node, at, from) => this.frameMenu(node, at, from),
            copied: (ok, name) => this.copied(ok, name),
        }, label);

        this.graph = graph("Stacks");
        this.callees = graph("Callees");
        this.callees.icicle = true;
        this.before = graph("Stacks before"); // of a difference, side by side
        this.searchBox = new SearchBox({
            search: (text) => this.takeSearch(text), step: (direction) => this.step(direction),
            leave: () => this.graph.root.focus(),
        });
        this.bar = new PanelBar(this.searchBox, {
            back: () => this.back(), reset: () => this.graph.reset(), weight: () => this.toggleWeight(),
            toggle: (name) => this.toggle(name), thread: (thread) => this.change({ thread, zoom: "" }),
            own: () => this.own.open(this.state.mine, this.source.meta.mains || []),
        }, { title, lead, tools });
        this.table = new MethodTable({ pick: (name) => this.pickMethod(name) });
        this.legend = new Legend();
        this.status = new StatusLine(() => this.menuOfShown());
        this.tip = new Tooltip();
        this.facts = element("div", { class: "facts-slot" });
        this.changes = new Changes((parts) => this.change(parts));
        this.own = new OwnCode((parts) => this.change(parts));
        this.halves = new Halves(this.graph);
        this.main = element("div", { class: "panes" }, this.table.root, this.halves.root);
        this.empty = element("p", { class: "empty", hidden: true });
        this.graph.root.append(this.empty);
        this.root = element("section", { class: "panel", "aria-label": "Profile" }, this.bar.root, this.own.root,
            this.facts, this.changes.root, this.legend.root, this.main, this.status.root, this.status.live, this.tip.root);
    }

    // Shows another profile with the same view, or the first one. @keep: it is the same one, a little later.
    setProfile(profile, { keep = false } = {}) {
        const isUsual = this.state && this.state.weight === this.defaults.weight;

        this.source = profile;
        this.defaults = {
            reverse: Boolean(profile.view.reverse), icicle: this.usualIcicle || Boolean(profile.view.inverted),
            weight: profile.meta.weight, thread: this.usualThread, ...this.usual,
        };
        this.threads = threadsOf(profile);
        this.shape = new Shape(profile, this.threads);
        this.scopeKey = null;
        this.wholeWeight = null;
        this.showFacts(profile);
        this.bar.showProfile(profile, this.threads);
        if (isUsual)
            this.state.weight = profile.meta.weight; // a person's choice stays; what is usual is the event's
        if (this.state)
            this.applyState({ keep });
    }

    // The notices stay open, and focused, while a live profile is renewed.
    showFacts(profile) {
        const brief = () => this.facts.querySelector(".notices-brief"), isOpen = Boolean(brief()?.open), isFocused = Boolean(brief()?.contains(document.activeElement));
        const parts = [() => factsBar(profile, { brief: this.isBrief }), () => noticeList(profile, { brief: this.isBrief }), () => callsTable(profile), () => momentStrip(profile)];

        this.legend.root.hidden = !this.hasFacts;
        this.facts.replaceChildren(...this.hasFacts ? parts.map((make) => make()).filter(Boolean) : []);
        if (!brief())
            return;
        brief().open = isOpen;
        if (isFocused)
            brief().firstChild.focus({ preventScroll: true });
    }

    setState(state) {
        this.state = state;
        state.mine = state.mine || storedOwn();
        if (this.source)
            this.applyState();
    }

    // Changes parts of the state as a person's choice does.
    change(parts) {
        Object.assign(this.state, parts);
        this.applyState();
    }

    // ---- state ----

    weight() {
        return this.isBeside ? "samples" : this.state.weight;
    }

    tree() {
        const weight = this.weight();

        return this.state.sandwich ? this.shape.callers(weight) : this.state.reverse ? this.shape.reversed(weight)
            : this.shape.forward(weight);
    }

    // Makes the panel show this.state.
    applyState({ keep = false } = {}) {
        const { state, graph } = this;

        if (state.weight !== "value" || !this.source.values)
            state.weight = this.source.values ? "samples" : this.source.meta.weight;
        if (state.thread && state.thread !== "*" && !this.threads.some(({ name }) => name === state.thread))
            state.thread = this.usualThread; // it is not in this profile
        chooseOwn(state.mine || "", this.source.meta.mains || []);
        if (this.shape.use(state))
            this.wholeWeight = null;
        graph.icicle = this.before.icicle = state.icicle && !state.sandwich;
        const tree = this.tree();

        this.scopeKey = null;
        this.showToggles();
        this.changes.show(state);
        this.empty.hidden = tree.total[0] > 0;
        setText(this.empty, !this.source.quality.samples ? emptyText(this.source.meta)
            : "Nothing is left of this profile with what is hidden, focused or selected. Take a change back above.");
        this.showTint();
        graph.setTree(tree, this.rootText(tree), findNode(tree, state.zoom), { keep });
        if (this.isBeside)
            this.before.setTree(treeBeside(tree, "value"), this.rootText(tree), findNode(tree, state.zoom), { keep });
        if (state.sandwich) {
            const below = this.shape.callees(state.weight);

            this.callees.setTree(below, this.rootText(below), 0, { keep });
            this.halves.setLabel(`Callers of ${state.sandwich}: ` +
                `${formatShare(below.samples[0], this.source.quality.samples)} of all samples run in it or below it`);
        }
        this.searchBox.show(state.search);
        this.applySearch();
        this.tableSearch = this.search;
        this.zoomed(graph, { keep });
        if (!keep)
            this.tip.hide();
        else
            this.allGraphs().forEach(({ input }) => input.pointAgain());
    }

    rootText(tree) {
        const { meta } = this.source;
        if (this.on.describe)
            return "all";
        const weight = tree.weight === "value" ? formatValue(tree.total[0], meta.unit)
            : plural(tree.total[0], "sample", "samples");

        return `all · ${weight}${this.source.idle && !this.state.idle ? " without idle threads" : ""}`;
    }

    tellState() {
        this.on.state(this.state);
    }

    toggle(name) {
        const { state } = this;

        state[name] = !state[name];
        if (name === "reverse") {
            state.zoom = "";
            state.sandwich = "";
        }
        if (["frames", "idle", "tiers"].includes(name))
            state.zoom = "";
        if (["reverse", "beside", "frames", "idle", "tiers"].includes(name)) {
            this.applyState();
            return;
        }
        this.showToggles();
        if (name === "icicle" && !state.sandwich)
            this.setIcicle();
        if (name === "packages")
            this.showTint();
        this.showScope();
        this.tellState();
    }

    setIcicle() {
        for (const graph of [this.graph, this.before])
            graph.setIcicle(this.state.icicle);
    }

    // A difference has its two sides beside each other where that is asked for, else both in one graph.
    get isBeside() {
        return Boolean(this.state.beside && this.source.meta.isDiff && !this.state.sandwich);
    }

    showToggles() {
        const { state, isBeside } = this;
        const other = state.sandwich ? this.callees : isBeside ? this.before : null;

        this.bar.showState(state);
        this.main.classList.toggle("with-table", state.table);
        this.other = other;
        this.halves.show(other, { beside: isBeside, label: isBeside ? "Before" : "Callees" });
        if (isBeside)
            this.halves.setLabel("After");
    }

    toggleWeight() {
        this.state.weight = this.state.weight === "value" ? "samples" : "value";
        this.applyState();
    }

    setTheme(theme) {
        this.theme = theme;
        for (const graph of this.allGraphs())
            graph.setTheme(theme);
        if (this.state && this.state.packages)
            this.showScope({ anew: true });
    }

    allGraphs() {
        return [this.graph, this.callees, this.before];
    }

    // @tint(tree, node, theme): colours that the owner wants.
    setTint(tint) {
        this.ownTint = tint;
        this.showTint();
    }

    showTint() {
        const tint = this.ownTint || (this.state && this.state.packages ? packageTint : null);

        for (const graph of this.allGraphs())
            graph.setTint(tint);
    }

    // Esc: the zoom first, then the sandwich.
    back() {
        if (!this.graph.back() && this.state.sandwich)
            this.change({ sandwich: "", zoom: "" });
    }

    // ---- what can be done with a frame ----

    menuOfShown() {
        const { graph } = this;
        const box = this.status.more.getBoundingClientRect();

        this.frameMenu(graph.focus >= 0 ? graph.focus : graph.zoomNode, { x: box.right, y: box.top }, graph);
    }

    frameMenu(node, at, graph) {
        this.tip.hide();
        openFrameMenu(this, graph, node, at);
    }

    sandwich(name) {
        this.change({ sandwich: name, zoom: "", reverse: false });
        this.graph.root.focus();
    }

    focusOn(name) {
        this.change({ focus: name, zoom: "" });
    }

    hide(name) {
        if (!this.state.hide.includes(name))
            this.change({ hide: [...this.state.hide, name], zoom: "" });
    }

    copied(ok, name) {
        const text = ok ? `Copied ${name}` : "The clipboard is closed to this page";

        this.status.say(text);
        this.status.flash(text);
    }

    // ---- what the graph tells ----

    zoomed(graph, { keep = false } = {}) {
        const { state } = this;

        if (graph === this.callees) {
            this.showStatus(graph, graph.zoomNode);
            return;
        }
        if (graph === this.before) {
            this.graph.zoom(graph.zoomNode);
            return;
        }
        if (this.isBeside)
            this.before.zoom(graph.zoomNode);
        state.zoom = nameNode(graph.tree, graph.zoomNode);
        this.bar.showZoom(graph.canGoBack() || Boolean(state.sandwich), graph.canGoBack());
        this.showScope({ keep });
        this.showStatus(graph, graph.focus >= 0 ? graph.focus : graph.zoomNode);
        this.tellState();
    }

    hovered(node, event, graph) {
        if (this.isBeside)
            (graph === this.before ? this.graph : this.before).markHover(node);
        if (node < 0) {
            this.tip.hide();
            this.showStatus(graph, graph.focus >= 0 ? graph.focus : graph.zoomNode);
            return;
        }
        const about = this.about(graph, node);

        this.status.show(about);
        this.tip.show(about, event);
    }

    focused(node, graph) {
        if (node < 0)
            return;
        const about = this.about(graph, node);

        if (this.isBeside)
            (graph === this.before ? this.graph : this.before).markFocus(node);
        this.tip.hide();
        this.status.show(about);
        this.status.say([about.name, ...about.facts].join(", "));
        this.showMatches();
    }

    showStatus(graph, node) {
        if (graph.tree)
            this.status.show(this.about(graph, node));
    }

    about(graph, node) {
        const { tree } = graph;

        return this.on.describe ? { name: nodeName(tree, node), facts: this.on.describe(tree, node) }
            : describe(tree, node, graph.target);
    }

    // Legend and table, of what is zoomed. Reversed trees have no callees, so these stay with the whole.
    showScope({ anew = false, keep = false } = {}) {
        const { graph, state } = this;
        let tree = graph.tree, node = graph.zoomNode;

        if (state.reverse || state.sandwich) {
            tree = this.shape.forward(this.weight());
            node = 0;
        }
        const key = [state.reverse, state.sandwich, node, state.weight, this.tableSearch && this.tableSearch.regex, state.table,
            state.packages].join();

        if (key === this.scopeKey && !anew)
            return;
        this.scopeKey = key;
        if (this.wholeWeight !== state.weight) { // the whole is the same whatever is zoomed
            this.wholeWeight = state.weight;
            this.wholeKinds = sumKinds(tree);
        }
        if (state.packages && !this.ownTint)
            this.legend.showPackages(sumPackages(tree, node), tree.total[node], this.theme);
        else
            this.legend.show(node ? sumKinds(tree, node) : this.wholeKinds, tree.total[node], this.wholeKinds);
        if (state.table)
            this.table.show(sumMethods(tree, node),
                { whole: tree.total[node], weight: state.weight, meta: this.source.meta, search: this.tableSearch, keep });
        this.showMatches();
    }

    // ---- search ----

    takeSearch(text) {
        if (!this.state || this.state.search === text)
            return;
        this.state.search = text;
        this.applySearch();
        this.tableSearch = this.search;
        this.showScope();
        this.tellState();
    }

    applySearch() {
        this.search = compileSearch(this.state.search);
        this.matched = this.search ? matchGroups(this.shape.profile, this.search) : null;
        this.graph.setMatched(this.matched);
        if (this.other)
            this.other.setMatched(this.matched);
        this.showMatches();
    }

    showMatches() {
        this.searchBox.showMatches(this.graph, this.search, this.matched);
    }

    step(direction) {
        const { graph, matched } = this;

        if (!matched)
            return;
        const node = nextMatch(graph.tree, matched, Math.max(graph.focus, 0), direction);

        if (node > 0)
            graph.setFocus(node);
    }

    // Finds a method in the graph; the table stays as it is.
    pickMethod(name) {
        this.state.search = this.searchBox.input.value = "^" + escapeRegex(name) + "$";
        this.applySearch();
        this.tellState();
        const node = this.matched ? widestMatch(this.graph.tree, this.matched) : -1;

        if (node > 0)
            this.graph.setFocus(node);
    }

    // Whether the key was one of the panel's.
    keyed(event) {
        return panelKeyed(this, event);
    }
}
