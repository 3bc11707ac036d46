/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers that pull themselves: each look compares what `on` says with the signals and measures of
 * the JVMs. One fires once when it begins to hold for a JVM, and again after it has ended. Then its
 * capture of that JVM begins, and the minute before is kept beside it.
 */
#pragma once

#include "base/buf.h"

#define PULLS_MAX 1024  /* triggers of JVMs that hold now; more are counted */
#define PULLS_AT_ONCE 8 /* that fire in one look; the others fire in the next */
#define PULLS_LOOK_S 10 /* between two looks, as between two readings of numbers */
#define PULLS_BEFORE_NS (60 * NSEC_PER_SEC)

struct api;
struct pulls;

/* 0 or -ENOMEM. */
int pulls_new(struct api *api, struct pulls **ret);
/* NULL is fine. Returns NULL. */
struct pulls *pulls_free(struct pulls *s);
/* Looks, and fires what is due. Thread: one at a time, not the engine's, which it asks. Blocks for
 * as long as captures take to begin. */
void pulls_look(struct pulls *s);
/* Appends how many have fired. @s may be NULL. Thread: any. */
void pulls_metrics(struct pulls *s, struct buf *out);
