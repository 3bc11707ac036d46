/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from other threads to the engine's thread. A caller waits for its call, or posts it. No
 * caller waits for a stalled engine.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

/* The engine is stalled after this long without a heartbeat; callers then stop waiting. It is less
 * than the 10 s timeout of the broker. */
#define MAILBOX_STALLED_NS (5 * NSEC_PER_SEC)

/* The longest turn: how long the engine does one kind of work while other kinds wait (samples,
 * calls, captures that end). */
#define MAILBOX_TURN_NS (50 * NSEC_PER_MSEC)

struct mailbox_call;

struct mailbox {
    int wake_fd;          /* borrowed: an eventfd, written for each call */
    pthread_mutex_t lock; /* guards calls and stopping */
    pthread_cond_t called;
    struct mailbox_call *calls;
    struct mailbox_call *later; /* calls that have run and wait for mailbox_answer() */
    struct mailbox_call *now;   /* the running call; like last_ticket, used by the engine's thread
                                 * alone */
    uint64_t last_ticket;
    bool stopping;
    atomic_uint_least64_t alive_ns; /* CLOCK_MONOTONIC: the last heartbeat */
};

/* Initializes @m, empty, with a heartbeat now. The owner sets @m->wake_fd. */
void mailbox_init(struct mailbox *m);
/* Frees what @m holds, after the last call. */
void mailbox_deinit(struct mailbox *m);

/* Runs @fn on the engine's thread and waits for it. Return: its result; BACKEND_UNAVAILABLE with
 * @err: the engine ends, or it is stalled and has not begun @fn. Thread: any but the engine's. */
int mailbox_ask(struct mailbox *m, int (*fn)(void *arg), void *arg, struct error *err);
/* Returns a ticket for the running call. If the call then returns -EINPROGRESS, its caller waits
 * for mailbox_answer(). Thread: the engine's. */
uint64_t mailbox_ticket(struct mailbox *m);
/* Ends the wait of the caller with @ticket with result @r and, if @r is not 0, @err. Returns false
 * if that caller has given up because the engine was stalled. Thread: the engine's. */
bool mailbox_answer(struct mailbox *m, uint64_t ticket, int r, const struct error *err);
/* Runs @fn on the engine's thread with a copy of the @n bytes of @arg; returns at once. If the
 * engine ends, or without memory, @fn does not run. Thread: any. */
void mailbox_post(struct mailbox *m, int (*fn)(void *arg), const void *arg, size_t n);
/* Refuses calls from now on; queued calls still run. Thread: any. */
void mailbox_stop(struct mailbox *m);

/* Records a heartbeat; to be called between any two steps that take time. Thread: the engine's. */
void mailbox_alive(struct mailbox *m);
/* Returns the seconds that the engine is stalled; 0: it is not. Thread: any. */
unsigned mailbox_stalled_s(struct mailbox *m);
/* Runs queued calls for one turn, or all of them if the mailbox is stopped. Returns false if it is
 * stopped. Thread: the engine's. */
bool mailbox_run(struct mailbox *m);
/* Returns whether calls are queued. Thread: the engine's. */
bool mailbox_has_calls(struct mailbox *m);
