/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What JVMs do as a whole, while captures of event safepoint run. Has the probes put in, and pairs
 * what their records say: safepoints, operations of the VM, collections, compilations, classes.
 * Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "capture/probe/probe_table.h"
#include "discover/discover.h"
#include "profile/profile.h"
#include "sample/sample.h"
#include "symbolize/symbolize.h"

#define MOMENTS_AT_ONCE_MAX 4    /* JVMs with probes: each takes the kernel 0.1 to 1 s to end */
#define MOMENTS_JVMS_MAX 64      /* known, also why one has no probes */
#define MOMENTS_NESTED_MAX 4     /* operations in operations */
#define MOMENTS_COMPILERS_MAX 64 /* threads that compile at a time */
#define MOMENTS_DRAIN_MAX 8192   /* records at a time */

/* One that has begun; start_ns 0: none. */
struct begun_moment {
    uint64_t start_ns;
    uint64_t reached_ns; /* of a safepoint: its first operation began */
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
    size_t nested; /* operations that have begun, also those beyond the array */
    struct compiling compilers[MOMENTS_COMPILERS_MAX];
    /* Bits of enum moment_group: groups that came too often, and of them those whose probes were
     * taken out. */
    uint32_t often, taken_out;
};

struct moments {
    struct probe_table table; /* of struct moment_source; first */
    struct ring *ring;        /* NULL: not needed yet */
    uint64_t unpaired;        /* ends without a beginning: what was before the probes, or lost */
};

/* A moment that is over. */
struct moment {
    enum profile_moment_kind kind;
    uint64_t start_ns, end_ns;
    uint64_t reach_ns;                /* of a safepoint; else 0 */
    int32_t host_tid;                 /* of its thread; of moments without names the VM's */
    const char *name;                 /* raw; "": not known; of a compilation the compiler */
    const struct moment_names *names; /* of compilations and classes; else NULL */
};
typedef void (*moment_fn)(void *cookie, struct process *p, const struct moment *m);

/* Returns the groups of moments that @id had too often for captures to have all of them. */
uint32_t moments_often(const struct moments *all, const struct proc_id *id);
void moments_init(struct moments *all);
void moments_deinit(struct moments *all);
/* Returns what is kept of @id; NULL: it is not probed. */
struct moment_source *moments_find(const struct moments *all, const struct proc_id *id);
/* Hands each moment that is over to @fn. */
void moments_drain(struct moments *all, struct discover *d, moment_fn fn, void *cookie);

/* Pairs @rec with what its JVM told before. @pairs: the JVM's. True where a moment is over, which
 * *ret is, with a name in *pairs or @rec, and without names. */
bool moments_pair(struct moment_source *pairs, const struct moment_record *rec, struct moment *ret,
                  uint64_t *unpaired);
