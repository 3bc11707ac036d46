/* SPDX-License-Identifier: Apache-2.0 */
/* A request of Pyroscope's PusherService/Push, packed series by series. Thread: any. */
#pragma once

#include "base/buf.h"

#define PUSH_LABELS_MAX 16

struct push_label {
    const char *name, *value; /* NULL or "": left out */
};

/* Appends a series with one profile, @pprof, to the request in @out. 0, -EFBIG, -ENOMEM; or -errno
 * if the kernel gives no random bytes for the id. */
int push_request_add(struct buf *out, const struct push_label *labels, size_t count,
                     struct span pprof);
