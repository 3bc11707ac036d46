// SPDX-License-Identifier: Apache-2.0
// A line above a JVM's timeline: the worst that is wrong with it, in a sentence with a way to its evidence, or what it
// does, in words. The line is always there, so that nothing moves when something goes wrong. A button opens all of it.

import { mostAllocating } from "./allocators.js";
import { getJson, isAbort, repeat } from "./api.js";
import { element, setText } from "../shared/dom.js";
import { formatMoment, formatShare } from "../shared/format.js";
import { button } from "./notice.js";
import { renewChildren } from "./renew.js";
import { formatRoute } from "./route.js";
import { agoText, evidenceLink, lastWorse, minuteText, openPastSignals, openSignals, pastLink, remedyParts, sentenceText, severityClass, severityText, sinceText, untilText } from "./signals.js";

const SIGNAL_SECONDS = 5;

export class SignalStrip {
    // @target: {pid} or {service}. @on: {signals(list, past), known(part)}, each time that they are asked for: part
    // is "signals", or "deploy". @words: a WordsLine.
    constructor(target, on, words) {
        Object.assign(this, { target, on, words, isOpen: false, signals: [], past: [], note: "", deploy: null, profile: null });
        this.text = element("p", { class: "signal-line quiet", tabindex: "-1" }, "Looking for what is wrong …");
        this.more = button("", () => this.toggle(), { "aria-expanded": "false", hidden: true });
        this.list = element("ul", { class: "signal-list", hidden: true });
        this.root = element("section", { class: "signals", "aria-label": "What is wrong" }, this.text, words.root, this.more, this.list);
        words.shown = () => {
            this.renew();
            this.showMore();
        };
        const sizes = new ResizeObserver(() => this.showMore());

        sizes.observe(this.root);
        sizes.observe(words.root);
    }

    start() {
        this.stop();
        this.words.start();
        this.end = repeat(SIGNAL_SECONDS, (signal) => this.load(signal));
    }

    stop() {
        this.words.stop();
        if (this.end)
            this.end();
        this.end = null;
    }

    async load(signal) {
        try {
            const answer = await getJson("api/v1/signals", this.target, signal), list = openSignals(answer), past = openPastSignals(answer);

            this.on.signals(list, past);
            this.show(list, past);
        } catch (error) {
            if (isAbort(error))
                throw error;
            Object.assign(this, { key: "", signals: [], past: [], isKnown: false });
            this.list.hidden = true;
            this.text.className = "signal-line quiet";
            this.put([new Text(`What is wrong is not known: ${error.message}`)], []);
        }
        this.showMore();
        this.on.known("signals");
    }

    // The words are of another time from now on.
    askWords() {
        if (this.end)
            this.words.start();
    }

    // Opens what shows the worst.
    follow() {
        const link = this.text.querySelector(".signal-link");

        if (link)
            link.click();
    }

    // The words that fit: sentences stand whole, or not at all. Returns whether some do not.
    fitWords() {
        const { root } = this.words, list = [...root.children], edge = root.getBoundingClientRect().right + 1;

        list.forEach((one) => { one.hidden = false; });
        if (this.isOpen || !list.length)
            return false;
        const wide = list.slice(1).filter((one) => one.getBoundingClientRect().right > edge);

        wide.forEach((one) => { one.hidden = true; });
        return wide.length > 0 || list[0].scrollWidth > list[0].clientWidth;
    }

    // The button, where something is not in sight.
    showMore() {
        const isCut = this.fitWords(), count = this.signals.length + this.past.length;

        this.more.hidden = !this.isOpen && !count && !isCut;
        this.holdHeight();
        setText(this.more, this.isOpen ? "Less" : count > 1 ? `${count - 1} more` : "More");
        this.more.setAttribute("aria-expanded", String(this.isOpen));
    }

    // While the same signals are on its height only grows: what is below does not go back and forth under a hand.
    holdHeight() {
        const key = [this.root.clientWidth, this.isOpen, ...this.signals.map(({ signal }) => signal)].join();

        if (key !== this.heightKey)
            this.text.style.minHeight = "";
        this.heightKey = key;
        this.text.style.minHeight = `${this.text.offsetHeight}px`;
    }

    // A new version of the service within the hour, as deployOf() gives it, stands first; null: there is none.
    setDeploy(deploy) {
        if (JSON.stringify(deploy) !== JSON.stringify(this.deploy)) {
            this.deploy = deploy;
            this.key = "";
            this.renew();
        }
        this.on.known("deploy");
    }

    // What stands behind the worst signal that is on; "": nothing.
    setNote(text) {
        if (text === this.note)
            return;
        this.note = text;
        this.key = "";
        this.renew();
    }

    // The graph's live profile of CPU time tells whom the allocator works for; null: there is none.
    setProfile(profile) {
        this.profile = profile;
        this.allocator = undefined;
        this.renew();
    }

