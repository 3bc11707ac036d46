/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/looking.h"

#include "proc/stall_readers.h"

#include <stdatomic.h>

static _Atomic int now_at;
static _Atomic int32_t host_pid;
static _Atomic uint64_t start_ticks, owner;
static _Atomic bool is_jvm;

void looking_begin(enum looking_at at, const struct proc_id *id, bool jvm)
{
    atomic_store_explicit(&host_pid, id->host_pid, memory_order_relaxed);
    atomic_store_explicit(&start_ticks, id->start_ticks, memory_order_relaxed);
    atomic_store_explicit(&owner, readers_owner(id), memory_order_relaxed);
    atomic_store_explicit(&is_jvm, jvm, memory_order_relaxed);
    atomic_store_explicit(&now_at, at, memory_order_release); /* stored last: a reader that sees
                                                               * this value also sees the others */
}

void looking_end(void)
{
    atomic_store_explicit(&now_at, LOOKING_NOWHERE, memory_order_release);
}

void looking_get(struct looking *ret)
{
    *ret = (struct looking){ .at = atomic_load_explicit(&now_at, memory_order_acquire) };
    if (ret->at == LOOKING_NOWHERE)
        return;
    ret->id.host_pid = atomic_load_explicit(&host_pid, memory_order_relaxed);
    ret->id.start_ticks = atomic_load_explicit(&start_ticks, memory_order_relaxed);
    ret->owner = atomic_load_explicit(&owner, memory_order_relaxed);
    ret->jvm = atomic_load_explicit(&is_jvm, memory_order_relaxed);
}

const char *looking_text(enum looking_at at)
{
    switch (at) {
    case LOOKING_SAMPLE:
        return "it named the frames of a sample";
    case LOOKING_FUNCTION:
        return "it looked for a function in the files";
    case LOOKING_JVM:
        return "it read the tables of the VM";
    case LOOKING_CODE:
        return "it read the code that an agent reports";
    default:
        return "it worked on no process";
    }
}
