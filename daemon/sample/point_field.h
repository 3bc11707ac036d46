/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a tracepoint, as tracefs describes them. Pure; thread: any. */
#pragma once

#include "base/error.h"
#include "base/span.h"

enum field_kind {
    FIELD_NUMBER,
    FIELD_TEXT,    /* characters in place */
    FIELD_DYNAMIC, /* position of characters, from the start of the event, */
    FIELD_BEHIND,  /* or from the end of the field */
    FIELD_PID,     /* of no event: the running thread's id, */
    FIELD_CPU,     /* the processor's number, */
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

/* Finds the field @name in @format, the contents of the tracepoint's file "format". Return: 0.
 * -EINVAL with @err: there is no such field, or a filter cannot compare it. */
int point_field_find(struct span format, struct span name, struct point_field *ret,
                     struct error *err);
