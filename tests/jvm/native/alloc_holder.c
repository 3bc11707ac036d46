/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another profiler: an agent that wants to sample allocation, as only one may. Loaded at the start
 * of a JVM it keeps the capability. Loaded later it gives it back at once, and its result is the
 * error of JVMTI, 0: nobody had it.
 */
#include "agent/jvmti_slots.h"

#include <stddef.h>

static int ask(jvmti_vm *vm, int keep)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    struct jvmti_capabilities caps = { { 0 } };
    int32_t (*add)(jvmti_env *, const struct jvmti_capabilities *);
    int32_t (*dispose)(jvmti_env *);
    jvmti_env *env = NULL;
    int r = get_env(vm, (void **)&env, JVMTI_VERSION_OF_JDK_8);

    if (r != 0)
        return r;
    caps.bits[JVMTI_CAP_SAMPLED_OBJECT_ALLOC / 32] = 1u << JVMTI_CAP_SAMPLED_OBJECT_ALLOC % 32;
    add = jvmti_function(env, JVMTI_ADD_CAPABILITIES);
    dispose = jvmti_function(env, JVMTI_DISPOSE_ENVIRONMENT);
    r = add(env, &caps);
    if (!keep)
        dispose(env);
    return r;
}

int Agent_OnLoad(jvmti_vm *vm, char *options, void *reserved);
int Agent_OnLoad(jvmti_vm *vm, char *options, void *reserved)
{
    (void)options;
    (void)reserved;
    return ask(vm, /* keep= */ 1);
}

int Agent_OnAttach(jvmti_vm *vm, char *options, void *reserved);
int Agent_OnAttach(jvmti_vm *vm, char *options, void *reserved)
{
    (void)options;
    (void)reserved;
    return ask(vm, /* keep= */ 0);
}
