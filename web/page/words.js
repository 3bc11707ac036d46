// SPDX-License-Identifier: Apache-2.0
// A JVM or a service in a line of sentences, each a link to what shows it: what its time went to, what changed, how sure
// that is. The line has its place from the first, so that nothing moves when it is known.

import { getJson, isAbort, repeat } from "./api.js";
import { element } from "../shared/dom.js";
import { formatSeconds, withLocalTimes } from "../shared/format.js";
import { renewChildren } from "./renew.js";
import { evidenceLink } from "./signals.js";

const WORDS_SECONDS = 15;

export class WordsLine {
    // @params(): of the target, and of the time where one was chosen. shown(), @known(): called when they changed, and when
    // they were asked for.
    constructor(params, known) {
        Object.assign(this, { params, known, change: null, shown() {} });
        this.root = element("p", { class: "words-line quiet", role: "note", "aria-label": "In words" });
    }

    start() {
        this.stop();
        this.end = repeat(WORDS_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        if (this.end)
            this.end();
        this.end = null;
    }

    async load(signal) {
        try {
            this.show((await getJson("api/v1/words", this.params(), signal)).sentences);
        } catch (error) {
            if (isAbort(error))
                throw error;
            this.show([]);
        }
        this.known();
    }

    // How far back the words go, where nobody chose it: it may be further than the picture does. "Last 5 min: "
    spanText(evidence) {
        const params = new URLSearchParams(evidence.split("?")[1]), seconds = (Date.parse(params.get("to")) - Date.parse(params.get("from"))) / 1000;

        return seconds && !this.params().from ? `Last ${formatSeconds(Math.round(seconds))}: ` : "";
    }

    // What is wrong stands in a line of its own.
    show(sentences) {
        const shown = sentences.filter(({ kind }) => kind !== "signal"), key = JSON.stringify(shown);

        if (key === this.key)
            return;
        this.key = key;
        this.root.title = shown.map(({ sentence }) => `${sentence}.`).join("\n");
        renewChildren(this.root, shown.flatMap(({ kind, sentence, evidence }) => {
            const link = evidenceLink(evidence, this.params()), words = `${kind === "time" ? this.spanText(evidence) : ""}${withLocalTimes(sentence)}.`;

            return [link ? element("a", { href: link.href, class: `word-${kind}`, "data-key": kind }, words) : element("span", {}, words), new Text(" ")];
        }));
        this.change = this.root.querySelector(".word-change"); // null: none is known
        this.shown();
    }
}
