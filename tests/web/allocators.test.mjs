// SPDX-License-Identifier: Apache-2.0
// Which code allocates, of samples of CPU time.
import assert from "node:assert/strict";
import test from "node:test";
import { mostAllocating } from "../../web/page/allocators.js";
import { profileOf } from "./fixture.mjs";

const NEW = ["stub new_array", "jvm OptoRuntime::new_array_C", "jvm MemAllocator::allocate", "jvm ObjArrayAllocator::initialize"];

test("the allocator's samples count for the nearest method of the application, each once", () => {
    const profile = profileOf([
        [["jvm thread_entry", "c2 shop.Catalog.handle", "inlined shop.Catalog.describe", "inlined java.lang.StringBuilder.append", ...NEW], 40],
        [["jvm thread_entry", "c2 shop.Catalog.handle", ...NEW.slice(1)], 8],
        [["jvm thread_entry", "interpreted java.lang.Thread.run", "jvm InterpreterRuntime::_new"], 2],
        [["jvm thread_entry", "c2 shop.Catalog.busy"], 900],
        [["jvm VMThread::run", "jvm CollectedHeap::mem_allocate_work"], 70], // for no Java code
    ]);

    assert.deepEqual(mostAllocating(profile), { name: "Catalog.describe", part: 0.8, samples: 50 });
});

test("few samples say nothing, and code of no application counts where there is no other", () => {
    assert.equal(mostAllocating(profileOf([[["c2 shop.Catalog.busy"], 900]])), null);
    assert.equal(mostAllocating(profileOf([[["c2 shop.Catalog.busy", ...NEW], 9]])), null);
    assert.deepEqual(mostAllocating(profileOf([[["c1 java.util.ArrayList.grow", "stub new_type_array Runtime1 stub", "jvm Runtime1::new_type_array"], 10]])),
        { name: "ArrayList.grow", part: 1, samples: 10 });
});

test("ways into the allocator have the names of HotSpot 8 to 25", () => {
    for (const name of ["InterpreterRuntime::_new", "InterpreterRuntime::newarray", "InterpreterRuntime::anewarray", "InterpreterRuntime::multianewarray", "OptoRuntime::new_instance_C",
        "OptoRuntime::new_array_nozero_C", "OptoRuntime::multianewarray2_C", "Runtime1::new_instance", "Runtime1::new_object_array", "Runtime1::new_multi_array", "JVMCIRuntime::new_array_common"])
        assert.ok(mostAllocating(profileOf([[["c2 shop.Catalog.a", `jvm ${name}`], 10]])), name);
    for (const name of ["OptoRuntime::handle_exception_C", "Runtime1::patch_code", "InterpreterRuntime::resolve_invoke"])
        assert.equal(mostAllocating(profileOf([[["c2 shop.Catalog.a", `jvm ${name}`], 10]])), null, name);
});
