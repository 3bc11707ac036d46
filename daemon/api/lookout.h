/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of api/, for work without a request: it checks triggers that fire by themselves, and
 * compares releases. */
#pragma once

#include "api/deploys.h"
#include "request/backend.h"

struct api;
struct lookout;
struct process;

/* Starts the thread. 0 or -errno. */
int lookout_start(struct api *api, struct lookout **ret);
/* Ends the thread, which may take as long as one comparison or the start of one capture. Accepts
 * NULL. Returns NULL. */
struct lookout *lookout_stop(struct lookout *w);
/* Writes what the release that @p runs has changed (deploys_note()). @w may be NULL. Thread: any.
 */
void lookout_note(struct lookout *w, const struct process *p, char ret[DEPLOYS_NOTE_BYTES]);
/* Appends flamed_regression, flamed_triggers_fired_total and related metrics of what @v sees.
 * Accepts NULL. Thread: any. */
void lookout_metrics(struct lookout *w, const struct viewer *v, struct buf *out);
