/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed behind its sandbox: drops its rights, starts the engine and the HTTP service, and stops
 * them at the end.
 */
#pragma once

#include "config.h"
#include "supervisor/supervise_api.h"

/* Descriptors and values of the worker, whether root or systemd started it. */
struct serving_opts {
    int broker_fd, store_fd, notes_fd, notify_fd;
    int namer_fd;  /* the namer's process; <= 0: none */
    int pusher_fd; /* flamed-push; -1: nothing is pushed */
    int listen_fds[SUPERVISE_LISTEN_MAX];
    size_t listen_count;
    bool supervised;
    int argc; /* options for a reload, without argv[0] */
    char *const *argv;
};

/* Serves until a signal, or the loss of the broker or the namer. Takes what @c holds for the engine
 * and for the HTTP service. Returns 0 after a signal, or -errno with @err. */
int serving_run(struct config *c, const struct serving_opts *w, struct error *err);
