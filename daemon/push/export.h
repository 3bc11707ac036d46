/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a folded minute into bodies of requests, each below the target's limits. Splits a body that
 * would be too large by services, then by stacks. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "push/fold.h"
#include "push/push_config.h"

#define EXPORT_BYTES_MAX ((size_t)4 << 20) /* of one body before it is compressed */

struct export_opts {
    enum push_protocol protocol;
    const char *host, *version;
    const char *link; /* address in flamed of the profile of that time, without the service; "":
                       * none */
    size_t bytes_max; /* 0: EXPORT_BYTES_MAX */
};

struct export_counts {
    uint64_t bodies, samples;
    uint64_t dropped; /* samples of stacks that are too large even alone */
};

/* Takes @body, compressed as EXPORT_REQUESTS says. Returns 0 or -errno; an error ends the export.
 */
typedef int (*export_fn)(void *cookie, struct span body);

/* Calls @fn for each body of @f; never for an empty body. Returns 0 or -errno. */
int export_fold(const struct fold *f, const struct export_opts *o, export_fn fn, void *cookie,
                struct export_counts *ret);

#define EXPORT_HEADERS_MAX 3

/* The request of a protocol. */
struct export_request {
    const char *path, *headers[EXPORT_HEADERS_MAX]; /* NULL after the last one */
    bool gzip;                                      /* export_fold() compresses the body */
};
extern const struct export_request EXPORT_REQUESTS[]; /* by enum push_protocol */
