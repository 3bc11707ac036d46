// SPDX-License-Identifier: Apache-2.0
// The search field of a panel: what is typed, how much of the graph matches, the next and the previous match.

import { element, setText } from "../shared/dom.js";
import { formatCount, formatShare, plural } from "../shared/format.js";
import { escapeRegex, matchNumber, sumMatches } from "../shared/search.js";

const SEARCH_DELAY_MS = 60;

export class SearchBox {
    // @on: {search(text), step(direction), leave()}; leave: to the graph.
    constructor(on) {
        const arrow = (sign, label, key, direction) => element("button", {
            type: "button", class: "tool", title: `${label} (${key})`, "aria-label": label,
            onclick: () => on.step(direction),
        }, sign);

        this.on = on;
        this.input = element("input", {
            type: "search", class: "search-text", placeholder: "Search  /", spellcheck: "false",
            autocomplete: "off", autocapitalize: "off", "aria-label": "Search frames by regular expression",
            oninput: () => this.typed(), onkeydown: (e) => this.keyed(e),
        });
        this.matches = element("output", { class: "matches", "aria-live": "polite" });
        this.previous = arrow("↑", "Previous match", "N", -1);
        this.next = arrow("↓", "Next match", "n", 1);
        this.root = element("div", { class: "search", role: "search" }, this.input, this.matches, this.previous,
            this.next);
    }

    focus() {
        this.input.focus();
        this.input.select();
    }

    // What the state says; what is being typed stays.
    show(text) {
        if (this.input.value !== text && document.activeElement !== this.input)
            this.input.value = text;
    }

    // Searches one name exactly.
    setName(name) {
        this.input.value = "^" + escapeRegex(name) + "$";
        this.take();
    }

    typed() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.take(), SEARCH_DELAY_MS);
    }

    // Takes over what stands in the field now.
    take() {
        clearTimeout(this.timer);
        this.on.search(this.input.value);
    }

    // @search: compiled, or null. @matched: one byte for each group of frames, or null.
    showMatches(graph, search, matched) {
        const isLiteral = Boolean(search && search.isLiteral);

        this.input.classList.toggle("literal", isLiteral);
        this.input.title = isLiteral ? "Not a regular expression: searched as plain text" : "";
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

    keyed(event) {
        if (event.key === "Enter") {
            this.take();
            this.on.step(event.shiftKey ? -1 : 1);
        } else if (event.key === "Escape") {
            this.input.value = "";
            this.take();
            this.on.leave();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}
