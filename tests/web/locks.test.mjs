// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { ownerStacks } from "../../web/page/ownerstacks.js";
import { hasLocks, locksOf, ownersText, signalsText } from "../../web/page/locktable.js";

const NAMES = ["[a-0 tid=1]", "[a-1 tid=2]", "Main.run", "[monitor]", "Shop", "[condition]", "java.lang.Object.wait"];
const frames = NAMES.map((name, i) => ({ name, kind: i < 2 ? "thread" : "c2" }));

test("locks by class and way, those that a thread had first", () => {
    const locks = locksOf({ frames, stacks: [
        { frames: [0, 2, 3, 4], samples: 2, value: 100, owner: "a-1" },
        { frames: [1, 2, 3, 4], samples: 3, value: 200, owner: "a-0" },
        { frames: [1, 2, 3, 4], samples: 1, value: 100 },
        { frames: [0, 2, 5, 4], samples: 1, value: 900 },
        { frames: [0, 2, 6], samples: 7, value: 7000 }, // no lock
        { frames: [], samples: 1, value: 1 },
    ] });

    assert.deepEqual(locks.map(({ name, way, samples, value, threads }) => [name, way, samples, value, threads]),
        [["Shop", "[monitor]", 6, 400, 2], ["Shop", "[condition]", 1, 900, 1]]); // another thread had the first
    assert.equal(ownersText(locks[1]), "");
    assert.match(ownersText(locks[0]), /^a-0 50.*%, a-1 25.*%$/);
});

test("owners beyond the third are counted", () => {
    assert.match(ownersText({ value: 10, owners: [["a", 4], ["", 2], ["b", 2], ["c", 1], ["d", 1]] }), /^a 40.*b 20.*c 10.*, 1 more$/);
});

test("a futex ranks as a lock that a thread may have", () => {
    const ways = ["[condition]", "[futex]"];
    const locks = locksOf({
        frames: [...ways, "x"].map((name) => ({ name, kind: "native" })),
        stacks: ways.map((way, i) => ({ frames: [i, 2], samples: 1, value: 900 - i })),
    });

    assert.deepEqual(locks.map(({ way }) => way), ["[futex]", "[condition]"]);
});

test("waits for the end of a thread or at a barrier are none of idle threads", () => {
    const text = (...ways) => signalsText(ways.map((way) => ({ way }))).replaceAll("\u00a0", " ");

    assert.equal(text("[park]", "[condition]"), "2 waits for a signal, as of idle threads");
    assert.equal(text("[join]"), "1 other wait");
    assert.equal(text("[notify]", "[join]", "[barrier]"), "1 wait for a signal, as of idle threads, and 2 other waits");
});

test("events that have locks", () => {
    assert.deepEqual(["lock", "nativelock", "offcpu", "cpu"].map(hasLocks), [true, true, false, false]);
});

test("what those did that had a lock: first where others waited, without their own waits for it, of owners alone", () => {
    const names = ["[a tid=1]", "[b tid=2]", "java.lang.Thread.run", "shop.Main.serve", "shop.Table.get", "[monitor]", "shop.Table", "java.lang.Thread.sleep",
        "java.util.concurrent.locks.LockSupport.park"];
    const all = names.map((name, i) => ({ name, kind: i < 2 ? "thread" : i === 5 || i === 6 ? "lock" : "c2" }));
    const [lock] = locksOf({ frames: all, stacks: [{ frames: [0, 2, 3, 4, 5, 6], samples: 1, value: 10, owner: "b" }] });
    const { whole, stacks } = ownerStacks(lock, { frames: all, threads: [{ name: "a" }, { name: "b" }], stacks: [
        { thread: 1, frames: [1, 2, 3, 7], wait: "sleep", state: "blocked", value: 50 },
        { thread: 1, frames: [1, 2, 3, 4, 7], wait: "sleep", state: "blocked", value: 30 },
        { thread: 1, frames: [1, 2, 3, 4], state: "running", value: 20 },
        { thread: 1, frames: [1, 2, 3, 4], wait: "lock", state: "blocked", value: 1000 }, // waits for it, too
        { thread: 1, frames: [1, 2, 3, 4, 8], wait: "park", state: "blocked", value: 1000 },
        { thread: 0, frames: [0, 2, 3, 4], state: "running", value: 1000 }, // never had it
    ] });

    assert.deepEqual([...lock.places], ["shop.Table.get"]);
    assert.equal(whole, 100);
    assert.deepEqual(stacks.map(({ did, value, isInside, methods }) => [did, value, isInside, methods[0]]), [
        ["sleep", 30, true, "java.lang.Thread.sleep"], ["running", 20, true, "shop.Table.get"], ["sleep", 50, false, "java.lang.Thread.sleep"]]);
});

test("threads of equal names of several JVMs are told apart by their JVM", () => {
    const names = ["[Shop pid=7]", "[Shop pid=9]", "[worker-1 tid=1]", "shop.Table.get", "[monitor]", "shop.Table"];
    const frames = names.map((name, i) => ({ name, kind: ["process", "process", "thread", "c2", "lock", "lock"][i] }));
    const threads = [{ name: "worker-1", process: 0 }, { name: "worker-1", process: 1 }, { name: "worker-2", process: 1 }];
    const [lock] = locksOf({ frames, threads, processes: [{ pid: 7 }, { pid: 9 }], stacks: [
        { thread: 2, frames: [1, 2, 3, 4, 5], samples: 1, value: 10, owner: "worker-1" }] }); // that of 9
    const { whole } = ownerStacks(lock, { frames, threads, processes: [{ pid: 9 }, { pid: 7 }], stacks: [ // another order of JVMs
        { thread: 0, frames: [0, 2, 3], state: "running", value: 30 }, { thread: 1, frames: [1, 2, 3], state: "running", value: 1000 }] });

    assert.equal(whole, 30);
});
