/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of JVMs that captures want or the flight recorder samples: each collection with its time
 * and cause. Also the numbers of collections, safepoints, compilations and classes, and the time of
 * safepoints. Reads the JVM's memory and changes nothing. Thread: the engine's.
 */
#pragma once

#include "base/id_table.h"
#include "base/places.h"
#include "capture/pauses.h"
#include "proc/proc.h"
#include "profile/profile.h"

#define COUNTED_JVMS_MAX 64

/* The counters of a JVM at one look. */
struct counted_look {
    uint64_t at_ns; /* CLOCK_MONOTONIC; 0: no look yet */
    int jdk;        /* the JVM's release */
    struct counters c;
};

struct counted_jvm {
    struct proc_id id;
    uint64_t owner;           /* proc_owner() */
    bool wanted, recorded;    /* at the last listing: by a capture; by the recorder */
    uint64_t next_ns;         /* CLOCK_MONOTONIC of the next look */
    uint64_t rest_ns;         /* between looks for the recorder alone; 0: no two looks yet */
    struct counted_look last; /* the last look */
    struct counted_look told; /* the look up to which counts were delivered */
    struct pauses pauses;     /* safepoints since the first look */
};

struct counted {
    struct counted_jvm *all; /* [COUNTED_JVMS_MAX]; NULL: not allocated yet */
    size_t count, next;
    struct places places;    /* places of the entries of `all` */
    bool adding;             /* claims may add entries */
    struct id_table claimed; /* struct proc_id: JVMs claimed while claims may add entries */
    size_t left_out;         /* JVMs without an entry at the end of the last listing */
    uint64_t listed_ns, looked_ns;
};

typedef void (*counted_fn)(void *cookie, const struct profile_moment *m, const char *name);

/* Calls @fn with the last collection of each collector that ended between two looks, as moments of
 * kind gc. @started_ns: the JVM's start on CLOCK_MONOTONIC, computed with the clocks as they are
 * now. If a clock was set since that start, a collection outside the two looks is moved between
 * them. */
void counted_collections(const struct counted_look *before, const struct counted_look *now,
                         uint64_t started_ns, counted_fn fn, void *cookie);
/* Returns how long to rest after the look @now, which came @rest_ns after @before. The rest becomes
 * longer if there was no safepoint. It becomes shorter if there were several, as their single
 * durations are then unknown. */
uint64_t counted_rest_ns(uint64_t rest_ns, const struct counters *before,
                         const struct counters *now);
/* Begins a listing of the wanted JVMs. The caller claims each of them twice: between this call and
 * counted_list_add(), and after that. */
void counted_list_begin(struct counted *all);
/* Drops entries without a claim, and makes claims add entries. So known JVMs keep their places,
 * unless their owner has the most. Requires @all->all. */
void counted_list_add(struct counted *all);
/* Ends the listing: counts JVMs claimed since counted_list_add() that have no entry. */
void counted_list_end(struct counted *all);
/* Claims the entry of @id, a JVM of @owner, for a capture or (@recorded) for the recorder. NULL:
 * there is no entry, or no room. */
struct counted_jvm *counted_claim(struct counted *all, const struct proc_id *id, uint64_t owner,
                                  bool recorded);
/* Returns the entry of @id; NULL: none. */
const struct counted_jvm *counted_of(const struct counted *all, const struct proc_id *id);
/* Frees what @all holds. */
void counted_deinit(struct counted *all);
/* Calls @fn with each of the JVM's counts that changed between two looks. */
void counted_counts(const struct counted_look *before, const struct counted_look *now,
                    counted_fn fn, void *cookie);
