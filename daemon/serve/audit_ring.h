/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last lines of the audit. Each caller has a part of them. A new line takes the place of the
 * oldest one of the caller who has the most. So the acts of one caller push out its own lines
 * first. Thread: the owner's, under its lock.
 */
#pragma once

#include "request/caller.h"

struct audit_line {
    uint64_t number; /* rises with each */
    char *json;      /* owned; NULL: none yet */
    uint32_t owner;  /* index in owners */
};

struct audit_ring {
    struct audit_line *lines;   /* owned, [max] */
    struct audit_owner *owners; /* owned, [max] */
    size_t max, share;
};

/* @max: lines; @share: of one caller, at most @max. False: out of memory. */
bool audit_ring_init(struct audit_ring *r, size_t max, size_t share);
void audit_ring_deinit(struct audit_ring *r);
/* Puts @json, which is taken, as line @number of @of. */
void audit_ring_put(struct audit_ring *r, const struct caller *of, uint64_t number, char *json);
