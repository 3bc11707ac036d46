// SPDX-License-Identifier: Apache-2.0
// How a capture is grouped: by thread, by kind of thread if it has virtual ones, by operation or by trace if it has read requests; all
// of these, or those that match.

import { element } from "../shared/dom.js";

// What by= takes, and what the profile must have for it.
const GROUPINGS = [["", "By thread", ""], ["kind", "By kind of thread", "kinds"], ["operation", "By operation", "requests"], ["trace", "By trace", "requests"]];
const HEX_ID = /^[0-9a-f]{16}(?:[0-9a-f]{16})?$/i;

// Whether the capture of a profile in the json format asked for requests.
export function hasRequests({ quality }) {
    return Object.values(quality.requests || {}).some((n) => n > 0);
}

// The groupings that say something of a profile in the json format.
export function groupingsOf(json) {
    const has = { "": true, kinds: json.stacks.some(({ thread_kind: kind }) => kind), requests: hasRequests(json) };

    return GROUPINGS.filter(([, , needs]) => has[needs]).map(([value]) => value);
}

export class RequestBar {
    // @on: {changed(), trace(): one was asked for by its id}; @params: of the address.
    constructor(on, params) {
        this.select = element("select", { class: "tool", "aria-label": "Grouped", onchange: () => on.changed() },
            ...GROUPINGS.map(([value, text]) => element("option", { value, hidden: value !== "", selected: value === params.get("by") }, text)));
        this.input = element("input", { type: "search", class: "tool request-text", hidden: true, placeholder: "Operation or trace id", spellcheck: "false",
            autocomplete: "off", "aria-label": "Operation or trace id", title: "A regular expression on operations, or 16 or 32 hex digits of a trace",
            value: params.get("of") || "", onchange: () => on.changed(),
            onkeydown: ({ key }) => key === "Enter" && this.filter.trace && on.trace() });
        this.root = element("span", { class: "request-bar", hidden: true }, this.select, this.input);
    }

    // Shows the groupings of @json; those shown before stay.
    show(json) {
        const values = groupingsOf(json);

        for (const option of this.select.options)
            option.hidden = option.hidden && !values.includes(option.value);
        this.input.hidden = this.input.hidden && !hasRequests(json);
        this.root.hidden = this.root.hidden && values.length < 2;
    }

    get hasRequests() {
        return !this.input.hidden;
    }

    // What the request of a profile says. Groupings of requests stand in place of threads.
    get options() {
        return { ...this.select.value ? { by: this.select.value } : { threads: 1 }, ...this.filter };
    }

    // Which requests are wanted.
    get filter() {
        const text = this.input.value.trim();

        return !text ? {} : HEX_ID.test(text) ? { trace: text } : { operation: text };
    }

    // What the address keeps.
    keep(params) {
        for (const [name, value] of [["by", this.select.value], ["of", this.input.value.trim()]])
            if (value)
                params.set(name, value);
    }
}
