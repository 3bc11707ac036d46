// SPDX-License-Identifier: Apache-2.0
// The kinds of frames, numbered as the daemon numbers them (enum frame_kind), in words for people.

export const KIND = Object.freeze({
    UNKNOWN: 0, C2: 1, C1: 2, INLINED: 3, INTERPRETED: 4, NATIVE: 5, JVM: 6, STUB: 7, KERNEL: 8,
    THREAD: 9, PROCESS: 10, TRUNCATED: 11, NATIVE_INLINED: 12,
    // What a thread waited for (waits.def): a leaf of its own.
    RUNNABLE: 13, SLEEP: 14, LOCK: 15, NOTIFY: 16, PARK: 17, POLL: 18, NETWORK: 19,
    FILE: 20, DISK: 21, PIPE: 22, FAULT: 23, VM: 24, STOPPED: 25, BLOCKED: 26,
    CLASS: 27, // of allocated objects: a leaf of its own
    JVMCI: 28,
    REQUEST: 29, // an operation, a trace, a state, a service: a root of its own
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
    { id: "runnable", label: "Runnable", text: "could run, but no processor was free" },
    { id: "sleep", label: "Sleep", text: "slept" },
    { id: "lock", label: "Lock", text: "waited for a lock (a monitor or a futex)" },
    { id: "notify", label: "Notify", text: "waited until it is notified: in Object.wait(), or as a thread of the VM without work" },
    { id: "park", label: "Parked", text: "was parked" },
    { id: "poll", label: "Poll", text: "waited in epoll, poll or select" },
    { id: "network", label: "Network", text: "waited for the network" },
    { id: "file", label: "File", text: "waited for a file" },
    { id: "disk", label: "Disk", text: "waited for a disk" },
    { id: "pipe", label: "Pipe", text: "waited for a pipe" },
    { id: "fault", label: "Page fault", text: "waited for a page of memory" },
    { id: "vm", label: "Safepoint, GC", text: "waited for a safepoint, the collector or another operation of the VM" },
    { id: "stopped", label: "Stopped", text: "was stopped, traced or frozen" },
    { id: "blocked", label: "Blocked", text: "waited; it is not known for what" },
    { id: "class", label: "Class", text: "class of the objects that were allocated" },
    { id: "jvmci", label: "Java JVMCI", text: "Java, compiled through JVMCI, as by Graal" },
    { id: "request", label: "Group", text: "samples of one group" },
]);

// In the order of the legend: from Java outwards.
export const LEGEND_ORDER = Object.freeze([
    KIND.C2, KIND.JVMCI, KIND.INLINED, KIND.C1, KIND.INTERPRETED, KIND.STUB, KIND.JVM, KIND.NATIVE, KIND.NATIVE_INLINED,
    KIND.KERNEL, KIND.RUNNABLE, KIND.LOCK, KIND.NOTIFY, KIND.PARK, KIND.SLEEP, KIND.POLL, KIND.NETWORK,
    KIND.PIPE, KIND.FILE, KIND.DISK, KIND.FAULT, KIND.VM, KIND.STOPPED, KIND.BLOCKED,
    KIND.CLASS, KIND.UNKNOWN, KIND.TRUNCATED, KIND.THREAD, KIND.REQUEST, KIND.PROCESS,
]);

export function isJava(kind) {
    return (kind >= KIND.C2 && kind <= KIND.INTERPRETED) || kind === KIND.JVMCI;
}

export function isNative(kind) {
    return kind === KIND.NATIVE || kind === KIND.JVM || kind === KIND.NATIVE_INLINED;
}

// Frames that stand for no code: their colour does not vary.
export function isSynthetic(kind) {
    return kind === KIND.THREAD || kind === KIND.PROCESS || kind === KIND.REQUEST || kind === KIND.TRUNCATED || isWait(kind);
}

// Leaves that say what a thread waited for.
export function isWait(kind) {
    return kind >= KIND.RUNNABLE && kind <= KIND.BLOCKED;
}

// Frames that lack something are hatched.
export function isHatched(kind) {
    return kind === KIND.UNKNOWN || kind === KIND.TRUNCATED;
}
