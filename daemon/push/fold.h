/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A minute folded by service: adds up samples of equal stacks over all threads and processes of a
 * service. Stacks beyond the budget of a service and event become one stack, [other]. Services
 * without a place (series.h) become one service. So the sums stay the same. Immutable; thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/profile.h"
#include "push/series.h"

#define FOLD_OTHER UINT32_MAX

struct fold_row {
    uint32_t group; /* a service with its version, environment and namespaces */
    uint32_t event; /* index in the profile's events */
    uint32_t stack; /* index in the profile's stacks; FOLD_OTHER: [other] */
    uint32_t flags; /* PROFILE_SAMPLE_UNKNOWN, PROFILE_SAMPLE_TRUNCATED */
    uint64_t samples, value;
};

struct fold {
    struct profile *p;     /* counted reference */
    struct fold_row *rows; /* by group, then event, then value, the largest first */
    size_t count;
    struct profile_process *groups; /* [group_count]: the attributes that a group's JVMs share;
                                     * strings of p */
    char **attributes;              /* [group_count]: the attributes of each group; owned */
    size_t group_count;
    uint32_t other_services; /* the group [other services]; FOLD_OTHER: none */
    uint64_t other_samples;  /* samples in [other], and in [other services] */
};

/* Folds the samples of JVMs in @p, at most @budget stacks for each service and event. @series gives
 * the services their places, at @now_ns (CLOCK_REALTIME). Returns 0 or -ENOMEM. */
int fold_new(struct profile *p, size_t budget, struct series *series, uint64_t now_ns,
             struct fold **ret);
struct fold *fold_free(struct fold *f);
CLEANUP_FUNCTION(fold_freep, fold, fold_free)
/* Returns the name of the service of @group, followed by a NUL; lives as long as @f. */
struct span fold_service(const struct fold *f, uint32_t group);
/* Makes a profile of the rows [from, to), with a process for each group, without a pid. If @event
 * is below PROFILE_EVENTS_MAX, the profile has that event alone, and all rows must be of it.
 * Returns 0 or -ENOMEM. */
int fold_profile(const struct fold *f, size_t from, size_t to, uint32_t event,
                 struct profile **ret);
