/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolizer. Shared by the files that keep its state and that name stacks. Thread: the
 * engine's. */
#pragma once

#include "symbolize/broker_files.h"
#include "symbolize/kernel.h"
#include "symbolize/resolver.h"

#include <uthash.h>

struct resolver_entry {
    struct proc_id id;       /* key: has no padding */
    struct process *process; /* pinned */
    struct resolver *resolver;
    UT_hash_handle hh;
};

struct symbolizer {
    struct symbol_files files;
    struct frame_table *frames;
    struct elf_cache *elf;
    struct kernel_names *kernel;
    struct resolver_env env;
    size_t maps_bytes;
    struct resolver_entry *resolvers;
    int proc_fd;
    bool own_proc_fd;
    uint64_t *code; /* owned, [STACK_FRAMES_MAX]: see symbolizer_code(); NULL: not requested */
    int wake_fd;
    bool background;
    struct worker *perf_maps; /* NULL: none */
    struct namer *namer;
    uint64_t answers;      /* namer_answers() at the last symbolizer_poll() */
    bool news;             /* symbolizer_poll() has to report files that were stored */
    uint32_t gap;          /* frame "[...]" */
    uint32_t vsyscall;     /* frame "[vsyscall]" */
    uint32_t runnable;     /* frame "[runnable]" */
    uint32_t throttled;    /* frame "[throttled]" */
    uint64_t java_methods; /* of freed resolvers and earlier tables */
};

/* Charges new names to the owner of @r; NULL: to no owner. */
static inline void symbolizer_charge(const struct symbolizer *s, struct resolver *r)
{
    frame_table_charge(s->frames, r ? resolver_owner(r) : 0);
}
