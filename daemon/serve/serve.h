/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of serve/: the HTTP service of the API contract, on libmicrohttpd. Parses requests, checks
 * access, asks the backend, renders on worker threads, answers. Includes no sampling layer.
 */
#pragma once

#include "base/error.h"
#include "serve/backend.h"

struct serve;

struct serve_opts {
    const int *listen_fds; /* listening sockets, taken over */
    size_t listen_count;
    const char *version;
    unsigned connections_max;   /* 128 over all sockets */
    unsigned captures_max;      /* 64 at once */
    size_t answer_max_bytes;    /* 64 MiB */
    unsigned idle_timeout_s;    /* a client that sends or reads nothing for so long is cut off */
};

/* Starts the threads. 0 or -errno with @err. */
int serve_start(const struct serve_opts *o, const struct api_backend *be, struct serve **ret,
                struct error *err);
/* Stops: no new requests; captures under way are ended and answered; returns when all threads are gone,
 * at most 5 s later. */
struct serve *serve_stop(struct serve *s);
