// SPDX-License-Identifier: Apache-2.0
// Folding of frames, and leaving out threads that wait for work.
import assert from "node:assert/strict";
import test from "node:test";
import { foldFrames } from "../../web/shared/fold.js";
import { matchGroups, compileSearch, widestMatch } from "../../web/shared/search.js";
import { KIND, KINDS } from "../../web/shared/kinds.js";
import { sumKinds } from "../../web/shared/methods.js";
import { idleSamples } from "../../web/shared/rows.js";
import { mergeTiers } from "../../web/shared/tiers.js";
import { Shape } from "../../web/shared/shape.js";
import { buildTree, nodeName, openProfile, pathTo } from "../../web/shared/tree.js";
import { profileOf } from "./fixture.mjs";

const START = ["native clone3", "native start_thread", "jvm thread_entry", "stub call_stub"];
const PARK = ["jvm Unsafe_Park", "native pthread_cond_wait", "kernel do_syscall_64", "kernel futex_do_wait"];

// [[names from the root on, samples]] of each leaf.
function stacksOf(profile) {
    const tree = buildTree(profile), list = [];

    for (let i = 1; i < tree.count; i++)
        if (tree.self[i])
            list.push([pathTo(tree, i).map((n) => nodeName(tree, n)), tree.self[i]]);
    return list;
}

test("frames that start a thread become one below an operation, too", () => {
    const profile = profileOf([[["process [shop pid=1]", "request [GET /slow]", ...START, "c2 Order.total"], 5]]);

    assert.deepEqual(stacksOf(foldFrames(profile)), [[["[shop pid=1]", "[GET /slow]", "[VM frames]", "Order.total"], 5]]);
});

test("frames that start a thread become one, those between Java and what it waits for go", () => {
    const profile = profileOf([
        [[...START, "c2 Pool.run", "c2 Unsafe.park", ...PARK, "park park"], 7],
        [[...START.slice(1), "c2 Pool.run", "c2 Order.total"], 5],
        [[...START, "c2 Pool.run", "kernel do_syscall_64"], 3],
    ]);

    assert.deepEqual(stacksOf(foldFrames(profile)), [
        [["[VM frames]", "Pool.run", "Order.total"], 5],
        [["[VM frames]", "Pool.run", "Unsafe.park", "park"], 7],
        [["[VM frames]", "Pool.run", "do_syscall_64"], 3],
    ]);
});

test("native callers of Java stay, the frames of the VM around them become one", () => {
    const jni = ["jvm jni_CallStaticVoidMethod", "jvm JavaCalls_call", "stub call_stub"];
    const profile = profileOf([
        [["native clone3", "native start_thread", "native Server_run", "native Server_handle", ...jni, "c2 Rules.match"], 5],
        [["native main", ...jni.slice(2), "c2 Rules.load"], 3],
        [["thread t", "native clone3", "native start_thread", "native ThreadJavaMain", "native JavaMain", ...jni, "c2 Main.main"], 2],
    ]);

    assert.deepEqual(stacksOf(foldFrames(profile)), [
        [["[VM frames]", "Server_run", "Server_handle", "[VM frames]", "Rules.match"], 5],
        [["main", "call_stub", "Rules.load"], 3],
        [["t", "[VM frames]", "Main.main"], 2],
    ]);
});

test("frames of the C library and of the launcher are known by their file", () => {
    const raw = profileOf([
        [["native 0x94ac3", "native 0x1268c0", "c2 Pool.run"], 5],
    ], { raw: true });
    const inFile = (file) => {
        const strings = [...raw.strings, file];
        const frames = raw.frames.map((value, i) => (i % 5 === 2 && raw.frames[i - 1] === KIND.NATIVE ? strings.length - 1 : value));

        return stacksOf(foldFrames(openProfile({ ...raw, strings, frames })))[0][0];
    };

    for (const file of ["libc.so.6", "/usr/lib/ld-musl-x86_64.so.1", "libjli.so", "libc-2.31.so"])
        assert.deepEqual(inFile(file), ["[VM frames]", "Pool.run"], file);
    for (const file of ["libcurl.so.4", "ldapd", "libserver.so"])
        assert.deepEqual(inFile(file), ["0x94ac3", "0x1268c0", "Pool.run"], file);
});

test("a thread without Java keeps its native frames, one that waits for the VM those of the VM", () => {
    const profile = profileOf([
        [["thread t", "native clone3", "native poll_loop", "kernel futex_do_wait", "lock lock"], 2],
        [["thread u", ...START, "c2 Pool.run", "jvm SafepointMechanism_block", "kernel futex_do_wait", "vm vm"], 1],
    ]);

    assert.deepEqual(stacksOf(foldFrames(profile)), [
        [["t", "clone3", "poll_loop", "lock"], 2],
        [["u", "[VM frames]", "Pool.run", "SafepointMechanism_block", "vm"], 1],
    ]);
});

test("a method is one frame however it ran; the legend counts how it ran", () => {
    const profile = profileOf([
        [["c2 a", "c2 x"], 6], [["c2 a", "c1 x"], 3], [["c2 a", "interpreted x", "kernel k"], 2], [["c2 b", "inlined x"], 1],
    ]);
    const merged = mergeTiers(profile);
    const tree = buildTree(merged);

    assert.deepEqual(stacksOf(merged), [[["a", "x"], 9], [["a", "x", "k"], 2], [["b", "x"], 1]]);
    assert.deepEqual(sumKinds(tree).map(({ kind, weight }) => [KINDS[kind].id, weight]),
        [["c2", 6], ["inlined", 1], ["c1", 3], ["kernel", 2]]);
    assert.deepEqual(merged.groups.find(({ name }) => name === "x").tiers.map(({ kind, samples }) => [KINDS[kind].id, samples]),
        [["c2", 6], ["c1", 3], ["interpreted", 2], ["inlined", 1]]);
    assert.equal(mergeTiers(profileOf([[["c2 a", "c1 b"], 1]])).kinds, undefined);
});

test("idle threads are left out, and all is there again", () => {
    const profile = { ...profileOf([[["c2 a", "park park"], 9], [["c2 b", "lock lock"], 1]]), idle: [true, false] };
    const shape = new Shape(profile, []);
    const state = { thread: "*", hide: [], focus: "", sandwich: "", idle: false, frames: true, tiers: true };

    assert.ok(shape.use(state));
    assert.equal(shape.forward("samples").total[0], 1);
    assert.deepEqual([idleSamples(profile), idleSamples({ ...profile, idle: null })], [9, 0]);
    assert.ok(shape.use({ ...state, idle: true }));
    assert.equal(shape.forward("samples").total[0], 10);
    assert.ok(!shape.use({ ...state, idle: true }));
    shape.use({ ...state, idle: false, hide: ["lock"] });
    assert.deepEqual(stacksOf(shape.profile), [[["b"], 1]]);
});

test("a picked method is shown where it weighs most", () => {
    const tree = buildTree(profileOf([[["c2 a", "c2 x"], 1], [["c2 b", "c2 x", "c2 x"], 50]]));
    const node = widestMatch(tree, matchGroups(tree.profile, compileSearch("^x$")));

    assert.deepEqual(pathTo(tree, node).map((n) => nodeName(tree, n)), ["b", "x"]);
    assert.equal(widestMatch(tree, matchGroups(tree.profile, compileSearch("^none$"))), -1);
});
