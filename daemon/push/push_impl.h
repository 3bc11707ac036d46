/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the thread of push/ share. Thread: that thread, but for statuses. */
#pragma once

#include "base/clock.h"
#include "push/push.h"
#include "push/pusher_abi.h"
#include "push/retry.h"

#include <pthread.h>

#define PUSH_SETTLE_NS (2 * NSEC_PER_SEC) /* until a minute's last names are known */
#define PUSH_BEHIND_MAX 10                /* times @every that are made up for */
#define PUSH_KEPT_NS (60 * NSEC_PER_SEC)  /* a part of the history, which is never split */

struct push_state {
    const struct push_target *target;
    struct spool *spool;
    struct retry retry;
    uint64_t begin_ns; /* CLOCK_REALTIME: of the minute that is next */
    uint64_t phase_ns; /* this node's, within every_ns */
    struct buf words;  /* of the target, being sent or sent */
    struct buf body;   /* being sent */
    bool known;        /* flamed-push has the words */
    bool sending_words;
    bool under_way;    /* the body is sent, or being sent */
    size_t sent;       /* bytes of what is being sent */
    uint32_t id;       /* of the body */
    uint64_t number;   /* of it, in the spool */
    uint64_t since_ns; /* CLOCK_MONOTONIC: it is under way */
    uint64_t body_samples;
    struct push_status status;
};

#define PUSH_EVENTS_WAITING_MAX 32 /* until the thread is back, which is a second at most */
#define PUSH_EVENT_BYTES ((size_t)64 << 10)

/* What a webhook is to get. */
struct push_event {
    size_t number; /* of the target */
    uint64_t time_ns;
    struct buf body; /* owned */
};

struct push {
    struct push_opts o;
    pthread_t thread;
    bool started;         /* the thread */
    pthread_mutex_t lock; /* of published and events */
    struct push_event events[PUSH_EVENTS_WAITING_MAX];
    size_t event_count;
    uint64_t events_lost[PUSH_TARGETS_MAX]; /* there was no room */
    int stop_fd;                            /* an eventfd */
    bool ready;                             /* flamed-push has begun */
    uint64_t spread;                        /* of this node */
    uint32_t next_id;
    char problem[PUSH_TEXT_BYTES + 128];
    struct push_state states[PUSH_TARGETS_MAX];
    struct push_status published[PUSH_TARGETS_MAX];
};

/* push_minutes.c: returns where the first minute begins that is taken into the open spool of @s, by
 * a flamed that starts at @now_ns. That is where an earlier flamed left off, as far as the history
 * may reach. */
uint64_t push_first_minute(struct push_state *s, uint64_t now_ns);
/* push_minutes.c: takes the minutes of @s that are over at @now_ns (CLOCK_REALTIME) into its spool.
 * Returns when the next one is over; UINT64_MAX of a webhook, which gets no minutes. */
uint64_t push_take_minutes(struct push *p, struct push_state *s, uint64_t now_ns);
/* push_webhooks.c: takes what waits for webhooks into their spools. */
void push_take_events(struct push *p);
/* push_words.c: writes the words of a target for flamed-push, with its secrets as they are now. 0
 * or -errno with
 * @err. */
int push_words(const struct push *p, const struct push_target *t, struct buf *out,
               struct error *err);
/* push_wire.c: begins to send where there is something and its time has come, and goes on with what
 * is under way. Returns whether the socket's room is waited for. */
bool push_send(struct push *p, struct push_state *s, uint64_t now_ns);
/* Reads what flamed-push says. False: it has ended for good. */
bool push_receive(struct push *p);
/* Counts @text as the last error of @s. */
void push_fail(struct push_state *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
