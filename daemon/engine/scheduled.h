/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the configuration at work. Starts the captures of schedules when they are due and
 * those of triggers on request, and reports the results. Thread: the engine's, unless said
 * otherwise.
 */
#pragma once

#include "engine/engine_impl.h"
#include "schedule/rules.h"

struct scheduled;

/* Without rules. 0 or -ENOMEM. */
int scheduled_new(struct scheduled **ret);
struct scheduled *scheduled_free(struct scheduled *s);
/* Takes @rules (NULL: none) in place of those before. Same name: counters kept. Same period and
 * length: phase kept. Captures under way go on. Return: 0, or -ENOMEM: then nothing has changed and
 * @rules is still the caller's. */
int scheduled_set_rules(struct engine *e, struct rules *rules);
/* Has the store take what has become of runs, so that it outlives this process. */
void scheduled_save(struct engine *e);
/* Starts what is due. */
void scheduled_tick(struct engine *e);
/* CLOCK_MONOTONIC of the next run; UINT64_MAX when there is none. */
uint64_t scheduled_next_ns(const struct engine *e);

/* Functions of struct api_backend, thread: any. */
int backend_schedules(void *ctx, const struct viewer *v, json_t **ret, struct error *err);
int backend_trigger(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES], struct error *err);
