/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BPF program that makes samples, as a table of functions, defined by what loads it. The rows
 * PROGRAM of event/events.def list them all. Its maps are the sampler's (stack.bpf.h), and its sets
 * have the sampler's numbers, below SAMPLER_SETS_MAX. Runs inside flamed-broker only; thread: the
 * broker's main one, unless a function says other.
 */
#pragma once

#include "event/event_kind.h"
#include "sample/sampler.h"
#include "sample/sampler_events.h"
#include "sample/sampler_shared.h"

struct bpf_program;

struct sampler_program {
    /* Checks whether this kernel can load it, in some ms. 0, or -errno with @err. NULL: nothing to
     * check. */
    int (*check)(struct error *err);
    /* Loads, which takes about a second; borrows @shared. 0 and *ret, which is @p of the others, or
     * -errno with @err. NULL: it is there from the start. Thread: any. */
    int (*load)(const struct sampler_shared *shared, void **ret, struct error *err);
    /* Ends all that it does. Thread: any. */
    void (*free)(void *p);
    /* Begins to sample set @set, or to put hooks for that. 0, or -errno with @err: then stop()
     * comes next. NULL: no event is of this program. */
    int (*start)(void *p, uint32_t set, const struct sampler_event *event, uint64_t period,
                 struct error *err);
    /* Returns 0 if it is sampled. -EINPROGRESS while hooks are being put. -errno: they could not
     * be. Each but the first with @err. NULL: start() was all. */
    int (*begun)(void *p, uint32_t set, struct error *err);
    /* Ends that. NULL: it ends with the kernel's events. */
    void (*stop)(void *p, uint32_t set);
    /* Returns what the kernel's event on each processor calls (PERF_TYPE of events.def), with the
     * number of the set as its cookie. NULL: no event of this program has one. */
    struct bpf_program *(*tick)(void *p);
    /* Tells what sampler_filter_process() changed; @before: the sets that wanted @pid. NULL: the
     * map of filters says it all. */
    void (*filter_process)(void *p, int32_t pid, uint32_t before, uint32_t sets);
    /* As sampler_filter_all(). NULL: no set is of this program; so with the next two. */
    void (*filter_all)(void *p, uint32_t sets);
    /* Forgets what pcs mean. */
    void (*forget)(void *p);
    /* Adds to @sum what it counted since it was loaded. */
    void (*stats)(const void *p, struct sampler_stats *sum);
};

#define PROGRAM(id, name) extern const struct sampler_program sampler_program_##name;
#include "event/events.def"

/* Returns the functions of @program, below PROGRAM_COUNT. */
const struct sampler_program *sampler_program(enum event_program program);