    // "By CPU samples, Catalog.describe allocates most (96.2 % of 53). "; "": it is not asked for, or not known.
    allocatorText(signals) {
        if (!this.profile || !signals.some(({ signal }) => signal === "gc-pauses"))
            return "";
        if (this.allocator === undefined)
            this.allocator = mostAllocating(this.profile);
        return this.allocator ? `By CPU samples, ${this.allocator.name} allocates most (${formatShare(this.allocator.part, 1)} of ${this.allocator.samples}). ` : "";
    }

    toggle() {
        this.isOpen = this.root.classList.toggle("open");
        this.key = "";
        this.renew();
        this.showMore();
    }

    // Shows the signals again, beside something that has changed. Until they are known, the line says so.
    renew() {
        if (this.isKnown)
            this.show(this.signals, this.past);
    }

    show(signals, past) {
        const allocates = this.allocatorText(signals), key = JSON.stringify([signals, past, allocates, this.words.change && this.words.change.textContent, this.isOpen, Math.floor(Date.now() / 60000)]);

        if (key === this.key)
            return;
        this.key = key;
        Object.assign(this, { signals, past, isKnown: true });
        const worse = lastWorse(past, signals), was = (list) => list.map((one) => this.pastParts(one));
        const [first, ...others] = [...was(worse), ...signals.map((one) => this.parts(one, one.signal === "gc-pauses" ? allocates : "")), ...was(past.filter((one) => !worse.includes(one)))];
        const none = (text) => element("span", { class: "signal-none" }, text);

        this.list.hidden = !this.isOpen || !others.length;
        this.text.className = `signal-line${first ? "" : " all-well quiet"}${this.deploy ? " deployed" : ""}`;
        this.put([...this.deployParts(), ...signals.length ? [...first, ...this.note ? [element("span", { class: "quiet signal-note" }, this.note)] : []] : first ? [none("No signal is on now."), ...first]
            : this.words.change ? [none("No signal, but this changed:"), " ", this.changeAgain()] : [none(this.deploy ? "No signal so far." : "No signal: nothing that flamed looks for is wrong.")]], others.map((parts) => element("li", {}, ...parts)));
        this.showMore();
    }

    // The sentence of what changed, in sight. Its place in the words may not be.
    changeAgain() {
        const again = this.words.change.cloneNode(true);

        again.hidden = false;
        return again;
    }

    deployParts() {
        const { deploy } = this;

        return deploy ? [element("a", { "data-key": "deploy", class: "deploy-link", href: formatRoute("service", deploy.service, { tab: "changes" }),
            title: `Of ${deploy.service}, since ${formatMoment(deploy.began)}` }, `Version ${deploy.version} after ${deploy.before} since ${minuteText(deploy.began)}: what changed`)] : [];
    }

    // Where the signal of a link with the focus is over, the line has the focus: a press leads to nothing that was not read.
    put(parts, list) {
        const hadFocus = [this.text, this.list].some((part) => part.contains(document.activeElement));

        renewChildren(this.text, parts);
        renewChildren(this.list, list);
        if (hadFocus && ![this.text, this.list].some((part) => part.contains(document.activeElement)))
            this.text.focus();
    }

    // "heap-full until 12:24 (10 min ago): 97 % of the heap …", dimmed: it is over.
    pastParts(one) {
        const [name, words, , ...link] = this.parts(one), key = { "data-key": `${one.signal} ${one.pid} was on` };
        const then = link.some(({ textContent }) => textContent === pastLink(one, this.target).label) ? null : pastLink(one, this.target);
        const times = one.times > 1 ? `${one.times} times since ${minuteText(one.since)}` : "";
        const more = [agoText(one.signal === "ended" ? one.since : one.until), times].filter(Boolean).join(", ");

        words.classList.add("quiet");
        return [element("span", { ...key, class: "quiet signal-was", title: `from ${formatMoment(one.since)} to ${formatMoment(one.until)}` },
            name, ` ${untilText(one)}${more && ` (${more})`}:`), words, ...link,
        ...then ? [element("a", { ...key, href: then.href, class: "signal-link" }, then.label)] : []];
    }

    parts(one, more = "") {
        const link = evidenceLink(one.evidence), key = { "data-key": `${one.signal} ${one.pid}` };

        return [element("b", { ...key, class: `signal ${severityClass(one)}`, title: severityText(one.severity) }, one.signal),
            element("span", { ...key, class: "signal-words", title: `${one.sentence}. ${one.remedy}` }, `${sentenceText(one.sentence)}. ${more}`,
                element("span", { class: "quiet" }, ...remedyParts(one.remedy, this.target))),
            element("span", { ...key, class: "quiet signal-since", title: formatMoment(one.since) }, sinceText(one, this.past)),
            ...link ? [element("a", { ...key, href: link.href, class: "signal-link" }, link.label)] : []];
    }
}
