// SPDX-License-Identifier: Apache-2.0
// The form that starts a capture: questions as tiles, each with its cost and what it loads.

import { getJson, postJson, repeat } from "./api.js";
import { element, isNarrow, setText } from "../shared/dom.js";
import { asSentence, plural } from "../shared/format.js";
import { eventTitle } from "./capture.js";
import { showProspect } from "./prospect.js";
import { OTHER, QUESTIONS, otherEvents, questionOf } from "./questions.js";

const USUAL_SECONDS = 30;
const JUDGE_SECONDS = 5;
let formCount = 0; // radio buttons of a form share a name

export class CaptureForm {
    // @on: {started(capture, {seconds, threads, collections})}; @target: {pid}, {service} or {}
    constructor(target, on) {
        this.target = target;
        this.on = on;
        this.endJudging = () => {};
        const field = (label, control) => element("label", { class: "field" }, label, control);
        const number = (value, min, max) => element("input", { class: "tool number", type: "number", min, max, step: "any", value });

        this.tiles = this.makeTiles(`question-${++formCount}`);
        this.event = element("select", { class: "tool" });
        this.function = element("input", { class: "tool request-text", spellcheck: "false", autocomplete: "off", placeholder: "libssl.so:SSL_read, sched:sched_switch" });
        this.missing = element("span", { class: "quiet" });
        this.other = element("div", { class: "capture-other", hidden: true }, field("Event", this.event), field("or a function or tracepoint", this.function), this.missing);
        this.cost = element("p", { class: "quiet capture-cost", "aria-live": "polite" });
        this.prospect = element("div", { class: "prospect", "aria-live": "polite" });
        this.also = element("select", { class: "tool" }, element("option", { value: "" }, "nothing else"));
        this.seconds = number(String(USUAL_SECONDS), "0.1", "3600");
        this.hz = number("99", "1", "10000");
        this.threads = element("input", { type: "checkbox" });
        this.requests = element("input", { type: "checkbox" });
        this.startButton = element("button", { type: "submit", class: "tool primary" }, "Start");
        this.problem = element("p", { class: "form-problem", role: "alert", hidden: true });
        this.root = element("form", { class: "capture-form", "aria-label": "Start a capture", novalidate: true },
            element("fieldset", { class: "questions" }, element("legend", { class: "offscreen" }, "What is asked"), ...this.tiles.map(({ root }) => root)),
            this.other, this.cost, this.prospect, field("Seconds", this.seconds), this.hzField = field("Samples per second", this.hz), field("Together with", this.also),
            element("label", { class: "field" }, this.threads, "By thread"),
            element("label", { class: "field", title: "Which endpoint costs what, where OpenTelemetry's or Datadog's agent runs" }, this.requests, "By request"),
            this.startButton, this.problem);
        this.root.addEventListener("change", ({ target: control }) => control !== this.seconds && this.chosenNow(control));
        this.root.addEventListener("submit", (event) => {
            event.preventDefault();
            this.submit();
        });
        this.askEvents();
    }

    // What a profile can be taken of on this machine. Until that is known, each question can be asked.
    async askEvents() {
        if (this.events || this.isAsking)
            return;
        this.isAsking = true;
        try {
            this.fillEvents((await getJson("api/v1/events", { pid: this.target.pid })).events);
            this.sayProblem("");
        } catch (error) {
            this.sayProblem(`What can be asked here is not known: ${error.message}`);
        } finally {
            this.isAsking = false;
        }
    }

    sayProblem(text) {
        setText(this.problem, text);
        this.problem.hidden = !text;
    }

    makeTiles(name) {
        return QUESTIONS.map(({ event, text, note }, i) => {
            const input = element("input", { type: "radio", name, value: event, checked: i === 0 });
            const words = element("span", { class: "quiet" }, note);

            return { event, input, words, root: element("label", { class: "question" }, input, element("span", {}, element("b", {}, text), words)) };
        });
    }

