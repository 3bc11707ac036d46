/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a JVM wait for now, as the recorder's last looks at them found it. Thread:
 * the engine's. */
#pragma once

#include "capture/looks.h"
#include "profile/waits_now.h"

#define SURVEY_THREADS_MAX 500 /* of a JVM; others are counted */

/* Fills in *ret for JVM @host_pid. If *ret is what the last call gave, and no thread has moved
 * since, it stays, but for left_out. False: nothing is known, or there is no memory. */
bool looks_survey(struct looks *l, int32_t host_pid, struct waits_now *ret);
