/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that is written once and read once, front to back, and held compressed in between: an answer
 * of hundreds of megabytes takes a few. Thread: the owner's; nothing blocks.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

struct packed;

/* @max_bytes of text, and @max_held_bytes of memory for it. 0 or -ENOMEM. */
int packed_new(size_t max_bytes, size_t max_held_bytes, struct packed **ret);
struct packed *packed_free(struct packed *p);

/* 0; -EFBIG: over one of the limits; -ENOMEM. */
int packed_add(struct packed *p, struct span text);
/* To be called once, when all is there. */
int packed_end(struct packed *p);

size_t packed_bytes(const struct packed *p);      /* of text */
size_t packed_held_bytes(const struct packed *p); /* of memory */

/* Copies the next of the text, at most @max bytes. How many; 0 at the end; -EIO, -ENOMEM. */
ssize_t packed_read(struct packed *p, char *to, size_t max);
