/* SPDX-License-Identifier: Apache-2.0 */
/* What the webhook of a trigger gets, as JSON. */
#pragma once

#include "base/error.h"

struct api;

/* What a trigger that pulled itself has to say. Texts are "" if they are not known. */
struct webhook_event {
    const char *trigger, *condition, *service, *sentence;
    int host_pid;
    const char *capture, *before; /* ids: of its capture, and of the minute before */
    const char *problem;          /* why there is no capture */
    uint64_t time_ns;             /* CLOCK_REALTIME */
};

/* Has @e sent, if its trigger has a webhook. 0; 1: there is none; -errno: it is lost, and counted.
 * Thread: any; does not block. */
int webhook_send(struct api *api, const struct webhook_event *e);
