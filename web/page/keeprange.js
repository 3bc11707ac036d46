// SPDX-License-Identifier: Apache-2.0
// Keeps a range of the past as a capture: its address works after flamed has forgotten that time.

import { postJson } from "./api.js";
import { formatRoute } from "./route.js";

const EVENTS = "cpu,wall,lock"; // what every flight recorder has; allocations are not kept

// Leads @view to the capture of its range, or says what went wrong. From another view the list of captures leads there.
export async function keepRange(view) {
    const { app, target, range: { from, to } } = view, state = view.stateParams();

    app.banner.show("");
    try {
        const { id } = await postJson("api/v1/captures", { ...target, event: EVENTS, from: new Date(from).toISOString(), to: new Date(to).toISOString() });

        if (app.view === view)
            location.hash = formatRoute("capture", id, Object.fromEntries(state));
    } catch (error) {
        if (app.view === view)
            app.banner.show([error.message, error.remedy].filter(Boolean).join(". "));
    }
}
