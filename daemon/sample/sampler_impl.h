/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler as its files share it: they load its programs, arm its events and fill its maps. No
 * other file knows the skeleton of cpu.bpf.c. Runs inside flamed-broker only.
 */
#pragma once

#include "sample/loss_abi.h"
#include "sample/pick_abi.h"
#include "sample/sample_abi.h"
#include "sample/sampler.h"
#include "sample/sampler_events.h"
#include "sample/sampler_perf.h"
#include "sample/sampler_shared.h"
#include "sample/stack_abi.h"
#include "unwind/state.h"

#include "cpu.skel.h"

_Static_assert(SAMPLER_SETS_MAX == STACK_SETS_MAX, "the sets of both sides");

struct armed;

/* An event at a period, one per online CPU. */
struct sampler_set {
    bool used;
    struct hook *hook;   /* owned; NULL: the kernel has no such event */
    struct armed *armed; /* the events; owned by the hook */
    struct sampler_event event;
    uint64_t period;
};

struct sampler {
    void *loaded[PROGRAM_COUNT]; /* owned; NULL: not loaded */
    bool checked[PROGRAM_COUNT]; /* true: this kernel can load the program */
    struct cpu_bpf *skel;        /* skeleton of PROGRAM_CPU; NULL: perf is in use */
    struct perf_home *perf;      /* owned; in place of BPF programs */
    struct sampler_set sets[SAMPLER_SETS_MAX];
    struct unwind_row *rows; /* memory of rows_fd, [SAMPLER_ROWS_MAX] */
    int rows_fd;             /* fd of the map; owned if there is no BPF */
    uint32_t last_slot;
    uint32_t contexts_put; /* number of paths in the map of contexts */
    size_t ring_bytes;
    struct hook_worker hooker;
};

/* Ends the events of @set, which is unused from then on. */
void sampler_set_disarm(struct sampler_set *set);

/* ---- programs.c: call a function of program.h for each program that is loaded ---- */

/* Frees all programs. */
void programs_free(struct sampler *s);
/* Pass a change of the filters to the programs, as program.h says. */
void programs_filter_process(struct sampler *s, int32_t pid, uint32_t before, uint32_t sets);
/* Pass the sets that want every process to the programs. */
void programs_filter_all(struct sampler *s, uint32_t sets);
/* Clears the programs' memory of pcs. */
void programs_forget(struct sampler *s);
