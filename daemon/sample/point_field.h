/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a tracepoint, as tracefs describes them. Pure; thread: any. */
#pragma once

#include "base/error.h"
#include "base/span.h"

enum field_kind {
    FIELD_NUMBER,
    FIELD_TEXT,    /* characters in place */
    FIELD_DYNAMIC, /* where characters are, from the begin of the event, */
    FIELD_BEHIND,  /* or from the end of the field */
    FIELD_PID,     /* of no event: the thread that runs, */
    FIELD_CPU,     /* the processor, */
    FIELD_COMM,    /* and the thread's name */
};

struct point_field {
    enum field_kind kind;
    struct span name;
    uint16_t offset;
    uint8_t size;   /* of a number: 1, 2, 4 or 8 */
    uint32_t bytes; /* of FIELD_TEXT */
    bool has_sign;
};

/* Looks for the field @name in @format, the contents of the tracepoint's file of that name. Return:
 * 0. -EINVAL: there is none that a filter can compare, as @err says. */
int point_field_find(struct span format, struct span name, struct point_field *ret,
                     struct error *err);
