/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of push/: sends the past minutes of this node's services to the engines that the
 * configuration names. A thread takes finished minutes from the recorder, folds them (fold.h) and
 * writes them into spools (spool.h). It passes them to flamed-push, which alone has the network. No
 * other thread waits for it.
 */
#pragma once

#include "push/push_config.h"
#include "push/spool.h"
#include "request/backend.h"

#define PUSH_TEXT_BYTES 192
#define PUSH_FAILING_NS (600 * NSEC_PER_SEC) /* longer failures are problems of /readyz */

struct push;

struct push_opts {
    const struct push_config *config; /* borrowed; outlives it */
    const struct api_backend *backend;
    int pusher_fd;    /* of pusher_start(); taken */
    int store_fd;     /* -1: none; borrowed for the call */
    const char *node; /* name of the node, by which nodes send at different times; borrowed for
                       * the call */
    const char *host, *version; /* borrowed; outlive it */
    /* Opens a file that a target names. 0; > 0: no such file; -errno with @err. */
    int (*open_file)(void *cookie, const char *path, int *ret_fd, struct error *err);
    /* Reports a problem; "": the problem is over. */
    void (*problem)(void *cookie, const char *sentence);
    /* Gets the viewer of the rule @name of `access`, only for the call of @use. Returns false if
     * there is no such rule, or if its role is below view. */
    bool (*viewer)(void *cookie, const char *name, void (*use)(void *arg, const struct viewer *v),
                   void *arg);
    void *cookie;
};

/* Starts flamed-push as process; before the sandbox, and before threads start. @exe_fd: its
 * program. It may connect to the ports of @config. 0 and its socket, or -errno with @err. */
int pusher_start(int exe_fd, const struct push_config *config, int *ret_fd, struct error *err);

/* Starts the thread. 0 or -errno with @err; @o->pusher_fd is taken in any case. */
int push_start(const struct push_opts *o, struct push **ret, struct error *err);
/* Ends the thread; unsent bodies stay in the store. push_statuses() still answers. Accepts NULL. */
void push_end(struct push *p);
/* Frees @p, which has ended or never begun. Messages to webhooks since then stay in the store, too.
 * Accepts NULL. */
void push_free(struct push *p);

/* A webhook of a trigger; valid as long as its struct push. */
struct push_webhook {
    size_t number;    /* of its target */
    const char *link; /* where a browser reaches this flamed; "": not known */
    const char *host;
};
/* Finds the webhook of @trigger. Returns false if it has none, or if @p is NULL. Thread: any. */
bool push_webhook_find(struct push *p, const char *trigger, struct push_webhook *ret);
/* Queues a copy of @body for the webhook, with the time @now_ns (CLOCK_REALTIME). 0; -ENOSPC,
 * -EFBIG or -ENOMEM: it is lost, and counted. Thread: any; does not block. */
int push_webhook_send(struct push *p, const struct push_webhook *w, uint64_t now_ns,
                      struct span body);

/* The state of one target. Times are CLOCK_REALTIME; 0: never. */
struct push_status {
    const struct push_target *target;
    struct spool_stats spool;
    uint64_t success_ns, error_ns, failing_since_ns;
    uint64_t requests, failures;     /* accepted; failed or not answered */
    uint64_t bodies, bytes, samples; /* that the target has accepted */
    uint64_t rejected;               /* bodies that the target refused for good */
    uint64_t rejected_profiles;      /* profiles refused within accepted bodies */
    uint64_t dropped_samples;        /* of stacks that are too large */
    uint64_t other_samples;          /* samples in [other] and [other services] */
    uint64_t missed;                 /* minutes that could not be read in time */
    uint64_t incomplete;             /* minutes read before all of their waits were known */
    char error[PUSH_TEXT_BYTES];     /* the last one */
    char missing[PUSH_EVENTS_BYTES]; /* events that the last minute had no samples of */
};

/* Returns how many targets there are, and writes the first @max. Thread: any. */
size_t push_statuses(struct push *p, struct push_status *ret, size_t max);
