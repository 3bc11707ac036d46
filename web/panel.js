// SPDX-License-Identifier: Apache-2.0
// A profile to look at: graph, table, bars and search put together, with what is looked at as its state. Both the
// html format and the page show profiles with it.

import { copyText, element, setText } from "./dom.js";
import { Graph } from "./graph.js";
import { Legend, StatusLine, Tooltip, describe, factsBar, noticeList } from "./bars.js";
import { MethodTable } from "./table.js";
import { buildTree, nodeName, pathTo, weighTree } from "./tree.js";
import { compileSearch, escapeRegex, matchGroups, matchNumber, nextMatch, sumMatches } from "./search.js";
import { emptyText } from "./quality.js";
import { findNode, nameNode } from "./state.js";
import { formatCount, formatShare, formatValue, plural } from "./format.js";
import { openMenu } from "./menu.js";
import { sumKinds, sumMethods } from "./methods.js";
import { calleesOf, callersOf, hideMethods, selectThread, threadsOf } from "./transform.js";

const SEARCH_DELAY_MS = 60;

export class ProfilePanel {
    // @on: {state(state)}, called when what is looked at changed; {describe(tree, node)}: facts about a frame in place
    // of the usual ones. @title, @facts: whether it shows those of the profile.
    // @tools: buttons of the owner that stand behind those of the panel. @thread, @icicle: how it opens.
    constructor(on, { title = true, tools = [], thread = "*", facts = true, icicle = false } = {}) {
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
        this.table = new MethodTable({ pick: (name) => this.pickMethod(name) });
        this.legend = new Legend();
        this.status = new StatusLine(() => this.menuOfShown());
        this.tip = new Tooltip();
        this.facts = element("div", { class: "facts-slot" });
        this.chips = element("div", { class: "changes", hidden: true });
        this.callersLabel = element("p", { class: "side-label" }, "Callers");
        this.calleesLabel = element("p", { class: "side-label" }, "Callees");
        this.graphs = element("div", { class: "graphs" }, this.graph.root);
        this.main = element("div", { class: "panes" }, this.table.root, this.graphs);
        this.empty = element("p", { class: "empty", hidden: true });
        this.graph.root.append(this.empty);
        this.root = element("section", { class: "panel", "aria-label": "Profile" }, this.makeBar(title, tools),
            this.facts, this.chips, this.legend.root, this.main, this.status.root, this.status.live, this.tip.root);
    }

    makeBar(title, tools) {
        const tool = (label, hint, run, pressed) => element("button", {
            type: "button", class: "tool", title: hint, onclick: run, "aria-pressed": pressed ? "false" : null,
        }, label);

        this.title = title ? element("h1") : null;
        this.input = element("input", {
            type: "search", class: "search-text", placeholder: "Search  /", spellcheck: "false",
            autocomplete: "off", autocapitalize: "off", "aria-label": "Search frames by regular expression",
            oninput: () => this.searchTyped(), onkeydown: (e) => this.searchKeyed(e),
        });
        this.matches = element("output", { class: "matches", "aria-live": "polite" });
        this.previous = tool("↑", "Previous match (N)", () => this.step(-1));
        this.next = tool("↓", "Next match (n)", () => this.step(1));
        this.previous.setAttribute("aria-label", "Previous match");
        this.next.setAttribute("aria-label", "Next match");
        this.backButton = tool("Back", "Back (Esc)", () => this.back());
        this.resetButton = tool("Reset", "Reset the zoom (0)", () => this.graph.reset());
        this.weightButton = tool("", "Widths by samples or by value (v)", () => this.toggleWeight());
        this.reverseButton = tool("Reverse", "Merge from the leaf (r)", () => this.toggle("reverse"), true);
        this.icicleButton = tool("Icicle", "Root at the top (i)", () => this.toggle("icicle"), true);
        this.tableButton = tool("Table", "Table of methods (t)", () => this.toggle("table"), true);
        this.threadSelect = element("select", {
            class: "tool", "aria-label": "Threads", title: "Threads together, apart, or one of them",
            onchange: () => this.change({ thread: this.threadSelect.value, zoom: "" }),
        });
        return element("header", { class: "bar" }, this.title,
            element("div", { class: "search", role: "search" }, this.input, this.matches, this.previous, this.next),
            element("div", { class: "tools", role: "toolbar", "aria-label": "View" }, this.backButton,
                this.resetButton, this.threadSelect, this.weightButton, this.reverseButton, this.icicleButton,
                this.tableButton, ...tools));
    }

