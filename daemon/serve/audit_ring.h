/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last lines of the audit. In a full ring, a new line replaces the oldest line of the caller
 * that has the most lines. So a caller's acts evict its own lines first. Thread: the owner's, under
 * its lock.
 */
#pragma once

#include "request/caller.h"

struct audit_line {
    uint64_t number; /* increases with each line */
    char *json;      /* owned; NULL: unused */
    uint32_t owner;  /* index in owners */
};

struct audit_ring {
    struct audit_line *lines;   /* owned, [max] */
    struct audit_owner *owners; /* owned, [max] */
    size_t max, share;
};

/* Initializes a ring. @max: lines; @share: lines of one caller, at most @max. False: out of
 * memory. */
bool audit_ring_init(struct audit_ring *r, size_t max, size_t share);
void audit_ring_deinit(struct audit_ring *r);
/* Stores @json, which it takes, as line @number of @of. */
void audit_ring_put(struct audit_ring *r, const struct caller *of, uint64_t number, char *json);
