/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sets of events run, shared by captures: one set per event and distinct period, at most
 * four. A capture that finds all taken rides on the next faster one of its event and keeps a random
 * share of its samples. Periods are in the event's unit. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"

struct rates {
    struct rate_set {
        enum event_kind kind;
        uint64_t period; /* 0: free */
        uint32_t set;    /* the broker's number */
        unsigned users;
    } sets[BROKER_SETS_MAX];
};

/* Arms or shares a set for the event at @period. Return: 0 and the period that the set really has
 * (smaller than requested when the samples must be thinned). -EBUSY: none is free and none is
 * faster. -errno with @err. */
int rates_take(struct rates *r, struct broker *b, enum event_kind kind, uint64_t period,
               uint32_t *ret_set, uint64_t *ret_period, struct error *err);
/* If rates_take() found none: makes the event's slowest set, but none of @but (bits), as fast as
 * @period for all its users. They must thin their samples from then on. Return: 0 and its number
 * before and after; -EBUSY; -errno with @err, and then it stays as it was if it can. */
int rates_speed_up(struct rates *r, struct broker *b, uint32_t but, enum event_kind kind,
                   uint64_t period, uint32_t *ret_before, uint32_t *ret_after, struct error *err);
/* Gives it back; the last user disarms it. */
void rates_release(struct rates *r, struct broker *b, uint32_t set);
/* Whether the kernel drops samples that are taken every @period_ns: as it is set now, which the
 * broker asked for when they began. Thread: any. */
bool rates_dropped(int proc_fd, uint64_t period_ns, uint64_t *ret_allowed_hz);
/* How many sets run. */
size_t rates_used(const struct rates *r);
