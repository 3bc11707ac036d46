// SPDX-License-Identifier: Apache-2.0
// The html format: reads the profile out of its own page, puts graph, table and bars together, takes keys.

import { THEMES, paletteOf } from "./colors.js";
import { chosenTheme, element, setText, storeTheme } from "./dom.js";
import { Graph } from "./graph.js";
import { Legend, StatusLine, Tooltip, describe, factsBar, helpDialog, noticeList } from "./bars.js";
import { KINDS } from "./kinds.js";
import { MethodTable } from "./table.js";
import { buildTree, openProfile, weighTree } from "./tree.js";
import { compileSearch, escapeRegex, matchGroups, matchNumber, nextMatch, sumMatches } from "./search.js";
import { emptyText } from "./quality.js";
import { findNode, formatState, nameNode, parseState } from "./state.js";
import { formatCount, formatShare, formatValue, plural } from "./format.js";
import { sumKinds, sumMethods } from "./methods.js";

const SEARCH_DELAY_MS = 60;

class Viewer {
    constructor(profile) {
        this.profile = profile;
        this.trees = {};
        this.defaults = {
            reverse: Boolean(profile.view.reverse), icicle: Boolean(profile.view.inverted),
            weight: profile.meta.weight,
        };
        this.state = parseState(location.hash, this.defaults);
        this.search = null;
        this.tableSearch = null;
        this.matched = null;
        this.theme = chosenTheme();
        this.graph = new Graph({
            hover: (node, event) => this.hovered(node, event),
            focus: (node) => this.focused(node),
            zoom: () => this.zoomed(),
            copied: (ok, name) => this.status.say(ok ? `Copied ${name}` : "The clipboard is closed to this page"),
        });
        this.table = new MethodTable({ pick: (name) => this.pickMethod(name) });
        this.legend = new Legend();
        this.status = new StatusLine();
        this.tip = new Tooltip();
        this.help = helpDialog();
    }

