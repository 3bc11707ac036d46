/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What JVMs count about themselves, while captures run that want them, or the flight recorder has
 * samples of them. That is when each collection was and why. It is how many collections,
 * safepoints, compilations and classes there were, too, and how long safepoints took. Their memory
 * is read for it, and nothing is changed. Thread: the engine's.
 */
#pragma once

#include "base/id_table.h"
#include "base/places.h"
#include "capture/pauses.h"
#include "proc/proc.h"
#include "profile/profile.h"

#define COUNTED_JVMS_MAX 64

/* A JVM at a look. */
struct counted_look {
    uint64_t at_ns; /* CLOCK_MONOTONIC; 0: there was none */
    int jdk;        /* the JVM's release */
    struct counters c;
};

struct counted_jvm {
    struct proc_id id;
    uint64_t owner;           /* proc_owner() */
    bool wanted, recorded;    /* by a capture; by the recorder; at the last listing */
    uint64_t next_ns;         /* when it is looked at again */
    struct counted_look last; /* look */
    struct counted_look told; /* the look up to which counts were handed out */
    struct pauses pauses;     /* since the first look */
};

struct counted {
    struct counted_jvm *all; /* [COUNTED_JVMS_MAX]; NULL: none yet */
    size_t count, next;
    struct places places;    /* of `all` */
    bool adding;             /* claims make entries, and */
    struct id_table claimed; /* these were claimed: struct proc_id */
    size_t left_out;         /* JVMs that had no entry when the last listing ended */
    uint64_t listed_ns, looked_ns;
};

typedef void (*counted_fn)(void *cookie, const struct profile_moment *m, const char *name);

/* Hands the collections that ended between two looks at a JVM to @fn, as moments of kind gc: of
 * each collector the last one. @started_ns: when the JVM began, of CLOCK_MONOTONIC, by the clocks
 * of now. If a clock was set since, a collection is moved into the time between the looks. */
void counted_collections(const struct counted_look *before, const struct counted_look *now,
                         uint64_t started_ns, counted_fn fn, void *cookie);
/* Begins a listing of those that are wanted. Each is claimed now, and once more after
 * counted_list_add(). */
void counted_list_begin(struct counted *all);
/* Drops entries without a claim. Only from now on others are added, so that each of those before
 * keeps its place, unless its owner has most. @all->all is there. */
void counted_list_add(struct counted *all);
/* Ends it: counts who was claimed since counted_list_add(), and has no entry. */
void counted_list_end(struct counted *all);
/* Claims the entry of @id, of @owner's, for a capture or the recorder. NULL: it has none, or there
 * is no room. */
struct counted_jvm *counted_claim(struct counted *all, const struct proc_id *id, uint64_t owner,
                                  bool recorded);
/* Returns what is kept of @id; NULL: it is not looked at. */
const struct counted_jvm *counted_of(const struct counted *all, const struct proc_id *id);
/* Frees what it holds. */
void counted_deinit(struct counted *all);
/* Hands what the JVM counted between two looks to @fn. What did not happen is left out. */
void counted_counts(const struct counted_look *before, const struct counted_look *now,
                    counted_fn fn, void *cookie);
