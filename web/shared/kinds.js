// SPDX-License-Identifier: Apache-2.0
// The kinds of frames, numbered as the daemon numbers them (enum frame_kind), in words for people.

export const KIND = Object.freeze({
    UNKNOWN: 0, C2: 1, C1: 2, INLINED: 3, INTERPRETED: 4, NATIVE: 5, JVM: 6, STUB: 7, KERNEL: 8,
    THREAD: 9, PROCESS: 10, TRUNCATED: 11, NATIVE_INLINED: 12,
});

// id: as the json format spells it. label: in the legend. text: in the line about a frame.
export const KINDS = Object.freeze([
    { id: "unknown", label: "Unknown", text: "no name known" },
    { id: "c2", label: "Java compiled", text: "Java, compiled by C2" },
    { id: "c1", label: "Java C1", text: "Java, compiled by C1" },
    { id: "inlined", label: "Java inlined", text: "Java, inlined into its caller" },
    { id: "interpreted", label: "Interpreted", text: "Java, interpreted" },
    { id: "native", label: "Native", text: "native code" },
    { id: "jvm", label: "JVM", text: "the JVM itself" },
    { id: "stub", label: "JVM stubs", text: "code that the JVM generated" },
    { id: "kernel", label: "Kernel", text: "kernel" },
    { id: "thread", label: "Thread", text: "thread" },
    { id: "process", label: "Process", text: "process" },
    { id: "truncated", label: "Cut", text: "stack cut here" },
    { id: "native_inlined", label: "Native inlined", text: "native code, inlined into its caller" },
]);

// In the order of the legend: from Java outwards.
export const LEGEND_ORDER = Object.freeze([
    KIND.C2, KIND.INLINED, KIND.C1, KIND.INTERPRETED, KIND.STUB, KIND.JVM, KIND.NATIVE, KIND.NATIVE_INLINED,
    KIND.KERNEL, KIND.UNKNOWN, KIND.TRUNCATED, KIND.THREAD, KIND.PROCESS,
]);

export function isJava(kind) {
    return kind >= KIND.C2 && kind <= KIND.INTERPRETED;
}

export function isNative(kind) {
    return kind === KIND.NATIVE || kind === KIND.JVM || kind === KIND.NATIVE_INLINED;
}

// Frames that stand for no code: they take a neutral colour.
export function isSynthetic(kind) {
    return kind === KIND.THREAD || kind === KIND.PROCESS || kind === KIND.TRUNCATED;
}

// Frames that lack something are hatched.
export function isHatched(kind) {
    return kind === KIND.UNKNOWN || kind === KIND.TRUNCATED;
}