    build() {
        const main = element("main", { class: "panes" }, this.table.root, this.graph.root);

        document.body.append(this.makeBar(), factsBar(this.profile));
        const notices = noticeList(this.profile);

        if (notices)
            document.body.append(notices);
        document.body.append(this.legend.root, main, this.status.root, this.status.live, this.tip.root, this.help);
        if (!this.profile.quality.samples)
            this.graph.root.append(element("p", { class: "empty" }, emptyText(this.profile.meta)));
        this.main = main;
        addEventListener("keydown", (event) => this.keyed(event));
        addEventListener("hashchange", () => this.hashChanged());
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.setTheme(chosenTheme()));
        this.setTheme(this.theme);
        this.applyState();
    }

    makeBar() {
        const tool = (label, title, run, pressed) => element("button", {
            type: "button", class: "tool", title, onclick: run, "aria-pressed": pressed ? "false" : null,
        }, label);

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
        this.backButton = tool("Back", "Back (Esc)", () => this.graph.back());
        this.resetButton = tool("Reset", "Reset the zoom (0)", () => this.graph.reset());
        this.weightButton = this.profile.values
            ? tool("", "Widths by samples or by value (v)", () => this.toggleWeight()) : null;
        this.reverseButton = tool("Reverse", "Merge from the leaf (r)", () => this.toggle("reverse"), true);
        this.icicleButton = tool("Icicle", "Root at the top (i)", () => this.toggle("icicle"), true);
        this.tableButton = tool("Table", "Table of methods (t)", () => this.toggle("table"), true);
        this.themeButton = tool("", "Dark or light (d)", () => this.switchTheme());
        return element("header", { class: "bar" },
            element("h1", { title: this.profile.meta.title }, this.profile.meta.title),
            element("div", { class: "search", role: "search" }, this.input, this.matches, this.previous, this.next),
            element("div", { class: "tools", role: "toolbar", "aria-label": "View" }, this.backButton,
                this.resetButton, this.weightButton, this.reverseButton, this.icicleButton, this.tableButton,
                this.themeButton, tool("Help", "Help (?)", () => this.help.showModal())));
    }

    // ---- state ----

    tree() {
        const key = this.state.reverse ? "reverse" : "forward";

        if (!this.trees[key])
            this.trees[key] = buildTree(this.profile, { reverse: this.state.reverse, weight: this.state.weight });
        return weighTree(this.trees[key], this.state.weight);
    }

    // Makes the page show this.state.
    applyState() {
        const { state, graph } = this;

        if (state.weight !== "value" || !this.profile.values)
            state.weight = this.profile.values ? "samples" : this.profile.meta.weight;
        graph.icicle = state.icicle;
        const tree = this.tree();

        this.showToggles();
        graph.setTree(tree, this.rootText(tree), findNode(tree, state.zoom));
        if (this.input.value !== state.search)
            this.input.value = state.search;
        this.applySearch();
        this.tableSearch = this.search;
        this.zoomed();
    }

    rootText(tree) {
        const { meta } = this.profile;
        const weight = tree.weight === "value" ? formatValue(tree.total[0], meta.unit)
            : plural(tree.total[0], "sample", "samples");

        return `all · ${weight}`;
    }

    writeHash() {
        const hash = formatState(this.state, this.defaults);

        if (hash === location.hash)
            return;
        try {
            history.replaceState(null, "", hash || location.pathname + location.search);
        } catch {
            // a sandboxed page has no address of its own
        }
    }

    hashChanged() {
        this.state = parseState(location.hash, this.defaults);
        this.applyState();
    }

    toggle(name) {
        const { state } = this;

        state[name] = !state[name];
        if (name === "reverse") {
            state.zoom = "";
            this.applyState();
            return;
        }
        this.showToggles();
        if (name === "icicle")
            this.graph.setIcicle(state.icicle);
        else
            this.showScope();
        this.writeHash();
    }

    showToggles() {
        const { state } = this;

        this.reverseButton.setAttribute("aria-pressed", state.reverse);
        this.icicleButton.setAttribute("aria-pressed", state.icicle);
        this.tableButton.setAttribute("aria-pressed", state.table);
        this.main.classList.toggle("with-table", state.table);
        if (this.weightButton)
            setText(this.weightButton, state.weight === "value" ? "By value" : "By samples");
    }

    toggleWeight() {
        this.state.weight = this.state.weight === "value" ? "samples" : "value";
        this.applyState();
    }

    setTheme(theme) {
        const palette = paletteOf(theme);
        const root = document.documentElement;

        this.theme = theme;
        root.dataset.theme = theme;
        KINDS.forEach(({ id }, kind) => root.style.setProperty("--kind-" + id, palette.kind(kind)));
        root.style.setProperty("--match", palette.match);
        setText(this.themeButton, theme === "dark" ? "Light" : "Dark");
        this.graph.setTheme(theme);
    }

    switchTheme() {
        const theme = THEMES[1 - THEMES.indexOf(this.theme)];

        storeTheme(theme);
        this.setTheme(theme);
    }

    // ---- what the graph tells ----

    zoomed() {
        const { graph, state } = this;

        state.zoom = nameNode(graph.tree, graph.zoomNode);
        this.backButton.disabled = this.resetButton.disabled = !graph.canGoBack();
        this.showScope();
        this.showStatus(graph.focus >= 0 ? graph.focus : graph.zoomNode);
        this.writeHash();
    }

    hovered(node, event) {
        const { graph } = this;

        if (node < 0) {
            this.tip.hide();
            this.showStatus(graph.focus >= 0 ? graph.focus : graph.zoomNode);
            return;
        }
        const about = describe(graph.tree, node, graph.target);

        this.status.show(about);
        this.tip.show(about, event);
    }

    focused(node) {
        if (node < 0)
            return;
        const about = describe(this.graph.tree, node, this.graph.target);

        this.tip.hide();
        this.status.show(about);
        this.status.say([about.name, ...about.facts].join(", "));
        this.showMatches();
    }

    showStatus(node) {
        this.status.show(describe(this.graph.tree, node, this.graph.target));
    }

    // Legend and table, of what is zoomed. Reversed trees have no callees, so these stay with the whole.
    showScope() {
        const { graph, state } = this;
        let tree = graph.tree, node = graph.zoomNode;

        if (state.reverse) {
            this.trees.forward = this.trees.forward || buildTree(this.profile, { weight: state.weight });
            tree = weighTree(this.trees.forward, state.weight);
            node = 0;
        }
        const key = [state.reverse, node, state.weight, this.tableSearch && this.tableSearch.regex, state.table].join();

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
                { whole: tree.total[node], weight: state.weight, meta: this.profile.meta, search: this.tableSearch });
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
        this.writeHash();
    }

    applySearch() {
        this.search = compileSearch(this.state.search);
        this.matched = this.search ? matchGroups(this.profile, this.search) : null;
        this.graph.setMatched(this.matched);
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
        this.writeHash();
        this.graph.focus = -1;
        this.step(1);
    }

    // ---- keys ----

    keyed(event) {
        const { target } = event;

        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.help.open ||
            target === this.input)
            return;
        const actions = {
            "/": () => { this.input.focus(); this.input.select(); },
            n: () => this.step(1),
            N: () => this.step(-1),
            r: () => this.toggle("reverse"),
            i: () => this.toggle("icicle"),
            t: () => this.toggle("table"),
            v: () => this.weightButton && this.toggleWeight(),
            d: () => this.switchTheme(),
            0: () => this.graph.reset(),
            "?": () => this.help.showModal(),
            Escape: () => this.graph.back(),
        };
        if (actions[event.key]) {
            actions[event.key]();
            event.preventDefault();
        } else if (!target.closest("button, .table-pane, .graph") && this.graph.takesKey(event.key)) {
            this.graph.root.focus(); // keys that walk the graph need not be led there first
            this.graph.keyed(event);
        }
    }
}

function start() {
    try {
        const data = JSON.parse(document.getElementById("profile").textContent);

        new Viewer(openProfile(data)).build();
    } catch (error) {
        document.body.append(element("p", { class: "empty", role: "alert" },
            "This profile cannot be shown: " + error.message));
    }
}

start();
