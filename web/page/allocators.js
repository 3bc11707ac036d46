// SPDX-License-Identifier: Apache-2.0
// Which code allocates, as far as samples of CPU time tell: whom the JVM's allocator worked for. It is called for each new
// buffer of a thread and each large object, so its samples are near to shares of the bytes.

import { KIND, isJava } from "../shared/kinds.js";
import { shortName, splitJavaName } from "../shared/names.js";
import { isForeign } from "../shared/packages.js";
import { buildTree } from "../shared/tree.js";

const LEAST_SAMPLES = 10; // fewer say nothing

// HotSpot's ways into its allocator, of interpreted and compiled code, and of the JVM itself.
const ALLOCATES = /^(?:InterpreterRuntime|OptoRuntime|Runtime1|JVMCIRuntime)::(?:_?new|anewarray|multi)|^(?:MemAllocator::allocate|CollectedHeap::\w*allocate)/;

// {name, part, samples} of the method with most of the allocator's samples: the nearest of the application, else of a library.
// null: too few samples.
export function mostAllocating(profile) {
    const allocates = profile.groups.map(({ name, kind }) => kind === KIND.JVM && ALLOCATES.test(name));

    if (!allocates.includes(true))
        return null;
    const tree = buildTree(profile), sums = new Map(), path = []; // of Java: {end, name, isOwn}
    let all = 0;

    for (let i = 1; i < tree.count;) {
        while (path.length && i >= path[path.length - 1].end)
            path.pop();
        const { name, kind } = profile.groups[tree.group[i]], caller = path[path.length - 1];

        if (allocates[tree.group[i]]) {
            if (caller) {
                sums.set(caller.name, (sums.get(caller.name) || 0) + tree.samples[i]);
                all += tree.samples[i];
            }
            i = tree.end[i];
            continue;
        }
        if (isJava(kind)) {
            const isOwn = !isForeign(splitJavaName(name).pack);

            path.push(!isOwn && caller && caller.isOwn ? { ...caller, end: tree.end[i] } : { end: tree.end[i], isOwn, name: shortName(name, kind) });
        }
        i++;
    }
    const [most] = [...sums].sort((a, b) => b[1] - a[1]);

    return all < LEAST_SAMPLES ? null : { name: most[0], part: most[1] / all, samples: all };
}
