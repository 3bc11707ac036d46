/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads as passes over them found them: where each waits, and for how much time that place
 * stands. The kernel counts how long a thread has run and waited for a processor. The thread was
 * blocked for the rest of the time. Time in a state is owed until a pass finds the thread in that
 * state; it is then counted at the place found. Pure; thread: the owner's.
 */
#pragma once

#include "base/shares.h"
#include "profile/profile.h"
#include "sample/looks_abi.h"

#define LOOKED_THREADS_MAX 40000
/* Places that owners with the most threads leave to others, if there are more threads than
 * places. */
#define LOOKED_THREADS_FREE (LOOKED_THREADS_MAX / 16)
#define LOOKED_A_PASS_MAX 20000 /* threads; if there are more, each pass visits a part of them */
/* Limit of owed time. Without it, time stolen by the hypervisor would add up for a thread that
 * never waits. */
#define LOOKED_OWED_MAX_NS (10 * NSEC_PER_SEC)
#define LOOKED_PUT_NS (60 * NSEC_PER_SEC) /* between puts of a thread that stays at its place */
/* A written place without a stack is dropped after this time, which is longer than samples are
 * held. */
#define LOOKED_NAMED_NS (16 * NSEC_PER_SEC)
#define LOOKED_LEFT_NS (30 * NSEC_PER_SEC) /* a place that was left longer ago is not used */

enum looked_state { LOOKED_BLOCKED, LOOKED_RUNNABLE, LOOKED_STATES };

struct looked_thread {
    uint32_t host_tid, host_pid;
    uint64_t owner;             /* proc_owner() */
    uint64_t looked_ns;         /* CLOCK_MONOTONIC of the last pass that found it */
    uint64_t ran_ns, queued_ns; /* counters at looked_ns */
    int64_t owed_ns[LOOKED_STATES];
    uint32_t pass;                    /* number of the pass that wrote its place; 0: none */
    bool placed;                      /* the members below describe its place */
    bool no_java;                     /* set by the owner: no method is on the stack of its place */
    bool runs;                        /* the last pass found it on a processor, or in a run queue */
    uint8_t mode;                     /* as in struct profile_sample */
    uint16_t flags;                   /* as in struct profile_sample, without the state */
    uint64_t place_ns[LOOKED_STATES]; /* time at its place that was not put yet */
    uint64_t put_ns;                  /* CLOCK_MONOTONIC of the last put */
    uint32_t stack, name;             /* set by the owner */
    uint32_t lock_stack;              /* set by the owner: stack of its lock; 0: none */
    uint16_t lock_flags;              /* as flags, of the lock's stack */
    uint64_t left_ns;   /* CLOCK_MONOTONIC, last seen at the place that it left, still in @stack; 0:
                           none */
    uint32_t left_lock; /* lock_stack of that place */
    struct profile_process process; /* set by the owner */
    struct profile_context request; /* set by the owner: the request that it waits in */
};

struct looked_threads {
    struct looked_thread *threads, *next; /* owned, by host_tid; next: those of this pass */
    size_t count, cap, next_count, next_cap, at;
    uint32_t *pids; /* owned: result of looked_threads_pids() for pids_count threads */
    size_t pids_count, pids_cap;
    bool passing, forgotten;    /* forgotten: the place of the last thread taken is unknown */
    uint64_t now_ns, before_ns; /* time of the pass; of the pass before; 0: none */
    uint32_t no;                /* number of the pass, from 1 */
    uint32_t parts, part;
    double weight;
    struct shares wanted; /* threads of the pass by owner, including those left out */
    uint64_t level;       /* most threads of one owner: shares_level() of the pass before */
    /* Takes @ns that @t spent at its place, up to t->looked_ns. */
    void (*put)(void *cookie, const struct looked_thread *t, enum looked_state state, uint64_t ns);
    void *cookie;
    uint64_t left_out; /* visits of threads for which there was no room */
    uint64_t lost_ns;  /* time at unknown places, or owed for too long */
};

/* Frees what @l holds. */
void looked_threads_deinit(struct looked_threads *l);
/* Begins pass l->no + 1 at @now_ns over part @part of @parts. @weight: of the threads that have
 * run, the number for which one with a written place stands (1 / share). */
void looked_threads_begin(struct looked_threads *l, uint64_t now_ns, double weight, uint32_t parts,
                          uint32_t part);
/* Takes the pass's entry of a thread of @owner; entries come in order of host_tid. If there is no
 * room for all, owners with more than their share keep the threads with the lowest numbers. Returns
 * the time in ns that the thread's new place (LOOKS_PLACE) stands for, else 0. */
uint64_t looked_threads_take(struct looked_threads *l, const struct looks_entry *e, uint64_t owner);
/* Ends the pass. Drops threads of its part that the pass did not find: they have ended. */
void looked_threads_end(struct looked_threads *l);
/* Returns thread @host_tid; NULL: not known. Valid until the next call of another function. */
struct looked_thread *looked_threads_find(struct looked_threads *l, uint32_t host_tid);
/* Returns the JVM (host_pid) of each thread, in order: the threads of one JVM are found in little
 * memory. Valid until the next pass. NULL: out of memory. */
const uint32_t *looked_threads_pids(struct looked_threads *l);
/* Returns whether @t does not run, and has a place or has left one in the last LOOKED_LEFT_NS. In
 * the second case the passes had no time for its stack, and it most likely waits at that place
 * again. */
bool looked_thread_waits(const struct looked_threads *l, const struct looked_thread *t);
/* Returns the time up to which no wait is missing, once looked_threads_put() has run: later passes
 * add only later waits. Allows LOOKED_NAMED_NS for the names of a stack. 0: there was no pass. */
uint64_t looked_threads_known_ns(const struct looked_threads *l);
/* Puts the time of all places so far. */
void looked_threads_put(struct looked_threads *l);
/* Puts the time of all places, and drops the places. */
void looked_threads_forget(struct looked_threads *l);
