// SPDX-License-Identifier: Apache-2.0
// What stands in place of the flame graph of a JVM if there is none, and what can be done: of a time that is no longer recorded, how
// far back there is something, and ways to it; of a JVM that did not run, the way to what it waited for.

import { eventTitle } from "./capture.js";
import { element, setText } from "../shared/dom.js";
import { formatMoment, plural } from "../shared/format.js";
import { idleLine } from "./idlepools.js";
import { button, emptyState, errorState } from "./notice.js";

const IDLE_SAMPLES = 20; // of a live view: with fewer it used next to no CPU

// @oldest: ms since 1970 where what is recorded begins, 0: not known. @on: {range(range), captures(), live()}; live null: not.
function expiredState({ from, to }, oldest, on) {
    const left = oldest ? `The record reaches back to ${formatMoment(oldest)}.` : "How far back the record reaches is not known.";

    return emptyState(`Nothing is recorded any more from ${formatMoment(from)} to ${formatMoment(to)}.`, `${left} Stored captures last longer.`,
        ...oldest ? [button("The oldest recorded minute", () => on.range({ from: oldest, to: oldest + to - from }))] : [], button("Stored captures of that time", on.captures),
        ...on.live ? [button("Go live", on.live)] : []);
}

// What stands where a JVM was recorded and used no CPU. @on: {threads(), waits(), capture(), live()}; null: not.
function idleState(on) {
    const state = emptyState("It used next to no CPU in this time.", "At most a few samples found a thread of it at work. A sick service looks like this when its threads wait.",
        button("What its threads do", on.threads, { class: "tool primary" }), button("What its threads wait for", on.waits), ...on.capture ? [button("Start a capture", on.capture)] : [], ...on.live ? [button("Go live", on.live)] : []);

    state.classList.add("idle-state");
    return state;
}

// Whether the state of a JVM that did not run stays in @content although a live view has @samples now: where they are few, or a hand is
// there. Else a button could go the moment it is pressed. A button below leads to the samples: @show().
export function staysIdle(content, samples, show) {
    if (!content.querySelector(".idle-state") || (samples >= IDLE_SAMPLES && !content.matches(":hover, :focus-within")))
        return false;
    const more = content.querySelector(".idle-more") || content.appendChild(element("p", { class: "idle-more" }, button("", show)));

    setText(more.firstChild, `The graph of ${plural(samples, "sample", "samples")}`);
    return true;
}

// Puts a state into @content. One that stands there stays: a button may be under a hand. @params: of the time.
export function putProblem(content, shown, params) {
    const { firstChild } = content, more = content.querySelector(".idle-more");

    if (!firstChild || !firstChild.isEqualNode(shown))
        content.replaceChildren(shown, ...shown.matches(".idle-state") ? [idleLine(params)] : []);
    else if (more)
        more.remove();
}

const liveOf = (view) => (view.range && !view.facts.isGone ? () => view.live.resume() : null);

const expiredOf = (view) => expiredState(view.range, view.oldest(), { live: liveOf(view), range: (other) => view.chooseRange(other), captures: () => view.setTab("captures") });

// What stands where all of @view's range is from before what is recorded; null: it is not, or not known to be.
export function forgottenState(view) {
    return view.range && view.range.to <= view.oldest() ? expiredOf(view) : null;
}

// @view: the JvmView; @error says why it has no graph.
export function graphProblem(view, error) {
    const { event, range, facts: { isGone } } = view, oldest = view.oldest(), forgotten = error.status === 404 ? forgottenState(view) : null;
    const capture = () => view.captureSlot.toggle(true), live = liveOf(view);

    if (forgotten && !error.isFinal)
        return forgotten;
    if (error.status === 404 && event !== "cpu")
        return emptyState(`${eventTitle(event)}: nothing of it was seen in this time.`, [error.message, !oldest && error.remedy].filter(Boolean).join(". "), button("CPU time", () => view.setEvent("cpu")));
    if (error.parameter === "from" && error.status === 404 && oldest && !view.isNode )
        return idleState({ threads: () => view.setTab("threads"), waits: () => view.setEvent("offcpu"), capture: isGone ? null : capture, live });
    if (range && error.status === 404 && !error.isFinal)
        return expiredOf(view);
    const actions = error.isFinal ? [element("a", { class: "tool", href: "#/" }, "All JVMs")] : [button("Start a capture", capture)];

    if (error.isFinal)
        view.app.banner.show("", "facts");
    if (live)
        actions.push(button("Go live", live));
    return errorState(error, ...actions);
}
