/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from other threads into the engine's: asked, where the caller waits, or posted. Nobody
 * waits for an engine that is stalled.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

/* Without a heartbeat for this long the engine is stalled; callers stop waiting. It is less than
 * the 10 s of waiting for the broker, and what a capture's answer waits for past its end. */
#define MAILBOX_STALLED_NS (5 * NSEC_PER_SEC)

/* For this long the engine works on one thing while others wait for their turn: samples, calls,
 * captures that end. */
#define MAILBOX_TURN_NS (50 * NSEC_PER_MSEC)

struct mailbox_call;

struct mailbox {
    int wake_fd;          /* borrowed: an eventfd, written to with each call */
    pthread_mutex_t lock; /* guards calls and stopping */
    pthread_cond_t called;
    struct mailbox_call *calls;
    struct mailbox_call *later; /* those that have run, and are answered later */
    struct mailbox_call *now;   /* that runs; with last_ticket the engine's thread's */
    uint64_t last_ticket;
    bool stopping;
    atomic_uint_least64_t alive_ns; /* CLOCK_MONOTONIC: the thread's last sign of life */
};

/* Prepares it, empty and alive. The owner sets @m->wake_fd. */
void mailbox_init(struct mailbox *m);
/* Ends it, after the last call. */
void mailbox_deinit(struct mailbox *m);

/* Runs @fn on the engine's thread and waits for it. Thread: any but the engine's. Return: its
 * result. BACKEND_UNAVAILABLE with the sentence: the engine ends, or it is stalled and has not
 * begun
 * @fn. */
int mailbox_ask(struct mailbox *m, int (*fn)(void *arg), void *arg, struct error *err);
/* Returns a name for the call that runs. If the call then gives -EINPROGRESS, its caller waits for
 * mailbox_answer(). Thread: the engine's. */
uint64_t mailbox_ticket(struct mailbox *m);
/* Gives the caller with @ticket the result @r, and if it is not 0 @err. A caller that has given up,
 * since the engine was stalled, gets nothing. Returns whether the caller got it. Thread: the
 * engine's. */
bool mailbox_answer(struct mailbox *m, uint64_t ticket, int r, const struct error *err);
/* Has @fn run there with a copy of the @n bytes of @arg, and waits for nothing. Thread: any. Where
 * the engine ends, or without memory, it does not run. */
void mailbox_post(struct mailbox *m, int (*fn)(void *arg), const void *arg, size_t n);
/* Takes no calls from now on; those that came before still run. Thread: any. */
void mailbox_stop(struct mailbox *m);

/* Gives a sign of life: between any two things that take time. Thread: the engine's. */
void mailbox_alive(struct mailbox *m);
/* Returns for how many seconds the engine is stalled; 0: it is not. Thread: any. */
unsigned mailbox_stalled_s(struct mailbox *m);
/* Runs what is queued, or what of it fits into a turn. Returns false when the engine is to stop.
 * Thread: the engine's. */
bool mailbox_run(struct mailbox *m);
/* Returns whether there are calls to run. Thread: the engine's. */
bool mailbox_has_calls(struct mailbox *m);
