/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of JVMs, while captures of event safepoint run: safepoints, operations of the VM,
 * collections, compilations, classes. Puts the probes, and pairs the records of begins and ends.
 * Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "capture/probe/probe_table.h"
#include "discover/discover.h"
#include "profile/profile.h"
#include "sample/sample.h"
#include "symbolize/symbolize.h"

#define MOMENTS_AT_ONCE_MAX 4    /* JVMs with probes: the kernel takes 0.1 to 1 s to remove each */
#define MOMENTS_JVMS_MAX 64      /* entries, also of JVMs without probes, with the reason */
#define MOMENTS_NESTED_MAX 4     /* levels of operations within operations */
#define MOMENTS_COMPILERS_MAX 64 /* threads that compile at the same time */
#define MOMENTS_DRAIN_MAX 8192   /* records per drain */

/* A moment that has begun; start_ns 0: none. */
struct begun_moment {
    uint64_t start_ns;
    uint64_t reached_ns; /* for a safepoint: begin of its first operation */
    char name[MOMENT_NAME_BYTES];
};

/* A thread that compiles; start_ns 0: none. */
struct compiling {
    uint64_t start_ns;
    uint32_t host_tid;
};

/* A JVM that is probed for its moments. */
struct moment_source {
    struct probe_entry entry; /* first */
    struct begun_moment safepoint, gc, operations[MOMENTS_NESTED_MAX];
    size_t nested; /* number of operations under way, also of those that the array lacks */
    struct compiling compilers[MOMENTS_COMPILERS_MAX];
    /* Bits of enum moment_group. often: groups that came too often; taken_out: groups among these
     * that lost their probes. */
    uint32_t often, taken_out;
};

struct moments {
    struct probe_table table; /* first; has entries of struct moment_source */
    struct ring *ring;        /* NULL: not needed yet */
    uint64_t unpaired;        /* ends without a begin: it was before the probes, or lost */
};

/* A moment that has ended. */
struct moment {
    enum profile_moment_kind kind;
    uint64_t start_ns, end_ns;
    uint64_t reach_ns;                /* time to reach a safepoint; else 0 */
    int32_t host_tid;                 /* thread of the moment; without names, the VM's thread */
    const char *name;                 /* raw; "": not known; for a compilation: the compiler */
    const struct moment_names *names; /* names of a compilation or a class; else NULL */
};
typedef void (*moment_fn)(void *cookie, struct process *p, const struct moment *m);

/* Returns the groups of moments of @id that captures lack in part, since they came too often. */
uint32_t moments_often(const struct moments *all, const struct proc_id *id);
void moments_init(struct moments *all);
void moments_deinit(struct moments *all);
/* Calls @fn with each moment that has ended. */
void moments_drain(struct moments *all, struct discover *d, moment_fn fn, void *cookie);

/* Pairs @rec with earlier records of its JVM, which @pairs holds. Returns true if a moment has
 * ended: *ret, without names; its name points into *pairs or @rec. */
bool moments_pair(struct moment_source *pairs, const struct moment_record *rec, struct moment *ret,
                  uint64_t *unpaired);
