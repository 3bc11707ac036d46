/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a tracepoint, as tracefs describes them. Pure; thread: any. */
#pragma once

#include "base/error.h"
#include "base/span.h"

enum field_kind {
    FIELD_NUMBER,
    FIELD_TEXT,    /* characters in the field itself */
    FIELD_DYNAMIC, /* position of the characters, from the start of the event */
    FIELD_BEHIND,  /* position of the characters, from the end of the field */
    FIELD_PID,     /* id of the running thread, not in the event */
    FIELD_CPU,     /* number of the processor, not in the event */
    FIELD_COMM,    /* name of the running thread, not in the event */
};

struct point_field {
    enum field_kind kind;
    struct span name;
    uint16_t offset;
    uint8_t size;   /* bytes of a number: 1, 2, 4 or 8 */
    uint32_t bytes; /* bytes of a FIELD_TEXT */
    bool has_sign;
};

/* Finds the field @name in @format, the contents of the tracepoint's file "format". Return: 0.
 * -EINVAL with @err: there is no such field, or a filter cannot compare it. */
int point_field_find(struct span format, struct span name, struct point_field *ret,
                     struct error *err);
