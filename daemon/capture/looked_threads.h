/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes over threads have found of each: where it waits, and for how much time that stands.
 * The kernel counts how long a thread has run, and how long it has waited for a processor. The rest
 * of its time it was blocked. Time of either kind is owed until a pass finds the thread so, and
 * then belongs to that place. Pure; thread: the owner's.
 */
#pragma once

#include "base/shares.h"
#include "profile/profile.h"
#include "sample/looks_abi.h"

#define LOOKED_THREADS_MAX 40000
/* So many places owners with most threads leave to others, if there are more threads than places.
 */
#define LOOKED_THREADS_FREE (LOOKED_THREADS_MAX / 16)
#define LOOKED_A_PASS_MAX 20000 /* of more threads, each pass looks at a part */
/* More than this is not owed: of a thread that never waits, the hypervisor's time would add up. */
#define LOOKED_OWED_MAX_NS (10 * NSEC_PER_SEC)
#define LOOKED_PUT_NS (60 * NSEC_PER_SEC) /* after this long a place's time is put, and goes on */

enum looked_state { LOOKED_BLOCKED, LOOKED_RUNNABLE, LOOKED_STATES };

struct looked_thread {
    uint32_t host_tid, host_pid;
    uint64_t owner;             /* proc_owner() */
    uint64_t looked_ns;         /* CLOCK_MONOTONIC: when a pass met it last */
    uint64_t ran_ns, queued_ns; /* as of then */
    int64_t owed_ns[LOOKED_STATES];
    uint32_t pass;                    /* that wrote its place; 0: none */
    bool placed;                      /* what follows is known of that place */
    uint8_t mode;                     /* as in struct profile_sample */
    uint16_t flags;                   /* the same, without the state */
    uint64_t place_ns[LOOKED_STATES]; /* its time there that was not put yet */
    uint64_t put_ns;                  /* CLOCK_MONOTONIC, when some was put last */
    uint32_t stack, name;             /* the owner's */
    uint32_t lock_stack;              /* the same, of the lock that it waits for; 0: none */
    uint16_t lock_flags;              /* as flags */
    struct profile_process process;   /* the same */
    struct profile_context request;   /* the same, which it waits in */
};

struct looked_threads {
    struct looked_thread *threads, *next; /* owned, by host_tid; next: of the pass under way */
    size_t count, cap, next_count, next_cap, at;
    bool passing, forgotten;    /* forgotten: of the last thread it is not known where it stays */
    uint64_t now_ns, before_ns; /* of the pass, and of the one before; 0: none */
    uint32_t no;                /* of the pass, from 1 on */
    uint32_t parts, part;
    double weight;
    struct shares wanted; /* threads of the pass, by owner, also those left out */
    uint64_t level;       /* no owner has more of them; as shares_level() of the pass before */
    /* Takes @ns that @t spent at its place, up to t->looked_ns. */
    void (*put)(void *cookie, const struct looked_thread *t, enum looked_state state, uint64_t ns);
    void *cookie;
    uint64_t left_out; /* looks at threads for which there was no room */
    uint64_t lost_ns;  /* time at places that were never known, or that was owed for too long */
};

/* Frees what it holds. */
void looked_threads_deinit(struct looked_threads *l);
/* Begins pass l->no + 1 at @now_ns over part @part of @parts. @weight: how many threads that have
 * run one stands for whose place is written (1 / the share of them). */
void looked_threads_begin(struct looked_threads *l, uint64_t now_ns, double weight, uint32_t parts,
                          uint32_t part);
/* Takes what the pass found of a thread of @owner's; they come by host_tid. Where there is no room
 * for all, owners with more than their part keep those with the lowest numbers. Returns the time in
 * ns that its new place stands for, if LOOKS_PLACE was found; else 0. */
uint64_t looked_threads_take(struct looked_threads *l, const struct looks_entry *e, uint64_t owner);
/* Ends the pass. Threads of its part that it has not met have ended. */
void looked_threads_end(struct looked_threads *l);
/* Returns thread @host_tid, until the next call of another function; NULL: it is not known. */
struct looked_thread *looked_threads_find(struct looked_threads *l, uint32_t host_tid);
/* Puts the time of all places so far. */
void looked_threads_put(struct looked_threads *l);
/* Puts it, and forgets the places. */
void looked_threads_forget(struct looked_threads *l);
