/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BPF program that makes samples, as a table of functions, defined by its loader. The rows
 * PROGRAM of event/events.def list all of them. Its maps are the sampler's (stack.bpf.h), and its
 * sets have the sampler's numbers, below SAMPLER_SETS_MAX. Runs inside flamed-broker only; thread:
 * the broker's main one, unless a function's comment says otherwise.
 */
#pragma once

#include "event/event_kind.h"
#include "sample/sampler.h"
#include "sample/sampler_events.h"
#include "sample/sampler_shared.h"

struct bpf_program;

/* The members that all programs that walk stacks have in their memory. */
struct sampler_memory {
    uint32_t *filter_all;       /* sets that want all processes, as bits */
    struct unwind_known *known; /* [UNWIND_KNOWN_COUNT] */
    int counters;               /* fd of the map of its counters (enum stack_counter) */
};

/* Makes the struct for a program with the skeleton @skel. */
#define SAMPLER_MEMORY(skel)                                                                       \
    ((struct sampler_memory){ &(skel)->bss->filter_all, (skel)->bss->known,                        \
                              bpf_map__fd((skel)->maps.counters) })

struct sampler_program {
    /* Checks that this kernel can load the program, in some ms. 0, or -errno with @err. NULL: no
     * check. */
    int (*check)(struct error *err);
    /* Loads the program, which takes about a second; borrows @shared. 0 and *ret, which is @p of
     * the other functions, or -errno with @err. NULL: the program is loaded at the start. Thread:
     * any. */
    int (*load)(const struct sampler_shared *shared, void **ret, struct error *err);
    /* Ends all sampling of @p and frees it. Thread: any. */
    void (*free)(void *p);
    /* Starts set @set; the worker may still have to put its hooks. 0, or -errno with @err, after
     * which stop() is called. NULL: no event has this program. */
    int (*start)(void *p, uint32_t set, const struct sampler_event *event, uint64_t period,
                 struct error *err);
    /* Checks that set @set samples. 0. -EINPROGRESS: hooks are being put. Other -errno: that
     * failed. @err is set unless 0. NULL: start() did all. */
    int (*begun)(void *p, uint32_t set, struct error *err);
    /* Stops set @set. NULL: the set ends with the kernel's events. */
    void (*stop)(void *p, uint32_t set);
    /* Returns the program that the kernel's event on each processor calls (PERF_TYPE of
     * events.def). NULL: no event of this program has one. */
    struct bpf_program *(*tick)(void *p);
    /* Returns the cookie of these calls for set @set, which has begun. NULL: the set's number. */
    uint64_t (*cookie)(const void *p, uint32_t set);
    /* Passes on a change by sampler_filter_process(); @before: the sets that wanted @pid. NULL: the
     * map of filters is enough. */
    void (*filter_process)(void *p, int32_t pid, uint32_t before, uint32_t sets);
    /* Stores a change by sampler_filter_all() in its memory. NULL: by the caller. */
    void (*filter_all)(void *p, uint32_t sets);
    /* Returns its memory. NULL: no set has this program. */
    struct sampler_memory (*memory)(const void *p);
};

#define PROGRAM(id, name) extern const struct sampler_program sampler_program_##name;
#include "event/events.def"

/* Returns the functions of @program, which is below PROGRAM_COUNT. */
const struct sampler_program *sampler_program(enum event_program program);
