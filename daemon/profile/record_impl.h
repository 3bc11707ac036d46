/* SPDX-License-Identifier: Apache-2.0 */
/* State that record.c builds and finish.c reads. Private to profile/. */
#pragma once

#include "base/id_table.h"
#include "profile/contexts.h"
#include "profile/each_string.h"
#include "profile/profile.h"

#define RECORD_NODES_MAX 16000000u
#define RECORD_THREADS_MAX 1000000u
_Static_assert(RECORD_NODES_MAX < 1u << 24 && RECORD_THREADS_MAX < 1u << 24,
               "struct profile_sample has room for their numbers");
#define RECORD_UNWARNED_MAX 4096u /* limit of warnings that are only counted */
#define RECORD_WARNINGS_LAST 6    /* places reserved for warnings of record_finish() */
#define RECORD_DOUBLES_MAX                                                                         \
    ((size_t)64 << 10) /* an array of samples doubles up to this size                         \ */
#define RECORD_STRING_BYTES_MAX ((size_t)256 << 20)

/* Key of a node of the stack tree: the caller's node and the frame. */
struct record_node {
    uint32_t parent, frame;
};

/* Text in a warning of record_finish() with a count of samples. A merged profile drops such
 * warnings of its parts. */
#define RECORD_COUNTED_TEXT "samples are of virtual threads that have waited since they began: "

struct record {
    const struct frame_table *table; /* borrowed */
    struct id_table nodes;           /* struct record_node; 0 is the root */
    struct id_table processes, threads;
    struct profile_sample *samples;
    size_t sample_count, sample_cap, sample_max;
    uint32_t keep_every; /* begins at 1; doubled each time the limit is hit */
    struct record_last { /* by event */
        size_t at;       /* 1 + index of the event's last kept sample; 0: none */
        uint32_t skip;   /* number of samples to fold into it before the next one is kept */
    } last[PROFILE_EVENTS_MAX];
    uint64_t random;              /* random state: which of two folded samples is kept */
    uint64_t thinned;             /* number of samples folded into others */
    uint64_t counted;             /* sum of the counts of samples */
    struct record_budget *budget; /* NULL: none */
    struct record_charged {
        size_t bytes;        /* in all */
        size_t beside_bytes; /* of record_beside() */
        bool starved;        /* the record was thinned for lack of budget */
        size_t taken_bytes;  /* largest taken_bytes of the budget when it was thinned */
    } charged;               /* to the budget */
    uint64_t dropped;        /* samples without memory, or beyond the limits of nodes and
                              * threads */
    struct profile_moment *moments;
    size_t moment_count, moment_cap;
    uint64_t moments_dropped;
    struct contexts *contexts; /* owned; NULL: no sample has a context */
    char *warnings[PROFILE_WARNINGS_MAX];
    size_t warning_count;
    bool finishing;            /* record_finish() adds its warnings */
    uint32_t warned_processes; /* number of places taken by record_warn_process() */
    struct id_table unwarned;  /* hashes of sentences without a place */
    record_later_fn later;     /* NULL: all frames are in the table */
    void *later_cookie;
};

/* Copies @r to @ret with every frame resolved. *ret owns its nodes and samples
 * (record_resolved_deinit()), and borrows the rest. 0 or -ENOMEM. */
int record_resolve(const struct record *r, struct record *ret);
/* Copies the moments of @r to @p, sorted by start, with strings by @fn. 0 or -ENOMEM. */
int record_finish_moments(const struct record *r, struct profile *p, string_fn fn, void *cookie);
void record_resolved_deinit(struct record *resolved);
