/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a JVM wait for now, by the last passes of the recorder. Thread: the engine's.
 */
#pragma once

#include "capture/looks.h"
#include "profile/waits_now.h"

#define SURVEY_THREADS_MAX 500 /* per JVM; further ones are counted */

/* Keeps the place of virtual threads without a carrier, which the sample @in is of, for the next
 * survey. */
void survey_keep_virtual(struct looks *l, const struct incoming *in);
/* Fills in *ret for JVM @host_pid. Keeps *ret, but for left_out, if it has the last call's result
 * and no thread has moved since. Returns false if there is no thread is known, or no memory. */
bool looks_survey(struct looks *l, int32_t host_pid, struct waits_now *ret);
