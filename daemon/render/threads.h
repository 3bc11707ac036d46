/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a dump of threads. Pure; thread: any. */
#pragma once

#include "base/buf.h"
#include "profile/thread_dump.h"

struct threads_opts {
    bool grouped; /* threads with equal stacks are one entry */
};

/* Append a sorted dump: as a JSON object (docs/waits.md), and as text in the form of jstack. 0,
 * -ENOMEM; or out->error. */
int render_threads_json(const struct thread_dump *d, const struct threads_opts *o, struct buf *out);
int render_threads_text(const struct thread_dump *d, const struct threads_opts *o, struct buf *out);
