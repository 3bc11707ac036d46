/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/looked_virtual.h"

#include <stdlib.h>

void looked_virtuals_deinit(struct looked_virtuals *l)
{
    free(l->jvms);
    *l = (struct looked_virtuals){ .count = 0 };
}

static struct looked_virtual *find(struct looked_virtuals *l, int32_t host_pid)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->jvms[i].host_pid == host_pid)
            return &l->jvms[i];
    }
    return NULL;
}

/* Returns a place for another JVM: one with an outdated look, else a new one. The recorder looks at
 * no more JVMs than there are places. */
static struct looked_virtual *new_place(struct looked_virtuals *l, uint64_t now_ns)
{
    if (!l->jvms)
        l->jvms = calloc(VIRTUAL_JVMS_MAX, sizeof(*l->jvms));
    for (size_t i = 0; l->jvms && i < l->count; i++) {
        if (now_ns > l->jvms[i].look_ns + LOOKED_VIRTUAL_NS)
            return &l->jvms[i];
    }
    return l->jvms && l->count < VIRTUAL_JVMS_MAX ? &l->jvms[l->count++] : NULL;
}

struct looked_virtual *looked_virtuals_keep(struct looked_virtuals *l, int32_t host_pid,
                                            uint64_t look_ns)
{
    struct looked_virtual *jvm = find(l, host_pid);

    if (!jvm) {
        jvm = new_place(l, look_ns);
        if (!jvm)
            return NULL;
        *jvm = (struct looked_virtual){ .host_pid = host_pid, .wanted = true };
    }
    if (jvm->look_ns == look_ns)
        return jvm;
    if (!jvm->wanted ||
        look_ns < jvm->look_ns) /* the sample was named late, and is of an older look */
        return NULL;
    *jvm = (struct looked_virtual){ .host_pid = host_pid, .look_ns = look_ns };
    return jvm;
}

void looked_virtuals_look(struct looked_virtuals *l, int32_t host_pid, uint64_t look_ns)
{
    if (find(l, host_pid))
        looked_virtuals_keep(l, host_pid, look_ns);
}

void looked_virtual_add(struct looked_virtual *jvm, uint32_t stack, double threads)
{
    if (jvm->count == LOOKED_VIRTUAL_MAX)
        jvm->left_out += threads;
    else
        jvm->at[jvm->count++] = (struct looked_virtual_place){ stack, threads };
}

const struct looked_virtual *looked_virtuals_get(struct looked_virtuals *l, int32_t host_pid,
                                                 uint64_t now_ns)
{
    struct looked_virtual *jvm = find(l, host_pid);

    if (!jvm)
        return NULL;
    jvm->wanted = true;
    return jvm->count && now_ns <= jvm->look_ns + LOOKED_VIRTUAL_NS ? jvm : NULL;
}

void looked_virtuals_forget(struct looked_virtuals *l)
{
    l->count = 0;
}
