/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of api/: what nobody has to ask for. It looks at triggers that pull themselves, and at
 * what releases changed. */
#pragma once

#include "request/backend.h"

struct api;
struct lookout;

/* Starts it. 0 or -errno. */
int lookout_start(struct api *api, struct lookout **ret);
/* Ends it, which may take as long as one comparison, or one capture to begin. NULL is fine. Returns
 * NULL. */
struct lookout *lookout_stop(struct lookout *w);
/* Appends flamed_regression, flamed_triggers_fired_total and what belongs to them, as far as @v
 * sees it. NULL is fine. Thread: any. */
void lookout_metrics(struct lookout *w, const struct viewer *v, struct buf *out);
