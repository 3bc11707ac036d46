// SPDX-License-Identifier: Apache-2.0
// The events that the flight recorder has.
import { getReady } from "./api.js";
import { eventTitle } from "./capture.js";
import { element } from "../shared/dom.js";

const ALWAYS = ["cpu", "offcpu", "wall", "lock"];
const OPT_IN = "alloc"; // with recorder_alloc

// Returns the event @wanted of an address if the flight recorder may record it, else cpu.
export function recordedEvent(wanted) {
    return ALWAYS.includes(wanted) || wanted === OPT_IN ? wanted : "cpu";
}

// Returns a choice of the events, with @chosen. @changed: (event).
export function recordedSelect(chosen, changed) {
    const option = (event) => element("option", { value: event, selected: event === chosen }, eventTitle(event));
    const select = element("select", { class: "tool recorded", "aria-label": "What the flame graph shows", onchange: () => changed(select.value) }, ...ALWAYS.map(option));
    const addAllocations = () => select.append(option(OPT_IN));

    if (chosen === OPT_IN)
        addAllocations();
    else
        getReady().then(({ recorder }) => recorder?.alloc && addAllocations()).catch(() => {}); // without it, the others are there
    return select;
}
