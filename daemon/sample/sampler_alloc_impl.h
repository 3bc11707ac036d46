/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind sampler_alloc.h. All of it runs on the broker's main thread. */
#pragma once

#include "sample/sampler_alloc.h"

#include "sample/pick_abi.h"
#include "sample/program.h"
#include "sample/stack_abi.h"
#include "sample/uprobe_hook.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alloc.skel.h"

/* A process with probes. */
struct alloc_target {
    int32_t pid;         /* 0: free */
    struct hook *probes; /* owned; NULL: none yet */
};

/* The processes with probes in libjvm.so, or the processes with a probe in an agent. */
struct alloc_targets {
    int map; /* fd of a map of the skeleton: descriptions for the program, by process id */
    struct alloc_target all[ALLOC_PROCESSES_MAX];
};

/* The probe of a function in a process. */
struct call_probe {
    int32_t pid; /* 0: free */
    uint32_t set;
    bool malloc;        /* true: requested bytes are sampled; false: calls are counted */
    struct hook *probe; /* owned */
};

struct sampler_alloc {
    struct alloc_bpf *skel;
    struct alloc_targets vms, agents;
    struct call_probe calls[ALLOC_CALLS_MAX];
    int32_t malloc_pids[ALLOC_PROCESSES_MAX]; /* process by slot of struct alloc_mallocs; 0: free */
    uint32_t call_sets;                       /* bit set: sets that count calls */
    uint32_t block_sets; /* bit set, part of call_sets: sets that track blocks of malloc */
    uint32_t epoch;      /* the last epoch given to probes */
    struct uprobe_way way;
    struct hook_worker hooker;
};

/* ---- of sampler_alloc_probes.c ---- */

/* Returns an epoch that no other probe has; it is never 0. */
uint32_t alloc_next_epoch(struct sampler_alloc *a);
/* Checks that process @pid may have @count more probes. Return: 0. -E2BIG with @err. */
int alloc_check_room(const struct sampler_alloc *a, int32_t pid, size_t count, struct error *err);

/* ---- of sampler_alloc_targets.c ---- */

/* Removes all probes of @of from their processes. */
void alloc_drop_targets(struct alloc_targets *of);

/* ---- of sampler_alloc_calls.c ---- */

/* Removes the probes of calls of the sets in @sets (bits). */
void alloc_drop_calls(struct sampler_alloc *a, uint32_t sets);
/* Forgets the blocks of process @pid that set @set tracks; @pid 0: of all processes. A block that
 * is added during the call stays until the next such set with that number. */
void alloc_forget_blocks(struct sampler_alloc *a, uint32_t set, int32_t pid);
