// SPDX-License-Identifier: Apache-2.0
// How far a profile can be trusted: quiet facts while it is good, a sentence where it is not.

import { formatCount, formatShare, plural } from "./format.js";

const UNKNOWN_LIMIT = 0.05; // shares above which a sentence is due
const TRUNCATED_LIMIT = 0.05;
const LOST_LIMIT = 0.01;
const UNSURE_LIMIT = 0.05;
const FEW_SAMPLES = 100;

// Warnings that say how a profile was made, not that something of it is missing.
const NOTES = [/^waits are estimated: /, /^allocations are sampled /, / this answer comes from the history: /, / are left out by idle=0/];

export const isNote = (warning) => NOTES.some((pattern) => pattern.test(warning));

// {facts: [{text, isBad}], sentences: [text]}. That samples are few is a warning of the profile itself.
export function judgeQuality({ samples, lost, unknown, truncated, inferred = 0, unsure = 0 }) {
    const facts = [], sentences = [];
    const fact = (text, isBad) => facts.push({ text, isBad });
    const taken = samples + lost;

    fact(plural(samples, "sample", "samples"), samples < FEW_SAMPLES);
    fact(formatShare(unknown, samples) + " unknown", unknown > samples * UNKNOWN_LIMIT);
    fact(formatShare(truncated, samples) + " truncated", truncated > samples * TRUNCATED_LIMIT);
    fact(formatCount(lost) + " lost", lost > taken * LOST_LIMIT);
    if (inferred || unsure)
        fact(`leaf inferred for ${formatShare(inferred, samples)}, unsure for ${formatShare(unsure, samples)}`,
            unsure > samples * UNSURE_LIMIT);
    if (unknown > samples * UNKNOWN_LIMIT)
        sentences.push(`${formatShare(unknown, samples)} of the samples have a frame without a name: ` +
            "their [unknown] frames stand where that code ran.");
    if (truncated > samples * TRUNCATED_LIMIT)
        sentences.push(`${formatShare(truncated, samples)} of the stacks are cut: they start at ` +
            "[truncated], their callers are missing.");
    if (lost > taken * LOST_LIMIT)
        sentences.push(`${formatShare(lost, taken)} of the samples were lost: the machine was too busy to ` +
            "take them in. Sample at a lower rate.");
    if (unsure > samples * UNSURE_LIMIT)
        sentences.push(`${formatShare(unsure, samples)} of the samples ran in a loop that no record of the compiler ` +
            "explains: they are of the method in their [inlined in …] frame, or of one that is inlined there.");
    return { facts, sentences };
}

// What to say in place of an empty graph.
export function emptyText(meta) {
    if (meta.event === "cpu")
        return "No samples: nothing that was asked for ran on a CPU in this time. Try a longer time, or " +
            "event=wall to see where threads wait.";
    return `No samples: the event “${meta.event}” did not happen in this time, or a filter left everything ` +
        "out. Try a longer time.";
}
