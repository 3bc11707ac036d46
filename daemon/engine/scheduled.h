/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the rules of the configuration: starts captures of schedules when they are due and captures
 * of triggers on request, and reports the results. Thread: the engine's, unless said otherwise.
 */
#pragma once

#include "capture/captures.h"
#include "schedule/rules.h"

struct scheduled;

/* What the rules run with; borrowed. */
struct scheduled_env {
    struct captures *captures;
    struct discover *discover;
    struct store *store; /* NULL: none */
    struct store_writer *store_writer;
    const char *node; /* identifies this node in the phase of schedules; NULL: nothing */
};

/* Creates *ret without rules. Returns 0 or -ENOMEM. */
int scheduled_new(const struct scheduled_env *env, struct scheduled **ret);
struct scheduled *scheduled_free(struct scheduled *s);
/* Replaces the rules by @rules (NULL: none). A rule of the same name keeps its counters. With the
 * same period and length it also keeps its phase. Captures under way continue. Return: 0, or
 * -ENOMEM: then nothing has changed and @rules is still the caller's. */
int scheduled_set_rules(struct scheduled *s, struct rules *rules);
/* Stores the changed histories of runs, so that they outlive this process. @s may be NULL. */
void scheduled_save(struct scheduled *s);
/* Starts the schedules that are due. */
void scheduled_tick(struct scheduled *s);
/* Returns CLOCK_MONOTONIC of the next run; UINT64_MAX: there is none. */
uint64_t scheduled_next_ns(const struct scheduled *s);
/* Starts the capture of the trigger @name, of all processes that match, or of @host_pid alone if
 * that is not 0. The cooldown begins with the capture. Return: 0; BACKEND_NOT_FOUND;
 * BACKEND_TOO_MANY during the cooldown, or while its last capture has not begun; else as
 * captures_create() with @ticket. @err is required. */
int scheduled_trigger(struct scheduled *s, const char *name, int32_t host_pid, uint64_t ticket,
                      char ret_id[CAPTURE_ID_BYTES], struct error *err);
/* Returns whether the trigger @name is in its cooldown, or its last capture has not begun. */
bool scheduled_trigger_rests(const struct scheduled *s, const char *name);
/* Stores the result @b of a rule's capture that began after a wait, or failed before it began. */
void scheduled_begun(struct scheduled *s, const struct capture_begun *b);

/* Facts of one schedule or trigger; borrowed. */
struct scheduled_facts {
    const struct rule *rule;
    const struct store_runs *history;
    uint64_t phase_ns, next_ns; /* schedules only; CLOCK_REALTIME */
};
/* Calls @fn for each schedule, or for each trigger, in the order of the configuration. */
void scheduled_each(const struct scheduled *s, bool triggers,
                    void (*fn)(void *cookie, const struct scheduled_facts *f), void *cookie);
