// SPDX-License-Identifier: Apache-2.0
// How a capture that has read requests is shown: by thread, by operation or by trace; all of them, or those that match.

import { element } from "../shared/dom.js";

const GROUPINGS = [["", "By thread"], ["operation", "By operation"], ["trace", "By trace"]];
const HEX_ID = /^[0-9a-f]{16}(?:[0-9a-f]{16})?$/i;

// Whether the capture of a profile in the json format asked for requests.
export function hasRequests({ quality }) {
    return Object.values(quality.requests || {}).some((n) => n > 0);
}

export class RequestBar {
    // @on: {changed(), trace(): one was asked for by its id}; @params: of the address.
    constructor(on, params) {
        this.select = element("select", { class: "tool", "aria-label": "Grouped", onchange: () => on.changed() },
            ...GROUPINGS.map(([value, text]) => element("option", { value, selected: value === params.get("by") }, text)));
        this.input = element("input", { type: "search", class: "tool request-text", placeholder: "Operation or trace id", spellcheck: "false",
            autocomplete: "off", "aria-label": "Operation or trace id", title: "A regular expression on operations, or 16 or 32 hex digits of a trace",
            value: params.get("of") || "", onchange: () => on.changed(),
            onkeydown: ({ key }) => key === "Enter" && this.filter.trace && on.trace() });
        this.root = element("span", { class: "request-bar", hidden: true }, this.select, this.input);
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
