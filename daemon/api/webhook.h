/* SPDX-License-Identifier: Apache-2.0 */
/* Sends JSON to the webhook of a trigger. */
#pragma once

#include "base/error.h"

struct api;

/* The event that a trigger reports. Texts are "" if they are not known. */
struct webhook_event {
    const char *trigger, *condition, *service, *sentence;
    int host_pid;
    const char *capture, *before; /* ids: of its capture, and of the minute before */
    const char *problem;          /* why there is no capture */
    uint64_t time_ns;             /* CLOCK_REALTIME */
};

/* no target has the name of the trigger: push still has an older configuration */
#define WEBHOOK_NEW 1
/* push does not run: flamed is starting, or had no target when it started */
#define WEBHOOK_NO_PUSH 2

/* Queues @e for the webhook of its trigger. Texts may be cut inside a character. 0; WEBHOOK_NEW;
 * WEBHOOK_NO_PUSH; -errno: the event is lost. The caller counts every result other than 0. Thread:
 * any; does not block. */
int webhook_send(struct api *api, const struct webhook_event *e);
