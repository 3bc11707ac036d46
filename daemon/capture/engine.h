/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of capture/: the engine, which owns discover, symbolize and every running capture on one
 * thread, and serves as the backend of serve/. Plans a request into sets of events, drains samples,
 * names them and hands them to the captures that want them.
 */
#pragma once

#include "base/error.h"
#include "serve/backend.h"
#include "store/store.h"

struct engine;

struct engine_opts {
    int broker_fd; /* taken over */
    int proc_fd;   /* taken over: a directory fd of /proc */
    size_t captures_max;
    size_t samples_max; /* of one capture */
    bool show_arguments;
    struct store *store;       /* borrowed; NULL: captures are not kept */
    double recorder_hz;        /* 0: no flight recorder */
    uint64_t recorder_keep_ns; /* how far back it reaches at most */
    size_t recorder_max_bytes;
    bool allow_injection; /* no meaning until there is an agent */
};

int engine_start(const struct engine_opts *o, struct engine **ret, struct error *err);
struct engine *engine_stop(struct engine *e);
/* Points into @e. */
const struct api_backend *engine_backend(const struct engine *e);
/* Readable when the broker is lost: the process then ends its captures and exits to be restarted.
 */
int engine_lost_fd(const struct engine *e);
