/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running sets of events, shared by captures: one set per event and distinct period, at most
 * eight. If all are taken, a capture shares the next faster set of its event and keeps a random
 * share of its samples. Periods are in the event's unit. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "event/events.h"

#define NO_SET UINT32_MAX /* in place of the broker's number of a set */

struct sample_sets {
    struct rate_set {
        char event[EVENT_NAME_BYTES];
        enum event_way way; /* as in struct event_ref */
        uint64_t period;    /* as in struct wanted_event */
        uint32_t set;       /* the broker's number */
        unsigned users;     /* 0: the row is free */
        bool begun;         /* the broker has confirmed that it samples */
    } sets[BROKER_SETS_MAX];
};

/* Arms or shares a set for the event at @period; without @may_arm only shares. Return: 0 and the
 * set's period (smaller than requested: samples must be thinned). -EBUSY: there is no faster set,
 * and no set is free (with @err) or may be armed. -EINPROGRESS with @err: the kernel is still
 * checking the event's program; call again. -errno with @err. */
int sample_sets_take(struct sample_sets *r, struct broker *b, const struct event_ref *event,
                     uint64_t period, bool may_arm, uint32_t *ret_set, uint64_t *ret_period,
                     struct error *err);
/* Returns 0 once @set samples. -EINPROGRESS with @err: the kernel is still installing its program;
 * call again. -errno with @err: it never will. */
int sample_sets_begun(struct sample_sets *r, struct broker *b, uint32_t set, struct error *err);
/* Speeds up the event's slowest set to @period for all its users, after sample_sets_take() found no
 * set. @but: bits of sets that must stay. The users must thin their samples from then on. Return: 0
 * and the set's number before and after; -EBUSY; -errno with @err. After -errno the set has its old
 * period, or has ended. If it has ended, its number after is NO_SET: its users must take a set
 * again. */
int sample_sets_speed_up(struct sample_sets *r, struct broker *b, uint32_t but,
                         const struct event_ref *event, uint64_t period, uint32_t *ret_before,
                         uint32_t *ret_after, struct error *err);
/* Releases @set; the last user disarms it. */
void sample_sets_release(struct sample_sets *r, struct broker *b, uint32_t set);
/* Returns whether the kernel's current setting makes it drop samples that are taken every
 * @period_ns. Thread: any. */
bool sample_sets_dropped(int proc_fd, uint64_t period_ns, uint64_t *ret_allowed_hz);
/* Returns how many sets run. */
size_t sample_sets_used(const struct sample_sets *r);
