/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sets of events run, shared by captures: one set per event and distinct period, at most
 * eight. A capture that finds all taken rides on the next faster one of its event and keeps a
 * random share of its samples. Periods are in the event's unit. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "event/events.h"

struct sample_sets {
    struct rate_set {
        char event[EVENT_NAME_BYTES];
        bool by_agent;   /* as in struct event_ref */
        uint64_t period; /* as in struct wanted_event */
        uint32_t set;    /* the broker's number */
        unsigned users;  /* 0: the row is free */
        bool begun;      /* the broker has said that it samples */
    } sets[BROKER_SETS_MAX];
};

/* Arms or shares a set for the event at @period. @may_arm: false: shares alone. Return: 0 and the
 * period that the set really has (smaller than requested when the samples must be thinned). -EBUSY:
 * none is free, or must not be armed, and none is faster; @err is set in the first case.
 * -EINPROGRESS: the kernel is still checking the event's program; ask again. -errno. The last two
 * with @err. */
int sample_sets_take(struct sample_sets *r, struct broker *b, const struct event_ref *event,
                     uint64_t period, bool may_arm, uint32_t *ret_set, uint64_t *ret_period,
                     struct error *err);
/* Returns 0 once @set samples. -EINPROGRESS: the kernel is still putting its program in place; ask
 * again. -errno: it never will. The last two with @err. */
int sample_sets_begun(struct sample_sets *r, struct broker *b, uint32_t set, struct error *err);
/* If sample_sets_take() found none: makes the event's slowest set as fast as @period for all its
 * users, but none of @but (bits). They must thin their samples from then on. Return: 0 and its
 * number before and after; -EBUSY; -errno with @err, and then it stays as it was if it can. */
int sample_sets_speed_up(struct sample_sets *r, struct broker *b, uint32_t but,
                         const struct event_ref *event, uint64_t period, uint32_t *ret_before,
                         uint32_t *ret_after, struct error *err);
/* Gives it back; the last user disarms it. */
void sample_sets_release(struct sample_sets *r, struct broker *b, uint32_t set);
/* Returns whether the kernel drops samples that are taken every @period_ns: as it is set now, which
 * the broker asked for when they began. Thread: any. */
bool sample_sets_dropped(int proc_fd, uint64_t period_ns, uint64_t *ret_allowed_hz);
/* Returns how many sets run. */
size_t sample_sets_used(const struct sample_sets *r);
