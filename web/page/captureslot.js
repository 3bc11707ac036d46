// SPDX-License-Identifier: Apache-2.0
// Where a capture is started from a view: the form, then its progress, then the capture itself or what went wrong.

import { postJson } from "./api.js";
import { CaptureForm } from "./captureform.js";
import { CollectionWait } from "./collectionwait.js";
import { element } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { button, errorState } from "./notice.js";
import { CaptureProgress } from "./progress.js";
import { formatRoute, parseRoute } from "./route.js";

const FEW_HZ = 99; // what is asked for at once where samples are few
const FEW_SECONDS = 30;

export class CaptureSlot {
    // @target: {pid} or {}.
    constructor(target) {
        Object.assign(this, { target, isClosed: false, isStopped: false });
        this.root = element("div", { class: "form-slot", hidden: true });
        this.opener = button("Capture …", () => this.toggle(), { "aria-expanded": "false", title: "Start a capture (x)" });
        this.sampler = button(`${FEW_HZ} Hz for ${FEW_SECONDS} s`, () => this.sample(), { title: "Sample CPU time now, more often than the flight recorder does, and open it" });
    }

    async sample() {
        if (this.progress || this.opener.disabled || (this.form && this.form.startButton.disabled))
            return; // one is started already
        this.toggle(false);
        this.opener.disabled = this.sampler.disabled = true;
        try {
            this.started(await postJson("api/v1/captures", { ...this.target, event: "cpu", seconds: FEW_SECONDS, hz: FEW_HZ }), { seconds: FEW_SECONDS });
        } catch (error) {
            this.root.replaceChildren(errorState(error, button("Close", () => this.toggle(false))));
            this.root.hidden = false;
        } finally {
            this.opener.disabled = this.sampler.disabled = this.isClosed;
        }
    }

    stop() {
        this.isStopped = true;
        if (this.progress)
            this.progress.end();
        if (this.form)
            this.form.endJudging();
        this.stopWaiting();
    }

    stopWaiting() {
        if (this.wait)
            this.wait.end();
        this.wait = null;
    }

    // @focus: also where something else has the focus. @event: is chosen then; "": what was.
    toggle(open = this.root.hidden, focus = true, event = "") {
        if (this.progress || (open && this.opener.disabled))
            return;
        this.root.hidden = !open;
        this.opener.setAttribute("aria-expanded", open);
        if (!open)
            return;
        this.form = this.form || new CaptureForm(this.target, { started: (capture, wanted) => this.started(capture, wanted) });
        this.root.replaceChildren(this.form.root);
        if (event)
            this.form.choose(event);
        if (focus || document.activeElement.matches("body, main")) // nothing that a person chose has the focus
            this.form.begin();
    }

    // Opens the form with @event chosen, unless a person was here first.
    ask(event) {
        if (this.root.hidden)
            this.toggle(true, false, event);
    }

    // A link in @root that asks for a capture of what is in sight opens the form, and the rest stays as it is.
    catchLinks(root) {
        const { pid, service } = this.target, own = service ? formatRoute("service", service) : formatRoute("jvm", pid || "node");

        root.addEventListener("click", (event) => {
            const link = event.target.closest("a[href^='#']"), { view, argument, params } = parseRoute(link ? link.hash : "");

            if (!params.get("start") || formatRoute(view, argument) !== own || this.progress || this.isClosed || event.ctrlKey || event.metaKey || event.shiftKey)
                return;
            event.preventDefault();
            this.toggle(true, true, params.get("start"));
        });
    }

    // Nothing can be started any more.
    close() {
        if (!this.progress)
            this.toggle(false);
        this.isClosed = this.opener.disabled = this.sampler.disabled = true;
    }

    reopen() {
        this.isClosed = this.opener.disabled = this.sampler.disabled = false;
    }

    // Whether it was open, and is closed now.
    escaped() {
        if (this.root.hidden || this.progress)
            return false;
        this.toggle(false);
        this.opener.focus();
        return true;
    }

    started({ id }, { seconds, threads, requests, collections }) {
        if (this.isStopped)
            return; // the user has left this page: the capture is in the list of captures
        this.progress = new CaptureProgress(id, { ended: (capture) => this.ended(capture, { threads, requests }) }, seconds);
        if (collections && this.target.pid)
            this.wait = new CollectionWait(this.target.pid, id, collections, (n) =>
                this.progress && this.progress.note(`${n} of ${plural(collections, "collection", "collections")}`));
        this.root.replaceChildren(this.progress.root);
        this.root.hidden = false;
        this.progress.stopButton.focus();
    }

    ended(capture, { threads, requests }) {
        this.progress = null;
        this.stopWaiting();
        if (capture.state === "done") {
            location.hash = formatRoute("capture", capture.id, { th: threads ? "*" : "", by: requests ? "operation" : "" });
            return;
        }
        this.root.replaceChildren(errorState(new Error("The capture failed: " + (capture.failure || "no reason is known")),
            button("Try again", () => this.toggle(true)), button("Close", () => this.toggle(false))));
    }
}