    // Shows another profile with the same view, or the first one. @keep: it is the same one, a little later.
    setProfile(profile, { keep = false } = {}) {
        this.source = profile;
        this.defaults = {
            reverse: Boolean(profile.view.reverse), icicle: this.usualIcicle || Boolean(profile.view.inverted),
            weight: profile.meta.weight, thread: this.usualThread,
        };
        this.threads = threadsOf(profile);
        this.derivedKey = null;
        this.scopeKey = null;
        this.wholeWeight = null;
        this.facts.replaceChildren();
        this.legend.root.hidden = !this.hasFacts;
        if (this.hasFacts) {
            const notices = noticeList(profile);

            this.facts.append(factsBar(profile), ...notices ? [notices] : []);
        }
        if (this.title) {
            setText(this.title, profile.meta.title);
            this.title.title = profile.meta.title;
        }
        this.fillThreads();
        if (this.state)
            this.applyState({ keep });
    }

    setState(state) {
        this.state = state;
        if (this.source)
            this.applyState();
    }

    // Changes parts of the state as a person's choice does.
    change(parts) {
        Object.assign(this.state, parts);
        this.applyState();
    }

    fillThreads() {
        const option = (value, text) => element("option", { value }, text);

        this.threadSelect.hidden = this.threads.length < 2;
        this.threadSelect.replaceChildren(option("*", "By thread"), option("", "Threads merged"),
            ...this.threads.map(({ name, samples }) =>
                option(name, `${name} · ${formatShare(samples, this.source.quality.samples)}`)));
    }

    // ---- state ----

    // The profile with the changes that the state names.
    shape() {
        const { state } = this;
        const key = JSON.stringify([state.thread, state.hide, state.focus, state.sandwich]);

        if (key === this.derivedKey)
            return;
        this.derivedKey = key;
        this.trees = {};
        this.wholeWeight = null;
        let profile = this.source;

        if (this.threads.length && state.thread !== "*")
            profile = selectThread(profile, state.thread);
        if (state.hide.length)
            profile = hideMethods(profile, state.hide);
        if (state.focus)
            profile = calleesOf(profile, state.focus);
        this.profile = profile;
        this.sandwichTrees = !state.sandwich ? null : {
            callers: buildTree(callersOf(profile, state.sandwich), { reverse: true }),
            callees: buildTree(calleesOf(profile, state.sandwich), {}),
        };
    }

    tree() {
        const { state } = this;
        const key = state.reverse ? "reverse" : "forward";

        if (this.sandwichTrees)
            return weighTree(this.sandwichTrees.callers, state.weight);
        if (!this.trees[key])
            this.trees[key] = buildTree(this.profile, { reverse: state.reverse, weight: state.weight });
        return weighTree(this.trees[key], state.weight);
    }

    // Makes the panel show this.state.
    applyState({ keep = false } = {}) {
        const { state, graph } = this;

        if (state.weight !== "value" || !this.source.values)
            state.weight = this.source.values ? "samples" : this.source.meta.weight;
        if (state.thread && state.thread !== "*" && !this.threads.some(({ name }) => name === state.thread))
            state.thread = this.usualThread; // it is not in this profile
        this.shape();
        graph.icicle = state.icicle && !state.sandwich;
        const tree = this.tree();

        this.scopeKey = null;
        this.showToggles();
        this.showChanges();
        this.empty.hidden = tree.total[0] > 0;
        setText(this.empty, !this.source.quality.samples ? emptyText(this.source.meta)
            : "Nothing is left of this profile with what is hidden, focused or selected. Take a change back above.");
        graph.setTree(tree, this.rootText(tree), findNode(tree, state.zoom), { keep });
        if (this.sandwichTrees) {
            const below = weighTree(this.sandwichTrees.callees, state.weight);

            this.callees.setTree(below, this.rootText(below), 0, { keep });
            setText(this.callersLabel, `Callers of ${state.sandwich}: ` +
                `${formatShare(below.samples[0], this.source.quality.samples)} of all samples run in it or below it`);
        }
        if (this.input.value !== state.search && document.activeElement !== this.input)
            this.input.value = state.search;
        this.applySearch();
        this.tableSearch = this.search;
        this.zoomed(graph);
    }

