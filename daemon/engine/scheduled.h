/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the configuration at work. Starts the captures of schedules when they are due and
 * those of triggers on request, and reports the results. Thread: the engine's, unless said
 * otherwise.
 */
#pragma once

#include "capture/captures.h"
#include "schedule/rules.h"

struct scheduled;

/* What it works with; borrowed. */
struct scheduled_env {
    struct captures *captures;
    struct discover *discover;
    struct store *store; /* NULL: none */
    struct store_writer *store_writer;
    const char *node; /* what distinguishes this node; NULL: nothing */
};

/* Without rules. 0 or -ENOMEM. */
int scheduled_new(const struct scheduled_env *env, struct scheduled **ret);
struct scheduled *scheduled_free(struct scheduled *s);
/* Takes @rules (NULL: none) in place of those before. Same name: counters kept. Same period and
 * length: phase kept. Captures under way go on. Return: 0, or -ENOMEM: then nothing has changed and
 * @rules is still the caller's. */
int scheduled_set_rules(struct scheduled *s, struct rules *rules);
/* Has the store take what has become of runs, so that it outlives this process. @s may be NULL. */
void scheduled_save(struct scheduled *s);
/* Starts what is due. */
void scheduled_tick(struct scheduled *s);
/* CLOCK_MONOTONIC of the next run; UINT64_MAX when there is none. */
uint64_t scheduled_next_ns(const struct scheduled *s);
/* Starts the capture of the trigger @name, of all that match, or of the process @host_pid alone if
 * that is not 0. Return: 0; BACKEND_NOT_FOUND; BACKEND_TOO_MANY while it
 * cools down, or its last capture has not begun; else as captures_create() with @ticket. @err is
 * required. The trigger cools down from when its capture begins. */
int scheduled_trigger(struct scheduled *s, const char *name, int32_t host_pid, uint64_t ticket,
                      char ret_id[CAPTURE_ID_BYTES], struct error *err);
/* Returns whether the trigger @name cools down, or its last capture has not begun. */
bool scheduled_trigger_rests(const struct scheduled *s, const char *name);
/* Notes the result @b of a capture of a schedule or trigger that began later, or failed before. */
void scheduled_begun(struct scheduled *s, const struct capture_begun *b);

/* Of one schedule or trigger; borrowed. */
struct scheduled_facts {
    const struct rule *rule;
    const struct store_runs *history;
    uint64_t phase_ns, next_ns; /* schedules; CLOCK_REALTIME */
};
/* Calls @fn for each schedule, or for each trigger, in the order of the configuration. */
void scheduled_each(const struct scheduled *s, bool triggers,
                    void (*fn)(void *cookie, const struct scheduled_facts *f), void *cookie);
