// SPDX-License-Identifier: Apache-2.0
// Frames that say nothing about the application: the calls that start a thread or enter Java become one frame, and those
// by which a waiting thread reaches the kernel are left out below the frame that says what it waits for.

import { KIND, isJava, isNative, isWait } from "./kinds.js";
import { derive } from "./transform.js";
import { rankNames } from "./tree.js";

const NAME = "[VM frames]";
const FEWEST = 2; // frames that are worth to be one

const isRoot = (kind) => kind === KIND.THREAD || kind === KIND.PROCESS || kind === KIND.REQUEST;
const isMachinery = (kind) => isNative(kind) || kind === KIND.STUB;

// Native frames that start a thread of any JVM: of the C library, the dynamic linker and the java launcher.
const START_MODULE = /^(libc|libpthread|ld|libjli)\b/;
const START_NAMES = new Set(["start_thread", "clone", "clone3", "__clone", "__clone3", "_start", "__libc_start_main",
    "__libc_start_main_impl", "__libc_start_call_main", "JavaMain", "ThreadJavaMain", "CallJavaMainInNewThread"]);

// Whether a frame starts a thread or enters Java where it is below Java; other native ones are of the application, such as a server
// that calls Java by JNI.
function isOfVM({ kind, name, module }) {
    const file = module.slice(module.lastIndexOf("/") + 1);

    return kind === KIND.JVM || kind === KIND.STUB || (isNative(kind) && (START_NAMES.has(name) || START_MODULE.test(file)));
}

// How many frames from @from on are below the first frame of Java; 0: no Java, or others than native ones are there.
function startFrames(kinds, path, from, depth) {
    let d = from;

    while (d < depth && isMachinery(kinds[path[d]]))
        d++;
    return d < depth && isJava(kinds[path[d]]) ? d - from : 0;
}

// Adds @path[from .. end) to @stack, with @folded in place of each run of frames of the VM.
function pushStart(stack, ofVM, path, from, end, folded) {
    for (let d = from, run; d < end; d = run) {
        run = d;
        while (run < end && ofVM[path[run]])
            run++;
        if (run - d >= FEWEST) {
            stack.push(folded);
            continue;
        }
        run = Math.max(run, d + 1);
        stack.push(...path.slice(d, run));
    }
}

// Where the frames begin that lead from what waits, in @path[from .. leaf), to the kernel.
function waitFrames(kinds, path, from, leaf) {
    const wait = kinds[path[leaf]];
    let d = leaf;

    if (!isWait(wait))
        return leaf;
    while (d > from && kinds[path[d - 1]] === KIND.KERNEL)
        d--;
    if (wait === KIND.VM) // a frame of the VM itself says what is waited for
        return d;
    const ofKernel = d;

    while (d > from && isMachinery(kinds[path[d - 1]]))
        d--;
    return d > from ? d : ofKernel; // a thread without Java is known by its native frames
}

// @profile with one group and one frame more.
function withFoldedFrame(profile) {
    const groupOf = new Int32Array(profile.groupOf.length + 1), lines = new Int32Array(groupOf.length);
    const groups = [...profile.groups,
        { name: NAME, kind: KIND.JVM, module: "", file: "", note: "the calls that start a thread or enter Java; All frames (a) shows each" }];

    groupOf.set(profile.groupOf);
    lines.set(profile.lines);
    groupOf[groupOf.length - 1] = groups.length - 1;
    return { ...profile, groups, groupOf, lines, ranks: rankNames(groups) };
}

export function foldFrames(source) {
    const profile = withFoldedFrame(source), folded = source.groupOf.length;
    const kinds = Uint8Array.from(profile.groupOf, (g) => profile.groups[g].kind);
    const groupsOfVM = profile.groups.map(isOfVM), ofVM = Uint8Array.from(profile.groupOf, (g) => groupsOfVM[g]);

    return derive(profile, (path, depth) => {
        let from = 0;

        while (from < depth && isRoot(kinds[path[from]]))
            from++;
        const start = startFrames(kinds, path, from, depth), leaf = depth - 1;
        const end = depth > from + start ? waitFrames(kinds, path, from + start, leaf) : depth;
        const stack = path.slice(0, from);

        pushStart(stack, ofVM, path, from, from + start, folded);
        for (let d = from + start; d < end; d++)
            stack.push(path[d]);
        if (end < depth)
            stack.push(path[leaf]);
        return stack;
    });
}
