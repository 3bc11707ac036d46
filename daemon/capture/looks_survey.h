/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a JVM wait for now, by the last passes of the recorder. Thread: the engine's.
 */
#pragma once

#include "capture/looks.h"
#include "profile/waits_now.h"

#define SURVEY_THREADS_MAX 500 /* threads per JVM; further ones are counted */
/* Stacks that surveys remember. If there are more, all are forgotten, and read again. */
#define SURVEY_STACKS_MAX 8192

/* Forgets what surveys have read in the stacks of places. Call it before the numbers of these
 * stacks change. Accepts NULL. Returns NULL. */
struct survey_stacks *survey_stacks_free(struct survey_stacks *known);
/* Keeps the place of virtual threads without a carrier for the next survey. @in: a sample of
 * them. */
void survey_keep_virtual(struct looks *l, const struct incoming *in);
/* Fills in *ret for JVM @host_pid. If *ret has the last call's result and no thread has moved
 * since, updates only left_out. Returns false if no thread is known, or out of memory. */
bool looks_survey(struct looks *l, int32_t host_pid, struct waits_now *ret);
