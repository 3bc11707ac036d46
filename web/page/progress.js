// SPDX-License-Identifier: Apache-2.0
// A running capture: how far it is, what it shows so far, and a way to stop it.

import { getJson, isAbort, postJson, repeat } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { formatSeconds, formatShare, plural } from "../shared/format.js";
import { KINDS } from "../shared/kinds.js";
import { shortName } from "../shared/names.js";
import { button } from "./notice.js";
import { follow } from "./stream.js";

const QUIET_SECONDS = 2; // a proxy may hold events back: after this long without one it is asked
const ROWS = 5;

// {kind, name} of an event's function, the kind as a number.
export function openFunction({ name, kind, self_percent: self, total_percent: total }) {
    return { name, self, total, kind: Math.max(0, KINDS.findIndex(({ id }) => id === kind)) };
}

export class CaptureProgress {
    // @on: {ended(capture)}; @wanted: its length in seconds, 0: until it is stopped.
    constructor(id, on, wanted = 0) {
        this.id = id;
        this.on = on;
        this.wanted = wanted;
        this.path = "api/v1/captures/" + id;
        this.bar = element("progress", { max: "1", "aria-label": "Progress of the capture" });
        this.text = element("output", { class: "progress-text" }, "Starting …");
        this.stopButton = button("Stop", () => this.stopCapture(), { title: "End it now and keep what it has" });
        this.hottest = element("ol", { class: "hottest", "aria-label": "Hottest methods so far", hidden: true });
        this.root = element("div", { class: "progress" }, this.bar, this.text, this.stopButton, this.hottest);
        this.heardAt = 0;
        this.waitText = "";
        this.endStream = follow(this.path + "/stream", {
            event: (name, data) => this.heard(name, data), problem: () => { this.heardAt = 0; },
        });
        this.endAsking = repeat(QUIET_SECONDS, (signal) => this.ask(signal));
    }

    end() {
        this.endStream();
        this.endAsking();
        this.isOver = true;
    }

    heard(name, data) {
        this.heardAt = name === "failed" ? 0 : Date.now();
        if (name === "top")
            this.showHottest(data);
        else if (name === "failed")
            this.ask();
        else
            this.show(data);
    }

    async ask(signal) {
        if (Date.now() - this.heardAt < QUIET_SECONDS * 1000)
            return;
        try {
            this.show(await getJson(this.path, {}, signal));
        } catch (error) {
            if (isAbort(error))
                throw error;
            setText(this.text, error.message);
            if (error.status === 404)
                this.show({ id: this.id, state: "failed", failure: error.message });
        }
    }

    // What is waited for besides the time.
    note(text) {
        this.waitText = ` · ${text}`;
    }

    show(capture) {
        if (this.isOver)
            return;
        if (capture.state === "running") {
            const of = this.wanted ? ` of ${formatSeconds(this.wanted)}` : "";

            this.bar.value = capture.progress || 0;
            setText(this.text, `${formatSeconds(capture.seconds || 0)}${of} · ` +
                plural(capture.samples || 0, "sample", "samples") + this.waitText);
            return;
        }
        this.end();
        this.on.ended(capture);
    }

    showHottest({ functions, samples }) {
        const list = functions.map(openFunction).filter(({ self }) => self > 0).slice(0, ROWS);

        this.hottest.hidden = !samples || !list.length;
        this.hottest.replaceChildren(...list.map(({ name, kind, self }) => element("li", { title: name },
            element("span", { class: "num" }, formatShare(self, 100)),
            element("span", { class: "chip kind-" + KINDS[kind].id }), element("bdi", {}, shortName(name, kind)))));
    }

    async stopCapture() {
        this.stopButton.disabled = true;
        try {
            await postJson(`${this.path}/stop`);
        } catch (error) {
            setText(this.text, [error.message, error.remedy].filter(Boolean).join(". "));
            this.stopButton.disabled = false;
        }
    }
}
