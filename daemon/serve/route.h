/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes: path, methods, parameters, handler. Parsing, 405 with Allow, the sentence
 * about an unknown parameter and the test of the OpenAPI document all come from it.
 */
#pragma once

#include "base/span.h"

struct request;

enum route_method { METHOD_GET = 1 }; /* GET implies HEAD */

struct route {
    const char *path; /* "{pid}" stands for a process id */
    unsigned methods;
    uint64_t params; /* PARAM_BIT()s */
    bool negotiates; /* the format is chosen by Accept unless a parameter says it */
    bool waits;      /* the handler may block: it runs on a worker */
    bool (*handle)(struct request *req);
};

const struct route *routes(size_t *ret_count);

/* Results of route_find(). */
#define ROUTE_NONE 1
#define ROUTE_BAD_PID 2

/* The route of a decoded path. 0 with *ret and, where the path holds one, *ret_pid; ROUTE_NONE; or
 * ROUTE_BAD_PID with *ret_text what stands in its place. */
int route_find(struct span path, const struct route **ret, int32_t *ret_pid, struct span *ret_text);
/* The route whose path @path was probably meant to be, or NULL. */
const char *route_nearest(struct span path);
/* "GET, HEAD" for the header Allow. */
const char *route_allow(const struct route *r);
bool route_takes(const struct route *r, const char *method);
