/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies calls of compiled code into rare paths of the VM, by the names of its stubs. */
#include "hotspot/code/leaf_calls.h"

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

/* Names: "throw_div0_exception Runtime1 stub", "_new_instance_Java" (up to JDK 22; seen in 17); "C1
 * Runtime throw_div0_exception_blob", "C2 Runtime new_instance" (seen in 25);
 * "throw_div0_exception_blob (C1 runtime)", "new_instance_blob (C2 runtime)" (seen in 27, 28). */
uint8_t leaf_stub_flow(const char *name)
{
    bool c1 = ends_with(name, "Runtime1 stub") || strncmp(name, "C1 Runtime ", 11) == 0 ||
              ends_with(name, "(C1 runtime)");

    if (strcmp(name, "UncommonTrapBlob") == 0 ||
        (c1 && (strstr(name, "throw_") || strstr(name, "deoptimize") ||
                strstr(name, "predicate_failed"))))
        return LEAF_TRAP;
    if (c1 || strncmp(name, "C2 Runtime ", 11) == 0 || ends_with(name, "(C2 runtime)") ||
        (name[0] == '_' && ends_with(name, "_Java")))
        return LEAF_SLOW;
    return LEAF_CALL;
}

uint8_t leaf_call_flow(struct hotspot_vm *vm, struct u64_cache *stubs, uint64_t target)
{
    uint64_t at, end;
    uint32_t flow;
    struct blob b;
    char name[64];

    if (u64_cache_get(stubs, target, &flow))
        return (uint8_t)flow;
    if (codecache_block(vm, target, &at, &end) != 0 || blob_read(vm, at, end, &b) != 0 ||
        b.kind != HOTSPOT_CODE_STUB || memory_string(&vm->memory, b.name, name, sizeof(name)) <= 0)
        return LEAF_CALL; /* not cached: the code at @target may change soon */
    flow = leaf_stub_flow(name);
    u64_cache_put(stubs, target, flow);
    return (uint8_t)flow;
}
