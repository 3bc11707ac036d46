/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler, as the files that load its programs, arm its events and fill its maps share it.
 * Besides them nothing knows the skeleton of cpu.bpf.c. Runs inside flamed-broker only.
 */
#pragma once

#include "sample/cpu_abi.h"
#include "sample/pick_abi.h"
#include "sample/sample_abi.h"
#include "sample/sampler.h"
#include "sample/sampler_alloc.h"
#include "sample/sampler_events.h"
#include "sample/sampler_moments.h"
#include "sample/sampler_off.h"
#include "sample/sampler_shared.h"
#include "sample/stack_abi.h"
#include "unwind/state.h"

#include "cpu.skel.h"

_Static_assert(SAMPLER_SETS_MAX == STACK_SETS_MAX, "the sets of both sides");

/* An event and its link, which owns it. */
struct cpu_link {
    struct bpf_link *link;
    uint32_t cpu;
};

/* An event at a period, one per online CPU. */
struct sampler_set {
    bool used;
    struct cpu_link *links; /* owned, [count], by cpu; NULL: of no CPU */
    size_t count;
    struct sampler_event event;
    uint64_t period;
};

/* The same programs once more, for tracepoints alone: for most they are never loaded, and the
 * kernel takes its time to check them. */
struct sampler_points {
    struct cpu_bpf *skel;
};

struct sampler {
    struct cpu_bpf *skel;
    struct sampler_points *points; /* NULL: nobody asked for them */
    struct sampler_set sets[SAMPLER_SETS_MAX];
    struct unwind_row *rows; /* the map's memory, [SAMPLER_ROWS_MAX] */
    uint32_t last_slot;
    size_t ring_bytes;
    int possible_cpus;
    struct sampler_off *off;         /* owned; NULL: not loaded */
    struct error off_problem;        /* why it cannot be */
    struct sampler_alloc *alloc;     /* owned; NULL: not loaded */
    struct sampler_moments *moments; /* owned; NULL: not loaded */
};

/* Ends the events of @set, which is unused then. */
void sampler_set_disarm(struct sampler_set *set);
