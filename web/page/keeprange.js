// SPDX-License-Identifier: Apache-2.0
// Keeps a range of the past as a capture: its address works after flamed has forgotten that time.

import { postJson } from "./api.js";
import { formatRoute } from "./route.js";

const EVENTS = "cpu,wall,lock"; // what every flight recorder has; allocations are not kept

// Leads to the capture. @state: parameters of the address that say how the graph is shown. @banner: says what went wrong.
export async function keepRange(target, { from, to }, state, banner) {
    banner.show("");
    try {
        const { id } = await postJson("api/v1/captures", { ...target, event: EVENTS, from: new Date(from).toISOString(), to: new Date(to).toISOString() });

        location.hash = formatRoute("capture", id, Object.fromEntries(state));
    } catch (error) {
        banner.show([error.message, error.remedy].filter(Boolean).join(". "));
    }
}
