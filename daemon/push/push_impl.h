/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the thread of push/ share. Thread: that thread, except for
 * statuses. */
#pragma once

#include "base/clock.h"
#include "push/push.h"
#include "push/pusher_abi.h"
#include "push/retry.h"
#include "push/series.h"

#include <pthread.h>

#define PUSH_SETTLE_NS (2 * NSEC_PER_SEC) /* time for a minute's last names to arrive */
/* The longest wait for the waits of an interval, which the recorder of a busy machine learns late.
 */
#define PUSH_WAITS_NS (30 * NSEC_PER_SEC)
/* Between two checks whether these waits are known. */
#define PUSH_LOOK_AGAIN_NS NSEC_PER_SEC
/* After a gap, at most this many intervals are sent. */
#define PUSH_BEHIND_MAX 10
#define PUSH_KEPT_NS (60 * NSEC_PER_SEC) /* length of a part of the history; never split */

struct push_state {
    const struct push_target *target;
    struct spool *spool;
    struct retry retry;
    struct series series; /* services that the target gets under their own names */
    uint64_t begin_ns;    /* CLOCK_REALTIME of the next minute to send */
    uint64_t phase_ns;    /* this node's offset within every_ns */
    struct buf words;     /* words of the target that are being sent, or were sent */
    struct buf body;      /* the body that is being sent */
    bool known;           /* flamed-push has the target's words */
    bool sending_words;
    bool under_way;    /* the body is sent, or being sent */
    size_t sent;       /* bytes sent so far of words or body */
    uint32_t id;       /* id of the body in messages to flamed-push */
    uint64_t number;   /* number of the body in the spool */
    uint64_t since_ns; /* CLOCK_MONOTONIC: the time at which it became so */
    struct push_status status;
};

#define PUSH_EVENTS_WAITING_MAX 32 /* until the thread's next round, within a second */
#define PUSH_EVENT_BYTES ((size_t)64 << 10)

/* A message to a webhook. */
struct push_event {
    size_t number; /* number of the target */
    uint64_t time_ns;
    struct buf body; /* owned */
};

struct push {
    struct push_opts o;
    pthread_t thread;
    bool started;         /* the thread has been started */
    pthread_mutex_t lock; /* guards published and events */
    struct push_event events[PUSH_EVENTS_WAITING_MAX];
    size_t event_count;
    uint64_t events_lost[PUSH_TARGETS_MAX]; /* messages dropped for lack of room */
    int stop_fd;                            /* an eventfd */
    bool ready;                             /* flamed-push has started */
    uint64_t spread;                        /* the node's push_spread() */
    uint32_t next_id;
    char problem[PUSH_TEXT_BYTES + 128];
    struct push_state states[PUSH_TARGETS_MAX];
    struct push_status published[PUSH_TARGETS_MAX];
};

/* push_minutes.c: returns a number that differs by node, for the node's offset within an interval
 * and for retry_judge(). @node: name of the node. */
uint64_t push_spread(const char *node);
/* push_minutes.c: returns the begin of the first minute for the open spool of @s, if flamed starts
 * at @now_ns. That is the minute after an earlier flamed's last one, but only PUSH_BEHIND_MAX
 * intervals back. */
uint64_t push_first_minute(struct push_state *s, uint64_t now_ns);
/* push_minutes.c: puts the minutes of @s that are over at @now_ns (CLOCK_REALTIME) into its spool.
 * Returns the time at which the next minute can be taken; UINT64_MAX for a webhook, which gets no
 * minutes. */
uint64_t push_take_minutes(struct push *p, struct push_state *s, uint64_t now_ns);
/* push_webhooks.c: moves waiting messages into the spools of their webhooks. */
void push_take_events(struct push *p);
/* push_words.c: writes the words of a target for flamed-push, with its present secrets. Returns 0
 * or -errno with @err. */
int push_words(const struct push *p, const struct push_target *t, struct buf *out,
               struct error *err);
/* push_wire.c: begins to send a body that is due, and continues one that is being sent. Returns
 * whether it waits for room in the socket. */
bool push_send(struct push *p, struct push_state *s, uint64_t now_ns);
/* Reads answers of flamed-push. Returns false if it has ended for good. */
bool push_receive(struct push *p);
/* Counts a failure and stores the text as the last error of @s. */
void push_fail(struct push_state *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