    fillEvents(events) {
        const { groups, missing } = otherEvents(events);
        const option = ({ name, description }) => element("option", { value: name, title: asSentence(description) }, eventTitle(name));
        const list = () => groups.map(({ label, events: some }) => element("optgroup", { label }, ...some.map(option)));
        const asked = QUESTIONS.map(({ event }) => events.find(({ name }) => name === event)).filter((e) => e && e.available !== false);

        this.events = new Map(events.map((e) => [e.name, e]));
        for (const { event, input, words, root } of this.tiles) {
            const one = this.events.get(event);

            if (event === OTHER)
                continue;
            input.disabled = !one || one.available === false;
            root.title = one ? asSentence(`${one.description}. Costs ${one.cost}`) : "";
            if (input.disabled)
                setText(words, `Not here: ${one ? one.reason : "this flamed has no such event"}`);
        }
        this.event.replaceChildren(...list());
        this.also.append(element("optgroup", { label: "Questions" }, ...asked.map(option)), ...list());
        setText(this.missing, missing.length ? `${plural(missing.length, "event", "events")} more, which this machine does not have` : "");
        this.missing.title = missing.map(({ name, reason }) => `${name}: ${reason}`).slice(0, 3).join("\n");
        if (this.wanted)
            this.choose(this.wanted);
        this.chosenNow(null);
    }

    // Asks for @event, once it is known whether it is there.
    choose(event) {
        const tile = this.tiles.find((one) => one.event === event) || this.tiles[this.tiles.length - 1];

        this.wanted = event;
        tile.input.checked = true;
        if (tile.event === OTHER && event !== OTHER)
            this.event.value = event;
        this.chosenNow(tile.input);
    }

    // Where a hand goes on. On a phone the focus of a number opens a keyboard over what is asked, and over Start.
    begin() {
        this.askEvents();
        const chosen = this.tiles.find(({ input }) => input.checked), isPhone = isNarrow();

        if (isPhone)
            chosen.root.scrollIntoView({ block: "start" });
        (isPhone ? chosen.input : this.seconds).focus({ preventScroll: isPhone });
        if (!isPhone)
            this.seconds.select();
    }

    get question() {
        return questionOf(this.tiles.find(({ input }) => input.checked).event);
    }

    // One or two events, each once.
    get chosen() {
        const { event } = this.question;
        const first = event === OTHER ? this.function.value.trim() || this.event.value : event;

        return [...new Set([first, this.also.value].filter(Boolean))];
    }

    // Events that are not taken by time have no rate. @control: what was changed, null: none.
    chosenNow(control) {
        const hz = Math.max(...this.chosen.map((name) => (this.events && this.events.get(name) || { default_hz: 0 }).default_hz));
        const { event, seconds = USUAL_SECONDS } = this.question;

        const costs = this.chosen.map((name) => this.events && this.events.get(name)).filter(Boolean);

        setText(this.cost, costs.map(({ description, cost }) => asSentence(`${description}. It costs ${cost}.`)).join(" "));
        this.other.hidden = event !== OTHER;
        this.hzField.hidden = !(hz || event === "cpu");
        if (this.tiles.some(({ input }) => input === control))
            this.seconds.value = seconds;
        if (hz && !this.hz.value)
            this.hz.value = hz;
        if (event !== this.judged) {
            this.judged = event;
            this.prospect.replaceChildren();
            this.judge();
        }
    }

    // What a JVM allocates changes while one reads: judged again and again, as long as the form is in sight.
    judge() {
        this.endJudging();
        this.endJudging = repeat(JUDGE_SECONDS, async (signal) => {
            const { judged } = this;

            if (this.root.isConnected && this.root.checkVisibility())
                await showProspect(this.prospect, this.target.pid, judged, signal);
        });
    }

    async submit() {
        this.startButton.disabled = true;
        this.sayProblem("");
        try {
            const seconds = Number(this.seconds.value), threads = this.threads.checked, requests = this.requests.checked;

            this.on.started(await postJson("api/v1/captures", {
                ...this.target, event: this.chosen.join(","), seconds, ...requests ? { by: "operation" } : threads ? { threads: 1 } : {},
                ...this.hzField.hidden ? {} : { hz: Number(this.hz.value) },
            }), { seconds, threads, requests, collections: this.question.collections || 0 });
        } catch (error) {
            this.sayProblem([error.message, error.remedy].filter(Boolean).join(". "));
        }
        this.startButton.disabled = false;
    }
}
