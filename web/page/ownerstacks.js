// SPDX-License-Identifier: Apache-2.0
// What the threads that had a lock did while they did not wait for it themselves: their stacks of Java, those first that are
// in a method in which others waited, for there they most likely had it.

import { element } from "../shared/dom.js";
import { formatShare, formatValue, plural } from "../shared/format.js";
import { shortName } from "../shared/names.js";
import { KIND } from "../shared/kinds.js";

const JAVA = ["c2", "c1", "inlined", "interpreted"];
const METHODS = 5; // that are named, of one stack
const STACKS = 6; // that are shown
const NO_WAIT = { running: "running", runnable: "waits for a CPU" };

const isJdk = (name) => /^(java|javax|jdk|sun)\./.test(name);
const methodsOf = (stack, frames) => stack.map((f) => frames[f]).filter(({ kind }) => JAVA.includes(kind)).map(({ name }) => name).reverse();

// A thread's name with the process id of its JVM: threads of several JVMs may have equal names. @thread: its index in `threads`.
export function ownerKey({ threads = [], processes = [] }, thread, name) {
    const { pid = 0 } = processes[(threads[thread] || {}).process] || {};

    return `${pid} ${name}`;
}

// The method in which a thread with @stack waits: the last one outside the JDK; "" where no Java is known.
export function placeOfWait(stack, frames) {
    const methods = methodsOf(stack, frames);

    return methods.find((name) => !isJdk(name)) || methods[0] || "";
}

// @lock: of locksOf(). @json: all time of the threads, by thread. {whole, stacks: [{methods: from the leaf, did, value, isInside}]}
export function ownerStacks(lock, json) {
    const { frames, stacks, threads } = json, found = new Map();
    let whole = 0;

    for (const { frames: stack, thread, wait, state, value } of stacks) {
        const methods = methodsOf(stack, frames), isInside = methods.some((name) => lock.places.has(name));
        const isWaiting = isInside && (wait === "lock" || (wait === "park" && methods.some((name) => name.startsWith("java.util.concurrent.locks."))));

        if (!lock.holders.has(ownerKey(json, thread, (threads[thread] || {}).name)) || !methods.length || isWaiting)
            continue;
        const did = wait || NO_WAIT[state] || state, key = [did, ...methods].join("\n");
        const one = found.get(key) || { methods, did, value: 0, isInside };

        one.value += value;
        whole += value;
        found.set(key, one);
    }
    return { whole, stacks: [...found.values()].sort((a, b) => b.isInside - a.isInside || b.value - a.value) };
}

// The same to read. @lock, @json as above.
export function ownerList(lock, json) {
    const { whole, stacks } = ownerStacks(lock, json), rest = stacks.slice(STACKS).reduce((sum, { value }) => sum + value, 0);
    const line = ({ methods, did, value, isInside }) => element("li", { title: methods.join("\n") },
        element("span", { class: "num" }, formatShare(value, whole)), element("span", { class: "owner-did" }, did),
        element("span", { class: isInside ? "owner-methods" : "owner-methods quiet" },
            methods.slice(0, METHODS).map((name) => shortName(name, KIND.C2)).join(" ← ") + (methods.length > METHODS ? " ← …" : "")));

    return stacks.length ? [
        element("p", { class: "quiet" }, `Shares of ${formatValue(whole, "nanoseconds")}: the time of the threads that had it, without their own waits for it. ` +
            "Methods in which others waited come first: there they most likely had it."),
        element("ol", { class: "owner-stacks" }, ...stacks.slice(0, STACKS).map(line),
            ...rest ? [element("li", { class: "quiet" }, element("span", { class: "num" }, formatShare(rest, whole)), `${plural(stacks.length - STACKS, "more stack", "more stacks")}`)] : []),
    ] : [element("p", { class: "quiet" }, "No stack of a thread that held the lock is known in this time. A capture of “What do threads wait for?” has more.")];
}
