// SPDX-License-Identifier: Apache-2.0
// What a capture can answer, as questions; everything else that can be sampled stands behind the last one.

export const OTHER = "other"; // the question behind which all other events are

// event: what is sampled. note: what is done for it. seconds: how long, where that is not the usual.
export const QUESTIONS = Object.freeze([
    { event: "cpu", text: "Where does CPU time go?", note: "Loads nothing." },
    { event: "wall", text: "What do threads wait for?", note: "Loads nothing." },
    { event: "lock", text: "Which locks, and who has them?", note: "Loads nothing." },
    { event: "alloc", text: "Who allocates?", note: "Loads nothing; probes in libjvm for that time." },
    { event: "live", text: "What stays: is it a leak?", note: "Loads flamed's agent into the JVM, for good. Until two collections have passed.",
        seconds: 180, collections: 2 },
    { event: "nativemem", text: "Who grows native memory?", note: "Loads nothing." },
    { event: "safepoint", text: "What holds up safepoints?", note: "Loads nothing; probes in libjvm for that time." },
    { event: OTHER, text: "Another event, or a function …", note: "Of the kernel, of libraries, of the processor." },
]);

export const questionOf = (event) => QUESTIONS.find((question) => question.event === event);

const HARDWARE = /^(?:cycles|ref-cycles|instructions|branch|cache-|L1-|LLC-|[di]TLB-|node-)/;

// Events behind the last question as [{label, events}]: those that are here, by where they come from; and how many are not.
export function otherEvents(events) {
    const others = events.filter(({ name }) => !questionOf(name));
    const here = others.filter(({ available }) => available !== false);
    const isHardware = ({ name }) => HARDWARE.test(name);

    return {
        groups: [{ label: "Kernel and libraries", events: here.filter((e) => !isHardware(e)) },
            { label: "Processor", events: here.filter(isHardware) }].filter((group) => group.events.length),
        missing: others.filter(({ available }) => available === false),
    };
}

// How many collections a profile in the json format has seen; NaN: nothing is known of them.
export function collectionsOf({ moments = [] }) {
    const counted = moments.filter(({ kind }) => kind === "collections");

    return moments.length ? counted.reduce((sum, { count }) => sum + count, 0) : NaN;
}

// A sentence where a capture of what stays says too little to be drawn; "" else.
export function tooEarlyText(json) {
    const wanted = (questionOf(json.meta.event) || {}).collections, seen = collectionsOf(json);

    if (!wanted || !(seen < wanted))
        return "";
    return `${seen === 0 ? "No collection" : seen === 1 ? "Only one collection" : `Only ${seen} collections`} passed in these ` +
        `${Math.round(json.meta.seconds)} s: most of what is here is merely young.`;
}
