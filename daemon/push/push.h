/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main header of push/: sends the past minutes of this node's services to the engines in the
 * configuration. A thread takes finished minutes from the recorder, folds them (fold.h) and writes
 * them into spools (spool.h). It passes them to flamed-push, the only process with access to the
 * network. No other thread waits for it.
 */
#pragma once

#include "push/push_config.h"
#include "push/spool.h"
#include "request/backend.h"

#define PUSH_TEXT_BYTES 192
#define PUSH_FAILING_NS (600 * NSEC_PER_SEC) /* longer failures are problems of /readyz */

struct push;

struct push_opts {
    const struct push_config *config; /* borrowed; must outlive @p */
    const struct api_backend *backend;
    int pusher_fd;    /* from pusher_start(); taken */
    int store_fd;     /* -1: none; borrowed for the call */
    const char *node; /* name of the node, which spreads the nodes' times of sending; borrowed for
                       * the call */
    const char *host, *version; /* borrowed; must outlive @p */
    /* Opens a file that a target names. Returns 0, > 0 if there is no such file, or -errno with
     * @err. */
    int (*open_file)(void *cookie, const char *path, int *ret_fd, struct error *err);
    /* Reports a problem; "" means that the problem is over. */
    void (*problem)(void *cookie, const char *sentence);
    /* Gets the viewer of the rule @name of `access`, valid during the call of @use. Returns false
     * if there is no such rule, or if its role is below view. */
    bool (*viewer)(void *cookie, const char *name, void (*use)(void *arg, const struct viewer *v),
                   void *arg);
    void *cookie;
};

/* Starts flamed-push as a process. Call it before the sandbox and before threads start. @exe_fd:
 * the program; @config: the ports that it may connect to. Returns 0 and its socket, or -errno with
 * @err. */
int pusher_start(int exe_fd, const struct push_config *config, int *ret_fd, struct error *err);

/* Starts the thread. Takes @o->pusher_fd in any case. Returns 0 or -errno with @err. */
int push_start(const struct push_opts *o, struct push **ret, struct error *err);
/* Ends the thread; unsent bodies stay in the store. push_statuses() still answers. Accepts NULL. */
void push_end(struct push *p);
/* Frees @p, which has ended or never begun. Messages to webhooks since its end stay in the store,
 * too. Accepts NULL. */
void push_free(struct push *p);

/* A webhook of a trigger; valid as long as its struct push. */
struct push_webhook {
    size_t number;    /* of its target */
    const char *link; /* where a browser reaches this flamed; "": not known */
    const char *host;
};
/* Finds the webhook of @trigger. Returns false if the trigger has none, or if @p is NULL. Thread:
 * any. */
bool push_webhook_find(struct push *p, const char *trigger, struct push_webhook *ret);
/* Queues a copy of @body for the webhook, with the time @now_ns (CLOCK_REALTIME). Returns 0. After
 * -ENOSPC, -EFBIG or -ENOMEM the message is lost and counted. Thread: any; does not block. */
int push_webhook_send(struct push *p, const struct push_webhook *w, uint64_t now_ns,
                      struct span body);

/* The state of one target. Times are CLOCK_REALTIME; 0: never. */
struct push_status {
    const struct push_target *target;
    struct spool_stats spool;
    uint64_t success_ns, error_ns, failing_since_ns;
    uint64_t requests, failures;     /* requests accepted; requests failed or not answered */
    uint64_t bodies, bytes, samples; /* accepted by the target */
    uint64_t rejected;               /* bodies that the target refused for good */
    uint64_t rejected_profiles;      /* profiles refused within accepted bodies */
    uint64_t dropped_samples;        /* samples of stacks that are too large even alone */
    uint64_t other_samples;          /* samples in [other] and [other services] */
    uint64_t missed;                 /* minutes that could not be read in time */
    uint64_t incomplete;             /* minutes read before all of their waits were known */
    char error[PUSH_TEXT_BYTES];     /* the last error */
    char missing[PUSH_EVENTS_BYTES]; /* events that the last minute had no samples of */
};

/* Writes the states of the first @max targets. Returns the number of all targets. Thread: any. */
size_t push_statuses(struct push *p, struct push_status *ret, size_t max);