    rootText(tree) {
        const { meta } = this.source;
        if (this.on.describe)
            return "all";
        const weight = tree.weight === "value" ? formatValue(tree.total[0], meta.unit)
            : plural(tree.total[0], "sample", "samples");

        return `all · ${weight}`;
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
            this.applyState();
            return;
        }
        this.showToggles();
        if (name === "icicle" && !state.sandwich)
            this.graph.setIcicle(state.icicle);
        else
            this.showScope();
        this.tellState();
    }

    showToggles() {
        const { state } = this;

        this.reverseButton.setAttribute("aria-pressed", state.reverse);
        this.icicleButton.setAttribute("aria-pressed", state.icicle);
        this.tableButton.setAttribute("aria-pressed", state.table);
        this.main.classList.toggle("with-table", state.table);
        if (Boolean(state.sandwich) !== Boolean(this.callees.root.parentNode))
            this.showSandwich(Boolean(state.sandwich));
        this.threadSelect.value = state.thread;
        this.weightButton.hidden = !this.source.values;
        setText(this.weightButton, this.source.meta.isDiff ? (state.weight === "value" ? "Widths: before" : "Widths: after")
            : state.weight === "value" ? "By value" : "By samples");
    }

    showSandwich(isOn) {
        if (isOn) {
            this.graph.root.before(this.callersLabel);
            this.graph.root.after(this.calleesLabel, this.callees.root);
        } else {
            for (const node of [this.callersLabel, this.calleesLabel, this.callees.root])
                node.remove();
        }
    }

    // What was done to the profile, each with a way to take it back.
    showChanges() {
        const { state } = this;
        const chip = (text, name, undo) => element("button", {
            type: "button", class: "change", title: `${text} ${name}: take it back`, onclick: undo,
        }, text + " ", element("bdi", {}, name), element("span", { "aria-hidden": "true" }, " ×"));
        const chips = state.hide.map((name) => chip("hidden", name,
            () => this.change({ hide: state.hide.filter((n) => n !== name) })));

        if (state.focus)
            chips.push(chip("focus on", state.focus, () => this.change({ focus: "", zoom: "" })));
        if (state.sandwich)
            chips.push(chip("callers and callees of", state.sandwich, () => this.change({ sandwich: "", zoom: "" })));
        this.chips.replaceChildren(...chips);
        this.chips.hidden = !chips.length;
    }

    toggleWeight() {
        this.state.weight = this.state.weight === "value" ? "samples" : "value";
        this.applyState();
    }

    setTheme(theme) {
        this.graph.setTheme(theme);
        this.callees.setTheme(theme);
    }

    setTint(tint) {
        this.graph.tint = tint;
        this.callees.tint = tint;
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
        const { tree } = graph;
        const name = nodeName(tree, node);

        this.tip.hide();
        if (node > 0)
            graph.setFocus(node, { scroll: false });
        openMenu(node > 0 ? [
            { label: "Zoom into this frame", key: "Enter", run: () => { graph.zoom(node); graph.root.focus(); } },
            { label: "Callers and callees", key: "s", run: () => this.sandwich(name) },
            { label: "Focus on this method", key: "f", run: () => this.change({ focus: name, zoom: "" }) },
            { label: "Hide this method", key: "h", run: () => this.hide(name) },
            { label: "Search this", run: () => this.searchFor(name) },
            { label: "Copy name", key: "c", run: () => graph.copy(node) },
            { label: "Copy stack", run: () => this.copyStack(graph, node) },
        ] : [
            { label: "Reset the zoom", key: "0", run: () => graph.reset() },
            { label: "Table of methods", key: "t", run: () => this.toggle("table") },
            { label: "Reverse", key: "r", run: () => this.toggle("reverse") },
        ], at, node > 0 ? "What to do with " + name : "What to do with all");
    }

    sandwich(name) {
        this.change({ sandwich: name, zoom: "", reverse: false });
        this.graph.root.focus();
    }

    hide(name) {
        if (!this.state.hide.includes(name))
            this.change({ hide: [...this.state.hide, name], zoom: "" });
    }

    searchFor(name) {
        this.input.value = "^" + escapeRegex(name) + "$";
        this.takeSearch();
    }

    async copyStack(graph, node) {
        const names = pathTo(graph.tree, node).map((n) => nodeName(graph.tree, n));

        if (graph.tree.reverse)
            names.reverse();
        this.copied(await copyText(names.join("\n")), "the stack");
    }

    copied(ok, name) {
        const text = ok ? `Copied ${name}` : "The clipboard is closed to this page";

        this.status.say(text);
        this.status.flash(text);
    }

    // ---- what the graph tells ----

    zoomed(graph) {
        const { state } = this;

        if (graph === this.callees) {
            this.showStatus(graph, graph.zoomNode);
            return;
        }
        state.zoom = nameNode(graph.tree, graph.zoomNode);
        this.backButton.disabled = !graph.canGoBack() && !state.sandwich;
        this.resetButton.disabled = !graph.canGoBack();
        this.showScope();
        this.showStatus(graph, graph.focus >= 0 ? graph.focus : graph.zoomNode);
        this.tellState();
    }

    hovered(node, event, graph) {
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
    showScope() {
        const { graph, state } = this;
        let tree = graph.tree, node = graph.zoomNode;

        if (state.reverse || state.sandwich) {
            this.trees.forward = this.trees.forward || buildTree(this.profile, { weight: state.weight });
            tree = weighTree(this.trees.forward, state.weight);
            node = 0;
        }
        const key = [state.reverse, state.sandwich, node, state.weight, this.tableSearch && this.tableSearch.regex, state.table].join();

        if (key === this.scopeKey)
            return;
        this.scopeKey = key;
        if (this.wholeWeight !== state.weight) { // the whole is the same whatever is zoomed
            this.wholeWeight = state.weight;
            this.wholeKinds = sumKinds(tree);
        }
        this.legend.show(node ? sumKinds(tree, node) : this.wholeKinds, tree.total[node], this.wholeKinds);
        if (state.table)
            this.table.show(sumMethods(tree, node),
                { whole: tree.total[node], weight: state.weight, meta: this.source.meta, search: this.tableSearch });
        this.showMatches();
    }

    // ---- search ----

    searchTyped() {
        clearTimeout(this.searchTimer);
        this.searchTimer = setTimeout(() => this.takeSearch(), SEARCH_DELAY_MS);
    }

    // Takes over what stands in the search field, if it has not been yet.
    takeSearch() {
        clearTimeout(this.searchTimer);
        if (this.state.search === this.input.value)
            return;
        this.state.search = this.input.value;
        this.applySearch();
        this.tableSearch = this.search;
        this.showScope();
        this.tellState();
    }

    applySearch() {
        this.search = compileSearch(this.state.search);
        this.matched = this.search ? matchGroups(this.profile, this.search) : null;
        this.graph.setMatched(this.matched);
        if (this.sandwichTrees)
            this.callees.setMatched(this.matched);
        this.input.classList.toggle("literal", Boolean(this.search && this.search.isLiteral));
        this.input.title = this.search && this.search.isLiteral
            ? "Not a regular expression: searched as plain text" : "";
        this.showMatches();
    }

    showMatches() {
        const { graph, matched } = this;

        this.previous.disabled = this.next.disabled = !matched;
        if (!matched) {
            setText(this.matches, "");
            return;
        }
        const { tree, zoomNode } = graph;
        const inView = sumMatches(tree, matched, zoomNode);
        const inAll = zoomNode ? sumMatches(tree, matched) : inView;
        const number = matchNumber(tree, matched, graph.focus);
        const share = formatShare(inView.weight, tree.total[zoomNode]);

        this.previous.disabled = this.next.disabled = !inAll.count;
        if (!inAll.count)
            setText(this.matches, "no match");
        else
            setText(this.matches, `${share} matched` + (zoomNode ? " here" : "") +
                ` · ${number ? formatCount(number) + "/" : ""}${formatCount(inAll.count)}`);
        this.matches.title = zoomNode
            ? `${formatShare(inAll.weight, tree.total[0])} of all, in ${plural(inAll.count, "frame", "frames")}`
            : `In ${plural(inAll.count, "frame", "frames")}`;
    }

    step(direction) {
        const { graph, matched } = this;

        if (!matched)
            return;
        const node = nextMatch(graph.tree, matched, Math.max(graph.focus, 0), direction);

        if (node > 0)
            graph.setFocus(node);
    }

    searchKeyed(event) {
        if (event.key === "Enter") {
            this.takeSearch();
            this.step(event.shiftKey ? -1 : 1);
        } else if (event.key === "Escape") {
            this.input.value = "";
            this.takeSearch();
            this.graph.root.focus();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    // Finds a method in the graph; the table stays as it is.
    pickMethod(name) {
        this.input.value = this.state.search = "^" + escapeRegex(name) + "$";
        this.applySearch();
        this.tellState();
        this.graph.focus = -1;
        this.step(1);
    }

    // ---- keys ----

    focusedName() {
        const { graph } = this;

        return graph.focus > 0 ? nodeName(graph.tree, graph.focus) : "";
    }

    // Whether the key was one of the panel's.
    keyed(event) {
        const { target } = event;

        if (!this.source || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey ||
            target.closest("input, select, textarea, dialog, .menu"))
            return false;
        const withName = (run) => () => this.focusedName() && run(this.focusedName());
        const actions = {
            "/": () => { this.input.focus(); this.input.select(); },
            n: () => this.step(1),
            N: () => this.step(-1),
            r: () => this.toggle("reverse"),
            i: () => this.toggle("icicle"),
            t: () => this.toggle("table"),
            v: () => this.source.values && this.toggleWeight(),
            s: withName((name) => this.sandwich(name)),
            f: withName((name) => this.change({ focus: name, zoom: "" })),
            h: withName((name) => this.hide(name)),
            m: () => this.menuOfShown(),
            0: () => this.graph.reset(),
            Escape: () => this.back(),
        };

        if (actions[event.key]) {
            actions[event.key]();
            event.preventDefault();
            return true;
        }
        if (target.closest("button, a, .table-pane, .graph, [data-keys]") || !this.graph.takesKey(event.key))
            return false;
        this.graph.root.focus(); // keys that walk the graph need not be led there first
        this.graph.keyed(event);
        return true;
    }
}
